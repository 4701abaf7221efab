"""Which file declares which ops, so that one is imported without the others.

Written by docs/make_ops.py.
"""

CATALOGUE = {
    "activation": "elu gelu leaky_relu relu silu",
    "answers": "allclose array_equal array_equiv equal",
    "arithmetic": (
        "add cbrt divide float_power floor_divide fmod identity multiply multiply_mask negative "
        "positive power reciprocal remainder sqrt square square_of_root subtract"
    ),
    "assembling": "append block column_stack dstack hstack insert vstack",
    "by_pieces": (
        "apply_along_axis divmod_of histogram isneginf isposinf ldexp piecewise real_if_close "
        "unwrap"
    ),
    "coincidence": "first_order_only",
    "comparison": (
        "bitwise_and bitwise_or bitwise_xor close_within greater greater_equal invert isclose "
        "iscomplex isfinite isinf isnan isreal less less_equal logical_and logical_not logical_or "
        "logical_xor not_equal signbit"
    ),
    "contraction": "einsum einsum_pair einsum_single einsum_spread",
    "convolution": "conv conv_transpose conv_weight",
    "covariances": "corrcoef cov",
    "creation": "empty_like full_like ones_like zeros_like",
    "cumulative": "cummax cummin cumprod cumsum cumulative_prod cumulative_sum recurrence",
    "decompositions": "eig eig_pair eigvals qr qr_factors",
    "define": "cosdg cotdg sindg tandg",
    "determinants": "cofactor cofactor_change det slogdet slogdet_pair",
    "diagonals": (
        "diag diag_indices_from diagflat diagonal embed_diagonal linalg_diagonal linalg_trace "
        "trace tril tril_indices_from triu triu_indices_from vander"
    ),
    "differences": "diff ediff1d gradient trapezoid",
    "eigh": "eigh eigh_pair eigvalsh",
    "exponential": (
        "exp exp2 expit expit_slope expm1 log log10 log1p log2 log_expit logaddexp logaddexp2 "
        "logit logit_slope sigmoid softplus xlog1py xlogy"
    ),
    "extrema": "argmax argmin max min nanargmax nanargmin nanmax nanmin ptp",
    "filters": "all_pole",
    "fourier": (
        "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft "
        "rfft2 rfftn"
    ),
    "gathering": "choose compress extract take take_along_axis trim_zeros",
    "hyperbolic": "arccosh arcsinh arctanh cosh one_minus_square sech_squared sinh tanh",
    "indexing": "embed gather getitem scatter setitem setitem_at",
    "interpolation": "interp interp_line interp_segments",
    "joining": "concatenate numpy_concatenate numpy_stack stack",
    "krylov": "krylov_solve",
    "least_squares": "least_squares lstsq matrix_rank pinv",
    "linalg": (
        "cho_solve cholesky inv solve solve_system solve_triangular tensorinv tensorsolve "
        "triangular_solve"
    ),
    "loop": "loop",
    "lu": "lu_packed row_order",
    "matrix_functions": "expm logm matrix_power solve_sylvester sqrtm",
    "nans": "nancumprod nancumsum nanmean nanprod nanstd nansum nanvar",
    "norms": "cond euclidean_norm matrix_norm norm power_norm unit_vector vector_norm",
    "operands": "alive_operand",
    "ordering": (
        "argpartition argsort lexsort mean_of_ties partition partition_labels sort sort_complex "
        "sort_labels"
    ),
    "outcomes": "outcome",
    "padding": "pad pad_zeros",
    "polynomials": "poly polyadd polyder polyfit polyint polymul polysub polyval roots",
    "pooling": "avg_pool max_collect max_peaks max_pool max_spread sum_pool sum_unpool",
    "positions": (
        "argwhere digitize flatnonzero insertion_points ix_ nonzero ravel_multi_index "
        "searchsorted unravel_index"
    ),
    "products": "dot inner kron matmul outer tensordot vdot",
    "quantiles": "median nanmedian nanpercentile nanquantile order_statistic percentile quantile",
    "random": "random_bits random_normal random_uniform split_key",
    "rearranging": "flip fliplr flipud repeat repeat_each resize roll rot90 tile",
    "reductions": "all any count_nonzero prod sum",
    "rounding": (
        "ceil copysign fix floor heaviside modf nextafter rint round sign sign_complex trunc"
    ),
    "selection": (
        "absolute absolute_complex clip fabs fmax fmin maximum minimum nan_to_num numpy_where "
        "select where"
    ),
    "sequences": "convolve correlate fftconvolve",
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_labels unique_values"
    ),
    "shape": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to expand_dims "
        "matrix_transpose meshgrid moveaxis numpy_reshape ravel reshape rollaxis squeeze swapaxes "
        "transpose"
    ),
    "singular_values": "svd svd_factors svdvals",
    "softmax": "log_softmax logsumexp logsumexp_weighted softmax",
    "spacing": "geomspace linspace logspace numpy_linspace",
    "sparse": "sparse_matmul sparse_solve",
    "special_bessel": (
        "airy airy_ai airy_aip airy_bi airy_bip i0 i0e i1 i1e iv ive ive_derivative j0 j1 jv k0 "
        "k0e k1 k1e kv kve kve_derivative spherical_in spherical_jn spherical_kn spherical_yn y0 "
        "y1 yn yv"
    ),
    "special_beta": "beta_density betainc betainc_derivative betaincc",
    "special_circular": "vonmises_by_kappa vonmises_cdf vonmises_density vonmises_quantile",
    "special_closed": "binom cosm1 exp10 fresnel fresnel_c fresnel_s poch powm1 wrightomega",
    "special_elliptic": (
        "ellipe ellipe_derivative ellipeinc ellipk ellipk_derivative ellipkinc elliptic_integral"
    ),
    "special_error": (
        "dawsn dawsn_derivative erf erfc erfcinv erfcx erfcx_derivative erfi erfinv inverse_mills "
        "log_ndtr ndtr ndtri ndtri_exp"
    ),
    "special_gamma": (
        "beta betaln digamma gamma gammaln loggamma multigammaln polygamma psi rgamma zeta "
        "zeta_difference"
    ),
    "special_hypergeometric": (
        "eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre "
        "eval_hermite eval_hermitenorm eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt "
        "eval_sh_chebyu eval_sh_legendre hyp0f1 hyp1f1 hyp2f1 hyperu"
    ),
    "special_incomplete": "gamma_density gammainc gammainc_derivative gammaincc",
    "special_integrals": (
        "exp1 expi expn exprel exprel_derivative lambertw shichi shichi_chi shichi_shi sici "
        "sici_ci sici_si"
    ),
    "special_inverse": (
        "betainccinv betaincinv chdtr chdtrc chdtri fdtr fdtrc gammainccinv gammaincinv gdtr "
        "gdtrc owens_t stdtr stdtrit"
    ),
    "special_statistics": (
        "boxcox boxcox1p entr exp_moment huber inv_boxcox inv_boxcox1p kl_div log1prel_derivative "
        "log_ratio pseudo_clip pseudo_huber rel_entr"
    ),
    "splitting": "array_split delete dsplit hsplit split unstack vsplit",
    "statistics": "all_equal average bincount deviation mean std var",
    "structure": "astype conjugate constant copy imag item numpy_astype real stop_gradient",
    "trig_transforms": "trig_transform",
    "trigonometric": (
        "angle arccos arcsin arctan arctan2 arctan_slope cos deg2rad degrees direction hypot "
        "inversion rad2deg radians sin sinc sinc_derivative tan"
    ),
    "vector_products": "cross cross_vectors linalg_cross matvec multi_dot vecdot vecmat",
    "windows": "overlap_add sliding_window_view",
    "writing": (
        "add_at copyto fill_diagonal numpy_copyto numpy_fill_diagonal numpy_place numpy_put "
        "numpy_put_along_axis numpy_putmask place put put_along_axis putmask"
    ),
}

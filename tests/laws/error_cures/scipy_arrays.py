"""What SciPy functions on arrays say: fits, transforms, filters, interpolation, sparse matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import chainrule as cr
from chainrule import scipy as csp
from tests.laws.error_cures.entry import entry

X = np.array([0.5, 1.5, 1.0, 2.0, 0.8])
AT = np.arange(5.0)
A = sp.csr_array(np.array([[4.0, 1.0], [1.0, 3.0]]))
B = np.array([1.0, 2.0])


def slope(f, x=X):
    return lambda: cr.grad(f)(x)


# ---- fits and frames -----------------------------------------------------------------------------

entry(
    "ops/polynomials.py:_polyfit", "leave full and cov out",
    slope(lambda y: np.polyfit(AT, y, 1, full=True)[0][0]),
    slope(lambda y: np.polyfit(AT, y, 1)[0]),
    right=(AT - 2) / 10,
)  # fmt: skip

# ---- transforms and filters ----------------------------------------------------------------------

entry(
    "scipy/fft/functions.py:_transformed", "leave orthogonalize out, or pass norm='ortho' for it",
    slope(lambda x: np.sum(csp.fft.dct(x, orthogonalize=True) ** 2)),
    slope(lambda x: np.sum(csp.fft.dct(x, norm="ortho", orthogonalize=True) ** 2)),
    slope(lambda x: np.sum(csp.fft.dct(x, norm="ortho") ** 2)),
    right=2 * X,
)  # fmt: skip
SIGNAL = "scipy/signal/functions.py:"
entry(
    SIGNAL + "_cut", "choose 'full', 'same' or 'valid'",
    slope(lambda x: np.sum(csp.signal.convolve(x, [1.0], "all"))),
    *(slope(lambda x, m=m: np.sum(csp.signal.convolve(x, [1.0], m)))
      for m in ("full", "same", "valid")),
    right=np.ones(5),
)  # fmt: skip
entry(
    SIGNAL + "fftconvolve", "leave axes out",
    lambda: cr.grad(lambda x: np.sum(csp.signal.fftconvolve(x, np.eye(2), axes=0)))(np.eye(2)),
    lambda: cr.grad(lambda x: np.sum(csp.signal.fftconvolve(x, np.eye(2))))(np.eye(2)),
    right=np.full((2, 2), 2.0),
)  # fmt: skip
SECTION = np.array([[0.5, 0.1, 0.0, 1.0, 0.2, 0.0]])
STATE = np.zeros((1, 2))
entry(
    SIGNAL + "sosfilt", "call lfilter with zi, section by section",
    slope(lambda x: np.sum(csp.signal.sosfilt(SECTION, x, zi=STATE)[0])),
    slope(lambda x: np.sum(csp.signal.lfilter(SECTION[0, :3], SECTION[0, 3:], x, zi=STATE[0])[0])),
    right=slope(lambda x: np.sum(csp.signal.sosfilt(SECTION, x))),
)  # fmt: skip
entry(
    SIGNAL + "filtfilt", "use method='pad' with padtype 'odd', 'even' or None",
    slope(lambda x: np.sum(csp.signal.filtfilt([1.0], [1.0], x, method="gust"))),
    *(slope(lambda x, p=p: np.sum(csp.signal.filtfilt([1.0], [1.0, 0.0], x, padtype=p, padlen=2)))
      for p in ("odd", "even", None)),
    right=np.ones(5),
)  # fmt: skip
entry(
    SIGNAL + "savgol_filter", "use mode='interp' and an odd window_length",
    slope(lambda x: np.sum(csp.signal.savgol_filter(x, 3, 1, mode="wrap"))),
    slope(lambda x: csp.signal.savgol_filter(x, 3, 1, mode="interp")[1]),
    right=[1 / 3, 1 / 3, 1 / 3, 0, 0],
)  # fmt: skip
entry(
    SIGNAL + "detrend", "use type 'linear' or 'constant', without break points",
    slope(lambda x: csp.signal.detrend(x, bp=[2])[0]),
    slope(lambda x: csp.signal.detrend(x, type="constant")[0]),
    slope(lambda x: x[0] - np.mean(x)),
    right=np.eye(5)[0] - 0.2,
)  # fmt: skip
entry(
    "scipy/ndimage/functions.py:_kernel", "pass a number",
    slope(lambda s: np.sum(csp.ndimage.gaussian_filter1d(X, s, order=1) ** 2), 1.0),
    slope(lambda c: np.sum(c * csp.ndimage.gaussian_filter1d(X, 1.0, order=1) ** 2), 1.0),
    right=lambda: np.sum(csp.ndimage.gaussian_filter1d(X, 1.0, order=1) ** 2),
)  # fmt: skip

# ---- interpolation -------------------------------------------------------------------------------

GRID = (np.arange(2.0), np.arange(2.0))
V = np.array([[1.0, 2.0], [3.0, 5.0]])


def grid(point, **options):
    return lambda v: csp.interpolate.RegularGridInterpolator(GRID, v, **options)(point)[0]


entry(
    "scipy/interpolate/grids.py:Grid._outside",
    "pass bounds_error=False, and fill_value=None to extrapolate",
    slope(grid([[2.0, 0.0]]), V),
    slope(grid([[2.0, 0.0]], bounds_error=False, fill_value=None), V),
    right=[[-1.0, 0.0], [2.0, 0.0]],
)  # fmt: skip
entry(
    "scipy/interpolate/grids.py:RegularGridInterpolator", "choose 'linear' or 'nearest'",
    slope(grid([[1.0, 1.0]], method="cubic"), V),
    slope(grid([[1.0, 1.0]], method="linear"), V),
    slope(grid([[1.0, 1.0]], method="nearest"), V),
    right=[[0.0, 0.0], [0.0, 1.0]],
)  # fmt: skip
WIDE = (np.arange(4.0), np.arange(4.0))
TABLE = np.add.outer(np.arange(4.0), np.arange(4.0))


def asked(method, **options):
    made = csp.interpolate.RegularGridInterpolator(WIDE, TABLE, method="cubic")
    return lambda p: made(p, method, **options)[0]


entry(
    "scipy/interpolate/grids.py:_asked.Asked.__call__",
    "choose 'linear' or 'nearest', and leave nu out",
    slope(asked(None), np.array([[0.3, 0.4]])),
    slope(asked("linear"), np.array([[0.3, 0.4]])),
    right=[[1.0, 1.0]],
)  # fmt: skip


def line(t, **options):
    return lambda y: csp.interpolate.interp1d(AT, y, **options)(t)


entry(
    "scipy/interpolate/lines.py:Interpolant.__call__",
    "pass bounds_error=False or fill_value='extrapolate'",
    slope(line(-1.0)),
    slope(line(-1.0, fill_value="extrapolate")),
    slope(lambda y: line(-1.0, bounds_error=False, fill_value=0.0)(y) + 2 * y[0] - y[1]),
    right=[2.0, -1.0, 0.0, 0.0, 0.0],
)  # fmt: skip
entry(
    "scipy/interpolate/lines.py:_ours",
    "choose 'linear', 'cubic', 'nearest', 'previous' or 'next'",
    slope(line(2.0, kind="quadratic")),
    *(slope(line(2.0, kind=k)) for k in ("linear", "cubic", "nearest", "previous", "next")),
    right=np.eye(5)[2],
)  # fmt: skip


def spline(places):
    return csp.interpolate.CubicSpline(places, X)(1.0)


entry(
    "scipy/interpolate/pieces.py:breakpoints", "pass cr.stop_gradient(x).value for x",
    slope(lambda x: spline(np.cumsum(x)) + x[0]),
    slope(lambda x: spline(cr.stop_gradient(np.cumsum(x)).value) + x[0]),
    right=np.eye(5)[0],
)  # fmt: skip

# ---- sparse matrices -----------------------------------------------------------------------------

INVERSE = np.linalg.inv(A.toarray())
entry(
    "ops/krylov.py:_krylov_solve", "pass a larger maxiter or a larger rtol, or call spsolve",
    slope(lambda b: np.sum(csp.sparse.linalg.cg(A, b, rtol=1e-14, maxiter=1)[0]), B),
    slope(lambda b: np.sum(csp.sparse.linalg.cg(A, b, rtol=1e-14, maxiter=50)[0]), B),
    slope(lambda b: np.sum(csp.sparse.linalg.cg(A, b, rtol=0.5, maxiter=5)[0]), B),
    slope(lambda b: np.sum(csp.sparse.linalg.spsolve(A, b)), B),
    right=np.ones(2) @ INVERSE,
)  # fmt: skip


def solved(trans):
    return lambda b: np.sum(csp.sparse.linalg.splu(cr.sparse_values(A)).solve(b, trans))


entry(
    "scipy/sparse/linalg.py:Factors.solve", "choose 'N', 'T' or 'H'",
    slope(solved("C"), B), *(slope(solved(t), B) for t in "NTH"), right=np.ones(2) @ INVERSE,
)  # fmt: skip
entry(
    "scipy/sparse/linalg.py:_iterative.solve", "pass v.value",
    lambda: cr.grad(lambda b: np.sum(csp.sparse.linalg.cg(A, b, rtol=b[0])[0]))(B * 1e-9),
    lambda: cr.grad(
        lambda b: np.sum(csp.sparse.linalg.cg(A, b, rtol=cr.stop_gradient(b[0]).value)[0])
    )(B * 1e-9),
    right=np.ones(2) @ INVERSE,
)  # fmt: skip
entry(
    "scipy/sparse/matrices.py:_of_dense", "pass a matrix",
    slope(lambda x: np.sum(csp.sparse.coo_matrix(x) @ B), B),
    slope(lambda x: np.sum(csp.sparse.coo_matrix(x[None]) @ B), B),
    right=B,
)  # fmt: skip
ONES = np.array([0, 1])
entry(
    "scipy/sparse/matrices.py:_of_parts", "pass (data, (rows, columns))",
    slope(lambda x: np.sum(csp.sparse.coo_array((x, ONES, ONES)) @ B), B),
    slope(lambda x: np.sum(csp.sparse.coo_array((x, (ONES, ONES))) @ B), B),
    right=B,
)  # fmt: skip
entry(
    "scipy/sparse/matrices.py:as_values", "pass a csr_array, or cr.sparse_values(A, data)",
    slope(lambda b: np.sum(csp.sparse.linalg.spsolve(A.toarray(), b)), B),
    slope(lambda b: np.sum(csp.sparse.linalg.spsolve(sp.csr_array(A.toarray()), b)), B),
    slope(lambda b: np.sum(csp.sparse.linalg.spsolve(cr.sparse_values(A, A.data), b)), B),
    right=np.ones(2) @ INVERSE,
)  # fmt: skip

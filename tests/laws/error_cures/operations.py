"""What single operations say of their arguments."""

from __future__ import annotations

import numpy as np
from scipy import special

import chainrule as cr
import chainrule.numpy as cnp
from tests.laws.error_cures.entry import entry

X = np.array([1.0, 2.0])
A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
H = np.array([[1.0, 2j], [-2j, 4.0]])
STEP = 1e-6


def slope(f, x=X):
    return lambda: cr.grad(f)(x)


def differences(f, x):
    """Central differences of f, a scalar function of a real or complex array."""

    def along(d):
        return (f(x + STEP * d) - f(x - STEP * d)) / (2 * STEP)

    def gradient():
        lanes = np.eye(x.size).reshape(-1, *x.shape)
        real = np.reshape([along(d) for d in lanes], x.shape)
        if not np.iscomplexobj(x):
            return real
        return real + 1j * np.reshape([along(1j * d) for d in lanes], x.shape)

    return gradient


def cured(where, says, fails, f, x=X):
    """An entry whose cure is another function, to be held against differences of itself."""
    entry(where, says, slope(fails, x), slope(f, x), right=differences(f, x))


cured("ops/cumulative.py:_axis_of", "say along which", lambda x: np.sum(np.cumulative_sum(x)),
      lambda x: np.sum(np.cumulative_sum(x, axis=0) ** 2), A)  # fmt: skip
entry("ops/exponential.py:_expit", "for complex ones write 1 / (1 + np.exp(-z))",
      slope(lambda z: np.real(cr.expit(z)), 1 + 1j),
      slope(lambda z: np.real(1 / (1 + np.exp(-z))), 1 + 1j),
      right=np.conj(np.exp(-1 - 1j) / (1 + np.exp(-1 - 1j)) ** 2))  # fmt: skip
cured("ops/norms.py:_norm", "give one axis, or the two of a matrix",
      lambda x: np.linalg.norm(x, axis=(0, 1, 2)),
      lambda x: np.sum(np.linalg.norm(x, axis=(1, 2))), np.stack([A, A + 1]))  # fmt: skip
cured("ops/norms.py:_norm", ": give one axis,",
      lambda x: np.linalg.norm(x, 2),
      lambda x: np.sum(np.linalg.norm(x, 2, axis=1)), np.stack([A, A + 1]))  # fmt: skip
cured("ops/products.py:_matmul_spec", "multiply by it with *", lambda x: np.sum(x @ 2.0),
      lambda x: np.sum(x * 2.0))  # fmt: skip
cured("ops/products.py:_matmul_spec", "use its transpose: x @ y.T", lambda x: np.sum(x @ A),
      lambda x: np.sum((x @ A.T) ** 2))  # fmt: skip
cured("ops/matrix_functions.py:_stacked.call", "use a.astype(complex)",
      lambda a: np.sum(np.real(cr.logm(a))), lambda a: np.sum(np.real(cr.logm(a.astype(complex)))),
      np.array([[-1.0, 0.5], [0.0, -2.0]]))  # fmt: skip
cured("ops/padding.py:_pad", "it takes NumPy's modes by name, and even reflections",
      lambda x: np.sum(np.pad(x, 1, "reflect", reflect_type="odd")),
      lambda x: np.sum(np.pad(x, 1, "reflect", reflect_type="even") ** 2))  # fmt: skip
cured("ops/shape.py:_reshape", "say order='C' or order='F'",
      lambda x: np.sum(x.reshape(-1, order="A")[:2] ** 2),
      lambda x: np.sum(x.reshape(-1, order="F")[:2] ** 2), A)  # fmt: skip
cured("ops/shape.py:_numpy_reshape", "cannot be had without copying",
      lambda x: np.sum(np.reshape(x.T, -1, copy=False)[:2] ** 2),
      lambda x: np.sum(np.reshape(x.T, -1)[:2] ** 2), A)  # fmt: skip
cured("ops/statistics.py:freedom", "give one of them", lambda x: np.var(x, ddof=1, correction=1),
      lambda x: np.var(x, correction=1))  # fmt: skip
cured(
    "ops/selection.py:_nan_to_num",
    "assign its result: x = np.nan_to_num(x)",
    lambda x: np.sum(np.nan_to_num(x, copy=False)),
    lambda x: np.sum(np.nan_to_num(x) ** 2),
)
IMAGE = np.arange(4.0).reshape(1, 1, 4)
KERNEL = np.ones((1, 1, 2))
cured("ops/windows.py:paddings", 'padding="same" needs stride=1',
      lambda x: np.sum(cr.conv(x, KERNEL, stride=2, padding="same")),
      lambda x: np.sum(cr.conv(x, KERNEL, stride=1, padding="same") ** 2), IMAGE)  # fmt: skip
entry(
    "ops/random.py:_check_key", "takes a key, cr.key(seed) or a row of cr.split_key(key, n)",
    lambda: cr.random_uniform(3, (2,)),
    lambda: (cr.random_uniform(cr.key(3), (2,)) < 1),
    lambda: (cr.random_uniform(cr.split_key(cr.key(3), 2)[1], (2,)) < 1),
    right=[True, True],
)  # fmt: skip

# ---- a basis that the matrix does not determine --------------------------------------------------


WIDE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0], [1.0, 0.0]])
PHASE = np.array([[1.0, 1 + 2j], [1 - 2j, 4.0]])


def first_two_rows_of(q):
    """What the projector on the complement is on a plane."""
    rest = q[:, 2:]
    return (rest @ np.conj(rest).T)[0, 1]


def hermitian(f):
    return lambda a: f((a + np.conj(a).T) / 2)


def with_exp(w, v):
    """An entry of V f(W) Vᴴ."""
    return np.real(((v * np.exp(w)) @ np.conj(v).T)[0, 1])


COMPLEMENT = "ops/decompositions.py:<module>"
for use, f in (
    ("Use mode='reduced'", lambda a: np.linalg.qr(a, mode="reduced")[0][0, 1]),
    ("the projector on the complement",
     lambda a: first_two_rows_of(np.linalg.qr(a, mode="complete")[0])),
):  # fmt: skip
    cured(COMPLEMENT, use, lambda a: np.linalg.qr(a, mode="complete")[0][0, 2], f, WIDE)

NULL_SPACE = "ops/singular_values.py:<module>"
for use, f in (
    ("Use full_matrices=False", lambda a: np.linalg.svd(a, full_matrices=False)[0][0, 1] ** 2),
    ("the projector on the null space", lambda a: first_two_rows_of(np.linalg.svd(a)[0])),
):
    cured(NULL_SPACE, use, lambda a: np.linalg.svd(a)[0][0, 2], f, WIDE)

cured("ops/decompositions.py:_qr", "choose 'reduced', 'complete' or 'r'",
      lambda a: np.linalg.qr(a, mode="raw")[1][0],
      lambda a: np.linalg.qr(a, mode="r")[0, 1], WIDE)  # fmt: skip

for use, f in (
    ("|v|²,", lambda a: np.abs(np.linalg.eigh(a)[1][0, 0]) ** 2),
    ("v vᴴ,", lambda a: (lambda v: np.real(v[0] * np.conj(v[1])))(np.linalg.eigh(a)[1][:, 0])),
    ("V f(W) Vᴴ", lambda a: with_exp(*np.linalg.eigh(a))),
):
    cured("ops/eigh.py:<module>", use, hermitian(lambda a: np.real(np.linalg.eigh(a)[1][1, 0])),
          hermitian(f), PHASE)  # fmt: skip

for use, f in (
    ("|u|²,", lambda u, s, vh: np.abs(u[0, 0]) ** 2),
    ("u vᴴ,", lambda u, s, vh: np.real(u[0, 0] * vh[0, 1])),
    ("U f(S) Vᴴ", lambda u, s, vh: np.real(((u * s**3) @ vh)[0, 1])),
):
    cured(NULL_SPACE, use, lambda a: np.real(np.linalg.svd(a)[0][1, 0]),
          lambda a, f=f: f(*np.linalg.svd(a)), PHASE + np.array([[0, 1], [0, 2j]]))  # fmt: skip

TIED = 2 * np.eye(2)
TIES = "ops/coincidence.py:message"
cured(TIES, "Functions of the values alone",
      hermitian(lambda a: np.linalg.eigh(a)[1][0, 1]),
      hermitian(lambda a: np.sum(np.exp(np.linalg.eigh(a)[0]))), TIED)  # fmt: skip
cured(TIES, "of V f(W) Vᴴ in reverse mode",
      hermitian(lambda a: np.linalg.eigh(a)[1][0, 1]),
      hermitian(lambda a: with_exp(*np.linalg.eigh(a))), TIED)  # fmt: skip

# ---- types ---------------------------------------------------------------------------------------

MASKED = np.ma.array([3.0, 4.0], mask=[False, True])
MASKS = "ops/joining.py:<module>"
entry(MASKS, "pass a.filled(value)", slope(lambda x: np.sum(x**2 * MASKED)),
      slope(lambda x: np.sum(x**2 * MASKED.filled(0.0))), right=[6.0, 0.0])  # fmt: skip
entry(
    MASKS, "or the plain array a.data and use np.where(mask, otherwise, …)",
    slope(lambda x: np.sum(x**2 * MASKED)),
    slope(lambda x: np.sum(np.where(MASKED.mask, 0.0, x**2 * MASKED.data))),
    right=[6.0, 0.0],
)  # fmt: skip


def twisted(x):
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(PendingDeprecationWarning)
        return np.sum(x * np.matrix(A[:2]))


entry("ops/joining.py:refuse_twist", "pass np.asarray(m), and write `@` for it",
      slope(twisted), slope(lambda x: np.sum(x @ np.asarray(A[:2]))), right=[3.0, 7.0])  # fmt: skip


def written(make, value):
    def f(z):
        y = make(2)
        y[0] = value(z[0] ** 2)
        return np.real(y[0])

    return slope(f, H[0])


LOSS = "ops/structure.py:refuse_loss"
for use, whole in (
    ("take np.real of it", written(cnp.zeros, np.real)),
    ("or make the array complex: x.astype(complex)",
     written(lambda n: cnp.zeros(n).astype(complex), lambda v: v)),
):  # fmt: skip
    entry(LOSS, use, written(cnp.zeros, lambda v: v), whole, right=[2.0, 0.0])

# ---- parameters without a derivative -------------------------------------------------------------

ORDER = "ops/special.py:refused.partial"
entry(ORDER, "as a plain number or array (`.value` of a Variable)",
      slope(lambda v: v * cr.jv(v, 1.0), 0.5), slope(lambda v: v * cr.jv(v.value, 1.0), 0.5),
      right=special.jv(0.5, 1.0))  # fmt: skip
entry(ORDER, "to differentiate with respect to the rest", slope(lambda v: cr.jv(v, 1.0), 0.5),
      slope(lambda z: cr.jv(0.5, z), 1.0), right=special.jvp(0.5, 1.0))  # fmt: skip

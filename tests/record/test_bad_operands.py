"""Operands that do not fit, by shape or by type: our error, or NumPy's own value."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import chainrule as cr
from tests.record.compare import judge

SHAPES = [(), (0,), (1,), (2,), (3,), (2, 3), (3, 2), (2, 2), (1, 3), (2, 0), (2, 2, 2), (3, 1, 2)]
BINARY = {
    **{
        name: getattr(np, name)
        for name in (
            *("add", "multiply", "divide", "power", "maximum", "arctan2", "greater", "matmul"),
            *("dot", "inner", "outer", "vdot", "kron", "convolve", "tensordot", "vecdot", "matvec"),
            *("append", "searchsorted"),
        )
    },
    "where": lambda a, b: np.where([True, False, True], a, b),
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "concatenate, axis 1": lambda a, b: np.concatenate([a, b], 1),
    "stack": lambda a, b: np.stack([a, b]),
    "vstack": lambda a, b: np.vstack([a, b]),
    "hstack": lambda a, b: np.hstack([a, b]),
    "column_stack": lambda a, b: np.column_stack([a, b]),
    "block": lambda a, b: np.block([a, b]),
    "einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "broadcast_arrays": lambda a, b: np.broadcast_arrays(a, b),
    "average": lambda a, b: np.average(a, weights=b),
    "clip": lambda a, b: np.clip(a, b, None),
    "lstsq": lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
    "cov": lambda a, b: np.cov(a, b),
}
SQUARE = [
    "inv",
    "det",
    "slogdet",
    "cholesky",
    "eigh",
    "eigvalsh",
    "matrix_transpose",
    "svd",
    "qr",
    "pinv",
]
rng = np.random.default_rng(5)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.filterwarnings("ignore")
def test_shapes(name):
    f, raised = BINARY[name], 0
    for s, t in itertools.product(SHAPES, SHAPES):
        a, b = np.asarray(rng.uniform(0.5, 2.0, s)), np.asarray(rng.uniform(0.5, 2.0, t))
        x, y = cr.variable(a), cr.variable(b)
        for pair in ((x, y), (x, b), (a, y)):
            raised += judge(
                f"{name} of {s} and {t}", lambda pair=pair: f(*pair), lambda a=a, b=b: f(a, b)
            )
    assert raised >= 30 or name in ("outer", "kron", "append", "searchsorted", "block")


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.filterwarnings("ignore")
def test_matrices(name):
    f, raised = getattr(np.linalg, name), 0
    for shape in (*SHAPES, (3, 3), (2, 3, 3)):
        a = rng.uniform(0.5, 2.0, shape)
        if len(shape) > 1 and shape[-1] == shape[-2]:
            a = a + np.swapaxes(a, -1, -2) + 5 * np.eye(shape[-1])
        raised += judge(f"{name} of {shape}", lambda a=a: f(cr.variable(a)), lambda a=a: f(a))
    assert raised >= 5


# ---- operands of odd types ----------------------------------------------------------------------

x0, M = np.array([0.5, 1.5, 2.5]), np.arange(6.0).reshape(3, 2)
ODD = {
    **{repr(v): v for v in ("a", b"x", None, {}, {1}, print, float, slice(3), ..., Fraction(1, 2))},
    "a list of texts": ["a", "b", "c"],
    "a list with None": [None, 1.0, 2.0],
    "objects": np.array([None, 1, 2], object),
    "dates": np.array([1, 2, 3], "M8[s]"),
    "records": np.zeros(3, "i4,f8"),
    "bytes": np.zeros(3, "V4"),
    "a huge integer": 10**400,
}
REFUSE = [
    *("add", "multiply", "divide", "power", "maximum", "arctan2", "matmul", "outer", "dot"),
    *("where", "kron"),
]


@pytest.mark.parametrize("name", REFUSE)
def test_an_operand_that_is_no_number_is_refused(name):
    """NumPy would take some of these (Fraction, None in where) and make an array of objects."""
    x = cr.variable(x0)
    for label, odd in ODD.items():
        for pair in ((x, odd), (odd, x)):
            try:
                made = BINARY[name](*pair)
            except cr.ChainruleError:
                continue
            pytest.fail(f"{name} with {label}: {made!r}")


MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + MASKED,
        lambda x: MASKED * x,
        lambda x: np.concatenate([x, ["a"]]),
        lambda x: np.append(x, "a"),
        lambda x: np.where([True, False, True], x, np.array(["a"])),
        lambda x: np.inner(x, np.ones(3, "m8[s]")),
        lambda x: x * [[1], [1, 2]],
        lambda x: np.linalg.norm(x, axis=(0.5,)),
        lambda x: x[[[0, 1], [2]]],
        lambda x: np.sum(x, where=np.ones(2, bool)),
        lambda x: np.vecdot(x, x, axis=2),
        lambda x: np.cross(x, x, axis=7),
        lambda x: np.flip(x, axis=10**20),
        lambda x: np.linalg.cross(x[:2], x[:2]),
        lambda x: assigned(x, [1j, 2, 3]),
        lambda x: np.insert(x, 0, [1j, 2]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_was_let_through(call):
    with pytest.raises(cr.ChainruleError):
        call(cr.variable(x0))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_beside_a_variable():
    """Its `*` is a matrix product; taken as an array it would be another value."""
    x, m = cr.variable(x0), np.matrix(np.eye(3))
    for call in (lambda: x * m, lambda: m * x, lambda: cr.variable(m)):
        with pytest.raises(cr.DTypeError, match=r"np\.asarray\(m\)"):
            call()


def test_a_masked_argument_of_a_transform():
    for call in (lambda: cr.grad(np.sum)(MASKED), lambda: cr.trace(np.sum, MASKED)):
        with pytest.raises(cr.DTypeError, match=r"a\.filled\(value\)"):
            call()
    with pytest.raises(cr.DTypeError, match="things other than numbers have no derivative"):
        cr.grad(np.sum)(np.array([None, 1.0], object))


def assigned(x, value):
    y = x * 1.0
    y[...] = value
    return y


@pytest.mark.parametrize(
    "call",
    [
        lambda y: np.trapezoid(y[:2], np.array([[0.0, 1.0], [0.0, 3.0]])),
        lambda y: np.gradient(y, np.array([1, 2, 3], "u8")),
        lambda y: np.linalg.multi_dot([M * y[0], np.arange(8.0).reshape(2, 2, 2)]),
    ],
)
def test_values_that_were_not_numpy_s(call):
    np.testing.assert_allclose(call(cr.variable(x0)).value, call(x0))

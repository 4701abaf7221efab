"""What may stand beside a Variable, on either side: promotion is NumPy's for every pair."""

import itertools
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import chainrule as cr

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "==": operator.eq,
    "maximum": np.maximum,
    "arctan2": np.arctan2,
    "where": lambda a, b: np.where([True, False], a, b),
}
KINDS = ["f2", "f4", "f8", "c8", "c16"]
BESIDE = {
    **{f"{kind} scalar": np.array(3, kind)[()] for kind in (*KINDS, "i1", "i8", "u8", "?")},
    **{f"{kind} 0-d": np.array(3, kind) for kind in (*KINDS, "i4")},
    **{f"{kind} array": np.array([1, 3], kind) for kind in (*KINDS, "i1", "i4", "i8", "u1", "?")},
    **{str(v): v for v in (3, -2, 2.5, 1 + 2j, True, 2**60, [1, 2], (1.5, 2.0), [[1.0], [2]])},
}


def outcome(f, *args):
    """The result as an array, or the kind of error."""
    try:
        out = f(*args)
    except (TypeError, ValueError) as error:
        return type(error)
    return np.asarray(getattr(out, "value", out))


def assert_same(found, expected, what):
    if isinstance(expected, type):
        assert isinstance(found, type), f"{what}: NumPy raises, we give {found!r}"
        return
    assert isinstance(found, np.ndarray), f"{what}: {found}"
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
    np.testing.assert_array_equal(found, expected, err_msg=what)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_value_and_dtype_of_every_pair(name, kind):
    """A 0-d Variable counts as the 0-d array it holds."""
    f = OPERATORS[name]
    for value, (label, other) in itertools.product(
        (np.array([2, 5], kind), np.array(2, kind)), BESIDE.items()
    ):
        x = cr.variable(value)
        sequence = isinstance(other, (list, tuple))  # np.float64(2) * [1, 2] is Python's affair
        plain = value if sequence else value[()]
        assert_same(outcome(f, x, other), outcome(f, plain, other), f"{kind} {name} {label}")
        assert_same(outcome(f, other, x), outcome(f, other, plain), f"{label} {name} {kind}")


SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)
elements = st.floats(-4, 4, width=32)


@given(SHAPES, st.sampled_from(["+", "-", "*", "maximum", "<"]), st.data())
def test_shapes_broadcast_as_numpy_s(shapes, name, data):
    a, b = (data.draw(hnp.arrays(float, s, elements=elements)) for s in shapes.input_shapes)
    f = OPERATORS[name]
    expected = np.asarray(f(a, b))
    for pair in ((cr.variable(a), b), (a, cr.variable(b)), (cr.variable(a), cr.variable(b))):
        assert_same(outcome(f, *pair), expected, name)
    if name != "<":
        x, y = cr.variable(a), cr.variable(b)
        made = f(x, y)
        made.backward(np.ones(made.shape))
        for v in (x, y):
            assert v.grad is None or (v.grad.shape, v.grad.dtype) == (v.shape, v.dtype)


@pytest.mark.parametrize("kind", ["f4", "f8", "c16"])
def test_an_array_on_the_left_hands_over(kind):
    """ndarray ∘ Variable is one recorded op on arrays, not an object array of small ones."""
    array = np.ones((3, 2), kind)
    x = cr.variable(np.ones(2))
    for f in (operator.add, operator.mul, operator.pow, operator.lt, operator.eq):
        if kind == "c16" and f is operator.lt:
            continue
        made = f(array, x)
        assert isinstance(made, cr.Variable)
        assert made.dtype != object
    assert isinstance(array @ x, cr.Variable)
    assert isinstance(np.float32(2) * x, cr.Variable)


@pytest.mark.parametrize("other", [None, "a", {}, print, {1, 2}], ids=repr)
@pytest.mark.parametrize("name", ["+", "-", "*", "/", "**", "//", "%", "<"])
def test_what_is_no_operand(name, other):
    x = cr.variable([1.0, 2.0])
    for pair in ((x, other), (other, x)):
        if name == "%" and pair[0] == "a":
            continue  # "a" % x is Python's formatting
        with pytest.raises(TypeError):
            OPERATORS[name](*pair)


def test_another_library_may_take_over():
    class Theirs:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "theirs"

        __rmul__ = __rmatmul__ = __radd__

    x = cr.variable([1.0, 2.0])
    assert x + Theirs() == x * Theirs() == "theirs"


def test_matmul_of_what_is_no_matrix():
    x = cr.variable([1.0, 2.0])
    for wrong in (lambda: x @ 2.0, lambda: 2.0 @ x, lambda: x @ np.ones(3)):
        with pytest.raises(cr.ShapeError, match="matmul"):
            wrong()


@pytest.mark.parametrize("value", [2.75, -2.75, [1.5, -2.5]])
def test_unary_and_divmod(value):
    array, x = np.array(value), cr.variable(value)
    for f in (
        operator.neg,
        operator.pos,
        abs,
        lambda v: divmod(v, 2)[0],
        lambda v: divmod(v, 2)[1],
    ):
        assert_same(outcome(f, x), np.asarray(f(array)), "unary")
    assert_same(np.asarray(round(cr.variable(2.456), 1).value), np.asarray(2.5), "round")


def test_divmod_on_the_right():
    found = divmod(7.5, cr.variable(2.0))
    assert [v.value for v in found] == [3.0, 1.5]


def test_bits_of_comparisons():
    x = cr.variable([1.0, 2.0, 3.0])
    low, high = x > 1, x < 3
    for f in (operator.and_, operator.or_, operator.xor):
        np.testing.assert_array_equal(f(low, high).value, f(low.value, high.value))
        np.testing.assert_array_equal(f(low.value, high).value, f(low.value, high.value))
    np.testing.assert_array_equal((~low).value, [True, False, False])
    with pytest.raises(cr.DTypeError, match="bitwise_and"):
        x & x


def test_a_trace_copies_an_array_once_until_it_is_changed():
    W = np.eye(2)

    def f(x):
        y = W @ (W @ x)
        W[0, 0] = 3.0
        return np.sum(W @ y)

    graph = cr.trace(f, np.ones(2))
    first, second, third = [
        n.args[0] for n in graph.nodes if not n.is_leaf and n.op.name == "matmul"
    ]
    assert first is second
    assert first is not third
    assert first[0, 0] == 1.0
    assert graph.forward(np.ones(2)).outputs == 4.0

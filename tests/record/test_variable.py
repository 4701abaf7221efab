"""A Variable by itself: made, shown, iterated, compared, written to, copied and named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import chainrule as cr

FLOATS = st.sampled_from("efdFD").map(np.dtype)
OTHERS = st.sampled_from("?bhilBHIL").map(np.dtype)

# ---- made ---------------------------------------------------------------------------------------


@given(hnp.arrays(FLOATS, hnp.array_shapes(min_dims=0, min_side=0)))
def test_a_floating_array_is_kept_to_the_bit(array):
    x = cr.variable(array)
    assert (x.shape, x.dtype, x.ndim, x.size) == (array.shape, array.dtype, array.ndim, array.size)
    assert x.nbytes == array.nbytes
    assert np.asarray(x.value).tobytes() == array.tobytes()
    assert x.is_leaf
    assert (x.grad, x.name, x.node.spec.shape) == (None, None, array.shape)


@given(hnp.arrays(OTHERS, hnp.array_shapes(min_dims=0, min_side=0)))
def test_integers_and_booleans_become_float64(array):
    x = cr.variable(array)
    assert x.dtype == np.float64
    np.testing.assert_array_equal(x.value, array.astype(float))


@pytest.mark.parametrize(
    ("value", "shape", "dtype"),
    [
        (2, (), float),
        (True, (), float),
        (2.5, (), float),
        (1j, (), complex),
        (np.float32(1), (), np.float32),
        (np.array(3.0), (), float),
        ([], (0,), float),
        ([1, 2.5], (2,), float),
        (((1, 2), [3, 4j]), (2, 2), complex),
        (range(3), (3,), float),
        (np.array([1, 2.5], object), (2,), float),
        ([np.float32(1), np.float32(2)], (2,), np.float32),
    ],
    ids=repr,
)
def test_what_a_leaf_is_made_of(value, shape, dtype):
    x = cr.variable(value, name="x")
    assert (x.shape, x.dtype, x.name) == (shape, dtype, "x")
    assert isinstance(x.value, np.ndarray if shape else np.generic)


@pytest.mark.parametrize(
    "value",
    [
        *("text", None, {"a": 1}, {1, 2}, print, b"x", [1, "a"], [None], [1, [2, "a"]]),
        *(np.array(["a"]), np.array("2020", "M8[Y]"), np.array([(1, 2.0)], "i4,f8"), 10**400),
        *([[1], [1, 2]], np.ma.array([1.0, 2.0], mask=[0, 1]), np.str_("a")),
    ],
    ids=repr,
)
def test_what_is_not_a_number(value):
    with pytest.raises(cr.ChainruleError):
        cr.variable(value)


def test_a_leaf_of_a_variable_is_a_new_leaf():
    x = cr.variable(2.0, name="x")
    again, of_result = cr.variable(x), cr.variable(x * 3.0, name="y")
    (again * of_result).backward()
    assert (x.grad, again.grad, of_result.grad) == (None, 6.0, 2.0)
    with pytest.raises(cr.DTypeError, match=r"np\.stack"):
        cr.variable([x, x])


def test_a_leaf_has_its_own_memory():
    array = np.ones(2)
    x = cr.variable(array)
    array[0] = 7.0
    assert x.value[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        x.value[0] = 7.0


def test_attributes_cannot_be_invented_or_replaced():
    x = cr.variable(1.0)
    for name in ("colour", "value", "shape", "dtype", "grad", "T", "name"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1.0)


# ---- shown --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x, s: s, "Variable(2.5, name='s')"),
        (lambda x, s: x, "Variable([1., 2., 3.])"),
        (lambda x, s: x * 2, "Variable([2., 4., 6.], op='multiply')"),
        (lambda x, s: x > 1, "Variable([False,  True,  True], op='greater')"),
        (lambda x, s: x[None], "Variable([[1., 2., 3.]], op='getitem')"),
        (lambda x, s: s * 1j, "Variable(0.+2.5j, op='multiply')"),
        (
            lambda x, s: cr.variable(np.arange(100.0)),
            "Variable([ 0.,  1.,  2., ..., 97., 98., 99.])",
        ),
        (lambda x, s: cr.variable(np.eye(2)), "Variable([[1., 0.],\n          [0., 1.]])"),
    ],
)
def test_repr(make, text):
    made = make(cr.variable([1.0, 2.0, 3.0]), cr.variable(2.5, name="s"))
    assert repr(made) == str(made) == text


@pytest.mark.parametrize("spec", [".3f", "10.2e", "+", "g", "<12", "010.1f"])
def test_a_scalar_formats_as_its_number(spec):
    assert format(cr.variable(2.5), spec) == format(2.5, spec)


def test_format_without_a_spec_and_of_arrays():
    x = cr.variable([1.0])
    assert f"{x}" == str(x)
    with pytest.raises(TypeError):
        format(x, ".3f")


# ---- a container --------------------------------------------------------------------------------


@given(hnp.arrays(float, hnp.array_shapes(max_dims=3, max_side=3), elements=st.floats(-9, 9)))
def test_len_and_iteration_as_an_array_s(array):
    x = cr.variable(array)
    assert len(x) == len(array)
    rows = list(x)
    assert all(isinstance(row, cr.Variable) for row in rows)
    for row, expected in zip(rows, array, strict=True):
        np.testing.assert_array_equal(row.value, expected)
    sum(np.sum(row) * (k + 1) for k, row in enumerate(rows)).backward()
    np.testing.assert_array_equal(x.grad[0], np.ones(array.shape[1:]))


def test_a_scalar_is_no_container():
    s = cr.variable(2.0)
    for ask in (len, iter, list, lambda v: 1.0 in v, lambda v: v[0], lambda v: v[:]):
        with pytest.raises((TypeError, IndexError)):
            ask(s)


def test_unpacking_membership_and_the_builtins():
    x = cr.variable([3.0, 1.0, 2.0])
    first, *rest = x
    assert (first.value, len(rest)) == (3.0, 2)
    assert 2.0 in x
    assert 5.0 not in x
    assert [v.value for v in sorted(x)] == [1.0, 2.0, 3.0]
    assert [v.value for v in reversed(x)] == [2.0, 1.0, 3.0]
    assert (max(x).value, min(x).value, sum(x).value) == (3.0, 1.0, 6.0)
    assert dict(enumerate(x))[2].value == 2.0


@pytest.mark.parametrize("value", [0.0, 1.0, -0.0, np.nan, [2.0], [[0.0]], 1j])
def test_truth_is_the_value_s(value):
    assert bool(cr.variable(value)) is bool(np.array(value))


@pytest.mark.parametrize("value", [[], [1.0, 2.0]])
def test_truth_of_several_is_ambiguous(value):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(cr.variable(value))


# ---- compared and hashed ------------------------------------------------------------------------


def test_hash_is_identity():
    x, y = cr.variable(1.0), cr.variable(1.0)
    assert {x: "x", y: "y"}[x] == "x"
    assert hash(x) == hash(x)
    x += 1.0
    assert {x: 1}[x] == 1


def test_comparison_with_what_is_no_number():
    x = cr.variable([1.0, 2.0])
    for other in (None, "a", {}, object()):
        assert (x == other) is False
        assert (x != other) is True
        with pytest.raises(TypeError):
            x < other  # noqa: B015


def test_conversions_outside_a_transform():
    x = cr.variable(2.75)
    assert (float(x), int(x), complex(x), x.item()) == (2.75, 2, 2.75 + 0j, 2.75)
    k = np.argmax(cr.variable([1.0, 3.0, 2.0]))
    assert ["a", "b", "c"][k] == "b"
    assert list(range(k)) == [0]
    with pytest.raises(TypeError, match="bool Variable cannot be used as an index"):
        range(x > 0)  # nor can NumPy's booleans
    for wrong in (lambda: range(x), lambda: [1, 2, 3][x]):
        with pytest.raises(TypeError, match="float64 Variable cannot be used as an index"):
            wrong()
    for several in (float, int, lambda v: v.item()):
        with pytest.raises((TypeError, ValueError)):
            several(cr.variable([1.0, 2.0]))


def test_a_number_that_became_a_leaf_is_no_index_or_length():
    def loop(x, n):
        for _ in range(n):
            x = x * x
        return x

    for wrong in (
        lambda: cr.trace(lambda x, i: x[i], np.ones(3), 1),
        lambda: cr.trace(loop, 2.0, 3),
        lambda: cr.check_grads(loop, 2.0, 3),
    ):
        with pytest.raises(cr.DTypeError, match=r"lambda x: f\(x, 3\)"):
            wrong()
    assert len(cr.trace(lambda x: loop(x, 3), 2.0).nodes) == 4
    assert cr.grad(loop)(2.0, 3) == 8 * 2.0**7
    assert cr.trace(lambda x, i: x[i], np.ones(3), np.int64(1)).outputs[0].shape == ()


# ---- numbers for Python, under each transform ----------------------------------------------------

LOST = {
    "lanes": lambda x: cr.grad(lambda x: np.sum(cr.vmap(lambda v: float(v) * v)(x)))(x),
    "made in lanes": lambda x: cr.jacobian(lambda x: cr.vmap(lambda v: float(v * 2) * v)(x))(x),
    "item in lanes": lambda x: cr.grad(lambda x: np.sum(cr.vmap(lambda v: v.item() * v)(x)))(x),
    "gradients in lanes": cr.vmap(cr.grad(lambda v: float(v) * v)),
    "lanes in lanes": cr.vmap(cr.grad(lambda v: cr.vmap(lambda u: float(v) * u)(np.ones(2))[0])),
    "a gradient in lanes in a gradient": lambda x: cr.grad(
        lambda x: np.sum(cr.vmap(lambda v: cr.grad(lambda y: float(v) * y**2)(1.0))(x))
    )(x),
    "compiled lanes": cr.compile(
        cr.grad(lambda x: np.sum(cr.vmap(lambda v: float(v) * v)(x))), verify="never"
    ),
    "a loop": lambda x: cr.grad(
        lambda x: cr.scan(lambda c, _: (c * float(c * 2), None), x, None, length=2)[0]
    )(x[0]),
    "outside of a loop": lambda x: cr.grad(
        lambda x: cr.scan(lambda c, _: (c * float(x), None), 1.0, None, length=2)[0]
    )(x[0]),
}


@pytest.mark.filterwarnings("ignore:.*runs as plain Python:RuntimeWarning")
@pytest.mark.parametrize("name", LOST)
def test_a_number_whose_gradient_would_be_lost_is_refused(name):
    with pytest.raises(cr.DetachError, match="would lose its gradient"):
        LOST[name](np.array([1.0, 2.0]))


def by_steps(x, t):
    return (
        np.sum(x) * t if int(np.floor(t * t * 1.7)) % 2 == 0 else np.sum(x**2) * float(np.sign(t))
    )


@pytest.mark.parametrize("wanted", [0, (0, 1)])
def test_a_number_that_no_derivative_leads_through_is_read(wanted):
    """In lanes and compiled as plainly; to the compiler it is a guard, no reason to give up."""
    slope = cr.grad(by_steps, wanted)
    fast = cr.compile(slope)
    x, ts = np.array([0.5, 2.0]), np.array([0.1, 1.0, 2.0, -0.5])
    each = [cr.tree.leaves(slope(x, t)) for t in ts]
    for t, expected in zip(ts, each, strict=True):
        np.testing.assert_array_equal(np.hstack(cr.tree.leaves(fast(x, t))), np.hstack(expected))
    lanes = cr.tree.leaves(cr.vmap(slope, in_axes=(None, 0))(x, ts))
    for found, expected in zip(lanes, zip(*each, strict=True), strict=True):
        np.testing.assert_allclose(found, np.stack(expected))
    assert "plain Python" not in fast.report().splitlines()[0]

"""Writing to a Variable: the name is rebound to the changed array, and views and copies know."""

import copy
import gc
import operator
import pickle  # noqa: TID251 - what a user who pickles a Variable gets
import weakref

import numpy as np
import pytest

import chainrule as cr

IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
IN_PLACE += [operator.ifloordiv, operator.imod]

soon = pytest.mark.timeout(20)  # a list of views that grows while it is walked never ends


@pytest.mark.parametrize("update", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "other", [2, 1.5, np.array([1.0, 2.0, 3.0]), [3, 2, 1], cr.variable(2.0)], ids=repr
)
def test_in_place_is_numpy_s_value_and_the_same_object(update, other):
    array = np.array([4.0, 5.0, 6.0])
    y = kept = cr.variable(array) * 1.0
    y = update(y, other)
    assert y is kept
    plain = other.value if isinstance(other, cr.Variable) else other
    np.testing.assert_array_equal(y.value, update(array, plain))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_in_place_keeps_the_dtype(kind):
    y = cr.variable(np.ones(2, kind)) * 1
    y += np.array([1.0, 2.0])
    y *= 2
    assert y.dtype == kind


def test_in_place_refuses_what_numpy_refuses():
    y = cr.variable(np.ones(2)) * 1
    with pytest.raises(cr.DTypeError, match=r"in-place add would cast complex128 .*\n.*y \+= 1j"):
        y += 1j
    with pytest.raises(cr.DTypeError):
        y *= np.array([1j, 1j])
    np.testing.assert_array_equal(y.value, [1.0, 1.0])


def test_in_place_cannot_change_the_shape():
    y = cr.variable(np.ones(2)) * 1.0
    with pytest.raises(cr.ArgumentError, match=r"would change the shape to \(3, 2\)"):
        y += np.ones((3, 2))
    assert y.shape == (2,)


def test_the_gradient_of_a_leaf_written_to_is_that_of_its_first_value():
    x = cr.variable(np.array([2.0, 3.0]))
    x *= x
    x[0] = 10.0
    np.sum(x).backward()
    np.testing.assert_array_equal(x.grad, [0.0, 6.0])
    assert x.is_leaf


def test_item_in_place():
    x = cr.variable(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    y[0] += 10.0
    y[1, 1:] *= 2.0
    y[:, 0] -= y[:, 2]
    y[[0, 1], [1, 1]] += 0.5
    y[y > 11.0] = 0.0
    expected = np.arange(6.0).reshape(2, 3)
    expected[0] += 10.0
    expected[1, 1:] *= 2.0
    expected[:, 0] -= expected[:, 2]
    expected[[0, 1], [1, 1]] += 0.5
    expected[expected > 11.0] = 0.0
    np.testing.assert_array_equal(y.value, expected)


# ---- views --------------------------------------------------------------------------------------

VIEWS = {
    "slice": lambda a: a[1:],
    "reversed": lambda a: a[::-1],
    "transpose": lambda a: a.T,
    "reshape": lambda a: a.reshape(3, 2),
    "ravel": lambda a: a.ravel(),
    "newaxis": lambda a: a[None],
    "a view of a view": lambda a: a[1:].T,
    "diagonal": lambda a: np.diagonal(a),
    "broadcast": lambda a: np.broadcast_to(a, (2, 2, 3)),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
}
COPIES = {
    "index array": lambda a: a[[0, 1]],
    "mask": lambda a: a[a > 0],
    "flatten": lambda a: a.flatten(),
    "copy": lambda a: a.copy(),
    "np.copy": lambda a: np.copy(a),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "arithmetic": lambda a: a + 0.0,
    "astype": lambda a: a.astype(float),
    "of a view": lambda a: a[1:].copy(),
}


def write(a):
    a[0] = 100.0
    a[1, 1] += 5.0
    a *= 2.0


@soon
@pytest.mark.parametrize("name", VIEWS)
def test_views_follow(name):
    array = np.arange(6.0).reshape(2, 3)
    y = cr.variable(array) * 1.0
    seen, expected = VIEWS[name](y), VIEWS[name](array)
    write(y)
    write(array)
    np.testing.assert_array_equal(seen.value, expected)
    np.testing.assert_array_equal(y.value, array)


@pytest.mark.parametrize("name", COPIES)
def test_copies_stay(name):
    array = np.arange(6.0).reshape(2, 3)
    y = cr.variable(array) * 1.0
    seen, expected = COPIES[name](y), COPIES[name](array)
    write(y)
    write(array)
    np.testing.assert_array_equal(seen.value, expected)
    seen[...] = -1.0
    np.testing.assert_array_equal(y.value, array)


@pytest.mark.parametrize("name", VIEWS)
def test_writing_through_a_view_names_the_line(name):
    y = cr.variable(np.ones((2, 3))) * 1.0
    seen = VIEWS[name](y)
    for attempt in (lambda: seen.__setitem__(0, 1.0), lambda: operator.iadd(seen, 1.0)):
        with pytest.raises(cr.ViewWriteError, match=r"test_writing\.py"):
            attempt()
    np.testing.assert_array_equal(y.value, np.ones((2, 3)))


@soon
def test_a_shallow_copy_has_no_part_in_its_original_s_views():
    y = cr.variable(np.arange(3.0)) * 1.0
    seen = y[:2]
    other = copy.copy(y)
    other[0] = 100.0
    np.testing.assert_array_equal(seen.value, [0.0, 1.0])
    np.testing.assert_array_equal(y.value, [0.0, 1.0, 2.0])


def test_views_are_held_weakly():
    y = cr.variable(np.arange(1000.0)) * 1.0
    seen = weakref.ref(y[1:])
    gc.collect()
    assert seen() is None
    for k in range(100):
        y[k:]
    assert len(y._views) < 100
    y[0] = 5.0
    assert y.value[0] == 5.0


# ---- copies, names ------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda v: v.copy(), np.copy])
def test_a_copy_is_recorded_and_flows_back_to_its_original(duplicate):
    x = cr.variable([1.0, 2.0], name="x")
    y = duplicate(x)
    assert y is not x
    assert y.name is None
    np.sum(y * y).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_deepcopy_of_a_container_of_variables():
    params = {"W": cr.variable(np.eye(2)), "layers": [cr.variable(1.0)]}
    again = copy.deepcopy(params)
    again["W"][0] = 5.0
    np.testing.assert_array_equal(params["W"].value, np.eye(2))
    assert again["layers"][0] is not params["layers"][0]


def test_names_are_of_leaves():
    x = cr.variable(1.0, name="weights")
    assert (x.name, x.node.name, (x * 2.0).name) == ("weights", "weights", None)
    assert cr.variable(x, name="other").name == "other"
    graph = cr.trace(lambda a: a * x, 2.0)
    assert [leaf.name for leaf in graph.nodes if leaf.is_leaf] == ["a", "weights"]


def test_only_backward_fills_grad():
    x = cr.variable(2.0)
    y = x * 3.0
    assert (x.is_leaf, y.is_leaf, y.grad) == (True, False, None)
    cr.grad(lambda t: t * x.value)(1.0)
    assert x.grad is None
    y.backward()
    y.zero_grad()
    assert x.grad == 3.0
    x.zero_grad()
    assert x.grad is None


def test_a_leaf_is_pickled_with_its_gradient():
    x = cr.variable([1.0, 2.0], name="x")
    np.sum(x * x).backward()
    again = pickle.loads(pickle.dumps(x))
    assert (again.name, again.is_leaf) == ("x", True)
    np.testing.assert_array_equal(again.value, x.value)
    np.testing.assert_array_equal(again.grad, x.grad)
    np.sum(again).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_a_history_is_not_pickled():
    with pytest.raises(cr.UnsupportedError, match=r"comes from multiply, test_writing\.py:\d+"):
        pickle.dumps(cr.variable(1.0) * 2.0)


def test_a_gradient_is_not_lost_in_an_array_of_integers():
    x = cr.variable([2.5, 1.5])
    order = np.argsort(x)
    with pytest.raises(cr.DetachError, match=r"float64 Variable .*int64[\s\S]*order\[0\] = x\[0\]"):
        order[0] = x[0]
    order[0] = 7
    np.testing.assert_array_equal(order.value, [7, 0])

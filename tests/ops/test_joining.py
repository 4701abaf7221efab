"""Joining lists and nested lists of Variables: no gradient is lost, no constant gets a tangent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule import errors
from tests.ops.table import assert_derivatives
from tests.ops.test_shape import V, X, assert_as_numpy, value_of

# -- lists, and lists in lists --------------------------------------------------------------------

JOINS = {
    "concatenate": lambda x: np.concatenate([x, x**2], axis=1),
    "concat of rows": np.concat,
    "concatenate flat": lambda x: np.concatenate((x, x[0], 3.0), axis=None),
    "concatenate dtype": lambda x: np.concatenate([x, x], dtype=complex),
    "concatenate bare rows": lambda x: np.concatenate([x, [[1, 2, 3]]]),
    "concatenate rows of Variables": lambda x: np.concatenate([[x[0] * x[1]], x]),
    "stack": lambda x: np.stack([x, 2 * x], axis=-1),
    "stack of rows": lambda x: np.stack(x, 1),
    "stack numbers": lambda x: np.stack([x[0, 0], 1, 2.5, x[1, 1]]),
    "stack nested": lambda x: np.stack([x[0], [x[0, 0], x[1, 1] ** 2, 1.0]]),
    "vstack": lambda x: np.vstack([x, x[0], [1.0, x[0, 1], 2.0]]),
    "vstack of rows": np.vstack,
    "hstack": lambda x: np.hstack([x, x**2]),
    "hstack rows": lambda x: np.hstack((x[0], 1.0, [x[1, 1]])),
    "dstack": lambda x: np.dstack([x, x[0]]) if x.ndim < 2 else np.dstack([x, x**2]),
    "column_stack": lambda x: np.column_stack([x[0], x.T, [1.0, x[0, 0], 2.0]]),
    "block": lambda x: np.block([[x, 2 * x], [np.ones((1, 3)), x[:1]]]),
    "block of numbers": lambda x: np.block([[x[0, 0], 0.0], [x[1, 2], x[0, 1] ** 2]]),
    "block deep": lambda x: np.block([[[x, x]], [[2 * x, x]]]),
    "block in a row": lambda x: np.block([x[0], 5, [x[1, 1]][0]]),
    "append": lambda x: np.append(x, [x[0, 0] ** 2, 1]),
    "append along": lambda x: np.append(x, [x[0]], axis=0),
    "append to a list": lambda x: np.append([1.0, 2.0], x),
    "insert": lambda x: np.insert(x, [1, 2], x[:, :2] ** 2, axis=1),
    "insert into an array": lambda x: np.insert(np.ones(3), 1, x[0, 0]),
    "insert at a place": lambda x: np.insert(x, 1, [x[0, 0], 2], axis=1),
}


@pytest.mark.parametrize("join", JOINS.values(), ids=JOINS)
def test_joins_of_lists(join):
    assert_as_numpy(join, X)


HIDDEN = {  # NumPy asks no Variable here: it makes an object array, which is taken in as a stack
    "array": lambda x: np.array([x[0], 2 * x[1]]),
    "array of rows": lambda x: np.array([x, x**2]),
    "matrix times vector": lambda x: np.array([[x[0], 1.0], [0.0, x[1]]]) @ np.array([1.0, 2.0]),
    "matrix plus Variable": lambda x: np.array([[x[0], 1.0], [0.0, x[1]]]) + x[:2] ** 2,
    "asarray": lambda x: np.asarray([x[0] * x[1], 1.0]),
    "concatenate": lambda x: np.concatenate([[x[0]], [x[1] ** 2, 1.0]]),
    "concatenate rows": lambda x: np.concatenate([[x], [x**2]]),
    "stack": lambda x: np.stack([[x[0], x[1]], [x[2], 1.0]]),
    "vstack": lambda x: np.vstack([[x[0], x[1]], [x[2] ** 2, 1.0]]),
    "hstack": lambda x: np.hstack([[x[0], x[1]], [x[2] ** 2, 1.0]]),
    "dstack": lambda x: np.dstack([[x[0], x[1]], [x[2] ** 2, 1.0]]),
    "column_stack": lambda x: np.column_stack([[x[0], x[1]], [x[2] ** 2, 1.0]]),
    "append": lambda x: np.append([x[0]], [x[1] ** 2]),
    "insert": lambda x: np.insert([x[0], 1.0], 1, [x[1]]),
    "delete": lambda x: np.delete([x[0], 1.0, x[2]], 1),
    "pad": lambda x: np.pad([x[0], x[1]], 1),
    "tile": lambda x: np.tile([x[0], x[1]], 2),
    "repeat": lambda x: np.repeat([x[0], x[1]], 2),
    "roll": lambda x: np.roll([x[0], x[1], 1.0], 1),
    "full": lambda x: np.full((2, 2), x[0]),
    "atleast_2d": lambda x: np.atleast_2d([x[0], x[1]]),
    "reshape": lambda x: np.reshape([x[0], x[1]], (2, 1)),
    "object array in a call": lambda x: np.concatenate([np.array([x[0], 1.0]), x]),
    "object array in a list": lambda x: np.vstack([x, [np.array([x[0], 1.0, 2.0])][0]]),
}


@pytest.mark.parametrize("f", HIDDEN.values(), ids=HIDDEN)
def test_gradients_survive_object_arrays(f):
    expected = f(V)
    np.testing.assert_array_equal(value_of(f(cr.variable(V))), expected)
    assert_derivatives(lambda a: (f(a),), [V], "object array")
    assert np.any(cr.jacobian(f)(V))
    weights = np.arange(1.0, expected.size + 1).reshape(expected.shape)
    total = cr.grad(lambda a: np.sum(weights * f(a)))(V)
    np.testing.assert_allclose(total, np.tensordot(weights, cr.jacobian(f)(V), weights.ndim))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array([x[0], x[1]], dtype=float),
        lambda x: np.full(2, x[0], float),
        lambda x: np.stack([[x[0]], [x[1]]]).astype(float),
        lambda x: np.full_like(np.zeros(2), x[0]),
    ],
)
def test_a_gradient_that_cannot_survive_is_refused(f):
    with pytest.raises((errors.ChainruleError, ValueError)):
        cr.jacobian(f)(V)


def test_an_integer_beside_variables_has_no_tangent():
    _, t = cr.jvp(lambda x: np.stack([x[0], 2, True]), (V,), (np.ones(3),))
    np.testing.assert_array_equal(t, [1.0, 0.0, 0.0])
    _, t = cr.jvp(lambda x: np.concatenate([np.array([3, 4]), x]), (V,), (np.ones(3),))
    np.testing.assert_array_equal(t, [0.0, 0.0, 1.0, 1.0, 1.0])
    _, t = cr.jvp(lambda x: np.concatenate([x > 0, x]), (V,), (np.ones(3),))
    np.testing.assert_array_equal(t, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])


def test_joining_into_an_array_or_an_unsafe_type_is_refused():
    x = cr.variable(V)
    with pytest.raises(errors.DetachError, match="into an existing array"):
        np.concatenate([x, x], out=np.zeros(6))
    with pytest.raises(errors.DTypeError, match="cast"):
        np.stack([x, x], dtype=np.int64)
    assert np.stack([x, x], dtype=np.int64, casting="unsafe").value.tolist() == [[1, 2, 0]] * 2


@pytest.mark.parametrize("blocks", [[], [[], []], [[1.0], 2.0], [(1.0, 2.0)]])
def test_block_refuses_what_numpy_refuses(blocks):
    with pytest.raises((ValueError, TypeError)):
        np.block(blocks)
    with pytest.raises(errors.ChainruleError):
        cr.block(blocks)


# -- structural zeros -----------------------------------------------------------------------------

FILLED = {
    "pad": lambda x: np.pad(x, 1),
    "pad constant": lambda x: np.pad(x, 1, constant_values=(0.0, 4.0)),
    "concatenate": lambda x: np.concatenate([x, np.zeros(2)]),
    "concatenate integers": lambda x: np.concatenate([x, [0, 0]]),
    "stack": lambda x: np.stack([x, np.zeros(3)]),
    "stack numbers": lambda x: np.stack([x[0], 0, 0.0]),
    "block": lambda x: np.block([[x, 0.0]]),
    "insert": lambda x: np.insert(x, 1, 0.0),
    "append": lambda x: np.append(x, 0.0),
    "resize": lambda x: np.resize(np.append(x, 0.0), (2, 3)),
    "tile": lambda x: np.tile(np.append(x, 0.0), 2),
    "repeat": lambda x: np.repeat(np.append(x, 0.0), 2),
    "roll": lambda x: np.roll(np.append(x, 0.0), 1),
    "flip": lambda x: np.flip(np.append(x, 0.0)),
}


@pytest.mark.parametrize("fill", FILLED.values(), ids=FILLED)
def test_a_constant_lane_is_a_structural_zero(fill):
    """√ has an infinite slope at the constant 0, through which nothing leads."""

    def f(x: Any) -> Any:
        return np.sqrt(fill(x))

    slope = cr.jvp(f, (V,), (np.ones(3),))[1]
    assert np.all(np.isfinite(slope))
    np.testing.assert_allclose(np.sum(cr.grad(lambda x: np.sum(f(x)))(V)), np.sum(slope))
    hessian = cr.hessian(lambda x: np.sum(f(x)))(V)
    assert np.all(np.isfinite(hessian))
    assert np.any(hessian)

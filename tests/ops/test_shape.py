"""Shape functions as NumPy calls them: keywords, memory orders, views and copies, refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule import errors
from tests.ops.table import assert_derivatives

X = np.random.default_rng(1).uniform(0.5, 2.0, (2, 3))
V = np.array([1.3, 2.1, 0.7])


def value_of(out: Any) -> Any:
    """A result as plain numbers: of a Variable, or of NumPy's array of Variables."""
    if isinstance(out, np.ndarray) and out.dtype == object:
        return np.array([value_of(o) for o in out.flat], float).reshape(out.shape)
    return getattr(out, "value", out)


def assert_as_numpy(f: Any, x: Any) -> None:
    """f of a Variable has NumPy's value and type, and derivatives that match differences."""

    def parts(out: Any) -> tuple[Any, ...]:
        return tuple(out) if isinstance(out, (list, tuple)) else (out,)

    for a, b in zip(parts(f(cr.variable(x))), parts(f(x)), strict=True):
        np.testing.assert_array_equal(value_of(a), b)
        assert np.asarray(value_of(a)).dtype == np.asarray(b).dtype
    assert_derivatives(lambda a: parts(f(a)), [x], "call")


# -- keywords and odd arguments -------------------------------------------------------------------

CALLS = {
    "ravel": lambda x: np.ravel(a=x, order="F"),
    "reshape": lambda x: np.reshape(x, (3, -1), order="F"),
    "permute_dims": lambda x: np.permute_dims(x, axes=(1, 0)),
    "linalg.matrix_transpose": np.linalg.matrix_transpose,
    "swapaxes": lambda x: np.swapaxes(x, axis1=0, axis2=-1),
    "moveaxis": lambda x: np.moveaxis(a=x, source=0, destination=1),
    "squeeze": lambda x: np.squeeze(a=x[:1], axis=0),
    "expand_dims": lambda x: np.expand_dims(a=x, axis=(0, -1)),
    "broadcast_to": lambda x: np.broadcast_to(array=x, shape=(2, 2, 3)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0], 1.0),
    "atleast_3d": lambda x: np.atleast_3d(x[0, 0], x[0], 2.0),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1], indexing="ij"),
    "meshgrid of one": lambda x: np.meshgrid(x[0] * x[1]),
    "meshgrid sparse": lambda x: np.meshgrid(x[0], np.arange(2.0), x[1], sparse=True),
    "flip": lambda x: np.flip(m=x, axis=1),
    "rot90": lambda x: np.rot90(m=x, k=3),
    "roll": lambda x: np.roll(a=x, shift=(1, 2), axis=(0, 1)),
    "roll by a list": lambda x: np.roll(x, [1, 2], [0, 1]),
    "tile": lambda x: np.tile(A=x, reps=[2, 1]),
    "repeat": lambda x: np.repeat(a=x, repeats=[1, 0, 2], axis=1),
    "resize": lambda x: np.resize(a=x, new_shape=(2, 5)),
    "pad": lambda x: np.pad(array=x, pad_width=((1, 0), (0, 2)), mode="edge"),
    "pad with Variables": lambda x: np.pad(x, 1, constant_values=((x[0, 0], 2.0), (3.0, x[1, 1]))),
    "pad with one Variable": lambda x: np.pad(x, (1, 2), constant_values=x[0, 0] ** 2),
    "split": lambda x: np.split(ary=x, indices_or_sections=3, axis=1),
    "array_split": lambda x: np.array_split(x, 2, axis=1),
    "hsplit": lambda x: np.hsplit(x, [1]),
    "vsplit": lambda x: np.vsplit(x, 2),
    "delete": lambda x: np.delete(arr=x, obj=[0, -1], axis=1),
    "full_like": lambda x: np.full_like(a=x, fill_value=x[0, 0] ** 2, shape=(2, 2)),
    "methods": lambda x: x.swapaxes(0, 1).ravel().repeat(2)[None].squeeze(),
    "attributes": lambda x: x.T * x.mT,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_in_numpy_s_words(call):
    assert_as_numpy(call, X)


def test_unstack():
    if not hasattr(np, "unstack"):
        pytest.skip("since NumPy 2.1")
    assert_as_numpy(lambda x: np.unstack(x, axis=1), X)


def test_pad_width_by_axis():
    np.testing.assert_array_equal(cr.pad(X, {-1: (1, 2), 0: 3}), np.pad(X, ((3, 3), (1, 2))))


def test_orders_that_follow_memory():
    """The derivative of order "A" and "K" keeps to the layout the value had when recorded."""
    weights = np.arange(24.0)
    for layout in (np.asfortranarray, lambda a: a.transpose(1, 0, 2), lambda a: a[:, ::-1]):
        x = layout(np.arange(24.0).reshape(2, 3, 4) + 1)
        lanes = layout(np.arange(24).reshape(2, 3, 4))  # the same layout, holding positions
        for flatten in (
            lambda a: np.ravel(a, order="K"),
            lambda a: np.ravel(a, order="A"),
            lambda a: np.reshape(a, -1, order="A"),
        ):
            y = cr.variable(x)
            assert y._value.strides == np.array(x).strides
            out = flatten(y)
            np.testing.assert_array_equal(out.value, flatten(np.array(x)))
            np.sum(weights * out).backward()
            expected = np.empty(24)
            expected[flatten(np.array(lanes))] = weights
            np.testing.assert_array_equal(y.grad, expected[lanes])


def test_reshape_without_a_copy():
    """np.reshape has `copy` since NumPy 2.1, and calls its shape `newshape` before."""
    x = cr.variable(X)
    assert cr.numpy_reshape(x, 6, copy=False).shape == (6,)
    assert cr.numpy_reshape(x, newshape=(3, 2)).shape == (3, 2)
    with pytest.raises(ValueError, match="copy"):
        cr.numpy_reshape(x.T, 6, copy=False)


# -- views and copies -----------------------------------------------------------------------------

VIEWS = {
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "ravel": np.ravel,
    "transpose": np.transpose,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "squeeze": np.squeeze,
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "atleast_3d": np.atleast_3d,
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "flip": np.flip,
    "rot90": np.rot90,
    "rot90 not at all": lambda x: np.rot90(x, 0),
    "split": lambda x: np.split(x, 2)[0],
    "meshgrid": lambda x: np.meshgrid(x[0], x[1], copy=False)[0],
}
COPIES = {
    "reshape": lambda x: cr.numpy_reshape(x, (3, 2), copy=True),
    "concatenate": lambda x: np.concatenate([x]),
    "block": np.block,
    "tile": lambda x: np.tile(x, 1),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "repeat by list": lambda x: np.repeat(x, [1, 2, 0], axis=1),
    "roll": lambda x: np.roll(x, 1),
    "resize": lambda x: np.resize(x, (2, 2)),
    "pad": lambda x: np.pad(x, 1),
    "pad edge": lambda x: np.pad(x, 1, mode="edge"),
    "delete": lambda x: np.delete(x, 0, axis=1),
    "insert": lambda x: np.insert(x, 0, 1.0, axis=1),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[0],
    "full_like": lambda x: np.full_like(x, x[0, 0]),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_writing_through_a_view_is_refused(view):
    y = view(cr.variable(X))
    with pytest.raises(errors.ViewWriteError):
        y[0] = 5.0


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_writing_to_a_copy_leaves_the_original(copy):
    x = cr.variable(X)
    y, plain = copy(x), copy(X.copy())
    y[0], plain[0] = 5.0, 5.0
    np.testing.assert_array_equal(y.value, plain)
    np.testing.assert_array_equal(x.value, X)


# -- fresh arrays ---------------------------------------------------------------------------------


@pytest.mark.parametrize("like", [np.zeros_like, np.ones_like, np.empty_like])
def test_fresh_arrays_are_plain_and_writable(like):
    fresh = like(cr.variable(X.astype(np.float32)))
    assert type(fresh) is np.ndarray
    assert fresh.dtype == np.float32
    fresh[0] = 1.0
    assert like(cr.variable(X), dtype=np.int64, shape=(4,)).dtype == np.int64


@pytest.mark.parametrize(
    "write",
    [
        np.copyto,
        lambda a, x: np.put(a, [0, 1, 2], x),
        lambda a, x: np.putmask(a, a == 0, x),
        lambda a, x: np.place(a, a == 0, x),
    ],
)
def test_writing_a_variable_into_an_array_is_refused(write):
    with pytest.raises(errors.ChainruleError):
        write(np.zeros(3), cr.variable(V))


# -- what is refused says why ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda x: np.pad(x, 1, mode="mirror"), errors.UnsupportedError, "mode='mirror'"),
        (
            lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"),
            errors.UnsupportedError,
            "odd",
        ),
        (lambda x: np.pad(x, 0.5), errors.DTypeError, "float64"),
        (lambda x: np.pad(x, -1), errors.ChainruleError, "negative"),
        (lambda x: np.reshape(x, (4, 2)), errors.ShapeError, "(4,2)"),
        (lambda x: cr.reshape(x, 6, order="A"), errors.ArgumentError, "layout"),
        (lambda x: np.broadcast_to(x, (2, 4)), errors.ShapeError, "broadcast"),
        (lambda x: np.broadcast_arrays(x, np.ones(2)), errors.ShapeError, "(2, 3) and (2,)"),
        (lambda x: np.meshgrid(x, x), errors.ShapeError, "(2, 3)"),
        (lambda x: np.meshgrid(x[0], indexing="ji"), errors.ArgumentError, "ji"),
        (lambda x: np.dsplit(x, 1), errors.ShapeError, "dsplit"),
        (lambda x: np.concatenate([x, x.T]), errors.ShapeError, "concatenate"),
        (lambda x: np.stack([x, x.T]), errors.ShapeError, "stack"),
        (lambda x: np.repeat(x, -1), errors.ChainruleError, "negative"),
        (lambda x: np.fliplr(x[0]), errors.ArgumentError, "two axes"),
    ],
)
def test_refusals(call, error, said):
    with pytest.raises(error, match=re.escape(said)):
        call(cr.variable(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.split(x, 2, axis=1),
        lambda x: np.moveaxis(x, 0, 2),
        lambda x: np.swapaxes(x, 0, 2),
        lambda x: np.squeeze(x, axis=0),
        lambda x: np.expand_dims(x, 4),
        lambda x: np.flip(x, 2),
        lambda x: np.rot90(x, 1, (0, 0)),
        lambda x: np.delete(x, 5, axis=0),
        lambda x: np.insert(x, 5, 1.0, axis=0),
        lambda x: np.repeat(x, [1, 2], axis=1),
        lambda x: np.resize(x, -1),
        lambda x: np.pad(x[:, :0], 1, mode="edge"),
    ],
)
def test_what_numpy_refuses_is_refused(call):
    with pytest.raises((ValueError, IndexError)):
        call(X)
    with pytest.raises((ValueError, IndexError)):
        call(cr.variable(X))


def test_tile_by_an_integer_variable():
    two = cr.variable(np.float64(2.0)).astype(int)
    for x in (np.ones(2), cr.variable(np.ones(2))):
        assert np.tile(x, two).shape == (4,)
        assert np.tile(x, cr.variable(np.ones(2)).astype(int)).shape == (1, 2)

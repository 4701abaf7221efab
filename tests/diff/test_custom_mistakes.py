"""cr.Function: what is wrong in forward, backward or jvp is named, and nothing changes unseen."""

import numpy as np
import pytest

import chainrule as cr
from tests.diff.custom import function, saving

x0 = np.array([0.3, 0.7])


def test_wrong_number_or_shape_of_adjoints_is_named():
    with pytest.raises(cr.ArgumentError, match=r"Two\.backward returned 2 adjoints for 1 argument"):
        cr.grad(function(saving(np.sin), lambda ctx, g: (g, g), name="Two").apply)(0.5)
    Total = function(lambda ctx, x: np.sum(x), lambda ctx, g: g, name="Total")
    with pytest.raises(
        cr.ShapeError, match=r"Total\.backward: .*argument 0 has shape \(\).*\(2,\)"
    ):
        cr.grad(Total.apply)(x0)


@pytest.mark.parametrize(
    ("backward", "jvp"),
    [
        (lambda ctx, g: (g * np.ones(2), g), None),
        (lambda ctx, g: (), None),
        (lambda ctx, g: np.ones(3) * g, None),
        (lambda ctx, g: g * np.ones(2), lambda ctx, t: np.ones(3)),
    ],
)
def test_wrong_number_or_shape_is_named_in_forward_mode_too(backward, jvp):
    Wrong = function(lambda ctx, x: np.sum(x), backward, jvp, name="Wrong")
    with pytest.raises(cr.ChainruleError, match=r"Wrong\.(backward|jvp).*(adjoints|shape)"):
        cr.jvp(Wrong.apply, (x0,), (x0,))


@pytest.mark.parametrize("tangents", [lambda t: t, lambda t: (t,), lambda t: (t, t, t)])
def test_wrong_number_of_tangents_is_named(tangents):
    Two = function(lambda ctx, x: (x, x), lambda ctx, *_: 1 / 0, lambda ctx, t: tangents(t), "Two")
    with pytest.raises(cr.ArgumentError, match=r"Two\.jvp returned [13] tangents for 2 results"):
        cr.jvp(Two.apply, (1.0,), (1.0,))


def test_a_missing_backward_is_named():
    Half = type("Half", (cr.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with pytest.raises(cr.DerivativeError, match="Half"):
        cr.grad(Half.apply)(1.0)


def test_an_argument_changed_before_backward_is_found():
    Scale = function(saving(lambda x, w: x * w), lambda ctx, g: (g * ctx.saved[1], None))
    w, x = np.array([1.0, 2.0]), cr.variable(np.ones(2))
    y = np.sum(Scale.apply(x, w))
    w[0] = 50.0
    with pytest.raises(cr.MutationError, match=r"Scale\.apply"):
        y.backward()


@pytest.mark.parametrize("attribute", [False, True])
def test_a_saved_array_that_is_no_argument_is_watched_too(attribute):
    w, x = np.array([1.0, 2.0]), cr.variable(np.ones(2))

    def forward(ctx, x):
        ctx.kept = w if attribute else ctx.save_for_backward(w)
        return x * w

    def backward(ctx, g):
        return g * (ctx.kept if attribute else ctx.saved[0])

    y = np.sum(function(forward, backward).apply(x))
    w[0] = 50.0
    with pytest.raises(cr.MutationError):
        y.backward()


def test_forward_cannot_write_into_its_argument():
    def forward(ctx, x):
        x[0] = 7.0
        return x * x

    x = cr.variable(np.ones(2))
    with pytest.raises(cr.ChainruleError, match="read-only"):
        function(forward, lambda ctx, g: g).apply(x)
    assert x.value[0] == 1.0

"""cr.Function: an operation of the user's own, in both modes and at every order."""

import numpy as np
import pytest

import chainrule as cr
from tests.diff.custom import function, saving

x0, y0 = np.array([0.3, 0.7]), np.array([1.1, -0.4])


class Wave(cr.Function):
    """x·sin y."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * np.sin(y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * np.sin(y), g * x * np.cos(y)


def wave(x, y):
    return x * np.sin(y)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_both_modes_and_both_orders(mode):
    for argnums in (0, 1, (0, 1)):
        found = cr.jacobian(Wave.apply, argnums, mode)(x0, y0)
        np.testing.assert_allclose(found, cr.jacobian(wave, argnums, mode)(x0, y0), rtol=1e-15)
    for over in ("reverse", "forward"):

        def twice(f, over=over):
            first = cr.jacobian(lambda x: np.sum(f(x, x * y0)), mode=mode)
            return cr.jacobian(first, mode=over)(x0)

        np.testing.assert_allclose(twice(Wave.apply), twice(wave), rtol=1e-13)


def test_plain_numbers_are_computed_and_not_recorded():
    assert isinstance(Wave.apply(2.0, 3.0), float)
    assert Wave.apply(2.0, 3.0) == wave(2.0, 3.0)
    assert Wave.apply(cr.variable(2.0), 3.0).node.op.name == "Wave"


def test_inside_trace_run_and_check_grads():
    def f(x, y):
        return np.sum(Wave.apply(x, y * 2.0) ** 2)

    graph = cr.trace(f, x0, y0)
    run = graph.forward(y0, x0).backward()  # at another point than it was recorded
    expected = cr.grad(lambda x, y: np.sum(wave(x, y * 2.0) ** 2), (0, 1))(y0, x0)
    np.testing.assert_allclose((run.adjoint("x"), run.adjoint("y")), expected, rtol=1e-14)
    assert cr.check_grads(f, x0, y0).largest < 1e-8
    with pytest.raises(cr.SerialisationError, match="Wave"):
        graph.to_json()


def test_the_text_of_a_graph_is_the_same_every_time():
    texts = {str(cr.trace(lambda x: Wave.apply(x, x), 2.0)) for _ in range(2)}
    assert len(texts) == 1
    assert "object at 0x" not in texts.pop()


# ---- the forward rule ----------------------------------------------------------------------------


def test_a_given_jvp_is_used():
    seen = []

    def jvp(ctx, t, flag, s):
        seen.append((t, flag, s))
        x, _, y = ctx.saved
        return t * np.sin(y) + s * x * np.cos(y)

    Given = function(saving(lambda x, _, y: wave(x, y)), lambda *_: 1 / 0, jvp)
    found = cr.jvp(lambda x: Given.apply(x, "flag", 3.0), (2.0,), (10.0,))[1]
    assert found == 10.0 * np.sin(3.0)
    assert seen == [(10.0, "flag", 0.0)], "a constant does not move; a static argument is as it is"

    def first(x):
        return cr.jvp(lambda x: Given.apply(x, False, x), (x,), (1.0,))[1]

    second = cr.jvp(first, (2.0,), (1.0,))[1]
    np.testing.assert_allclose(second, 2 * np.cos(2.0) - 2 * np.sin(2.0), rtol=1e-14)


def by_float(ctx, g):
    return float(g) * np.cos(ctx.saved[0])


def by_type_error(ctx, g):
    if isinstance(g, cr.Variable):
        raise TypeError("expected an array")
    return g * np.cos(ctx.saved[0])


@pytest.mark.parametrize(
    "backward",
    [
        by_float,
        by_type_error,
    ],
)
def test_a_backward_that_cannot_be_recorded(backward):
    Sine = function(saving(np.sin), backward, name="Sine")
    assert cr.grad(Sine.apply)(0.5) == np.cos(0.5)
    with pytest.raises(cr.DerivativeError, match=r"forward mode through Sine[\s\S]*jvp\(ctx"):
        cr.jvp(Sine.apply, (0.5,), (1.0,))
    given = function(saving(np.sin), backward, lambda ctx, t: t * np.cos(ctx.saved[0]))
    assert cr.jvp(given.apply, (0.5,), (2.0,))[1] == 2.0 * np.cos(0.5)


def by_float_of_saved(ctx, g):
    return g * np.cos(float(ctx.saved[0]))


@pytest.mark.parametrize("backward", [by_float, by_float_of_saved, by_type_error])
def test_a_backward_that_cannot_be_recorded_is_no_second_derivative(backward):
    Sine = function(saving(np.sin), backward, name="Sine")
    with pytest.raises(cr.DerivativeError, match=r"Sine\.backward"):
        cr.grad(cr.grad(lambda x: Sine.apply(x) ** 2))(0.5)


def test_a_variable_kept_as_an_attribute_is_not_detached_either():
    def forward(ctx, x):
        ctx.x = x
        return np.sin(x)

    Sine = function(forward, lambda ctx, g: g * np.cos(float(ctx.x)), name="Sine")
    with pytest.raises(cr.DerivativeError, match=r"Sine\.backward"):
        cr.grad(cr.grad(Sine.apply))(0.5)


# ---- arguments and results -----------------------------------------------------------------------

Polar = function(
    saving(lambda r, a: (r * np.cos(a), r * np.sin(a))),
    lambda ctx, g, h: (
        g * np.cos(ctx.saved[1]) + h * np.sin(ctx.saved[1]),
        ctx.saved[0] * (h * np.cos(ctx.saved[1]) - g * np.sin(ctx.saved[1])),
    ),
    name="Polar",
)


def polar(r, a):
    return r * np.cos(a), r * np.sin(a)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_several_results(mode):
    found = cr.jacobian(Polar.apply, (0, 1), mode)(2.0, 0.5)
    np.testing.assert_allclose(found, cr.jacobian(polar, (0, 1), mode)(2.0, 0.5), rtol=1e-14)
    only_one = cr.grad(lambda r, a: Polar.apply(r, a)[1], (0, 1))(2.0, 0.5)
    np.testing.assert_allclose(only_one, (np.sin(0.5), 2 * np.cos(0.5)), rtol=1e-15)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_second_derivative_of_several_results(mode):
    found = cr.jacobian(cr.grad(lambda a: Polar.apply(2.0, a)[0]), mode=mode)(0.5)
    np.testing.assert_allclose(found, -2 * np.cos(0.5), rtol=1e-14)


def test_none_is_no_adjoint():
    Scale = function(saving(lambda x, k: x * k), lambda ctx, g: (g * ctx.saved[1], None))
    assert cr.grad(Scale.apply, (0, 1))(2.0, 3.0) == (3.0, 0.0)
    assert cr.jvp(Scale.apply, (2.0, 3.0), (1.0, 1.0))[1] == 3.0
    assert cr.hessian(lambda x: Scale.apply(x, x) * x)(3.0) == 9.0


def test_none_for_all_that_moves_is_a_zero_tangent():
    Scale = function(saving(lambda x, k: x * k), lambda ctx, g: (g * ctx.saved[1], None))
    assert cr.jvp(lambda k: Scale.apply(2.0, k), (3.0,), (1.0,))[1] == 0.0


def test_static_arguments_and_attributes_of_the_context():
    def forward(ctx, x, kind, flag, options):
        ctx.n = {"square": 2, "cube": 3}[kind]
        ctx.save_for_backward(x)
        assert flag is True
        assert options == {"deep": (1,)}
        return x**ctx.n

    def backward(ctx, g):
        return g * ctx.n * ctx.saved[0] ** (ctx.n - 1), None, None, None

    Power = function(forward, backward)
    f = lambda x: Power.apply(x, "cube", True, {"deep": (1,)})  # noqa: E731
    assert cr.grad(f)(2.0) == cr.jvp(f, (2.0,), (1.0,))[1] == cr.hessian(f)(2.0) == 12.0


def test_needs_input_grad():
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g * ctx.saved[2], None, g * ctx.saved[0]

    Times = function(saving(lambda x, _, y: x * y), backward)
    cr.grad(lambda x: Times.apply(x, "by", 3.0))(2.0)
    cr.grad(lambda y: Times.apply(3.0, "by", y))(2.0)
    assert seen == [(True, False, False), (False, False, True)]


def test_types():
    Square = function(saving(lambda x: x * x), lambda ctx, g: g * np.conj(2.0 * ctx.saved[0]))
    assert cr.grad(Square.apply)(np.float32(2)).dtype == np.float32
    np.testing.assert_allclose(cr.grad(lambda z: np.real(Square.apply(z)))(1 + 2j), 2 - 4j)

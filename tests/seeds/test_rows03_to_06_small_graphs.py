"""Rows 3 to 6: (a + b)·c, gradient checking, the power node, any unary function."""

import numpy as np
import pytest

import chainrule as cr


def leaves(*values):
    return [cr.variable(v) for v in values]


def test_row_3_sum_times_c():
    a, b, c = leaves(7.0, 3.0, 2.0)
    y = (a + b) * c
    y.backward()
    assert y.value == 20.0
    assert (a.grad, b.grad, c.grad) == (2.0, 2.0, 10.0)


def test_row_4_check_says_its_cost_and_passes():
    check = cr.check_grads(lambda a, b, c: (a + b) * c, 7.0, 3.0, 2.0)
    assert check.inputs == 3
    assert check.evaluations > 2 * 3
    assert check.largest < 1e-9
    assert "3 inputs" in str(check)


def test_row_4_a_planted_wrong_rule_is_named():
    class Cube(cr.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved
            return g * 2 * x**2

    with pytest.raises(
        cr.GradientCheckError, match=r"rule of Cube .*input 0.*\n.*Cube\.apply\(b\)"
    ):
        cr.check_grads(lambda a, b, c: (a + Cube.apply(b)) * c, 7.0, 3.0, 2.0)


def test_row_5_power_node():
    a, b, c = leaves(7.0, 3.0, 2.0)
    y = (a + b**3) * c
    y.backward()
    assert y.value == 68.0
    assert (a.grad, b.grad, c.grad) == (2.0, 54.0, 34.0)


class Gauss(cr.Function):
    """A function the library has never seen."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.exp(-x * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return -2 * x * np.exp(-x * x) * g


@pytest.mark.parametrize("order", [1, 2, 3])
def test_row_6_generic_unary_function(order):
    """child.grad = parent.grad × Func′(child), for a function the library has never seen."""

    derivative, closed = Gauss.apply, lambda x: np.exp(-x * x)
    for _ in range(order):
        derivative, closed = cr.grad(derivative), cr.grad(closed)
    np.testing.assert_allclose(derivative(0.6), closed(0.6), rtol=1e-13)


def test_row_6_in_the_graph_of_row_3():
    a, b, c = leaves(7.0, 0.5, 2.0)
    y = (a + Gauss.apply(b)) * c
    y.backward()
    np.testing.assert_allclose(b.grad, 2.0 * -2 * 0.5 * np.exp(-0.25), rtol=1e-15)

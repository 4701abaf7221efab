"""Law 9: one rule for kinks, the minimum-norm element of the subdifferential, for every op."""

import numpy as np
import pytest

import chainrule as cr

AT_ZERO = {
    "relu": cr.OPS.get("relu"),
    "maximum": lambda x: np.maximum(x, 0.0),
    "maximum, other side": lambda x: np.maximum(0.0, x),
    "minimum": lambda x: np.minimum(x, 0.0),
    "clip below": lambda x: np.clip(x, 0.0, 1.0),
    "clip above": lambda x: np.clip(x, -1.0, 0.0),
    "absolute": lambda x: np.abs(x),
    "built-in abs": abs,
    "fmax": lambda x: np.fmax(x, 0.0),
    "norm": lambda x: np.linalg.norm(np.reshape(x, (1,))),
    "hypot": lambda x: np.hypot(x, 0.0),
    "maximum of array constant": lambda x: np.sum(np.maximum(x, np.zeros(2))),
}


@pytest.mark.parametrize("name", AT_ZERO)
def test_a_kink_against_a_constant_gives_zero(name):
    assert cr.grad(AT_ZERO[name])(0.0) == 0.0
    assert cr.jvp(AT_ZERO[name], (0.0,), (1.0,))[1] == 0.0


def test_a_tie_between_variables_is_shared():
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert cr.grad(f, (0, 1))(1.0, 1.0) == (0.5, 0.5)
    np.testing.assert_allclose(
        cr.grad(np.max)(np.array([1.0, 3.0, 3.0, 3.0])), [0, 1 / 3, 1 / 3, 1 / 3]
    )
    np.testing.assert_allclose(cr.grad(np.min)(np.array([1.0, 1.0, 3.0])), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(cr.grad(lambda x: np.sort(x)[0])(np.array([2.0, 2.0])), [0.5, 0.5])
    assert cr.grad(lambda x: np.maximum(x, x))(1.0) == 1.0


def test_the_checker_knows_kinks():
    check = cr.check_grads(
        lambda x: np.sum(np.maximum(x, 0.0) + np.abs(x)), np.array([0.0, 1.0, -1.0])
    )
    assert len(check.kinks) == 2


def test_a_wrong_value_at_a_kink_is_still_caught():
    class Steep(cr.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return np.maximum(x, 0.0)

        @staticmethod
        def backward(ctx, g):
            return 3.0 * g

    with pytest.raises(cr.GradientCheckError, match="Steep"):
        cr.check_grads(lambda x: Steep.apply(x), 0.0)

"""The gradient checker on programs with a mistake, each named, and without, all passed."""

import numpy as np
import pytest

import chainrule as cr
from tests.explain.checked_programs import HEALTHY, SICK


def arrays(args):
    return [np.array(a) if isinstance(a, list) else a for a in args]


@pytest.mark.parametrize("name", SICK)
def test_a_mistake_is_found_and_named(name):
    f, args, said = SICK[name]
    with pytest.raises(cr.GradientCheckError, match=said):
        cr.check_grads(f, *arrays(args))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", HEALTHY)
def test_a_right_gradient_passes(name):
    f, args = HEALTHY[name]
    for seed in range(3):
        cr.check_grads(f, *arrays(args), seed=seed)


def test_what_is_not_finite_is_named_with_line_and_cure():
    with pytest.raises(cr.GradientCheckError) as caught:
        cr.check_grads(lambda x: np.sum(np.log(x) * x), np.array([0.0, 1.0]))
    text = str(caught.value)
    assert "it begins with log at test_check_programs.py:" in text
    assert (
        "the gradient of `<lambda>` with respect to `x` is NaN in 1 of 2 lanes, first [0]" in text
    )
    assert "np.where(x > 0, x * np.log(x), 0)" in " ".join(text.split())


def test_a_tolerance_of_ones_own_is_relative_to_the_derivative():
    cr.check_grads(lambda x: SICK["a factor near 1"][0](x), np.array([0.3]), rtol=1e-3, order=1)


def test_what_rounding_hides_is_said():
    check = cr.check_grads(lambda x: 1e14 + np.sin(x), 0.3, order=1)
    assert "differences do not settle, not checked: " in str(check)
    assert "the function as a whole" in check.unchecked

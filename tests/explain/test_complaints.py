"""What users of the peers were left alone with: NaN out of nowhere, and here the line that made it.

The rows are those on NaN in the list of complaints: 1 (where), 2 (root of zero), 7 (which op?), 21
(repeated values), and torch's NaN in a double backward.
"""

import numpy as np
import pytest

import chainrule as cr
from tests.explain.source_lines import line_of


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def caught(compute):
    with cr.debug(), pytest.raises(cr.NonFiniteGradient) as error:
        compute()
    return error.value.report.first


def test_row_1_the_branch_that_where_did_not_take_is_no_nan():
    def f(x):
        return np.sum(np.where(x > 0, x / x * np.sqrt(x), 0.0))

    with cr.debug():
        np.testing.assert_array_equal(cr.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])
        assert np.all(np.isfinite(cr.hessian(f)(np.array([0.0, 4.0]))))


def test_row_2_the_root_of_zero_is_named():
    def f(x):
        r = np.sqrt(x @ x)
        return np.exp(-r)

    first = caught(lambda: cr.grad(f)(np.zeros(3)))
    assert (first.node.op.name, first.line.number) == ("sqrt", line_of(f, "np.sqrt"))
    assert np.isinf(first.local)
    with cr.debug():
        cr.grad(lambda x: np.exp(-np.linalg.norm(x)))(np.zeros(3))


def test_row_2_a_root_squared():
    with cr.debug():
        assert cr.grad(lambda x: np.sqrt(x) ** 2)(0.0) == 1.0

    def f(x):
        return np.sqrt(x) ** 3 / np.sqrt(x)

    first = caught(lambda: cr.grad(f)(0.0))
    assert first.role == "creator"
    assert first.line.number == line_of(f, "np.sqrt")


def test_row_7_which_op_made_it_in_a_network():
    rng = np.random.default_rng(0)
    W1, W2 = rng.normal(size=(8, 4)), rng.normal(size=(3, 8))

    def network(p, x):
        h = np.tanh(p["W1"] @ x)
        z = p["W2"] @ h * 1e3
        prob = np.exp(z) / np.sum(np.exp(z))
        return -np.log(prob[0])

    first = caught(lambda: cr.grad(network)({"W1": W1, "W2": W2}, rng.normal(size=4)))
    assert first.line.number == line_of(network, "prob =")
    assert (first.node.op.name, first.how) == ("exp", "overflow")


def test_row_7_in_the_double_backward():
    def f(x):
        y = np.abs(x) ** 1.5
        z = np.sqrt(x * x + 1e-320)
        return np.sum(y + z)

    def penalty(x):
        g = cr.grad(f)(x)
        return np.sum(g**2)

    first = caught(lambda: cr.grad(penalty)(np.array([0.0, 1.0])))
    assert first.line.number in (line_of(f, "1.5"), line_of(f, "1e-320"))
    assert first.role == "creator"


def test_row_7_in_a_loop_the_first_step_that_fails():
    def f(x):
        for k in range(10):
            x = x * x * 100.0
            if k == 3:
                at = x
        return x + at * 0

    report = cr.find_nonfinite(f, 1e30)
    assert report.first.how == "overflow"
    assert report.first.line.number == line_of(f, "100.0")
    assert np.isfinite(report.first.operands[0].value)
    assert len([e for e in report.creators if e.when == "forward"]) == 1


def test_row_21_repeated_singular_values_are_no_nan():
    def f(A):
        u, s, vt = np.linalg.svd(A)
        return np.sum(u @ np.diag(s) @ vt)

    with cr.debug():
        np.testing.assert_allclose(cr.grad(f)(np.eye(3)), np.ones((3, 3)), atol=1e-12)


@pytest.mark.parametrize("x", [[0.0, 1.0], [-1.0, 1.0]])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)),
        lambda x: np.sum(np.sqrt(np.where(x > 0, x, 0))),
        lambda x: np.sum(np.where(x > 0, np.where(x > 0, x, 0) ** 0.5, 0)),
    ],
)
def test_a_root_at_0_that_reaches_no_result_is_no_wrong_rule(f, x):
    assert np.array_equal(cr.grad(f)(np.array(x)), [0.0, 0.5])
    cr.check_grads(f, np.array(x))


def test_a_rule_that_gives_nan_where_it_reaches_the_result_is_found():
    class Root(cr.Function):
        @staticmethod
        def forward(ctx, x):
            return np.sqrt(x)

        @staticmethod
        def backward(ctx, g):
            return g * np.nan

    with pytest.raises(cr.GradientCheckError, match="not finite"):
        cr.check_grads(lambda x: np.sum(Root.apply(x)), np.array([1.0, 2.0]))

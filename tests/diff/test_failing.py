"""An error inside a rule names the op and the line of user code whose derivative it is."""

import traceback

import numpy as np
import pytest

import chainrule as cr

SHARED = np.eye(2)


def of_vectors(a):
    return np.sum(np.linalg.eigh(a)[1][0])  # the line that failed


@pytest.mark.parametrize(
    "derive",
    [
        lambda: cr.grad(of_vectors)(SHARED),
        lambda: of_vectors(cr.variable(SHARED)).backward(),
        lambda: cr.jvp(of_vectors, (SHARED,), (np.ones((2, 2)),)),
    ],
    ids=["grad", "backward", "jvp"],
)
def test_an_error_of_ours(derive):
    with pytest.raises(
        cr.DegenerateError, match=r"in the derivative of \w+, recorded at\n  test_failing\.py:\d+"
    ) as caught:
        derive()
    assert str(caught.value).count("the line that failed") == 1


class Broken(cr.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        raise KeyError("mine")


def test_an_error_of_the_user_s_stays_theirs():
    with pytest.raises(KeyError, match="mine") as caught:
        cr.grad(lambda x: Broken.apply(x) ** 2)(1.0)
    text = "".join(traceback.format_exception(caught.value))
    assert "in the derivative of Broken, recorded at\n  test_failing.py:" in text

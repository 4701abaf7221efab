"""foreign.py: errors of code that knows no Variables are ours; the user's own are the user's."""

from __future__ import annotations

import json
import statistics

import numpy as np
import pandas as pd
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats

import chainrule as cr

X = np.array([1.5, 2.0, 0.7, 1.1])


class Model:
    """Something with a method and a property of the user's."""

    def __init__(self):
        self.asked = 0

    @property
    def solver(self):
        self.asked += 1
        return scipy.linalg

    def inverse(self, x):
        return np.sum(scipy.linalg.inv(np.diag(x)))


def entries(x):
    return np.array([[x[0], 1.0], [0.5, x[1] ** 2]])


REFUSED = {
    "np.linalg.inv": lambda x: np.sum(np.linalg.inv(entries(x))),
    "np.linalg.det": lambda x: np.linalg.det(entries(x)),
    "np.mean": lambda x: np.mean(np.array([x[0], x[1]])),
    "np.std": lambda x: np.std(np.array([x[0], x[1]])),
    "np.sin": lambda x: np.sum(np.sin(entries(x))),
    "scipy.linalg.inv": lambda x: np.sum(scipy.linalg.inv(x.reshape(2, 2))),
    "scipy.linalg.expm": lambda x: np.sum(scipy.linalg.expm(x.reshape(2, 2))),
    "scipy.signal.lfilter": lambda x: np.sum(scipy.signal.lfilter([1.0], [1.0, 0.2], x)),
    "scipy.signal.sosfilt": lambda x: np.sum(scipy.signal.sosfilt(np.ones((1, 6)), x)),
    "scipy.ndimage.gaussian_filter1d": lambda x: np.sum(scipy.ndimage.gaussian_filter1d(x, 1.0)),
    "scipy.interpolate.CubicSpline": lambda x: scipy.interpolate.CubicSpline(np.arange(4), x)(1.0),
    "scipy.stats.norm.logpdf": lambda x: np.sum(scipy.stats.norm.logpdf(x)),
    "scipy.special.logsumexp": lambda x: scipy.special.logsumexp(x),
    "scipy.optimize.brentq": lambda x: scipy.optimize.brentq(lambda t: t**2 - x[0], 0, 3),
    "scipy.optimize.root": lambda x: scipy.optimize.root(lambda t: t**2 - x[:1], [1.0]).x[0],
    "scipy.optimize.minimize": lambda x: scipy.optimize.minimize(lambda t: t * x[0], 0.0).x[0],
    "statistics.mean": lambda x: statistics.mean(x),
    "json.dumps": lambda x: json.dumps({"x": x}),
    "pd.Series(x).rolling(2).mean": lambda x: pd.Series(x).rolling(2).mean().sum(),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("call", [cr.grad, lambda f: lambda x: cr.trace(f, x)])
def test_what_refused_is_named_with_the_users_line(name, call):
    with pytest.raises(cr.ChainruleError) as caught:
        call(REFUSED[name])(X)
    said = str(caught.value)
    assert name in said.splitlines()[0]
    assert "test_foreign.py:" in said.splitlines()[1]
    assert caught.value.__cause__ is not None


def test_the_class_of_the_original_still_catches():
    with pytest.raises(ValueError, match="object arrays"):
        cr.grad(REFUSED["scipy.linalg.inv"])(X)
    with pytest.raises(cr.UnsupportedError):
        cr.grad(REFUSED["scipy.linalg.inv"])(X)


def test_a_line_in_a_method_of_the_users():
    with pytest.raises(cr.ChainruleError, match=r"scipy\.linalg\.inv"):
        cr.grad(Model().inverse)(X)


def test_a_property_is_not_asked_again_to_tell_of_it():
    model = Model()
    with pytest.raises(cr.ChainruleError, match="takes plain numbers only"):
        cr.grad(lambda x: np.sum(model.solver.inv(np.diag(x))))(X)
    assert model.asked == 1


class MineError(Exception):
    """The user's own."""


def raising(error):
    def f(x):
        raise error

    return f


def asserted(x):
    np.testing.assert_array_equal(x, X + 1)
    return np.sum(x)


def in_a_callback(x):
    def residual(t):
        raise MineError(t)

    return scipy.optimize.brentq(residual, 0, x.shape[0])


OWN = [
    (raising(MineError("a")), MineError),
    (raising(ValueError("setting an array element of Variables")), ValueError),
    (raising(KeyError("x")), KeyError),
    (lambda x: {}["x"], KeyError),
    (lambda x: x.shape[1], IndexError),
    (lambda x: undefined_name, NameError),  # noqa: F821 - that is the mistake
    (lambda x: "a" + x[0], TypeError),
    (lambda x: scipy.linalg.inv(np.ones((2, 3))), ValueError),
    (lambda x: np.linalg.inv(np.zeros((2, 2))), np.linalg.LinAlgError),
    (lambda x: open("/no/such/file"), FileNotFoundError),  # noqa: SIM115
    (asserted, AssertionError),
    (in_a_callback, MineError),
    (lambda x: next(iter([])), StopIteration),
]


@pytest.mark.parametrize(("f", "kind"), OWN)
def test_the_users_own_errors_are_as_they_were(f, kind):
    with pytest.raises(kind) as caught:
        cr.grad(f)(X)
    assert not isinstance(caught.value, cr.ChainruleError)


def test_what_the_user_catches_stays_with_the_user():
    def f(x):
        try:
            return np.sum(np.linalg.inv(entries(x)))
        except TypeError:
            return x[0] ** 2

    np.testing.assert_allclose(cr.grad(f)(X), [3.0, 0.0, 0.0, 0.0])


def test_a_shape_error_inside_a_callback_is_told_as_itself():
    def f(x):
        return scipy.optimize.brentq(lambda t: np.sum(x @ np.ones((3, 3))), 0, 1)

    with pytest.raises(cr.ShapeError, match="matmul"):
        cr.grad(f)(X)


def test_other_libraries_names_are_known():
    x = cr.variable(X)
    with pytest.raises(AttributeError, match=r"write cr\.stop_gradient"):
        x.detach()
    with pytest.raises(AttributeError, match=r"write cr\.compile"):
        cr.jit  # noqa: B018
    assert not hasattr(x, "cpu")
    assert not hasattr(x, "anything")
    assert cr.numpy.zeros is not np.zeros


def test_a_name_far_from_all_is_not_suggested():
    with pytest.raises(cr.UnsupportedError) as caught:
        cr.grad(lambda x: np.sum(np.busday_count(x, x)))(X)
    assert "nearest" not in str(caught.value)


# ---- constants may leave, Variables may not ------------------------------------------------------


def test_a_constant_of_ours_goes_where_plain_numbers_go():
    def f(x):
        a = cr.numpy.array([[2.0, 1.0], [1.0, 3.0]])
        inverse = scipy.linalg.inv(a)
        scale = float(cr.numpy.zeros(2)[0]) + 1
        return scale * np.sum(inverse @ x[:2])

    np.testing.assert_allclose(cr.grad(f)(X), [0.4, 0.2, 0.0, 0.0])


def test_what_was_written_into_is_no_constant_any_more():
    def f(x):
        a = cr.numpy.eye(2)
        a[0, 0] = x[0]
        return np.sum(scipy.linalg.inv(a))

    with pytest.raises(cr.ChainruleError, match=r"scipy\.linalg\.inv"):
        cr.grad(f)(X)

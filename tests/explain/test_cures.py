"""Each cure (`core.cure`, `ops.cures`) cures the program it is for, and is the one that is told."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import OPS
from chainrule.explain.cures import AFTER, BEFORE

SMALL = 1e-8


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def total(f):
    return lambda x: np.sum(f(x))


def _std_by_hand(x):
    return np.sqrt(np.mean(x**2) - np.mean(x) ** 2)


def _angle(x):
    u, v = x, np.array([1.0, 0.0, 0.0])
    return np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v)


class Broken(cr.Function):
    """Its backward divides by what forward got."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return g * 2 * x * x / x


class Mended(Broken):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return g * 2 * x


SHARES = np.array([0.3, 0.7])


def recurrent(w, after):
    h = np.ones(2)
    for _ in range(800):
        h = after(w @ h)
    return np.sum(h)


HOLES = np.array([1.0, np.nan])
MASK = np.array([0.0, -np.inf])
EQUAL = np.full(3, 2.0)
ROUNDED = np.full(3, 0.1) + 1e-17
WEIGHTS = np.array([0.0, 1.0])

# Per cure: the program that needs it, the same with the cure, and the point.
PROGRAMS = {
    "an input": (
        total(lambda x: x * 2),
        total(lambda x: np.where(np.isfinite(x), x, 0) * 2),
        np.array([1.0, np.nan]),
    ),
    "an infinite constant": (
        total(lambda x: x * np.where(WEIGHTS > 0, 1.0, -np.inf) * WEIGHTS),
        total(lambda x: x * np.where(WEIGHTS > 0, 1.0, -1e30) * WEIGHTS),
        np.array([1.0, 2.0]),
    ),
    "a constant": (
        total(lambda x: x * HOLES),
        total(lambda x: x * np.where(np.isnan(HOLES), 0, HOLES)),
        np.array([1.0, 2.0]),
    ),
    "a narrow type": (
        total(np.exp), total(np.exp), np.array([1.0, 100.0], np.float32),
    ),
    "a softmax without a shift": (
        lambda x: (np.exp(x) / np.sum(np.exp(x)))[0],
        lambda x: cr.softmax(x)[0],
        np.array([1000.0, 999.0]),
    ),
    "a log of a sum of exponentials": (
        lambda x: np.log(np.sum(np.exp(x))),
        cr.logsumexp,
        np.array([1000.0, 999.0]),
    ),
    "a softplus by hand": (
        lambda x: np.log(1 + np.exp(x)), cr.softplus, 1000.0,
    ),
    "a sigmoid by hand": (
        lambda x: 1 / (1 + np.exp(-x)), cr.expit, -1000.0,
    ),
    "an exponential that overflows": (
        np.exp, lambda x: np.exp(np.minimum(x, 700)), 1000.0,
    ),
    "the log of a softmax": (
        lambda x: np.log(cr.softmax(x))[1],
        lambda x: cr.log_softmax(x)[1],
        np.array([1000.0, 0.0]),
    ),
    "the log of a density": (
        lambda s: np.log(np.exp(-((60.0 / s) ** 2) / 2) / s),
        lambda s: -((60.0 / s) ** 2) / 2 - np.log(s),
        1.0,
    ),
    "the log of a sigmoid": (
        lambda x: np.log(cr.expit(x)), cr.log_expit, -1000.0,
    ),
    "x log x at 0": (
        total(lambda x: x * np.log(x / SHARES)),
        total(lambda x: np.where(x > 0, x * np.log(x / SHARES), 0)),
        np.array([0.0, 0.7]),
    ),
    "a ratio inside a logarithm": (
        total(lambda q: SHARES * np.log(SHARES / q)),
        total(lambda q: SHARES * np.log(SHARES / np.maximum(q, 1e-12))),
        np.array([0.0, 0.7]),
    ),
    "a loop that grows": (
        lambda w: recurrent(w, lambda h: h),
        lambda w: recurrent(w, lambda h: h / np.linalg.norm(h)),
        np.array([[3.0, 0.1], [0.2, 3.0]]),
    ),
    "0 × log 0": (
        total(lambda x: WEIGHTS * np.log(x)),
        total(lambda x: cr.xlogy(WEIGHTS, x)),
        np.array([0.0, 2.0]),
    ),
    "the log of zero": (
        total(np.log), total(lambda x: np.where(x > 0, np.log(x), 0)), np.array([0.0, 2.0]),
    ),
    "the log of a negative number": (
        total(np.log), total(lambda x: np.log(cr.softplus(x))), np.array([-1.0, 2.0]),
    ),
    "a norm by hand": (
        lambda x: np.sqrt(np.sum(x**2)), np.linalg.norm, np.zeros(3),
    ),
    "a variance as a difference": (
        _std_by_hand, np.std, ROUNDED,
    ),
    "a root at zero": (
        total(np.sqrt), total(lambda x: np.where(x > 0, np.sqrt(x), 0)), np.array([0.0, 4.0]),
    ),
    "a root of a negative number": (
        total(np.sqrt), total(lambda x: np.sqrt(np.maximum(x, 0))), np.array([-1e-17, 4.0]),
    ),
    "a cube root at zero": (
        total(np.cbrt), total(lambda x: np.where(x != 0, np.cbrt(x), 0)), np.array([0.0, 8.0]),
    ),
    "an exponent of a negative base": (
        lambda p: (-2.0) ** p, lambda p: (-2.0) ** cr.stop_gradient(p) + 0 * p, 2.0,
    ),
    "a power of a negative base": (
        lambda x: x**1.5, lambda x: np.sign(x) * np.abs(x) ** 1.5, -4.0,
    ),
    "a negative power of zero": (
        total(lambda x: x**-1.0),
        total(lambda x: np.where(x != 0, x**-1.0, 0)),
        np.array([0.0, 2.0]),
    ),
    "a fractional power at zero": (
        total(lambda x: x**0.3),
        total(lambda x: np.where(x > 0, x**0.3, 0)),
        np.array([0.0, 2.0]),
    ),
    "sin(x) / x": (
        total(lambda x: np.sin(x) / x), total(lambda x: np.sinc(x / np.pi)), np.array([0.0, 1.0]),
    ),
    "division by a spread of zero": (
        total(lambda x: (x - np.mean(x)) / np.std(x)),
        total(lambda x: (x - np.mean(x)) / (np.std(x) + SMALL)),
        EQUAL,
    ),
    "division by a norm of zero": (
        lambda x: (x / np.linalg.norm(x))[0],
        lambda x: (x / np.where(np.linalg.norm(x) > 0, np.linalg.norm(x), 1))[0],
        np.zeros(3),
    ),
    "0 / 0": (
        total(lambda x: x / (2 * x)),
        total(lambda x: np.where(x != 0, x / (2 * x), 0)),
        np.array([0.0, 2.0]),
    ),
    "division by zero": (
        total(lambda x: 1 / x), total(lambda x: np.where(x != 0, 1 / x, 0)), np.array([0.0, 2.0]),
    ),
    "a mean of nothing": (
        lambda x: np.mean(x[x > 5]),
        lambda x: np.mean(x[x > 5]) if x[x > 5].size else 0.0 * np.sum(x),
        np.array([1.0, 2.0]),
    ),
    "an angle at 0 or π": (
        lambda x: np.arccos(x[0] / np.linalg.norm(x)), _angle, np.array([2.0, 0.0, 0.0]),
    ),
    "an angle beyond 1": (
        lambda x: np.arccos(x), lambda x: np.arccos(np.clip(x, -1, 1)), 1.0 + 1e-15,
    ),
    "the edge of a domain": (
        np.arctanh, lambda x: np.arctanh(np.clip(x, -1 + 1e-12, 1 - 1e-12)), 1.0,
    ),
    "a probability of 0 or 1": (
        cr.logit, lambda p: cr.logit(np.clip(p, 1e-12, 1 - 1e-12)), 0.0,
    ),
    "arccosh below 1": (
        np.arccosh, lambda x: np.where(x > 1, np.arccosh(np.maximum(x, 1)), 0), 1.0,
    ),
    "a pole of gamma": (
        cr.gammaln, lambda x: cr.gammaln(cr.softplus(x) + 1e-6), 0.0,
    ),
    "a product that overflows": (
        np.prod, lambda x: np.sum(np.log(np.abs(x))), np.array([1e200, 1e200]),
    ),
    "a sum of gradients that overflows": (
        lambda x: 1.7e308 * x + 1.7e308 * x,
        lambda x: 1.7e298 * x + 1.7e298 * x,
        1e-10,
    ),
    "an overflow": (
        total(lambda x: x**4),
        total(lambda x: (x / np.max(np.abs(x))) ** 4),
        np.array([1e100, 2.0]),
    ),
    "a function of your own": (
        total(Broken.apply), total(Mended.apply), np.array([0.0, 1.0]),
    ),
}  # fmt: skip
ANOTHER = {  # cures that are another function on purpose
    "an overflow", "a product that overflows", "an exponential that overflows",
    "a sum of gradients that overflows", "the log of a negative number", "a pole of gamma",
    "an angle at 0 or π", "a loop that grows",
}  # fmt: skip
WITHOUT = {"none", "a seed"}  # no program; the seed has a test of its own


def test_every_cure_has_a_program():
    cures = (*BEFORE, *(c for op in OPS.values() for c in op.cure), *AFTER)
    assert set(PROGRAMS) == {c.key for c in cures} - WITHOUT


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("key", PROGRAMS)
def test_the_cure_is_named_and_cures(key):
    sick, cured, x = PROGRAMS[key]
    report = cr.find_nonfinite(sick, x)
    assert report, "the program is ill"
    assert report.cure.key == key, f"told {report.cure.key}\n{report}"
    assert str(report.cure) in " ".join(str(report).split())
    after = cr.find_nonfinite(cured, np.asarray(x, np.float64))
    assert not [r for r in after.results if r.what == "gradient" or key != "an input"], str(after)


def own_deviation(x, small):
    m = np.mean(x, axis=0)
    return np.sum(((x - m) / np.sqrt(np.mean((x - m) ** 2, axis=0) + small)) ** 2)


# The other programs that a cure is told for: each cured by what it says.
OTHERS = {
    "float32 x³": ("a narrow type", total(lambda x: x**3), total(lambda x: x**3),
                   np.array([1e13, 1.0], np.float32)),
    "float16 x²": ("a narrow type", total(lambda x: x**2), total(lambda x: x**2),
                   np.array([1e3, 1.0], np.float16)),
    "batch norm": ("division by a spread of zero", lambda x: own_deviation(x, 0.0),
                   lambda x: own_deviation(x, 1e-8), np.ones((3, 2))),
    "KL by the first": ("x log x at 0", total(lambda p: p * (np.log(p) - np.log(SHARES))),
                        total(lambda p: np.where(p > 0, p * (np.log(p) - np.log(SHARES)), 0)),
                        np.array([0.0, 0.7])),
    "KL, a share of 0": ("0 × log 0", total(lambda q: WEIGHTS * np.log(WEIGHTS / q)),
                         total(lambda q: cr.xlogy(WEIGHTS, WEIGHTS / q)), np.array([0.2, 0.8])),
    "a loop, bounded": ("a loop that grows", lambda w: recurrent(w, lambda h: np.maximum(h, 0)),
                        lambda w: recurrent(w, lambda h: np.tanh(np.maximum(h, 0))),
                        np.array([[3.0, 0.1], [0.2, 3.0]])),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_programs_are_cured_by_what_they_are_told(name):
    key, sick, cured, x = OTHERS[name]
    report = cr.find_nonfinite(sick, x)
    assert report.cure.key == key, f"told {report.cure.key}\n{report}"
    assert not cr.find_nonfinite(cured, np.asarray(x, np.float64))


@pytest.mark.parametrize("key", PROGRAMS)
def test_the_cure_changes_nothing_else(key):
    """Where both are finite, the cured program has the value of the other."""
    sick, cured, x = PROGRAMS[key]
    if key in ANOTHER:
        return
    well = np.abs(np.asarray(x, float)) * 0 + 0.37 + np.arange(np.size(x)).reshape(np.shape(x))
    if key in {"arccosh below 1"}:
        well = well + 1
    if key.startswith(("an angle", "a probability", "the edge")):
        well = well * 0 + 0.37
    if key == "a mean of nothing":
        well = well + 6
    if key in {"a power of a negative base", "an exponent of a negative base"}:
        well = np.asarray(2.0)
    ours, theirs = cured(well), sick(well)
    if np.isfinite(theirs):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)

"""A compiled function checks itself: when, how often, what counts as a difference, what it says."""

from __future__ import annotations

import collections
import itertools
import types

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import OPS
from chainrule.run.verify import NEVER, owned, unlike

pytest.importorskip("llvmlite")

X = np.array([0.5, -1.25, 2.0])


def doubled(x):
    return np.sin(x) * 2


def checks(fast):
    return fast.options.verifier.checked


def variant_of(fast):
    ((variant,),) = fast.variants.values()
    return variant


def sabotaged(fast, change):
    """From now on the machine code of the only variant gives `change` of its outputs."""
    variant = variant_of(fast)
    run = variant.run
    variant.run = lambda leaves: [change(o) for o in run(leaves)]
    variant.direct = fast.direct = None
    return variant


def due(variant):
    variant.scope["left"] = 0


# ---- when ----------------------------------------------------------------------------------------


def test_always_checks_every_call():
    """The first call is plain Python's own, with which what was recorded is compared."""
    fast = cr.compile(doubled, verify="always")
    for n in range(10):
        np.testing.assert_allclose(fast(X), doubled(X), rtol=1e-15)
        assert checks(fast) == n


def test_never_checks_no_call():
    fast = cr.compile(doubled, verify="never")
    for _ in range(10):
        fast(X)
    assert checks(fast) == 0


def test_sometimes_checks_the_first_two_calls_of_every_branch():
    fast = cr.compile(lambda x: x * 2 if np.sum(x) > 0 else np.exp(x))
    assert fast.options.verifier.mode == "sometimes"
    counts = []
    for x in (X, X, -X, -X):
        fast(x)
        counts.append(checks(fast))
    assert counts == [0, 1, 1, 2]


def test_after_a_check_as_many_calls_go_unchecked_as_its_time_asks_for(monkeypatch):
    """The plain call takes 100 times as long, by a clock of the test's own: 2 % is 5,000 calls."""
    ticks = iter([0.0, 1.0, 101.0])
    fast = cr.compile(doubled)
    fast(X)
    monkeypatch.setattr("chainrule.run.verify.perf_counter", lambda: next(ticks))
    fast(X)
    assert checks(fast) == 1
    assert variant_of(fast).scope["left"] == 5000
    for n in range(5000):
        fast(X)
        assert checks(fast) == 1, n
    monkeypatch.setattr("chainrule.run.verify.perf_counter", iter(range(10)).__next__)
    fast(X)
    assert checks(fast) == 2


def test_the_number_of_checks_is_bounded(monkeypatch):
    """A plain call takes 20 times as long, by a clock of the test's own: one call in a thousand."""
    fast = cr.compile(doubled)
    fast(X)
    clock = itertools.accumulate(itertools.cycle([5.0, 1.0, 20.0]))
    monkeypatch.setattr("chainrule.run.verify.perf_counter", lambda: next(clock))
    for _ in range(3000):
        fast(X)
    assert 2 <= checks(fast) <= 4


def test_an_unknown_mode_is_named():
    with pytest.raises(cr.ArgumentError, match=r"verify='often'.*'sometimes', 'always', 'never'"):
        cr.compile(doubled, verify="often")


def test_a_check_sees_its_own_arguments():
    """The function may not write into them, but what it does write is its own."""
    args = {"a": [X, 1.0]}
    copied = owned(args)
    assert copied["a"][0] is not X
    np.testing.assert_array_equal(copied["a"][0], X)


# ---- what is found -------------------------------------------------------------------------------


def test_a_difference_is_raised_with_line_and_both_values():
    fast = cr.compile(doubled)
    fast(X)
    due(sabotaged(fast, lambda output: output + 0.25))
    with pytest.raises(cr.errors.CompileDifference) as caught:
        fast(X)
    text = str(caught.value)
    assert text.startswith("doubled gives something else when it is compiled")
    assert repr(doubled(X)) in text
    assert repr(doubled(X) + 0.25) in text
    assert "machine code does not" in text


def test_a_wrong_lowering_is_found_on_the_first_call(monkeypatch):
    """The function then runs as plain Python: the result is right from the first call on."""
    monkeypatch.setitem(vars(OPS["tanh"]), "lower", OPS["sin"].lower)
    fast = cr.compile(lambda x: np.tanh(x * 1.7) + 3.0)
    with pytest.warns(RuntimeWarning, match="on its first call the recorded operations gave"):
        found = fast(X)
    np.testing.assert_array_equal(found, np.tanh(X * 1.7) + 3.0)


def test_a_recording_that_differs_names_the_line_and_the_operation():
    """Something that recording did not see decides the branch."""
    fast = cr.compile(doubled)
    fast(X)
    variant = variant_of(fast)
    due(variant)

    def other(x):
        return np.cos(x) * 2

    fast.options.verifier.f = other
    with pytest.raises(cr.errors.CompileDifference) as caught:
        fast(X)
    text = str(caught.value)
    assert "the first difference: cos in place of sin" in text
    assert "test_verify.py" in text
    assert "np.cos(x) * 2" in text


def test_an_unchecked_call_is_not_compared():
    fast = cr.compile(doubled)
    fast(X)
    fast(X)
    sabotaged(fast, lambda output: output + 0.25).scope["left"] = NEVER
    np.testing.assert_allclose(fast(X), doubled(X) + 0.25)


def test_what_is_rebound_while_it_is_checked_is_no_difference():
    """As another thread may do at any moment; both results were right when they were made."""
    owner = types.SimpleNamespace(k=2.0)

    def f(x):
        return x * owner.k

    def rebinding(x):
        owner.k += 1.0
        return f(x)

    fast = cr.compile(f)
    fast(X)
    fast.options.verifier.f = rebinding
    np.testing.assert_array_equal(fast(X), X * 2.0)
    fast.options.verifier.f = f
    np.testing.assert_array_equal(fast(X), X * 3.0)
    assert not fast.interpreted


def test_what_is_rebound_between_the_first_call_and_its_recording_is_no_difference():
    owner = types.SimpleNamespace(k=2.0)

    def f(x):
        return x * owner.k

    fast = cr.compile(f)
    record = fast._recorded

    def rebinding(*args):
        owner.k += 1.0
        return record(*args)

    fast._recorded = rebinding
    found = fast(X)
    assert np.array_equal(found, X * 2.0) or np.array_equal(found, X * 3.0)
    fast._recorded = record
    np.testing.assert_array_equal(fast(X), X * 3.0)
    assert not fast.interpreted


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.log(x), np.array([-1.0, 0.0, 2.0])),
        (lambda x: x - x, np.array([np.inf, np.nan, 1.0])),
        (lambda x: np.sum(x) * 0, np.array([np.inf, 1.0])),
        (lambda x: np.sqrt(x.astype(complex)) * np.nan, X),
        (lambda x: (x, {"a": np.max(x)}), np.array([np.nan, 1.0])),
    ],
)
@pytest.mark.filterwarnings("ignore:(invalid|divide):RuntimeWarning")
def test_nan_is_equal_to_nan_and_infinity_to_infinity(f, x):
    fast = cr.compile(f, verify="always")
    for _ in range(4):
        fast(x)
    assert checks(fast) == 3
    assert not fast.interpreted


RNG = np.random.default_rng(3)
LARGE = RNG.normal(size=1000) * 1e8


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(x) - np.sum(x[::-1]), LARGE),
        (lambda x: np.sum(np.exp(x) - np.exp(x) * (1 + 1e-16)), RNG.normal(size=100)),
        (lambda x: (x + 1e10) - 1e10 - x, RNG.normal(size=100)),
        (lambda x: np.sum(np.sin(x) ** 2 + np.cos(x) ** 2 - 1), LARGE),
        (cr.grad(lambda x: np.sum((x - np.mean(x)) ** 2)), np.full(100, 1e6) + 1e-9),
        (lambda x: np.sum(x.astype(np.float32) * np.float32(0.1)) - np.float32(1e7), LARGE),
    ],
    ids=["sum", "exp", "shifted", "circle", "variance", "float32"],
)
def test_results_that_cancel_are_no_difference(f, x):
    fast = cr.compile(f, verify="always")
    for scale in (1.0, 3.0, 0.7):
        fast(x * scale)
        fast(x * scale)
    assert not fast.interpreted


def test_a_branch_that_rounding_decides_is_no_difference():
    def f(x):
        return x * 2 if np.sum(x) > 0 else x * 3

    fast = cr.compile(f, verify="always")
    for _ in range(30):
        x = RNG.normal(size=999)
        fast(np.append(x, -np.sum(x)))


# ---- what counts as unlike -----------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (X, X + 1e-3),
        (X, X.astype(np.float32)),
        (X, X[:2]),
        (X, X[None]),
        (X, [0.5, -1.25, 2.0]),
        (np.float64(1), np.float64(2)),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
        (np.array([np.inf]), np.array([1.0])),
        (np.array([1e300]), np.array([np.inf])),
        (True, False),
        (True, 1),
        (1, 2),
        ("a", "b"),
        (None, 0.0),
        ({"a": X}, {"b": X}),
        ((X, X), [X, X]),
        (Pair(X, 1.0), (X, 1.0)),
        ([X, X], [X, X + 1]),
        (np.array([1 + 1j]), np.array([1 - 1j])),
    ],
)
def test_unlike(one, other):
    assert unlike(one, other)
    assert unlike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (X, X.copy()),
        (X, X * (1 + 1e-15)),
        (X.astype(np.float32), X.astype(np.float32) * np.float32(1 + 1e-6)),
        (np.array([np.nan, np.inf, 0.0]), np.array([np.nan, np.inf, -0.0])),
        (np.array([1e-30, 1.0]), np.array([0.0, 1.0])),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        ({"a": [X, (1, None, "text")]}, {"a": [X.copy(), (1, None, "text")]}),
        (Pair(X, 1.0), Pair(X, 1.0)),
        (float("nan"), float("nan")),
    ],
)
def test_alike(one, other):
    assert unlike(one, other) == ""


def test_the_place_of_a_difference_is_named():
    assert unlike({"a": [X, X]}, {"a": [X, X + 1]}).startswith("result['a'][1]: ")


def test_long_arrays_are_shown_in_short():
    assert len(unlike(np.zeros(10**5), np.ones(10**5))) < 200


def looped(x):
    for _ in range(150):
        x = np.sin(x) * 1.25 + 0.5 * x
    return np.sum(x)


def test_a_difference_behind_a_loop_is_found_in_the_recording_as_it_is_compiled():
    """Operation by operation, the loop among them."""
    fast = cr.compile(looped)
    fast(X)
    due(sabotaged(fast, lambda output: output + 0.25))
    with pytest.raises(cr.errors.CompileDifference, match="every operation of the recording agr"):
        fast(X)


def test_the_values_of_every_iteration_say_what_rounding_explains():
    def cancelling(x):
        y = x
        for k in range(150):
            y = y + 1e12 * np.cos(x * k) - 1e12 * np.cos(x * k)
        return np.sum(y - x)

    fast = cr.compile(cancelling)
    fast(X)
    due(sabotaged(fast, lambda output: output + 1e-3))
    fast(X + 0.125)


def test_numbers_of_python_stay_weak_in_a_loop_of_narrow_numbers():
    def f(x, a):
        for _ in range(150):
            x = np.sin(x * a).astype(np.float32) + np.float32(0.5) * x.astype(np.float32)
        return np.sum(x).astype(np.float64)

    fast = cr.compile(f, verify="always")
    for a in (0.75, np.float64(0.75), 0.5, np.float64(0.5)):
        assert fast(X, a) == pytest.approx(f(X, a), rel=1e-5)
        assert fast(X, a).dtype == f(X, a).dtype

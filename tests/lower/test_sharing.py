"""Steps that are alike have their code in common, wherever in memory their operands lie."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower import module as module_file


def text_of(compiled):
    ((variant,),) = compiled.variants.values()
    return variant.run.module.text


def recurrent(p, x):
    h = np.zeros((4, 8))
    for t in range(x.shape[1]):
        z = x[:, t] @ p["W"] + h @ p["U"]
        h = cr.sigmoid(z[:, :8]) * np.tanh(z[:, 8:]) + 0.5 * h
    return np.sum(h**2)


def compiled(times):
    rng = np.random.default_rng(0)
    p = {"W": rng.normal(size=(6, 16)), "U": rng.normal(size=(8, 16)) / 4}
    x = rng.normal(size=(4, times, 6))
    fast = cr.compile(cr.value_and_grad(recurrent))
    value, slopes = fast(p, x)
    expected, theirs = cr.value_and_grad(recurrent)(p, x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for name, slope in slopes.items():
        np.testing.assert_allclose(slope, theirs[name], rtol=1e-10, atol=1e-13)
    return text_of(fast)


def test_a_longer_recurrence_has_no_more_code():
    """Slices of one array at other places, and arrays at other places of the arena."""
    short, long = (compiled(times).count("define internal void @body") for times in (6, 12))
    assert short == long


@pytest.mark.parametrize("many", [1, 10**9])
def test_the_functions_that_find_operands_are_left_as_they_are_where_they_are_many(
    many, monkeypatch
):
    monkeypatch.setattr(module_file, "MAX_OPTIMISED_STEPS", many)
    heads = [line for line in compiled(4).splitlines() if " @step" in line and "define" in line]
    assert heads
    assert all(("optnone" in head) == (many == 1) for head in heads)


def squares(xs):
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


@pytest.mark.parametrize("f", [squares, cr.grad(squares)], ids=["value", "gradient"])
def test_a_list_of_many_numbers_is_moved_by_loops(f):
    """A line of code per number took LLVM half a minute for 4,000 of them."""

    def lines(n):
        fast, xs = cr.compile(f), [float(i) for i in range(n)]
        assert fast(xs) == f(xs)
        assert fast(xs[::-1]) == f(xs[::-1])
        return len(text_of(fast).splitlines())

    assert lines(1200) == lines(3000)


def test_one_of_many_alike_that_is_not_like_the_others():
    fast = cr.compile(squares)
    xs = [float(i) for i in range(1000)]
    assert fast(xs) == squares(xs)
    for other in (np.float64(0.5), np.array(0.5), np.float32(0.5), 3):
        changed = [*xs[:700], other, *xs[701:]]
        assert fast(changed) == pytest.approx(squares(changed), rel=1e-5)  # float32 is among them

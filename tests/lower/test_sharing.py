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
    monkeypatch.setattr(module_file, "MANY_STEPS", many)
    heads = [line for line in compiled(4).splitlines() if " @step" in line and "define" in line]
    assert heads
    assert all(("optnone" in head) == (many == 1) for head in heads)

"""`memory=` on a Jacobian (`diff/jacobian_memory.py`): the same numbers, below the budget."""

import tracemalloc

import numpy as np
import pytest

import chainrule as cr

R = np.random.default_rng(0)
W = [R.standard_normal((80, 80)) * 0.2 for _ in range(6)]


def network(x):
    for w in W:
        x = np.tanh(x @ w)
    return np.sum(x[:, :6], axis=0)


def ring(x):
    for _ in range(12):
        x = np.tanh(x) * 1.1 + 0.1 * np.roll(x, 1)
    return x


def fitted(p):
    t = np.linspace(0, 1, 20_000)
    return p[0] * np.exp(-p[1] * t) + p[2] * np.sin(p[3] * t)


def summaries(x):
    for _ in range(15):
        x = np.sin(x) + 0.5 * x
    return np.stack([np.sum(x), np.sum(x * x), np.sum(x[::2]), np.max(x), np.mean(x)])


def scanned(x):
    def step(c, _):
        return np.tanh(c) * 1.1 + 0.1 * np.roll(c, 1), np.sum(c)

    return cr.scan(step, x, length=40)[1][::8]


PROGRAMS = {
    "network": (network, R.standard_normal((200, 80)), (16, 5)),
    "ring": (ring, R.standard_normal(100), (8, 1.2)),
    "fitted": (fitted, np.array([1.0, 2.0, 3.0, 4.0]), (20, 8)),
    "summaries": (summaries, R.standard_normal(40_000), (30, 12)),
    "scanned": (scanned, R.standard_normal(2000), (8, 4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_numbers_below_the_budget(name):
    f, at, budgets = PROGRAMS[name]
    value, expected = cr.value_and_jacobian(f)(at)
    for megabytes in budgets:
        fast = cr.value_and_jacobian(f, memory=f"{megabytes}MB")
        fast(at)  # what is imported on the way is no part of a peak
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        seen, found = fast(at)
        used = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        assert np.array_equal(seen, value)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        assert used <= megabytes * 1e6, f"{used:,} of {megabytes} MB"


@pytest.mark.parametrize("budget", ["10MB", "1.2MB"])
@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
def test_structural_zeros_stay_zeros(budget, mode):
    """Through infinity nothing leads to the other elements: 0, never NaN."""

    def root(x):
        return np.sqrt(x) + np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), x)

    x = np.array([0.0, 1.0, 2.0, 0.0, 3.0, 4.0])
    with np.errstate(all="ignore"):
        found = cr.jacobian(root, mode=mode, memory=budget)(x)
        assert np.array_equal(found, cr.jacobian(root)(x))
    assert np.isinf(found[0, 0])


def test_nested_containers_and_an_output_that_depends_on_nothing():
    def f(d):
        return {"a": d["x"] * d["y"], "b": np.sum(d["x"]), "c": np.ones(2)}

    at = {"x": np.linspace(1, 2, 20), "y": np.linspace(3, 4, 20), "name": "n"}
    found, expected = cr.jacobian(f, memory="5MB")(at), cr.jacobian(f)(at)
    assert found.keys() == expected.keys()
    for a, b in zip(cr.tree.leaves(found), cr.tree.leaves(expected), strict=True):
        assert np.array_equal(a, b)


def test_a_holomorphic_function():
    z = np.array([1 + 2j, 0.5 - 1j, 2 + 0j])
    for mode in ("reverse", "forward"):
        found = cr.jacobian(lambda z: z**3, mode=mode, holomorphic=True, memory="5MB")(z)
        np.testing.assert_allclose(found, np.diag(3 * z**2), rtol=1e-13)


def test_a_result_that_does_not_fit_says_what_to_do():
    with pytest.raises(cr.MemoryBudgetError, match=r"(?s)itself takes 32 MB.*cr\.vjp") as told:
        cr.jacobian(ring, memory="10MB")(np.ones(2000))
    assert told.value.least > 32_000_000


def test_columns_that_do_not_fit_say_that_rows_do():
    with pytest.raises(cr.MemoryBudgetError, match='leave mode="auto"'):
        cr.jacobian(summaries, mode="forward", memory="10MB")(np.ones(40_000))


def test_where_another_derivative_records_it_that_decides():
    def f(x):
        return np.sum(cr.jacobian(ring, memory="10kB")(x) ** 2)

    x = np.linspace(0, 1, 5)
    np.testing.assert_allclose(
        cr.grad(f)(x), cr.grad(lambda x: np.sum(cr.jacobian(ring)(x) ** 2))(x)
    )

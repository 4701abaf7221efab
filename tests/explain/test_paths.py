"""Paths (`bounds.py`, `flow.py`, `measure.py`, `size.py`): sum, number, which are the heaviest."""

import math
from functools import reduce

import numpy as np
import pytest

import chainrule as cr
from tests.explain.random_graphs import all_paths, array_program, product_along, scalar_program

EVERY = 10**6


def assert_sums_to_total(explanation):
    products = [p.product for p in explanation.paths]
    size = sum(np.abs(p) for p in products)
    np.testing.assert_array_less(
        np.abs(sum(products) - explanation.value), 1e-12 * np.maximum(size, 1e-300) + 1e-300
    )


def test_the_sum_over_paths_is_the_adjoint_of_numbers():
    for seed in range(500):
        rng = np.random.default_rng(seed)
        program, point = scalar_program(rng), rng.uniform(-1.5, 1.5, 3)
        explanation = cr.explain(program, *point, wrt=int(rng.integers(3)), top=EVERY)
        assert explanation.path_count == len(explanation.paths)
        if explanation.paths:
            assert_sums_to_total(explanation)
            if math.isfinite(explanation.paths[-1].covered):
                assert explanation.paths[-1].covered == pytest.approx(1.0, abs=1e-6)


def test_numbers_against_every_path_listed():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        program, point = scalar_program(rng), rng.uniform(-1.5, 1.5, 3)
        full = cr.explain(program, *point, top=EVERY)
        listed = all_paths(full.graph, full.wrt)
        assert full.path_count == len(listed)
        assert {p.nodes for p in full.paths} == set(listed)
        products = {path: product_along(full.run, path).item() for path in listed}
        for path in full.paths:
            assert path.product == pytest.approx(products[path.nodes], rel=1e-12, abs=1e-300)
            assert math.prod(path.factors) == pytest.approx(path.product, rel=1e-12, abs=1e-300)
            assert path.weight == abs(path.product)
        heaviest = sorted((abs(p) for p in products.values()), reverse=True)
        found = [p.weight for p in cr.explain(program, *point, top=5).paths]
        np.testing.assert_allclose(found, heaviest[:5], rtol=1e-12)


@pytest.mark.parametrize("how", ["whole", "entry", "along"])
def test_the_sum_over_paths_is_the_adjoint_of_arrays(how):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        program, x, W = array_program(rng), rng.normal(size=3), rng.normal(size=(3, 3)) / 2
        asked = {
            "whole": {},
            "entry": {"entry": (int(rng.integers(3)),)},
            "along": {"along": rng.normal(size=3)},
        }[how]
        explanation = cr.explain(program, x, W, top=EVERY, **asked)
        listed = all_paths(explanation.graph, explanation.wrt)
        assert explanation.path_count == len(explanation.paths) == len(listed)
        assert explanation.exact
        assert_sums_to_total(explanation)
        weights = [p.weight for p in explanation.paths]
        assert weights == sorted(weights, reverse=True)


def test_factors_of_arrays_multiply_to_the_product():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        program, x, W = array_program(rng), rng.normal(size=3), rng.normal(size=(3, 3)) / 2
        for asked in ({}, {"entry": 1}, {"along": np.array([1.0, 2.0, -1.0])}):
            for path in cr.explain(program, x, W, **asked).paths:
                product = reduce(np.dot, reversed(path.factors), path.seed)
                np.testing.assert_allclose(
                    np.reshape(product, -1), np.reshape(path.product, -1), atol=1e-12
                )
                assert len(path.factors) == len(path.nodes) - 1


def test_the_formal_graph_of_the_lecture():
    """n = 4, E = {(1,3), (2,3), (2,4), (3,4)}, u³ = u¹ + u², u⁴ = u²·u³ at (2, 3)."""
    graph = cr.Graph.define(
        [1, 1, 1, 1],
        [(1, 3), (2, 3), (2, 4), (3, 4)],
        {3: lambda a, b: a + b, 4: lambda b, c: b * c},
    )
    explanation = cr.explain(graph, 2.0, 3.0, wrt=1)
    assert explanation.total == 8.0
    assert [tuple(n.name for n in p.nodes) for p in explanation.paths] == [(2, 4), (2, 3, 4)]
    assert [p.factors for p in explanation.paths] == [(5.0,), (1.0, 3.0)]
    assert [p.product for p in explanation.paths] == [5.0, 3.0]
    inner = cr.explain(graph, 2.0, 3.0, wrt=graph.node(3))
    assert (inner.total, inner.path_count) == (3.0, 1)


# -- how many ------------------------------------------------------------------------------------


def doubling(steps):
    def f(x):
        for _ in range(steps):
            x = np.sin(x) + np.cos(x)
        return x

    return f


def test_the_number_of_paths_is_exact_however_large():
    assert cr.explain(doubling(1100), 0.3, top=1).path_count == 2**1100


def test_counts_of_different_sizes():
    """Fibonacci: each value is made of the two before it."""

    def f(x):
        a, b = x, np.sin(x)
        for _ in range(1500):
            a, b = b, a + 0.5 * b
        return b

    one, two = 1, 1
    for _ in range(1500):
        one, two = two, one + two
    assert cr.explain(f, 0.3, top=0).path_count == two


def test_using_a_value_twice_in_one_operation_is_one_edge():
    explanation = cr.explain(lambda x: x * x, 3.0)
    assert explanation.path_count == 1
    assert explanation.paths[0].factors == (6.0,)


# -- the heaviest --------------------------------------------------------------------------------


def test_top_paths_of_a_graph_with_more_paths_than_can_be_listed():
    def f(x):
        for _ in range(200):
            x = 0.9 * x + 0.3 * np.sin(x)
        return x

    explanation = cr.explain(f, 0.01, top=10)
    weights = [p.weight for p in explanation.paths]
    assert explanation.exact
    assert weights[0] == pytest.approx(0.9**200, rel=1e-9)
    assert weights == sorted(weights, reverse=True)
    assert weights[1] == pytest.approx(0.9**199 * 0.3, rel=1e-3)
    assert len({p.nodes for p in explanation.paths}) == 10


def test_share_and_what_is_covered_so_far():
    explanation = cr.explain(lambda x: 3.0 * x + np.negative(x) + 2.0 * x, 1.0)
    assert [p.share for p in explanation.paths] == [0.75, 0.5, -0.25]
    assert [p.covered for p in explanation.paths] == [0.75, 1.25, 1.0]
    assert explanation.rest == 0.0
    assert cr.explain(lambda x: 3.0 * x + np.negative(x) + 2.0 * x, 1.0, top=1).rest == 1.0


def test_zero_infinite_and_not_a_number():
    def f(x):
        infinite = np.sqrt(x) * 1.0  # slope ∞ at 0
        zero = x * 0.0
        return infinite + zero + np.sqrt(x * 0.0) + 2.0 * x

    explanation = cr.explain(f, 0.0)
    weights = [p.weight for p in explanation.paths]
    assert np.isnan(weights[0])
    assert weights[1:] == [np.inf, 2.0, 0.0]
    assert np.isnan(explanation.total)
    assert all(np.isnan(p.share) for p in explanation.paths)


def test_a_branch_not_taken_adds_zero_whatever_lies_behind_it():
    def f(x):
        return np.where(x > 0, np.log(x), 5.0 * x)

    explanation = cr.explain(f, 0.0)
    assert [p.product for p in explanation.paths] == [5.0, 0.0]
    assert explanation.total == 5.0


def residual(layers, width, seed=0):
    """A function with 2 ** layers paths between vectors, and a point."""
    rng = np.random.default_rng(seed)
    matrices = rng.normal(size=(layers, width, width)) / (2 * width)

    def f(x):
        for W in matrices:
            x = x + np.tanh(W @ x)
        return np.sum(x)

    return f, rng.normal(size=width)


@pytest.mark.parametrize("asked", [{}, {"entry": 2}, {"along": np.arange(4.0)}])
def test_the_heaviest_between_arrays_are_proved(asked):
    for seed in range(4):
        f, x = residual(9, 4, seed)
        found = cr.explain(f, x, top=3, **asked)
        every = cr.explain(f, x, top=2**9, **asked)
        assert (found.path_count, len(every.paths)) == (2**9, 2**9)
        assert found.exact
        np.testing.assert_allclose(
            [p.weight for p in found.paths], [p.weight for p in every.paths[:3]], rtol=1e-12
        )
        assert_sums_to_total(every)


def test_where_a_proof_would_take_too_long_it_is_said():
    f, x = residual(60, 40)
    found = cr.explain(f, x, top=3)
    assert not found.exact
    weights = [p.weight for p in found.paths]
    assert weights == sorted(weights, reverse=True)
    assert "of those tried" in str(found)


# -- kinds of values -----------------------------------------------------------------------------


def test_several_outputs_and_a_seed():
    def f(x):
        y = x * x
        return y, np.sin(y)

    explanation = cr.explain(f, 2.0, seed=(1.0, 10.0))
    assert explanation.path_count == 2
    assert_sums_to_total(explanation)
    assert explanation.paths[0].seed == 10.0
    assert [p.nodes[-1] for p in explanation.paths] == list(explanation.graph.outputs)[::-1]


def test_an_input_that_is_the_output():
    explanation = cr.explain(lambda x: x, 2.0)
    assert (explanation.path_count, explanation.total) == (1, 1.0)
    assert explanation.paths[0].nodes == (explanation.wrt,)
    assert explanation.paths[0].factors == ()
    assert str(explanation)


def test_several_results_of_one_operation():
    def f(A):
        values, vectors = np.linalg.eigh(A)
        return values[0] * np.sum(vectors[:, 0]) + values[1]

    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    for asked in ({}, {"entry": (1, 0)}):
        explanation = cr.explain(f, A, **asked)
        assert explanation.path_count == 3
        assert_sums_to_total(explanation)
        for path in explanation.paths:
            product = reduce(np.dot, reversed(path.factors), path.seed)
            np.testing.assert_allclose(np.reshape(product, -1), np.reshape(path.product, -1))
        assert str(explanation)


def test_complex_values():
    def f(z):
        w = z * z
        return np.real(w * np.conj(z)) + np.abs(w)

    explanation = cr.explain(f, 1.0 + 2.0j)
    assert explanation.path_count == 3
    assert_sums_to_total(explanation)
    assert sum(p.share for p in explanation.paths) == pytest.approx(1.0)
    array = cr.explain(lambda z: np.sum(np.abs(z * z + z)), np.array([1.0 + 2.0j, 3.0j]))
    assert_sums_to_total(array)
    assert str(explanation)
    assert str(array)


def test_narrow_floats():
    x = np.array([0.3, 0.7], np.float32)
    explanation = cr.explain(lambda x: np.sum(np.sin(x) * x), x)
    assert explanation.total.dtype == np.float32
    np.testing.assert_allclose(
        sum(p.product for p in explanation.paths), explanation.total, rtol=1e-6
    )


def test_an_array_without_entries():
    explanation = cr.explain(lambda x: np.sum(x * x) + 1.0, np.zeros(0))
    assert explanation.path_count == 1
    assert explanation.total.shape == (0,)
    assert str(explanation)


def test_numbers_taken_out_of_an_array():
    """Between numbers the factors are exact, also where the input is an array."""

    def f(x):
        return x[0] * x[1] + np.sin(x[0])

    x = np.array([0.4, 3.0])
    at = cr.explain(f, x, entry=0)
    assert [p.product for p in at.paths] == [3.0, np.cos(0.4), 0.0]
    assert at.value == 3.0 + np.cos(0.4)
    whole = cr.explain(f, x)
    assert whole.exact
    assert_sums_to_total(whole)


def test_entries_name_what_a_path_goes_through():
    W, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])

    def f(W):
        z = W @ x
        return np.tanh(z / 10)[1] + np.sum(W**2)

    first, second = cr.explain(f, W, entry=(1, 2)).paths
    names = [n.op.name for n in first.nodes[1:]]
    assert dict(zip(names, first.entries[1:], strict=True))["power"] == (1, 2)
    assert first.factors[0] == pytest.approx(2 * W[1, 2])
    assert second.entries[:4] == ((1, 2), (1,), (1,), (1,))
    assert second.factors[0] == 3.0

"""grad, value_and_grad, vjp and jvp: which argument, which container, which type, whose memory."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.core.containers import flatten, map_leaves

Pair = namedtuple("Pair", "a b")


@dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = "layer"


def f(x, y):
    return x * y**2


# ---- argnums -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 9.0),
        (1, 12.0),
        (-1, 12.0),
        (np.int64(1), 12.0),
        ((0,), (9.0,)),
        ((1, 0), (12.0, 9.0)),
        ([0, -1], (9.0, 12.0)),
        ((), ()),
    ],
)
def test_argnums(argnums, expected):
    assert cr.grad(f, argnums)(2.0, 3.0) == expected
    assert cr.value_and_grad(f, argnums)(2.0, 3.0) == (18.0, expected)


@pytest.mark.parametrize(
    ("argnums", "says"),
    [
        (2, "called with 2 positional arguments"),
        (-3, "called with 2 positional arguments"),
        ((0, 5), r"\(0, 5\): .* 2 positional"),
        ("x", "'x'"),
        ((0, -2), "names an argument twice"),
        ((0.0,), "0.0"),
        pytest.param(1.0, "1.0"),
    ],
)
def test_bad_argnums(argnums, says):
    with pytest.raises(cr.ArgumentError, match=says):
        cr.grad(f, argnums)(2.0, 3.0)


def test_keyword_arguments_are_constants():
    assert cr.grad(lambda x, *, k, s="": x * k)(2.0, k=3.0, s="text") == 3.0
    assert cr.grad(partial(f, y=3.0))(2.0) == 9.0
    with pytest.raises(cr.ArgumentError, match="0 positional"):
        cr.grad(f)(x=2.0, y=3.0)


def test_names_are_kept():
    for transform in (cr.grad, cr.value_and_grad, cr.jacobian, cr.hessian):
        assert transform(f).__name__ == "f"


# ---- has_aux -----------------------------------------------------------------------------------


def with_aux(x):
    return x * x, {"three": x * 3.0, "note": "text", "none": None}


def test_aux_comes_back_as_plain_values():
    gradient, aux = cr.grad(with_aux, has_aux=True)(2.0)
    assert (gradient, aux) == (4.0, {"three": 6.0, "note": "text", "none": None})
    assert isinstance(aux["three"], np.float64)
    assert cr.value_and_grad(with_aux, has_aux=True)(2.0) == ((4.0, aux), 4.0)


def test_aux_of_a_nested_gradient_can_be_differentiated():
    outer = cr.grad(lambda x: cr.grad(lambda y: (y**3, y * x), has_aux=True)(x)[1])
    assert outer(2.0) == 4.0


@pytest.mark.parametrize("result", [lambda x: x, lambda x: [x, 1], lambda x: (x, 1, 2)])
def test_aux_needs_a_pair(result):
    with pytest.raises(cr.ArgumentError, match=r"pair \(output, aux\)"):
        cr.grad(result, has_aux=True)(2.0)


# ---- containers --------------------------------------------------------------------------------

leaves = st.floats(-4, 4) | st.lists(st.floats(-4, 4), max_size=3).map(np.array)
trees = st.recursive(
    leaves | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Layer, inner, inner, st.just(None))
        | st.dictionaries(st.integers(0, 3), inner, max_size=2).map(OrderedDict)
    ),
    max_leaves=8,
)


def weighted(tree):
    """Σ (k + 1)·Σ xₖ² over the leaves xₖ."""
    return sum(((k + 1) * np.sum(x * x) for k, x in enumerate(flatten(tree)[0])), 0.0)


def doubled(tree):
    count = iter(range(1, 100))
    return map_leaves(lambda x: 2.0 * next(count) * x, tree)


def assert_same(found, expected):
    for a, b in zip(flatten(expected)[1].leaves_of(found), flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-300)
        assert np.shape(a) == np.shape(b)


@given(trees)
def test_the_gradient_has_the_structure_of_the_argument(tree):
    assert_same(cr.grad(weighted)(tree), doubled(tree))


@given(trees)
def test_adjoints_and_tangents_have_the_structure_of_output_and_input(tree):
    squares = partial(map_leaves, lambda x: x * x)
    twice = partial(map_leaves, lambda x: 2.0 * x)
    if not flatten(tree)[0]:
        return
    out, pullback = cr.vjp(squares, tree)
    assert_same(out, squares(tree))
    assert_same(pullback(tree), (map_leaves(lambda x: 2.0 * x * x, tree),))
    out, tangent = cr.jvp(squares, (tree,), (twice(tree),))
    assert_same(tangent, map_leaves(lambda x: 4.0 * x * x, tree))


@pytest.mark.parametrize("whole", [3, True, np.array([2, 0]), np.int32(4)])
def test_a_leaf_without_derivative_inside_a_container_gets_zeros(whole):
    def first(p):
        assert type(p["n"]) is type(whole), "it is handed through as it is"
        return np.sum(p["w"] ** 2)

    found = cr.grad(first)({"w": np.array([1.0, 2.0]), "n": whole})
    np.testing.assert_array_equal(found["w"], [2.0, 4.0])
    np.testing.assert_array_equal(found["n"], np.zeros(np.shape(whole)))
    tangent = cr.jvp(first, ({"w": np.ones(2), "n": whole},), ({"w": np.ones(2), "n": 0.0},))[1]
    assert tangent == 4.0


def test_what_is_no_number_inside_a_container_has_no_gradient():
    found = cr.grad(lambda p: p["w"] ** 2)({"w": 3.0, "kind": "text"})
    assert found == {"w": 6.0, "kind": None}


@pytest.mark.parametrize("bad", [True, "text", np.array(["a"]), np.array([1, 2]), np.bool_(True)])
def test_a_bare_argument_without_derivative_is_refused(bad):
    with pytest.raises(cr.DTypeError, match=r"argument 1\b"):
        cr.grad(lambda x, y: x, 1)(1.0, bad)


def test_integers_and_constants_among_the_outputs():
    def several(x):
        return {"y": x * 2.0, "n": 3, "index": np.argmax(x), "none": None}

    out, pullback = cr.vjp(several, np.array([1.0, 5.0]))
    assert (out["n"], out["index"]) == (3, 1)
    (back,) = pullback({"y": np.ones(2), "n": 0, "index": 0, "none": None})
    np.testing.assert_array_equal(back, [2.0, 2.0])
    _, tangent = cr.jvp(several, (np.array([1.0, 5.0]),), (np.ones(2),))
    np.testing.assert_array_equal(tangent["y"], [2.0, 2.0])
    assert (tangent["n"], tangent["index"], tangent["none"]) == (0.0, 0.0, None)


def test_seeds_and_tangents_that_do_not_fit_are_named():
    _, pullback = cr.vjp(lambda x: {"a": x, "b": [x, x]}, np.ones(2))
    with pytest.raises(cr.ArgumentError, match=r"seed\['b'\] must be a list of 2"):
        pullback({"a": np.ones(2), "b": [np.ones(2)]})
    with pytest.raises(cr.ShapeError, match=r"seed of shape \(3,\).* \(2,\)"):
        pullback({"a": np.ones(3), "b": [np.ones(2), np.ones(2)]})
    with pytest.raises(cr.ArgumentError, match=r"tangent 0 must be a dict with 'a', 'b'"):
        cr.jvp(lambda p: p["a"], ({"a": 1.0, "b": 2.0},), ({"a": 1.0},))
    with pytest.raises(cr.ShapeError, match=r"tangent of shape \(2,\).* \(\)"):
        cr.jvp(np.sin, (1.0,), (np.ones(2),))
    with pytest.raises(cr.ArgumentError, match="2 primals need as many tangents"):
        cr.jvp(f, (1.0, 2.0), (1.0,))


# ---- what the function may do ------------------------------------------------------------------


def test_a_variable_in_the_closure_keeps_the_result_differentiable():
    v = cr.variable(3.0)
    value, gradient = cr.value_and_grad(lambda x: x * v * v)(2.0)
    assert isinstance(value, cr.Variable)
    gradient.backward()
    assert (gradient.value, v.grad) == (9.0, 6.0)
    out, tangent = cr.jvp(lambda x: x * v, (2.0,), (1.0,))
    assert (tangent.value, out.value) == (3.0, 6.0)


def test_a_variable_as_argument():
    v = cr.variable(3.0)
    gradient = cr.grad(lambda p: p[0] ** 3 * p[1])((v, 2.0))
    (gradient[0] + gradient[1]).backward()
    assert [g.value for g in gradient] == [54.0, 27.0]
    assert v.grad == 6 * 3.0 * 2.0 + 3 * 9.0


def test_one_array_as_two_arguments_is_two_inputs():
    a = np.array([1.0, 2.0])
    x, y = cr.grad(lambda x, y: np.sum(x * y**2), (0, 1))(a, a)
    np.testing.assert_array_equal(x, a**2)
    np.testing.assert_array_equal(y, 2 * a**2)
    v = cr.variable(3.0)
    assert [g.value for g in cr.grad(f, (0, 1))(v, v)] == [9.0, 18.0]


def test_an_argument_the_function_assigns_to():
    def overwrites(x):
        y = x
        y[0] = x[1] * 10.0
        return np.sum(x)

    a = np.array([1.0, 2.0])
    np.testing.assert_array_equal(cr.grad(overwrites)(a), [0.0, 11.0])
    np.testing.assert_array_equal(a, [1.0, 2.0])


def test_a_function_that_ignores_its_input():
    assert_same(cr.grad(lambda p: 1.5)({"a": np.ones(2), "b": 1.0}), {"a": np.zeros(2), "b": 0.0})
    assert cr.vjp(lambda x: np.ones(2), 3.0)[1](np.ones(2)) == (0.0,)
    np.testing.assert_array_equal(cr.jvp(lambda x: np.ones(2), (3.0,), (1.0,))[1], np.zeros(2))


def test_results_own_their_memory():
    a = np.arange(4.0)
    for build in (lambda x: x, lambda x: x.reshape(2, 2).T, lambda x: x[::-1], lambda x: x[:2]):
        out, pullback = cr.vjp(build, a)
        (back,) = pullback(seed := np.ones(out.shape))
        _, tangent = cr.jvp(build, (a,), (moved := np.ones(4),))
        for result in (out, back, tangent):
            result[...] = 99.0
        assert (seed == 1).all()
        assert (moved == 1).all()
        assert (pullback(seed)[0] <= 1).all()
    np.testing.assert_array_equal(a, np.arange(4.0))

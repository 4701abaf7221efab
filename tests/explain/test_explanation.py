"""`cr.explain`: how an input is chosen, what is refused, and how deep a graph may be."""

from dataclasses import dataclass

import numpy as np
import pytest

import chainrule as cr


def f(x, p):
    return x * np.sum(p["w"]) + p["b"][0]


P = {"w": np.array([1.0, 2.0]), "b": (3.0, 4.0)}


@pytest.mark.parametrize(
    ("wrt", "name"),
    [
        (0, "x"),
        (-2, "x"),
        ("x", "x"),
        ("p['w']", "p['w']"),
        ("p['b'][0]", "p['b'][0]"),
    ],
)
def test_choosing_an_input(wrt, name):
    explanation = cr.explain(f, 2.0, P, wrt=wrt)
    assert explanation.wrt.name == name
    np.testing.assert_array_equal(explanation.total, explanation.run.adjoint(name))


def test_an_argument_that_holds_one_array():
    @dataclass
    class Model:
        w: object

    explanation = cr.explain(lambda m: np.sum(m.w**2), Model(np.array([1.0, 2.0])))
    assert explanation.wrt.name == "m.w"
    assert cr.explain(lambda m: m.w * 1.0, Model(2.0), wrt="m").total == 1.0


def test_an_argument_that_holds_several_is_asked_about():
    for wrt in (1, "p"):
        with pytest.raises(cr.ArgumentError, match=r"holds 3 numbers or arrays; choose one: wrt="):
            cr.explain(f, 2.0, P, wrt=wrt)
    with pytest.raises(cr.ArgumentError, match="holds no number"):
        cr.explain(lambda x, mode: x, 2.0, "fast", wrt=1)


@pytest.mark.parametrize("wrt", ["q", 2, -3, 1.5, None])
def test_an_input_that_is_not_there(wrt):
    with pytest.raises(cr.ArgumentError, match="wrt"):
        cr.explain(f, 2.0, P, wrt=wrt)


def test_an_integer_input_has_no_gradient():
    with pytest.raises(cr.DTypeError, match="holds int64, which has no gradient"):
        cr.explain(lambda n, x: x * np.sum(n), np.array([1, 2]), 2.0)


def test_a_captured_variable():
    scale = cr.variable(3.0, name="scale")
    explanation = cr.explain(lambda x: x * scale**2, 2.0, wrt="scale")
    assert explanation.total == 12.0
    assert explanation.path_count == 1


def test_a_node_in_between_and_one_behind_a_zero_derivative():
    graph = cr.trace(lambda x, y: np.floor(x) * y * 2.0, 2.5, 3.0)
    floor = next(n for n in graph.nodes if not n.is_leaf and n.op.name == "floor")
    explanation = cr.explain(graph, 2.5, 3.0, wrt=floor)
    assert explanation.total == 6.0
    assert [p.product for p in explanation.paths] == [6.0]
    assert explanation.contributions.edges[0].value == 6.0
    assert cr.explain(graph, 2.5, 3.0).path_count == 0


def test_a_run_and_other_inputs_of_it():
    graph = cr.trace(f, 2.0, P)
    run = graph.forward(3.0, P)
    first = cr.explain(run)
    assert first.total == 3.0
    again = first.of("p['w']")
    np.testing.assert_array_equal(again.total, [3.0, 3.0])
    assert again.run is run
    assert first.of(0).total == 3.0
    assert again.at(1).value == 3.0
    with pytest.raises(cr.ArgumentError, match="a run has its values"):
        cr.explain(run, 2.0)


def test_no_path():
    explanation = cr.explain(lambda x, y: y * 2.0, 1.0, 2.0)
    assert (explanation.total, explanation.path_count, explanation.paths) == (0.0, 0, ())
    assert explanation.contributions.edges == ()
    assert explanation.gains == ()
    assert "no path" in str(explanation)


def test_an_output_that_is_no_scalar_needs_a_seed():
    with pytest.raises(cr.ShapeError, match="seed"):
        cr.explain(lambda x: x * np.ones(3), 2.0)
    assert cr.explain(lambda x: x * np.ones(3), 2.0, seed=np.array([1.0, 2.0, 3.0])).total == 6.0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"entry": (1,)}, "an entry has 2"),
        ({"entry": (2, 0)}, "outside the shape"),
        ({"entry": (0.5, 0)}, "whole numbers"),
        ({"along": np.ones(3)}, "must have the shape"),
        ({"along": np.ones((2, 2)), "entry": (0, 0)}, "not both"),
        ({"top": -1}, "how many paths"),
        ({"top": 2.5}, "how many paths"),
    ],
)
def test_what_is_refused(asked, message):
    with pytest.raises(cr.ChainruleError, match=message):
        cr.explain(lambda x: np.sum(x**2), np.ones((2, 2)), **asked)


def test_entries_from_the_end():
    assert cr.explain(lambda x: np.sum(x**2), np.array([1.0, 5.0]), entry=-1).value == 10.0


def test_jacobians_too_large_to_write_out_are_refused_by_name():
    explanation = cr.explain(lambda x: np.sum(np.sin(x) * x), np.ones(20_000))
    with pytest.raises(cr.UnsupportedError, match=r"the local Jacobian of \w+ is 20000 × 20000"):
        explanation.paths[0].factors  # noqa: B018


def test_ten_to_the_five_nodes_deep():
    def deep(x):
        for _ in range(50_000):
            x = np.sin(x) + 0.5
        return x

    explanation = cr.explain(deep, 0.3)
    assert explanation.path_count == 1
    assert len(explanation.paths[0].nodes) == 100_001
    assert explanation.depth.vanishing is not None
    assert len(str(explanation).splitlines()) < 20


def test_calling_the_room_and_importing_from_it():
    """`cr.explain` is also the package whose files are imported."""
    from chainrule.explain.explanation import explain

    assert cr.explain(np.sin, 0.0).total == explain(np.sin, 0.0).total == 1.0
    assert isinstance(cr.explain(np.sin, 0.0), cr.Explanation)

"""The status of every input, and the edge at which a path ends."""

import numpy as np

import chainrule as cr
from tests.explain.random_graphs import scalar_program


def test_the_five_kinds():
    def f(value, cut, alone, kink, whole):
        a = np.floor(cut) * value
        return a + np.abs(kink) + value * np.sum(whole)

    status = cr.explain(f, 1.5, 2.5, 3.0, 0.0, np.array([1, 2])).status
    assert status == {
        "value": "value",
        "cut": "structural zero",
        "alone": "no path",
        "kink": "kink",
        "whole": "integer",
    }
    assert status["cut"].line.text == "a = np.floor(cut) * value"
    assert status["cut"].cut.child.op.name == "floor"
    assert "floor has derivative zero" in status["cut"].cut.why
    assert status["kink"].kink.op.name == "absolute"
    assert status["kink"].line.text == "return a + np.abs(kink) + value * np.sum(whole)"
    assert status["alone"].line is None


def test_the_cut_edge_is_where_the_derivative_ends():
    def f(x, y):
        k = x > 1.5
        frozen = cr.stop_gradient(y)
        picked = np.sum(np.where(k, 20.0, 10.0))
        return picked * frozen

    status = cr.explain(f, np.array([1.0, 3.0, 2.0]), 2.0, wrt="y").status
    assert status["x"].line.text == "k = x > 1.5"
    assert status["y"].line.text == "frozen = cr.stop_gradient(y)"


def test_a_branch_not_taken():
    def f(x, y):
        return np.where(x > 0, x, y)

    explanation = cr.explain(f, 1.0, 2.0, wrt="y")
    status = explanation.status["y"]
    assert status == "structural zero"
    assert status.cut.child.op.name == "where"
    assert status.cut.why == "where does not select it here"


def test_cuts_of_an_input_that_has_a_gradient_as_well():
    def f(x):
        a = x * np.floor(x)
        return a + np.where(x > 100.0, x, 0.0)

    cuts = cr.explain(f, 2.5).cuts
    assert [(c.child.op.name, c.parent.name) for c in cuts] == [
        ("floor", "x"),
        ("greater", "x"),
        ("where", "x"),
    ]


def test_kinks_that_the_gradient_goes_through():
    def f(x):
        r = np.maximum(x, 0.0)
        return np.sum(r) + np.sum(np.where(x > 5, np.abs(x), 0.0))

    explanation = cr.explain(f, np.array([-1.0, 0.0, 0.0, 2.0]))
    assert [(k.node.op.name, k.lanes) for k in explanation.kinks] == [("maximum", 2)]
    assert explanation.kinks[0].line.text == "r = np.maximum(x, 0.0)"


def test_the_same_as_the_run_says():
    """One walk for all inputs against a walk for each."""
    ops = (np.floor, np.abs, cr.stop_gradient, lambda a: np.maximum(a, 0.0), np.sign)
    for seed in range(120):
        rng = np.random.default_rng(seed)
        program = scalar_program(rng, inputs=4, steps=6)
        picks = rng.integers(len(ops), size=4)
        values = rng.choice([0.0, 0.5, -1.5], size=4)

        def f(*v, program=program, picks=picks):
            return program(*(ops[k](a) for k, a in zip(picks, v, strict=True)))

        explanation = cr.explain(f, *values, top=0)
        for leaf in explanation.graph.leaves:
            assert explanation.status[leaf.name] == explanation.run.status(leaf), seed


def test_captured_variables_have_a_status():
    scale = cr.variable(3.0, name="scale")
    status = cr.explain(lambda x: x * scale, 2.0).status
    assert status == {"x": "value", "scale": "value"}


def test_inputs_of_one_name_are_numbered():
    a, b = cr.variable(3.0, name="w"), cr.variable(4.0, name="w")
    status = cr.explain(lambda x: x * a * np.floor(b), 2.0).status
    assert status == {"x": "value", "w": "value", "w (2)": "structural zero"}

"""`chainrule step`: the formula filled in, the three orders, JSON, and what is refused."""

import json

import pytest

FORMULA = ("step", "(x + y) * z", "x=-2", "y=5", "z=-4")


def test_row_15_step_by_step(run):
    status, out, err = run(*FORMULA)
    assert (status, err) == (0, "")
    assert out.startswith("\n  f = (x + y) * z = -12\n\n  values\n     1   x = -2 ")
    lines = [line.strip() for line in out.splitlines()]
    assert "x̄ += ā · ∂a/∂x = -4 × 1 → -4" in lines
    assert "z̄ += f̄ · ∂f/∂z = 1 × 3 → 3" in lines
    assert lines[-5:] == ["gradient", "x̄ = -4", "ȳ = -4", "z̄ = 3", ""]


def test_the_reasons(run):
    out = run(*FORMULA)[1]
    assert "a = add(x, y) = add(-2, 5) = 3 " in out
    assert " x, y computed\n" in out
    assert " gradient of f computed\n" in out
    assert " called by f\n" in run(*FORMULA, "--order", "recursive")[1]
    assert "gradients of a, b computed" in run("step", "sin(x) * cos(x)", "x=1")[1]


def test_row_7_the_recursion_is_marked_wrong(run):
    formula = "3 * (w := x * x) * sin(w)"
    out = run("step", formula, "x=1.3", "--order", "recursive")[1]
    assert "✗ wrong: some of its children have not added their part yet" in out
    assert "✗ wrong: it hands on again what it has handed on before" in out
    assert out.endswith("x̄ = 13.9217   wrong; in sorted order 6.17702\n\n")
    for order in ("sorted", "data-driven"):
        out = run("step", formula, "x=1.3", "--order", order)[1]
        assert "wrong" not in out
        assert out.endswith("x̄ = 6.17702\n\n")
    out = run("step", "sin(x * y) * exp(x * y)", "x=1", "y=2", "--order", "recursive")[1]
    assert "wrong" not in out, "typed twice, x * y is two nodes"


def test_options_may_stand_anywhere(run):
    first = run("step", "--order", "data-driven", *FORMULA[1:])
    assert first[0] == 0
    assert first == run(*FORMULA, "--order", "data-driven")
    negative = run("step", "-x * y", "x=1", "y=2", "--order", "recursive")
    assert negative[0] == 0
    assert negative[1].startswith("\n  f = -x * y = -2\n")
    assert run("step", "-h")[0] == 0


@pytest.mark.parametrize("order", ["sorted", "data-driven", "recursive"])
def test_json(run, order):
    status, out, _ = run(*FORMULA, "--json", "--order", order)
    document = json.loads(out)
    assert status == 0
    assert document["order"] == order
    assert [n["label"] for n in document["nodes"]] == ["x", "y", "z", "a", "f"]
    assert document["nodes"][3]["parents"] == [0, 1]
    assert len(document["steps"]) == 10
    leaves = {s["node"]: s["adjoint"] for s in document["steps"] if s["kind"] == "backward"}
    assert [leaves[i] for i in document["outputs"]] == [1.0]
    assert [leaves[i] for i in range(3)] == [-4.0, -4.0, 3.0]


def test_numbers_that_are_not_finite_are_words_in_json(run):
    status, out, _ = run("step", "x / y", "x=1", "y=0", "--json")
    assert status == 0
    assert json.loads(out)["steps"][2]["value"] == "inf"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("x * 2", "x=[1,2]"), "has the shape (2,); a gradient needs one number"),
        (("x * y", "x=1"), "y has no value; give it one: y=1.5"),
        (("x", "x"), "write a value as name=number"),
        (("x > 1", "x=2"), "has no derivative"),
        (("w * (w := x)", "x=2"), "w is used before (… := …) gives it a value"),
        (("(x := 2) * x", "x=2"), "x has a meaning already"),
        (("(sin := x) * x", "x=2"), "sin has a meaning already"),
        (("(_w := x) * x", "x=2"), "a formula has no _w"),
        (("x", "x=1", "--order", "random"), "invalid choice"),
    ],
)
def test_refusals(run, words, says):
    status, out, err = run("step", *words)
    assert (status, out) == (2, "")
    assert says in err

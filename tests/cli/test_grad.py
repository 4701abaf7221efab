"""`chainrule grad`: the table, the check, JSON, a wrong gradient; and `nodes`, which it shows."""

import json

import pytest


def test_golden(golden):
    golden("grad", "grad", "(x + y) * z", "x=-2", "y=5", "z=-4")
    golden(
        "grad-arrays", "grad", "sum(tanh(W @ x + b))", "W=[[1,2],[3,4]]", "x=[0.1,0.2]", "b=[0,1]"
    )


def test_json(run):
    status, out, err = run("grad", "(x + y) * z", "x=-2", "y=5", "z=-4", "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert document["function"] == "(x + y) * z"
    assert document["value"] == -12.0
    assert document["gradient"] == {"x": -4.0, "y": -4.0, "z": 3.0}
    assert [n["label"] for n in document["nodes"]] == ["x", "y", "z", "a", "f"]
    assert [n["adjoint"] for n in document["nodes"]] == [-4, -4, 3, -4, 1]
    a = document["nodes"][3]
    assert (a["op"], a["parents"], a["line"]) == ("add", [0, 1], "column 2    x + y")
    assert a["contributions"] == [{"child": 4, "contribution": -4.0}]
    assert document["check"]["largest"] < 1e-9
    assert document["wrong"] is None


def test_numbers_that_are_not_finite_are_words(run):
    document = json.loads(run("grad", "log(x) + y", "x=0", "y=nan", "--json")[1])
    assert document["value"] == "nan"
    assert document["gradient"] == {"x": "inf", "y": 1.0}


def test_what_could_not_be_checked_is_said(run):
    assert "a jump" in run("grad", "sign(x)", "x=0")[1]
    for x in ("0", "-1"):
        status, out, err = run("grad", "log(x)", f"x={x}")
        assert (status, err) == (1, "")
        assert out.startswith("\n  nothing was checked: ")
        assert out.index("nothing was checked") < out.index("f = log(x)")


def test_a_wrong_gradient_has_status_one(run, model):
    status, out, err = run("grad", f"{model}:wrong", "x=0.3", "factor=2")
    assert (status, err) == (1, "")
    assert "the reverse rule of Scale with respect to input 1 is wrong" in out
    assert "scaled: 1.80587 × 2" in out
    status, out, _ = run("grad", f"{model}:wrong", "x=0.3", "factor=2", "--json")
    assert status == 1
    assert "the reverse rule of Scale" in json.loads(out)["wrong"]
    assert run("grad", f"{model}:wrong", "x=0.3", "factor=2", "--no-check")[0] == 0


@pytest.mark.parametrize(
    "words", [["-x * y"], ["--no-check", "-x * y"], ["--", "--x * y"], ["-(x) * y"]]
)
def test_a_formula_may_begin_with_a_minus(run, words):
    status, out, err = run("grad", *words, "x=3", "y=4")
    assert (status, err) == (0, "")
    assert "= -12" in out or "= 12" in out


def test_without_a_value(run):
    status, out, _ = run("grad", "2 * pi", "--json")
    assert status == 0
    assert json.loads(out)["gradient"] == {}

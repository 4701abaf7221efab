"""`chainrule check`: right gradients, wrong ones with status 1, options."""

import json

import pytest


def test_golden(golden):
    golden("check", "check", "sum(tanh(W @ x))", "W=[[1,2],[3,4]]", "x=[0.1,0.2]")


def test_a_wrong_rule_is_named_with_its_line(run, model, golden):
    golden("check-wrong", "check", f"{model}:wrong", "x=0.3", "factor=2", status=1)
    status, out, err = run("check", f"{model}:wrong", "x=0.3", "factor=2", "--json")
    assert (status, err) == (1, "")
    document = json.loads(out)
    assert document["right"] is False
    assert "rule of Scale with respect to input 1" in document["wrong"]
    assert "model.py:29" in document["wrong"]
    assert run("check", f"{model}:wrong", "x=0.3", "factor=2", "--wrt", "x")[0] == 0


def test_json(run):
    status, out, _ = run("check", "x * x", "x=2", "--order", "1", "--modes", "forward", "--json")
    document = json.loads(out)
    assert (status, document["right"], document["order"]) == (0, True, 1)
    assert document["modes"] == ["forward"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--order", "0"), "order 0: a whole number, at least 1"),
        (("--order", "two"), "invalid int value: 'two'"),
        (("--modes", "sideways"), "choose among reverse, forward"),
    ],
)
def test_refusals(run, words, says):
    status, out, err = run("check", "x * x", "x=2", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err

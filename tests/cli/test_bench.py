"""`chainrule bench`: it measures, in ratios, and its results agree."""

import json

import pytest

pytest.importorskip("llvmlite")
WORDS = ("bench", "sum(tanh(A @ x) ** 2)", "A=[[1,2],[3,4]]", "x=[0.1,0.2]", "--seconds", "0.05")


def test_json(run):
    status, out, err = run(*WORDS, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    times = found["seconds"]
    assert all(0 < t < 1 for t in times.values())
    assert found["speedup"] == pytest.approx(times["value_and_grad"] / times["compiled"])
    assert found["gradient_over_value"] == pytest.approx(times["value_and_grad"] / times["value"])
    assert found["largest_difference"] < 1e-12
    assert found["rounds"] >= 5


def test_text(run):
    status, out, _ = run(*WORDS)
    assert status == 0
    assert "value and gradient, compiled" in out
    assert "as fast" in out


def test_a_difference_is_seen():
    from chainrule.cli.bench import _difference

    assert _difference((1.0, [float("nan")]), (1.0, [float("nan")])) == 0.0
    assert _difference((1.0, [3.0]), (1.0, [7.0])) == 1.0


def test_refusals(run):
    for seconds in ("0", "-1", "nan", "1e9"):
        status, _, err = run("bench", "x * x", "x=1", "--seconds", seconds)
        assert status == 2
        assert "between 0 and 3600" in err
    assert "no argument to differentiate by" in run("bench", "pi")[2]

"""What is differentiated: arguments by name, functions of the user's, --wrt."""

import json
import sys

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _import_paths(monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    sys.modules.pop("model", None)


def gradient(run, *words):
    status, out, err = run("grad", *words, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)["gradient"]
    return {
        k: v if isinstance(v, float) else np.reshape(v["data"], v["shape"])
        for k, v in found.items()
    }


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("x", "write a value as name=number, not 'x'"),
        ("1x=2", "write a value as name=number, not '1x=2'"),
        ("=2", "write a value as name=number"),
        ("if=2", "write a value as name=number"),
        ("__x=2", "write a value as name=number"),
        ("x=abc", "x: abc is not a number"),
        ("x=", "x: '' is not a number"),
        ("x=[1,[2]]", "x: '[1,[2]]' is not a number or a list of numbers"),
        ("x=[1,2", "x: '[' is never closed"),
        ("x={1: 2}", "x: a formula has no sets or mappings"),
        ("x='a'", "is not a number or a list of numbers"),
        ("x=(1,2)", "is not a number or a list of numbers"),
        ("x=None", "is not a number or a list of numbers"),
        ("x=" + "[" * 5000, "more than 100 levels"),
        ("x=" + "1+" * 50_000 + "1", "too many operations in a row"),
        ("x=" + "1" * 2_000_000, "x: 2,000,000 characters"),
        ("a" * 5000, "write a value as name=number, not 'aaa"),
    ],
)
def test_values_that_are_none(run, word, says):
    status, out, err = run("grad", "x", word)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") in (1, 3)
    assert max(map(len, err.splitlines())) < 200


def test_a_name_given_twice(run):
    assert run("grad", "x", "x=1", "x=2") == (2, "", "chainrule: x is given twice\n")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2*pi", 2 * np.pi), ("1/3", 1 / 3), ("-inf", "-inf"), ("sqrt(2)", 2**0.5)],
)
def test_a_value_may_be_computed(run, value, expected):
    status, out, _ = run("grad", "x", f"x={value}", "--json")
    assert status == (expected == "-inf"), "there nothing can be checked"
    assert json.loads(out)["value"] == expected


def test_a_given_name_hides_a_function_that_is_not_called(run):
    assert gradient(run, "gamma * x", "gamma=2", "x=3") == {"gamma": 3.0, "x": 2.0}


def test_wrt_holds_the_others_fixed(run):
    assert gradient(run, "x * y * z", "x=2", "y=3", "z=4", "--wrt", "z,x") == {"z": 6.0, "x": 12.0}
    status, _, err = run("grad", "x * y", "x=1", "y=2", "--wrt", "q")
    assert (status, err) == (
        2,
        "chainrule: --wrt q: no such argument with numbers; there are x, y\n",
    )


# ---- functions of the user's ---------------------------------------------------------------------


def test_a_function_in_a_file(run, model):
    words = (f"{model}:loss", "W=[[1,2],[3,4]]", "x=[0.1,0.2]", "n=3", "mode='mean'")
    found = gradient(run, *words, "--wrt", "W")
    W, x = np.array([[1.0, 2], [3, 4]]), np.array([0.1, 0.2])
    y = np.tanh(W @ x)
    expected = np.outer(4 * y**3 * (1 - y**2), x) / 2
    assert list(found) == ["W"]
    np.testing.assert_allclose(found["W"], expected, rtol=1e-12)


def test_a_function_of_a_module(run, model, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert gradient(run, "model:first", "x=2", "y=3") == {"x": 3.0, "y": 2.0}


def test_arguments_that_are_containers(run, model, tmp_path):
    (tmp_path / "p.json").write_text('{"W": [[1, 2]], "b": [3]}')
    status, out, err = run(
        "grad", f"{model}:layered", f"p=@{tmp_path / 'p.json'}", "x=[1,1]", "--json"
    )
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert document["gradient"]["p"]["W"]["data"] == [1.0, 1.0]
    assert document["gradient"]["x"]["data"] == [1.0, 2.0]
    assert [n["label"] for n in document["nodes"][:3]] == ["p['W']", "p['b']", "x"]


def test_errors_of_the_function_name_its_line(run, model):
    status, out, err = run("grad", f"{model}:failing", "x=1")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "chainrule: 'Variable' object has no attribute 'no_such_thing'",
        "  model.py:34    return x.no_such_thing",
    ]
    assert run("grad", f"{model}:misspelt", "x=1") == (
        2, "", "chainrule: model.py:46: NameError: name 'no_such_name' is not defined\n",
    )  # fmt: skip
    err = run("grad", f"{model}:shapes", "A=[[1,2]]", "x=[1,2,3]")[2]
    assert "the inner sizes 2 and 3 differ" in err
    assert "model.py:38    return np.sum(A @ x)" in err


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("nothing", [], "model.py has no function nothing; it has loss, layered, Scale, wrong"),
        ("np", [], "has no function np"),
        ("wrong", ["x=1"], "model.py:wrong needs factor: write factor=1.5"),
        ("wrong", ["x=1", "q=1"], "model.py:wrong has no argument q; it takes x, factor"),
    ],
)
def test_functions_that_cannot_be_called(run, model, name, words, says):
    status, out, err = run("grad", f"{model}:{name}", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f(:\n", "SyntaxError"),
        ("import no_such_module\n", "broken.py:1: ModuleNotFoundError"),
        ("x = 1\n1 / 0\n", "broken.py:2: ZeroDivisionError: division by zero"),
    ],
)
def test_files_that_cannot_be_imported(run, tmp_path, source, says):
    (tmp_path / "broken.py").write_text(source)
    status, out, err = run("grad", f"{tmp_path / 'broken.py'}:f", "x=1")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"broken.py failed: {says}" in err


def test_files_and_modules_that_are_not_there(run):
    assert run("grad", "nowhere.py:f", "x=1")[2] == "chainrule: nowhere.py: no such file\n"
    err = run("grad", "no_such_package.module:f", "x=1")[2]
    assert "importing no_such_package.module failed: ModuleNotFoundError" in err


def test_a_file_without_a_function_names_its_functions(run, model):
    status, out, err = run("grad", model, "x=3")
    assert (status, out) == (2, "")
    assert f"{model}:loss, {model}:layered, {model}:wrong" in err


def test_a_value_that_is_not_used_is_told(run):
    status, out, err = run("grad", "x * 2", "x=3", "q=4")
    assert status == 0
    assert err == "chainrule: q is given, but the formula does not use it; it uses x\n"
    assert "f = x * 2 = 6" in out

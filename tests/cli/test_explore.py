"""`chainrule explore`: a page of a formula or a function, and what is refused."""

import json

from tests.view.test_explore import data_of


def test_a_formula_is_a_page(run, tmp_path):
    path = tmp_path / "page.html"
    status, out, err = run("explore", "(x + y) * z", "x=-2", "y=5", "z=-4", "-o", str(path))
    assert (status, err) == (0, "")
    assert str(path) in out
    held = data_of(path.read_text(encoding="utf-8"))
    assert held["formula"] == "(x + y) * z"
    assert held["model"]["nodes"]["adjoint"] == ["-4", "-4", "3", "-4", "1"]
    assert held["source"] == []


def test_json_names_the_page(run, tmp_path):
    path = tmp_path / "page.html"
    out = run("explore", "x * x", "x=3", "--output", str(path), "--json")[1]
    assert json.loads(out) == {
        "function": "x * x",
        "page": str(path),
        "bytes": path.stat().st_size,
    }


def test_what_cannot_be_written_is_said(run, tmp_path):
    status, out, err = run("explore", "x * x", "x=3", "-o", str(tmp_path / "no" / "page.html"))
    assert (status, out) == (2, "")
    assert "No such file" in err


def test_a_gradient_of_one_number(run, tmp_path):
    status, _, err = run("explore", "x * x", "x=[1,2]", "-o", str(tmp_path / "page.html"))
    assert status == 2
    assert "take its sum" in err

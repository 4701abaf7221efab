"""`chainrule demo` and `demo_training`: their parts, in order."""

import json
import re

import pytest


def test_its_parts(run):
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    parts = [
        "def density(x",
        "cr.grad(density, (1, 2))(1.2, 0.3, 0.8)  =  (1.406250, 0.332031)",
        "order   node",
        "density   subtract",
        "checked against central differences to order 2",
        "Next: chainrule grad",
    ]
    places = [out.index(part) for part in parts]
    assert places == sorted(places)


def test_json(run):
    found = json.loads(run("demo", "--json")[1])
    assert found["gradient"]["mu"] == pytest.approx(1.40625)
    assert found["point"] == {"x": 1.2, "mu": 0.3, "sigma": 0.8}


def test_a_network_learns_and_shows_it(run, tmp_path):
    for package in ("sklearn", "matplotlib"):
        pytest.importorskip(package)
    status, out, err = run("demo", "--out", str(tmp_path / "shown"))
    assert status == 0, err
    accuracy = float(re.search(r"([\d.]+)% of 359 digits", out)[1])
    assert accuracy > 95
    assert "epoch 20/20" in err
    assert out.count("through ") == 2, "the weights have two children"
    for name, end in (("curve.svg", "</svg>"), ("gradient.html", "</html>")):
        assert (tmp_path / "shown" / name).read_text(encoding="utf-8").rstrip().endswith(end)

"""`chainrule demo`: its parts, in order."""

import json

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

"""What is inside the box of a loop: the right values and adjoints, iteration by iteration."""

import json

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view import iterations
from chainrule.view.iterations import Iterations, loops_of
from chainrule.view.scene import scene

XS = np.array([0.5, -0.2, 0.9, 0.1, -0.4, 0.3])


def recurrent(w, h, reverse=False):
    def step(h, x):
        z = np.tanh(w * h + x)
        return z, z * z

    h, ys = cr.scan(step, h, XS, reverse=reverse)
    return np.sum(ys) + 2 * h


def inside(f, *args):
    run = recorded_run(f, *args).backward()
    ((node, body),) = loops_of(run.graph)
    return run, Iterations(run, node, body)


@pytest.mark.parametrize("reverse", [False, True])
def test_every_iteration_has_the_numbers_of_the_loop_written_out(reverse):
    xs = XS[::-1] if reverse else XS
    run, found = inside(lambda w, h: recurrent(w, h, reverse), 0.8, 0.3)
    w = [cr.variable(0.8) for _ in xs]
    carried = [cr.variable(0.3, name="h")]
    loss = 0.0
    for k, x in enumerate(xs):  # the same loop with a w of its own in every iteration
        carried.append(np.tanh(w[k] * carried[-1] + x))
        loss = loss + carried[-1] * carried[-1]
    graph = cr.trace(lambda w, h: recurrent(w, h, reverse), 0.8, 0.3)
    (loss + 2 * carried[-1]).backward()
    assert found.order == (list(range(5, -1, -1)) if reverse else list(range(6)))
    for place in range(6):
        one = found.at(place)
        assert one.value("h") == pytest.approx(float(carried[place].value), rel=1e-14)
        assert one.value("x") == xs[place]
        assert one.adjoint("w") == pytest.approx(float(w[place].grad), rel=1e-12)
    assert found.at(0).adjoint("h") == pytest.approx(float(run.adjoint("h")), rel=1e-12)
    total = sum(float(found.at(place).adjoint("w")) for place in range(6))
    assert total == pytest.approx(float(run.adjoint("w")), rel=1e-12)
    assert len(graph) < 10


def test_sizes_are_of_what_is_handed_on():
    _, found = inside(recurrent, 0.8, 0.3)
    sizes = found.sizes()
    assert sizes["value"][:-1] == [abs(float(found.at(k).value("h"))) for k in range(1, 6)]
    assert sizes["adjoint"][:-1] == [abs(float(found.at(k).adjoint("h"))) for k in range(1, 6)]
    assert sizes["adjoint"][-1] == 2.0


def test_arrays_containers_and_what_is_not_differentiated_are_carried():
    def f(W, h):
        def step(state, x):
            h = np.tanh(W @ state["h"] + x)
            return {"h": h, "n": state["n"] + 1}, None

        state, _ = cr.scan(step, {"h": h, "n": 0}, np.ones((4, 2)))
        return np.sum(state["h"])

    run, found = inside(f, np.array([[0.5, 0.1], [-0.2, 0.3]]), np.array([0.1, 0.2]))
    names = [str(leaf.name) for leaf in found.graph.leaves]
    assert names == ["W", "state['h']", "state['n']", "x"]
    assert found.at(2).value("state['n']") == 2
    np.testing.assert_allclose(found.at(0).adjoint("state['h']"), run.adjoint("h"), rtol=1e-12)


def test_a_loop_in_a_loop_opens_too():
    def f(w):
        def outer(c, x):
            return cr.fori_loop(0, 3, lambda i, v: np.sin(v * w) + x, c), None

        return cr.scan(outer, 0.2, XS)[0]

    made = json.loads(json.dumps(scene(recorded_run(f, 0.7).backward()), allow_nan=False))
    (loop,) = made["loops"].values()
    assert (loop["count"], loop["kept"]) == (6, [0, 1, 2, 4, 5])
    (inner,) = loop["scenes"][0]["loops"].values()
    assert inner["count"] == 3
    assert inner["sizes"]["adjoint"] is not None
    assert "×6" in "".join(made["model"]["nodes"]["symbol"])


def test_a_long_loop_costs_its_first_iteration(monkeypatch):
    monkeypatch.setattr(iterations, "MAX_STEPS", 10)
    _, found = inside(recurrent, 0.8, 0.3)
    assert found.kept == [0]
    assert found.sizes() == {"value": None, "adjoint": None}
    assert found.at(0).value("h") == 0.3
    monkeypatch.setattr(iterations, "MAX_STEPS", 10**6)
    monkeypatch.setattr(iterations, "MAX_STEPS_BACK", 10)
    _, found = inside(recurrent, 0.8, 0.3)
    assert found.sizes()["adjoint"] is None
    assert not found.at(5).has_adjoints


def test_the_text_of_a_graph_has_the_iteration_below_its_loop():
    rows = str(cr.trace(recurrent, 0.8, 0.3)).splitlines()
    (at,) = [k for k, row in enumerate(rows) if " = loop " in row]
    assert rows[at + 1] == (
        "       × 6: w: float64[] fixed, h: float64[] carried, x: float64[] row"
    )
    assert [row.split()[2] for row in rows[at + 2 : at + 6]] == [
        "multiply",
        "add",
        "tanh",
        "multiply",
    ]
    assert rows[at + 6].startswith("         carries %5, stacks %6")

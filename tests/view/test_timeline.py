"""The timeline and the paths (`compact.py`): the words of graph.steps and numbers of cr.explain."""

import json
from itertools import islice

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view.timeline import BEGINS, MAX_NODES_WRITTEN_OUT, paths, timeline
from tests.view.gallery import ran

SMALL = ["product", "shared", "two-ways", "gates", "softmax", "trouble"]


def leaf_values(run):
    return [run.value(leaf) for leaf in run.graph.leaves]


@pytest.mark.parametrize("name", SMALL)
def test_the_text_is_that_of_steps(name):
    run = ran(name)
    found = json.loads(json.dumps(timeline(run), allow_nan=False))
    for order, steps in found["orders"].items():
        with np.errstate(all="ignore"):
            told = str(run.graph.steps(*leaf_values(run), order=order)).splitlines()
        lines = ["".join(text for text, _ in line).rstrip() for s in steps["lines"] for line in s]
        assert set(lines) <= set(told)
        numbers = [line.split()[0] for line in lines if line.split()[0].isdigit()]
        assert numbers == [str(k + 1) for k in range(len(steps["node"]))]


def test_steps_as_data():
    run = ran("two-ways")
    graph, orders = run.graph, timeline(run)["orders"]
    made = list(graph.steps(2.0, 3.0))
    assert orders["sorted"]["node"] == [graph.index[s.node] for s in made]
    assert orders["sorted"]["kind"] == [0] * 7 + [1] * 7
    assert set(orders["sorted"]["wrong"]) == {""}
    assert {"early", "again"} & set(orders["recursive"]["wrong"])
    sums = orders["sorted"]["adds"][-3]
    assert sums["parent"] == [0, 1]
    assert sums["after"][0] == "85.3345"
    assert orders["sorted"]["why"][0] == "given"


def test_a_seed_is_kept():
    def f(x):
        return x * 2.0, np.sin(x)

    run = recorded_run(f, 0.0).backward((3.0, 5.0))
    last = timeline(run)["orders"]["sorted"]["lines"][-1]
    assert "x̄ = 11" in "".join(text for text, _ in last[0])
    assert paths(run)["0"]["total"] == "11"


@pytest.mark.parametrize("method", ["dfs", "kahn"])
@pytest.mark.parametrize("name", SMALL)
def test_a_sort_can_be_played_back(name, method):
    run = ran(name)
    graph, events = run.graph, timeline(run)["sort"][method]
    waiting, order = [], []
    for kind, node in zip(events["kind"], events["node"], strict=True):
        if kind in ("push", "ready"):
            waiting.append(node)
        elif kind == "placed":
            assert waiting.pop(-1 if method == "dfs" else 0) == node
            order.append(node)
    assert sorted(order) == list(range(len(graph)))
    place = {node: k for k, node in enumerate(order)}
    assert all(place[graph.index[p]] < place[graph.index[c]] for p, c in graph.edges)


def test_of_a_large_run_only_what_the_model_does_not_say_is_told():
    def f(x, n):
        total = x
        for k in range(n):
            total = total + np.sin(x) * float(k)
        return total

    run = recorded_run(f, 0.5, n=1_000).backward()
    told = json.loads(json.dumps(timeline(run)["compact"], allow_nan=False))
    template = [told["template"]["of"][k] for k in told["template"]["at"]]
    assert template[:3] == ["", "sin(\x1f)", "multiply(\x1f, 0.0)"]
    edges = [(run.graph.index[p], run.graph.index[c]) for p, c in run.graph.edges]
    assert {edges[e][0] for e in told["edge"]} == {0}, "only x has more than two children"
    assert len(told["edge"]) == 1_001 - 2
    index, made = run.graph.index, list(run.graph.steps(0.5))
    sums = {(index[a.parent], index[a.child]): a for s in made for a in s.additions}
    for e, text in zip(told["edge"], told["after"], strict=True):
        assert text == f"{sums[edges[e]].after:.6g}"


def test_what_is_too_long_says_so(monkeypatch):
    def doubled(x, n):
        for _ in range(n):
            x = x + x
        return x

    monkeypatch.setattr("chainrule.view.timeline.MAX_NODES", MAX_NODES_WRITTEN_OUT)
    run = recorded_run(doubled, 0.0, n=MAX_NODES_WRITTEN_OUT).backward()
    assert timeline(run) == {
        "refused": f"{MAX_NODES_WRITTEN_OUT + 1:,} nodes; steps are shown of 2,000 at the most"
    }


def test_a_recursion_that_never_ends_is_refused():
    def fibonacci(x, n):
        a, b = x, x * 1.0
        for _ in range(n):
            a, b = b, a + b
        return b

    orders = timeline(recorded_run(fibonacci, 1.0, n=40).backward())["orders"]
    assert "is right" in orders["recursive"]["refused"]
    assert len(orders["sorted"]["node"]) == 2 * 42


def test_of_a_long_recursion_the_beginning_is_there_and_the_count():
    def chain(x, n):
        for _ in range(n):
            x = x * np.sin(x)
        return x

    for n, visits in ((20, str(3 * (2**20 - 1))), (70, str(10**18))):
        run = recorded_run(chain, 1.5, n=n).backward()
        found = timeline(run)["orders"]["recursive"]
        assert found["visits"] == visits
        assert len(found["begins"]["node"]) == len(run.graph) + BEGINS
        told = [*islice(run.graph.steps(1.5, order="recursive", limit=10**99), len(run.graph) + 9)]
        assert [run.graph.index[s.node] for s in told] == found["begins"]["node"][: len(told)]


@pytest.mark.parametrize("name", [*SMALL, "lstm-step", "transformer"])
def test_paths_are_those_of_explain(name):
    run = ran(name)
    found = json.loads(json.dumps(paths(run, top=3), allow_nan=False))
    for leaf in run.graph.leaves:
        said, told = cr.explain(run, wrt=leaf, top=3), found[str(run.graph.index[leaf])]
        assert told["count"] == f"{said.path_count:,}"
        assert told["exact"] == said.exact
        nodes = [[run.graph.index[n] for n in path.nodes] for path in said.paths]
        assert [path["nodes"] for path in told["paths"]] == nodes
        for path in told["paths"]:
            assert len(path["factors"]) == len(path["nodes"]) - 1


def test_the_factors_of_a_path_multiply_to_its_product():
    found = paths(ran("shared"))["0"]
    assert found["count"] == "4"
    for path in found["paths"]:
        product = np.prod([float(f) for f in path["factors"]])
        assert float(path["product"]) == pytest.approx(product, rel=1e-4)
    assert sum(float(p["product"]) for p in found["paths"]) == pytest.approx(
        float(found["total"]), rel=1e-4
    )

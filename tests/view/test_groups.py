"""Groups (`loops.py`): calls, loops and lines as a tree of stretches of the recording."""

import json
from time import process_time

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view.groups import MAX_ITEMS, groups_of
from chainrule.view.model import model_of
from tests.view.gallery import PROGRAMS, ran


def step(h, w):
    return np.tanh(h * w) + h


def steps(h, w, n):
    for _ in range(n):
        h = step(h, w)
    return h * 2.0


def made(run):
    """The data, and per group the names on the way to it."""
    data = groups_of(run.graph, model_of(run))
    paths = []
    for name, parent in zip(data["name"], data["parent"], strict=True):
        paths.append((*paths[parent], name) if parent >= 0 else ())
    return json.loads(json.dumps(data)), paths


def things(data, group):
    """Nodes and groups directly in a group."""
    return data["of"].count(group) + data["parent"].count(group)


def check(run):
    """What holds of every tree."""
    data, paths = made(run)
    graph = run.graph
    assert sorted(data["rank"]) == list(range(len(graph)))
    for parent, child in graph.edges:
        assert data["rank"][graph.index[parent]] < data["rank"][graph.index[child]]
    assert all(parent < g for g, parent in enumerate(data["parent"]))
    assert all(things(data, g) <= 2 * MAX_ITEMS for g in range(len(paths)))
    inside = {g: [] for g in range(len(paths))}
    for k, node in enumerate(graph.nodes):
        g = data["of"][k]
        while g >= 0:
            if not node.is_leaf:
                inside[g].append(data["rank"][k])
            g = data["parent"][g]
    for ranks in inside.values():
        assert not ranks or max(ranks) - min(ranks) == len(ranks) - 1, "a stretch of the recording"
    return data, paths


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_group_is_a_stretch_of_what_was_recorded(name):
    check(ran(name))


def test_a_block_as_its_calls():
    _, paths = made(ran("transformer"))
    assert [p for p in paths if len(p) == 1] == [("normed",), ("attention",), ("normed (2)",)]


def test_calls_in_a_loop_are_one_group_and_each_its_own():
    data, paths = check(recorded_run(steps, 0.5, 0.3, n=12))
    assert ("step ×12",) in paths
    assert [p[1] for p in paths if len(p) == 2] == [f"step {k}" for k in range(1, 13)]
    assert data["kind"][paths.index(("step ×12",))] == "loop"
    at = paths.index(("step ×12", "step 3"))
    assert data["of"].count(at) == 3


def test_turns_of_a_loop_and_of_a_loop_in_it():
    def f(x, n):
        for _ in range(n):
            x = np.sin(x) + 1.0
            for _ in range(2):
                x = np.cos(x) * 2.0
        return np.exp(x)

    data, paths = check(recorded_run(f, 0.5, n=3))
    assert paths[1:4] == [
        ("for _ in range(n) ×3",),
        ("for _ in range(n) ×3", "#1"),
        ("for _ in range(n) ×3", "#1", "for _ in range(2) ×2"),
    ]
    assert sum(len(p) == 4 for p in paths) == 6
    assert things(data, 2) == 4, "x, sin, add, and the inner loop"


def test_a_function_that_is_all_loop_is_that_loop():
    def inner(x):
        for _ in range(3):
            x = np.sin(x) + 1.0
        return x

    def f(x):
        return inner(x) * inner(x + 1.0)

    _, paths = check(recorded_run(f, 0.5))
    assert [p for p in paths if len(p) == 1] == [("inner",), ("inner (2)",)]
    assert [p[1] for p in paths if len(p) == 2] == ["#1", "#2", "#3"] * 2


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.tanh(x * self.w) + x


def test_a_method_that_is_called_has_the_name_of_its_class():
    _, paths = check(recorded_run(lambda x, w: Layer(w)(x) * 3.0, 0.5, 0.25))
    assert ("Layer",) in paths


def test_generators_are_part_of_who_runs_them():
    def f(xs):
        return sum(x * x for x in xs) + 1.0

    data, paths = check(recorded_run(f, [1.0, 2.0, 3.0]))
    assert len(paths) == 1
    assert set(data["of"]) == {0}


def test_a_leaf_is_where_all_its_users_are():
    run = ran("transformer")
    data, paths = made(run)
    leaf = {str(n.name): data["of"][run.graph.index[n]] for n in run.graph.leaves}
    assert paths[leaf["p['Q']"]] == ("attention",)
    assert paths[leaf["p['O']"]] == ()
    assert paths[leaf["x"]] == ()


def test_many_leaves_of_one_argument_are_one_group():
    def total(p, q):
        return sum(p["w"]) + q

    data, paths = check(recorded_run(total, {"w": [float(k) for k in range(40)]}, 1.0))
    at = paths.index(("p",))
    assert data["kind"][at] == "leaves"
    assert data["of"].count(at) == 40


def test_what_would_be_too_many_things_is_cut_into_parts():
    def long(x):
        for _ in range(700):
            x = x + 1.0
        return x

    body = [f"    x = x + {k}.5" for k in range(1, 200)]
    source = "\n".join(["def straight(x):", *body, "    return x"])
    names = {}
    exec(source, names)  # noqa: S102 - many lines of our own
    data, paths = check(recorded_run(long, 0.5))
    assert "part" in data["kind"]
    data, paths = check(recorded_run(names["straight"], 0.5))
    assert data["kind"].count("part") == 7
    _, paths = check(recorded_run(steps, 0.5, 0.3, n=100))
    assert ("step ×100", "33–64", "step 34") in paths


def test_lines_are_groups_where_there_are_many():
    def f(x):
        a = np.sin(x) * np.cos(x) + np.exp(x) / 2.0
        b = np.sin(a) * np.cos(a) + np.exp(a) / 2.0
        c = np.sin(b) * np.cos(b) + np.exp(b) / 2.0
        return c * 2.0

    data, paths = check(recorded_run(f, 0.5))
    lines = [p[0] for p, kind in zip(paths, data["kind"], strict=True) if kind == "line"]
    assert [text[:10] for text in lines] == ["a = np.sin", "b = np.sin", "c = np.sin"]


def test_a_graph_without_calls_is_grouped_too():
    run = ran("transformer")
    graph = cr.Graph.from_json(run.graph.to_json())
    assert graph.calls is None
    data = groups_of(graph, model_of(graph))
    assert len(data["of"]) == len(graph)


def test_the_work_is_linear():
    def took(n):
        run = recorded_run(steps, 0.5, 0.3, n=n)
        model = model_of(run)
        start = process_time()
        groups_of(run.graph, model)
        return process_time() - start

    took(100)
    assert took(8_000) < 40 * max(took(1_000), 0.002)

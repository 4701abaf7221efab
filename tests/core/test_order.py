"""Topological order: valid, deterministic, cycles named, nothing recursive."""

import itertools
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.core.order import Step, dfs_order, kahn_order, order_above, topological_sort
from chainrule.errors import ArgumentError, CycleError

METHODS = ["dfs", "kahn"]
WALKS = [(m, f) for m in METHODS for f in ("dependencies", "dependents")]
ORDERS = [dfs_order, kahn_order]
MILLION = 10**6


@st.composite
def dags(draw):
    """{node: dependencies}: a node depends on lower numbers, so there is no cycle."""
    n = draw(st.integers(0, 12))
    below = [draw(st.lists(st.integers(0, i - 1), max_size=4)) if i else [] for i in range(n)]
    keys = draw(st.permutations(range(n)))
    # A node without dependencies need not be a key.
    kept = [k for k in keys if below[k] or draw(st.booleans())]
    return {k: below[k] for k in kept}


@st.composite
def digraphs(draw):
    n = draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    return {i: draw(st.lists(node, max_size=3)) for i in draw(st.permutations(range(n)))}


def nodes_of(mapping):
    return set(mapping).union(*mapping.values())


def assert_valid(order, mapping):
    position = {node: i for i, node in enumerate(order)}
    assert len(position) == len(order)
    assert set(position) == nodes_of(mapping)
    for node, dependencies in mapping.items():
        assert all(position[d] < position[node] for d in dependencies)


def sorted_or_refused(mapping, method, follow):
    try:
        return topological_sort(mapping, method, follow=follow), None
    except CycleError as error:
        return None, error


# ---- topological_sort ---------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "follow"), WALKS)
@given(mapping=dags())
def test_every_dependency_comes_first(method, follow, mapping):
    assert_valid(topological_sort(mapping, method, follow=follow), mapping)


def test_the_check_of_validity_finds_a_wrong_order():
    with pytest.raises(AssertionError):
        assert_valid(["a", "b"], {"a": ["b"]})


@pytest.mark.parametrize(("method", "follow"), WALKS)
@given(mapping=digraphs())
def test_a_cycle_named_is_a_cycle(method, follow, mapping):
    order, error = sorted_or_refused(mapping, method, follow)
    if error is None:
        assert_valid(order, mapping)
        return
    cycle = error.cycle
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1 >= 1
    assert all(b in mapping[a] for a, b in itertools.pairwise(cycle))
    assert " → ".join(map(str, cycle)) in str(error)


@pytest.mark.parametrize(("method", "follow"), WALKS)
def test_the_message_prints_the_cycle_and_how_to_read_it(method, follow):
    mapping = {"start": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}
    with pytest.raises(CycleError, match="a depends on b") as caught:
        topological_sort(mapping, method, follow=follow)
    turns = ("a → b → c → a", "b → c → a → b", "c → a → b → c")
    assert any(turn in str(caught.value) for turn in turns)
    assert " → ".join(caught.value.cycle) in turns


@pytest.mark.parametrize(("method", "follow"), WALKS)
def test_a_node_that_depends_on_itself(method, follow):
    with pytest.raises(CycleError, match="x → x") as caught:
        topological_sort({"y": ["x"], "x": ["x"]}, method, follow=follow)
    assert caught.value.cycle == ["x", "x"]


@pytest.mark.parametrize("method", METHODS)
def test_with_steps_a_cycle_is_raised_on_reaching_it(method):
    walk = topological_sort({"a": [], "b": ["c"], "c": ["b"]}, method, steps=True)
    assert next(walk).node == "a"
    with pytest.raises(CycleError):
        list(walk)


def test_nodes_are_tried_in_the_order_of_the_mapping():
    mapping = {"z": ["y", "x"], "a": ["n"], "m": []}
    assert "".join(topological_sort(mapping)) == "yxznam"
    assert "".join(topological_sort(mapping, follow="dependents")) == "nxymaz"
    assert "".join(topological_sort(mapping, "kahn")) == "myxnza"
    assert "".join(topological_sort(mapping, "kahn", follow="dependencies")) == "nxymaz"


def test_sets_give_the_same_order_whatever_the_hash_seed():
    sort = "topological_sort({'D': {'Bee', 'Cow'}, 'Cow': {'Ape', 'Elk', 'Fox'}})"
    run = [sys.executable, "-c", f"from chainrule.core.order import *; print(*{sort})"]
    seeded = [{**os.environ, "PYTHONHASHSEED": seed} for seed in "1234"]
    outputs = {subprocess.check_output(run, env=env, text=True) for env in seeded}
    assert outputs == {"Bee Ape Elk Fox Cow D\n"}


def test_a_set_whose_members_do_not_compare():
    assert topological_sort({"z": {2, "b"}})[-1] == "z"


def test_any_iterable_of_dependencies_and_any_hashable_node():
    mapping = {None: (x for x in "ab"), ("t", 1): {None: 0}, frozenset(): []}
    assert topological_sort(mapping) == ["a", "b", None, ("t", 1), frozenset()]
    assert topological_sort({}) == []


def test_the_mapping_is_left_as_it_was():
    mapping = {"b": ["a", "a"]}
    assert topological_sort(mapping) == ["a", "b"]
    assert mapping == {"b": ["a", "a"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([("a", ["b"])],), "mapping .* got list"),
        (({"a": 3},), "'a' must be an iterable .*'int' object is not iterable"),
        (({"a": None},), "'a' must be an iterable"),
        (({"a": [["b"]]},), "hashable nodes: unhashable type: 'list'"),
        (({"build": "test"},), r"string 'test'; write a list .*\['test'\]"),
        (({}, "bfs"), "'dfs' or 'kahn', got 'bfs'"),
        (({}, ["dfs"]), "'dfs' or 'kahn', got"),
    ],
)
@pytest.mark.parametrize("steps", [False, True])
def test_a_bad_argument_is_refused_at_the_call(arguments, message, steps):
    with pytest.raises(ArgumentError, match=message):
        topological_sort(*arguments, steps=steps)


def test_a_bad_direction_is_refused():
    with pytest.raises(ArgumentError, match="'dependencies' or 'dependents', got 'up'"):
        topological_sort({}, follow="up")


# ---- steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "follow"), WALKS)
@given(mapping=dags())
def test_steps_tell_the_order_that_comes_out(method, follow, mapping):
    steps = list(topological_sort(mapping, method, steps=True, follow=follow))
    order = topological_sort(mapping, method, follow=follow)
    placed = [step for step in steps if step.kind == "placed"]
    assert sorted(step.node for step in placed) == sorted(order)
    if steps:
        assert steps[-1].order == tuple(order)
    for i, step in enumerate(placed, start=1):
        assert len(step.order) == i
        assert step.node in (step.order[0], step.order[-1])
        assert step.node not in step.stack
    for step in steps:
        assert (step.node in step.stack) or step.kind in ("placed", "visited", "released")


@given(mapping=dags())
def test_depth_first_meets_each_edge_once(mapping):
    steps = list(topological_sort(mapping, steps=True))
    counts = {
        k: sum(s.kind == k for s in steps) for k in ("push", "visited", "backtrack", "placed")
    }
    n = len(nodes_of(mapping))
    roots = sum(s.kind == "push" and len(s.stack) == 1 for s in steps)
    edges = sum(len(set(dependencies)) for dependencies in mapping.values())
    assert counts["push"] == counts["backtrack"] == counts["placed"] == n
    assert counts["push"] - roots + counts["visited"] == edges


def test_kahn_steps():
    # All steps first, then what they tell: a snapshot must not change as the sort goes on.
    steps = list(topological_sort({"c": ["a", "b"], "d": ["c"]}, "kahn", steps=True))
    assert [(s.kind, s.node, "".join(s.stack), "".join(s.order)) for s in steps] == [
        ("ready", "a", "a", ""),
        ("ready", "b", "ab", ""),
        ("placed", "a", "b", "a"),
        ("released", "c", "b", "a"),
        ("placed", "b", "", "ab"),
        ("released", "c", "", "ab"),
        ("ready", "c", "c", "ab"),
        ("placed", "c", "", "abc"),
        ("released", "d", "", "abc"),
        ("ready", "d", "d", "abc"),
        ("placed", "d", "", "abcd"),
    ]


def test_a_step_is_a_frozen_record():
    step, other = (next(topological_sort({n: []}, steps=True)) for n in "ab")
    assert step != other
    assert step == next(topological_sort({"a": ["b"]}, steps=True))
    assert repr(step) == "Step(kind='push', node='a')"
    assert isinstance(step, Step)
    with pytest.raises(FrozenInstanceError):
        step.kind = "placed"


# ---- dfs_order and kahn_order -------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@given(mapping=dags(), data=st.data())
def test_orders_hold_what_is_above_the_outputs(order, mapping, data):
    nodes = sorted(nodes_of(mapping))
    outputs = data.draw(st.lists(st.sampled_from(nodes))) if nodes else []
    parents = {node: mapping.get(node, []) for node in nodes}
    above, todo = set(), list(outputs)
    while todo:
        node = todo.pop()
        above.add(node)
        todo += parents[node]
    result = order(iter(outputs), parents.__getitem__)
    assert_valid(result, {node: parents[node] for node in above})


@given(mapping=dags())
def test_dfs_order_is_the_depth_first_sort(mapping):
    full = {node: mapping.get(node, []) for node in [*mapping, *nodes_of(mapping)]}
    assert dfs_order(full, full.__getitem__) == topological_sort(full)


class Recorded:
    """What order_above asks of a node."""

    def __init__(self, parents):
        self.parents = parents
        self.first, self.second, *others = (*parents, None, None)
        self.others = tuple(others[:-2]) if len(parents) > 2 else ()


@given(mapping=dags(), data=st.data())
def test_order_above_is_dfs_order(mapping, data):
    made = {}
    for name in topological_sort(mapping):
        made[name] = Recorded(tuple(made[p] for p in mapping.get(name, [])))
    nodes = list(made.values())
    outputs = data.draw(st.lists(st.sampled_from(nodes))) if nodes else []
    assert order_above(outputs) == dfs_order(outputs, lambda node: node.parents)


def test_order_above_a_node_of_many_parents():
    chains = [Recorded((Recorded(()),)) for _ in range(5000)]
    wide = Recorded((*chains, *chains))
    reads = 0

    class Counted(tuple):
        def __iter__(self):
            nonlocal reads
            reads += 1
            return super().__iter__()

    wide.others = Counted(wide.others)
    assert order_above([wide]) == dfs_order([wide], lambda node: node.parents)
    assert reads < 10


@pytest.mark.parametrize("order", ORDERS)
def test_none_may_be_a_node_and_a_parent_may_be_used_twice(order):
    parents = {"y": (None, None), None: ()}
    assert order(["y", None, "y"], parents.__getitem__) == [None, "y"]


# ---- nothing is recursive -----------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_a_chain_of_a_million_parents(order):
    parents = [(), *((i,) for i in range(MILLION - 1))]
    assert order([MILLION - 1], parents.__getitem__) == list(range(MILLION))


@pytest.mark.parametrize("n", [MILLION // 10, pytest.param(MILLION, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("method", "follow"), WALKS)
def test_a_chain_of_a_million_dependencies(method, follow, n):
    chain = {i: (i - 1,) for i in range(n - 1, 0, -1)}
    assert topological_sort(chain, method, follow=follow) == list(range(n))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_million_steps(method):
    chain = {i: (i - 1,) for i in range(MILLION - 1, 0, -1)}
    placed, at_first = 0, None
    for step in topological_sort(chain, method, steps=True, follow="dependencies"):
        if step.kind == "placed":
            placed += 1
            at_first = at_first or step
    assert placed == len(step.order) == MILLION
    assert len(at_first.stack) == (MILLION - 1 if method == "dfs" else 0)
    assert at_first.order == ((0,) if method == "dfs" else (MILLION - 1,))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_cycle_through_a_million_nodes(method):
    ring = {i: ((i + 1) % MILLION,) for i in range(MILLION)}
    with pytest.raises(CycleError, match="more …") as caught:
        topological_sort(ring, method)
    assert len(str(caught.value)) < 500
    assert sorted(caught.value.cycle[1:]) == list(range(MILLION))

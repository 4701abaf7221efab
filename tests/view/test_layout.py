"""The layout (`layers.py`, `crossings.py`, `straighten.py`): nothing overlaps, wires seldom cross.

Wires are short and straight, and it takes linear time.
"""

import gc
import random
from collections import Counter
from itertools import pairwise
from time import process_time

import numpy as np
import pytest

from chainrule.view.boxes import boxes_of
from chainrule.view.crossings import crossings, ordered
from chainrule.view.layers import layers_of
from chainrule.view.layout import APART, WIRE, layout, route
from chainrule.view.model import model_of
from tests.view.gallery import PROGRAMS, ran


def drawn(nodes: int, seed: int, near: float = 8.0) -> tuple[list[int], list[int]]:
    """A random graph in which a node uses two of those shortly before it."""
    draw = random.Random(seed)
    tails, heads = [], []
    for c in range(3, nodes):
        back = {min(int(draw.expovariate(1 / near)), c - 1) for _ in range(2)}
        for b in sorted(back, reverse=True):
            tails.append(c - 1 - b)
            heads.append(c)
    return tails, heads


def chain(nodes: int) -> tuple[list[int], list[int]]:
    return list(range(nodes - 1)), list(range(1, nodes))


def reused(nodes: int) -> tuple[list[int], list[int]]:
    """A chain whose every node also uses node 0."""
    pairs = [(p, c) for c in range(1, nodes) for p in sorted({0, c - 1})]
    return [p for p, _ in pairs], [c for _, c in pairs]


def placed(tails, heads, nodes):
    size = random.Random(nodes)
    widths = [size.uniform(20, 150) for _ in range(nodes)]
    halves = [size.uniform(10, 60) for _ in range(nodes)]
    return layout(tails, heads, widths, halves), widths, halves


GRAPHS = {
    **{f"random {seed}": (*drawn(40 + 20 * seed, seed), 40 + 20 * seed) for seed in range(6)},
    "chain": (*chain(30), 30),
    "reused": (*reused(30), 30),
    "one": ([], [], 1),
    "apart": ([], [], 5),
    "none": ([], [], 0),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_overlaps_and_parents_stand_left(name):
    tails, heads, nodes = GRAPHS[name]
    made, widths, halves = placed(tails, heads, nodes)
    columns: dict[int, list[int]] = {}
    for v in range(nodes):
        columns.setdefault(int(made.layer[v]), []).append(v)
        assert made.x[v] >= 0
        assert made.x[v] + widths[v] <= made.width + 1e-6
        assert halves[v] <= made.y[v] + 1e-6
        assert made.y[v] + halves[v] <= made.height + 1e-6
    for column in columns.values():
        column.sort(key=lambda v: made.y[v])
        for u, v in pairwise(column):
            assert made.y[v] - made.y[u] >= halves[u] + halves[v] + APART - 1e-6
    for p, c in zip(tails, heads, strict=True):
        assert made.layer[p] < made.layer[c]
        assert made.x[p] + widths[p] < made.x[c]


@pytest.mark.parametrize("name", GRAPHS)
def test_wires_lead_from_node_to_node_and_over_no_other(name):
    tails, heads, nodes = GRAPHS[name]
    made, widths, halves = placed(tails, heads, nodes)
    for e, (p, c) in enumerate(zip(tails, heads, strict=True)):
        points = [*route(made, e, p, c, made.x[p] + widths[p])]
        assert points[0] == pytest.approx((made.x[p] + widths[p], made.y[p]))
        assert points[-1][0] == pytest.approx(made.x[c])
        assert abs(points[-1][1] - made.y[c]) <= halves[c]
        assert all(a[0] <= b[0] + 1e-9 for a, b in pairwise(points))
        crossed = made.layer[c] - made.layer[p] - 1
        assert len(points) == 3 + 2 * crossed, "a place in every column between them"
        for k in range(crossed):
            (start, height), (end, same) = points[2 + 2 * k : 4 + 2 * k]
            column = made.layer[p] + 1 + k
            assert (start, end, same) == (made.start[column], made.end[column], height)
            for v in np.flatnonzero(made.layer == column):
                assert abs(made.y[v] - height) >= halves[v] + WIRE - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_few_wires_cross(seed):
    """Against nodes in the order of the program, and against depth-first order."""
    nodes = 40 + 20 * seed
    layers = layers_of(nodes, *drawn(nodes, seed))
    found = crossings(layers, ordered(layers))
    assert found <= 0.5 * crossings(layers, [sorted(column) for column in layers.columns])
    assert found <= 0.9 * crossings(layers, layers.columns)


def test_crossings_are_counted():
    layers = layers_of(4, [0, 1], [3, 2])  # 0 → 3 and 1 → 2
    assert crossings(layers, [[0, 1], [3, 2]]) == 0
    assert crossings(layers, [[0, 1], [2, 3]]) == 1
    both = layers_of(4, [0, 1, 0, 1], [2, 2, 3, 3])
    assert crossings(both, ordered(both)) == 1


def test_a_tree_and_the_small_graphs_of_the_gallery_have_no_crossing():
    layers = layers_of(63, list(range(62)), [32 + k // 2 for k in range(62)])  # binary, 32 leaves
    assert crossings(layers, ordered(layers)) == 0
    for name in ("product", "shared", "softmax", "network", "lstm-step"):
        model = model_of(ran(name), arrays=False)
        layers = layers_of(len(model), model.parent, model.child)
        assert crossings(layers, ordered(layers)) == 0, name


@pytest.mark.parametrize("name", PROGRAMS)
def test_long_wires_are_straight(name):
    """Of the columns that trunks cross, nearly all at the height of the one before."""
    model = model_of(ran(name))
    boxes = boxes_of(model)
    halves = [max(box.above, box.below) for box in boxes]
    made = layout(model.parent, model.child, [box.width for box in boxes], halves)
    reach = Counter()
    for p, c in zip(model.parent, model.child, strict=True):
        reach[p] = max(reach[p], int(made.layer[c] - made.layer[p]) - 1)
    bends = total = 0
    for p, places in reach.items():
        heights = made.places[made.first[p] :][:places] if places > 1 else []
        bends += sum(abs(a - b) > 0.5 for a, b in pairwise(heights))
        total += max(places - 1, 0)
    assert bends <= 0.1 * total


@pytest.mark.parametrize("name", ["network", "convolution"])
def test_what_is_computed_runs_straight_past_its_parameters(name):
    model = model_of(ran(name))
    boxes = boxes_of(model)
    halves = [max(box.above, box.below) for box in boxes]
    made = layout(model.parent, model.child, [box.width for box in boxes], halves)
    heights = {round(float(made.y[k]), 3) for k, op in enumerate(model.op) if op}
    assert len(heights) == 1


def test_a_leaf_stands_beside_its_first_user():
    model = model_of(ran("product"), arrays=False)
    made = layout(model.parent, model.child, [30.0] * 5, [20.0] * 5)
    assert made.layer.tolist() == [0, 0, 1, 1, 2], "z with q, left of the product"


def test_what_has_no_children_stands_on_the_right():
    made = layout([0, 0, 1], [1, 2, 3], [30.0] * 4, [20.0] * 4)
    assert made.layer.tolist() == [0, 1, 2, 2]


def test_first_arguments_stand_above():
    model = model_of(ran("product"), arrays=False)
    made = layout(model.parent, model.child, [30.0] * 5, [20.0] * 5)
    x, y, z, q = (made.y[k] for k in range(4))
    assert x < y
    assert q < z


@pytest.mark.parametrize("make", [drawn, chain, reused])
def test_time_is_linear(make):
    def seconds(nodes):
        edges = make(nodes, 0) if make is drawn else make(nodes)
        gc.collect()
        gc.disable()  # a collection walks through all that other tests have left behind
        try:
            start = process_time()
            layout(*edges, [60.0] * nodes, [20.0] * nodes)
            return process_time() - start
        finally:
            gc.enable()

    seconds(500)
    small, large = (min(seconds(count) for _ in range(3)) for count in (2_500, 25_000))
    assert large < 30 * small


@pytest.mark.slow
def test_a_chain_of_a_million():
    made = layout(*chain(10**6), [10.0] * 10**6, [5.0] * 10**6)
    assert made.layer[-1] == 10**6 - 1
    assert np.ptp(made.y) == 0

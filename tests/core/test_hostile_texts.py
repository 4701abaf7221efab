"""Texts that are not graphs: nothing but a SerialisationError, soon, whatever is in them."""

import copy
import json
import random
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from tests.core import golden

GRAPHS = golden.graphs()
TEXT = [graph.to_json() for name, graph in GRAPHS.items() if name != "formal"]
HOSTILE = [
    *(
        None,
        True,
        0,
        -1,
        1,
        7,
        2**63,
        10**25,
        0.5,
        -0.0,
        float("nan"),
        "",
        "x",
        "<f8",
        "|O",
        "<M8[s]",
        "sum",
    ),
    *(
        "item",
        "constant",
        "__class__",
        "\ud800",
        [],
        [[]],
        [0],
        [-1],
        [0, 0],
        [4000],
        [10**12],
        [10**6, 10**6],
        10**12,
        {},
        {"a": 1, "b": 2},
    ),
    *({"node": i} for i in (0, -1, 10**9, True, None)),
    *({"float": v} for v in ("nan", "abc", None)),
    *({"complex": v} for v in (["1", "nan"], [], 1)),
    *({"tuple": v} for v in ([], [0, 1], 3)),
    *({"slice": v} for v in ([None] * 3, [], [None, None, 0])),
    *({"slot": v} for v in (0, -1, 9, "a")),
    *({"dtype": v} for v in ("<f4", "|O", "<U5", "f8,f8", "no", 3)),
    *(
        {"array": v}
        for v in (["<f8", [1], "AAAAAAAAAAA="], ["<f8", [-1], ""], ["<f8", [2], "***"], [])
    ),
    *(
        {"array": ["|O", [1], "AAAAAAAAAAA="]},
        {"scalar": ["<f8", [1], "AAAAAAAAAAA="]},
        {"evil": 1},
    ),
]


def places(tree):
    """Every (container, key) of a JSON tree."""
    found, pending = [], [tree]
    while pending:
        at = pending.pop()
        for key in at if isinstance(at, dict) else range(len(at)):
            found.append((at, key))
            if isinstance(at[key], (dict, list)):
                pending.append(at[key])
    return found


def mutated(rng):
    """A graph's text with a few characters, or a few parts of its tree, replaced."""
    text = rng.choice(TEXT)
    if rng.random() < 0.3:
        for _ in range(rng.randint(1, 4)):
            i, j = sorted((rng.randrange(len(text)), rng.randrange(len(text))))
            j = min(j, i + 20)
            middle = rng.choice([rng.choice('{}[]",:0129eE-.ntf\\ '), "", text[i:j] * 2])
            text = text[:i] + middle + text[j:]
        return text
    tree = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        (at, key), (other, name) = rng.choice(places(tree)), rng.choice(places(tree))
        at[key] = copy.deepcopy(rng.choice([other[name], rng.choice(HOSTILE), rng.choice(HOSTILE)]))
    return json.dumps(tree)


@pytest.mark.filterwarnings("ignore")  # an empty mean warns, and may
def test_two_thousand_mutated_texts():
    """Each either is a graph, which can be printed and written, or a SerialisationError."""
    rng, refused, slowest = random.Random(20240607), 0, 0.0
    for _ in range(2000):
        text = mutated(rng)
        start = time.process_time()
        try:
            graph = cr.Graph.from_json(text)
        except cr.SerialisationError:
            refused += 1
        else:
            assert str(graph)
            assert cr.Graph.from_json(graph.to_json()).to_json() == graph.to_json()
        slowest = max(slowest, time.process_time() - start)
    assert 1000 < refused < 2000, "most mutations break a graph, some do not"
    assert slowest < 5.0


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(),
    lambda t: st.lists(t) | st.dictionaries(st.text(max_size=9), t),
    max_leaves=9,
)


@given(st.text() | st.binary() | documents.map(json.dumps))
def test_any_text_at_all(text):
    with pytest.raises(cr.SerialisationError):
        cr.Graph.from_json(text)


LEAF, PARENT = {"leaf": "x", "dtype": "<f8", "shape": []}, {"node": 0}
SINE = {"op": "sin", "args": [PARENT], "attrs": {}, "dtype": "<f8", "shape": []}
ALL = {"axis": None, "dtype": None, "keepdims": False, "where": True}
DEEP = "[" * 100_000, '{"tuple":[' * 5_000 + "]}" * 5_000


def document(*nodes, **fields):
    whole = {"chainrule": 1, "name": "g", "leaves": [0], "outputs": [0], "captured": []}
    return json.dumps({**whole, "nodes": nodes, **fields})


def test_the_hand_written_document_is_a_graph():
    assert cr.Graph.from_json(document(LEAF, SINE, outputs=[1])).forward(0.0).outputs == 0.0


BAD = {
    "nested too deep": DEEP[0],
    "a value nested too deep": document(LEAF, SINE).replace("{}", f'{{"a": {DEEP[1]}}}'),
    "another version": document(LEAF, chainrule=2),
    "no such op": document(LEAF, {**SINE, "op": "system"}),
    "a composite op": document(LEAF, {**SINE, "op": "var"}),
    "an op that is no name": document(LEAF, {**SINE, "op": ["sin"]}),
    "an attr too many": document(LEAF, {**SINE, "attrs": {"axis": 0}}),
    "a later node": document(LEAF, {**SINE, "args": [{"node": 1}]}),
    "a node before the first": document(LEAF, {**SINE, "args": [{"node": -1}]}),
    "another dtype than the op's": document(LEAF, {**SINE, "dtype": "<f4"}),
    "an output that is not there": document(LEAF, outputs=[1]),
    "an output that is a boolean": document(LEAF, outputs=[False]),
    "a leaf of dates": document({**LEAF, "dtype": "<M8[s]"}),
    "a leaf with fields": document({**LEAF, "dtype": "f8,f8"}),
    "a line of two parts": document(LEAF, {**SINE, "line": ["a.py", 1]}),
    "a text as a constant": document(LEAF, {**SINE, "op": "multiply", "args": [PARENT, "2"]}),
}
NUMBERS = {
    "an infinite shape": document({**LEAF, "shape": [float("inf")]}),
    "an infinite line": document(LEAF, {**SINE, "line": ["a.py", float("inf"), ""]}),
    "a huge constant": document(LEAF, {**SINE, "op": "multiply", "args": [PARENT, 10**400]}),
    "a fractional shape": document({**LEAF, "shape": [1.5]}),
    "a shape in words": document({**LEAF, "shape": ["3"]}),
    "a negative shape": document({**LEAF, "shape": [-3]}),
    "a hundred axes": document({**LEAF, "shape": [1] * 100}),
    "a leaf of objects": document({**LEAF, "dtype": "|O"}),
    "a leaf nobody fills": document(LEAF, leaves=[]),
    "an op for a leaf": document(LEAF, SINE, leaves=[0, 1]),
    "a name that moves the cursor": document({**LEAF, "leaf": "x\x1b[2J"}),
    "a graph's name of two lines": document(LEAF, name="f\ng"),
    "a line that moves the cursor": document(LEAF, {**SINE, "line": ["a.py", 1, "\x1b[2J"]}),
    "a name that is a value": document({**LEAF, "leaf": {"float": "nan"}}),
    "a value captured twice": document(LEAF, leaves=[], captured=[[0, 1.0], [0, 2.0]]),
    "an op of constants alone": document(LEAF, {**SINE, "op": "power", "args": [2**40, 2**40]}),
    "a dtype left out": document({**LEAF, "dtype": None}),
    "a captured text": document(LEAF, leaves=[], captured=[[0, "evil"]]),
}


@pytest.mark.parametrize("text", [*BAD.values(), "", "null", "[]", None, 3], ids=[*BAD, *"abcde"])
def test_hostile_text(text):
    with pytest.raises(cr.SerialisationError):
        cr.Graph.from_json(text)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_none(name):
    with pytest.raises(cr.SerialisationError):
        cr.Graph.from_json(NUMBERS[name])


def test_a_huge_constant_after_a_small_one():
    """What is known of an op with one constant is not known of it with every other."""
    double = {**SINE, "op": "multiply", "args": [PARENT, 2]}
    assert cr.Graph.from_json(document(LEAF, double, outputs=[1]))
    with pytest.raises(cr.SerialisationError, match="node %2: multiply"):
        cr.Graph.from_json(document(LEAF, double, {**double, "args": [PARENT, 10**400]}))


SLOGDET = {**SINE, "op": "slogdet_pair", "dtype": "|O"}
SQUARES = {**LEAF, "shape": [3, 2, 2]}


def one_of(index, count=2, **fields):
    attrs = {"index": index, "count": count}
    return {"op": "item", "args": [{"node": 1}], "attrs": attrs, "dtype": "<f8", **fields}


def test_one_of_several_results_is_held_against_its_op():
    good = document(SQUARES, SLOGDET, one_of(0, shape=[3]), one_of(1, shape=[3]), outputs=[2])
    assert len(cr.Graph.from_json(good)) == 4
    for bad in (
        one_of(0, shape=[2]),
        one_of(2, shape=[3]),
        one_of(-1, shape=[3]),
        one_of(0, 3, shape=[3]),
        {**SINE, "args": [{"node": 1}]},
    ):
        with pytest.raises(cr.SerialisationError, match="node %2"):
            cr.Graph.from_json(document(SQUARES, SLOGDET, bad, outputs=[2]))
    with pytest.raises(cr.SerialisationError, match="several results"):
        cr.Graph.from_json(document(SQUARES, SLOGDET, outputs=[1]))


# ---- claims of size -----------------------------------------------------------------------------


def cost(text):
    """Seconds and bytes that reading takes; refusing is as good as taking."""
    tracemalloc.start()
    start = time.process_time()
    try:
        cr.Graph.from_json(text)
    except cr.SerialisationError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return time.process_time() - start, peak


@pytest.mark.parametrize(
    ("op", "attrs", "size"),
    [("sum", ALL, 4 * 10**9), ("cumsum", {"axis": 0, "dtype": None}, 10**7)],
)
def test_a_claim_of_size_costs_neither_time_nor_memory(op, attrs, size):
    node = {**SINE, "op": op, "attrs": attrs, "shape": [size] if op == "cumsum" else []}
    seconds, peak = cost(document({**LEAF, "shape": [size]}, node))
    assert seconds < 0.3
    assert peak < 2**20


def scaled(graph, factor):
    """The text of the graph with every size in it, of arrays and in attrs, so much larger."""
    tree = json.loads(graph.to_json())
    pending = [node[key] for node in tree["nodes"] for key in ("shape", "attrs") if key in node]
    while pending:
        at = pending.pop()
        for key in at if isinstance(at, dict) else range(len(at)):
            if type(at[key]) is int and abs(at[key]) > 1:
                at[key] *= factor
            elif isinstance(at[key], (dict, list)):
                pending.append(at[key])
    return json.dumps(tree)


PRIMITIVES = [op.name for op in cr.OPS.values() if op.expand is None and op.samples()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_op_answers_at_once_whatever_size_is_claimed(name):
    op = cr.OPS[name]
    if not op.inputs:
        pytest.skip("its value is in the file")
    for sample in op.samples():
        inputs, attrs = op.bind(sample.args, sample.attrs)
        # A Python number that is traced is a float; an array of integers stays one.
        inputs = [np.asarray(x) if type(x) is int else x for x in inputs]
        graph = cr.trace(lambda *xs, attrs=attrs: op(*xs, **attrs), *inputs)
        for factor in (10**4, 10**6, 10**12):
            seconds, peak = cost(scaled(graph, factor))
            assert seconds < 0.5
            assert peak < 10**7

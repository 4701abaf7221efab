"""The text of a graph: golden, stable, and enough to tell two graphs apart.

After a change that is meant, `python -m tests.core.golden --update` writes `golden.txt` anew.
"""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.node import make_leaf
from chainrule.core.slot import Slot
from chainrule.core.text import graph_text, value_text
from tests.core import golden

KEPT, NOW = golden.golden(), golden.texts()


def test_every_program_is_kept_and_nothing_else():
    assert list(KEPT) == list(NOW)


@pytest.mark.parametrize("name", NOW)
def test_golden(name):
    assert NOW[name] == KEPT[name]


def test_the_same_text_every_time():
    assert golden.texts() == NOW


@pytest.mark.parametrize("name", [n for n in NOW if n != "formal"])
def test_the_text_survives_json(name):
    graph = golden.graphs()[name]
    again = cr.Graph.from_json(graph.to_json())
    assert graph_text(again, lines=False) == NOW[name]
    assert str(again) == str(graph), "source lines are kept too"


def test_a_dtype_is_printed_by_name_however_it_was_given():
    for dtype in (np.float32, np.dtype(np.float32)):
        graph = cr.trace(lambda x, dtype=dtype: np.cumsum(x, dtype=dtype), np.ones(3))
        assert "cumsum %0 dtype=float32 " in str(graph)


def test_lines_stand_beside_the_nodes_that_have_them():
    def f(x):
        return np.sin(x) * 2

    start = f.__code__.co_firstlineno
    rows = str(cr.trace(f, 1.0)).splitlines()
    assert [row[58:] for row in rows[1:-1]] == ["", *[f"test_text.py:{start + 1}"] * 2]
    assert not any(row.endswith(" ") for row in rows)


@pytest.mark.parametrize(
    "options", [{"sign": "+"}, {"floatmode": "fixed"}, {"legacy": "1.13"}, {"precision": 2}]
)
def test_numpy_s_print_options_change_nothing(options):
    graph = cr.trace(lambda x: x * np.array([1.0, 0.123456789]), np.ones(2))
    expected = str(graph)
    with np.printoptions(**options):
        assert str(graph) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (3, "3"),
        (-0.0, "-0.0"),
        (float("nan"), "nan"),
        (1 + 2j, "(1+2j)"),
        ("ij,jk", "'ij,jk'"),
        (np.float32(0.1), "0.10000000149011612"),
        (np.int8(-3), "-3"),
        (np.True_, "True"),
        (np.array(2.5), "2.5"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.array([]), "[]"),
        (np.zeros((2, 3), np.float32), "<float32[2, 3]>"),
        (np.dtype(np.complex64), "complex64"),
        (..., "…"),
        (slice(None), ":"),
        (slice(1, None), "1:"),
        (slice(None, 3, -2), ":3:-2"),
        ((), "()"),
        ((0, (1, slice(2))), "(0, (1, :2))"),
        (Slot(1), "#1"),
    ],
    ids=repr,
)
def test_values(value, text):
    assert value_text(value) == text


DIFFERENT = [
    lambda x: np.sum(x),
    lambda x: np.sum(x, axis=0),
    lambda x: np.sum(x, axis=-1),
    lambda x: np.sum(x, keepdims=True),
    lambda x: np.prod(x),
    lambda x: np.sum(x * 2),
    lambda x: np.sum(x * 3),
    lambda x: np.sum(2 * x),
    lambda x: x[0],
    lambda x: x[1],
    lambda x: x[:1],
    lambda x: x[1:],
]


def test_different_graphs_have_different_texts():
    texts = {graph_text(cr.trace(f, np.ones((2, 2))), lines=False) for f in DIFFERENT}
    assert len(texts) == len(DIFFERENT)
    of_shapes = {graph_text(cr.trace(np.sin, v), lines=False) for v in (1.0, [1.0], [[1.0]])}
    assert len(of_shapes) == 3


def test_leaves_without_a_name_are_numbered():
    graph = cr.trace(lambda *x: x[0] * x[1], 1.0, 2.0)
    assert "leaf x[0]" in str(graph)
    assert "leaf x[1]" in str(graph)
    leaf = make_leaf((), np.dtype(float), None)
    nameless = cr.Graph((leaf,), (leaf,), (leaf,))
    assert str(nameless).startswith("graph graph(leaf0: float64[])")


def test_dot_quotes_what_it_prints():
    def f(x):
        return np.einsum("i,i->", x['a"b\\'], np.ones(2))

    graph = cr.trace(f, {'a"b\\': np.ones(2)})
    rows = graph.to_dot().splitlines()
    assert rows[0] == 'digraph "f" {'
    assert rows[-1] == "}"
    for row in rows[2:-1]:
        unescaped = row.replace("\\\\", "").replace('\\"', "")
        assert unescaped.count('"') % 2 == 0, row
        assert unescaped.endswith(";")
    assert sum("peripheries=2" in row for row in rows) == 1
    assert sum("->" in row.split('"')[0] for row in rows) == len(graph.edges)

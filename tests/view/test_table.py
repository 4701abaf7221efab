"""The table of a run (`gates.py`, `labels.py`, `values.py`): golden texts, labels, numbers."""

import os
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.view.gates import gate_of
from chainrule.view.labels import labels_of
from chainrule.view.table import rows_of, table_text
from chainrule.view.values import shown


def ran(f, *args, seed=None):
    return cr.trace(f, *args).forward(*args).backward(seed)


def assert_golden(text, name):
    """Compare with a file beside this one; `UPDATE_GOLDEN=1 pytest tests/view` writes it anew."""
    file = Path(__file__).with_name("golden") / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == file.read_text(encoding="utf-8")


def worked(x, y):
    q = x + y
    r = np.maximum(q, 1.0)
    return r * x + np.sin(r)


def layer(W, x):
    z = W @ x
    h = np.tanh(z)
    return np.sum(h**2)


def test_golden_tables():
    assert_golden(table_text(ran(worked, -2.0, 5.0)), "scalars.txt")
    W = np.arange(12.0).reshape(3, 4) / 10
    assert_golden(table_text(ran(layer, W, np.arange(4.0) / 4)), "arrays.txt")


def test_no_gate_column_where_nothing_is_a_gate():
    text = table_text(ran(np.sin, 1.0))
    assert "gate" not in text
    assert [line.split()[0] for line in text.splitlines()] == ["order", "1", "2"]


def test_a_row_says_what_its_adjoint_is_the_sum_of():
    def f(x):
        y = x * x
        return y * y + np.sum(y * np.ones(3)), y

    run = ran(f, 2.0, seed=(1.0, 10.0))
    row = {r.node: r for r in rows_of(run)}["y"]
    assert row.terms == "seed  +  a: 1 × 8  +  b: 3"
    assert row.adjoint == "21"
    assert row.parents == "x"


def test_every_line_has_the_same_columns():
    lines = table_text(ran(layer, np.ones((2, 2)), np.ones(2))).splitlines()
    starts = {line.index(word) for line, word in zip(lines[1:3], ("W", "x"), strict=True)}
    assert starts == {lines[0].index("node")}
    assert len({line[: lines[0].index("value") + 5].count("") for line in lines}) == 1


# ---- labels ------------------------------------------------------------------------------------


def labels(f, *args):
    graph = cr.trace(f, *args)
    return [labels_of(graph)[node] for node in graph.nodes if not node.is_leaf]


def test_assigned_names():
    def f(x):
        square = x * x
        ratio = np.exp(-square) / square
        größe = ratio + 1.0
        return größe * 2.0

    assert labels(f, 2.0) == ["square", "a", "b", "ratio", "größe", "f"]


def test_a_name_assigned_again_is_numbered():
    def f(x):
        for _ in range(3):
            x = x * x
        return x

    assert labels(f, 2.0) == ["x2", "x3", "x4"]


def test_letters_stand_in_and_avoid_names_in_use():
    def f(a, c):
        b = a * c
        return np.sin(np.cos(b))

    assert labels(f, 2.0, 1.0) == ["b", "d", "f"], "the output has the name of the function"
    assert labels(lambda x: np.sin(np.cos(x)), 1.0) == ["a", "b"], "a lambda has none"


def test_more_nodes_than_letters():
    found = labels(lambda x: sum(np.sin(x * k) for k in range(40)), 1.0)
    assert len(set(found)) == len(found)
    assert found[:2] == ["a", "b"]
    assert "a1" in found


def test_two_assignments_on_one_line():
    def f(x):
        y = x * 2; z = y + 1  # fmt: skip  # noqa: E702
        return z * 1.0

    assert labels(f, 1.0)[:2] == ["y", "z"]


def test_annotated_assignment():
    def f(x):
        y: float = x * 2
        return y * 1.0

    assert labels(f, 1.0)[0] == "y"


# ---- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-1234567.0, "-1.23457e+06"),
        (np.nan, "nan"),
        (3, "3"),
        (True, "True"),
        (1 + 2j, "1+2j"),
        (np.float32(0.1), "0.1"),
        (np.array([1.0, 1 / 3]), "[1.     0.3333]"),
        (np.eye(2), "[[1. 0.] [0. 1.]]"),
        (np.arange(6.0), "6, norm 7.416"),
        (np.ones((3, 4)), "3×4, norm 3.464"),
        (np.full(9, True), "9, norm 3"),
        (np.full(5, 3 + 4j), "5, norm 11.18"),
        ((1.0, 2.0), "2 results"),
    ],
)
def test_shown(value, text):
    assert shown(value) == text


def test_the_norm_of_huge_numbers():
    assert shown(np.full(9, 1e200)) == "9, norm 3e+200"


def test_a_large_run_stays_narrow():
    text = table_text(ran(layer, np.ones((50, 70)), np.ones(70)))
    assert "50×70, norm 59.16" in text
    assert max(map(len, text.splitlines())) < 160


def test_ops_with_several_results():
    def f(A):
        return np.linalg.eigh(A)[0][0]

    text = table_text(ran(f, np.array([[2.0, 1.0], [1.0, 3.0]])))
    assert "2 results" in text


# ---- gates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "names"),
    [
        ("distributes", ["add", "subtract", "negative"]),
        ("swaps", ["multiply", "matmul", "tensordot", "convolve"]),
        ("routes", ["maximum", "minimum", "where", "fmax"]),
        ("", ["divide", "sin", "exp", "sum", "power", "floor", "inv"]),
    ],
)
def test_gate_of_an_op(gate, names):
    assert {name: gate_of(cr.OPS[name]) for name in names} == dict.fromkeys(names, gate)

"""The history of a run: table, curves, CSV, pictures."""

import csv
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import chainrule as cr
from chainrule.learn import History
from chainrule.learn.history import figure, sparkline


def history(epochs, **columns):
    made = History()
    for i in range(epochs):
        record = {"epoch": i + 1, "step": 10 * (i + 1), "loss": 2.0 / (i + 1)}
        made = made.plus({**record, **{k: f(i) for k, f in columns.items()}}, 0.5)
    return made


FULL = history(30, validation=lambda i: 1 / (i + 1) + 0.01 * i, accuracy=lambda i: 1 - 1 / (i + 2))


def test_columns_and_equality():
    assert FULL.columns == ["epoch", "step", "loss", "validation", "accuracy"]
    assert np.array_equal(FULL["epoch"], np.arange(1, 31))
    assert len(FULL) == 30
    assert History(FULL.records, (9.0,) * 30) == FULL  # time is no part of it
    assert history(2) != history(3)
    with pytest.raises(cr.ArgumentError, match=r"the columns epoch, step, loss.*: accurcy"):
        FULL["accurcy"]


def test_as_text():
    lines = str(FULL).splitlines()
    assert lines[0].split() == FULL.columns
    assert len(lines) == 1 + 11 + 1 + 3
    assert lines[6].split() == ["…"] * 5
    assert len({len(line) for line in lines[:12]}) == 1
    assert lines[-1].startswith("accuracy     ▁")
    assert lines[-1].endswith("0.5000 → 0.9677")
    assert str(History()) == "no epoch was finished"


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([3.0], "▁"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█"),
        ([0, np.nan, 1], "▁ █"),
        ([np.nan, np.inf], "  "),
        ([1, 10, 100], "▁▅█"),  # decades, by logarithms: 3.5 rounds to 4
    ],
)
def test_sparkline(values, drawn):
    assert sparkline(values) == drawn


def test_a_long_sparkline_is_as_wide_as_asked():
    assert len(sparkline(range(1000), width=20)) == 20


def test_figures():
    assert [figure(v) for v in (0.0, 0.12345, 12345.6, 1e-6, 7)] == [
        *("0.0000", "0.1235", "1.235e+04", "1e-06", "7")
    ]


def test_csv(tmp_path):
    with FULL.to_csv(tmp_path / "h.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == FULL["loss"].tolist()
    assert rows[0]["seconds"] == "0.500000"


@pytest.mark.parametrize(
    "drawn",
    [FULL, history(1), history(2), history(5, validation=lambda i: float("nan"))],
    ids=["full", "one", "two", "nan"],
)
def test_pictures(tmp_path, drawn):
    pytest.importorskip("matplotlib")
    svg = drawn.plot(tmp_path / "curve.svg").read_bytes()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert drawn.plot(tmp_path / "again.svg").read_bytes() == svg
    assert drawn.plot(tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn(tmp_path, monkeypatch):
    with pytest.raises(cr.ArgumentError, match="nothing to plot"):
        History().plot(tmp_path / "a.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(cr.UnsupportedError, match=r"pip install 'chainrule\[learn\]'"):
        FULL.plot(tmp_path / "a.svg")

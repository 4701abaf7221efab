"""The history of a run: table, curves, CSV, pictures; and what a run shows while it goes."""

import csv
import io
import sys
import xml.etree.ElementTree as ElementTree
from timeit import repeat

import numpy as np
import pytest

import chainrule as cr
from chainrule.learn import History
from chainrule.learn import progress as progress_module
from chainrule.learn.history import figure, sparkline
from chainrule.learn.progress import Bar, Lines, Silent, shown
from chainrule.learn.training import Point


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


# ---- progress -----------------------------------------------------------------------------------


def test_a_pipe_gets_one_line_per_epoch(capsys):
    seen = shown(True, print, epochs=12, count=2)
    assert isinstance(seen, Lines)
    seen.start(Point(None, None, epoch=0))
    seen.step(32, 0.5, None)
    seen.step(32, 0.5, None)
    seen.epoch({"epoch": 3, "step": 2, "loss": 0.5, "accuracy": 0.75}, 0.5)
    seen.close(None)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err == (
        "epoch  3/12   loss 0.5000   accuracy 0.7500   0.50 s   128 examples/s\n"
    )


def test_silence(capsys):
    seen = shown(False, print, epochs=3, count=None)
    assert isinstance(seen, Silent)
    seen.epoch({"epoch": 1, "loss": 1.0}, 1.0)
    seen.note("resumed")
    assert capsys.readouterr() == ("", "")


def bar(epochs=3, count=4, width=140):
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, color_system=None)
    return Bar(console, epochs, count), file


@pytest.mark.parametrize("count", [4, None])
def test_a_terminal_gets_a_bar(monkeypatch, count):
    monkeypatch.setattr(progress_module, "SHORTEST", 0.0)
    monkeypatch.setattr(progress_module, "SHARE", 0)
    seen, file = bar(count=count)
    seen.start(Point(None, None, epoch=1))
    seen.note("resumed")
    for _ in range(4):
        seen.step(32, 0.25, None)
    seen.epoch({"epoch": 2, "step": 8, "loss": 0.25, "accuracy": 0.875}, 1.0)
    seen.step(32, 0.125, None)
    seen.close(None)
    text = file.getvalue()
    assert "resumed" in text
    assert "epoch 2/3" in text
    assert "loss 0.2500" in text
    last = text.split("\r")[-1]
    assert "epoch 3/3" in last
    assert "loss 0.1250" in last
    assert "accuracy 0.8750" in last
    assert "examples/s" in last


def test_in_eighty_columns_there_is_still_a_bar():
    seen, file = bar(epochs=40, count=45, width=80)
    seen.start(Point(None, None, epoch=20))
    seen.epoch({"epoch": 20, "step": 9, "loss": 0.25, "validation": 0.5, "accuracy": 0.875}, 1.0)
    seen.close(None)
    last = file.getvalue().split("\r")[-1]
    assert last.count("━") >= 4
    assert "accuracy 0.8750" in last


def test_drawing_takes_less_than_half_a_hundredth_of_the_time(monkeypatch):
    clock, drawing = [0.0], [0.0]
    seen, _ = bar(epochs=1, count=10**6)

    def update(*args, **fields):
        clock[0] += 0.003
        drawing[0] += 0.003

    monkeypatch.setattr(progress_module, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(seen.bar, "update", update)
    seen.start(Point(None, None, epoch=0))
    for _ in range(200_000):
        clock[0] += 50e-6
        seen.step(32, 0.5, None)
    seen.close(None)
    assert 5 * 0.003 < drawing[0] < 0.005 * clock[0]


def test_a_step_that_is_not_drawn_costs_less_than_half_a_microsecond():
    seen, _ = bar()
    seen.start(Point(None, None, epoch=0))
    seen.next = float("inf")
    tries = repeat(lambda: seen.step(32, 0.5, None), number=10_000, repeat=20)
    seen.close(None)
    assert min(tries) / 10_000 < 0.5e-6

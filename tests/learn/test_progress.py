"""What a run shows while it goes: a bar, lines or nothing, in little time."""

import io
from timeit import repeat

import pytest

from chainrule.learn import progress as progress_module
from chainrule.learn.progress import Bar, Lines, Silent, shown
from chainrule.learn.training import Point


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

"""What all engines have in common (`engine.py`, `report.py`, `failing.py`, `task.py`)."""

import pytest

from chainrule import scale
from chainrule.errors import ArgumentError
from chainrule.scale.failing import failure_of
from chainrule.scale.report import Report, Spent, WorkerSpent
from tests.scale import losses
from tests.scale.losses import PARAMS, X, Y, loss


def test_an_engine_is_closed_once_and_then_refuses():
    with scale.serial() as engine:
        assert repr(engine) == "<serial, 1 worker>"
    engine.close()
    assert repr(engine) == "<serial, closed>"
    with pytest.raises(ArgumentError, match="this serial engine is closed: make another"):
        scale.value_and_grad(loss, engine=engine)(PARAMS, X, Y)


def test_an_engine_inside_of_itself_is_refused_and_serial_is_the_cure():
    engine = scale.serial()
    inner = scale.value_and_grad(loss, engine=engine, shards=2, compile=False)
    with pytest.raises(ArgumentError, match="in the middle of a pass"):
        scale.map(lambda x: inner(PARAMS, X, Y), [0], engine=engine)
    cured = scale.value_and_grad(loss, engine=scale.serial(), shards=2, compile=False)
    (found,) = scale.map(lambda x: cured(PARAMS, X, Y), [0], engine=engine)
    assert losses.bits(found) == losses.bits(inner(PARAMS, X, Y))


def test_an_engine_is_whole_after_an_error():
    engine = scale.serial()
    vg = scale.value_and_grad(loss, engine=engine, compile=False)
    with pytest.raises(scale.ScaleError):
        vg(PARAMS, X, Y + 3)
    assert vg(PARAMS, X, Y)


def test_a_report_adds_passes():
    vg = scale.value_and_grad(loss, shards=13, compile=False)
    assert "serial: 0 passes" in str(vg.report())
    vg(PARAMS, X, Y)
    vg(PARAMS, X, Y)
    report = vg.report()
    assert (report.passes, report.workers[0].shards, report.bytes) == (2, 26, 0)
    assert 0 < report.workers[0].computing <= report.seconds


def test_balance_and_stragglers():
    workers = (
        WorkerSpent("a", 8, 1.0, 2.0, 0.1),
        WorkerSpent("b", 8, 1.0, 2.0, 0.1),
        WorkerSpent("c", 8, 3.0, 0.0, 0.1),
        WorkerSpent("idle", 0, 0.0, 3.0, 0.1),
    )
    report = Report("dask").plus(Spent(3.1, 2_500_000, workers))
    assert report.stragglers == ("c",)
    assert report.balance == pytest.approx(5 / 4 / 3)
    assert str(report) == (
        "dask: 1 pass in 3.1 s, 2.5 MB moved, balance 0.42\n\n"
        "worker  shards  computing  waiting  communicating\n"
        "a            8    1.000 s  2.000 s        0.100 s\n"
        "b            8    1.000 s  2.000 s        0.100 s\n"
        "c            8    3.000 s  0.000 s        0.100 s\n"
        "idle         0    0.000 s  3.000 s        0.100 s\n\n"
        "stragglers, over 1.5 times the median for a shard: c"
    )


def test_a_failure_without_a_line_of_the_users():
    failure = failure_of(ValueError("odd"), 3, "shard 3 of 4", "worker 1")
    assert str(failure.error()) == "shard 3 of 4, on worker 1: ValueError: odd"
    assert failure.error().failure is failure

"""Worker processes of this machine (`remote.py`, `carry.py`): the same bits, and errors told."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from chainrule import scale
from chainrule.errors import ArgumentError
from tests.scale import losses
from tests.scale.conftest import LONGEST
from tests.scale.losses import PARAMS, X, Y, loss


def dies(p, x):
    os._exit(7)


class OddError(Exception):
    """Cannot be made again from its arguments, as many exceptions cannot."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def raises_odd(p, x):
    raise OddError("this", "that")


def nested(start):
    with scale.serial() as engine:
        return scale.value_and_grad(loss, engine=engine, shards=2, compile=False)(start, X, Y)


def test_the_same_bits_of_everything(processes, serial):
    assert losses.computed(processes) == serial


def test_closures_and_bound_arguments_travel(processes):
    weight = np.float64(2.5)

    def weighted(p, x):
        return np.mean(weight * (x @ p))

    vg = partial(scale.value_and_grad, shards=3, compile=False)
    for f in (weighted, partial(losses.wide, y=None), lambda p, x: np.mean(x @ p)):
        found = vg(f, engine=processes)(PARAMS["W"], X)
        assert losses.bits(found) == losses.bits(vg(f)(PARAMS["W"], X))


def test_what_a_closure_reads_may_change_between_passes(processes):
    weight = [1.0]
    vg = scale.value_and_grad(
        lambda p, x: np.mean(p * x) * weight[0], engine=processes, compile=False
    )
    first = vg(1.0, X[:, 0])[1]
    weight[0] = 4.0
    assert vg(1.0, X[:, 0])[1] == 4 * first


def test_mapped_files_travel_by_name(processes, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    vg = scale.value_and_grad(losses.wide, engine=processes, shards=4, compile=False)
    found = vg(PARAMS["W"], mapped, Y)
    before = vg.report().bytes
    assert losses.bits(vg(PARAMS["W"], X, Y)) == losses.bits(found)
    assert vg.report().bytes - before > before + X.nbytes / 2


def test_an_engine_in_a_worker(processes):
    (found,) = scale.map(nested, [PARAMS], engine=processes)
    assert losses.bits(found) == losses.bits(nested(PARAMS))


def test_errors_come_with_shard_and_line(processes):
    vg = partial(scale.value_and_grad, engine=processes, compile=False)
    with pytest.raises(
        scale.ScaleError, match=r"shard 170 of 203(.|\n)*losses.py:\d+ in raises_on"
    ):
        vg(losses.raises_on_large, shards=203)(PARAMS, X, Y)
    with pytest.raises(scale.ScaleError, match="shard 17 of 20, on process"):
        vg(loss)(PARAMS, scale.Shards(losses.load_but_17, 20))
    with pytest.raises(scale.ScaleError, match="OddError: this and that"):
        vg(raises_odd, shards=2)(1.0, X)
    with pytest.raises(scale.ScaleError, match=r"shard 5.*float64\(4,\)"):
        vg(loss)(PARAMS, scale.Shards(losses.load_other_columns, 20))
    with pytest.raises(scale.ScaleError, match=r"item 3, on process .* ValueError: three"):
        scale.map(losses.fails_on_three, range(9), engine=processes)
    with pytest.raises(scale.ScaleError, match="cannot travel"):
        scale.map(lambda x: threading.Lock(), [1], engine=processes)


def test_what_cannot_travel_is_an_error_with_a_cure(processes, monkeypatch):
    lock = threading.Lock()
    vg = scale.value_and_grad(lambda p, x: np.mean(p * x) if lock else 0, engine=processes)
    with pytest.raises(ArgumentError, match=r"the loss cannot travel .* inside of them"):
        vg(1.0, X[:, 0])
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.setattr("chainrule.scale.carry.find_spec", lambda name: None)
    vg = scale.value_and_grad(lambda p, x: np.mean(p * x), engine=processes)
    with pytest.raises(ArgumentError, match="pip install cloudpickle"):
        vg(1.0, X[:, 0])
    vg = scale.value_and_grad(losses.wide, engine=processes, shards=4, compile=False)
    found = losses.bits(vg(PARAMS["W"], X, Y))
    monkeypatch.undo()
    assert found == losses.bits(vg(PARAMS["W"], X, Y))


def test_a_worker_that_dies_is_told_and_replaced(serial):
    with scale.processes(1) as engine:
        with pytest.raises(scale.ScaleError, match="a worker process has died"):
            scale.value_and_grad(dies, engine=engine, compile=False)(1.0, X)
        assert losses.mean(engine) == serial["mean"]
    engine.close()


def test_a_program_that_does_not_guard_its_start_is_told(tmp_path, environment):
    script = tmp_path / "fit.py"
    script.write_text(
        "import numpy as np\nfrom chainrule import scale\n"
        "engine = scale.processes(1)\n"
        "print(scale.map(np.sin, [0.0], engine=engine))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 1
    assert "must start its engine below `if __name__ ==" in done.stderr


def test_an_interrupted_pass_leaves_the_engine_whole(processes, monkeypatch):
    vg = scale.value_and_grad(loss, engine=processes, shards=13, compile=False)
    expected = losses.bits(vg(PARAMS, X, Y))

    def interrupted(shares, began, sent):
        raise KeyboardInterrupt

    monkeypatch.setattr("chainrule.scale.on_processes.joined", interrupted)
    with pytest.raises(KeyboardInterrupt):
        vg(PARAMS, X, Y)
    monkeypatch.undo()
    assert losses.bits(vg(PARAMS, X, Y)) == expected


ORPHANS = """
import os, signal, sys, threading, time
from multiprocessing import active_children
from chainrule import scale

def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass

def main(how):
    engine = scale.processes(2)
    scale.map(abs, [1, 2, 3], engine=engine)
    if how == "in a pass":
        run = threading.Thread(target=lambda: scale.map(busy, [600] * 2, engine=engine))
        run.start()
    if how == "forked" and not os.fork():  # it holds all open that the parent holds
        time.sleep(600)
    # A worker that has something to compute, and one that waits for it.
    print(*(child.pid for child in active_children()), flush=True)
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    main(sys.argv[1])
"""


def is_running(pid):
    """Whether there is such a process; one that has ended and is not yet buried does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", ["idle", "in a pass", "forked"])
def test_workers_end_with_a_parent_that_is_killed(tmp_path, environment, how):
    script = tmp_path / "fit.py"
    script.write_text(ORPHANS)
    with subprocess.Popen(
        [sys.executable, str(script), how],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        try:
            workers = [int(pid) for pid in parent.stdout.readline().split()]
            assert parent.wait(timeout=LONGEST) == -signal.SIGKILL
            assert len(workers) == 2
            until = time.monotonic() + LONGEST
            while any(map(is_running, workers)):
                assert time.monotonic() < until, f"workers are left behind: {workers}"
                time.sleep(0.1)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.parametrize("count", [0, 1.5, "two"])
def test_a_bad_count(count):
    with pytest.raises(ArgumentError, match="at least 1"):
        scale.processes(count)

"""A run killed with SIGKILL at any moment and resumed ends with the bits of one never stopped."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("safetensors")
if not hasattr(signal, "SIGKILL"):
    pytest.skip("there is no SIGKILL", allow_module_level=True)

ROOT = Path(__file__).parents[2]
KINDS = ("batches", "list", "iterator")
CALLS = 2400  # of those that change files, in a whole run


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    cache = tmp_path_factory.mktemp("code")
    cache.chmod(0o700)
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "CHAINRULE_CACHE": str(cache),
        "OPENBLAS_NUM_THREADS": "1",
    }


class Runs:
    """Runs in processes of their own."""

    def __init__(self, environment):
        self.environment = environment

    def start(self, folder, kind, call=0):
        script = Path(__file__).with_name("killed_run.py")
        return subprocess.Popen(
            [sys.executable, "-W", "error", str(script), str(folder), kind, str(call)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def to_the_end(self, folder, kind):
        """What a run says that nobody kills, and how long training took."""
        process = self.start(folder, kind)
        ready, began = process.stdout.readline(), time.perf_counter()
        said, errors = process.communicate(timeout=100)
        assert (process.returncode, ready) == (0, "ready\n"), errors
        return said, time.perf_counter() - began

    def killed_in_call(self, folder, kind, call):
        """Kill a run in the middle of a call that changes files; False if it made fewer."""
        process = self.start(folder, kind, call)
        _, errors = process.communicate(timeout=100)
        assert process.returncode in (0, -signal.SIGKILL), errors
        return process.returncode != 0

    def killed_after(self, folder, kind, seconds):
        """Kill a run so many seconds after training has begun; False if it was over."""
        process = self.start(folder, kind)
        assert process.stdout.readline() == "ready\n"
        time.sleep(seconds)
        process.kill()
        _, errors = process.communicate(timeout=100)
        assert process.returncode in (0, -signal.SIGKILL), errors
        return process.returncode != 0


@pytest.fixture(scope="module")
def runs(environment):
    return Runs(environment)


@pytest.fixture(scope="module")
def whole(runs, tmp_path_factory):
    """The end of runs that were never stopped, and their time."""
    return {kind: runs.to_the_end(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


def kill_and_resume(runs, whole, folder, kind, kills, rng):
    """Kill one run so many times and let it end; how often it was killed before its end."""
    said, seconds = whole[kind]
    killed = 0
    for _ in range(kills):
        if rng.random() < 0.5:
            # Most of a run is left after the first kills, so that the calls are few.
            killed += runs.killed_in_call(folder, kind, rng.randint(1, CALLS // (kills + 1)))
        else:
            killed += runs.killed_after(folder, kind, rng.uniform(0, 2 * seconds / (kills + 1)))
    found, _ = runs.to_the_end(folder, kind)
    assert found == said, f"{kind}: not the bits of a run that was never stopped"
    return killed


def test_a_run_tells_its_bits(runs, whole, tmp_path):
    """The comparison can fail: another source of batches ends with other bits."""
    assert len({said for said, _ in whole.values()}) == len(KINDS)
    said, _ = runs.to_the_end(tmp_path, "batches")
    assert said == whole["batches"][0]
    again, _ = runs.to_the_end(tmp_path, "batches")  # nothing is left to do
    assert again == said


def test_killed_and_resumed(runs, whole, tmp_path):
    rng = random.Random(1)
    killed = sum(kill_and_resume(runs, whole, tmp_path / kind, kind, 2, rng) for kind in KINDS)
    assert killed >= 4


@pytest.mark.slow
def test_killed_fifty_times_and_resumed(runs, whole, tmp_path):
    rng, killed, folder = random.Random(0), 0, 0
    while killed < 50:
        folder += 1
        kind = KINDS[folder % len(KINDS)]
        killed += kill_and_resume(runs, whole, tmp_path / str(folder), kind, 5, rng)


@pytest.mark.slow
def test_killed_in_every_call_of_two_checkpoints(runs, whole, tmp_path):
    """From the fifth step on old checkpoints are removed too."""
    for call in range(70, 110):
        folder = tmp_path / str(call)
        assert runs.killed_in_call(folder, "batches", call)
        found, _ = runs.to_the_end(folder, "batches")
        assert found == whole["batches"][0]

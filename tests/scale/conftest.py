"""Engines that several tests share: worker processes, a Dask cluster, and `mpiexec`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chainrule import scale
from tests.scale import losses

ROOT = Path(__file__).parents[2]
LONGEST = (
    300  # seconds after which a job that should have ended is a hang, however busy the machine
)


def needs(name):
    """The package, which must be there in CI."""
    if os.environ.get("CI"):
        __import__(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def serial():
    """What every engine must give, to the bit."""
    with scale.serial() as engine:
        return losses.computed(engine)


@pytest.fixture(scope="session")
def processes():
    with scale.processes(2) as engine:
        yield engine


@pytest.fixture(scope="session")
def cluster():
    distributed = needs("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def client(cluster):
    distributed = needs("distributed")
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def environment():
    """That of a process which runs the code of this checkout."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture(scope="session")
def mpiexec(environment):
    """The command that starts ranks of a Python program; more of them than there are cores."""
    needs("mpi4py")
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        assert not os.environ.get("CI"), "mpiexec is not installed"
        pytest.skip("mpiexec is not installed")
    return found


@pytest.fixture(scope="session")
def ranks(mpiexec, environment):
    """Run a program of `mpi_programs.py` on so many ranks: what each has said, by rank."""

    def run(count, program, *args, status=0):
        script = Path(__file__).with_name("mpi_programs.py")
        done = subprocess.run(
            [mpiexec, "-n", str(count), sys.executable, str(script), program, *map(str, args)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert status in (None, done.returncode), done.stderr
        said = [json.loads(line[5:]) for line in done.stdout.splitlines() if line[:5] == "said "]
        return {each["rank"]: each["said"] for each in said}, done

    return run

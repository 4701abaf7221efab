"""`chainrule train --scale`, with real ranks and workers (`scaled.py`)."""

import subprocess
import sys

import pytest

from chainrule.cli.main import main
from tests.scale.conftest import (  # noqa: F401 - fixtures
    LONGEST,
    client,
    cluster,
    environment,
    mpiexec,
)

WORDS = ["train", "iris", "--model", "softmax", "--epochs", "2", "--batch", "60"]
pytest.importorskip("safetensors")


def written(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    assert main([*WORDS, "--quiet", "--scale", "processes:1", "--checkpoints", str(folder)]) == 0
    return written(folder)


@pytest.fixture
def on_ranks(mpiexec, environment):  # noqa: F811
    def run(count, *more):
        command = [mpiexec, "-n", str(count), sys.executable, "-m", "chainrule", *WORDS, *more]
        return subprocess.run(
            [*command, "--scale", "mpi"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    return run


def test_ranks_write_one_run_and_say_it_once(on_ranks, serial, tmp_path):
    done = on_ranks(2, "--checkpoints", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert written(tmp_path) == serial
    assert done.stdout.count("test accuracy") == 1
    assert done.stderr.count("epoch 2/2") == 1


def test_ranks_say_what_is_wrong_once(on_ranks, tmp_path):
    done = on_ranks(2, "--checkpoints", str(tmp_path / "a"), "--rate", "-1")
    assert done.returncode != 0
    assert done.stderr.count("a positive number") == 1
    assert "rank 0 of 2: chainrule: --rate -1.0: a positive number" in done.stderr


def test_a_dask_cluster_by_its_address(cluster, serial, tmp_path, capsys):  # noqa: F811
    address = cluster.scheduler_address
    words = [*WORDS, "--quiet", "--scale", f"dask:{address}", "--checkpoints", str(tmp_path)]
    assert main(words) == 0, capsys.readouterr().err
    assert written(tmp_path) == serial


@pytest.mark.parametrize("scale", ["many", "processes:0", "processes:x", "dask", "mpi:3", ""])
def test_an_engine_that_is_none(scale, capsys):
    assert main([*WORDS, "--scale", scale]) == 2
    assert "one of mpi (under mpiexec -n 4)" in capsys.readouterr().err

"""The commands of the pages about clusters, as far as one machine can run them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks_of
from tests.scale.conftest import LONGEST

PAGES = {
    name: ROOT / "docs" / "how-to" / name
    for name in ("on-a-cluster.md", "data-that-does-not-fit.md")
}
CLUSTER = ("#!/bin/bash", "pip install")  # needs Slurm, or changes what is installed


def scripts(name):
    """The shell blocks of a page."""
    lines = PAGES[name].read_text(encoding="utf-8").splitlines()
    return [block.text for block in blocks_of(lines) if block.language == "sh"]


def runnable():
    return [
        pytest.param(text, id=f"{name} {i}", marks=[pytest.mark.slow] * ("--resume" in text))
        for name in PAGES
        for i, text in enumerate(scripts(name))
        if not text.startswith(CLUSTER)
    ]


@pytest.mark.parametrize("text", runnable())
def test_a_block_runs_as_it_is(text, tmp_path, environment, mpiexec):
    """With `python`, `chainrule` and `mpiexec` those of these tests."""
    pytest.importorskip("safetensors")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, words in {
        "python": [sys.executable],
        "chainrule": [sys.executable, "-m", "chainrule"],
        "mpiexec": [mpiexec],
    }.items():
        path = commands / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        path.chmod(0o755)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=tmp_path,
        env={**environment, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if "fit.py" in text:
        assert done.stdout.startswith("True 0."), done.stdout
    else:
        assert "resumed" in done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_the_other_blocks_are_sound(name):
    for text in scripts(name):
        done = subprocess.run(["bash", "-n"], input=text, text=True, check=False)
        assert done.returncode == 0


def test_the_dask_command_is_one_of_the_command_line():
    """Its cluster is that of `tests/cli/test_scaled.py`."""
    (text,) = [text for text in scripts("on-a-cluster.md") if "dask scheduler" in text]
    words = shlex.split(text.splitlines()[-1])
    assert words[:3] == ["chainrule", "train", "digits"]
    assert Path(sys.executable).with_name("dask").exists()

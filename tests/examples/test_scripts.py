"""Every script in examples/ runs, in seconds, and is listed; most assert their own result."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
# What these find is looked at by test_learning.py, which runs them.
LEARNING = {
    "character_transformer",
    "gaussian_mixture",
    "single_hidden_layer",
    "softmax_classifier",
    "stochastic_gradient_descent",
}


def test_the_list_is_complete():
    listed = re.findall(
        r"^\| \[(\w+)\.py\]", (ROOT / "examples/README.md").read_text("utf-8"), re.M
    )
    assert sorted(listed) == [script.stem for script in SCRIPTS]
    assert set(listed) > LEARNING


def test_each_says_how_to_run_it():
    for script in SCRIPTS:
        if script.stem in LEARNING:
            assert f"\n    python examples/{script.name}" in script.read_text("utf-8")


@pytest.mark.parametrize(
    "script", [s for s in SCRIPTS if s.stem not in LEARNING], ids=lambda script: script.stem
)
def test_example_runs(script):
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout

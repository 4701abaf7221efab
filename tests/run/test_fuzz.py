"""The compiler survives odd programs and altered texts: LLVM ends a process rather than raise."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")


def survived(what: str, first: int, last: int) -> dict[str, int]:
    """What came of it in a process of its own, which must come to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.fuzz", what, str(first), str(last)],
        env={**os.environ, "CHAINRULE_CACHE": "off"},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    words = done.stdout.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def test_odd_programs():
    assert survived("programs", 0, 80)["agree"] > 100


def test_altered_texts():
    """Most are refused; some are still sound, so the alterations are not all alike."""
    seen = survived("texts", 0, 25)
    assert seen["refused"] > 100
    assert seen["compiled"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(80, 2080, 200))
def test_many_odd_programs(first):
    assert survived("programs", first, first + 200)["agree"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("first", range(25, 1025, 200))
def test_many_altered_texts(first):
    assert survived("texts", first, first + 200)["refused"] > 800

"""Colour in a terminal, plain text in a pipe, and who may say no."""

import os
import subprocess
import sys

import pytest

WORDS = [sys.executable, "-m", "chainrule", "grad", "(x + y) * z", "x=-2", "y=5", "z=-4"]


def in_terminal(*words, **environment):
    """What a command writes to a terminal of its own."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.Popen(
        [*WORDS, *words],
        stdout=theirs,
        stderr=theirs,
        env={**clean, "TERM": "xterm-256color", "COLUMNS": "200", **environment},
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # the other end is closed
        pass
    assert done.wait(60) == 0
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def test_colour_in_a_terminal():
    pytest.importorskip("rich")
    out = in_terminal()
    assert "\x1b[36m" in out, "values are cyan"
    assert "\x1b[33m" in out, "adjoints are yellow"


@pytest.mark.parametrize(
    ("words", "environment"),
    [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})],
)
def test_no_colour_where_somebody_says_no(words, environment):
    out = in_terminal(*words, **environment)
    assert "\x1b" not in out
    assert "f = (x + y) * z = -12" in out


def test_plain_in_a_pipe():
    done = subprocess.run(
        WORDS, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "f = (x + y) * z = -12" in done.stdout


def test_a_terminal_that_knows_no_greek_is_no_reason_to_fail():
    done = subprocess.run(
        WORDS,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\xd7" in done.stdout, "×, escaped"

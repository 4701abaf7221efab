"""The command, run in this process."""

from pathlib import Path

import pytest

from chainrule.cli import main
from tests.docs.pages import same

GOLDEN = Path(__file__).parent / "golden"
MODEL = """import numpy as np
import chainrule as cr


def loss(W, x, n=2, mode="sum"):
    y = np.tanh(W @ x)
    for _ in range(n - 1):
        y = y * y
    return getattr(np, mode)(y)


def layered(p, x):
    return np.sum(p["W"] @ x + p["b"])


class Scale(cr.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        x, factor = ctx.saved
        return g * factor, g * factor  # the second should be g * x


def wrong(x, factor):
    scaled = Scale.apply(np.sin(x), factor)
    return np.exp(scaled)


def failing(x):
    return x.no_such_thing


def shapes(A, x):
    return np.sum(A @ x)


def first(x, /, *, y):
    return x * y


def misspelt(x):
    return x * no_such_name
"""


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit status, what it said, what it complained of."""

    def run(*words):
        try:
            status = main(words)
        except SystemExit as stop:  # argparse
            status = stop.code
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def golden(run):
    """Hold what a command prints against a file, but for the last digits of numbers."""

    def golden(name, *words, status=0):
        found, out, err = run(*words)
        assert found == status, err
        path = GOLDEN / f"{name}.txt"
        if not path.exists():
            path.write_text(out + err, encoding="utf-8")
            pytest.fail(f"{path} written: look at it")
        assert same(path.read_text(encoding="utf-8"), out + err), out + err

    return golden


@pytest.fixture
def model(tmp_path):
    """A file of the user's with functions in it, right and wrong."""
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return str(path)

"""Programs whose graphs' texts are kept in `golden.txt`; `python -m tests.core.golden --update`.

Run it from the root of the checkout, with `PYTHONPATH=src` where chainrule is not installed, and
read the difference before committing it: the text is the one way a graph is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.core.text import graph_text

FILE = Path(__file__).with_name("golden.txt")

vector, matrix = np.array([1.0, 2.0, 3.0]), np.array([[2.0, 1.0], [1.0, 3.0]])
elsewhere = cr.variable(np.ones(3), name="elsewhere")
unnamed = cr.variable(2.0) * 3.0


def arithmetic(x, y):
    return (x * y + 2) / -x - y**2


def constants(x):
    x = x * 3 + 0.1 + np.float32(0.5) - np.int64(7)
    x = x + np.array([1.0, -0.0, np.nan]) + np.array([np.inf, 1e-300, 1 / 3])
    return np.sum(x * (1 + 2j) * np.arange(5.0)[:, None] * True)


def branches(x):
    taken = np.where(x > 1, np.sqrt(x), 0.0)
    return np.max(np.maximum(taken, x[0])) + np.sum(x, where=x > 0)


def attributes(x):
    a = np.sum(x, axis=(0, 1), keepdims=True) + np.mean(x, axis=-1)
    return (
        np.cumsum(a, axis=0, dtype=np.dtype("f4")),
        np.transpose(x, (1, 0)),
        np.roll(x, 1, axis=0),
    )


def indices(x):
    y = x[::-1], x[..., 1:], x[None, 0], x[-1, -1], x[[0, 1, 1]], x[x > 1], x[:, np.array([1, 0])]
    x = x * 1.0
    x[0] = y[3]
    x[[0, 1], 1:] += 1.0
    return (*y, x)


def several_results(A):
    values, vectors = np.linalg.eigh(A)
    return values[0] * vectors[1, 1]


def containers(params, scale):
    hidden = np.tanh(params["W"] @ params["layers"][0] + params["b"])
    return {"loss": np.sum(hidden) * scale, "hidden": [hidden]}


def captured(x):
    return np.sum(x * elsewhere) + unnamed


def unused(x, y, flag):
    return x * 2.0 if flag else y


def nothing_recorded(x):
    return 3.0, np.arange(6.0)


def narrow_and_complex(x, z):
    return np.sum(x * 2), np.abs(z * 1j), z.astype(np.complex64), x.astype(np.float64)


PROGRAMS: dict[Callable[..., Any], tuple[Any, ...]] = {
    arithmetic: (2.0, vector),
    constants: (vector,),
    branches: (vector,),
    attributes: (matrix,),
    indices: (matrix,),
    several_results: (matrix,),
    containers: ({"W": matrix, "b": np.ones(2), "layers": [np.ones(2)]}, 2.0),
    captured: (vector,),
    unused: (1.0, 2.0, True),
    nothing_recorded: (1.0,),
    narrow_and_complex: (vector.astype(np.float32), vector + 1j),
}


def graphs() -> dict[str, cr.Graph]:
    """Every program's graph, and one that was never a program."""
    with np.errstate(invalid="ignore"):
        found = {f.__name__: cr.trace(f, *args) for f, args in PROGRAMS.items()}
    dims, edges = {1: 1, 2: 1, 3: 1}, [(1, 3), (2, 3)]
    found["formal"] = cr.Graph.define(dims, edges, {3: lambda a, b: a * b})
    return found


def texts() -> dict[str, str]:
    """The text of every graph, without the source lines, which move."""
    return {name: graph_text(graph, lines=False) for name, graph in graphs().items()}


def golden() -> dict[str, str]:
    """The texts as they were kept, by name."""
    blocks = FILE.read_text(encoding="utf-8").split("\n\n")
    return dict(block.strip("\n").removeprefix("## ").split("\n", 1) for block in blocks)


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        raise SystemExit(__doc__)
    kept = "\n\n".join(f"## {name}\n{text}" for name, text in texts().items())
    FILE.write_text(kept + "\n", encoding="utf-8")

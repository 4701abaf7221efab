"""Graphs worth looking at, each as a run with its adjoints: those of examples/gallery.py, and more.

python -m tests.view.gallery FOLDER    writes a picture of each
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chainrule as cr
from chainrule.diff.run import Run, recorded_run
from examples.gallery import GALLERY, drawn, product_of_a_sum

__all__ = ["PROGRAMS", "product_of_a_sum", "ran"]


def lstm_step(W, U, b, x, h, c):
    gate = W @ x + U @ h + b
    i = cr.sigmoid(gate[0:3])
    f = cr.sigmoid(gate[3:6])
    o = cr.sigmoid(gate[6:9])
    g = np.tanh(gate[9:12])
    cell = f * c + i * g
    out = o * np.tanh(cell)
    return np.sum(out**2)


def trouble(x, y):
    r = np.sqrt(x)
    s = np.log(y)
    return r * s + np.floor(x) + np.maximum(x, 0.0)


PROGRAMS: dict[str, tuple[Callable[..., object], tuple[object, ...]]] = {
    **{name: (exhibit.function, exhibit.arguments) for name, exhibit in GALLERY.items()},
    "lstm-step": (lstm_step, (drawn(12, 2), drawn(12, 3), drawn(12), drawn(2), drawn(3), drawn(3))),
    "trouble": (trouble, (0.0, 2.0)),
}


def ran(name: str) -> Run:
    """One of the programs, run forward and backward."""
    function, arguments = PROGRAMS[name]
    with np.errstate(all="ignore"):
        return recorded_run(function, *arguments).backward()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for program in PROGRAMS:
        (folder / f"{program}.svg").write_text(ran(program).to_svg(), encoding="utf-8")
    (folder / "dark.svg").write_text(ran("two-ways").to_svg(theme="dark"), encoding="utf-8")
    for program in ("transformer", "convolution", "lstm"):
        for level in ("function", "line"):
            picture = ran(program).to_svg(level=level)
            (folder / f"{program}-{level}.svg").write_text(picture, encoding="utf-8")

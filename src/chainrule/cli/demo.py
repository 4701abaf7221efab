"""`chainrule demo`: the tour that `make demo` shows."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.cli.output import gradients_json, show_json, show_text

EXAMPLE = "chainrule demo"
POINT = (1.2, 0.3, 0.8)


def density(x: Any, mu: Any, sigma: Any) -> Any:
    """Log-density of a normal distribution, in plain NumPy."""
    z = (x - mu) / sigma
    return -0.5 * z**2 - np.log(sigma)


def add(parser: argparse.ArgumentParser) -> None:
    """Where to draw, if a network shall learn too."""
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="also train a network on the digits, and draw its curve and a graph there",
    )


def run(options: argparse.Namespace) -> int:
    from chainrule.diff.gradient import grad

    gradient = grad(density, (1, 2))(*POINT)
    if options.json:
        show_json(
            {
                "function": inspect.getsource(density),
                "point": dict(zip(("x", "mu", "sigma"), POINT, strict=True)),
                "gradient": gradients_json(("mu", "sigma"), gradient),
            }
        )
        return 0
    for part in _parts(gradient):
        show_text(options, part)
    if options.out is not None:
        from chainrule.cli.demo_training import training_parts

        for part in training_parts(options.out):
            show_text(options, part)
    show_text(options, '\nNext: chainrule grad "(x + y) * z" x=-2 y=5 z=-4\n')
    return 0


def _parts(gradient: Any) -> Iterator[str]:
    """A gradient of NumPy code, its graph with values and adjoints, a check."""
    from chainrule.explain.check import check_grads
    from chainrule.record.trace import trace
    from chainrule.view.table import table_text

    source = inspect.getsource(density).strip()
    yield "A function in plain NumPy:\n"
    yield "\n".join(f"    {line}" for line in source.splitlines())
    yield f"\nIts gradient with respect to mu and sigma at {POINT}:\n"
    g_mu, g_sigma = gradient
    yield f"    cr.grad(density, (1, 2))(1.2, 0.3, 0.8)  =  ({g_mu:.6f}, {g_sigma:.6f})"
    yield "\nThe same, node by node:\n"
    graph = trace(density, *POINT)
    yield table_text(graph.forward(*POINT).backward())
    yield "\nAnd checked:\n"
    yield f"    {check_grads(density, *POINT)}"

"""What the commands print: a gradient with its graph, and the tour that `make demo` shows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chainrule.diff.gradient import grad
from chainrule.errors import DerivativeError, ShapeError
from chainrule.explain.check import check_grads
from chainrule.record.trace import trace
from chainrule.view.table import table_text
from chainrule.view.values import shown


def gradient_report(f: Callable[..., Any], formula: str, values: Sequence[Any]) -> str:
    """Value, table of values and adjoints, and how well it agrees with central differences."""
    with np.errstate(all="ignore"):  # an infinity or a NaN is there to be seen
        graph = trace(f, *values)
        run = graph.forward(*values)
        out = run.value(graph.outputs[0])
    if len(graph.outputs) != 1 or np.shape(out) != ():
        raise ShapeError(
            f"{formula} has the shape {np.shape(out)}; a gradient needs one number, so take "
            "its sum(…)"
        )
    if out.dtype.kind != "f":
        raise DerivativeError(f"{formula} is of type {out.dtype.name} and has no derivative")
    with np.errstate(all="ignore"):
        check = check_grads(f, *values)
        table = table_text(run.backward())
    return "\n".join(
        [
            "",
            f"  f = {formula} = {shown(out)}",
            "",
            table,
            "",
            f"  checked against central differences: largest difference {check.largest:.0e}"
            f"{check.notes}",
            "",
        ]
    )


def density(x: Any, mu: Any, sigma: Any) -> Any:
    """Log-density of a normal distribution, in plain NumPy."""
    z = (x - mu) / sigma
    return -0.5 * z**2 - np.log(sigma)


def demo_report() -> Iterator[str]:
    """A gradient of NumPy code, its graph with values and adjoints, a check, a wrong rule found."""
    point = (1.2, 0.3, 0.8)
    source = inspect.getsource(density).strip()
    yield "A function in plain NumPy:\n"
    yield "\n".join(f"    {line}" for line in source.splitlines())
    yield f"\nIts gradient with respect to mu and sigma at {point}:\n"
    g_mu, g_sigma = grad(density, (1, 2))(*point)
    yield f"    cr.grad(density, (1, 2))(1.2, 0.3, 0.8)  =  ({g_mu:.6f}, {g_sigma:.6f})"
    yield "\nThe same, node by node:\n"
    graph = trace(density, *point)
    yield table_text(graph.forward(*point).backward())
    yield "\nAnd checked:\n"
    yield f"    {check_grads(density, *point)}"
    yield '\nNext: chainrule grad "(x + y) * z" x=-2 y=5 z=-4\n'

"""A call of SciPy's and the same on Variables: one value, and derivatives that differences give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import chainrule as cr


@dataclass(frozen=True, eq=False)
class Case:
    """`call(module, *args)` returns an array, or a container of them; all `args` are arrays."""

    name: str
    call: Callable[..., Any]
    args: tuple[np.ndarray, ...]
    order: int = 2

    def __str__(self) -> str:
        return self.name


def case(name: str, call: Callable[..., Any], *args: Any, order: int = 2) -> Case:
    return Case(name, call, tuple(np.asarray(a) for a in args), order)


def weighted(found: Any) -> Any:
    """A smooth number that depends on every number of a result."""
    total = 0.0
    for k, leaf in enumerate(cr.tree.flatten(found)[0]):
        leaf = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
        if leaf.dtype.kind not in "fc":
            continue
        weights = np.cos(np.arange(np.size(leaf)) + k).reshape(np.shape(leaf))
        parts = (leaf,) if leaf.dtype.kind == "f" else (np.real(leaf), np.imag(leaf))
        for part in parts:
            total = total + np.sum(weights * part) + 0.1 * np.sum(part * part)
    return total


def agrees(module: str, a: Case) -> None:
    """The value on Variables is SciPy's, and the derivative is that of differences."""
    theirs, ours = import_module(f"scipy.{module}"), import_module(f"chainrule.scipy.{module}")
    expected = a.call(theirs, *a.args)
    again = a.call(ours, *a.args)
    for x, y in zip(cr.tree.flatten(expected)[0], cr.tree.flatten(again)[0], strict=True):
        np.testing.assert_array_equal(x, y)  # of plain arrays it is SciPy's own result
    recorded = a.call(ours, *[cr.variable(x) for x in a.args])
    found = [getattr(v, "value", v) for v in cr.tree.flatten(recorded)[0]]
    for x, y in zip(cr.tree.flatten(expected)[0], found, strict=True):
        assert np.shape(x) == np.shape(y), (np.shape(x), np.shape(y))
        np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-11)
    differentiates(lambda *args: weighted(a.call(ours, *args)), a.args, a.order)


def differentiates(f: Callable[..., Any], args: tuple[np.ndarray, ...], order: int = 2) -> None:
    """Gradient, forward mode and the second derivative against central differences, along a line.

    `cr.check_grads` looks at every edge of the graph, and takes a second for what this does in ten
    milliseconds.
    """
    rng = np.random.default_rng(1)
    along = [rng.normal(size=x.shape) for x in args]
    gradient = cr.grad(f, argnums=tuple(range(len(args))))
    slope = sum(np.sum(g * v) for g, v in zip(gradient(*args), along, strict=True))
    np.testing.assert_allclose(slope, difference(f, args, along), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(cr.jvp(f, args, tuple(along))[1], slope, rtol=1e-9, atol=1e-11)
    if order > 1:
        product = cr.hvp(f, tuple(args), tuple(along))
        product = product if isinstance(product, tuple) else (product,)
        for k, found in enumerate(product):
            moved = difference(lambda *x, k=k: gradient(*x)[k], args, along)
            np.testing.assert_allclose(found, moved, rtol=1e-5, atol=1e-6)


def difference(f: Callable[..., Any], args: Any, along: Any, step: float = 2e-4) -> Any:
    """The derivative along a line by central differences of fourth order."""

    def at(t: float) -> Any:
        return f(*(x + t * v for x, v in zip(args, along, strict=True)))

    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)

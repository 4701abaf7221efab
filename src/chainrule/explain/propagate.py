"""`cr.propagate`: what the uncertainty of the inputs makes of a result, and where it comes from.

To first order the covariance of f(x) is J Σ Jᵀ, where J is the Jacobian of f and Σ the covariance
of x.  The variance of one result is the sum over the inputs of J_i (Σ Jᵀ)_i: each term, over the
sum, is the share of that input.  Shares add up to 1; where inputs are correlated one may be
negative.  The use of an input at a source line carries its part of the same sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Node
from chainrule.diff.implicit import Layout
from chainrule.diff.run import Run, recorded_run
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.record.variable import Variable

SYMMETRY = 1e-8  # relative


@dataclass(frozen=True)
class Shares:
    """Parts of the variance, by input and by source line, of a number or of each of an array."""

    inputs: dict[str, Any]
    lines: dict[str, Any]


@dataclass(frozen=True)
class Propagated:
    """A result with its uncertainty: `cov` of all its numbers, in their order one after the other.

    `value` and `std` are built as the function's result is.
    """

    value: Any
    cov: Any
    std: Any
    shares: Shares

    __str__ = lazy_method("chainrule.view.propagated", "text")
    __repr__ = lazy_method("chainrule.view.propagated", "text")
    _repr_html_ = lazy_method("chainrule.view.propagated", "html")


def propagate(f: Callable[..., Any], x: Any, cov: Any) -> Propagated:
    """f(x), with the covariance that `cov`, the covariance of x, gives it to first order.

    x is a number, an array or a nested container; `cov` is a matrix over all its numbers, in their
    order, or one variance where x is one number.  A fit can be passed on as it is:
    `cr.propagate(f, *curve_fit(...))`.

    >>> area = cr.propagate(lambda x: x[0] * x[1], [2.0, 3.0], [[0.01, 0.0], [0.0, 0.04]])
    >>> print(area.value, round(float(area.std), 3))
    6.0 0.5
    """
    x, cov = _floats(x), _number(cov)
    inputs = Layout(x, "cr.propagate: x")
    covariance = _checked(cov, inputs.vector.size)
    run = recorded_run(f, x)
    leaves = [leaf for leaf in run.graph.leaves if leaf not in run.graph.captured]
    result = Layout(run.outputs, "cr.propagate: the result")
    count = result.vector.size
    slopes, uses = np.zeros((count, covariance.shape[0])), []
    for k in range(count):
        seed = np.zeros(count)
        seed[k] = 1.0
        run.backward(_seed(result, seed))
        slopes[k] = np.concatenate([np.ravel(run.adjoint(leaf)) for leaf in leaves])
        uses.append(_uses(run, leaves, covariance @ slopes[k]))
    carried = slopes @ covariance
    variances = np.einsum("ki,ki->k", carried, slopes)
    if np.any(variances < -SYMMETRY * np.abs(carried * slopes).sum(axis=1)):
        raise ArgumentError("cr.propagate: `cov` is no covariance: it gives a negative variance")
    variances = np.maximum(variances, 0.0)
    parts = np.divide(
        carried * slopes, variances[:, None], out=np.zeros_like(slopes),
        where=variances[:, None] > 0,
    )  # fmt: skip
    names = [name for leaf in leaves for name in _names(leaf)]
    shaped = [_like_result(result, column) for column in parts.T]
    by_line: dict[str, np.ndarray[Any, Any]] = {}
    for k, found in enumerate(uses):
        for line, amount in found.items():
            share = by_line.setdefault(line, np.zeros(count))
            share[k] = amount / variances[k] if variances[k] > 0 else 0.0
    lines = sorted(by_line.items(), key=lambda each: -float(np.abs(each[1]).max(initial=0.0)))
    whole = carried @ slopes.T
    return Propagated(
        value=result.unpacked(result.vector),
        cov=whole if np.shape(run.outputs) or count != 1 else whole[0, 0],
        std=result.unpacked(np.sqrt(variances)),
        shares=Shares(
            dict(zip(names, shaped, strict=True)),
            {line: _like_result(result, share) for line, share in lines},
        ),
    )


def _floats(x: Any) -> Any:
    """Every number of x as float64, values of Variables among them."""
    leaves, structure = flatten(x)
    if structure.count and all(isinstance(v, (int, float)) for v in leaves) and isinstance(x, list):
        return np.array(x, np.float64)
    return structure.unflatten([np.asarray(_number(v), np.float64)[()] for v in leaves])


def _number(value: Any) -> Any:
    return value.value if isinstance(value, Variable) else value


def _checked(cov: Any, count: int) -> np.ndarray[Any, Any]:
    """The covariance as a symmetric matrix over `count` numbers."""
    matrix = np.asarray(cov)
    if matrix.dtype.kind not in "fiu":
        raise DTypeError(f"cr.propagate: `cov` holds {matrix.dtype.name}, not real numbers")
    if matrix.shape == () and count == 1:
        matrix = matrix.reshape(1, 1)
    if matrix.shape != (count, count):
        raise ShapeError(
            f"cr.propagate: `cov` has shape {matrix.shape}; x has {count} numbers, so it must be "
            f"({count}, {count}).\n  Of independent inputs it is np.diag(std**2)."
        )
    if not np.all(np.isfinite(matrix)):
        raise ArgumentError(
            "cr.propagate: `cov` is not finite; a fit that could not estimate its covariance says "
            "so by infinities"
        )
    if np.any(np.abs(matrix - matrix.T) > SYMMETRY * np.abs(matrix).max(initial=0.0)):
        raise ArgumentError("cr.propagate: `cov` is not symmetric, so it is no covariance")
    return matrix.astype(np.float64)


def _seed(result: Layout, vector: np.ndarray[Any, Any]) -> Any:
    """One adjoint for each number of the result, as a run takes it."""
    parts = flatten(result.unpacked(vector))[0]
    return parts[0] if len(parts) == 1 else result.structure.unflatten(parts)


def _uses(run: Run, leaves: list[Node], along: np.ndarray[Any, Any]) -> dict[str, float]:
    """By source line, how much of the variance the uses of the inputs there carry."""
    found: dict[str, float] = {}
    start = 0
    for leaf in leaves:
        direction = along[start : start + leaf.size].reshape(leaf.shape)
        start += leaf.size
        for child in run.graph.children(leaf):
            amount = float(np.sum(run.contribution(leaf, child) * direction))
            line = str(child.line) if child.line else child.op.name
            text = getattr(child.line, "text", "")
            label = f"{line}  {text}" if text else line
            found[label] = found.get(label, 0.0) + amount
    return found


def _names(leaf: Node) -> list[str]:
    """A name for each number of a leaf."""
    if leaf.shape == ():
        return [str(leaf.name)]
    return [f"{leaf.name}[{', '.join(map(str, i))}]" for i in np.ndindex(leaf.shape)]


def _like_result(result: Layout, share: np.ndarray[Any, Any]) -> Any:
    """A share for each number of the result: one number, or an array of the result's shape."""
    if len(result.arrays) == 1:
        shape = result.arrays[0].shape
        return share.reshape(shape) if shape else float(share[0])
    return share

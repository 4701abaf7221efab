"""Relative condition numbers: by how much an op, and its derivative, enlarge relative errors.

The condition number of a lane y is Σ |x| |∂y/∂x| / |y| over all entries x it was computed from: a
relative error ε in each becomes at most κ ε in y.  For a sum it tells how much its terms cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.op import ZERO, Linear, Multilinear, Partials
from chainrule.core.parts import OBJECT
from chainrule.core.replay import computed
from chainrule.diff.call import unit
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.reverse import contributions, fit
from chainrule.diff.run import Run
from chainrule.errors import DerivativeError

LANES = 32  # of a large result that is no lane-wise op: the smallest, and others evenly spread

Found = tuple[float, tuple[int, ...]]


def condition_number(run: Run, node: Node) -> Found | None:
    """The largest condition number of this op's lanes, and where; None where there is none."""
    if node.is_leaf or node.dtype == OBJECT or node.dtype.kind not in "fc" or not node.parents:
        return None
    assert node.args is not None  # a node of a run is traced
    inputs = [run.value(node.args[i]) for i in node.rule.positions]
    out = np.asarray(run.value(node))
    if out.size == 0 or any(isinstance(v, tuple) for v in inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            return _condition(run, node, inputs, out)
    except DerivativeError:  # of an input for which nobody has written it
        return None


def _condition(run: Run, node: Node, inputs: Sequence[Any], out: Any) -> Found:
    if node.rule.elementwise:
        return _largest(_lane_wise(run, node, inputs), out)
    total = _selected(node, inputs)
    if total is not None and np.shape(total) == out.shape:
        return _largest(total, out)
    return _lane_by_lane(run, node, inputs, out)


def _lane_wise(run: Run, node: Node, inputs: Sequence[Any]) -> Any:
    """Σ |x| |∂y/∂x| of every lane at once."""
    parts = contributions(np.ones(node.shape, node.dtype)[()], run.bound(node))
    terms = [
        np.abs(x) * np.abs(unmasked(c)) for x, c in zip(inputs, parts, strict=True) if c is not None
    ]
    return np.broadcast_to(sum(terms), node.shape)


def _selected(node: Node, inputs: Sequence[Any]) -> Any:
    """For an op that copies or adds: the op of the sizes.  None where that does not hold."""
    derivative = node.op.derivative
    if not (isinstance(derivative, Linear) and node.op.depends.copies):
        return None
    if len(node.rule.positions) != sum(t is not None for t in derivative.transposes):
        return None
    args = list(node.args or ())
    if any(isinstance(a, Node) and i not in node.rule.positions for i, a in enumerate(args)):
        return None
    for i, x in zip(node.rule.positions, inputs, strict=True):
        args[i] = np.abs(x)
    return computed(node, args)


def _lane_by_lane(run: Run, node: Node, inputs: Sequence[Any], out: Any) -> Found:
    bound, best = run.bound(node), (0.0, (0,) * out.ndim)
    for k in chosen_lanes(out):
        total = 0.0
        parts = contributions(unit(node.shape, node.dtype, int(k)), bound)
        for x, parent, c in zip(inputs, node.parents, parts, strict=True):
            if c is not None:
                total += float(np.sum(np.abs(x) * np.abs(unmasked(fit(c, parent)))))
        ratio = _ratio(total, float(np.abs(out.reshape(-1)[k])))
        if ratio > best[0]:
            best = ratio, tuple(int(i) for i in np.unravel_index(int(k), out.shape))
    return best


def chosen_lanes(out: Any) -> Any:
    """All lanes of a small result; of a large one the smallest, where terms cancel, and others."""
    if out.size <= LANES:
        return range(out.size)
    smallest = np.argsort(np.abs(out).reshape(-1))[: LANES // 2]
    spread = np.linspace(0, out.size - 1, LANES // 2).astype(int)
    return np.unique(np.concatenate([smallest, spread]))


def _ratio(total: float, size: float) -> float:
    if not total > 0:  # nothing to enlarge, or not a number
        return 0.0
    return total / size if size else np.inf


def _largest(total: Any, out: Any) -> Found:
    total, size = np.asarray(total, float), np.abs(out).astype(float)
    ratio = np.where(total > 0, total / size, 0.0)
    ratio = np.where(np.isnan(ratio), 0.0, ratio)
    lane = np.unravel_index(int(ratio.argmax()), ratio.shape)
    return float(ratio[lane]), tuple(int(i) for i in lane)


def adds(node: Node) -> bool:
    """Whether the op adds, subtracts or multiplies and adds, so that its terms can cancel."""
    derivative = node.op.derivative
    if isinstance(derivative, Partials):
        factors = [f for f in derivative.factors if f is not None]
        return len(factors) > 1 and all(isinstance(f, int) for f in factors)
    return isinstance(derivative, (Linear, Multilinear))


# -- of the derivative ----------------------------------------------------------------------------


def derivative_condition(run: Run, node: Node) -> float | None:
    """By how much this op's local derivative enlarges relative errors of the op's inputs.

    |x f″(x) / f′(x)| for a function of one number; lane by lane for lane-wise ops, else in norm,
    along the inputs.  0 where the derivative is constant; None where it is not known.
    """
    if node.is_leaf or node.dtype == OBJECT or node.dtype.kind not in "fc" or not node.parents:
        return None
    derivative = node.op.derivative
    if derivative is ZERO or isinstance(derivative, Linear):
        return 0.0
    if isinstance(derivative, Multilinear):
        return float(len(node.parents) - 1)
    try:
        with np.errstate(all="ignore"):
            return _bent(run, node)
    except Exception:  # noqa: BLE001 - no second derivative, for whatever reason
        return None


def _bent(run: Run, node: Node) -> float:
    lane_wise, positions = node.rule.elementwise, node.rule.positions
    args = [run.value(a) if isinstance(a, Node) else a for a in node.args or ()]
    if lane_wise:
        args = [np.broadcast_to(a, node.shape).copy() if np.ndim(a) else a for a in args]
    shape = np.shape(run.value(node))
    xs = tuple(np.broadcast_to(args[i], shape).copy() if lane_wise else args[i] for i in positions)

    def slopes(*given: Any) -> Any:
        def op(*moved: Any) -> Any:
            filled = list(args)
            for i, x in zip(positions, moved, strict=True):
                filled[i] = x
            return node.op(*filled, **node.attrs)

        return vjp(op, *given)[1](np.ones(shape, node.dtype))

    totals: list[Any] = [0.0] * len(xs)
    base: Any = ()
    for j in range(len(xs)):
        tangents = tuple(x if k == j else np.zeros_like(x) for k, x in enumerate(xs))
        base, moved = jvp(slopes, xs, tangents)
        for i, m in enumerate(moved):
            totals[i] = totals[i] + (np.abs(m) if lane_wise else np.linalg.norm(m))
    sizes = [np.abs(b) if lane_wise else np.linalg.norm(b) for b in base]
    return max(
        _largest(np.asarray(t), np.asarray(s))[0] for t, s in zip(totals, sizes, strict=True)
    )

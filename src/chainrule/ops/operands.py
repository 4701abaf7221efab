"""What of an operand is used where only some lanes of the result are alive.

`np.where(known, X @ w, 0)` with NaN in the unknown rows of X: the rows are never used, so they must
not reach the gradient of w.  The reverse rule of a product multiplies them by zeros and would make
NaN of that, so the walk hands it `alive_operand(X, alive)` instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, lifted
from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.op import OPS, Op, Sample, sample
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec, broadcast_shapes, dummy
from chainrule.ops.define import linear
from chainrule.ops.samples import draw

Shapes = tuple[tuple[int, ...], ...]
Settings = tuple[tuple[str, Any], ...]


def used_entries(alive: Any, of: str, position: int, shapes: Shapes, settings: Settings) -> Any:
    """Which entries of an operand some alive lane of the result reads.

    It is asked of the op itself, with every operand replaced by ones: a batch of operands may
    answer where one was given.
    """
    rule = rule_for(OPS[of], tuple(i == position for i in range(len(shapes))))
    ones = [dummy(Spec(shape, np.dtype(np.float64))) for shape in shapes]
    parent = Spec(shapes[position], np.dtype(np.float64))
    kept = rule.keep(*ones, None)
    node = Node(rule, (parent,), kept, dict(settings), alive.shape, parent.dtype)
    (reached,) = rule.pull(alive.astype(np.float64), node)
    return np.not_equal(unmasked(reached), 0)


def _alive(
    x: Any,
    alive: Any,
    of: str,
    position: int,
    shapes: Shapes,
    settings: Settings,
    shape: tuple[int, ...],
) -> Any:
    """Where all is finite nothing is asked: a zero times it is zero."""
    if np.isfinite(x).all():
        return np.broadcast_to(x, shape)
    used = used_entries(alive, of, position, shapes, settings)
    return np.broadcast_to(np.where(used, x, np.zeros((), x.dtype)), shape)


def alive_shape(x: Any, alive: Any, **where: Any) -> tuple[int, ...]:
    """The shape of the result, a batch where the operand is used differently by its members."""
    used = used_entries(np.ones(alive.shape, bool), **where)
    return broadcast_shapes([np.shape(x), used.shape])


def _samples() -> list[Sample]:
    found = []
    for shapes in (((2, 3), (3, 2)), ((2, 3), (4, 3, 2))):
        alive = np.full((*shapes[1][:-2], 2, 2), True)
        alive[..., 0, :] = False
        for position, shape in enumerate(shapes):
            x = draw(shape, -2, 2)
            at = {"of": "matmul", "position": position, "shapes": shapes, "settings": ()}
            found.append(sample(x, alive, **at, shape=alive_shape(x, alive, **at)))
    return found


def _by_lanes(call: BatchCall) -> Any:
    """Which entries are read is asked once, unless other lanes of the result are alive in each."""
    if call.on(1):
        return None
    shape = call.attrs["shape"]
    x = lifted(call.raw(0), len(shape))
    return call.call(x, call.raw(1), shape=(call.count, *shape))


alive_operand: Op = linear(
    "alive_operand",
    _alive,
    (
        lambda g, alive, of, position, shapes, settings, shape: alive_operand(
            g, alive, of, position, shapes, settings, shape
        ),
        None,
    ),
    inputs=("x", "alive"),
    samples=_samples,
    spec=lambda x, alive, of, position, shapes, settings, shape: Spec(shape, x.dtype),
    doc="An operand of the op `of`, with zeros for what is not finite and no alive lane reads.",
    batch=_by_lanes,
)

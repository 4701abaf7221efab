"""`y.backward()`: the gradient of one Variable, added up on the leaves below it."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.loop import refuse_leaked
from chainrule.core.masked import unmasked
from chainrule.core.node import Leaf
from chainrule.core.order import order_above
from chainrule.diff.history import reverse_or_record
from chainrule.diff.reverse import own
from chainrule.errors import DerivativeError, ShapeError
from chainrule.record.state import current
from chainrule.record.variable import Variable


def backward(self: Variable, seed: Any = None) -> None:
    """Add ∂self/∂leaf to `.grad` of every leaf this value depends on; calls add up.

    A value with several elements needs a `seed`, the adjoint to start from, of its own shape.
    """
    if current.get().tracing is not None or current.get().inside:
        raise DerivativeError(
            "backward() inside a function that is being recorded or differentiated: .grad would be "
            "a plain\n  array, in which nothing shows what it was computed from.  "
            "cr.grad(f)(x) is recorded, and may stand inside."
        )
    start = seed_for(self, seed)
    order = order_above([self.node])
    refuse_leaked(order)
    with np.errstate(all="ignore"):
        debug = current.get().debug
        try:
            adjoints = reverse_or_record(order, {self.node: start})
        except ValueError:  # LAPACK refuses a NaN
            if debug is not None:
                debug.leaves(self, order, start, None)
            raise
        if debug is not None:
            debug.leaves(self, order, start, adjoints)
        for node, adjoint in adjoints.items():
            if isinstance(node, Leaf):
                g = unmasked(adjoint)
                node.grad = own(g) if node.grad is None else node.grad + g


def seed_for(y: Variable, seed: Any) -> Any:
    """The adjoint of `y` to start from: 1 for a scalar, else what the caller gives."""
    if y.dtype.kind not in "fc":
        raise DerivativeError(f"a {y.dtype.name} value has no derivative")
    if seed is None:
        if y.shape != ():
            raise ShapeError(
                f"backward of a value of shape {y.shape} needs a seed of that shape: the gradient\n"
                "  of which combination of its elements? y.sum().backward() takes their sum."
            )
        return y.dtype.type(1)
    seed = np.asarray(seed.value if isinstance(seed, Variable) else seed, y.dtype)
    if seed.shape != y.shape:
        raise ShapeError(f"the seed has shape {seed.shape}, the value {y.shape}")
    return seed[()]

"""What is computed from constants alone is computed once, while compiling.

A constant that is one number in every lane stays one number: an op that works lane by lane is
computed on it, and the result is that number seen in a larger shape.  Nothing is made that is much
larger than what it is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.core.replay import computed
from chainrule.core.spec import Spec
from chainrule.optimise.rewrite import ARRAY, Rewrite, Sweep, is_elementwise, is_ours

MAX_FOLDED_BYTES = 2**16  # bytes: what is no larger may be made of anything


def _folded(sweep: Sweep, node: Node) -> Node | None:
    """A leaf of known value in place of a node that only reads such."""
    args = node.args or ()
    for argument in args:
        if isinstance(argument, Node) and argument not in sweep.constants:
            return None
    op = node.op
    if not args or node.dtype == OBJECT or not is_ours(op):
        return None
    values = [sweep.constants[a] if isinstance(a, Node) else a for a in args]
    numbers = [sweep.number(a) for a in args]
    if all(n is not None for n in numbers) and (is_elementwise(op) or op.view):
        one = _lane(node, numbers) if is_elementwise(op) else np.asarray(numbers[0])
        if one is not None and one.dtype == node.dtype:
            return sweep.constant(np.broadcast_to(one, node.shape))
    size = sum(np.asarray(v).nbytes for v in values)
    if node.size * node.dtype.itemsize > max(size, MAX_FOLDED_BYTES):
        return None
    value = _computed(node, values)
    return None if value is None else sweep.constant(value)


def _lane(node: Node, numbers: list[Any]) -> np.ndarray | None:
    """One lane of the result; NumPy rounds a power of an array otherwise than that of a number."""
    if not node.ndim:
        return _computed(node, numbers, ())
    lanes = [n.reshape(1) if isinstance(n, np.generic) else n for n in numbers]
    lane = _computed(node, lanes, (1,))
    return None if lane is None else lane[0]


def _computed(node: Node, values: list[Any], shape: Any = None) -> np.ndarray | None:
    """The op's own result; None where it raises, which is then for the call to do."""
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(computed(node, values))
    except Exception:  # noqa: BLE001 - whatever it is, it names the user's line when it is run
        return None
    expected = Spec(node.shape if shape is None else shape, node.dtype)
    return value if Spec.of(value) == expected else None


FOLD = Rewrite("constant", "f(constants) is a constant", (), (ARRAY,), _folded)

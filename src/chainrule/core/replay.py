"""A graph evaluated again: the one loop in which nodes turn known values into further ones.

What a node makes of its arguments is `apply(node, args)`: NumPy's result by default; or that of
wider numbers, of Variables, of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from chainrule.core.node import Node
from chainrule.errors import ArgumentError, ChainruleError

Values = dict[Node, Any]
Apply = Callable[[Node, Sequence[Any]], Any]


class Operation(Protocol):
    """What is computed, wherever it stands: a node, or a step of a compiled program."""

    @property
    def op(self) -> Any: ...

    @property
    def attrs(self) -> Mapping[str, Any]: ...

    @property
    def line(self) -> Any: ...


def forwarded(op: Any, args: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """What an op makes of these arguments: an array or number of NumPy's, or a tuple."""
    out = op.forward(*args, **attrs)
    return out if isinstance(out, tuple) or hasattr(out, "dtype") else np.asarray(out)[()]


def computed(node: Operation, args: Sequence[Any]) -> Any:
    """What the node's op makes of these arguments."""
    return forwarded(node.op, args, node.attrs)


def evaluated(node: Operation, args: Sequence[Any]) -> Any:
    """As `computed`; an error is ours, and has the user's line."""
    try:
        return computed(node, args)
    except ChainruleError:
        raise
    except Exception as error:  # whatever NumPy raises
        where = f"\n  {node.line.shown()}" if node.line else ""
        raise ArgumentError(f"{node.op.name} failed: {error}{where}") from error


def arguments(node: Node, values: Mapping[Node, Any]) -> list[Any]:
    """The arguments of a node, where the values of those that are nodes are known."""
    return [values[a] if isinstance(a, Node) else a for a in node.args or ()]


def replay(nodes: Iterable[Node], values: Values, apply: Apply = evaluated) -> Values:
    """Fill in the values of `nodes`, parents first, that are not known yet."""
    for node in nodes:
        if node not in values:
            values[node] = apply(node, arguments(node, values))
    return values

"""Arrays of the user's that a node saved: noticing when they are changed before backward.

Values made by chainrule are never handed out writable.  An array the user passed as a constant
(`x * scale`) stays theirs, so what the node needs of it is fingerprinted when it is saved and
compared when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Line, Node
from chainrule.errors import MutationError
from chainrule.record.state import user_frame

COPIED_BYTES = 4096  # bytes up to which a copy is cheaper than a hash
HASHED_BYTES = 24 << 10  # bytes up to which Python's own hash takes no longer, and needs no LLVM


class Whole:
    """Where the hash of a large array lives: to the right, as it is machine code."""

    digest = lazy_method("chainrule.run.fingerprint", "digest", static=True)


def fingerprint(array: np.ndarray) -> Any:
    """What changes whenever the content, the shape or the type of an array does.

    Short arrays are their own content.  Which hash a longer one has depends on its size alone, so
    that two fingerprints can be compared whenever they were taken.
    """
    layout = array.shape, array.strides, array.dtype
    if array.nbytes <= COPIED_BYTES:
        return array.tobytes(), layout
    if array.nbytes <= HASHED_BYTES:
        return hash(array.tobytes()), layout
    # In the order in which it lies in memory it is not copied.
    turned = array.T if array.flags.f_contiguous else array
    return Whole.digest(np.ascontiguousarray(turned).reshape(-1).view(np.uint8)), layout


class Watch:
    """The foreign arrays one node saved, each with its fingerprint."""

    __slots__ = ("seen",)

    def __init__(self, seen: list[tuple[str, np.ndarray, Any]]):
        self.seen = seen

    def check(self, node: Node) -> None:
        for name, array, mark in self.seen:
            if fingerprint(array) != mark:
                frame = user_frame()
                line = node.line
                raise MutationError(
                    "an array saved for the backward pass was changed after it was used.\n"
                    f"  saved     {line.shown() if line else node.op.name}\n"
                    f"            `{name}` of {node.op.name}: {array.dtype.name} {array.shape}, "
                    "held by you\n"
                    f"  changed   between {line} and {Line(frame.f_code, frame.f_lasti)}\n"
                    "  pass a copy of it, or change it after backward()."
                )


class Kept:
    """Under `cr.debug()`: each operand of a node as (its node or None, its value), and the result.

    It stands in the place of the Watch, and does its work too.
    """

    __slots__ = ("inner", "operands", "out")

    def __init__(
        self, operands: tuple[tuple[Node | None, Any], ...], out: Any, inner: Watch | None
    ):
        self.operands, self.out, self.inner = operands, out, inner

    def check(self, node: Node) -> None:
        if self.inner is not None:
            self.inner.check(node)


def watch_saved(
    names: tuple[str, ...], saved: tuple[Any, ...], foreign: Sequence[np.ndarray]
) -> Watch | None:
    """A Watch over those of the user's arrays that are saved; None when there is none."""
    seen = []
    for i, value in enumerate(saved):
        for array in foreign:
            held = any(v is array for v in value) if type(value) is tuple else value is array
            if held and array.size:
                seen.append((names[i], array, fingerprint(array)))
    return Watch(seen) if seen else None

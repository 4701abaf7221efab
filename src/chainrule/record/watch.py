"""Arrays of the user's that a node saved: noticing when they are changed before backward.

Values made by chainrule are never handed out writable.  An array the user passed as a constant
(`x * scale`) stays theirs, so what the node needs of it is fingerprinted when it is saved and
compared when it is used.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.node import Line, Node
from chainrule.errors import MutationError
from chainrule.record.state import user_frame

SMALL = 4096  # bytes up to which a copy is cheaper than a checksum
COLUMNS = 1024


def fingerprint(array: np.ndarray) -> Any:
    """Bytes that change whenever the array's content does (short arrays: the content itself)."""
    if array.nbytes <= SMALL:
        return array.tobytes()
    turned = array.T if array.flags.f_contiguous else array  # which is not copied
    flat = np.ascontiguousarray(turned).reshape(-1).view(np.uint8)
    words = flat[: flat.size // (8 * COLUMNS) * 8 * COLUMNS].view(np.uint64).reshape(-1, COLUMNS)
    # Column sums read the array once at memory speed, and a permutation changes almost all.
    sums = words.sum(axis=0, dtype=np.uint64)
    return zlib.crc32(flat[words.nbytes :].tobytes(), zlib.crc32(sums.tobytes())), int(sums[0])


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

"""Who called whom while a function was recorded, and in which call each node was made."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType

from chainrule.core.node import Node


@dataclass(frozen=True)
class Calls:
    """`nodes` as they were recorded, and in `call` the number of the call that made each.

    Call c was made by call `parent[c]`, an earlier one, at the instruction `site[c]` of its code,
    and runs `code[c]`; -1 is the recording itself, which has called the recorded function.
    """

    nodes: tuple[Node, ...]
    call: tuple[int, ...]
    parent: tuple[int, ...]
    site: tuple[int, ...]
    code: tuple[CodeType, ...]

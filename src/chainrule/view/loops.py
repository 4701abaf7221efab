"""Which of the things a call has done are turns of its loops, by the instructions that did them."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

Loop = tuple[int, int]  # its first instruction and the last one that jumps back to it
Item = Any
Placed = tuple[int, Item]  # the instruction that did it


@lru_cache(maxsize=1024)
def loops_of(code: CodeType) -> tuple[Loop, ...]:
    """The loops of a function, outer ones before those in them."""
    found: dict[int, int] = {}
    for step in dis.get_instructions(code):
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            target = step.argval
            if target <= step.offset:
                found[target] = max(step.offset, found.get(target, 0))
    return tuple(sorted(found.items(), key=lambda loop: (loop[0], -loop[1])))


def nested(
    items: Sequence[Placed],
    loops: Sequence[Loop],
    together: Callable[[Loop, list[list[Item]]], Item],
) -> list[Item]:
    """The items in their order; those of a loop that turned more than once are `together`.

    `together` is given the loop and what each turn of it has done.
    """
    found: list[Item] = []
    k = 0
    while k < len(items):
        at, item = items[k]
        loop = next((one for one in loops if _within(at, one)), None)
        if loop is None:
            found.append(item)
            k += 1
            continue
        end = k
        while end < len(items) and _within(items[end][0], loop):
            end += 1
        inner = [one for one in loops if one != loop and _inside(one, loop)]
        turns = [nested(turn, inner, together) for turn in _turns(items[k:end], inner)]
        found += turns[0] if len(turns) == 1 else [together(loop, turns)]
        k = end
    return found


def _turns(items: Sequence[Placed], inner: Sequence[Loop]) -> list[list[Placed]]:
    """What a loop has done, turn by turn: one begins where an instruction lies before the last.

    Nodes of one instruction may be of one call, such as sum(…); two calls from one are two turns.
    """
    turns: list[list[Placed]] = []
    last: Placed | None = None
    for at, item in items:
        back = last is not None and (
            at < last[0]
            or (at == last[0] and not isinstance(item, int) and not isinstance(last[1], int))
        )
        if last is None or (back and not _same_loop(at, last[0], inner)):
            turns.append([])
        turns[-1].append((at, item))
        last = at, item
    return turns


def _same_loop(a: int, b: int, loops: Sequence[Loop]) -> bool:
    return any(_within(a, loop) and _within(b, loop) for loop in loops)


def _within(at: int, loop: Loop) -> bool:
    return loop[0] <= at <= loop[1]


def _inside(inner: Loop, outer: Loop) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]

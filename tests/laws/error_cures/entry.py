"""An entry of the table of messages: a program that fails with it, and the same with each cure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Program = Callable[
    ..., Any
]  # may take `at`, a folder of its own, and `patch`, pytest's monkeypatch


@dataclass(frozen=True, eq=False)
class Entry:
    """`says` stands in the message; each of `cured` gives what `right` gives."""

    where: str  # file and qualified name, as `messages` names it
    says: str
    fails: Program
    cured: tuple[Program, ...]
    right: Any  # a value, from a closed form, or a program without chainrule that computes it

    def __str__(self) -> str:
        return f"{self.where}: {self.says}"


ENTRIES: list[Entry] = []


def entry(where: str, says: str, fails: Program, *cured: Program, right: Any) -> None:
    ENTRIES.append(Entry(where, says, fails, cured, right))

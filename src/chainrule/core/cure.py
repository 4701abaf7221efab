"""The usual cure of a NaN or an infinity: what goes wrong, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Cure:
    """What usually goes wrong here, and what to write instead."""

    key: str
    why: str
    advice: str
    applies: Callable[[Any], Any] = field(repr=False, default=lambda _: True)

    def __str__(self) -> str:
        return f"{self.why}: {self.advice}" if self.why else self.advice

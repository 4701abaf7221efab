"""A pass over the shards: what goes into it, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from chainrule.scale.report import Spent
from chainrule.scale.shards import Source
from chainrule.scale.work import Layout, Work


@dataclass(frozen=True)
class Task:
    """One pass over the shards: what is computed, for which arguments, of which rows."""

    work: Work
    args: tuple[Any, ...]
    source: Source


@dataclass(frozen=True)
class Sum:
    """What a pass gives: the numbers of all shards added, and what that has cost."""

    vector: np.ndarray
    rows: int
    layout: Layout
    spent: Spent


class Adds(Protocol):
    """What an engine does for a function of rows."""

    name: str

    def add(self, make: Callable[[], Task]) -> Sum: ...

"""What a workload is made of: cases, variants to run them with, and the targets they must meet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One program at one size."""

    name: str
    make: Callable[[Any], Callable]  # make(xp) -> program(*inputs) -> scalar
    inputs: Callable[[int], tuple]  # ring slot -> NumPy inputs
    ops: int  # recorded operations; costs are divided by it
    variants: tuple[str, ...]
    ring: int = 8  # distinct inputs, visited in turn, so no result can be cached
    samples: int = 3  # per round; the round keeps the smallest


@dataclass(frozen=True)
class Target:
    """chainrule's cost in `case`, over the cost of `against`, must not exceed `limit`.

    `against` is a library (its best variant counts) or one variant. `baseline` is the case in
    which `against` is looked up, where that is another one than `case`.
    """

    case: str
    against: str
    limit: float
    baseline: str | None = None


@dataclass(frozen=True)
class Cell:
    """One measured cost: a value per round, or the reason why there is none."""

    case: str
    variant: str
    rounds: Sequence[float] = ()  # in the unit of the table, per operation where it says so
    problem: str = ""
    raw: Sequence = ()  # what the worker answered, round by round


@dataclass(frozen=True)
class Table:
    """The cells of one quantity, in one unit, with the targets that judge them."""

    title: str
    unit: str
    cells: tuple[Cell, ...]
    targets: tuple[Target, ...] = ()

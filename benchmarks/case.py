"""What a workload is made of: cases, variants to run them with, and the targets they must meet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FASTEST = "fastest peer"  # whoever is cheapest in a case, but for chainrule: the 1 of R1
FASTEST_LIBRARY = "fastest library"  # the same, without the derivatives written by hand
PRIMAL = "chainrule.primal"  # our compiled function without its derivative: the 1 of R2


@dataclass(frozen=True)
class Work:
    """What a case cannot do without; a limit follows from it at rates measured in the same run.

    The parts add up: matrix products, then what must be read and written, then exponentials.
    """

    flops: float = 0.0  # in matrix products, at the speed of a large one
    bytes: float = 0.0  # read and written, at the speed of a copy
    footprint: float = 0.0  # bytes in use: the copy is made in the cache that can hold as much
    exps: float = 0.0  # at the speed of np.exp on an array in the nearest cache
    seconds: float = 0.0  # a budget that is simply set


@dataclass(frozen=True, eq=False)
class Case:
    """One program at one size.

    The variants named in `variants` bind `make` as `peers` says. Those in `ways` bring a binder of
    their own, which the worker calls; they come first, and the first of all is the reference.
    """

    name: str
    make: Callable[[Any], Callable] | None  # make(xp) -> program(*inputs) -> scalar
    inputs: Callable[[int], tuple]  # ring slot -> NumPy inputs
    ops: int = 1  # recorded operations; costs are divided by it
    variants: tuple[str, ...] = ()
    ring: int = 8  # distinct inputs, visited in turn, so no result can be cached
    samples: int = 3  # per round; the round keeps the smallest
    ways: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # variant -> () -> Bound
    dtype: str = "float64"  # of the results: how far they may differ
    limits: Mapping[str, Work] = field(default_factory=dict)  # shown as `limit.<name>`


@dataclass(frozen=True)
class Target:
    """chainrule's cost in `case`, over the cost of `against`, must not exceed `limit`.

    `against` is a library (its best variant counts), one variant, FASTEST or FASTEST_LIBRARY.
    `baseline` is the case in which `against` is looked up, where that is another one than `case`.
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
    versus: str = "torch"  # whose cost every cell is divided by, in the last column
    ratios: bool = False  # whether R1, R2 and R3 are shown

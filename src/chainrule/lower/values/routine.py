"""What a value asks of LAPACK and of the triangular solves of BLAS: calls and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from chainrule.lower.values.value import DOUBLE

# The routines of the libraries, and how many arguments each takes.
ARGUMENTS = {
    "potrf": 5, "getrf": 6, "getrs": 9, "getri": 7, "trsm": 11, "trsv": 8, "syevd": 11,
    "geqrf": 8, "orgqr": 9, "gesdd": 14,
}  # fmt: skip


class Given(NamedTuple):
    """An operand, as an argument."""

    number: int


class Made(NamedTuple):
    """A result, as an argument."""

    number: int


class Output(NamedTuple):
    """What is made: of each of the stack, or memory to work in, which all of it use in turn."""

    dims: tuple[int, ...]
    dtype: Any
    each: bool = True


INFO = "info"  # where a routine says whether it failed: not zero
ONE = "one"  # a factor of the type that is computed with
Asked = tuple[str, tuple[str | int | Given | Made, ...]]  # a name and arguments


@dataclass(frozen=True)
class Routine:
    """What is asked for, of each of `batch` matrices: calls one after the other.

    An argument is a letter, a whole number, ONE, an operand, a result or INFO.  `starts` are pairs
    of a result and the operand that it begins as; `shared` are operands of which there is only one.
    The last result says of each matrix whether a call failed.
    """

    name: str
    batch: int
    calls: tuple[Asked, ...]
    results: tuple[Output, ...]
    starts: tuple[tuple[int, int], ...]
    shared: tuple[bool, ...]
    flops: int  # of each


def letter(dtype: Any) -> str:
    """What the name of a routine for numbers of this type begins with."""
    return "d" if dtype == DOUBLE else "s"

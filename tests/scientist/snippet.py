"""A snippet of a scientist's code, and what becomes of it: unchanged, and with our imports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy
import scipy

import chainrule as cr
import chainrule.numpy as our_numpy
from chainrule import scipy as our_scipy

Program = Callable[..., Any]
RIGHT, REFUSED, RAW, WRONG = "right", "refused", "raw", "wrong"


@dataclass(frozen=True, eq=False)
class Snippet:
    """`program(np, scipy, x)` returns a number; it `needs` this module of ours.

    `step` is that of the differences: a solver of SciPy's stops where it is near enough, and what
    it leaves, over a step that is too short, is what the differences would show.
    """

    program: Program
    x: Any
    needs: str
    rtol: float
    step: float

    def __str__(self) -> str:
        return f"{self.program.__module__.rpartition('.')[2]}.{self.program.__name__}"


SNIPPETS: list[Snippet] = []


def snippet(
    x: Any, needs: str = "", rtol: float = 1e-5, step: float = 1e-5
) -> Callable[[Program], Program]:
    """Enter a program into the list, with the point at which it is differentiated."""

    def enter(program: Program) -> Program:
        at = numpy.asarray(x, float)[()] if not isinstance(x, (int, float)) else float(x)
        SNIPPETS.append(Snippet(program, at, needs, rtol, step))
        return program

    return enter


def is_there(module: str) -> bool:
    """Whether chainrule has this module of SciPy's."""
    try:
        import_module(f"chainrule.scipy.{module}")
    except ImportError:
        return False
    return True


def by_differences(a: Snippet) -> Any:
    """Central differences of the program on plain numbers, with NumPy's and SciPy's own modules."""

    def at(x: Any) -> float:
        return float(a.program(numpy, scipy, x))

    if numpy.ndim(a.x) == 0:
        return (at(a.x + a.step) - at(a.x - a.step)) / (2 * a.step)
    slopes = numpy.empty(a.x.shape)
    for index in numpy.ndindex(a.x.shape):
        move = numpy.zeros(a.x.shape)
        move[index] = a.step
        slopes[index] = (at(a.x + move) - at(a.x - move)) / (2 * a.step)
    return slopes


@cache
def outcome(a: Snippet, changed: bool) -> tuple[str, str]:
    """RIGHT, REFUSED by an error of ours, RAW or WRONG; and what was said."""
    np, sp = (our_numpy, our_scipy) if changed else (numpy, scipy)
    try:
        found = cr.grad(lambda x: a.program(np, sp, x))(a.x)
    except cr.ChainruleError as error:
        return REFUSED, f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - the point is that there is none
        return RAW, f"{type(error).__name__}: {error}"
    wanted = by_differences(a)
    close = numpy.allclose(found, wanted, rtol=a.rtol, atol=a.rtol * (1 + numpy.max(abs(wanted))))
    return (RIGHT, "") if close else (WRONG, f"{found} where differences give {wanted}")

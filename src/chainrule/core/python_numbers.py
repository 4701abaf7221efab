"""How an op stands for one of Python's own operators, where all operands are Python's numbers.

Python raises where NumPy gives an infinity: 1.0 / 0.0, 0.0 ** -1.0, 1e200 ** 2.  It leaves the
reals where NumPy gives NaN: (-8.0) ** 0.5.  A recording holds while neither happens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OnPython:
    """Python's operator.  Where NumPy's result is finite it gives the same; where it is not, Python
    `may_raise`: `cause(*operands)` is a truth that decides whether it does, or None where only the
    very operands tell, which of complex numbers they always do."""

    operator: Callable[..., Any]
    may_raise: bool = False
    cause: Callable[..., Any] | None = None

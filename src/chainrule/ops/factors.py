"""Partial derivatives that are smooth in some lanes and structurally zero in the others."""

from __future__ import annotations

from typing import Any

from chainrule.core.masked import plain, within


class LiveFactor:
    """`value`, structurally zero where `alive` is false: a `Gate` whose weights have derivatives.

    `hypot(x, y)` needs both: x / out is differentiated again, and at the origin there is no slope
    to multiply by, so hypot(sqrt(a), 0) at a = 0 has the derivative 0 and not 0·∞.
    """

    __slots__ = ("alive", "value")
    __array_ufunc__ = None  # so that ndarray * LiveFactor asks us

    def __init__(self, value: Any, alive: Any):
        self.value, self.alive = value, alive

    def __neg__(self) -> LiveFactor:
        return LiveFactor(-self.value, self.alive)

    def __rmul__(self, incoming: Any) -> Any:
        return within(incoming * self.value, self.alive)


def where_alive(value: Any, alive: Any) -> Any:
    """The factor `value` in the lanes `alive`; a complex one keeps its zeros as numbers."""
    return value if value.dtype.kind == "c" else LiveFactor(value, plain(alive))


def is_recorded(value: Any) -> bool:
    """Whether a rule reads a Variable, so that what it makes of it may be differentiated again.

    Where the short formula loses digits once it is differentiated, a rule then uses an op.
    """
    return hasattr(value, "__chainrule_record__")

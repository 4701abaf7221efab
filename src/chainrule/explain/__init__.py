"""Why a gradient is what it is, and whether it is right.

`cr.explain(f, x)` is called by the name of this room, so the room can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainrule.explain.explanation import Explanation


class _Room(ModuleType):
    """A package that is also a function: importing one of its files sets `cr.explain` to it."""

    def __call__(
        self,
        f: Any,
        *args: Any,
        wrt: Any = 0,
        top: int = 10,
        entry: Any = None,
        along: Any = None,
        seed: Any = None,
    ) -> Explanation:
        """Why is the gradient of f with respect to `wrt` what it is here?

        See `chainrule.explain.explanation.explain`.
        """
        from chainrule.explain.explanation import explain

        return explain(f, *args, wrt=wrt, top=top, entry=entry, along=along, seed=seed)


sys.modules[__name__].__class__ = _Room

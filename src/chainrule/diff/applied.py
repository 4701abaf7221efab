"""An op on what is there: on arrays it is computed, on Variables it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.core.op import Op
from chainrule.core.replay import forwarded
from chainrule.record.recorder import LinePlace, record
from chainrule.record.variable import Variable


def applied(op: Op, args: Sequence[Any], attrs: Any, line: LinePlace | None = None) -> Any:
    """The op's result; where it is recorded, at `line`, or else at the user's."""
    for a in args:
        if isinstance(a, Variable):
            return record(Variable, op, args, attrs, line)
    return forwarded(op, args, attrs)

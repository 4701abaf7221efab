"""How much of one function is compiled: limits, and one warning for each that is reached.

Each branch through the function and each signature is compiled, which takes as long as thousands of
calls.  A function that needs a new one at every call is better not compiled; its user hears why.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any
from warnings import warn

from chainrule.record.state import INTERNAL
from chainrule.run.reads.log import Stop

if TYPE_CHECKING:
    from chainrule.run.variant import Variant

MAX_BRANCHES = 16  # of one signature; what takes a further one runs as plain Python
MAX_SIGNATURES = 256  # a call of a further one runs as plain Python
MAX_UNUSED = 64  # signatures in a row none of which is met again
MANY_SIGNATURES = 16  # from which on a warning is due
MAX_STOPS = 3  # recordings that come to nothing
MAX_MISSES = 32  # calls in a row that no compiled branch serves
SHOWN = 3
AS_IT_IS = (
    "Compute with it as it is: x for float(x), np.trunc(x) for int(x), np.sum(mask) for "
    "len(x[mask])."
)
# Why an argument that is no array has many signatures, and what to pass instead.
INSTEAD = {
    int: "Pass a float, if it is computed with.",
    float: "Pass np.float32(t) or np.float64(t), as the arrays beside it are.",
}


class Limits:
    """Counts what keeps a function from being compiled once and for all, and warns once of each."""

    signatures = MAX_SIGNATURES

    def __init__(self, name: str):
        self.name = name
        self.warned: set[str] = set()
        self.stops = 0
        self.misses = 0

    @property
    def exhausted(self) -> bool:
        """Whether the function is better run as it is."""
        return self.stops >= MAX_STOPS or self.misses >= MAX_MISSES

    def warn(self, kind: str, text: str) -> None:
        if kind not in self.warned:
            self.warned.add(kind)
            warn(f"{self.name} {text}", RuntimeWarning, stacklevel=_callers())

    def hit(self) -> None:
        self.misses = 0

    def too_many_branches(self, known: Sequence[Variant]) -> bool:
        """Whether this signature has as many branches as it may have."""
        if len(known) < MAX_BRANCHES:
            return False
        self.misses += 1
        guards = [g for v in known for g in v.recording.guards if g.node.line]
        lines = [str(g.node.line) for g in guards]
        if lines:
            line = max(dict.fromkeys(lines), key=lines.count)
            where = f"values at {line}"
            truths = any(g.node.dtype == bool for g in guards if str(g.node.line) == line)
            cure = "np.where has both branches in one." if truths else AS_IT_IS
        else:
            where = next(filter(None, (v.outside.changed() for v in known)), "what is outside")
            cure = "Pass it as an argument."
        self.warn(
            "branches",
            f"takes more than {MAX_BRANCHES} branches, by what Python code reads of {where}; the "
            f"others run as plain Python.  {cure}",
        )
        return True

    def too_many_signatures(self, known: dict[Any, list[Variant]]) -> bool:
        """Whether a further signature is better not compiled; a warning names what differs."""
        if len(known) >= self.signatures:
            self.misses += 1
            return True
        if not known or len(known) % MAX_UNUSED:
            return False
        last = islice(reversed(known), MAX_UNUSED)
        if any(variant.used for signature in last for variant in known[signature]):
            return False
        self.misses = MAX_MISSES
        self.warn(
            "unused",
            f"runs as plain Python from now on: it was compiled {len(known)} times in a row for "
            "arguments that never came again.",
        )
        return True

    def stopped(self, stop: Stop) -> None:
        """A recording ended before an effect, or before what cannot be watched."""
        self.stops += 1
        if not stop.passing or self.stops > 1:
            self.warn(
                "stopped",
                f"runs as plain Python: it {stop.what}.\n  {stop.line.shown()}\n"
                "  Compile the part that only computes, and pass it what it needs as arguments.",
            )

    def refused(self, error: Exception) -> None:
        """A recording failed, though the function itself does not."""
        self.stops += 1
        self.warn("refused", f"runs as plain Python, since it cannot be recorded: {error}")

    def differs(self) -> None:
        """The first call gave something else when it was compiled."""
        self.stops += 1
        self.warn(
            "differs",
            "runs as plain Python: on its first call the recorded operations gave another result.  "
            "Most often the code asks what type a number is, or keeps a part of the result itself.",
        )

    def many_signatures(self, signatures: Mapping[Any, Any]) -> None:
        """So many signatures are compiled; say in what they differ."""
        if len(signatures) < MANY_SIGNATURES:
            return
        columns = list(zip(*(s.static for s in signatures), strict=False))
        varied = max(columns, key=lambda column: len(set(column)), default=())
        values = list(dict.fromkeys(varied))[:SHOWN]
        if len(values) < SHOWN:
            return
        shown = ", ".join(str(_shape_or_value(v)) for v in values)
        if all(isinstance(kind, type) for kind, _ in values):
            kind = values[0][0]
            what = kind.__name__
            cure = INSTEAD.get(kind, "Pass the numbers that are computed from it.")
        else:
            what, cure = "shape", "Fill up to a few lengths."
        self.warn(
            "signatures",
            f"was compiled {len(signatures)} times, since an argument differs in its {what}: "
            f"{shown}, …  {cure}",
        )


def _callers() -> int:
    """How many calls up the user's code is, as `warn` counts them."""
    frame: FrameType | None = sys._getframe(2)
    count = 2
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(INTERNAL):
        frame, count = frame.f_back, count + 1
    return count


def _shape_or_value(entry: tuple[Hashable, Any]) -> Any:
    first, second = entry
    if first is float:
        return float.fromhex(second)
    return second if isinstance(first, type) else first

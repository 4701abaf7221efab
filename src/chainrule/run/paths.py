"""How much of one function is compiled: a bound on its paths and forms, and a word about too many.

A path is one way through the function; a form is one kind of arguments.  Each is compiled, which
takes as long as thousands of calls: a function that needs a new one at every call is better not
compiled, and its user should hear why.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

if TYPE_CHECKING:
    from chainrule.run.compiled import Variant

PATHS = 16  # of one form; what takes a further one is interpreted
FORMS = 256  # after that, the oldest is dropped
MANY = 16  # forms, or times that something outside was rebound: a word is said
SHOWN = 3


class Watch:
    """Says once, of each kind, what keeps a function from being compiled once and for all."""

    def __init__(self, name: str):
        self.name = name
        self.said: set[str] = set()
        self.rebound = 0

    def say(self, kind: str, text: str) -> None:
        if kind not in self.said:
            self.said.add(kind)
            warn(f"{self.name} {text}", RuntimeWarning, stacklevel=4)

    def many_paths(self, known: Sequence[Variant]) -> None:
        """A further path was needed, and there is no room."""
        lines = [str(g.node.line) for v in known for g in v.recording.guards if g.node.line]
        where = max(dict.fromkeys(lines), key=lines.count) if lines else "its values"
        self.say(
            "paths",
            f"took more than {PATHS} paths, by what Python code reads of values at {where}; the "
            "others are interpreted.  np.where has both ways in one path.",
        )

    def many_forms(self, forms: Mapping[Any, Any]) -> None:
        """So many forms are there; say in what they differ."""
        if len(forms) < MANY:
            return
        columns = list(zip(*(static for _, _, static in forms), strict=False))
        varied = max(columns, key=lambda column: len(set(column)), default=())
        values = list(dict.fromkeys(varied))[:SHOWN]
        if len(values) < SHOWN:
            return
        shown = ", ".join(str(_shape_or_value(v)) for v in values)
        if all(isinstance(kind, type) for kind, _ in values):
            what, cure = values[0][0].__name__, "Pass a float, if it is computed with."
        else:
            what, cure = "shape", "Fill up to a few lengths."
        self.say(
            "forms",
            f"was compiled {len(forms)} times, since an argument differs in its {what}: {shown}, …"
            f"  {cure}",
        )

    def once_rebound(self, words: str) -> None:
        """Something outside was rebound, and all is recorded again."""
        self.rebound += 1
        if self.rebound >= MANY:
            self.say(
                "rebound",
                f"was recorded again {self.rebound} times, since {words} changes.  Pass it as "
                "an argument, or keep it in an array and assign to that.",
            )


def _shape_or_value(entry: tuple[Hashable, Any]) -> Any:
    first, second = entry
    return second if isinstance(first, type) else first

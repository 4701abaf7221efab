"""Which lanes of its inputs a lane of an op's result depends on: what `Op.depends` says.

    LANES         its own lane of each input, broadcast: elementwise ops
    COPIES        lanes that it copies or adds with weight one (indexing, reshape, sum, sort)
    FILLS         as COPIES, and some lanes of the result depend on none (pad, tril)
    Along(reach)  other lanes of its only input: `reach(alive, x_spec, **attrs)` tells which of them
                  some alive lane of the result depends on (softmax along an axis)
    EVERY         any lane of any input

Structural zeros read it, so that what no path leads through stays zero.  Where an op COPIES, a mask
of lanes is pushed or pulled through the op itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, repr=False)
class Depends:
    """How lanes of the result depend on lanes of the inputs."""

    name: str
    copies: bool = False
    fills: bool = False
    reach: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return self.name


LANES = Depends("LANES")
COPIES = Depends("COPIES", copies=True)
FILLS = Depends("FILLS", copies=True, fills=True)
EVERY = Depends("EVERY")
BY_KIND = Depends("BY_KIND")  # LANES of an op with partials, COPIES of a linear one, else EVERY


def Along(reach: Callable[..., Any]) -> Depends:  # noqa: N802 - it stands beside the constants
    """A lane depends on others of its only input, those that `reach` tells."""
    return Depends("Along", reach=reach)

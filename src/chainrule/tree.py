"""Nested containers as trees: `tree.map` a function over the leaves, `tree.flatten` and back."""

from __future__ import annotations

from typing import Any

from chainrule.core.containers import Opened, Structure, flatten
from chainrule.core.containers import map_leaves as map

__all__ = ["Opened", "Structure", "flatten", "leaves", "map"]


def leaves(tree: Any) -> list[Any]:
    """The leaves of a nested container, in its order; those of a dict in that of its keys."""
    return flatten(tree)[0]

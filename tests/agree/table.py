"""Every entry of the random programs, and how often each family is drawn."""

from __future__ import annotations

from tests.agree import (
    elementwise,
    indexing,
    matrices,
    others,
    products,
    reductions,
    shapes,
    special,
)
from tests.agree.entry import ENTRIES, Entry

MODULES = (elementwise, indexing, matrices, others, products, reductions, shapes, special)

# How often a family is drawn; within one, every entry is as likely as another.
FAMILIES = {
    "arithmetic": 14, "elementwise": 14, "special": 14, "rounding": 3, "selection": 8, "structure": 1,
    "reductions": 8, "nans": 3, "cumulative": 4, "differences": 3, "statistics": 1, "softmax": 3,
    "order": 3, "shapes": 9, "diagonals": 3, "joining": 6, "splitting": 3, "indexing": 6,
    "assignment": 6, "products": 9, "convolution": 5, "fourier": 5, "linalg": 9, "complex": 8,
}  # fmt: skip

TABLE: dict[str, Entry] = dict(ENTRIES)
BY_FAMILY: dict[str, list[Entry]] = {
    family: [e for e in TABLE.values() if e.family == family] for family in FAMILIES
}
assert {e.family for e in TABLE.values()} == set(FAMILIES), "every family has a frequency"

"""The place of an index array inside the static part of an index."""

from __future__ import annotations


class Slot:
    """The place in an index template that the k-th index array fills."""

    __slots__ = ("k",)

    def __init__(self, k: int):
        self.k = k

    def __repr__(self) -> str:
        return f"#{self.k}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slot) and other.k == self.k

    def __hash__(self) -> int:
        return hash(("slot", self.k))

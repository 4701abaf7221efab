"""Amounts of memory as users write and read them: "200MB"."""

from __future__ import annotations

import re
from typing import Any

from chainrule.errors import ArgumentError

UNITS = {
    "": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip


def bytes_of(memory: Any) -> int | None:
    """The bytes that a budget says: an integer, or a text such as "200MB" or "1.5 GiB"."""
    if memory is None:
        return None
    found = (
        re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]*)\s*", memory)
        if type(memory) is str
        else None
    )
    if found is not None and found[2].upper() in UNITS:
        memory = int(float(found[1]) * UNITS[found[2].upper()])
    if type(memory) is not int or memory <= 0:
        raise ArgumentError(
            f'memory={memory!r}: give a number of bytes, or a text such as "200MB" or "1.5GiB"'
        )
    return memory


def shown(count: float) -> str:
    """So many bytes, with three digits."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"

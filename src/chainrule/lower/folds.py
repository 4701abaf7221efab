"""What a reduction does with two numbers, and what it starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

COMBINE = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "logical_or",
    "all": "logical_and",
}  # fmt: skip


def neutral(function: str, kind: str) -> Any:
    """What a fold starts from."""
    if function in ("max", "min"):
        if kind == "i64":
            return np.iinfo(np.int64).min if function == "max" else np.iinfo(np.int64).max
        return -np.inf if function == "max" else np.inf
    return {"sum": 0, "prod": 1, "any": False, "all": True}[function]

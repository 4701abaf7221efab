"""Rows and parameters as plain arrays of numbers; what would lose its meaning there is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.errors import DTypeError

CURES = {  # by the kind of a type that is not one of numbers
    "O": "Python objects (a sparse matrix, columns of several types, missing values?): pass "
    "numbers, as x.toarray() of a sparse matrix, or x.to_numpy(float) of a table",
    "V": "structured rows: pass its fields as arrays of their own, or "
    "numpy.lib.recfunctions.structured_to_unstructured(x)",
    "S": "bytes: pass numbers, as x.astype(float) where they spell some",
    "U": "text: pass numbers, as x.astype(float) where they spell some",
    "T": "text: pass numbers, as x.astype(float) where they spell some",
    "M": "dates: pass numbers, as (x - x[0]) / np.timedelta64(1, 's')",
    "m": "times: pass numbers, as x / np.timedelta64(1, 's')",
}
MASKED = (
    "is a masked array, whose mask would be lost: pass x.filled(value), or x.data and the mask as "
    "arrays of their own, for np.where(mask, …) in the loss"
)
MATRIX = "is an np.matrix, whose `*` would become another: pass np.asarray(x), and write `@` for it"


def numbers(value: Any, name: str) -> np.ndarray:
    """An array of the same numbers, or an error that says under this name why there is none."""
    if _holds_masked(value) or _holds_masked(array := np.asanyarray(value)):
        raise DTypeError(f"{name} {MASKED}")
    if isinstance(array, np.matrix):
        raise DTypeError(f"{name} {MATRIX}")
    refuse_kind(array.dtype, name)
    return array


def refuse_kind(dtype: np.dtype, name: str) -> None:
    """Raise where a type is not one of numbers."""
    if dtype.kind in CURES:
        raise DTypeError(f"{name} holds {CURES[dtype.kind]}")


def _holds_masked(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_masked(each) for each in value)
    if type(value) is np.ndarray or not isinstance(value, np.ndarray):
        return False
    return isinstance(value, np.ma.MaskedArray)

"""An index taken apart: what is static in it, and the arrays, which are inputs like any other."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrule.core.slot import Slot
from chainrule.errors import DTypeError
from chainrule.ops.joining import as_array

Template = tuple[Any, ...]
STATIC = (type(None), type(Ellipsis))


def split_index(index: Any) -> tuple[Template, list[Any]]:
    """An index as a static template, with a `Slot` for each array, and the arrays."""
    kind = type(index)
    if kind is int:
        return (index,), []
    parts = index if isinstance(index, tuple) else (index,)
    template: list[Any] = []
    arrays: list[Any] = []
    for part in parts:
        kind = type(part)
        if kind is int or kind in STATIC:
            template.append(part)
        elif kind is slice:
            template.append(_static_slice(part))
        elif isinstance(part, (int, np.integer)) and kind is not bool:
            template.append(int(part))
        else:
            template.append(Slot(len(arrays)))
            arrays.append(_index_array(part))
    return tuple(template), arrays


def _static_slice(part: slice) -> slice:
    """A slice whose bounds are Python integers; they may have been integer Variables."""
    for bound in (part.start, part.stop, part.step):
        if type(bound) is not int and bound is not None:
            break
    else:
        return part
    try:
        bounds = (part.start, part.stop, part.step)
        return slice(*(None if b is None else operator.index(b) for b in bounds))
    except TypeError:
        return part  # NumPy refuses it, and then the line is known


def _index_array(part: Any) -> Any:
    if hasattr(part, "dtype"):
        return part
    try:
        array = as_array(part)
    except DTypeError:
        raise DTypeError(f"an index is made of integers or booleans, not {part!r:.60}") from None
    return array if array.size else array.astype(np.intp)


def fill_index(template: Template, arrays: Any) -> tuple[Any, ...]:
    return tuple(arrays[part.k] if isinstance(part, Slot) else part for part in template)

"""The signature of a call: everything about its arguments but the numbers in its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.errors import ArgumentError
from chainrule.record.variable import Variable
from chainrule.run.direct import DYNAMIC, NUMPY, WIDE

PYTHON = (float, complex)
# Constants without a hash, as what tells two of them apart; a set is iterated in its own order.
UNHASHED: dict[type, Callable[[Any], Any]] = {
    slice: lambda s: (s.start, s.stop, s.step), set: tuple, bytearray: bytes,
}  # fmt: skip


@dataclass(frozen=True)
class Signature:
    """Structure, order of dicts, shapes, types, and the values of what is no array.

    With `fixed`, Python's floats are among these: beside arrays of several types, what such a
    number widens depends on where it is used.
    """

    structure: Structure
    order: tuple[Any, ...]
    static: tuple[Any, ...]
    names: tuple[str, ...]
    weak: np.dtype[Any] | None  # what Python's floats are passed as
    fixed: bool
    has_floats: bool

    def promoted(self, values: Sequence[Any]) -> Sequence[Any]:
        """Python's numbers as what they are beside these arrays: in NumPy they widen nothing."""
        if self.weak is None or self.fixed:
            return values
        weak = self.weak
        real = np.empty(0, weak).real.dtype
        kinds: dict[type, Any] = {float: real.type}
        if weak.kind == "c":
            kinds[complex] = weak.type
        return [kinds[type(v)](v) if type(v) in kinds else v for v in values]


def signature_of(
    args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool = False
) -> tuple[list[np.ndarray] | None, Any]:
    """The arrays among the arguments, and the signature; None where a Variable is among them."""
    values, structure = flatten((args, kwargs) if kwargs else args)
    for value in values:
        if isinstance(value, Variable):
            return None, None
    weak, mixed = _weak_type(values)
    fixed = fixed or mixed
    # A dict filled in another order is iterated in another order.
    order = tuple(e.filled for e in structure.entries if e is not None and e.filled)
    floats = any(type(v) in PYTHON for v in values)
    empty = Signature(structure, order, (), tuple(kwargs), weak, fixed, floats)
    leaves: list[np.ndarray] = []
    static: list[Any] = []
    for given, value in zip(values, empty.promoted(values), strict=True):
        if isinstance(value, DYNAMIC) and not (fixed and type(value) is float):
            array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
            leaves.append(array)
            # Beside an array of the function's own Python's float widens less than a float64.
            static.append((array.shape, type(given) if type(given) in PYTHON else array.dtype))
        elif type(value) in UNHASHED:
            static.append((type(value), UNHASHED[type(value)](value)))
        else:
            static.append((type(value), value.hex() if type(value) is float else value))
    signature = Signature(structure, order, tuple(static), tuple(kwargs), weak, fixed, floats)
    try:
        hash(signature)
    except TypeError:
        odd = next(v for v in values if not isinstance(v, DYNAMIC) and not _is_hashable(v))
        raise ArgumentError(
            "a compiled function takes numbers, arrays, containers of them, and constants that "
            f"can be hashed; got a {type(odd).__name__}"
        ) from None
    return leaves, signature


def _weak_type(values: Sequence[Any]) -> tuple[np.dtype[Any] | None, bool]:
    """What Python's floats are beside these arrays, if it is one thing; and whether it is not."""
    types = {v.dtype for v in values if isinstance(v, NUMPY) and v.dtype.kind in "fc"}
    narrow = types - set(WIDE)
    floats = any(type(v) in PYTHON for v in values)
    if not narrow or not floats:
        return None, False
    if len(types) > 1 or any(np.dtype(t).itemsize > 8 for t in narrow):
        return None, True
    return next(iter(types)).newbyteorder("="), False


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True

"""What came of a call, and whether two calls came to the same: values, structure, exceptions."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.errors import ChainruleError

DIGITS = {2: 2e-2, 4: 1e-4, 8: 1e-9, 16: 1e-9}  # by the bytes of a real number
VERIFY = "verify" in inspect.signature(cr.compile).parameters


@dataclass(frozen=True)
class Outcome:
    """The result of a call, or what it raised."""

    value: Any = None
    error: BaseException | None = None

    def __str__(self) -> str:
        if self.error is None:
            return repr(self.value)
        return f"raised {type(self.error).__name__}: {str(self.error).splitlines()[:1]}"


def compiled(f: Callable[..., Any], verify: str = "never") -> Any:
    return cr.compile(f, verify=verify) if VERIFY else cr.compile(f)


def outcome(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    """What f makes of copies of these arguments, and what it leaves of them."""
    args, kwargs = copy.deepcopy((args, kwargs))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome((f(*args, **kwargs), args, kwargs))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
            return Outcome(error=error)


def verdict(expected: Outcome, found: Outcome, digits: float = 0.0) -> tuple[str, str]:
    """One of same, different, raw, refused; and in which way.

    `digits` is the relative difference that is excused where the types of the results do not tell:
    a float64 that was computed from float32 is rounded as such.
    """
    if expected.error is not None:
        return _raising(expected.error, found)
    if found.error is not None:
        kind = "refused" if isinstance(found.error, ChainruleError) else "raw"
        if type(found.error).__name__ == "CompileDifference":
            kind = "different"
        return kind, f"{type(found.error).__name__}: {found.error}"
    gap = difference(expected.value, found.value, "result", digits)
    return ("same", "") if gap is None else ("different", gap)


def _raising(error: BaseException, found: Outcome) -> tuple[str, str]:
    if found.error is None:
        return "different", f"expected {type(error).__name__}, got {found.value!r}"
    both = isinstance(error, ChainruleError) and isinstance(found.error, ChainruleError)
    if both or isinstance(found.error, type(error)):
        return "same", ""
    kind = "refused" if isinstance(found.error, ChainruleError) else "raw"
    return kind, f"expected {type(error).__name__}, got {type(found.error).__name__}: {found.error}"


def difference(expected: Any, found: Any, at: str = "result", digits: float = 0.0) -> str | None:
    """The first way in which two results differ beyond rounding."""
    if isinstance(expected, cr.Variable):
        expected = expected.value
    if isinstance(found, cr.Variable):
        found = found.value
    if isinstance(expected, (bool, int, float, complex, np.generic, np.ndarray)):
        return _numbers(expected, found, at, digits)
    if type(expected) is not type(found):
        return f"{at}: {type(expected).__name__} became {type(found).__name__}: {found!r}"
    if isinstance(expected, dict):
        if list(expected) != list(found):
            return f"{at}: keys {list(expected)} became {list(found)}"
        return _items([(k, expected[k], found[k]) for k in expected], at, digits)
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(found):
            return f"{at}: length {len(expected)} became {len(found)}"
        pairs = zip(expected, found, strict=True)
        return _items([(i, a, b) for i, (a, b) in enumerate(pairs)], at, digits)
    if hasattr(expected, "__dict__") and not callable(expected):
        return difference(vars(expected), vars(found), at, digits)
    return None if expected == found else f"{at}: {expected!r} became {found!r}"


def _items(items: list[tuple[Any, Any, Any]], at: str, digits: float) -> str | None:
    gaps = (difference(a, b, f"{at}[{k!r}]", digits) for k, a, b in items)
    return next((gap for gap in gaps if gap is not None), None)


def _numbers(expected: Any, found: Any, at: str, digits: float) -> str | None:
    if not isinstance(found, (bool, int, float, complex, np.generic, np.ndarray)):
        return f"{at}: {expected!r} became {type(found).__name__} {found!r}"
    a, b = np.asarray(expected), np.asarray(found)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{at}: {a.dtype}{a.shape} {a} became {b.dtype}{b.shape} {b}"
    same = _close(a, b, digits) if a.dtype.kind in "fc" else np.array_equal(a, b)
    return None if same else f"{at}: {a} became {b}"


def _close(a: np.ndarray, b: np.ndarray, digits: float) -> bool:
    """Within rounding of the largest number; NaN equals NaN, an infinity itself."""
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)):
        return False
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    a, b = a[finite], b[finite]
    bytes_ = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)
    largest = np.max(np.abs(a), initial=1e-3).astype(float)
    return bool(np.all(np.abs(a - b).astype(float) <= max(digits, DIGITS[bytes_]) * largest))

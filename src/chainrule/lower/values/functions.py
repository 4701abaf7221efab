"""The scalar functions of a map, and for which kinds of numbers each is written."""

from __future__ import annotations

from chainrule.lower.maths import FUNCTIONS

COMPARISONS = frozenset({"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"})
LOGICAL = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
# The functions that are an instruction or a few; `code/scalars.py` writes them.
SIMPLE = {
    **dict.fromkeys(("add", "subtract", "multiply", "negative", "positive", "copy", "square",
                     "absolute", "maximum", "minimum", *COMPARISONS, "where"), "fi"),
    **dict.fromkeys(("divide", "fmod", "reciprocal", "sqrt", "fabs", "floor", "ceil", "trunc",
                     "rint", "copysign", "sign", "fmax", "fmin", "isnan", "isfinite", "isinf",
                     "signbit"), "f"),
    **dict.fromkeys(LOGICAL, "i"),
}  # fmt: skip


def maths_name(function: str) -> str:
    """The name in `maths/` of a function that NumPy or SciPy may name otherwise."""
    return {"expit": "sigmoid", "power": "pow"}.get(function, function)


def kinds_of(function: str) -> str:
    """The kinds of numbers, by first letter, that a function is written for; "" if it is not."""
    return SIMPLE.get(function) or ("f" if maths_name(function) in FUNCTIONS else "")

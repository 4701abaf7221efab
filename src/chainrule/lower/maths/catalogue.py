"""The functions there are, and the text of a module that defines the wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from chainrule.lower.maths import (
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    logistic,
    power,
    roots,
    trigonometric,
)
from chainrule.lower.maths.builder import FORMATS, Vector, Writer


@dataclass(frozen=True, slots=True)
class Function:
    """One function: the body that writes it, how it is computed, its largest error in ulp."""

    arguments: int
    method: str
    ulp: float
    body: Callable[..., Vector]


@dataclass(frozen=True, slots=True)
class Definitions:
    """Text of function definitions; `declares` are the lines that a module holds once.

    `cold` are modules by the symbols that they define, which must be linked to this one.
    """

    text: str
    declares: frozenset[str]
    cold: Mapping[str, str]


FUNCTIONS: dict[str, Function] = {
    "exp": Function(1, "2^k·e^r, polynomial in r", 1.0, exponential.exp),
    "exp2": Function(1, "2^k·2^r, polynomial in r", 1.0, exponential.exp2),
    "expm1": Function(1, "2^k·(e^r − 1) + (2^k − 1)", 1.25, exponential.expm1),
    "log": Function(1, "k·ln 2 + log m, series in ((m−1)/(m+1))²", 1.1, logarithm.log),
    "log2": Function(1, "k + log m / ln 2", 1.25, logarithm.log2),
    "log10": Function(1, "(k·ln 2 + log m) / ln 10", 1.25, logarithm.log10),
    "log1p": Function(1, "log of 1 + x and of what that addition lost", 1.75, logarithm.log1p),
    "sin": Function(1, "±sin r or ±cos r with x = n·π/2 + r, |r| ≤ π/4", 1.6, trigonometric.sin),
    "cos": Function(1, "sin(x + π/2)", 1.6, trigonometric.cos),
    "tan": Function(1, "sin r / cos r or −cos r / sin r, corrected", 1.75, trigonometric.tan),
    "tanh": Function(1, "1 − 2/(e^2|x| + 1), or a series near 0", 1.8, hyperbolic.tanh),
    "sinh": Function(1, "(e^|x| − e^−|x|)/2, or a series near 0", 1.75, hyperbolic.sinh),
    "cosh": Function(1, "(e^|x| + e^−|x|)/2", 1.4, hyperbolic.cosh),
    "sigmoid": Function(1, "e/(1 + e) or 1/(1 + e) with e = e^−|x|", 1.6, logistic.sigmoid),
    "softplus": Function(1, "max(x, 0) + log(1 + e^−|x|)", 2.0, logistic.softplus),
    "pow": Function(2, "2^(y·log2 x), the logarithm to twice the digits", 1.6, power.pow),
    "erf": Function(1, "1 − e^(−x·q(x)), one polynomial q", 1.25, error_function.erf),
    "erfc": Function(
        1, "e^(−x²)·h(t)/(1 + 2x), t = (x − 2.5)/(x + 2.5)", 1.75, error_function.erfc
    ),
    "arcsin": Function(
        1, "series, or π/2 − 2·arcsin √((1 − |x|)/2)", 1.8, inverse_trigonometric.arcsin
    ),
    "arccos": Function(1, "as arcsin", 1.25, inverse_trigonometric.arccos),
    "arctan": Function(
        1, "series in t², where t is |x| or 1/|x|", 1.5, inverse_trigonometric.arctan
    ),
    "arctan2": Function(
        2, "arctan of the smaller over the larger", 1.9, inverse_trigonometric.arctan2
    ),
    "arcsinh": Function(
        1, "log(1 + w), w = |x| + x²/(1 + √(1 + x²))", 1.8, inverse_hyperbolic.arcsinh
    ),
    "arccosh": Function(
        1, "log(1 + w), w = t + √(t² + 2t), t = x − 1", 1.75, inverse_hyperbolic.arccosh
    ),
    "arctanh": Function(1, "½·log(1 + w), w = 2|x|/(1 − |x|)", 1.75, inverse_hyperbolic.arctanh),
    "lgamma": Function(
        1, "(x − 1)(x − 2)·R or Stirling's series; the bound is for x > 0", 2.0, gamma.lgamma
    ),
    "digamma": Function(
        1, "(x − x₀)·P or log x − G(1/x)/x; the bound is for x > 0", 1.9, gamma.digamma
    ),
    "cbrt": Function(1, "polynomial, then a step of Halley's method", 0.6, roots.cbrt),
}


def function_name(name: str, dtype: str, lanes: int) -> str:
    """The symbol of one form of a function: `@cr_exp_f64x8`."""
    return f"@cr_{name}_{dtype}x{lanes}"


def definitions(wanted: Iterable[tuple[str, str, int]]) -> Definitions:
    """Each wanted (name, dtype, lanes) once.

    >>> found = definitions([("exp", "f64", 8)])
    >>> module = "\\n".join([*sorted(found.declares), found.text])
    """
    written = [_written(*function) for function in dict.fromkeys(wanted)]
    declares = frozenset().union(*(writer.declares for _, writer in written))
    cold = {symbol: text for _, writer in written for symbol, text in writer.cold.items()}
    return Definitions("\n".join(text for text, _ in written), declares, cold)


@cache
def _written(name: str, dtype: str, lanes: int) -> tuple[str, Writer]:
    """The text of one function, and what wrote it."""
    writer = Writer(FORMATS[dtype], lanes)
    function = FUNCTIONS[name]
    kind = writer.type(writer.format.element)
    arguments = [f"%{letter}" for letter in "xy"[: function.arguments]]
    values = [Vector(writer, writer.format.element, argument) for argument in arguments]
    result = function.body(writer, *values)
    symbol = function_name(name, dtype, lanes)
    head = ", ".join(f"{kind} {argument}" for argument in arguments)
    lines = [
        f"define internal {kind} {symbol}({head}) alwaysinline nounwind {{",
        "entry:",
        *writer.lines,
        f"  ret {kind} {result}",
        "}",
        "",
    ]
    assert not writer.needs, "only rare functions are so long that they call others"
    return "\n".join(lines), writer

"""The usual cures of a NaN or an infinity: a table, patterns of several ops before single ones.

A cure is a first suggestion, and the tests prove of each that it cures the program it is made for.
They lean on structural zeros: in `np.where(x > 0, np.log(x), 0)` the lane that is not taken has no
part in the gradient, so one `where` around the function is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.op import OPS
from chainrule.explain.blame import Event
from chainrule.explain.origins import fits_double, leaves_of, lineage, same_place

PRODUCTS = {"multiply", "matmul", "dot", "vdot", "inner", "vecdot", "einsum_pair"}


MANY = 8  # turns of a line on its own results that are a loop


class Case:
    """One origin, and what became of it, as the table asks about it."""

    def __init__(self, event: Event, events: Sequence[Event], users: Set[str]):
        self.event, self.events, self.users = event, events, users
        node = event.node
        self.op = "" if node.rule is None else node.op.name
        self.how = event.how

    @property
    def x(self) -> float:
        """The first operand, if it is one number; else NaN."""
        return self.operand(0)

    @property
    def y(self) -> float:
        return self.operand(1)

    def operand(self, i: int) -> float:
        operands = self.event.operands
        value = operands[i].value if i < len(operands) else None
        if value is None or np.ndim(value) or np.iscomplexobj(value):
            return np.nan
        return float(value)

    def made_by(self, i: int) -> str:
        """The op that computed operand i."""
        operands = self.event.operands
        node = operands[i].node if i < len(operands) else None
        return "" if node is None or node.rule is None else node.op.name

    def above(self, i: int) -> set[str]:
        """The ops that computed operand i and, through which derivatives flow, its operands."""
        operands = self.event.operands
        node = operands[i].node if i < len(operands) else None
        near = [] if node is None else [node, *node.parents]
        return {n.op.name for n in near if n.rule is not None}

    @property
    def through(self) -> Set[str]:
        """The ops its value, or its trouble, went through."""
        return self.users | {e.node.op.name for e in self.events if e.node.rule is not None}

    @property
    def meets_zero(self) -> bool:
        """Whether its infinity was, or its derivative is, multiplied by 0."""
        met = any(
            e.when == "forward" and e.kind == "NaN" and e.node.op.name in PRODUCTS
            for e in self.events
            if e.role == "carrier"
        )
        back = (e.how for e in self.events if e.node is self.event.node and e.when == "backward")
        return met or (bool(self.users & PRODUCTS) and any(h.startswith("0 ×") for h in back))

    @property
    def weighted_by_input(self) -> bool:
        """Whether its infinity meets a zero that depends on the same input: x log x."""
        mine = leaves_of(self.event.node)
        return any(
            e.node.op.name in PRODUCTS
            and len(e.node.parents) > 1
            and all(leaves_of(p) & mine for p in e.node.parents)
            for e in self.events
            if e.role == "carrier" and e.node.rule is not None
        )

    @property
    def repeated(self) -> bool:
        """Whether its line ran again and again on its own results, as in a loop."""
        node: Node | None = self.event.node
        turns = 0
        while node is not None and turns < MANY:
            above = [p for p in node.parents if p.rule is not None]
            same = next((n for n in lineage(above) if same_place(n, self.event.node)), None)
            node, turns = same, turns + 1
        return turns >= MANY

    @property
    def at_exponent(self) -> bool:
        """Whether it is the derivative by the second operand."""
        node = self.event.node
        slots = [i for i, p in zip(node.rule.positions, node.parents, strict=True)
                 if p is self.event.parent]  # fmt: skip
        return slots == [1]

    @property
    def empty(self) -> bool:
        return any(np.size(o.value) == 0 for o in self.event.operands if o.value is not None)


@dataclass(frozen=True, eq=False)
class Cure:
    """What usually goes wrong here, and what to write instead."""

    key: str
    ops: frozenset[str]  # the ops it is about; empty: any
    why: str
    advice: str
    applies: Callable[[Case], Any] = field(repr=False, default=lambda _: True)

    def fits(self, case: Case) -> bool:
        return (not self.ops or case.op in self.ops) and bool(self.applies(case))

    def __str__(self) -> str:
        return f"{self.why}: {self.advice}" if self.why else self.advice


CURES: dict[str, Cure] = {}


def cure(
    key: str, ops: str, why: str, advice: str, applies: Callable[[Case], Any] = lambda _: True
) -> None:
    CURES[key] = Cure(key, frozenset(ops.split()), why, advice, applies)


def cure_for(event: Event, events: Sequence[Event], users: Set[str] = frozenset()) -> Cure:
    """The first cure of the table that fits; `users` are the ops that its value goes through."""
    case = Case(event, events, users)
    return next(c for c in CURES.values() if c.fits(case))


# -- what was given --------------------------------------------------------------------------------

cure("an input", "",
     "the input was not finite when it was given",
     "look at it with np.isfinite(x).all(); leave such rows out, or select before they are used: "
     "np.where(np.isfinite(x), x, 0)",
     lambda c: c.event.role == "input")  # fmt: skip
cure("an infinite constant", "",
     "an infinite constant met a zero, or another infinity",
     "take a large finite number (-1e30 masks a softmax as well as -inf does), or leave the lanes "
     "out: np.where(mask, x, 0)",
     lambda c: c.event.role == "constant" and c.event.kind != "NaN")  # fmt: skip
cure("a constant", "",
     "a constant array holds NaN",
     "select before it is used: np.where(np.isnan(a), 0, a), or leave those rows out",
     lambda c: c.event.role == "constant")  # fmt: skip
cure("a seed", "",
     "the seed of the backward pass was not finite",
     "pass a finite one",
     lambda c: c.event.role == "seed")  # fmt: skip

# -- overflow of a narrow type ---------------------------------------------------------------------


cure("a narrow type", "",
     "float32 ends at 3.4e38, float16 at 65504",
     "keep it in float64 from the start: the gradient has the type of the input",
     lambda c: c.event.when == "forward" and c.how == "overflow"
     and fits_double(c.event))  # fmt: skip

# -- exponentials ----------------------------------------------------------------------------------

EXPONENTIALS = "exp exp2 expm1 sinh cosh power float_power"


def _overflows(case: Case) -> bool:
    return case.how == "overflow"


cure("a softmax without a shift", "exp",
     "exp overflows beyond 709, and inf / inf is NaN",
     "cr.softmax(x) subtracts the maximum first (cr.log_softmax for its logarithm)",
     lambda c: _overflows(c) and {"sum", "divide"} <= c.through)  # fmt: skip
cure("a log of a sum of exponentials", "exp",
     "exp overflows beyond 709",
     "cr.logsumexp(x), or np.logaddexp(a, b) for two terms",
     lambda c: _overflows(c) and {"sum", "log"} <= c.through)  # fmt: skip
cure("a softplus by hand", "exp",
     "exp overflows beyond 709 although log(1 + exp(x)) does not",
     "cr.softplus(x), or np.logaddexp(0, x)",
     lambda c: _overflows(c) and c.through & {"log", "log1p"})  # fmt: skip
cure("a sigmoid by hand", "exp",
     "exp overflows beyond 709, and its derivative is inf × 0",
     "cr.expit(x)",
     lambda c: _overflows(c) and "add" in c.through
     and c.through & {"divide", "reciprocal", "power"})  # fmt: skip
cure("an exponential that overflows", "exp exp2 expm1 sinh cosh",
     "the exponential of more than 709 is beyond the largest double",
     "stay with its logarithm as long as you can, or bound the argument: "
     "np.exp(np.minimum(x, 700))",
     _overflows)  # fmt: skip

# -- logarithms ------------------------------------------------------------------------------------

LOGARITHMS = "log log2 log10 log1p"


def _at_pole(case: Case) -> bool:
    return case.x == (-1 if case.op == "log1p" else 0)


def _below_pole(case: Case) -> bool:
    return case.x < (-1 if case.op == "log1p" else 0)


cure("the log of a softmax", LOGARITHMS,
     "a probability underflowed to 0",
     "cr.log_softmax(x) computes the logarithm without the probability",
     lambda c: _at_pole(c)
     and ("softmax" in c.above(0) or {"divide", "sum"} <= c.above(0)))  # fmt: skip
cure("the log of a density", LOGARITHMS,
     "exp underflowed to 0 before its logarithm was taken",
     "write the logarithm itself: of exp(a) / s it is a - np.log(s)",
     lambda c: _at_pole(c) and "exp" in c.above(0))  # fmt: skip
cure("the log of a sigmoid", LOGARITHMS,
     "a probability underflowed to 0",
     "cr.log_expit(x) computes the logarithm without the probability; log(1 - p) is "
     "cr.log_expit(-x)",
     lambda c: _at_pole(c) and "expit" in c.above(0))  # fmt: skip
cure("x log x at 0", LOGARITHMS,
     "0 × log 0 is NaN, and the derivative of x log x at 0 is infinite",
     "select around the product: np.where(x > 0, x * np.log(x), 0) has the gradient 0 there",
     lambda c: _at_pole(c) and c.meets_zero and c.weighted_by_input)  # fmt: skip
cure("0 × log 0", LOGARITHMS,
     "0 × inf is NaN",
     "cr.xlogy(w, x) is 0 where w is 0, with a gradient of 0",
     lambda c: _at_pole(c) and c.meets_zero)  # fmt: skip
cure("the log of zero", LOGARITHMS,
     "log 0 is -inf, with the derivative 1/0",
     "work with logarithms of densities (np.logaddexp, cr.logsumexp), leave the zeros out "
     "(np.where(x > 0, np.log(x), 0)), or weight them by 0 with cr.xlogy(w, x)",
     _at_pole)  # fmt: skip
cure("the log of a negative number", LOGARITHMS,
     "the logarithm of a negative number is not real",
     "keep the argument positive, as np.exp(raw) or cr.softplus(raw), or leave it out: "
     "np.where(x > 0, np.log(x), 0)",
     _below_pole)  # fmt: skip

# -- roots and powers ------------------------------------------------------------------------------

cure("a norm by hand", "sqrt power",
     "the root of a sum of squares has the derivative inf × 0 at 0",
     "np.linalg.norm(x), whose gradient there is 0",
     lambda c: c.x == 0 and (c.op == "sqrt" or c.y == 0.5)
     and c.made_by(0) in ("sum", "dot", "matmul", "vdot", "inner", "einsum_pair", "einsum_single",
                          "square", "power", "add"))  # fmt: skip
cure("a variance as a difference", "sqrt",
     "E[x²] - E[x]² comes out negative by rounding",
     "np.std(x), or np.var(x): they subtract the mean first",
     lambda c: c.x <= 0 and {"subtract", "mean"} <= c.above(0))  # fmt: skip
cure("a root at zero", "sqrt",
     "the derivative 1 / (2√x) is infinite at 0",
     "np.where(x > 0, np.sqrt(x), 0) has the gradient 0 there; np.sqrt(x + 1e-12) a large one",
     lambda c: c.x == 0)  # fmt: skip
cure("a root of a negative number", "sqrt",
     "the root of a negative number is not real",
     "np.sqrt(np.maximum(x, 0)) if it is negative by rounding; np.emath.sqrt if it is meant",
     lambda c: c.x < 0)  # fmt: skip
cure("a cube root at zero", "cbrt",
     "the derivative of the cube root is infinite at 0",
     "np.where(x != 0, np.cbrt(x), 0)",
     lambda c: c.x == 0)  # fmt: skip
cure("an exponent of a negative base", "power float_power",
     "the derivative by the exponent reads log(base), which is not real below 0",
     "make the exponent a plain number, or cr.stop_gradient(exponent)",
     lambda c: c.x <= 0 and c.event.when == "backward" and c.at_exponent)  # fmt: skip
cure("a power of a negative base", "power float_power",
     "a negative number has no real fractional power",
     "np.maximum(x, 0) ** p, or np.sign(x) * np.abs(x) ** p",
     lambda c: c.x < 0 and c.y != np.round(c.y))  # fmt: skip
cure("a negative power of zero", "power float_power",
     "0 to a negative power is 1/0",
     "np.where(x != 0, x ** p, 0)",
     lambda c: c.x == 0 and c.y < 0)  # fmt: skip
cure("a fractional power at zero", "power float_power",
     "the derivative p·x^(p-1) is infinite at 0 for p < 1",
     "np.where(x > 0, x ** p, 0)",
     lambda c: c.x == 0 and c.y < 1)  # fmt: skip

# -- division --------------------------------------------------------------------------------------

cure("sin(x) / x", "divide",
     "0 / 0 although the limit exists",
     "np.sinc(x / np.pi) for sin(x) / x, cr.exprel(x) for (exp(x) - 1) / x",
     lambda c: c.x == c.y == 0 and c.made_by(0) in ("sin", "expm1"))  # fmt: skip
cure("division by a spread of zero", "divide",
     "the values are all equal, so their deviation is 0",
     "(x - np.mean(x)) / (np.std(x) + 1e-8); of a deviation of your own, add it below the root: "
     "np.sqrt(np.mean((x - m) ** 2) + 1e-8)",
     lambda c: c.y == 0 and c.made_by(1) in ("deviation", "divide", "ptp", "sqrt"))  # fmt: skip
cure("division by a norm of zero", "divide",
     "the vector to be normalised is 0",
     "n = np.linalg.norm(x); x / np.where(n > 0, n, 1)",
     lambda c: c.y == 0 and c.made_by(1) in ("euclidean_norm", "power_norm", "absolute",
                                              "hypot"))  # fmt: skip
cure("a ratio inside a logarithm", "divide",
     "the logarithm of a number divided by 0 is infinite",
     "keep the divisor above 0: x / np.maximum(y, 1e-12), or compute it as cr.softmax(raw)",
     lambda c: c.y == 0 and c.through & {"log", "log2", "log10"})  # fmt: skip
cure("0 / 0", "divide",
     "0 / 0 has no value",
     "leave it out: np.where(y != 0, x / y, 0)",
     lambda c: c.x == c.y == 0)  # fmt: skip
cure("division by zero", "divide reciprocal floor_divide remainder fmod",
     "the derivative of x / y reads 1 / y²",
     "leave it out: np.where(y != 0, x / y, 0), or keep y away from 0",
     lambda c: (c.x if c.op == "reciprocal" else c.y) == 0)  # fmt: skip
cure("a mean of nothing", "",
     "the mean of an empty array is 0 / 0",
     "look at x.size first",
     lambda c: c.empty)  # fmt: skip

# -- the edge of a domain --------------------------------------------------------------------------

cure("an angle at 0 or π", "arccos arcsin",
     "the derivative 1/√(1 - x²) is infinite at 1 and -1",
     "for the angle between u and v: np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v)",
     lambda c: abs(c.x) == 1)  # fmt: skip
cure("an angle beyond 1", "arccos arcsin",
     "only numbers from -1 to 1 are a cosine",
     "np.arccos(np.clip(x, -1, 1)) if it is rounding",
     lambda c: abs(c.x) > 1)  # fmt: skip
cure("the edge of a domain", "arctanh erfinv",
     "the function is infinite at 1 and -1, and has no value beyond",
     "np.clip(x, -1 + 1e-12, 1 - 1e-12) first",
     lambda c: abs(c.x) >= 1)  # fmt: skip
cure("a probability of 0 or 1", "logit ndtri",
     "the function is infinite at 0 and 1, and has no value beyond",
     "np.clip(p, 1e-12, 1 - 1e-12) first, or keep the logit and never the probability",
     lambda c: not 0 < c.x < 1)  # fmt: skip
cure("arccosh below 1", "arccosh",
     "arccosh has no value below 1 and an infinite derivative at 1",
     "np.where(x > 1, np.arccosh(np.maximum(x, 1)), 0)",
     lambda c: c.x <= 1)  # fmt: skip
cure("a pole of gamma", "gamma gammaln loggamma digamma psi polygamma",
     "gamma has poles at 0, -1, -2, …",
     "keep the argument positive: cr.softplus(raw) + 1e-6",
     lambda c: c.x <= 0)  # fmt: skip

# -- the rest --------------------------------------------------------------------------------------

cure("a loop that grows", "",
     "each turn of the loop makes it larger",
     "divide by its norm in each turn (h = h / np.linalg.norm(h)), bound it (h = np.tanh(h)), or "
     "take fewer turns",
     lambda c: c.event.when == "forward" and _overflows(c) and c.repeated)  # fmt: skip
cure("a product that overflows", "prod cumprod",
     "the product is beyond the largest number",
     "add logarithms: np.sum(np.log(np.abs(x)))",
     _overflows)  # fmt: skip
cure("a sum of gradients that overflows", "",
     "finite contributions to one gradient add up to more than the largest number",
     "scale the output down before differentiating",
     lambda c: c.how == "sum")  # fmt: skip
cure("an overflow", "",
     "the result is beyond the largest number",
     "scale the data down first (x / np.max(np.abs(x))), or work with logarithms",
     _overflows)  # fmt: skip
cure("a function of your own", "",
     "a function of your own gave it",
     "look at its value and its derivative at the operands above",
     lambda c: c.op and c.op not in OPS)  # fmt: skip
cure("none", "",
     "",
     "no usual cure is known; leave the lane out with np.where(condition, result, 0) around the "
     "operation")  # fmt: skip

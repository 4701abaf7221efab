"""Which usual cure fits a NaN or an infinity: one of any op, or one that the op's record lists.

A cure is a first suggestion, and the tests prove of each that it cures the program it is made for.
They lean on structural zeros: in `np.where(x > 0, np.log(x), 0)` the lane that is not taken has no
part in the gradient, so one `where` around the function is enough.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.node import Node
from chainrule.explain.blame import Event
from chainrule.explain.origins import fits_double, leaves_of, lineage, same_place

LOOP_TURNS = 8  # turns of a line on its own results that are a loop


class Case:
    """One origin, and what became of it, as a cure asks about it."""

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
    def overflows(self) -> bool:
        return self.how == "overflow"

    @property
    def grows(self) -> bool:
        """Whether it overflows in a loop."""
        return self.event.when == "forward" and self.overflows and self.repeated

    def meets_zero(self, products: Set[str]) -> bool:
        """Whether its infinity was, or its derivative is, multiplied by 0."""
        met = any(
            e.when == "forward" and e.kind == "NaN" and e.node.op.name in products
            for e in self.events
            if e.role == "carrier"
        )
        back = (e.how for e in self.events if e.node is self.event.node and e.when == "backward")
        return met or (bool(self.users & products) and any(h.startswith("0 ×") for h in back))

    def weighted_by_input(self, products: Set[str]) -> bool:
        """Whether its infinity meets a zero that depends on the same input: x log x."""
        mine = leaves_of(self.event.node)
        return any(
            e.node.op.name in products
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
        while node is not None and turns < LOOP_TURNS:
            above = [p for p in node.parents if p.rule is not None]
            same = next((n for n in lineage(above) if same_place(n, self.event.node)), None)
            node, turns = same, turns + 1
        return turns >= LOOP_TURNS

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


def cure_for(event: Event, events: Sequence[Event], users: Set[str] = frozenset()) -> Cure:
    """The first cure that fits; `users` are the ops that the event's value goes through."""
    case = Case(event, events, users)
    own = event.node.op.cure if event.node.rule is not None else ()
    return next(c for c in (*BEFORE, *own, *AFTER) if c.applies(case))


BEFORE = (  # cures of what is no op's doing
    Cure("an input",
         "the input was not finite when it was given",
         "look at it with np.isfinite(x).all(); leave such rows out, or select before they are "
         "used: np.where(np.isfinite(x), x, 0)",
         lambda c: c.event.role == "input"),
    Cure("an infinite constant",
         "an infinite constant met a zero, or another infinity",
         "take a large finite number (-1e30 masks a softmax as well as -inf does), or leave the "
         "lanes out: np.where(mask, x, 0)",
         lambda c: c.event.role == "constant" and c.event.kind != "NaN"),
    Cure("a constant",
         "a constant array holds NaN",
         "select before it is used: np.where(np.isnan(a), 0, a), or leave those rows out",
         lambda c: c.event.role == "constant"),
    Cure("a seed",
         "the seed of the backward pass was not finite",
         "pass a finite one",
         lambda c: c.event.role == "seed"),
    Cure("a narrow type",
         "float32 ends at 3.4e38, float16 at 65504",
         "keep it in float64 from the start: the gradient has the type of the input",
         lambda c: c.event.when == "forward" and c.overflows and fits_double(c.event)),
)  # fmt: skip

AFTER = (  # cures of any op, where its record lists none that fits
    Cure("a mean of nothing",
         "the mean of an empty array is 0 / 0",
         "look at x.size first",
         lambda c: c.empty),
    Cure("a loop that grows",
         "each turn of the loop makes it larger",
         "divide by its norm in each turn (h = h / np.linalg.norm(h)), bound it "
         "(h = np.tanh(h)), or take fewer turns",
         lambda c: c.grows),
    Cure("a sum of gradients that overflows",
         "finite contributions to one gradient add up to more than the largest number",
         "scale the output down before differentiating",
         lambda c: c.how == "sum"),
    Cure("an overflow",
         "the result is beyond the largest number",
         "scale the data down first (x / np.max(np.abs(x))), or work with logarithms",
         lambda c: c.overflows),
    Cure("a function of your own",
         "a function of your own gave it",
         "look at its value and its derivative at the operands above",
         lambda c: c.op and not c.event.node.op.registered),
    Cure("none",
         "",
         "no usual cure is known; leave the lane out with np.where(condition, result, 0) around "
         "the operation"),
)  # fmt: skip

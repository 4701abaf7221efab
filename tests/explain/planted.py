"""Copies of an op's record in which one rule is wrong by a factor: what a checker must find."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from chainrule.core.masked import Masked
from chainrule.core.op import Gate, Op, Partials, Rules
from chainrule.core.parts import Parts
from chainrule.core.rule import flows_of


class Scaled:
    """A rule or a partial times a factor, reading the same names as the right one."""

    def __init__(self, right: Any, factor: float):
        self.right, self.factor = right, factor
        self.__signature__ = inspect.signature(right)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.right(*args, **kwargs)
        if isinstance(found, Parts):
            return Parts([None if p is None else self.factor * p for p in found])
        if isinstance(found, Masked):
            return Masked(self.factor * found.value, found.alive)
        return self.factor * found


def planted(op: Op, position: int, mode: str, factor: float = 1.001) -> Op:
    """The op with a wrong rule for one input; for partials, which serve both modes, in both."""
    if isinstance(op.derivative, Partials):
        factors = list(op.derivative.factors)
        factors[position] = _scaled_partial(factors[position], factor)
        return replace(op, derivative=Partials(tuple(factors)), variant=None)
    flows = [list(flow) if flow else [None, None] for flow in flows_of(op, len(op.inputs))]
    way = ["reverse", "forward"].index(mode)
    flows[position][way] = Scaled(flows[position][way], factor)
    reverse, forward = zip(*flows, strict=True)
    return replace(op, derivative=Rules(reverse, forward), variant=None)


def _scaled_partial(partial: Any, factor: float) -> Any:
    if isinstance(partial, int):
        return lambda: factor * partial
    if isinstance(partial, str):  # "y" or "1 / y"
        name = partial.removeprefix("1 / ")
        return eval(f"lambda {name}: factor * ({partial})", {"factor": factor})  # noqa: S307
    if isinstance(partial, Gate):
        return Gate(Scaled(partial.weights, factor))
    return Scaled(partial, factor)

"""What machine code is held to: the interpreter's numbers, to 12 digits, or to what rounding moves.

Machine code adds in another order than NumPy and has its own exp and log, good to 2 units in the
last place, as NumPy's are.  Where a program subtracts nearly equal numbers, that is all that is left
of them: 1 - cos(x) at 1e-8, or a gradient that is zero in truth.  So a number may differ

    by 1e-12 of itself, or else
    by 4 times what it moves when the interpreter rounds every operation otherwise.

How far it moves is measured in the program itself: all of it is computed again, six times, with every
result moved by up to one unit in the last place, and so the operands of every op that may add
inside it; branches are taken as they were.  This is done only for programs of which a number differs by more than 1e-12, and those are
counted.  A number that moves by 1e-9 of the largest of all in the program is not excused: it has no
digits, and that is to be looked at.  In float32 there are 5 digits in the place of 12, and 1e-3 in
that of 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.core.containers import flatten
from chainrule.core.node import Node
from chainrule.core.replay import arguments, evaluated
from chainrule.diff.run import recorded_run
from tests.agree.compare import direction, flat_function
from tests.agree.programs import Program
from tests.ops.table import Case, directions

RELATIVE = {8: 1e-12, 4: 1e-5, 2: 1e-2}  # by the bytes of a number
REPLAYS = 6
ROUNDINGS = 4.0  # how many times the movement that was seen
NO_DIGITS = {
    8: 1e-9,
    4: 1e-3,
    2: 1.0,
}  # a movement of this much of the largest number is no rounding


@dataclass(frozen=True)
class Agreement:
    """How far apart the numbers of two results are."""

    entries: int = 0
    relative: float = 0.0  # the largest difference of those within 1e-12 of themselves, in float64
    narrow: float = 0.0  # and of those in float32 within 1e-5
    beyond: int = 0  # how many are not
    roundings: float = 0.0  # the largest difference of these, by how far rounding moves them

    @property
    def agrees(self) -> bool:
        return self.roundings <= ROUNDINGS


def compared(f: Callable[..., Any], *args: Any) -> Agreement:
    """f interpreted and compiled, called twice: the second call is the first without Python."""
    with np.errstate(all="ignore"):
        expected = numbers(f(*args))
        fast = cr.compile(f)
        for found in (numbers(fast(*args)), numbers(fast(*args))):
            assert [(a.shape, a.dtype) for a in found] == [(b.shape, b.dtype) for b in expected]
        return _agreement(f, args, found, expected)


def assert_agrees(f: Callable[..., Any], *args: Any, says: Any = "") -> Agreement:
    found = compared(f, *args)
    assert found.agrees, f"{found}\n{says}"
    return found


def numbers(result: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in flatten(result)[0]]


def _agreement(f: Any, args: Any, found: list[Any], expected: list[Any]) -> Agreement:
    gaps = [_gap(a, b) for a, b in zip(found, expected, strict=True)]
    far = [gap > _allowed(b) * np.abs(b) for gap, b in zip(gaps, expected, strict=True)]
    beyond = sum(int(np.sum(over)) for over in far)
    moved = movement(f, args) if beyond else gaps
    largest = {8: 0.0, 4: 0.0, 2: 0.0}
    roundings = 0.0
    for gap, b, over, m in zip(gaps, expected, far, moved, strict=True):
        within = float(np.max(_share(gap, np.abs(b))[~over], initial=0.0))
        largest[_bytes(b)] = max(largest[_bytes(b)], within)
        roundings = max(roundings, float(np.max(_share(gap, m)[over], initial=0.0)))
    return Agreement(
        sum(b.size for b in expected), largest[8], max(largest[4], largest[2]), beyond, roundings
    )


def _allowed(array: Any) -> float:
    """What a number of this type may differ by, relative to itself; nothing unless it is rounded."""
    return RELATIVE[_bytes(array)] if array.dtype.kind in "fc" else 0.0


def _bytes(array: Any) -> int:
    """Of a number of this type, or of a part of a complex one; what is exact counts as float64."""
    return int(array.real.itemsize) if array.dtype.kind in "fc" else 8


def _gap(found: Any, expected: Any) -> Any:
    """|found - expected|; infinite where only one of them is finite, or what is exact differs."""
    same = (found == expected) | ((found != found) & (expected != expected))
    if expected.dtype.kind not in "fc":
        return np.where(same, 0.0, np.inf)
    gap = np.abs(found - expected)
    return np.where(same, 0.0, np.where(np.isfinite(gap), gap, np.inf))


def _share(part: Any, whole: Any) -> Any:
    """part / whole, zero where the part is."""
    return np.where(part == 0, 0.0, part / np.where(part == 0, 1.0, whole))


# -- rounding otherwise ----------------------------------------------------------------------------


def movement(f: Callable[..., Any], args: Any) -> list[Any]:
    """How far each number of a result moves when every operation is rounded otherwise."""
    run = recorded_run(f, *args)
    outputs, known = run.graph.outputs, {n: run.value(n) for n in run.graph.nodes}
    base = [np.asarray(known[out]) for out in outputs]
    far = [np.zeros(np.shape(b)) for b in base]
    rng = np.random.default_rng(0)
    for _ in range(REPLAYS):
        again = _replayed(run, rng)
        there = [np.asarray(again[out]) for out in outputs]
        far = [np.fmax(m, _gap(t, b)) for m, t, b in zip(far, there, base, strict=True)]
    floats = [v for v in numbers(list(known.values())) if v.dtype.kind in "fc"]
    limit = NO_DIGITS[min(map(_bytes, floats))] * max(map(_largest, floats))
    return [np.where(m <= limit, m, 0.0) for m in far]


def _replayed(run: Any, rng: np.random.Generator) -> dict[Node, Any]:
    known: dict[Node, Any] = {}
    for node in run.graph.nodes:
        given = {a: known[a] for a in node.args or () if isinstance(a, Node)}
        held = node.is_leaf or node.dtype.kind in "iub"  # the same branches are taken
        known[node] = run.value(node) if held else _otherwise(node, given, rng)
    return known


def _otherwise(node: Node, given: dict[Node, Any], rng: np.random.Generator) -> Any:
    """The value of a node, rounded otherwise; what only moves and chooses numbers rounds none."""
    out = evaluated(node, arguments(node, given))
    floats = [np.ravel(v) for v in numbers(list(given.values())) if v.dtype.kind in "fc"]
    there = np.concatenate([np.zeros(1), *floats])
    if all(np.all(np.isin(part, there)) for part in numbers(out)):
        return out
    if not node.rule.elementwise:
        moved = {a: _moved(v, rng) for a, v in given.items()}
        out = evaluated(node, arguments(node, moved))
    return _moved(out, rng)


def _moved(value: Any, rng: np.random.Generator) -> Any:
    """Numbers of which the last digit is another: of equal ones the same, of whole ones none."""
    if isinstance(value, tuple):
        return tuple(_moved(v, rng) for v in value)
    if value.dtype.kind not in "fc" or not np.size(value):
        return value
    different, which = np.unique(value, return_inverse=True)
    unit = np.finfo(value.dtype).eps
    moved = different * (1 + unit * rng.uniform(-1, 1, different.shape))
    moved = np.where(different == np.rint(different), different, moved).astype(value.dtype)
    return moved[which].reshape(np.shape(value))[()]


def _largest(array: Any) -> float:
    sizes = np.abs(array)
    return float(np.max(sizes[np.isfinite(sizes)], initial=0.0))


# -- derivatives of the ops in the table -----------------------------------------------------------


def derivative(case: Case, order: int) -> Callable[..., Any] | None:
    """The order-th derivative of a sample: pulled back so often, along fixed directions.

    None where the sample has no floating-point input or result.
    """
    f: Callable[..., Any] = case
    for k in range(order):
        with np.errstate(all="ignore"):
            outputs = f(*case.point) if case.places else ()
        if not outputs:
            return None
        f = _pulled_back(f, tuple(directions([np.asarray(o) for o in outputs], k + 1)))
    return f


def _pulled_back(f: Callable[..., Any], seeds: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda *arrays: tuple(cr.vjp(f, *arrays)[1](seeds))


# -- derivatives of random programs ----------------------------------------------------------------


def program_derivative(program: Program, order: int) -> Callable[..., Any]:
    """Value and gradient of a program; of a higher order, the gradient of slopes along directions."""
    f = flat_function(program)
    if order == 1:
        return cr.value_and_grad(f)
    for k in range(order - 1):
        f = _slope(f, direction(program, k + 3))
    return cr.grad(f)


def _slope(f: Callable[..., Any], u: list[Any]) -> Callable[..., Any]:
    def along(arrays: list[Any]) -> Any:
        return sum(np.sum(g * d) for g, d in zip(cr.grad(f)(arrays), u, strict=True))

    return along

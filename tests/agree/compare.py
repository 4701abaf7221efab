"""What a program is held to: both modes, the traced graph, the peers, differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.peers import applicable, difference, gradients, peer
from tests.agree.programs import Program, by_chainrule, unpacked

TOLERANCE = 1e-9  # against a peer and between the modes, relative to the largest element
BY_DIFFERENCES = 1e-6  # against sixth-order differences
SAME_BITS = 0.0  # where the same floating-point operations are repeated
FLOOR = 1e-3  # a gradient all of whose elements are smaller counts as this large


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, how far apart, relative to what was allowed."""

    what: str
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance


@dataclass(frozen=True)
class Point:
    """A program's value and gradients by chainrule."""

    value: float
    gradients: list[Any]


def relative(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest element expected."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return float("inf")
    scale = max(FLOOR, float(np.max(np.abs(expected), initial=0.0)))
    gap = float(np.max(np.abs(found - expected), initial=0.0))
    return gap / scale if np.isfinite(gap) else float("inf")


def furthest(found: list[Any], expected: list[Any]) -> float:
    return max((relative(f, e) for f, e in zip(found, expected, strict=True)), default=0.0)


def gradient_of(program: Program, arrays: list[Any] | None = None) -> Point:
    """Reverse mode, through whatever containers the program takes its inputs in."""
    arguments = program.arguments(arrays)
    both = cr.value_and_grad(program, argnums=tuple(range(len(arguments))))
    value, found = both(*arguments)
    return Point(float(value), unpacked(program.structure, list(found), len(program.inputs)))


def direction(program: Program, salt: int = 0) -> list[Any]:
    rng = np.random.default_rng([program.number, salt])
    return [rng.standard_normal(x.shape) for x in program.inputs]


def along(gradients: list[Any], u: list[Any]) -> float:
    return float(sum(np.sum(g * d) for g, d in zip(gradients, u, strict=True)))


def forward_mode(program: Program, point: Point) -> Check:
    """⟨gradient, u⟩ is the tangent along u."""
    u = direction(program)
    value, tangent = cr.jvp(program, program.arguments(), program.arguments(u))
    scale = max(FLOOR, *(float(np.linalg.norm(g)) for g in point.gradients))
    apart = abs(float(tangent) - along(point.gradients, u)) / scale
    return Check("forward mode", max(apart, relative(value, point.value)), TOLERANCE)


def replay(program: Program, point: Point) -> list[Check]:
    """The traced graph computes the same value, there and at another point, and the same adjoints."""
    arguments = program.arguments()
    graph = cr.trace(program, *arguments)
    graph.verify()
    run = graph.forward(*arguments)
    same = 0.0 if float(run.outputs) == point.value else relative(run.outputs, point.value)
    run.backward()
    adjoints = [run.adjoint(leaf) for leaf in graph.leaves]
    flat = unpacked(
        program.structure, program.arguments(list(range(len(program.inputs)))), len(program.inputs)
    )
    order = leaf_order(program.structure)
    expected = [point.gradients[flat[k]] for k in order]
    moved = [x + 1e-7 * d for x, d in zip(program.inputs, direction(program, 5), strict=True)]
    elsewhere = graph.forward(*program.arguments(moved)).outputs
    return [
        Check("replayed value", same, SAME_BITS),
        Check("replayed gradient", furthest(adjoints, expected), 1e-12),
        Check("replayed elsewhere", relative(elsewhere, program(*program.arguments(moved))), 1e-13),
    ]


def define_by_run(program: Program, point: Point) -> Check:
    """Leaves made by hand, `backward()`, and what it leaves in `.grad`."""
    leaves = [cr.variable(x) for x in program.inputs]
    out = program.scalar(leaves, by_chainrule, lambda c: c, np)
    out.backward()
    found = [np.zeros(x.shape) if x.grad is None else x.grad for x in leaves]
    return Check("backward()", furthest(found, point.gradients), SAME_BITS)


def through_json(program: Program, point: Point) -> Check:
    """A saved and loaded graph computes the same value."""
    arguments = program.arguments()
    again = cr.Graph.from_json(cr.trace(program, *arguments).to_json())
    leaves = [program.inputs[i] for i in leaf_order(program.structure)]
    found = again.forward(*leaves)
    return Check("saved graph", relative(found.value(again.outputs[0]), point.value), SAME_BITS)


def leaf_order(structure: Any) -> list[int]:
    """The inputs in the order in which their containers hold them."""
    if isinstance(structure, dict):
        return [i for v in structure.values() for i in leaf_order(v)]
    if isinstance(structure, (list, tuple)):
        return [i for v in structure for i in leaf_order(v)]
    return [structure]


def plain_value(program: Program, point: Point) -> Check:
    """On arrays instead of Variables the same functions compute the same number."""
    with np.errstate(all="ignore"):
        return Check(
            "value on plain arrays", relative(program(*program.arguments()), point.value), 1e-13
        )


def against_peer(program: Program, point: Point, name: str) -> list[Check]:
    value, found = gradients(program, name)
    return [
        Check(f"value, {name}", relative(point.value, value), TOLERANCE),
        Check(f"gradient, {name}", furthest(point.gradients, found), TOLERANCE),
    ]


def flat_function(program: Program) -> Any:
    def f(arrays: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            return program(*program.arguments(arrays))

    return f


def against_differences(program: Program, point: Point, count: int = 4) -> list[Check]:
    """Directional derivatives, along random directions and along one input at a time."""
    directions = [direction(program, k + 1) for k in range(count)]
    for k, x in enumerate(program.inputs):
        if x.size:
            directions.append([d if i == k else 0 * d for i, d in enumerate(directions[0])])
    checks = []
    for k, u in enumerate(directions):
        found, error = difference(flat_function(program), program.inputs, u)
        scale = max(
            FLOOR, *(float(np.linalg.norm(g * d)) for g, d in zip(point.gradients, u, strict=True))
        )
        apart = abs(along(point.gradients, u) - float(found)) / scale
        # Where the quotients themselves do not settle, they decide nothing, and that is a failure too.
        checks.append(
            Check(f"differences, direction {k}", max(apart, error / scale), BY_DIFFERENCES)
        )
    return checks


def judges_of(program: Program, peers: tuple[str, ...]) -> list[str]:
    """The installed peers that have every step of a program, that of its flavour first."""
    able = [p for p in peers if peer(p) is not None and applicable(program, p)]
    return sorted(able, key=lambda p: p != program.flavour)


def examined(
    program: Program, peers: tuple[str, ...], most: int = 1
) -> tuple[list[Check], list[str]]:
    """All first-order checks of a program, and whom its gradient was compared with."""
    point = gradient_of(program)
    checks = [plain_value(program, point), forward_mode(program, point), *replay(program, point)]
    names = {step.entry.name for step in program.steps}
    if "assembled" not in names:  # np.zeros that can be assigned to are made by cr.grad alone
        checks.append(define_by_run(program, point))
    if program.number % 5 == 0 and "custom_function" not in names:  # code is not saved
        checks.append(through_json(program, point))
    judges = judges_of(program, peers)[:most]
    for name in judges:
        checks += against_peer(program, point, name)
    if not judges and all(step.entry.by_differences for step in program.steps):
        checks += against_differences(program, point)
        judges = ["differences"]
    return checks, judges


def located(program: Program, name: str) -> list[tuple[str, float, float]]:
    """Per step, how far its own value and gradient are from a peer's: where two libraries part."""
    found = []
    for step in program.steps:
        alone = single_output(program, step)
        point = gradient_of(alone)
        value, expected = gradients(alone, name)
        found.append((str(step), relative(point.value, value), furthest(point.gradients, expected)))
    return found


def single_output(program: Program, step: Any) -> Program:
    """The program up to a step, whose results are its only outputs."""
    rng = np.random.default_rng(program.number)
    steps = program.steps[: program.steps.index(step) + 1]
    last = step.first + step.count
    # Inputs that the builder made later than this step still have their places.
    short = replace(program, steps=program.steps, weights={})
    values = short.values([np.asarray(x) for x in program.inputs], by_chainrule, lambda c: c)
    weights = {}
    for i in range(step.first, last):
        v = np.asarray(values[i])
        w = rng.uniform(0.3, 1.0, v.shape)
        weights[i] = np.asarray(w + 1j * (1 - w) if v.dtype.kind == "c" else w)
    return replace(program, steps=steps, weights=weights)


# -- second order ----------------------------------------------------------------------------------


def second_order(program: Program) -> list[Check]:
    """Hessian × u by every nesting of the modes, and by differences of the gradient."""
    u = direction(program, 3)
    inputs = list(program.inputs)

    def f(arrays: list[Any]) -> Any:
        return program(*program.arguments(arrays))

    def slope(arrays: list[Any]) -> Any:
        return sum(np.sum(g * d) for g, d in zip(cr.grad(f)(arrays), u, strict=True))

    found = {
        "hvp": cr.hvp(f, (inputs,), (u,)),
        "forward over reverse": cr.jvp(cr.grad(f), (inputs,), (u,))[1],
        "reverse over reverse": cr.grad(slope)(inputs),
        "reverse over forward": cr.grad(lambda arrays: cr.jvp(f, (arrays,), (u,))[1])(inputs),
    }
    expected = found.pop("hvp")
    expected = list(expected[0] if isinstance(expected, tuple) else expected)
    checks = [
        Check(f"hvp, {name}", furthest(list(h), expected), TOLERANCE) for name, h in found.items()
    ]
    sizes = [x.size for x in inputs]

    def gradient(arrays: list[Any]) -> Any:
        return np.concatenate(
            [np.zeros(0), *(np.reshape(g, -1) for g in gradient_of(program, arrays).gradients)]
        )

    by_differences, error = difference(gradient, inputs, u)
    pieces = np.split(by_differences, np.cumsum(sizes)[:-1])
    apart = furthest([np.reshape(h, -1) for h in expected], pieces)
    scale = max(FLOOR, float(np.max(np.abs(by_differences), initial=0.0)))
    return [*checks, Check("hvp, differences", max(apart, error / scale), BY_DIFFERENCES)]

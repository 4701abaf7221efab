"""Random programs of tests.agree written out line by line, with a NaN or infinity planted in one.

A plant leaves every other number of the program as it is, so that nothing else can be to blame.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from tests.agree.builder import Step, results
from tests.agree.entry import Const
from tests.agree.programs import Program, gather, generate

# Of a value v, and m which is 1 in one lane and 0 elsewhere: what v becomes.
FORWARD = {
    "invalid": "{v} + np.sqrt(1 - 2 * {m} + 0 * {v}) - (1 - {m})",
    "overflow": "{v} + np.exp(1000 * {m} + 0 * {v}) - (1 - {m})",
    "division by zero": "{v} + 1 / (1 - {m} + 0 * {v}) - (1 - {m})",
}
BACKWARD = {
    "root": "{v} + np.sqrt(1 - {m} + 0 * {v}) - (1 - {m})",
    "cube root": "{v} + np.cbrt(1 - {m} + 0 * {v}) - (1 - {m})",
    "power": "{v} + (1 - {m} + 0 * {v}) ** 0.5 - (1 - {m})",
    "angle": "{v} + np.arcsin({m} + 0 * {v}) - np.pi / 2 * {m}",
}


@dataclass(frozen=True)
class Planted:
    """A program as a function of its containers, and what was planted where."""

    function: Any
    arguments: list[Any]
    line: int
    lane: tuple[int, ...]
    what: str


def planted(number: int, rng: np.random.Generator, plants: dict[str, str]) -> Planted | None:
    """Program `number` with one plant; None where it holds no value to plant it in."""
    program = grown(number)
    values = _values(program)
    # LAPACK raises on a NaN and may loop for ever on an infinity: none is planted before it.
    last = max((s.first for s in program.steps if s.entry.family == "linalg"), default=0)
    steps = [s for s in program.steps if s.count == 1 and s.first > last and _fit(values[s.first])]
    if not steps:
        return None
    chosen = steps[int(rng.integers(len(steps)))]
    value = np.asarray(values[chosen.first])
    lane = tuple(int(rng.integers(n)) for n in value.shape)
    mask = np.zeros(value.shape)
    mask[lane] = 1.0
    what = str(rng.choice(list(plants)))
    name = f"v{chosen.first}"
    line = f"{name} = {plants[what].format(v=name, m='mask')}"
    function, at = _written(program, chosen, line, mask)
    return Planted(function, program.arguments(), at, lane, what)


grown = cache(generate)


def _fit(value: Any) -> bool:
    return value.dtype == np.float64 and value.size > 0


def _values(program: Program) -> list[Any]:
    with np.errstate(all="ignore"):
        found = program.values(
            [np.asarray(x) for x in program.inputs],
            lambda s, args: s.entry.ways[s.way](
                *(np.asarray(a) if isinstance(a, np.generic) else a for a in args), **s.attrs
            ),
            lambda c: c,
        )
    return [np.asarray(v) for v in found]


def _written(program: Program, chosen: Step, plant: str, mask: Any) -> tuple[Any, int]:
    """The program as Python source, compiled, with the plant on a line of its own."""
    scope: dict[str, Any] = {"np": np, "mask": mask, "results": results}
    scope["unpacked"] = partial(_unpacked, program)
    lines = ["def program(*containers):"]
    inputs = ", ".join(f"v{i}" for i in program.where)
    lines.append(f"    {inputs}, = unpacked(containers)")
    for k, step in enumerate(program.steps):
        scope[f"f{k}"] = partial(step.entry.ways[step.way], **step.attrs)
        words = [_argument(a, f"c{k}_{i}", scope) for i, a in enumerate(step.args)]
        left = ", ".join(f"v{n}" for n in range(step.first, step.first + step.count))
        lines.append(f"    [{left}] = results(f{k}({', '.join(words)}))")
        if step is chosen:
            lines.append(f"    {plant}")
            at = len(lines)
    lines.append("    total = 0.0")
    for i, weight in program.weights.items():
        if np.iscomplexobj(weight):
            continue  # the real outputs are enough
        scope[f"w{i}"] = weight
        lines.append(f"    total = total + np.sum(v{i} * w{i})")
    lines.append("    return total")
    return _compiled(lines, scope, f"program{program.number}.py"), at


def _argument(arg: Any, name: str, scope: dict[str, Any]) -> str:
    if isinstance(arg, tuple):
        return "[" + ", ".join(_argument(a, f"{name}_{i}", scope) for i, a in enumerate(arg)) + "]"
    if isinstance(arg, Const):
        scope[name] = arg.value
        return name
    return f"v{arg}"


def _unpacked(program: Program, containers: Any) -> list[Any]:
    flat: list[Any] = [None] * len(program.inputs)
    gather(program.structure, list(containers), flat)
    return flat


def _compiled(lines: list[str], scope: dict[str, Any], name: str) -> Any:
    source = "\n".join(lines) + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)  # noqa: S102 - our own text
    return scope["program"]

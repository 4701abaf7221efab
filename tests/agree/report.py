"""A run of many random programs: what was compared, how far apart it was, as JSON and as a page."""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.compare import BY_DIFFERENCES, FLOOR, TOLERANCE, Check, examined, second_order
from tests.agree.programs import SEED, Program, generate
from tests.agree.table import TABLE

EVERY_SECOND_ORDER = 8  # second derivatives of every eighth program


@dataclass
class Tally:
    """What a run has seen so far."""

    programs: int = 0
    judges: Counter[str] = field(default_factory=Counter)
    lengths: list[int] = field(default_factory=list)
    inputs: Counter[int] = field(default_factory=Counter)  # by number of axes
    steps: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )  # entry → judge
    ops: Counter[str] = field(default_factory=Counter)  # nodes recorded, and calls of composites
    in_gradients: Counter[str] = field(default_factory=Counter)  # nodes of the gradient's graph
    largest: dict[str, tuple[float, int]] = field(
        default_factory=dict
    )  # check → difference, program
    checks: Counter[str] = field(default_factory=Counter)
    disagreements: list[dict[str, Any]] = field(default_factory=list)

    def note(self, program: Program, checks: list[Check]) -> None:
        for check in checks:
            kind = check.what.partition(", direction")[0]
            self.checks[kind] += 1
            if check.difference >= self.largest.get(kind, (-1.0, 0))[0]:
                self.largest[kind] = check.difference, program.number
            if not check.agrees:
                row = {
                    "program": program.number,
                    "check": check.what,
                    "difference": check.difference,
                }
                self.disagreements.append(row)

    def add(self, program: Program, checks: list[Check], judges: list[str]) -> None:
        self.programs += 1
        self.note(program, checks)
        self.judges.update(judges)
        self.lengths.append(len(program.steps))
        self.inputs.update(x.ndim for x in program.inputs)
        for step in program.steps:
            self.steps[step.entry.name].update(["steps", *judges])
        arguments = program.arguments()
        with composites_counted(self.ops):
            self.ops.update(_recorded(cr.trace(program, *arguments)))
        gradient = cr.grad(program, tuple(range(len(arguments))))
        self.in_gradients.update(_recorded(cr.trace(gradient, *arguments)))


def _recorded(graph: cr.Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not node.is_leaf]


@contextmanager
def composites_counted(counter: Counter[str]) -> Iterator[None]:
    """Count the calls of ops that are recorded as other ops."""

    def counted(op: Any, expand: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            counter[op.name] += 1
            return expand(*args, **kwargs)

        return call

    composites = {op: op.expand for op in cr.OPS.values() if op.expand is not None}
    for op, expand in composites.items():
        object.__setattr__(op, "expand", counted(op, expand))
    try:
        yield
    finally:
        for op, expand in composites.items():
            object.__setattr__(op, "expand", expand)


def run(numbers: range, peers: tuple[str, ...], seed: int = SEED) -> Tally:
    """Examine these programs; an exception counts as a disagreement and does not end the run."""
    tally = Tally()
    for number in numbers:
        program = generate(number, seed)
        try:
            checks, judges = examined(program, peers)
            if number % EVERY_SECOND_ORDER == 0 and judges != []:
                checks += second_order(program) if twice(program) else []
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be reported
            what = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            tally.programs += 1
            tally.disagreements.append({"program": number, "check": what, "difference": None})
        else:
            tally.add(program, checks, judges)
        if number % 50 == 49:
            sys.stderr.write(f"{number + 1} programs, {len(tally.disagreements)} disagreements\n")
    return tally


def twice(program: Program) -> bool:
    return all(step.entry.by_differences for step in program.steps)


def as_json(tally: Tally, seed: int) -> dict[str, Any]:
    names = ("numpy", "scipy", "torch", "jax")
    return {
        "command": f"python -m tests.agree.programs --count {tally.programs}",
        "seed": seed,
        "versions": {
            "python": platform.python_version(),
            "chainrule": cr.__version__,
            **versions(names),
        },
        "programs": tally.programs,
        "disagreements": tally.disagreements,
        "compared_with": dict(tally.judges),
        "tolerance": {"peers and modes": TOLERANCE, "differences": BY_DIFFERENCES, "floor": FLOOR},
        "steps": {
            "total": sum(tally.lengths),
            "shortest": min(tally.lengths),
            "longest": max(tally.lengths),
            "mean": round(float(np.mean(tally.lengths)), 2),
        },
        "inputs_by_axes": {str(k): v for k, v in sorted(tally.inputs.items())},
        "checks": dict(sorted(tally.checks.items())),
        "largest_relative_difference": {
            kind: {"difference": worst, "program": number}
            for kind, (worst, number) in sorted(tally.largest.items())
        },
        "entries": {name: dict(tally.steps[name]) for name in TABLE},
        "ops": dict(sorted(tally.ops.items())),
        "ops_in_gradients": dict(sorted(tally.in_gradients.items())),
        "ops_not_met": sorted(set(cr.OPS) - set(tally.ops) - set(tally.in_gradients)),
    }


def versions(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except ImportError:
            found[name] = "not installed"
    return found


def page(result: dict[str, Any]) -> str:
    """The result in words."""
    ops, steps, versions = result["ops"], result["steps"], result["versions"]
    more = set(result["ops_in_gradients"]) - set(ops)
    rows = [
        f"| {kind} | {result['checks'][kind]} | {worst['difference']:.1e} | {worst['program']} |"
        for kind, worst in result["largest_relative_difference"].items()
    ]
    counts = Counter({name: row.get("steps", 0) for name, row in result["entries"].items()})
    judged = ", ".join(f"{n} with {who}" for who, n in result["compared_with"].items())
    rare = ", ".join(f"{name} {n}" for name, n in counts.most_common()[:-11:-1])
    wrong = "\n".join(
        f"- program {d['program']}: {d['check']}, {d['difference']}"
        for d in result["disagreements"]
    )
    return f"""# Random programs

`{result["command"]}` (seed {result["seed"]}; {", ".join(f"{k} {v}" for k, v in versions.items())})

{result["programs"]} programs of {steps["shortest"]} to {steps["longest"]} steps (mean {steps["mean"]}, {steps["total"]} in all),
over {len(counts)} kinds of call.  They use {len(ops)} of the {len(cr.OPS)} ops, and their gradients {len(more)} more.
Gradients by reverse mode were compared: {judged}.

**Disagreements: {len(result["disagreements"])}**
{wrong}

| check | times | largest relative difference | in program |
| --- | --- | --- | --- |
{chr(10).join(rows)}

A difference is the largest of an array, relative to the array's largest element, or to {FLOOR} where that is larger.
It may be {TOLERANCE} against a peer and between the modes, {BY_DIFFERENCES} against differences of sixth order, 0 where
the same floating-point operations are repeated (replayed value, saved graph, backward()).
Programs are judged by PyTorch or JAX where that peer has every step, else by differences.

Least often drawn: {rare}.

Ops not met: {", ".join(result["ops_not_met"]) or "none"}.
"""


def write(tally: Tally, seed: int, out: Path) -> dict[str, Any]:
    result = as_json(tally, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(page(result), encoding="utf-8")
    return result

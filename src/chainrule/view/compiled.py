"""What a compiled function consists of: its kernels, what was fused, its memory, its texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.core.text import graph_text
from chainrule.lower.code.products import operands_of
from chainrule.lower.module import Module
from chainrule.lower.plan.cost import flops, moved
from chainrule.lower.plan.fuse import Called, Factored, Looped, Piece, Product, Scan, Scatter, Taped
from chainrule.lower.plan.loops import Nest
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.plan.stream import Region
from chainrule.lower.tape.tape import Tape, kinds_and_lengths
from chainrule.lower.values.value import KNOWN, Value, program_text, root
from chainrule.optimise.rewrite import Optimised
from chainrule.record.specialise import Repeated
from chainrule.run.compiled import Compiled
from chainrule.run.machine import assembly
from chainrule.run.threads import threads
from chainrule.run.variant import Variant

SHOWN = 40  # runs of a tape that are listed
MAX_INPUTS = 16


def report_text(compiled: Compiled) -> str:
    """Every branch that was compiled: steps, flops, bytes, memory, times, what is interpreted."""
    name = getattr(compiled.f, "__name__", "the function")
    every = [v for variants in compiled.variants.values() for v in variants]
    if compiled.interpreted:
        return f"{name} runs as plain Python."
    if not every:
        return f"{name}: nothing is compiled before the first call."
    count = compiled.options.verifier.checked
    calls = "1 call was" if count == 1 else f"{count:,} calls were"
    checked = f"{calls} also run as plain Python, and agree" + ("s." if count == 1 else ".")
    return "\n\n".join((*(_variant_text(name, i, v) for i, v in enumerate(every)), checked))


def _variant_text(name: str, number: int, variant: Variant) -> str:
    module = variant.run.module
    inputs = _inputs_text(module.program.inputs, module.program.shapes)
    steps, work, traffic = [], 0, 0
    for k, step in enumerate(module.plan.steps):
        text = step_text(module, k)
        f, b = flops(step), moved(step)
        region = next((r for r in module.plan.regions if r.first <= k <= r.last), None)
        if region is not None:
            f = f * region.rows // region.tile
            b = 0
            if k == region.first:
                b = _moved_by_tiles(module.plan.steps[k : region.last + 1], region)
                last = f"steps {k} to {region.last}"
                cut = f", in {region.chunks} chunks" if region.chunks > 1 else ""
                steps.append(f"  {last} for {region.tile:,} of {region.rows:,} rows at a time{cut}")
        work, traffic = work + f, traffic + b
        steps.append(text)
    nodes = len(variant.optimised.graph)
    memory = module.memory
    used = min(threads(), memory.threads)
    seconds = ", ".join(f"{what} {1e3 * t:.0f} ms" for what, t in variant.seconds.items())
    lines = [
        f"{name}, branch {number}: {nodes} nodes in {len(module.plan.steps)} steps",
        f"  inputs      {inputs or 'none'}",
        f"  guards      {len(variant.expected)}",
        *map(_repeated_text, variant.recording.repeated),
        *_rewrites_text(variant.optimised),
        *steps,
        f"  in all      {_amount(work).rstrip()} flops, {_amount(traffic)}B moved",
        f"  memory      {_amount(memory.arena + used * memory.local)}B beside inputs and outputs",
        f"  compiled in {seconds}",
    ]
    for node, why in module.program.fallbacks:
        where = f"  ({node.line})" if node.line else ""
        lines.append(f"  interpreted {node.op.name}: {why}{where}")
    return "\n".join(lines)


def _inputs_text(inputs: Sequence[Any], shapes: Sequence[Any]) -> str:
    """Name and type of each input; of a long list the first and the last."""
    each = [
        f"{v.name} {KNOWN.get(v.dtype, v.dtype.name)}{list(shape)}"
        for v, shape in zip(inputs, shapes, strict=True)
    ]
    if len(each) > MAX_INPUTS:
        each[MAX_INPUTS // 2 : -1] = [f"… {len(each) - MAX_INPUTS // 2 - 1:,} more …"]
    return ", ".join(each)


def _repeated_text(found: Repeated) -> str:
    """A loop of Python's: how much of it is a loop of machine code."""
    head = f"  loop        {found.line or 'of ours'}: × {found.count:,}"
    apart = found.count - found.rolled
    if found.rolled:
        rest = f"; {apart:,} beside it" if apart else ""
        return f"{head}, {found.rolled:,} as a loop of {found.steps} operations{rest}"
    if found.unlike is None:
        return f"{head}, unrolled: it is short"
    return f"{head}, unrolled: {found.unlike} goes on otherwise in each iteration"


def _rewrites_text(found: Optimised) -> list[str]:
    """Every rewrite of the graph by its name, the most frequent first."""
    if not found.counts:
        return []
    ordered = sorted(found.counts.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(name if n == 1 else f"{name} ×{n}" for name, n in ordered)
    return [f"  rewritten   from {found.before} nodes: {named}"]


def _optimised_text(variant: Variant) -> str:
    """The graph that is lowered; what guards are computed from comes after the results."""
    text, _, listed = graph_text(variant.optimised.graph).rpartition("\n  return ")
    outputs = listed.split(" ")
    results, guards = " ".join(outputs[: variant.count]), " ".join(outputs[variant.count :])
    return f"{text}\n  return {results}" + (f"\n  guards {guards}" if guards else "")


def step_text(module: Module, k: int) -> str:
    """Step k of a program in a line; of a loop also the steps of an iteration."""
    step, name = module.plan.steps[k], f"step{k}"
    if not isinstance(step, Looped):
        return _step_text(module, step, name, f"  step {k}".ljust(12))
    lines: list[str] = []
    pending: list[tuple[Any, str, str]] = [(step, name, f"  step {k}".ljust(12))]
    while pending:
        at, name, head = pending.pop()
        if not isinstance(at, Looped):
            lines.append(_step_text(module, at, name, head))
            continue
        body, rows = at.value.params.body, at.memory
        way = ", backwards" if body.backwards else ""
        lines.append(
            f"{head}loop of {len(at.plan.steps)} steps × {body.count:,}{way}: carries "
            f"{body.carried}, stacks {len(body.graph.outputs) - body.carried}, "
            f"{_amount(rows.arena)}B for an iteration"
        )
        pad = " " * (len(head) - len(head.lstrip()) + 2)
        inner = [
            (s, f"{name}.step{j}", f"{pad}step {j}".ljust(len(pad) + 10))
            for j, s in enumerate(at.plan.steps)
        ]
        pending += reversed(inner)
    return "\n".join(lines)


def _step_text(module: Module, step: Any, name: str, head: str) -> str:
    nest = module.nests.get(name)
    if isinstance(step, Called):
        if isinstance(step, Taped):
            return f"{head}{tape_summary(step.tape)}"
        return f"{head}interpreter: {step.value.params.op.name}"
    if isinstance(step, Product):
        batch, rows, columns, summed = step.value.params
        each = f"{batch} × " if batch > 1 else ""
        matrices = operands_of(step.value, module.program.target).matrices
        how = "in registers" if matrices.fit else "BLAS"
        part = f", triangular: computes {step.share:.0%} of it" if step.share < 1 else ""
        return f"{head}product {each}({rows}, {summed}) · ({summed}, {columns}), {how}{part}"
    if isinstance(step, Factored):
        asked = step.value.params
        each = f"{asked.batch:,} × " if step.stack > 1 else ""
        return f"{head}LAPACK: {each}{asked.name}"
    if isinstance(step, Scatter):
        return f"{head}scatter of {step.value.args[1][0].size:,} elements, in order"
    if isinstance(step, Scan):
        function, axis = step.value.params
        n = step.value.dims[axis]
        return f"{head}{function}, one after the other, along {n:,} elements"
    if isinstance(step, Piece):
        return f"{head}copy into {list(step.whole.dims)}"
    assert nest is not None
    loops = " × ".join(map(str, nest.extents)) or "one number"
    lanes = f", {nest.lanes} lanes" if nest.lanes > 1 else ""
    unrolled = f", {nest.unroll} at once" if nest.unroll > 1 else ""
    if nest.abreast > 1:
        unrolled = f", {nest.abreast} rows at once"
    fused = " ".join(_called(v) for v in step.body)
    return f"{head}kernel {loops}{lanes}{unrolled}: {fused}"


def _moved_by_tiles(steps: Sequence[Any], region: Region) -> int:
    """What steps that run by tiles bring from memory: the rest stays in the cache."""
    values = {root(v): None for s in steps for part in reads_and_writes(s) for v in part}
    return sum(v.nbytes for v in values if v not in region.local)


def _called(v: Value) -> str:
    return f"Σ{v.params[0]}" if v.kind == "reduce" else str(v.params)


def _amount(count: float) -> str:
    for unit in ("", "k", "M", "G"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit else f"{count:.0f} "
        count /= 1000
    return f"{count:.3g} T"


def ir_text(compiled: Compiled, stage: str = "values") -> str:
    """The last branch at one stage.

    "recorded" is the graph as it was recorded, "graph" what the rewrites made of it; then come
    "values", "loops", "llvm" and "assembly".
    """
    from chainrule.errors import ArgumentError

    every = [v for variants in compiled.variants.values() for v in variants]
    if not every:
        raise ArgumentError("nothing is compiled before the first call")
    variant = every[0]
    steps = variant.run.module.plan.steps
    stages = {
        "recorded": lambda: graph_text(variant.recording.graph),
        "graph": lambda: _optimised_text(variant),
        "values": lambda: program_text(variant.program.outputs),
        "loops": lambda: "\n\n".join(
            [
                *(tape_text(s.tape) for s in steps if isinstance(s, Taped)),
                *(loops_text(k, n) for k, n in variant.run.module.nests.items()),
            ]
        ),
        "llvm": lambda: variant.run.module.text,
        "assembly": lambda: assembly(variant.run.module.text),
    }
    if stage not in stages:
        raise ArgumentError(f"stage {stage!r}: choose one of {', '.join(stages)}")
    return stages[stage]()


def tape_summary(tape: Tape) -> str:
    """What a tape holds, in one line."""
    sweeps = " and back" if tape.sweeps else ""
    return (
        f"tape of {tape.instructions:,} instructions in {len(tape.runs):,} runs{sweeps}, "
        f"{tape.nbytes / max(tape.instructions, 1):.0f} B each: {' '.join(tape.names)}"
    )


def tape_text(tape: Tape) -> str:
    """The first runs of a tape, one line each."""
    lines = [f"{tape_summary(tape)}", f"  %0 … %{len(tape.given) - 1} are given"]
    first, at = len(tape.given), 0
    kinds, lengths = kinds_and_lengths(tape.runs[:SHOWN])
    for number, count in zip(kinds.tolist(), lengths.tolist(), strict=True):
        kind = tape.kinds[number]
        operands = tape.operands[at : at + count * len(kind.operands)].reshape(-1, count)
        read = ", ".join(f"%{column[0]}" + (" …" if count > 1 else "") for column in operands)
        many = f" … %{first + count - 1}" if count > 1 else ""
        lines.append(f"  %{first}{many} = {kind.name} {read}")
        first, at = first + count, at + operands.size
    left = len(tape.runs) - SHOWN
    return "\n".join([*lines, f"  … {left:,} runs more"] if left > 0 else lines)


def loops_text(name: str, nest: Nest) -> str:
    """A loop nest as indented text."""
    lines = [f"{name}:"]
    pad = "  "
    for i, n in enumerate(nest.extents):
        last = i == len(nest.extents) - 1
        by = f" by {nest.lanes * nest.unroll}" if last and nest.lanes * nest.unroll > 1 else ""
        lines.append(f"{pad}for i{i} in 0 … {n}{by}:")
        pad += "  "
    for (a, _), place in nest.reads.items():
        lines.append(f"{pad}%{a.number} = {_place_text(place)}")
    for v in nest.body:
        if v.kind == "map":
            read = ", ".join(
                str(a.params) if a.kind == "constant" and a.size == 1 else f"%{a.number}"
                for a, _ in v.args
            )
            lines.append(f"{pad}%{v.number} = {v.params} {read}")
    for v, place in nest.writes.items():
        lines.append(f"{pad}{_place_text(place)} = %{v.number}")
    for fold in nest.folds:
        operand = fold.value.args[0][0]
        lines.append(f"{pad}{_place_text(fold.place)} {fold.value.params[0]}= %{operand.number}")
    return "\n".join(lines)


def _place_text(place: Any) -> str:
    terms = [f"{'' if s == 1 else f'{s}·'}i{i}" for i, s in enumerate(place.strides) if s]
    if place.offset:
        terms.append(str(place.offset))
    return f"memory %{place.value.number}[{' + '.join(terms) or '0'}]"

"""A gradient within a budget of memory: what does not fit is let go, and computed again.

The function is recorded as always, and its values are kept while they fit.  Where they do not,
the graph alone is kept; it is cut into stages, the cheapest schedule that stays within the budget
is chosen (`core/schedule.py`), and the stages run again as it says.  The rules see the same numbers
in the same order, so the gradient is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import inputs_of
from chainrule.core.loop import Body
from chainrule.core.masked import Masked, unmasked
from chainrule.core.memory_size import shown
from chainrule.core.node import Leaf, Node
from chainrule.core.order import order_above
from chainrule.core.replay import computed
from chainrule.core.schedule import Schedule, Step
from chainrule.diff.call import Call, _between
from chainrule.diff.reverse import Adjoints, add, add_up, fit, pulled, reverse, summed, walk_arrays
from chainrule.diff.stages import Chain, Part
from chainrule.errors import ArgumentError, MemoryBudgetError
from chainrule.record.sparing import NODE_BYTES, SparingTrace, let_go
from chainrule.record.state import current, recording
from chainrule.record.variable import Variable

RESERVE = 400_000  # bytes: of the schedule, and of Python's own objects
PLAN_BYTES = 2500  # of each node in a schedule
PINNED_AFTER = (10**9, 4, 1)  # stages


def governs(args: Sequence[Any]) -> bool:
    """Whether nothing around this call records it: else that decides on memory."""
    from chainrule.core.containers import flatten

    state = current.get()
    if state.tracing is not None or state.inside or state.debug is not None:
        return False
    return not any(isinstance(v, Variable) for v in flatten(list(args))[0])


@dataclass(frozen=True)
class MemoryPlan:
    """What a gradient takes: bytes of its natural peak, of this plan and of the smallest one, and
    the time beside that with everything kept."""

    budget: int
    natural: int
    peak: int
    least: int
    time: float
    values: int

    def __str__(self) -> str:
        lines = [
            f"{self.values:,} values; everything kept: {shown(self.natural)}",
            f"budget {shown(self.budget)}: {shown(self.peak)}, about {self.time:.2f} × the time",
            f"least: {shown(self.least)}",
        ]
        return "\n".join(lines)


class SparingCall(Call):
    """A call whose gradient is taken within a budget of memory."""

    sparing = True

    def __init__(
        self,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Sequence[int],
        budget: int,
    ):
        self.budget = budget
        self.trace = SparingTrace(budget, f, (*args, kwargs), RESERVE)
        with recording(tracing=self.trace):
            super().__init__(f, args, kwargs, argnums)
        self.plan: MemoryPlan | None = None
        self.results = 0  # bytes of what is filled with several gradients
        self.chosen: Any = None  # the last schedule, and for which seeds it holds

    def _sort(self) -> None:
        self.recorded = False
        own = {v.node for v in self.inputs if v is not None}
        for node, stand_in in self.trace.captured.items():
            is_open = node.first is not None or (isinstance(node, Leaf) and node.open)
            if stand_in not in own and node not in own and is_open:
                raise ArgumentError(
                    f"memory= and the Variable {node.name or 'of shape ' + str(node.shape)} from "
                    "outside, by which the gradient could be\n  differentiated again: pass it as "
                    "an argument, or its number, v.value."
                )
        self.result = None
        nodes = [v.node for v in self.outputs if isinstance(v, Variable)]
        self.order = _between(order_above(nodes), own)
        self.outputs = [
            Variable(v._value, v.node) if isinstance(v, Variable) else v for v in self.outputs
        ]

    def pull(self, seeds: Sequence[Any], record: bool = False) -> list[Any]:
        adjoints: Adjoints = {}
        for out, seed in zip(self.outputs, seeds, strict=True):
            if isinstance(out, Variable) and seed is not None:
                add(adjoints, out.node, seed)
        self.trace.check()
        masked = any(type(seed) is Masked for seed in adjoints.values())
        with np.errstate(all="ignore"), recording(inside=False):
            summed_up, dropped = self._reversed(adjoints, masked)
            dropped = dropped and not masked
            inputs = [None if v is None else summed_up.get(v.node) for v in self.inputs]
            if dropped and any(g is not None and np.isnan(np.vdot(g, g)) for g in inputs):
                del summed_up, inputs
                summed_up, _ = self._reversed(adjoints, masked=True)
                inputs = [None if v is None else summed_up.get(v.node) for v in self.inputs]
        return [unmasked(g) for g in inputs]

    def _reversed(self, seeds: Adjoints, masked: bool) -> tuple[Adjoints, bool]:
        starts = [n for n in seeds if n.rule is not None]
        nodes, trace = [n for n in self.order if n.rule is not None], self.trace
        if not starts or not nodes:
            return dict(seeds), False
        held = trace.constants + NODE_BYTES * len(trace.recorded) + RESERVE + self.results

        def make(as_recorded: bool) -> Chain:
            scratch = workspaces(trace.recorded, trace.sizes)
            order = trace.recorded if as_recorded else ()
            return Chain(nodes, starts, trace.sizes, trace.owners, *scratch, masked, order)

        walk = _masked_part if masked else walk_arrays
        if trace.keeps and not masked and self._fits(make(False), held):
            adjoints = dict(seeds)
            dropped = walk(nodes, adjoints, set())
            return adjoints, add_up(adjoints) or dropped
        trace.keeps = False
        for node in trace.recorded[: trace.inner]:
            let_go(node)
        held += trace.alive + PLAN_BYTES * len(nodes)
        loops = [n for n in trace.recorded if isinstance(n.attrs.get("body"), Body)]
        key = masked, tuple(starts)
        if self.chosen is None or self.chosen[0] != key:  # else for another row of a Jacobian
            work, schedule, steps, parts, pinned = _cheapest(make, loops, held, self.budget)
            self._note(schedule, steps, len(work.order))
            self.chosen = key, work, parts, pinned, steps
        _, work, parts, pinned, steps = self.chosen
        return _Replay(work, parts, pinned, self._values()).run(steps, seeds, walk)

    def _fits(self, work: Chain, held: int) -> bool:
        ends = [len(work.order)]
        natural = Schedule(work.stages(work.parts(ends, set()), set()), held)
        walk = max(natural.stages[0].reverse_peak, PLAN_BYTES * len(work.order))
        peak = held + self.trace.alive + walk
        self.plan = MemoryPlan(self.budget, peak, peak, 0, 1.0, len(work.order))
        return peak <= self.budget

    def _note(self, schedule: Schedule, steps: Sequence[Step], count: int) -> None:
        time = schedule.spent(steps) / schedule.natural_seconds
        self.plan = MemoryPlan(
            self.budget, schedule.natural_peak, schedule.peak(steps), schedule.least,
            time + 1 / 3, count,
        )  # fmt: skip

    def _values(self) -> dict[Node, Any]:
        return {**self.trace.values, **self.trace.leaves}


def _cheapest(
    make: Callable[[bool], Chain], loops: Sequence[Node], held: int, budget: int
) -> tuple[Chain, Schedule, list[Step], list[Part], set[Node]]:
    """The schedule of least time, over several ways to keep what is needed in many stages, and to
    reverse loops.

    All of them are tried whatever the budget is, so that a larger one never takes more time.
    """
    best: Any = None
    least = natural = 0
    bodies = [node.attrs["body"] for node in loops]
    longest = max((body.count for body in bodies), default=0)
    for level, _ in enumerate(segments_of(longest)):
        _set_segments(loops, bodies, level)
        for as_recorded in (False, True):
            work = make(as_recorded)
            ends = work.cuts()
            tried: list[set[Node]] = []
            for most in PINNED_AFTER:
                pinned = work.pinned(ends, most)
                if pinned in tried:
                    continue
                tried.append(pinned)
                parts = work.parts(ends, pinned)
                schedule = Schedule(work.stages(parts, pinned), held + work.size(pinned))
                seconds = schedule.seconds(budget)
                least = min(least or schedule.least, schedule.least or least)
                natural = natural or schedule.natural_peak
                if best is None or seconds < best[0]:
                    steps = schedule.steps(budget) if np.isfinite(seconds) else []
                    best = seconds, level, work, schedule, steps, parts, pinned
                schedule.forget()
    _set_segments(loops, bodies, best[1])
    if not np.isfinite(best[0]):
        raise MemoryBudgetError(
            f"this cannot be done within {shown(budget)}; about {shown(least)} are needed, and "
            f"{shown(natural)} with everything kept.\n  {_largest(best[2])}",
            least,
        )
    found: tuple[Chain, Schedule, list[Step], list[Part], set[Node]] = best[2:]
    return found


def segments_of(count: int) -> list[tuple[int, ...]]:
    """Ways to reverse so many iterations, from those that take least time to those that take least
    memory."""
    found: list[tuple[int, ...]] = [()]
    size = count // 4
    while size * size > count:
        found.append((size,))
        size //= 4
    for levels in range(1, 5):
        each = count ** (1 / (levels + 1))
        sizes = tuple(max(int(each**k), 1) for k in range(levels, 0, -1))
        if each >= 2:
            found.append(sizes)
    return found


def _set_segments(loops: Sequence[Node], bodies: Sequence[Body], level: int) -> None:
    for node, body in zip(loops, bodies, strict=True):
        ways = segments_of(body.count)
        segments = ways[min(level, len(ways) - 1)]
        node.attrs = {**node.attrs, "body": body.part(body.count, segments)}


def _largest(work: Chain) -> str:
    node = max(work.order, key=lambda n: work.sizes[n] + work.rule_workspace[n])
    where = f" at {node.line.shown()}" if node.line else ""
    return f"the largest single value is {shown(work.sizes[node])}, of {node.op.name}{where}"


def workspaces(
    nodes: Sequence[Node], sizes: dict[Node, int]
) -> tuple[dict[Node, int], dict[Node, int]]:
    """Per node the bytes that its op, and its rule, use beside their results."""
    forward, rules = {}, {}
    for node in nodes:
        read = sum(n.size * n.dtype.itemsize for n in inputs_of(node) if n.dtype.kind in "fciub")
        extra, rule = node.op.workspace(node, read, sizes[node])
        forward[node], rules[node] = extra, rule
    return forward, rules


class _Replay:
    """The stages run as a schedule says."""

    def __init__(
        self, work: Chain, parts: Sequence[Part], pinned: set[Node], values: dict[Node, Any]
    ):
        self.work, self.parts, self.pinned = work, parts, pinned
        self.fixed = values  # leaves, views of them, and what is pinned: there all the time

    def run(
        self, steps: Sequence[Step], seeds: Adjoints, walk: Callable[..., bool]
    ) -> tuple[Adjoints, bool]:
        adjoints, sums, dropped = dict(seeds), set[Node](), False
        entries: dict[int, dict[Node, Any]] = {0: {}}  # what crosses into a stage, where held
        for kind, i, j in steps:
            if kind == "forward":
                entries[j] = self._ahead(entries[i], i, j)
            elif kind == "save":
                self._saved(i, entries)
            else:
                part = self.parts[i]
                dropped |= walk(part.reverse, adjoints, sums)
                for node in part.reverse:
                    let_go(node)
                for k in [k for k in entries if k >= i]:
                    del entries[k]
        return adjoints, add_up(adjoints) or dropped

    def _ahead(self, entering: dict[Node, Any], i: int, j: int) -> dict[Node, Any]:
        """What crosses into stage j; nothing else is kept."""
        env = dict(entering)
        for part in self.parts[i:j]:
            self._forward(part, env, part.dropped)
        return env

    def _saved(self, i: int, entries: dict[int, dict[Node, Any]]) -> None:
        """Stage i is run, and its rules have what they read."""
        part, env = self.parts[i], dict(entries[i])
        self._forward(part, env, part.dropped_saving)
        for node in part.reverse:
            self._bind(node, env)
        if i + 1 < len(self.parts):
            entries[i + 1] = self._entering(i + 1, env)

    def _forward(self, part: Part, env: dict[Node, Any], dropped: dict[Node, list[Node]]) -> None:
        work, fixed, members = self.work, self.fixed, self.work.members
        for node in part.forward:
            if node not in fixed:
                args = [
                    (env[a] if a in env else fixed[a]) if isinstance(a, Node) else a
                    for a in node.args or ()
                ]
                out = computed(node, args)
                del args
                owner = work.owners[node]
                (fixed if owner is None or owner in self.pinned else env)[node] = out
                del out
            for owner in dropped.get(node, ()):
                for member in members[owner]:
                    env.pop(member, None)

    def _entering(self, k: int, env: dict[Node, Any]) -> dict[Node, Any]:
        members = (m for o in self.parts[k].enters for m in self.work.members[o])
        return {m: env[m] for m in members if m in env}

    def _bind(self, node: Node, env: dict[Node, Any]) -> None:
        """Give the node what its rule reads; what that does not read may be gone."""

        def value(n: Any) -> Any:
            if not isinstance(n, Node):
                return n
            return env[n] if n in env else self.fixed.get(n, n)

        saved = node.rule.keep(*map(value, node.args or ()), value(node))
        node.kept = saved[0] if node.rule.bare else saved


def _masked_part(order: Sequence[Node], adjoints: Adjoints, sums: set[Node]) -> bool:
    """`walk_arrays` in which structural zeros stay what they are."""

    def visit(node: Node, g: Any) -> Any:
        for parent, c in zip(node.parents, pulled(summed(g), node), strict=True):
            if c is not None:
                yield parent, fit(c, parent)

    found = reverse(order, adjoints, visit)
    adjoints.clear()
    adjoints |= found
    return False

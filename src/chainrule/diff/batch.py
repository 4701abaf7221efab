"""One call of a function under vmap: its lanes are computed in groups that branch alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import numpy as np

from chainrule.core.batching import Lanes
from chainrule.core.containers import Structure, flatten
from chainrule.core.node import Leaf, Node, line_at
from chainrule.diff import chance
from chainrule.diff.constants import called, is_due, may_vary, refuse_what_varies
from chainrule.diff.lane_axes import Axes, lanes_first, leaf_name, placed, spread_axes
from chainrule.diff.lanes import Group, Replay, Values, value_of
from chainrule.diff.merging import TOO_MANY, Apart, Merger, chosen, examples_of, refuse
from chainrule.diff.pieces import Piece, combined, joined, same_structure
from chainrule.errors import ArgumentError, ChainruleError, MutationError, ShapeError
from chainrule.record.lanes import LaneTrace, as_constant
from chainrule.record.state import NOT_THE_USER, current
from chainrule.record.variable import Variable

MAX_GROUPS = 16  # of lanes that branch alike; the rest of them is called one by one


@dataclass
class BatchReport:
    """What the last call of a vmapped function did."""

    lanes: int = 0
    groups: list[tuple[int, str]] = field(default_factory=list)  # how many lanes, parted where
    alone: int = 0
    looped: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        groups = "1 group" if len(self.groups) == 1 else f"{len(self.groups)} groups"
        lines = [f"{self.lanes:,} lanes in {groups}"]
        if len(self.groups) > 1 or self.alone:
            lines += [
                f"  {count:,} {'lane' if count == 1 else 'lanes'}"
                + (f", parted at {where}" if where else "")
                for count, where in self.groups
            ]
        if self.alone:
            lines.append(f"  {self.alone:,} lanes called one by one")
        return "\n".join([*lines, *self.loops()])

    def loops(self) -> list[str]:
        """Of every op that works lane by lane, a line that says so."""
        return [f"  {name} works lane by lane ({line})" for name, line in self.looped.items()]


@dataclass
class Batch:
    """One call of a vmapped function: its leaves with the lanes in front, and how to rebuild it."""

    f: Callable[..., Any]
    leaves: list[Any]
    mapped_leaves: list[bool]
    structure: Structure
    count: int
    pure: bool = False  # f is ours: it changes nothing and takes nothing from elsewhere
    due: bool = False  # another lane is recorded too, and compared

    @staticmethod
    def of(f: Callable[..., Any], args: Any, kwargs: dict[str, Any], in_axes: Axes) -> Batch:
        axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        if len(axes) != len(args):
            raise ArgumentError(
                f"vmap: in_axes has {len(axes)} entries, and the function was called with "
                f"{len(args)} positional arguments"
            )
        leaves, structure = flatten((tuple(args), kwargs))
        where = [
            axis for n, a in enumerate(args) for axis in spread_axes(axes[n], a, f"in_axes[{n}]")
        ]
        positional = len(where)
        where += [0 if np.ndim(value_of(v)) else None for v in leaves[positional:]]
        names = structure.paths
        sizes: dict[int, str] = {}
        for i, axis in enumerate(where):
            if axis is not None:
                name = leaf_name(names[i])
                leaves[i] = lanes_first(leaves[i], axis, name)
                sizes.setdefault(leaves[i].shape[0], name)
        if not sizes:
            raise ArgumentError("vmap: no argument has lanes; in_axes is None for all of them")
        if len(sizes) > 1:
            (one, first), (two, second), *_ = sizes.items()
            raise ShapeError(
                f"vmap: {first} has {one} lanes and {second} has {two}.\n"
                "  in_axes says which axis counts them; give None for what all lanes share."
            )
        mapped = [axis is not None for axis in where]
        return Batch(f, leaves, mapped, structure, next(iter(sizes)), due=is_due(f))

    def mapped(self, out_axes: Axes, chunk: int | None, report: BatchReport) -> Any:
        """The results of all lanes, in the container f returns."""
        report.lanes = self.count
        step = min(chunk or self.count, self.count)
        pieces = [
            self.part(slice(at, at + step)).groups(report, at)
            for at in range(0, max(self.count, 1), max(step, 1))
        ]
        if not self.pure:
            called(self.f)
        structure = pieces[0].structure
        for piece in pieces[1:]:
            same_structure(structure, piece.structure, 0, piece.first)
        columns = [
            joined(list(parts), at)
            for at, parts in enumerate(zip(*(p.leaves for p in pieces), strict=True))
        ]
        where = spread_axes(out_axes, structure.unflatten(columns), "out_axes")
        pairs = zip(columns, where, strict=True)
        return structure.unflatten([self._owned(placed(v, a, self.count)) for v, a in pairs])

    def part(self, lanes: slice) -> Batch:
        """Some of the lanes."""
        if lanes.start == 0 and lanes.stop >= self.count:
            return self
        leaves = [
            v[lanes] if m else v for v, m in zip(self.leaves, self.mapped_leaves, strict=True)
        ]
        count = len(range(*lanes.indices(self.count)))
        return replace(self, leaves=leaves, count=count)

    # ---- groups ------------------------------------------------------------------------------

    def groups(self, report: BatchReport, start: int) -> Piece:
        """Lanes that branch alike are computed at once."""
        if self.count == 0:
            return self._of_no_lanes()
        outer = current.get().tracing
        if outer is not None and outer.guarded:
            try:
                return self._merged(outer, report)
            except Apart as why:
                report.groups.clear()
                everyone = [Group(np.arange(self.count))]
                alone = self._alone(everyone, report, silent=why.args[0] != TOO_MANY)
                return combined(list(alone), self.count)
        pending = [Group(np.arange(self.count))]
        done: list[Piece] = []
        while pending:
            if len(done) == MAX_GROUPS:
                done += self._alone(pending, report)
                break
            group = pending.pop(0)
            piece, left = self._replayed(group, report, start)
            done.append(piece)
            pending = left + pending
        return combined(done, self.count)

    def _replayed(self, group: Group, report: BatchReport, start: int) -> tuple[Piece, list[Group]]:
        trace, first = LaneTrace(self.pure), int(group.lanes[0])
        with in_lane(first + start):
            inputs, outputs, structure = self._recorded(trace, self._example(first))
        known: Values = {n: trace.variables.get(n, v) for n, v in trace.values.items()}
        for place, node in inputs.items():
            lanes = Lanes(self.leaves[place])
            known[node] = lanes if len(group.lanes) == self.count else lanes.picked(group.lanes)
        replay = Replay(trace, outputs, group.lanes, known, report.looped)
        raising = "raise" in np.geterr().values()
        with nullcontext() if raising else np.errstate(all="ignore"):
            found = replay.run(group.parted)
        if len(replay.lanes) > 1 and self._compares(trace):
            self._refuse_what_varies(trace, outputs, int(replay.lanes[-1]), LaneTrace())
        line = "" if group.parted is None else str(line_at(*group.parted.line))
        report.groups.append((len(replay.lanes), line))
        return Piece(replay.lanes, found, structure), replay.left

    def _merged(self, outer: Any, report: BatchReport) -> Piece:
        """All branches as one program, for a trace that holds for other lanes than these."""
        plain = [m and not isinstance(v, Variable) for v, m in self._pairs()]
        leaves = [
            outer.as_variables([v])[0] if p else v for v, p in zip(self.leaves, plain, strict=True)
        ]
        merger = Merger(
            leaves, self.mapped_leaves, self.count, outer, self._recorded, report.looped
        )
        examples = [] if self.pure else examples_of(self.f, self.leaves, self.mapped_leaves)
        for k in merger.lanes():
            if len(merger.branches) == MAX_GROUPS:
                refuse(outer, TOO_MANY)
            with in_lane(k):
                merger.add(self._example(k))
            if len(merger.branches) > 1 and len(examples) < MAX_GROUPS:
                examples.append(self._example(k))
        for example in examples:
            if len(merger.branches) < MAX_GROUPS and merger.branches[0].asked:
                merger.add(example)
        merger.covered()
        known = merger.branches[0]
        taken = None if known.taken is None else value_of(known.taken)
        lanes = np.flatnonzero(np.ones(self.count, bool) if taken is None else taken)
        if len(lanes) > 1 and self._compares(known.trace):
            self._refuse_what_varies(
                known.trace, known.outputs, int(lanes[-1]), LaneTrace(pure=True)
            )
        report.groups += [(self.count, "")] * len(merger.branches)
        first = merger.branches[0]
        assert first.structure is not None
        for k, branch in enumerate(merger.branches):
            assert branch.structure is not None
            same_structure(first.structure, branch.structure, 0, k)
        return Piece(np.arange(self.count), chosen(merger.branches), first.structure)

    def _refuse_what_varies(
        self, trace: LaneTrace, outputs: Sequence[Node], lane: int, again: LaneTrace
    ) -> None:
        """Compare what a lane takes from elsewhere with what another of its branch does."""
        before = chance.states(self.f) if self.due else []
        other = self._recorded(again, self._example(lane))[1]
        refuse_what_varies(trace, again, (outputs, other))
        chance.refuse_draws(before, chance.states(self.f) if self.due else [])

    def _compares(self, trace: LaneTrace) -> bool:
        return not self.pure and not trace.merges and (self.due or may_vary(trace, self.f))

    def _pairs(self) -> Iterator[tuple[Any, bool]]:
        return zip(self.leaves, self.mapped_leaves, strict=True)

    def _example(self, k: int) -> list[Any]:
        """The leaves as lane k has them: plain numbers where lanes differ."""
        return [value_of(v)[k] if m else v for v, m in self._pairs()]

    def _recorded(
        self, trace: LaneTrace, example: list[Any]
    ) -> tuple[dict[int, Node], list[Node], Structure]:
        """Record one lane; its inputs by place, the nodes of the results and their container."""
        inputs: dict[int, Node] = {}
        given = list(example)
        for place, (value, mapped) in enumerate(zip(example, self.mapped_leaves, strict=True)):
            if mapped:
                made = trace.lane_input(value, self.leaves[place])
                inputs[place] = made.node
                given[place] = Variable(made._value, made.node)  # f may assign to its own
            elif type(value) is np.ndarray and value.flags.writeable and not trace.holds(value):
                given[place] = value.view()
                given[place].flags.writeable = False  # what one lane writes, all others would see
        args, kwargs = self.structure.unflatten(given)
        outputs, structure = trace.record_lane(self.f, args, kwargs)
        return inputs, outputs, structure

    def _alone(
        self, pending: Sequence[Group], report: BatchReport, silent: bool = False
    ) -> Iterator[Piece]:
        """Lane by lane, where too many branch differently; a warning says so, unless `silent`."""
        lanes = np.concatenate([group.lanes for group in pending])
        report.alone += len(lanes)
        where = pending[0].parted
        line = f"\n  {line_at(*where.line).shown()}" if where is not None else ""
        if not silent:
            warnings.warn(
                f"vmap: lanes go more than {MAX_GROUPS} different ways; {len(lanes)} of "
                f"{self.count} are called one by one, slowly.{line}\n  where what is read there "
                "need not decide what is computed, np.where and NumPy's functions keep the lanes "
                "together.",
                stacklevel=5,
            )
        for k in map(int, lanes):
            given = [as_constant(v[k]) if m else v for v, m in self._pairs()]
            args, kwargs = self.structure.unflatten(given)
            with in_lane(k):
                found, structure = flatten(self.f(*args, **kwargs))
            yield Piece(np.array([k]), [Lanes(_of_lane(v)) for v in found], structure)

    def _of_no_lanes(self) -> Piece:
        """Results of the right shape for an empty batch: f is called on zeros."""
        ones = [
            np.zeros((1, *v.shape[1:]), v.dtype) if m else v
            for v, m in zip(self.leaves, self.mapped_leaves, strict=True)
        ]
        one = replace(self, leaves=ones, count=1).groups(BatchReport(), 0)
        leaves = [Lanes(v.value[:0]) if type(v) is Lanes else v for v in one.leaves]
        return Piece(np.arange(0), leaves, one.structure)

    def _owned(self, value: Any) -> Any:
        """A result that the caller may write to: no view, and no argument."""
        if (
            isinstance(value, Variable)
            and current.get().tracing is None
            and not is_open(value.node)
        ):
            value = value._value  # made by the pullback of a call that is over
        if not isinstance(value, np.ndarray):
            return value
        shared = value.base is not None or not value.flags.writeable
        return np.array(value) if shared or any(value is v for v in self.leaves) else value


def is_open(node: Node) -> bool:
    """Whether there is a leaf below by which this can still be differentiated."""
    pending, seen = [node], {node}
    while pending:
        below = pending.pop()
        if isinstance(below, Leaf) and below.open:
            return True
        new = [p for p in below.parents if p not in seen]
        seen.update(new)
        pending += new
    return False


class in_lane:  # noqa: N801 - a `with` statement reads it as words
    """Errors of f say in which lane they were raised."""

    def __init__(self, lane: int):
        self.lane = lane

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ValueError) and str(error).endswith("is read-only"):
            raise MutationError(
                f"lane {self.lane} of vmap: the function writes into an array that all lanes "
                f"share, which only one of them would see.\n  {_raised_at(trace)}\n"
                "  write into a copy, a.copy(), and return it."
            ) from error
        if isinstance(error, ChainruleError) and error.args:
            error.args = (f"lane {self.lane} of vmap: {error.args[0]}", *error.args[1:])
        elif isinstance(error, Exception):
            error.add_note(f"in lane {self.lane} of vmap")


def _raised_at(trace: TracebackType | None) -> str:
    """The line of the user's that raised, called by whom it may."""
    shown = ""
    while trace is not None:
        frame = trace.tb_frame
        if not frame.f_globals.get("__name__", "").startswith(NOT_THE_USER):
            shown = line_at(frame.f_code, trace.tb_lasti).shown()
        trace = trace.tb_next
    return shown


def _of_lane(value: Any) -> Any:
    """The result of one lane alone, with an axis for it."""
    if isinstance(value, Variable) and current.get().tracing is None and not value.node.parents:
        value = value.node.attrs.get("value", value._value) if value.node.rule else value
        value = value_of(value) if not isinstance(value, Variable) else value
    return value[None] if isinstance(value, Variable) else np.asarray(value)[None]


def sweep(f: Callable[[Any], Any], units: Any, chunk: int | None, report: BatchReport) -> Any:
    """f of each row of `units`, for an f of ours, which changes nothing."""
    return Batch(f, [units], [True], _ONE, len(units), pure=True).mapped(0, chunk, report)


_ONE = flatten(((0,), {}))[1]  # of a call with one argument

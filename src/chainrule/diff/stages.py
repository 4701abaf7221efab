"""A recorded computation as a chain of stages: what each takes in memory and time."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

from chainrule.core.graph import inputs_of
from chainrule.core.loop import Body
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.parts import OBJECT
from chainrule.core.schedule import Stage
from chainrule.diff.loop_body import named_by_rule

MAX_STAGES = 20
CALL_SECONDS = 2e-6  # of one operation on small arrays, and of one number in a large one
NUMBER_SECONDS = 1e-9


@dataclass
class Part:
    """The nodes of one stage, with what is dropped after each."""

    forward: list[Node]
    reverse: list[Node]
    enters: set[Node] = field(default_factory=set)  # owners of what crosses into it
    kept: set[Node] = field(
        default_factory=set
    )  # owners of what it makes for itself and later ones
    dropped: dict[Node, list[Node]] = field(default_factory=dict)  # run for its results alone
    dropped_saving: dict[Node, list[Node]] = field(default_factory=dict)


class Chain:
    """A computation in the order of its reverse pass, with the sizes of its values.

    `owners` are the nodes in whose memory a value lies; a node that is none of the computed ones (a
    leaf) is there all the time.
    """

    def __init__(
        self,
        reverse: Sequence[Node],
        outputs: Sequence[Node],
        sizes: dict[Node, int],
        owners: dict[Node, Node | None],
        workspace: dict[Node, int],
        rule_workspace: dict[Node, int],
        masked: bool = False,
        as_recorded: Sequence[Node] = (),
    ):
        self.sizes, self.workspace, self.rule_workspace = sizes, workspace, rule_workspace
        self.masks = 3 if masked else 1  # an adjoint, its lanes, and these as numbers
        self.reverse, self.outputs = list(reverse), outputs
        order = dfs_order([*reverse, *outputs], inputs_of)
        if as_recorded:
            needed = set(order)
            order = [n for n in as_recorded if n in needed]
        self.order = [n for n in order if n.rule is not None and n in sizes]
        self.at = {n: i for i, n in enumerate(self.order)}
        self.owners = {n: self._owner(n, owners) for n in self.order}
        self.members: dict[Node, list[Node]] = {}  # whose values lie in the memory of each
        for n, o in self.owners.items():
            if o is not None:
                self.members.setdefault(o, []).append(n)
        self.reads = {n: self._owned(inputs_of(n)) for n in self.order}
        self.named = {n: [m for m in named_by_rule(n) if m in self.at] for n in self.reverse}
        self.keeps = {n: self._owned(self.named[n]) for n in self.reverse}
        self.last: dict[Node, int] = {}  # about up to where a value is needed, by either pass
        for n in self.order:
            i = self.at[n]
            for o in (*self.reads[n], *self.keeps.get(n, ())):
                self.last[o] = max(self.last.get(o, 0), i)
        for n in self._owned(outputs):
            self.last[n] = max(self.last.get(n, 0), self.at[n])

    def _owner(self, node: Node, owners: dict[Node, Node | None]) -> Node | None:
        seen = node
        while (up := owners.get(seen)) is not seen:
            if up is None or up not in self.at:
                return None
            seen = up
        return seen

    def _owned(self, nodes: Sequence[Node]) -> list[Node]:
        found = (self.owners.get(n) for n in nodes)
        return list(dict.fromkeys(n for n in found if n is not None))

    # -- cutting -----------------------------------------------------------------------------------

    def cuts(self) -> list[int]:
        """Where each stage ends: about evenly, and where little crosses."""
        n = len(self.order)
        if n <= MAX_STAGES:
            return list(range(1, n + 1))
        crossing = [0] * (n + 1)
        for o, last in self.last.items():
            if last > self.at[o]:
                crossing[self.at[o] + 1] += self.sizes[o]
                crossing[last + 1] -= self.sizes[o]
        for i in range(1, n + 1):
            crossing[i] += crossing[i - 1]
        total, done = [0.0], 0.0
        for node in self.order:
            done += self.sizes[node] + 200
            total.append(done)
        found, start = [], 0
        for k in range(1, MAX_STAGES):
            low, high = ((k + d) * done / MAX_STAGES for d in (-0.45, 0.45))
            window = [i for i in range(start + 1, n) if low <= total[i] <= high]
            if window:
                start = min(window, key=lambda i: crossing[i])
                found.append(start)
        return [*found, n]

    def staged(self, ends: Sequence[int]) -> tuple[list[list[Node]], dict[Node, int]]:
        """Which nodes are reversed in which stage, and in which one a value is needed last.

        They are reversed in their own order, each in the first stage that has what its rule reads.
        """
        stage, k = {}, 0
        for i, n in enumerate(self.order):
            while i >= ends[k]:
                k += 1
            stage[n] = k
        reversed_in: list[list[Node]] = [[] for _ in ends]
        needed = {o: stage[o] for o in self.members}
        for n in self.order:
            for o in self.reads[n]:
                needed[o] = max(needed[o], stage[n])
        at = 0
        for n in self.reverse:
            at = max([at, *(stage[m] for m in self.named[n])])
            reversed_in[at].append(n)
            for o in self.keeps[n]:
                needed[o] = max(needed[o], at)
        return reversed_in, needed

    def parts(self, ends: Sequence[int], pinned: set[Node]) -> list[Part]:
        """The stages, of which `pinned` is no part: that is held all through."""
        parts, start = [], 0
        reversed_in, needed = self.staged(ends)
        for end, nodes in zip(ends, reversed_in, strict=True):
            parts.append(Part(self.order[start:end], nodes))
            start = end
        made = [{o for n in part.forward if (o := self.owners[n]) is n} - pinned for part in parts]
        for k, own in enumerate(made):
            for o in own:
                for later in parts[k + 1 : needed[o] + 1]:
                    later.enters.add(o)
        for k, part in enumerate(parts):
            leaving = parts[k + 1].enters if k + 1 < len(parts) else set()
            read = {o for n in part.reverse for o in self.keeps[n]}
            part.kept = {o for o in made[k] if o in read or o in leaving}
            part.dropped = self._dropped(part, leaving | pinned)
            part.dropped_saving = self._dropped(part, part.kept | part.enters | pinned)
        return parts

    def _dropped(self, part: Part, stays: set[Node]) -> dict[Node, list[Node]]:
        """After which node of it a value is not needed any more in this run."""
        last: dict[Node, Node] = dict.fromkeys(part.enters, part.forward[0])
        for n in part.forward:
            last |= dict.fromkeys(self.reads[n], n)
            if self.owners[n] is n:
                last[n] = n
        found: dict[Node, list[Node]] = {}
        for o, n in last.items():
            if o not in stays:
                found.setdefault(n, []).append(o)
        return found

    def pinned(self, ends: Sequence[int], most: int) -> set[Node]:
        """What is needed more than `most` stages after the one that makes it."""
        _, needed = self.staged(ends)
        return {o for o, last in needed.items() if last - bisect(ends, self.at[o]) > most}

    # -- weighing ----------------------------------------------------------------------------------

    def size(self, owners: set[Node]) -> int:
        return sum(self.sizes[o] for o in owners)

    def stages(self, parts: Sequence[Part], pinned: set[Node]) -> list[Stage]:
        """What each stage takes."""
        after, peaks = self._adjoints(parts)
        found = []
        for k, part in enumerate(parts):
            leaving = parts[k + 1].enters if k + 1 < len(parts) else set()
            entering = self.size(part.enters)
            alone = self._run(part, part.dropped, part.enters, pinned)
            seconds = sum(self.seconds(n) for n in part.forward)
            reverse = sum(self.seconds(n, reverse=True) for n in part.reverse)
            found.append(
                Stage(
                    entering, self.size(leaving), self.size(part.kept), alone, alone + entering,
                    self._run(part, part.dropped_saving, set(), pinned), after[k], peaks[k],
                    seconds, reverse,
                )
            )  # fmt: skip
        return found

    def seconds(self, node: Node, reverse: bool = False) -> float:
        """About how long a node takes, or its rule."""
        body = node.attrs.get("body")
        if isinstance(body, Body):
            runs = 4 + len(body.segments) if reverse else 1
            each = sum(CALL_SECONDS + NUMBER_SECONDS * n.size for n in body.graph.nodes)
            return runs * body.count * each
        if reverse:
            return 2 * self.seconds(node)
        numbers = node.size + sum(n.size for n in inputs_of(node))
        return CALL_SECONDS + NUMBER_SECONDS * numbers

    def _run(
        self, part: Part, dropped: dict[Node, list[Node]], others: set[Node], pinned: set[Node]
    ) -> int:
        """The peak of a run, without what enters it."""
        held = peak = 0
        for n in part.forward:
            if self.owners[n] is n and n not in pinned:
                held += self.sizes[n]
            peak = max(peak, held + self.workspace[n])
            held -= sum(self.sizes[o] for o in dropped.get(n, ()) if o not in others)
        return peak

    def _adjoints(self, parts: Sequence[Part]) -> tuple[list[int], list[int]]:
        """Per stage what adjoints there are before it is reversed, and the peak while it is."""
        alive: dict[Node, int] = {o: self.adjoint(o) for o in self.outputs}
        held = sum(alive.values())
        after, peaks = [], []
        for part in reversed(parts):
            after.append(held)
            peak = held
            for n in reversed(part.reverse):
                if n not in alive:
                    continue
                fresh = 0
                for p in n.parents:
                    size = self.adjoint(p) * (2 if _scatters(n) else 1)  # pieces, and their sum
                    if p in alive:
                        fresh += size
                    held += max(0, size - alive.get(p, 0))
                    alive[p] = max(size, alive.get(p, 0))
                peak = max(peak, held + fresh + self.masks * self.rule_workspace[n])
                held -= alive.pop(n)
            peaks.append(peak)
        return after[::-1], peaks[::-1]

    def adjoint(self, node: Node) -> int:
        """The bytes of an adjoint of this node."""
        if node.dtype == OBJECT:
            return self.sizes.get(node, 0)
        return self.masks * node.size * node.dtype.itemsize + 150


def _scatters(node: Node) -> bool:
    """Whether what it adds to the adjoint of a large array may wait as pieces."""
    op = node.op
    return op.depends.copies and (op.view or op.fixed_from is not None)

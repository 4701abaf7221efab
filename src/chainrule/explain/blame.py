"""From results that are not finite back to where that began: who made it, and who passed it on.

Two walks against the order of the computation.  The first goes from the gradients, which are
computed last, along the edges that brought a number that is not finite; it ends at an edge whose
own derivative is at fault, or at values of the forward pass that are.  The second goes from those
values, and from outputs that are not finite, to the ops that made them.  What no result was
computed from is not blamed: a log(0) in the branch that `where` did not take is legitimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.node import Node
from chainrule.core.parts import Parts
from chainrule.diff.reverse import Adjoints, contributions, fit, reverse
from chainrule.errors import DerivativeError
from chainrule.explain.lanes import (
    Lanes,
    Operand,
    first_lane,
    folded,
    is_nan,
    lane_wise,
    not_finite,
    read_lanes,
    spread,
)


class Known(Protocol):
    """What is known of one computation: its nodes, parents first, and their numbers."""

    @property
    def order(self) -> Sequence[Node]: ...

    @property
    def outputs(self) -> Sequence[Node]: ...

    @property
    def inputs(self) -> Sequence[Node]: ...  # whose gradients are asked for

    @property
    def adjoints(self) -> Mapping[Node, Any]: ...

    @property
    def seeded(self) -> Mapping[Node, Any]: ...

    def value(self, node: Node) -> Any: ...

    def operands(self, node: Node) -> Sequence[Operand]: ...

    def below(self, node: Node) -> Sequence[Node]: ...

    def bound(self, node: Node) -> Node: ...


@dataclass(frozen=True)
class Event:
    """A number that is not finite, where it appeared, and what it was computed from.

    In the forward pass it is the value of `node`.  In the backward pass it is what `node` added to
    the adjoint of `parent`.  `role` is "creator" (all it was computed from is finite), "carrier",
    or "input", "constant", "seed": it came with what was given; "unknown" if nothing of what it was
    computed from was kept.
    """

    node: Node
    when: str  # "forward" or "backward"
    role: str
    value: Any  # the number itself
    index: tuple[int, ...]  # where in the value, or in the adjoint of the parent, it stands
    count: int  # how many there are
    parent: Node | None = None
    lane: tuple[int, ...] | None = None  # backward: the lane of the node it came through
    operands: tuple[Operand, ...] = ()  # each with the number read here, or a whole array
    places: tuple[tuple[int, ...] | None, ...] = ()  # where in its array each operand stands
    adjoint: Any = None  # backward: the upstream adjoint in that lane
    local: Any = None  # backward: the entry of the local Jacobian
    how: str = ""  # "overflow", "division by zero", "invalid", "0 × inf", "inf - inf", ...

    @property
    def kind(self) -> str:
        """ "NaN", "inf" or "-inf"."""
        return kind_of(self.value)

    @property
    def line(self) -> Any:
        """The user's line."""
        return self.node.line

    @property
    def origin(self) -> bool:
        """Whether it began here."""
        return self.role != "carrier"


def every_adjoint(
    order: Sequence[Node], seeds: Adjoints, bound: Callable[[Node], Node]
) -> Adjoints:
    """The adjoint of every node; a rule that refuses a NaN ends nothing."""

    def visit(node: Node, g: Any) -> Iterator[tuple[Node, Any]]:
        for parent, c in zip(node.parents, contributed(g, bound(node)), strict=True):
            if c is not None:
                yield parent, fit(c, parent)

    return reverse(order, seeds, visit, keep=True)


def contributed(g: Any, node: Node) -> Sequence[Any]:
    """What a node adds to its parents; NaN if its rule refuses an adjoint that is not finite."""
    try:
        return contributions(g, node)
    except ValueError:  # SciPy and LAPACK: "array must not contain infs or NaNs"
        if not not_finite(g).any():
            raise
        return [np.full(p.shape, np.nan, p.dtype) for p in node.parents]


def kind_of(number: Any) -> str:
    """What a number that is not finite is called."""
    if number is None or np.isnan(number):
        return "NaN"
    if not np.iscomplexobj(number) and number < 0:
        return "-inf"
    return "inf"


class Walk:
    """Both walks over one computation; `events` comes out in the order in which things happened."""

    def __init__(self, known: Known):
        self.known = known
        self.values: dict[Node, Lanes] = {}  # lanes of a value that a result depends on
        self.adjoints: dict[Node, Lanes] = {}
        self.explained: dict[Node, Lanes] = {}
        self.constants: set[tuple[Node, str]] = set()
        self.forward: list[Event] = []
        self.backward: list[Event] = []

    def events(self) -> list[Event]:
        known = self.known
        for node in known.inputs:
            self._blame(self.adjoints, node, not_finite(known.adjoints.get(node, 0.0)))
        for node in known.outputs:
            self._blame(self.values, node, not_finite(known.value(node)))
        if self.adjoints:
            for node in known.order:
                self._edges(node)
            for node, lanes in self.adjoints.items():
                self._seed_or_sum(node, lanes)
        position = {node: i for i, node in enumerate(known.order)}
        if self.values:
            for node in reversed(known.order):
                self._value(node)
        self.forward.sort(key=lambda e: (position[e.node], e.role != "constant"))
        # A seed or a sum is complete before the node's own rule is asked.
        self.backward.sort(key=lambda e: (-position[e.node], e.node is not e.parent))
        return [*self.forward, *self.backward]

    @staticmethod
    def _blame(where: dict[Node, Lanes], node: Node, lanes: Lanes) -> None:
        if lanes.any():
            have = where.get(node)
            where[node] = lanes if have is None else have | lanes

    # -- adjoints ------------------------------------------------------------------------------

    def _edges(self, node: Node) -> None:
        """Which contributions of this node brought the trouble to its parents."""
        g = self.known.adjoints.get(node)
        if node.rule is None or g is None or not any(p in self.adjoints for p in node.parents):
            return
        try:
            with np.errstate(all="ignore"):
                parts = contributed(g, self.known.bound(node))
                fitted = [
                    None if c is None else fit(c, p)
                    for p, c in zip(node.parents, parts, strict=True)
                ]
        except DerivativeError:  # it needs more than arrays; whatever it got, it passed on
            self._blame(self.adjoints, node, not_finite(g))
            return
        for slot, (parent, c) in enumerate(zip(node.parents, fitted, strict=True)):
            if c is not None and parent in self.adjoints:
                bad = not_finite(c) & self.adjoints[parent]
                if bad.any():
                    self._edge(node, slot, g, parts[slot], c, bad)

    def _edge(self, node: Node, slot: int, g: Any, raw: Any, fitted: Any, bad: Lanes) -> None:
        parent = node.parents[slot]
        self._blame(self.explained, parent, bad)
        operands = self.known.operands(node)
        upstream = not_finite(g)
        through, made = self._through(node, operands, raw, bad, upstream)
        self._blame(self.adjoints, node, through)
        lane = _one_of(made, through)
        causes: dict[int, Lanes] = {}
        if made.any():
            causes, made = self._read_values(node, operands, made)
            lane = _one_of(made) or lane
        if made.any():  # where the value is no number either, it began with the value
            mine = self.known.value(node)
            if mine is not None:
                self._blame(self.values, node, not_finite(mine) & made)
        created = made.any() or not (through.any() or causes)
        index = first_lane(bad)
        self.backward.append(
            Event(
                node,
                "backward",
                "creator" if created else "carrier",
                _number(fitted, index),
                index,
                int(bad.sum()),
                parent,
                lane,
                adjoint=g,
            )
        )

    def _through(
        self, node: Node, operands: Sequence[Operand], raw: Any, bad: Lanes, upstream: Lanes
    ) -> tuple[Lanes, Lanes]:
        """Lanes whose adjoint was not finite already, and lanes where this rule made it so."""
        lanes = not_finite(raw)
        if lane_wise(node, operands) and lanes.ndim <= len(node.shape):
            lanes = spread(lanes, node.shape) & spread(bad, node.shape)
            return lanes & upstream, lanes & ~upstream
        if upstream.any():
            return upstream, np.zeros(node.shape, bool)
        return upstream, np.ones(node.shape, bool)

    def _read_values(
        self, node: Node, operands: Sequence[Operand], made: Lanes
    ) -> tuple[dict[int, Lanes], Lanes]:
        """Values that are not finite and that the rule reads: then they are to blame."""
        rule, by_lane = node.rule, lane_wise(node, operands)
        everything = "xs" in rule.saved_names
        causes: dict[int, Lanes] = {}
        left = made
        for i, operand in enumerate(operands):
            if not (everything or operand.name in rule.saved_names):
                continue
            bad = not_finite(operand.value)
            if by_lane:
                bad = bad & folded(made, bad.shape)
            if bad.any():
                causes[i] = bad
                left = left & ~spread(bad, node.shape) if by_lane else np.zeros_like(left)
                self._blame_operand(node, operand, bad)
        if left.any() and "out" in rule.saved_names:
            out = not_finite(self.known.value(node))
            mine = out & left if by_lane else out
            if mine.any():
                causes[-1] = mine
                self._blame(self.values, node, mine)
                left = left & ~mine if by_lane else np.zeros_like(left)
        return causes, left

    def _blame_operand(self, node: Node, operand: Operand, lanes: Lanes) -> None:
        if operand.node is not None:
            self._blame(self.values, operand.node, lanes)
            return
        if (node, operand.name) in self.constants:
            return
        self.constants.add((node, operand.name))
        index = first_lane(lanes)
        self.forward.append(
            Event(
                node,
                "forward",
                "constant",
                _number(operand.value, index),
                index,
                int(lanes.sum()),
                operands=(operand,),
                places=(index,),
            )
        )

    def _seed_or_sum(self, node: Node, lanes: Lanes) -> None:
        """Where no contribution was at fault: the seed, or a sum that overflowed."""
        left = lanes & ~self.explained.get(node, np.zeros_like(lanes))
        if not left.any():
            return
        seed = not_finite(self.known.seeded.get(node, 0.0))
        given = bool((left & seed).any())
        index = first_lane(left & seed if given else left)
        number = _number(self.known.adjoints[node], index)
        self.backward.append(
            Event(
                node,
                "backward",
                "seed" if given else "creator",
                number,
                index,
                int(left.sum()),
                node,
                how="" if given else "sum",
            )
        )

    # -- values --------------------------------------------------------------------------------

    def _value(self, node: Node) -> None:
        lanes = self.values.get(node)
        if lanes is None:
            return
        value = self.known.value(node)
        role = "input"
        if node.rule is not None:
            causes, created = self._causes(node, value, lanes)
            for operand, bad in causes:
                self._blame_operand(node, operand, bad)
            role = "creator" if created.any() or not causes else "carrier"
            if node.rule.active and not self.known.operands(node):
                role = "unknown"
            lanes = created if created.any() else lanes
        index = first_lane(lanes)
        event = Event(
            node, "forward", role, _number(value, index), index, int(lanes.sum()), lane=index
        )
        self.forward.append(event)

    def _causes(
        self, node: Node, value: Any, lanes: Lanes
    ) -> tuple[list[tuple[Operand, Lanes]], Lanes]:
        """The operands these lanes got it from, each with its lanes; and the lanes that did not."""
        operands = self.known.operands(node)
        suspects = [o for o in operands if o.suspect and o.node is not None]
        bad = {i: not_finite(o.value) for i, o in enumerate(operands)}
        bad = {i: b for i, b in bad.items() if b.any()}
        by_lane = lane_wise(node, operands)
        if not bad:
            every = [(o, np.ones(o.node.shape, bool)) for o in suspects if o.node is not None]
            return every, lanes & (not every)
        if by_lane:
            touched = np.zeros(node.shape, bool)
            for b in bad.values():
                touched = touched | spread(b, node.shape)
            bad = {i: b & folded(lanes, b.shape) for i, b in bad.items()}
            created = lanes & ~touched & (value is not None)
        else:
            created = np.zeros_like(lanes)
        sources = self._taken(node, operands, value, lanes, bad)
        return [(operands[i], b) for i, b in sources.items()], created

    def _taken(
        self,
        node: Node,
        operands: Sequence[Operand],
        value: Any,
        lanes: Lanes,
        bad: dict[int, Lanes],
    ) -> dict[int, Lanes]:
        """Of the operands that are not finite those that count: the lanes read, and NaN first."""
        bad = {i: b for i, b in bad.items() if b.any()}
        if len(bad) > 1 or lanes.size > 1:
            read = read_lanes(node, operands, value, lanes)
            if read is not None:
                taken = {i: b & read[i] for i, b in bad.items() if i in read}
                taken = {i: b for i, b in taken.items() if b.any()}
                bad = taken or bad  # a maximum of NaN reads nothing at all
        if len(bad) > 1 and (is_nan(value) & lanes).all():
            nans = {i: b & is_nan(operands[i].value) for i, b in bad.items()}
            nans = {i: b for i, b in nans.items() if b.any()}
            bad = nans or bad  # clip(NaN, 0, inf): the bound is not to blame
        return bad


def _one_of(*choices: Lanes) -> tuple[int, ...] | None:
    """The first lane of the first choice that has any."""
    return next((first_lane(lanes) for lanes in choices if lanes.any()), None)


def _number(value: Any, index: tuple[int, ...]) -> Any:
    """One number of a value; of several results the first that is not finite."""
    if value is None:
        return None
    if isinstance(value, (tuple, Parts)):
        part = next(p for p in value if p is not None and not_finite(p).any())
        return _number(part, first_lane(not_finite(part)))
    return np.asarray(plain(value))[index][()]

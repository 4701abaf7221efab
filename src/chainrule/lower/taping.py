"""From a recorded graph to a tape: what is scalar goes onto it, the rest reads its results."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.parts import OBJECT
from chainrule.core.rule import rule_for
from chainrule.diff import sweep
from chainrule.diff.sweep import SWEEP, moves_lanes
from chainrule.lower.arrays import NotLoweredError
from chainrule.lower.kinds import SLOT_TYPES, Kind, copying, kind_of
from chainrule.lower.tape import TAPE, Result, Tape, scheduled
from chainrule.lower.values import DOUBLE
from chainrule.ops.structure import item
from chainrule.record.specialise import Guard, Recording

MOST_BAKED = 4  # constants of one op that are written into the code; others take a slot each


def taped(recording: Recording) -> Recording:
    """The recording with its scalar part as one node, where that is large; else as it is.

    Raises NotLoweredError where a gradient was recorded as a sweep and no tape can do it.
    """
    graph = recording.graph
    if len(graph) < sweep.LEAST:
        return recording
    writer = _Writer(recording)
    writer.walk(dfs_order((*graph.outputs, *(g.node for g in recording.guards)), inputs_of))
    if writer.sweep is None and len(writer.kind) < sweep.LEAST:
        return recording
    return writer.recording()


class _Writer:
    """Walks a graph, and takes what it can onto the tape; the rest stays."""

    def __init__(self, recording: Recording):
        self.given_recording = recording
        self.slots: dict[Node, Any] = {}  # a number, or an array of them
        self.rest: list[Node] = []
        self.sweep: Node | None = None
        self.preset = array("d")  # numbers of the first slots
        self.level = array("i")  # of all, by number in order of appearance
        self.kind = array("i")  # of instructions: -1 where it is given
        self.operands = array("i")
        self.kinds: list[Kind] = []
        self.known: dict[Any, int] = {}  # kinds by what tells them apart; -1: cannot be
        self.constants: dict[float, int] = {}
        self.baked: dict[Any, int] = {}
        self.inputs: list[tuple[Node, int]] = []
        self.adjoints: dict[Node, tuple[bool, Any]] = {}  # results of the sweep

    # -- what is given -------------------------------------------------------------------------

    def _preset(self, numbers: np.ndarray) -> np.ndarray:
        first = len(self.kind)
        self.preset.frombytes(np.ascontiguousarray(numbers, np.float64).tobytes())
        self.kind.extend([-1] * numbers.size)
        self.level.extend([0] * numbers.size)
        return np.arange(first, first + numbers.size)

    def _leaf(self, leaf: Node) -> None:
        recording = self.given_recording
        if leaf.dtype not in SLOT_TYPES or (leaf.shape and leaf.dtype.itemsize != 8):
            return
        known = recording.constants.get(leaf)
        if known is None:
            self.inputs.append((leaf, len(self.kind)))
        numbers = np.zeros(leaf.size) if known is None else _as_slots(known)
        at = self._preset(numbers).reshape(leaf.shape)
        self.slots[leaf] = at if leaf.shape else int(at)

    # -- the walk ------------------------------------------------------------------------------

    def walk(self, order: Iterable[Node]) -> None:
        graph = self.given_recording.graph
        for leaf in (*graph.leaves, *graph.captured):
            self._leaf(leaf)
        slots, take = self.slots, self._take
        for node in order:
            if not node.is_leaf and not take(node):
                self.rest.append(node)

    def _take(self, node: Node) -> bool:
        """Put a node on the tape; whether that is possible."""
        slots = self.slots
        args = []
        for arg in node.args or ():
            if isinstance(arg, Node):
                arg = slots.get(arg)
                if arg is None:
                    return self._take_result(node)
            else:
                arg = _Given(arg)
            args.append(arg)
        op = node.rule.op
        if op is SWEEP:
            if self.sweep is not None:
                return False
            self.sweep = node
            return True
        if moves_lanes(op) and len(args) == 1:
            found = op.forward(np.asarray(args[0]), **node.attrs)
            slots[node] = found if found.shape else int(found)
            return True
        if node.shape:
            return self._take_copies(node, args)
        return bool(args) and self._take_scalar(node, args)

    def _take_result(self, node: Node) -> bool:
        """An adjoint that the sweep has found."""
        if self.sweep is None or not node.args or node.args[0] is not self.sweep:
            return False
        of = self.sweep.args[1 + node.attrs["index"]]  # type: ignore[index]
        self.adjoints[node] = True, self.slots[of]
        return True

    def _take_copies(self, node: Node, args: list[Any]) -> bool:
        """An array that is another by a name of its own, as the inputs of a gradient are."""
        if len(args) != 1 or node.dtype != DOUBLE or node.op.forward(args[0]) is not args[0]:
            return False
        number = self._numbered("copy", copying)
        first = len(self.kind)
        for at in args[0].flat:
            self._append(number, [int(at)])
        self.slots[node] = np.arange(first, len(self.kind)).reshape(node.shape)
        return True

    def _take_scalar(self, node: Node, args: list[Any]) -> bool:
        rule = node.rule
        key: Any = rule
        plain = True
        for arg in args:
            if type(arg) is not int:
                plain = False
        if node.attrs or not plain or node.op.name == "item":
            key = self._key(node, args)
            if key is None:
                return False
        number = self.known.get(key)
        if number is None:
            number = self._new_kind(key, node, args)
        if number < 0:
            return False
        at = [a for a in args if type(a) is int]
        self.slots[node] = len(self.kind)
        self._append(number, at)
        return True

    def _key(self, node: Node, args: list[Any]) -> Any:
        """What tells a kind apart beside its rule; constants may be given slots on the way."""
        settings = tuple((k, v) for k, v in node.attrs.items() if not k.startswith("_"))
        base = node.rule, settings, tuple(type(a) is int for a in args)
        constants = [a.value for a in args if type(a) is not int]
        if any(type(a) not in (int, np.ndarray, _Given) for a in args):
            return None
        if any(isinstance(a, np.ndarray) for a in args):
            return None  # an array is an operand
        try:
            key = (*base, tuple((type(c), c) for c in constants))
            if not constants or key in self.known:
                return key
            count = self.baked.get(base, 0)
            self.baked[base] = count + 1
        except TypeError:  # something cannot be hashed
            return None
        may = all(type(c) in (int, float, np.float64) for c in constants) and node.dtype == DOUBLE
        if count < MOST_BAKED or not may:
            return key
        for i, arg in enumerate(args):
            if type(arg) is not int:
                args[i] = self._constant(float(arg.value))
        return base

    def _constant(self, number: float) -> int:
        key = number if number == number and number != 0 else repr(number)  # -0.0 is not 0.0
        at = self.constants.get(key)  # type: ignore[arg-type]
        if at is None:
            at = self.constants[key] = int(self._preset(np.array([number]))[0])  # type: ignore[index]
        return at

    def _new_kind(self, key: Any, node: Node, args: list[Any]) -> int:
        described = [
            _type_of(a, n) if type(a) is int else a.value
            for a, n in zip(args, node.args or (), strict=True)
        ]
        try:
            return self._numbered(key, lambda: kind_of(node, described))
        except NotLoweredError:
            self.known[key] = -1
            return -1

    def _numbered(self, key: Any, make: Any) -> int:
        number = self.known.get(key)
        if number is None:
            kind = make()
            number = self.known[key] = len(self.kinds)
            self.kinds.append(kind)
        return number

    def _append(self, number: int, operands: list[int]) -> None:
        level = self.level
        deepest = 0
        for at in operands:
            if level[at] > deepest:
                deepest = level[at]
        self.kind.append(number)
        level.append(deepest + 1)
        self.operands.extend(operands)

    # -- what comes of it ----------------------------------------------------------------------

    def recording(self) -> Recording:
        """The recording in which one node stands for the tape."""
        if self.sweep is None and any(n.rule.op is SWEEP for n in self.rest):
            raise NotLoweredError("a gradient was recorded as a sweep")
        given = self.given_recording
        graph = given.graph
        first = (*graph.leaves, *graph.captured)
        known: dict[Node, Node] = dict(zip(first, first, strict=True))
        read = [*graph.outputs, *(g.node for g in given.guards)]
        read += [a for node in self.rest for a in inputs_of(node)]
        known |= self._results([n for n in dict.fromkeys(read) if n not in known])
        for node in self.rest:
            args = tuple(known[a] if isinstance(a, Node) else a for a in node.args or ())
            known[node] = Node(
                node.rule, (), (), node.attrs, node.shape, node.dtype, node.code, node.lasti, args
            )
        outputs = tuple(known[o] for o in graph.outputs)
        later = [n for n in dfs_order(outputs, inputs_of) if n not in graph.captured]
        nodes = (*first, *(n for n in later if not n.is_leaf))
        contracted = Graph(
            nodes, graph.leaves, outputs, graph.name, graph.captured, graph.inputs, graph.result
        )
        guards = tuple(Guard(known[g.node], g.value) for g in given.guards)
        return Recording(contracted, guards, given.live, given.constants, given.variables)

    def _results(self, read: list[Node]) -> dict[Node, Node]:
        """Nodes for what is read of the tape."""
        wanted = {n: (False, self.slots[n]) for n in read if n in self.slots}
        wanted |= {n: self.adjoints[n] for n in read if n in self.adjoints}
        line = next(((n.code, n.lasti) for n in wanted), (None, 0))
        leaves = tuple(leaf for leaf, _ in self.inputs)
        attrs = {"tape": self._tape(wanted)}
        whole = Node(rule_for(TAPE, ()), (), (), attrs, (), OBJECT, *line, leaves)
        part = rule_for(item, (False,))
        return {
            n: Node(
                part, (), (), {"index": i, "count": len(wanted)}, n.shape, n.dtype, n.code, n.lasti,
                (whole,),
            )
            for i, n in enumerate(wanted)
        }  # fmt: skip

    def _tape(self, wanted: dict[Node, tuple[bool, Any]]) -> Tape:
        kind, level = np.array(self.kind), np.array(self.level)
        reversed_ = np.zeros(len(kind), bool)
        if self.sweep is not None:
            at = [self.slots[n] for n in self.sweep.attrs["_order"] if n.shape == ()]
            reversed_[at] = True
            for node in self.sweep.args[1:]:  # type: ignore[index]
                reversed_[self.slots[node]] = False  # the walk ends there
            flows = np.array([*(k.flows for k in self.kinds), False])
            reversed_ &= flows[kind]
        arity = [len(k.operands) for k in self.kinds]
        found = scheduled(kind, level, reversed_, np.array(self.operands), arity)
        seed = None
        if self.sweep is not None:
            out = self.slots[self.sweep.args[0]]  # type: ignore[index]
            seed = int(found.slot[out]), float(self.sweep.attrs["seed"])
        return Tape(
            tuple(self.kinds),
            found.runs,
            found.operands,
            np.array(self.preset),
            tuple((int(found.slot[at]), n.size, n.dtype) for n, at in self.inputs),
            len(kind) - len(self.preset),
            seed,
            tuple(
                Result(adjoint, found.slot[np.asarray(slots)].reshape(-1), n.shape, n.dtype)
                for n, (adjoint, slots) in wanted.items()
            ),
        )


class _Given:
    """A constant among the arguments."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


def _as_slots(values: np.ndarray) -> np.ndarray:
    """Numbers as slots hold them: integers and truths by their bits."""
    flat = np.asarray(values).reshape(-1)
    return flat if flat.dtype == DOUBLE else flat.astype(np.int64).view(np.float64)


def _type_of(slot: int, node: Any) -> Any:
    return node.dtype if isinstance(node, Node) else DOUBLE

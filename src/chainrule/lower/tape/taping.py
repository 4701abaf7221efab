"""From a recorded graph to a tape: what is scalar goes onto it, the rest reads its results."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.core.op import Linear
from chainrule.core.order import dfs_order
from chainrule.core.parts import OBJECT
from chainrule.core.rule import rule_for
from chainrule.diff import sweep
from chainrule.diff.sweep import SWEEP, moves_lanes
from chainrule.lower.tape.kinds import SLOT_TYPES, Kind
from chainrule.lower.tape.tape import MAX_KINDS, ReverseSweep, Tape, TapeResult, scheduled
from chainrule.lower.values.array import TAPE, NotLoweredError
from chainrule.lower.values.value import DOUBLE
from chainrule.ops.structure import item
from chainrule.record.specialise import Recording

MAX_SWEEPS = 31
MAX_BAKED = 4  # constants of one op that are written into the code; others take a slot each


def taped(recording: Recording) -> Recording:
    """The recording with its scalar part as one node, where that is large; else as it is.

    Raises NotLoweredError where a gradient was recorded as a sweep and no tape can do it.
    """
    graph = recording.graph
    if len(graph) < sweep.MIN_NODES:
        return recording
    writer = _Writer(recording)
    writer.walk(dfs_order((*graph.outputs, *(g.node for g in recording.guards)), inputs_of))
    # A gradient that was recorded rule by rule has three nodes for one.
    if not writer.sweeps and len(writer.kind) < 3 * sweep.MIN_NODES:
        return recording
    return writer.recording()


class _Writer:
    """Walks a graph, and takes what it can onto the tape; the rest stays."""

    def __init__(self, recording: Recording):
        self.given_recording = recording
        self.slots: dict[Node, Any] = {}  # a number, or an array of them
        self.rest: list[Node] = []
        self.sweeps: dict[Node, int] = {}
        self.preset = array("d")  # numbers of the first slots
        self.level = array("i")  # of all, by number in order of appearance
        self.kind = array("i")  # of instructions: -1 where it is given
        self.operands = array("i")
        self.kinds: list[Kind] = []
        self.known: dict[Any, int] = {}  # kinds by what tells them apart; -1: cannot be
        self.constants: dict[str, int] = {}  # the slot of each, by its digits
        self.mirrored: dict[Node, np.ndarray] = {}  # -1 - the slots of an operand of a view
        self.baked: dict[Any, int] = {}
        self.inputs: list[tuple[Node, int]] = []
        self.adjoints: dict[Node, tuple[int, Any]] = {}  # results of the sweep

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
        for node in order:
            if not node.is_leaf and not self._take(node):
                self.rest.append(node)

    def _take(self, node: Node) -> bool:
        """Put a node on the tape; whether that is possible."""
        slots = self.slots
        args: list[Any] = []
        plain = not node.attrs
        for arg in node.args or ():
            if isinstance(arg, Node):
                arg = slots.get(arg)
                if type(arg) is not int:
                    if arg is None:
                        return self._take_result(node)
                    plain = False
            else:
                arg, plain = _Given(arg), False
            args.append(arg)
        rule = node.rule
        number = self.known.get(rule) if plain else None
        if number is None:
            return self._take_new(node, args)
        if number >= 0:
            slots[node] = len(self.kind)
            self._append(number, args)
        return number >= 0

    def _take_new(self, node: Node, args: list[Any]) -> bool:
        """The same for a node with constants or settings, or the first of its kind."""
        op = node.rule.op
        if op is SWEEP:
            self.sweeps[node] = len(self.sweeps)
            return True
        if moves_lanes(op) and len(args) == 1:
            return self._take_view(node, np.asarray(args[0]))
        if any(type(a) is np.ndarray for a in args):
            return self._take_copies(node, args)
        key = self._key(node, args) if args and node.shape == () else None
        if key is None:
            return False
        number = self.known.get(key)
        if number is None:
            pairs = zip(args, node.args or (), strict=True)
            described = [_type_of(n) if type(a) is int else a.value for a, n in pairs]
            number = self._numbered(key, node, described)
        if number >= 0:
            self.slots[node] = len(self.kind)
            self._append(number, [a for a in args if type(a) is int])
        return number >= 0

    def _take_view(self, node: Node, slots: np.ndarray) -> bool:
        """Slots of an operand read in another way; lanes that are added up are no such thing."""
        operand: Any = node.args[0] if node.args else None
        if operand not in self.mirrored:
            self.mirrored[operand] = -1 - slots
        found = node.op.forward(slots, **node.attrs)
        other = node.op.forward(self.mirrored[operand], **node.attrs)
        if not np.array_equal(other, -1 - found):  # the sum of two would be -2 - found
            return False
        self.slots[node] = found if found.shape else int(found)
        return True

    def _take_result(self, node: Node) -> bool:
        """An adjoint that the sweep has found."""
        whole: Any = node.args[0] if node.args else None
        sweep = self.sweeps.get(whole)
        if sweep is None:
            return False
        self.adjoints[node] = sweep, self.slots[whole.args[1 + node.attrs["index"]]]
        return True

    def _take_copies(self, node: Node, args: list[Any]) -> bool:
        """An array that is another by a name of its own, as the inputs of a gradient are."""
        linear = isinstance(node.op.derivative, Linear) and node.op.depends.copies
        if not linear or node.attrs or len(args) != 1 or node.dtype != DOUBLE:
            return False
        if node.op.forward(args[0]) is not args[0]:
            return False
        key = "copies", node.rule
        number = self.known.get(key, -1)
        if number < 0:
            number = self._numbered(key, node, [DOUBLE])
        first = len(self.kind)
        for at in args[0].flat:
            self._append(number, [int(at)])
        self.slots[node] = np.arange(first, len(self.kind)).reshape(node.shape)
        return True

    def _key(self, node: Node, args: list[Any]) -> Any:
        """What tells a kind apart; None: nothing can.  A constant may be given a slot here."""
        settings = tuple((k, v) for k, v in node.attrs.items() if not k.startswith("_"))
        constants = [a.value for a in args if type(a) is not int]
        if not constants and not settings:
            return node.rule
        base = node.rule, settings, tuple(type(a) is int for a in args)
        # By their digits: 0.0 is not -0.0.
        key = (*base, tuple((type(c), repr(c) if isinstance(c, float) else c) for c in constants))
        try:
            if not constants or key in self.known:
                return key
        except TypeError:  # something cannot be hashed
            return None
        count = self.baked[base] = self.baked.get(base, 0) + 1
        numbers = all(type(c) in (int, float, np.float64) for c in constants)
        if count <= MAX_BAKED or not numbers or node.dtype != DOUBLE:
            return key
        for i, arg in enumerate(args):
            if type(arg) is not int:
                args[i] = self._constant(float(arg.value))
        return base

    def _constant(self, number: float) -> int:
        at = self.constants.get(repr(number))
        if at is None:
            at = self.constants[repr(number)] = int(self._preset(np.array([number]))[0])
        return at

    def _numbered(self, key: Any, node: Node, args: list[Any]) -> int:
        """The number of this kind; -1 where there cannot be one."""
        try:
            kind = Kind(node, args)
        except NotLoweredError:
            kind = None
        if kind is None or len(self.kinds) == MAX_KINDS // 2:  # each may be told apart by ways back
            self.known[key] = -1
            return -1
        self.known[key] = len(self.kinds)
        self.kinds.append(kind)
        return self.known[key]

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
        if len(self.sweeps) > MAX_SWEEPS or any(n.rule.op is SWEEP for n in self.rest):
            raise NotLoweredError("a gradient was recorded as a sweep, and cannot be")
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
        guards = tuple(replace(g, node=known[g.node], of=None) for g in given.guards)
        return replace(given, graph=contracted, guards=guards)

    def _results(self, read: list[Node]) -> dict[Node, Node]:
        """Nodes for what is read of the tape."""
        wanted = {n: (-1, self.slots[n]) for n in read if n in self.slots}
        wanted |= {n: self.adjoints[n] for n in read if n in self.adjoints}
        first = next(iter(wanted), None)
        code, lasti = (None, 0) if first is None else (first.code, first.lasti)
        leaves = tuple(leaf for leaf, _ in self.inputs)
        attrs = {"tape": self._tape(wanted)}
        whole = Node(rule_for(TAPE, ()), (), (), attrs, (), OBJECT, code, lasti, leaves)
        part = rule_for(item, (False,))
        return {
            n: Node(
                part, (), (), {"index": i, "count": len(wanted)}, n.shape, n.dtype, n.code, n.lasti,
                (whole,),
            )
            for i, n in enumerate(wanted)
        }  # fmt: skip

    def _tape(self, wanted: dict[Node, tuple[int, Any]]) -> Tape:
        kind = np.array(self.kind)
        back = self._ways_back(kind)
        arity = [len(k.operands) for k in self.kinds]
        found = scheduled(kind, np.array(self.level), back, np.array(self.operands), arity)
        sweeps = []
        for node, i in self.sweeps.items():
            out = found.slot[self.slots[node.args[0]]]
            sweeps.append(ReverseSweep(int(out), float(node.attrs["seed"]), found.runs_back(i)))
        return Tape(
            tuple(self.kinds),
            sweeps[0].runs if sweeps else found.runs,  # forward, their flag is not looked at
            found.operands,
            np.array(self.preset),
            tuple((int(found.slot[at]), n.size, n.dtype) for n, at in self.inputs),
            len(kind) - len(self.preset),
            tuple(sweeps),
            tuple(
                TapeResult(sweep, found.slot[np.asarray(slots)].reshape(-1), n.shape, n.dtype)
                for n, (sweep, slots) in wanted.items()
            ),
        )

    def _ways_back(self, kind: np.ndarray) -> np.ndarray:
        """Per instruction, by the bits of a number, which sweeps it hands an adjoint on in.

        A kind is told apart from those of its sort that hand on none.
        """
        back = np.zeros(len(kind), np.int32)
        for node, i in self.sweeps.items():
            walked = np.zeros(len(kind), bool)
            walked[[self.slots[n] for n in node.attrs["_order"] if n.shape == ()]] = True
            for end in node.args[1:]:
                walked[self.slots[end]] = False
            back |= walked.astype(np.int32) << i
        for k, made in enumerate(tuple(self.kinds)):
            reached = back[kind == k] != 0
            if reached.any() and not reached.all():  # the others save nothing
                kind[(kind == k) & (back == 0)] = len(self.kinds)
                self.kinds.append(copy(made))
            if reached.any():
                made.differentiate()
        flows = np.array([*(k.flows for k in self.kinds), False])
        return np.where(flows[kind], back, 0)


class _Given:
    """A constant among the arguments."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


def _as_slots(values: np.ndarray) -> np.ndarray:
    """Numbers as slots hold them: integers and truths by their bits."""
    flat = np.asarray(values).reshape(-1)
    return flat if flat.dtype == DOUBLE else flat.astype(np.int64).view(np.float64)


def _type_of(arg: Any) -> Any:
    """What a slot holds: a node, or a number."""
    return arg.dtype if isinstance(arg, Node) else DOUBLE

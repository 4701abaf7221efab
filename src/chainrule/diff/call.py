"""Calling a user's function on fresh leaves, and walking what it recorded in either direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.core.loop import BodyLeaf, refuse_leaked
from chainrule.core.masked import Masked, unmasked
from chainrule.core.node import Leaf, Node, make_leaf
from chainrule.core.order import dfs_order, order_above
from chainrule.diff.forward import forward
from chainrule.diff.history import on_variables, reverse_or_record
from chainrule.diff.reverse import add, own
from chainrule.errors import ArgumentError, DerivativeError, DTypeError
from chainrule.ops.arithmetic import identity
from chainrule.ops.joining import refuse_twist
from chainrule.record.foreign import told_as_ours
from chainrule.record.recorder import as_operand
from chainrule.record.state import current, recording, untraced
from chainrule.record.variable import Variable

NUMBERS = (np.ndarray, np.generic, float, int, complex)


class Call:
    """One call of `f`: the inputs differentiated, what came out, and the nodes in between."""

    sparing = False  # whether it stays within a budget of memory

    def __init__(
        self,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Sequence[int],
    ):
        args = list(args)
        self.f, self.argnums = f, argnums
        self.before = len(_sequence())  # nodes recorded before this call
        self.inputs: list[Variable | None] = []
        self.given: list[Any] = []
        self.structures: list[Structure] = []
        for n in argnums:
            leaves, structure = flatten(args[n])
            bare = len(leaves) == 1 and leaves[0] is args[n]
            variables = [_input(v, n, bare) for v in leaves]
            # f gets Variables of its own: it may assign to them, and ours must stay the inputs.
            given = [
                g if v is None else Variable(v._value, v.node)
                for g, v in zip(leaves, variables, strict=True)
            ]
            args[n] = structure.unflatten(given)
            self.inputs += variables
            self.given += leaves
            self.structures.append(structure)
        try:
            with recording(inside=True), told_as_ours():
                self.result = f(*args, **kwargs)
        finally:
            for v in self.inputs:
                if v is not None and isinstance(v.node, Leaf):
                    v.node.open = False  # to any later call these leaves are constants

    def set_output(self, output: Any) -> None:
        """Declare which part of the result is differentiated, as a nested container of numbers."""
        leaves, self.output_structure = flatten(output)
        if not leaves:
            raise DerivativeError(
                f"the function returned {output!r}; it must return a number, an array or a "
                "container of them"
            )
        self.outputs = [_output(v) for v in leaves]
        with untraced():
            self._sort()

    def _sort(self) -> None:
        """Put the nodes between inputs and outputs into topological order."""
        wrt = {v.node for v in self.inputs if v is not None}
        nested = not all(n.is_leaf for n in wrt)
        nodes = [v.node for v in self.outputs if isinstance(v, Variable)]
        if nested:
            self.order = dfs_order(nodes, lambda n: () if n in wrt else n.parents)
        else:
            self.order = order_above(nodes)
        leaves = [n for n in self.order if n.rule is None]
        outside = any(isinstance(n, Leaf) and n.open and n not in wrt for n in leaves)
        if any(type(n) is BodyLeaf for n in leaves):
            refuse_leaked(self.order)
        # A walk on arrays, unless something outside this call could still be differentiated.
        self.recorded = nested or outside or current.get().tracing is not None
        if self.recorded:
            self.order = self._as_recorded(_between(self.order, wrt))

    def _as_recorded(self, order: list[Node]) -> list[Node]:
        """An order in which the iterations of a loop follow each other, where that is noted: what
        is recorded of the walk then repeats itself as they do."""
        members = set(order)
        recorded = [n for n in _sequence()[self.before :] if n in members]
        return recorded if len(recorded) == len(order) else order

    def pull(self, seeds: Sequence[Any], record: bool = False) -> list[Any]:
        """Per input the adjoint when the outputs have adjoints `seeds` (None: zero)."""
        adjoints: dict[Node, Any] = {}
        tracing = current.get().tracing
        if tracing is not None and tracing.guarded and tracing.counts:
            seeds = [tracing.recorded(s) for s in seeds]
        for out, seed in zip(self.outputs, seeds, strict=True):
            if isinstance(out, Variable) and seed is not None:
                add(adjoints, out.node, seed)
        prepare = on_variables if record or self.recorded else None
        state = current.get()
        debug, tracing = state.debug, state.tracing
        last = tracing is not None and tracing.sweeps and not state.inside
        try:
            with np.errstate(all="ignore"), recording(inside=False), self._quiet():
                wanted = dict.fromkeys(v.node for v in self.inputs if v is not None)
                summed = reverse_or_record(self.order, adjoints, prepare, wanted, last)
        except ValueError:  # LAPACK refuses a NaN
            if debug is not None:
                debug.pulled(self, adjoints, None)
            raise
        pulled = [None if v is None else unmasked(summed.get(v.node)) for v in self.inputs]
        if debug is not None:
            debug.pulled(self, adjoints, pulled)
        return pulled

    def _quiet(self) -> Any:
        """What a walk runs in: untraced, unless it calls rules of the user's own."""
        if not current.get().watched:
            return nullcontext()
        own = all(n.rule is None or n.rule.op.registered for n in self.order)
        return untraced() if own else nullcontext()

    def push(self, tangents: Sequence[Any], record: bool = False) -> list[Any]:
        """Per output its tangent when the inputs have these tangents (None: zero)."""
        prepare = on_variables if record or self.recorded else None
        known = {
            v.node: t
            for v, t in zip(self.inputs, tangents, strict=True)
            if v is not None and t is not None
        }
        with np.errstate(all="ignore"), recording(inside=False), self._quiet():
            known = forward(self.order, known, prepare)
        pushed = [
            unmasked(known.get(v.node)) if isinstance(v, Variable) else None for v in self.outputs
        ]
        debug = current.get().debug
        if debug is not None:
            debug.pushed(self, known, pushed)
        return pushed

    def plain(self, value: Any) -> Any:
        """A result for the caller: an array, or a Variable if it can still be differentiated."""
        if not isinstance(value, Variable) or self.recorded:
            return value
        return own(value._value)


def _input(value: Any, n: int, bare: bool) -> Variable | None:
    """A leaf for one number or array of argument n; None for what carries no derivative."""
    tracing = current.get().tracing
    if isinstance(value, Variable):
        if value.dtype.kind not in "fc":
            return None
        made = identity(value)
        return made if tracing is None else tracing.want(made)
    if type(value) is int and bare:
        value = float(value)
    if not isinstance(value, NUMBERS) or isinstance(value, bool):
        if bare:
            raise DTypeError(
                f"cannot differentiate with respect to argument {n}: a {type(value).__name__} is "
                "not a number or an array"
            )
        return None
    if type(value) not in NUMBERS:
        refuse_twist(value)
    array = np.array(value)
    if array.dtype.kind not in "fc":
        if bare:
            numbers = array.dtype.kind in "iubO"
            have_none = "integers" if array.dtype.kind in "iub" else "things other than numbers"
            cure = (
                "pass it as floating point: x.astype(float)."
                if numbers
                else "say with argnums= what is differentiated: other arguments may be anything."
            )
            raise DTypeError(
                f"cannot differentiate with respect to argument {n}: it holds {array.dtype.name}, "
                f"and {have_none} have no derivative.\n  {cure}"
            )
        return None
    made = Variable(array[()], make_leaf(array.shape, array.dtype, None))
    return made if tracing is None else tracing.want(tracing.adopt(made))


def _output(value: Any) -> Any:
    if isinstance(value, Variable):
        return value
    try:
        operand = as_operand(value, Variable)
    except DTypeError:
        raise DerivativeError(
            "the function must return a number, an array or a container of them; "
            f"it returned {value!r}"
        ) from None
    return operand if isinstance(operand, Variable) else np.asarray(operand)[()]


def _sequence() -> Sequence[Node]:
    """All nodes as they were recorded, where that is noted."""
    tracing = current.get().tracing
    return () if tracing is None else tracing.sequence


def _between(order: Sequence[Node], wrt: set[Node]) -> list[Node]:
    """The nodes of `order` that depend on one of `wrt`, without those."""
    reached, between = set(wrt), []
    for node in order:
        if node not in wrt and any(p in reached for p in node.parents):
            reached.add(node)
            between.append(node)
    return between


def positions(argnums: int | Sequence[int], count: int) -> list[int]:
    """`argnums` as a list of valid positions among `count` arguments."""
    single = isinstance(argnums, (int, np.integer)) or not hasattr(argnums, "__iter__")
    listed: list[Any] = [argnums] if single else list(argnums)  # type: ignore[arg-type]
    for n in listed:
        if not isinstance(n, (int, np.integer)) or not -count <= n < count:
            raise ArgumentError(
                f"argnums {argnums!r}: the function was called with {count} positional arguments"
            )
    valid = [int(n) % count for n in listed]
    if len(set(valid)) != len(valid):
        raise ArgumentError(f"argnums {argnums!r} names an argument twice")
    return valid


def unit(shape: tuple[int, ...], dtype: Any, k: int) -> Any:
    """The k-th unit array; its other lanes are structural zeros: nothing leads through them."""
    if shape == ():
        return dtype.type(1)
    value = np.zeros(shape, dtype)
    value.reshape(-1)[k] = 1
    return Masked(value, value != 0)


def zeros_like(given: Any) -> Any:
    """The gradient of an input nothing depends on; None for what is not a number at all."""
    array = np.asarray(getattr(given, "_value", given))
    if array.dtype.kind not in "fciub":
        return None
    return np.zeros(array.shape, array.dtype if array.dtype.kind in "fc" else np.float64)[()]

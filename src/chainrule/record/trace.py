"""Recording a function whole: every argument, every constant, as a Graph."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.core.graph import Graph, inputs_of
from chainrule.core.loop import refuse_leaked
from chainrule.core.node import Node, make_leaf
from chainrule.core.op import Op
from chainrule.core.order import dfs_order
from chainrule.core.python_numbers import OnPython
from chainrule.errors import DerivativeError, DTypeError
from chainrule.ops.joining import refuse_twist
from chainrule.ops.structure import constant_node
from chainrule.record.calls import CallLog
from chainrule.record.foreign import told_as_ours
from chainrule.record.recorder import as_operand
from chainrule.record.state import recording
from chainrule.record.variable import Variable, leaf
from chainrule.record.watch import fingerprint

NUMBERS = (np.ndarray, np.generic, float, int, complex)


class Trace:
    """What one traced call has met: its own leaves, and Variables it found elsewhere.

    With `keep` it also has, in `kept`, the value of every node recorded by an op; it is there also
    where the call ended in an error.
    """

    inside = True  # as in a differentiated function, what would lose a gradient is refused
    nested = False  # whether it records a part of what another trace records
    guarded = False  # whether what Python code reads is checked again when the graph runs
    merges = False  # whether it has branches of a vmap, in whatever order they were met
    sequence: Sequence[Node] = ()  # every node as it was recorded, where that is noted
    recomputes = False  # whether a loop keeps nothing for its derivative
    sweeps = False  # whether the gradient of a large scalar graph may be one node

    def __init__(self, keep: bool = False):
        self.leaves: dict[Node, Any] = {}
        self.captured: dict[Node, Node] = {}
        self.values: dict[Node, Any] = {}
        self.copies: dict[int, tuple[np.ndarray, Any, np.ndarray]] = {}
        self.kept: dict[Node, Any] | None = {} if keep else None
        self.log: CallLog | None = None

    def record(self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Graph:
        """Call f, and make a graph of what it did."""
        passed, structures = [], []
        for name, arg in zip(parameter_names(f, len(args)), args, strict=True):
            values, structure = flatten(arg)
            bare = len(values) == 1 and values[0] is arg
            made = [
                self.leaf_for(v, f"{name}{path}", bare)
                for v, path in zip(values, structure.paths, strict=True)
            ]
            self.leaves.update((v.node, v._value) for v in made if isinstance(v, Variable))
            passed.append(structure.unflatten(made))
            structures.append(structure)
        self.log = None if self.guarded else CallLog(sys._getframe())
        outputs, structure = self.called(f, passed, kwargs)
        return self.graph(f, outputs, tuple(structures), structure)

    def called(
        self, f: Callable[..., Any], passed: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Node], Structure]:
        """Call f; the nodes of its results, and the container they came in."""
        try:
            with recording(tracing=self, inside=self.inside, line=None), told_as_ours():
                result = f(*passed, **kwargs)
                found, structure = flatten(result)
                outputs = [_output_node(v, self) for v in found]
        finally:
            if self.log is not None:
                self.log.end()
        if not outputs:
            raise DerivativeError(
                f"the traced function returned {result!r}; it must return numbers or arrays"
            )
        return outputs, structure

    def leaf_for(self, value: Any, name: str, bare: bool) -> Any:
        """A leaf for a number or an array; anything else (a string, a flag, a size) as it is."""
        if not becomes_leaf(value, bare):
            return value
        if isinstance(value, Variable):
            return leaf(value._value, value.name or name)
        if type(value) is int:
            value = float(value)
        refuse_twist(value)
        return leaf(np.array(value)[()], name)

    def is_active(self, node: Node) -> bool:
        """Whether a node without parents is differentiated; any leaf may be."""
        return node.rule is None

    def carries(self, node: Node) -> bool:
        """Whether a transform inside or around this may differentiate through a node."""
        return True

    def read(self, variable: Variable) -> None:
        """Python code has read this value: the graph is that of the path taken."""

    def read_shape(self, variable: Variable) -> None:
        """Python code has read the shape of this value, which may depend on others."""

    def text_of(self, variable: Variable) -> None:
        """Python code has made a text or a key of this value."""

    def layout_of(self, variable: Variable) -> None:
        """The result depends on how this value lies in memory: the graph is that of this layout."""

    def written(self, variable: Variable) -> None:
        """This Variable is about to be assigned to in place."""

    def shapes(self, node: Node, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """The shape of this node depends on values."""

    def raised(self, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """This op has raised an error, which the user's code may catch."""

    def on_python(self, python: OnPython, args: Sequence[Any], out: Variable) -> Any:
        """The result of one of Python's operators, which may have met Python's own numbers."""
        return out

    def is_python(self, value: Any) -> bool:
        """Whether this is known to be one of Python's own numbers, and not one of NumPy's."""
        return False

    def want(self, variable: Variable) -> Variable:
        """This input is differentiated by a transform inside the call."""
        return variable

    def graph(
        self,
        f: Callable[..., Any],
        outputs: Sequence[Node],
        inputs: tuple[Structure, ...] | None = None,
        result: Structure | None = None,
    ) -> Graph:
        """The graph of what was recorded that leads to these nodes."""
        first = self.leaves | self.values
        rest = [n for n in dfs_order(outputs, inputs_of) if n not in first]
        refuse_leaked(rest)
        return Graph(
            nodes=(*first, *rest),
            leaves=tuple(self.leaves),
            outputs=tuple(outputs),
            name=getattr(f, "__name__", type(f).__name__),
            captured=self.values,
            inputs=inputs,
            result=result,
            point=None if self.guarded else dict(self.leaves),
            calls=None if self.log is None else self.log.calls(set(rest)),
        )

    def known(self) -> dict[Node, Any]:
        """Every value there is: of leaves, of captured Variables, and what was kept."""
        return {**self.values, **self.leaves, **(self.kept or {})}

    def noted(self, node: Node, value: Any) -> Node:
        """A node just recorded."""
        if self.kept is not None:
            self.kept[node] = value
        if self.log is not None:
            self.log.note(node)
        return node

    def operand(self, arg: Any) -> Any:
        """An argument of an op as the graph keeps it: the node of a Variable, or a constant."""
        if type(arg) is Variable:
            return self.node_of(arg)
        return self.copied(arg) if isinstance(arg, np.ndarray) else arg

    def copied(self, array: np.ndarray) -> np.ndarray:
        """A copy of a constant, since its owner may change it; one for all uses until they do."""
        original, mark, copy = self.copies.get(id(array), (None, None, array))
        now = fingerprint(array)
        if original is not array or mark != now:
            copy = array.copy()
            self.copies[id(array)] = array, now, copy
        return copy

    def adopt(self, variable: Variable) -> Variable:
        """Take in a leaf made for this trace of a constant, as it is: it is differentiated here."""
        node = variable.node
        node.name = f"captured{len(self.captured)}"
        self.captured[node] = node
        self.values[node] = variable._value
        return variable

    def node_of(self, variable: Variable) -> Node:
        """The node of a Variable in this trace; one recorded before it becomes a captured leaf."""
        node = variable.node
        if (
            node in self.leaves
            or node in self.values
            or (node.args is not None and not node.is_leaf)
        ):
            return node
        if node not in self.captured:
            stand_in = make_leaf(
                node.shape, node.dtype, node.name or f"captured{len(self.captured)}"
            )
            self.captured[node] = stand_in
            self.values[stand_in] = variable._value
        return self.captured[node]


def trace(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """Run f on these arguments and return the graph of what it did.

    Numbers and arrays among the arguments, also inside containers, become leaves named after the
    parameters of f; everything else is passed as it is.  Keyword arguments are constants.
    """
    return Trace().record(f, args, kwargs)


def parameter_names(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` positional parameters; *args are numbered."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return (
        (names + [f"{rest}[{k}]" for k in range(count)])[:count]
        if len(names) < count
        else names[:count]
    )


def becomes_leaf(value: Any, bare: bool) -> bool:
    """Whether an argument, bare or inside a container, is a leaf: a number or an array of them.

    A Python integer inside a container is a size or a flag, and stays what it is.
    """
    if isinstance(value, bool) or (type(value) is int and not bare):
        return False
    return isinstance(value, (Variable, *NUMBERS))


def _output_node(value: Any, tracing: Trace) -> Node:
    if not isinstance(value, Variable):
        try:
            value = as_operand(value, Variable)
        except DTypeError:
            raise DerivativeError(
                f"the traced function returned {value!r}, not a number or an array"
            ) from None
    operand = tracing.operand(value)
    if isinstance(operand, Node):
        return operand
    return constant_node(np.asarray(operand)[()])

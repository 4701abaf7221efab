"""The derivative of one op for one choice of differentiated inputs, ready to run.

An op's record says per input how a derivative flows.  Here that becomes four flat functions per
(op, active inputs), generated once as source text, because this is the inner loop of every
gradient and a generic argument shuffle would cost more than a small NumPy call:

    keep(*inputs, out)    -> what the rules read, stored on the node
    pull(g, node)         -> one contribution per differentiated input      (reverse mode)
    flow(g, node, adjoints, sums)  the same, added to the adjoints of the parents, where `exact`;
                             in place to those that are `sums` made here
    push(tangents, node)  -> the tangent of the result                      (forward mode)
    lift(node, wrap)      -> the node with what it saved wrapped as Variables, for higher order
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.depends import LANES
from chainrule.core.masked import Masked, gated
from chainrule.core.node import Node
from chainrule.core.op import (
    NOT_WRITTEN,
    OPS,
    ZERO,
    Function,
    Gate,
    Linear,
    Multilinear,
    Op,
    Partials,
    Rules,
)
from chainrule.core.spec import Spec, is_inexact
from chainrule.core.written import written
from chainrule.errors import DerivativeError

Flow = tuple[Any, Any]  # the reverse and the forward rule of one input


class Rule:
    """How derivatives flow through `op` when the inputs marked in `active` are differentiated.

    `constants` tells that the op is linear in an input which is not differentiated here; `exact`
    that an elementwise op met neither broadcasting nor promotion, so that its contributions need no
    fitting to their parents.
    """

    __slots__ = (
        "active", "bare", "constants", "elementwise", "exact", "flow", "keep", "op", "positions",
        "pull", "push", "saved_names",
    )  # fmt: skip
    keep: Callable[..., tuple[Any, ...]]
    pull: Callable[[Any, Node], Sequence[Any]]
    flow: Callable[[Any, Node, dict[Node, Any], set[Node]], bool] | None
    push: Callable[[Sequence[Any], Node], Any]

    def __init__(self, op: Op, active: tuple[bool, ...], complex_too: bool, exact: bool):
        self.op, self.active, self.exact = op, active, exact
        self.elementwise = op.depends is LANES
        flows = [
            flow if on else None for flow, on in zip(flows_of(op, len(active)), active, strict=True)
        ]
        self.positions = tuple(i for i, flow in enumerate(flows) if flow is not None)
        linear = [i for i, flow in enumerate(flows_of(op, len(active))) if flow is not None]
        self.constants = len(linear[: op.fixed_from]) > len(self.positions)
        builder = (
            JointRule(op, active) if op.variadic else InputRules(op, active, flows, complex_too)
        )
        self.saved_names = builder.saved_names()
        self.bare = len(self.saved_names) == 1 and not op.variadic
        self.keep = builder.keep()
        self.pull = builder.pull()
        self.push = builder.push()
        self.flow = builder.flow() if exact and isinstance(builder, InputRules) else None

    def lift(self, node: Node, wrap: Callable[[Any, Node], Any]) -> Node:
        """`node` with each saved value that has a history replaced by `wrap(value, its node)`.

        Where it was traced that is every value, whether derivatives flow through it or not.
        """
        parent_of = dict(zip(self.positions, node.parents, strict=True))
        if node.args is not None:
            parent_of = {i: a for i, a in enumerate(node.args) if isinstance(a, Node)} | parent_of

        def lifted(name: str, value: Any) -> Any:
            if name == "out" and isinstance(value, tuple):
                return tuple(wrap(v, part_of(node, v, i, len(value))) for i, v in enumerate(value))
            if name == "out":
                return wrap(value, node)
            if name in ("xs", "fixed"):
                return tuple(
                    wrap(v, parent_of[i]) if i in parent_of and v is not None else v
                    for i, v in enumerate(value)
                )
            index = self.op.inputs.index(name) if name in self.op.inputs else None
            return wrap(value, parent_of[index]) if index in parent_of else value

        saved = tuple(lifted(n, v) for n, v in zip(self.saved_names, node.saved, strict=True))
        return node.with_saved(saved)

    def __repr__(self) -> str:
        return f"<rule of {self.op.name}, active {self.active}>"


def part_of(node: Node, value: Any, index: int, count: int) -> Node:
    """A node that stands for one result of a node that has several."""
    rule = rule_for(OPS["item"], (is_inexact(value.dtype),))
    parents = (node,) if rule.positions else ()
    attrs = {"index": index, "count": count}
    args = None if node.args is None else (node,)
    line = node.code, node.lasti
    return Node(rule, parents, (), attrs, value.shape, value.dtype, *line, args)


def rule_for(
    op: Op, active: tuple[bool, ...], complex_too: bool = False, exact: bool = False
) -> Rule:
    """The rule of this op for these differentiated inputs, built on first use."""
    key = active, complex_too, exact
    rule = op.rules.get(key)
    if rule is None:
        rule = op.rules[key] = Rule(op, active, complex_too, exact)
    return rule


def flows_of(op: Op, count: int) -> list[Flow | None]:
    """Per input its (reverse, forward) rule, or None where no derivative flows."""
    derivative = op.derivative
    if derivative is ZERO:
        return [None] * count
    if derivative is NOT_WRITTEN:
        return [(_not_written(op, "g"), _not_written(op, "t"))] * count
    if op.variadic:
        return [(True, True)] * count
    if isinstance(derivative, Partials):
        return [None if f is None else (f, f) for f in derivative.factors]
    if isinstance(derivative, (Linear, Multilinear)):
        return [
            None if f is None else (f, _applied_to_tangent(op, i))
            for i, f in enumerate(derivative.transposes)
        ]
    assert isinstance(derivative, Rules)
    return [
        None
        if r is None and f is None
        else (r or _not_written(op, "g"), f or _not_written(op, "t"))
        for r, f in zip(derivative.reverse, derivative.forward, strict=True)
    ]


def _not_written(op: Op, incoming: str) -> Function:
    mode = "reverse" if incoming == "g" else "forward"

    def reverse(g: Any) -> Any:
        raise DerivativeError(
            f"no {mode}-mode derivative of {op.name} is written; add it to the op's record"
        )

    def forward(t: Any) -> Any:
        return reverse(t)

    return reverse if incoming == "g" else forward


def _applied_to_tangent(op: Op, index: int) -> Function:
    """Forward rule of an input in which the op is linear: the op itself, on the tangent."""
    names = list(op.inputs)
    others = (
        [n for n in names if n != names[index]] if isinstance(op.derivative, Multilinear) else []
    )
    fixed = [
        n
        for i, n in enumerate(names)
        if isinstance(op.derivative, Linear) and op.derivative.transposes[i] is None
    ]
    linear_peers = [
        n
        for i, n in enumerate(names)
        if isinstance(op.derivative, Linear)
        and op.derivative.transposes[i] is not None
        and i != index
    ]
    call = ", ".join(
        "t" if i == index else f"zeros({n}_spec)" if n in linear_peers else n
        for i, n in enumerate(names)
    )
    attrs = "".join(f", {n}={n}" for n in op.attrs)
    parameters = ["t", *others, *fixed, *(f"{n}_spec" for n in linear_peers), *op.attrs]
    text = f"def push({', '.join(parameters)}):\n    return op({call}{attrs})"
    return _define(text, "push", {"op": op, "zeros": _zeros})


def _zeros(spec: Any) -> Any:
    return np.zeros(spec.shape, spec.dtype if is_inexact(spec.dtype) else np.float64)


def _define(text: str, name: str, scope: dict[str, Any]) -> Function:
    return written(text, name, {"__name__": __name__, **scope})


def parent_place(k: int) -> str:
    """Where a node has its k-th parent."""
    return ("first", "second")[k] if k < 2 else f"others[{k - 2}]"


def parameters_of(function: Any) -> list[str]:
    if isinstance(function, Gate):
        function = function.weights
    if isinstance(function, str):
        return [function.removeprefix("1 / ")]
    if not callable(function):
        return []
    code = getattr(function, "__code__", None)
    if code is not None:  # what inspect.signature would say, fifty times faster
        return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return list(inspect.signature(function).parameters)


class InputRules:
    """Builds the four functions of an op with a fixed number of inputs, one rule per input."""

    def __init__(
        self, op: Op, active: tuple[bool, ...], flows: list[Flow | None], complex_too: bool
    ):
        self.op, self.active, self.flows, self.complex_too = op, active, flows, complex_too
        self.on = [i for i, flow in enumerate(flows) if flow is not None]

    def _read(self) -> list[str]:
        """Every name the active rules ask for, in order of first appearance."""
        names: dict[str, None] = {}
        for i in self.on:
            for function in self.flows[i] or ():
                names.update(dict.fromkeys(parameters_of(function)))
        return list(names)

    def saved_names(self) -> tuple[str, ...]:
        """The values a node keeps; the spec of an input that is no parent counts as one."""
        kept = {*self.op.inputs, "out"}
        loose = {f"{n}_spec" for i, n in enumerate(self.op.inputs) if i not in self.on}
        return tuple(n for n in self._read() if n in kept or n in loose)

    def keep(self) -> Function:
        parts = [
            f"spec_of({n.removesuffix('_spec')})" if n.endswith("_spec") else n
            for n in self.saved_names()
        ]
        kept = "".join(f"{part}, " for part in parts)
        text = f"def keep({', '.join((*self.op.inputs, 'out'))}):\n    return ({kept})"
        return _define(text, "keep", {"spec_of": Spec.of})

    def _prologue(self) -> str:
        names = self.saved_names()
        lines = []
        if names:
            lines.append(f"    {', '.join(names)}{'' if len(names) == 1 else ','} = node.kept")
        read = set(self._read())
        lines += [
            f"    {self.op.inputs[i]}_spec = node.{parent_place(k)}"
            for k, i in enumerate(self.on)
            if f"{self.op.inputs[i]}_spec" in read
        ]
        if "out_spec" in read:
            lines.append("    out_spec = node")
        lines += [f"    {n} = node.attrs[{n!r}]" for n in self.op.attrs if n in read]
        return "\n".join(lines) + ("\n" if lines else "")

    def _scope(self) -> dict[str, Any]:
        scope: dict[str, Any] = {
            "active": self.active, "gated": gated, "conjugate": conjugate, "Masked": Masked,
        }  # fmt: skip
        for i in self.on:
            flow = self.flows[i]
            assert flow is not None
            for prefix, function in zip(("reverse", "forward"), flow, strict=True):
                scope[f"{prefix}_{i}"] = (
                    function.weights if isinstance(function, Gate) else function
                )
        return scope

    def _term(self, i: int, prefix: str, incoming: str) -> str:
        """Source text of one contribution (`prefix` reverse) or tangent (`prefix` forward)."""
        flow = self.flows[i]
        assert flow is not None
        function = flow[0] if prefix == "reverse" else flow[1]
        arguments = [incoming if p in ("g", "t") else p for p in parameters_of(function)]
        call = f"{prefix}_{i}({', '.join(arguments)})"
        if not isinstance(self.op.derivative, Partials):
            return call
        if isinstance(function, Gate):
            return f"gated({incoming}, {call})"
        if function == 1:
            return incoming
        if function == -1:
            return f"-{incoming}"
        sign = "*"
        if isinstance(function, str):
            sign, call = "/" if function.startswith("1 / ") else "*", arguments[0]
        # A real result of an elementwise op has real partials: nothing to conjugate.
        adjoint = prefix == "reverse" and self.complex_too
        return f"{incoming} {sign} conjugate({call})" if adjoint else f"{incoming} {sign} {call}"

    def pull(self) -> Function:
        terms = "".join(self._term(i, "reverse", "g") + ", " for i in self.on)
        return _define(
            f"def pull(g, node):\n{self._prologue()}    return ({terms})", "pull", self._scope()
        )

    def flow(self) -> Function:
        lines = [f"def flow(g, node, adjoints, sums):\n{self._prologue()}    dropped = False"]
        for k, i in enumerate(self.on):
            flow = self.flows[i]
            assert flow is not None
            lines += [f"    c = {self._term(i, 'reverse', 'g')}"]
            if callable(flow[0]) or isinstance(flow[0], Gate):  # numbers and names mask nothing
                lines += ["    if type(c) is Masked:", "        c, dropped = c.value, True"]
            lines += [
                f"    parent = node.{parent_place(k)}",
                "    before = adjoints.get(parent)",
                "    if before is None:",
                "        adjoints[parent] = c",
                "    elif parent in sums:",
                "        before += c",
                "        adjoints[parent] = before",
                "    else:",
                "        adjoints[parent] = before + c",
                "        sums.add(parent)",
            ]
        return _define("\n".join([*lines, "    return dropped"]), "flow", self._scope())

    def push(self) -> Function:
        lines = [f"def push(tangents, node):\n{self._prologue()}    total = None"]
        for k, i in enumerate(self.on):
            term = self._term(i, "forward", f"tangents[{k}]")
            lines.append(f"    if tangents[{k}] is not None:")
            lines.append(f"        term = {term}")
            lines.append("        total = term if total is None else total + term")
        lines.append("    return total")
        return _define("\n".join(lines), "push", self._scope())


def conjugate(value: Any) -> Any:
    """Complex conjugate; a real value is returned as it is."""
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return value.conjugate()
    return np.conj(value) if hasattr(value, "dtype") and value.dtype.kind == "c" else value


class JointRule:
    """Builds the four functions of an op with any number of inputs `xs`, all in one rule.

    `transposes[0](g, …)` returns a contribution per input, differentiated or not; the forward rule
    `Rules.forward[0](ts, …)` gets a tangent per input, zeros where there is none.  Beside the names
    every rule may read there is `fixed`: the values of the inputs from number `op.fixed_from` on
    (index arrays), None in the place of the others.
    """

    def __init__(self, op: Op, active: tuple[bool, ...]):
        self.op, self.active = op, active
        derivative = op.derivative
        self.on: list[int] = []
        self.reverse: Function | None = None
        self.forward: Function | None = None
        if derivative is ZERO:
            return
        self.on = [i for i, on in enumerate(active) if on]
        if isinstance(derivative, Rules):
            self.reverse, self.forward = derivative.reverse[0], derivative.forward[0]
        elif isinstance(derivative, Linear):
            self.reverse, self.forward = derivative.transposes[0], None

    def _read(self) -> set[str]:
        names = set(parameters_of(self.reverse)) if self.reverse else set()
        return names | (set(parameters_of(self.forward)) if self.forward else set())

    def saved_names(self) -> tuple[str, ...]:
        read = self._read() | {"xs_spec", "fixed"} if self.on else set()
        return tuple(n for n in ("xs", "out", "xs_spec", "fixed") if n in read)

    def keep(self) -> Function:
        names, op = self.saved_names(), self.op

        def keep(*inputs_and_out: Any) -> tuple[Any, ...]:
            if not names:
                return ()
            *inputs, out = inputs_and_out
            specs = tuple(Spec.of(v) for v in inputs)
            linear = len(inputs) if op.fixed_from is None else op.fixed_from
            fixed = (*[None] * linear, *inputs[linear:])
            available = {"xs": tuple(inputs), "out": out, "xs_spec": specs, "fixed": fixed}
            return tuple(available[n] for n in names)

        return keep

    def _reader(self, function: Function) -> Callable[[Node], dict[str, Any]]:
        """What a node holds of that which the function reads, by name."""
        names, parameters = self.saved_names(), parameters_of(function)
        fixed: dict[str, Any] = {"active": self.active} if "active" in parameters else {}
        kept = [(name, i) for i, name in enumerate(names) if name in parameters]
        attrs = [name for name in self.op.attrs if name in parameters]
        out_spec = "out_spec" in parameters

        def read(node: Node) -> dict[str, Any]:
            values = dict(fixed)
            for name, i in kept:
                values[name] = node.saved[i]
            for name in attrs:
                values[name] = node.attrs[name]
            if out_spec:
                values["out_spec"] = node
            return values

        return read

    def pull(self) -> Function:
        reverse, on = self.reverse, self.on
        if not on or reverse is None:
            return lambda g, node: ()
        read = self._reader(reverse)

        def pull(g: Any, node: Node) -> Sequence[Any]:
            every = reverse(g, **read(node))
            return [every[i] for i in on]

        return pull

    def push(self) -> Function:
        op, forward, on = self.op, self.forward, self.on
        read = None if forward is None else self._reader(forward)

        def push(tangents: Sequence[Any], node: Node) -> Any:
            specs, fixed = node.saved[-2:]
            known = dict(zip(on, tangents, strict=True))
            ts = [
                known[i] if known.get(i) is not None else _zeros(spec) if value is None else value
                for i, (spec, value) in enumerate(zip(specs, fixed, strict=True))
            ]
            if forward is None or read is None:
                return op(ts, **node.attrs)
            return forward(ts, **read(node))

        return push

"""`cr.debug()`: a gradient or a loss that is NaN or infinite raises, and says where it began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, plain, unmasked
from chainrule.core.node import Leaf, Node
from chainrule.core.order import dfs_order
from chainrule.core.parts import Parts
from chainrule.core.replay import computed
from chainrule.diff.call import Call
from chainrule.diff.forward import forward
from chainrule.diff.reverse import Adjoints
from chainrule.errors import ChainruleError, NonFiniteGradient
from chainrule.explain.blame import Event, every_adjoint
from chainrule.explain.lanes import Operand, all_known, first_lane, not_finite
from chainrule.explain.nonfinite import NonFinite, NonFiniteResult, input_name, report
from chainrule.explain.origins import examined
from chainrule.record.state import State, current, recording
from chainrule.record.trace import parameter_names
from chainrule.record.variable import Variable
from chainrule.record.watch import Kept


class debug:  # noqa: N801 - called like a function: cr.debug()
    """Look at every gradient from now on; as a `with` block, until its end.

    `cr.debug()` switches it on for the current thread or task and `cr.debug(False)` off.  While it
    is on, recorded nodes keep their operands, which costs memory and time; off, it costs nothing.
    Switched on inside a function that is being differentiated it lasts until that returns.
    """

    def __init__(self, on: bool = True):
        self.before: State = current.get()
        current.set(self.before.changed(debug=CHECKS if on else None))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        now, before = current.get(), self.before
        same = (now.tracing, now.line, now.inside) == (before.tracing, before.line, before.inside)
        current.set(before if same else now.changed(debug=before.debug))


class Checks:
    """What the walks of `diff` call when they have found a gradient."""

    def pulled(self, call: Call, seeds: Adjoints, adjoints: Sequence[Any] | None) -> None:
        """After reverse mode: `adjoints` holds one per input, None if a rule gave up."""
        good = adjoints is not None and not any(
            g is not None and not_finite(g).any() for g in adjoints
        )
        if good and not _lost(_outputs(call)):
            return
        known = Recorded(call.order, _outputs(call), _inputs(call), seeds)
        _refuse(
            known, getattr(call.f, "__name__", "f"), _input_names(call), failed=adjoints is None
        )

    def leaves(
        self, y: Variable, order: Sequence[Node], seed: Any, adjoints: Adjoints | None
    ) -> None:
        """After `y.backward()`: `adjoints` holds those of the leaves, None if a rule gave up."""
        good = adjoints is not None and not any(not_finite(g).any() for g in adjoints.values())
        if good and not _lost({y.node: y._value}):
            return
        inputs: dict[Node, Any] = {n: None for n in order if isinstance(n, Leaf)}
        known = Recorded(order, {y.node: y._value}, inputs, {y.node: seed})
        _refuse(known, "" if y.name is None else str(y.name), {}, failed=adjoints is None)

    def pushed(self, call: Call, tangents: Mapping[Node, Any], moved: Sequence[Any]) -> None:
        """After forward mode: `moved` holds a tangent per output of the call."""
        bad = [None if t is None else not_finite(t) for t in moved]
        if not any(b is not None and b.any() for b in bad):
            return
        outputs = _outputs(call)
        seeds: Adjoints = {}
        for out, lanes in zip(call.outputs, bad, strict=True):
            if isinstance(out, Variable) and lanes is not None and lanes.any():
                ones = lanes.astype(out.dtype)
                seeds[out.node] = Masked(ones, lanes) if lanes.ndim else ones[()]
        known = Recorded(call.order, outputs, _inputs(call), seeds)
        name = getattr(call.f, "__name__", "f")
        _refuse(known, name, _input_names(call), tangents)


CHECKS = Checks()
NOT_FOUND = (
    "a gradient is not finite, and where that began cannot be told: it does not happen again when "
    "the walk is repeated on arrays.\n"
    "  look for a backward of your own that gives something else when it is called again."
)


def _lost(outputs: Mapping[Node, Any]) -> bool:
    """Whether the one number that was differentiated is not finite, be its gradient what it may."""
    values = list(outputs.values())
    return len(values) == 1 and np.ndim(values[0]) == 0 and bool(not_finite(values[0]).any())


def _outputs(call: Call) -> dict[Node, Any]:
    return {o.node: o._value for o in call.outputs if isinstance(o, Variable)}


def _inputs(call: Call) -> dict[Node, Any]:
    return {v.node: v._value for v in call.inputs if v is not None}


def _input_names(call: Call) -> dict[Node, str]:
    """Each input as the parameter of the function it is, with its place in a container."""
    parameters = parameter_names(call.f, max(call.argnums, default=-1) + 1)
    names: list[str] = []
    for n, structure in zip(call.argnums, call.structures, strict=True):
        names += [f"{parameters[n]}{path}" for path in structure.paths]
    return {v.node: n for v, n in zip(call.inputs, names, strict=True) if v is not None}


def _refuse(
    known: Recorded,
    name: str,
    names: dict[Node, str],
    tangents: Mapping[Node, Any] | None = None,
    failed: bool = False,
) -> None:
    """Raise, with the report on the gradients, or where these are finite on the value.

    A walk that `failed` for another reason than a NaN raises its own error.
    """
    with recording(debug=None, tracing=None, inside=False), np.errstate(all="ignore"):
        outputs, known.outputs = known.outputs, []
        trouble = report(known, name, names)
        if not trouble and tangents is None and not failed:
            known.outputs = outputs
            trouble = report(known, name, names)
        if tangents is not None and not trouble:
            trouble = _of_tangents(known, name, tangents)
        if failed and not trouble:
            return
        trouble = replace(trouble, outputs=tuple(known.seeded))
        raise NonFiniteGradient(str(trouble) if trouble else NOT_FOUND, trouble)


class Recorded:
    """What is known of nodes as they were recorded: all if they kept their operands, else what
    their rules read."""

    def __init__(
        self,
        walked: Sequence[Node],
        outputs: Mapping[Node, Any],
        inputs: Mapping[Node, Any],
        seeds: Adjoints,
    ):
        self.walked, self.inputs = walked, list(inputs)
        self.outputs: Sequence[Node] = list(outputs)
        self.order = dfs_order(self.outputs, _below)
        self.values: dict[Node, Any] = {
            n: v for n, v in {**inputs, **outputs}.items() if v is not None
        }
        self.suspects: set[Node] = set()
        with np.errstate(all="ignore"):
            self._gather()
        self.seeded = {node: _bare(g) for node, g in seeds.items()}
        with recording(debug=None, tracing=None, inside=False), np.errstate(all="ignore"):
            try:
                self.adjoints = every_adjoint(walked, self.seeded, self.bound)
            except ChainruleError:  # a rule that needs the history of its adjoint
                self.adjoints = dict(self.seeded)

    def _gather(self) -> None:
        values = self.values
        for node in self.order:
            kept = node.watch
            if isinstance(kept, Kept):
                values[node] = kept.out
                values.update({n: v for n, v in kept.operands if n is not None})
            elif node.rule is not None:
                for name, value in _saved(node).items():
                    if name == "out":
                        values.setdefault(node, value)
                    elif name in (by_name := _parents_by_name(node)):
                        values.setdefault(by_name[name], value)
        for node in self.order:
            if node.rule is not None and values.get(node) is None:
                self._complete(node)

    def _complete(self, node: Node) -> None:
        """The value of a node that did not keep it, computed again if every operand is known."""
        operands = self.operands(node)
        if all_known(node, operands):
            self.values[node] = computed(node, [o.value for o in operands])
        elif any(o.suspect or not_finite(o.value).any() for o in operands):
            self.suspects.add(node)

    def value(self, node: Node) -> Any:
        return self.values.get(node)

    def operands(self, node: Node) -> list[Operand]:
        kept = node.watch
        if isinstance(kept, Kept):
            return [Operand(input_name(node, i), n, v) for i, (n, v) in enumerate(kept.operands)]
        if node.rule is None:
            return []
        parents, saved = _parents_by_name(node), _saved(node)
        nodes = []
        for i in range(len(node.rule.active)):
            name = input_name(node, i)
            if name in parents:
                parent = parents[name]
                value = self.values.get(parent)
                nodes.append(Operand(name, parent, value, parent in self.suspects))
            elif name in saved:
                nodes.append(Operand(name, None, saved[name]))
        return nodes

    def below(self, node: Node) -> Sequence[Node]:
        return _below(node)

    def bound(self, node: Node) -> Node:
        return node


def _below(node: Node) -> Sequence[Node]:
    """The nodes this one was computed from, as far as it kept them."""
    if isinstance(node.watch, Kept):
        return [n for n, _ in node.watch.operands if n is not None]
    return node.parents


def _saved(node: Node) -> dict[str, Any]:
    return dict(zip(node.rule.saved_names, node.saved, strict=True))


def _parents_by_name(node: Node) -> dict[str, Node]:
    named = [input_name(node, i) for i in node.rule.positions]
    return dict(zip(named, node.parents, strict=True))


def _bare(g: Any) -> Any:
    """An adjoint without its history."""
    if type(g) is Masked:
        return Masked(plain(g.value), g.alive)
    return Parts([None if p is None else plain(p) for p in g]) if isinstance(g, Parts) else plain(g)


# -- forward mode ----------------------------------------------------------------------------------


def _of_tangents(known: Recorded, name: str, tangents: Mapping[Node, Any]) -> NonFinite:
    """Where only forward mode fails (a tangent that overflows): the first tangent of the walk."""
    start = {n: _bare(tangents[n]) for n in known.inputs if n in tangents}
    moved = forward(known.walked, dict(start))
    events, results = [], []
    for node in known.walked:
        t = unmasked(moved.get(node))
        bad = not_finite(0.0 if t is None else t)
        if node.rule is None or not bad.any():
            continue
        carried = any(p in moved and not_finite(moved[p]).any() for p in node.parents)
        index = first_lane(bad)
        number = np.nan if isinstance(t, Parts) else np.asarray(t)[index]
        role = "carrier" if carried else "creator"
        event = Event(node, "tangent", role, number, index, int(bad.sum()), lane=index)
        if not carried:
            event = replace(examined(event, known), how="overflow" if np.isinf(number) else "")
        events.append(event)
        if node in known.seeded:
            results.append(
                NonFiniteResult("tangent", node, name, number, index, int(bad.sum()), bad.size)
            )
    return NonFinite(name, tuple(results), tuple(events))

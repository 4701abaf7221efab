"""The condition of a function's numbers, as text: what can be trusted, and which lines spoil it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from chainrule.core.node import Node
from chainrule.explain.conditioning import NO_WIDER, Conditioning, NodeCondition
from chainrule.view.labels import labels_of
from chainrule.view.styled import Styled
from chainrule.view.values import lane_text

SHOWN = 10  # nodes of each kind


def conditioning_lines(found: Conditioning) -> Iterator[Styled]:
    labels = labels_of(found.graph)
    by = f"not measured: {found.precision}"
    if found.precision != NO_WIDER:
        by = f"measured against {found.precision}"
    yield [(f"{found.graph.name}: {len(found.graph)} nodes, {by}", "heading")]
    yield from _digits(found, labels)
    yield from _section(
        "digits lost where terms cancel",
        found.cancellations,
        lambda n: [f"{n.lost:.1f} digits", f"{_shown(n.condition)} times", _lane(n, labels)],
    )
    yield from _section(
        "ill-conditioned",
        found.ill_conditioned,
        lambda n: [
            f"{_shown(n.condition)} times",
            f"its derivative {_shown(n.derivative_condition)}",
            _lane(n, labels),
        ],
    )
    yield from _section("kinks", found.kinks, lambda n: [_distance(n), _kink_lane(n, labels)])
    yield from _notes("comes out differently in extended precision", found.flips, labels, {})
    narrow = tuple(found.unmeasured)
    yield from _notes("not computed in extended precision", narrow, labels, found.unmeasured)


def _digits(found: Conditioning, labels: dict[Node, str]) -> Iterator[Styled]:
    """How many digits of the value and of each gradient are right."""
    outputs = [(labels[o], found.correct_digits(o)) for o in found.graph.outputs]
    leaves: list[tuple[str, float | None]] = []
    if found.adjoints_measured:
        leaves = [(labels[n], found.correct_adjoint_digits(n)) for n in found.graph.leaves]
    for title, pairs in (("value", outputs), ("gradient", leaves)):
        known = [f"{name} {right:.1f}" for name, right in pairs if right is not None]
        if known:
            more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
            yield [(f"  correct digits of the {title}: {', '.join(known[:SHOWN])}{more}", "")]
    if found.no_adjoints and found.no_adjoints != found.precision:
        yield [(f"  gradient not measured: {found.no_adjoints}", "dim")]


def _section(title: str, nodes: Sequence[NodeCondition], cells: Any) -> Iterator[Styled]:
    if not nodes:
        return
    yield []
    yield [(title, "heading")]
    rows = [[*cells(n), n.node.op.name, _where(n.node)] for n in nodes[:SHOWN]]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield [("  ", ""), (padded[0], "wrong"), ("   " + "   ".join(padded[1:]), "")]
    if len(nodes) > SHOWN:
        yield [(f"  … {len(nodes) - SHOWN} more", "dim")]


def _notes(
    title: str, nodes: Sequence[Node], labels: dict[Node, str], reasons: dict[Node, str]
) -> Iterator[Styled]:
    if not nodes:
        return
    yield []
    yield [(title, "heading")]
    for node in nodes[:SHOWN]:
        why = f"   {reasons[node]}" if node in reasons else ""
        yield [(f"  {labels[node]}   {node.op.name}   {_where(node)}{why}", "")]
    if len(nodes) > SHOWN:
        yield [(f"  … {len(nodes) - SHOWN} more", "dim")]


def _where(node: Node) -> str:
    return node.line.shown() if node.line else ""


def _shown(number: float | None) -> str:
    return "?" if number is None else f"{number:.2g}"


def _lane(n: NodeCondition, labels: dict[Node, str]) -> str:
    return labels[n.node] + lane_text(n.lane)


def _kink_lane(n: NodeCondition, labels: dict[Node, str]) -> str:
    assert n.kink is not None
    several = f", {n.kink.lanes} entries" if n.kink.lanes > 1 else ""
    return labels[n.node] + lane_text(n.kink.lane) + several


def _distance(n: NodeCondition) -> str:
    assert n.kink is not None
    return f"{n.kink.distance:.1g} away" if n.kink.distance else "at a kink"

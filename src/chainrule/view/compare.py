"""Two runs compared, as text: who differs first, by how much, and how it goes on."""

from __future__ import annotations

from collections.abc import Iterator

from chainrule.core.node import Node
from chainrule.explain.compare import Difference, RunDiff
from chainrule.view.labels import labels_of
from chainrule.view.styled import Styled
from chainrule.view.values import lane_text

ROLES = {
    "value": {
        "given": "it is given: the inputs differ",
        "creator": "created here: what it was computed from agrees",
        "carrier": "carried on: what it was computed from differs already",
    },
    "adjoint": {
        "given": "it is given: the seeds differ",
        "creator": "created here: the adjoints of its children agree, a local derivative does not",
        "carrier": "carried on: the adjoint of a child differs already",
    },
}


def diff_lines(diff: RunDiff) -> Iterator[Styled]:
    labels = labels_of(diff.graph)
    tolerated = f"rtol {diff.rtol:.2g}, atol {diff.atol:.2g}"
    for kind, found in (("value", diff.values), ("adjoint", diff.adjoints)):
        if kind == "adjoint" and not diff.compared_adjoints:
            yield [("adjoints not compared: call backward() on both runs", "dim")]
            continue
        count = f"{len(found)} of {len(diff.graph)} {kind}s differ"
        yield [(count, "heading"), (f"   ({tolerated})", "dim")]
        if found:
            yield from _one("first", found[0], labels)
    steepest = diff.steepest
    if steepest is not None and steepest.role != "creator" and steepest.growth > 2:
        grown = f"grows most, {steepest.growth:.3g} times"
        yield from _one(grown, steepest, labels)


def _one(title: str, d: Difference, labels: dict[Node, str]) -> Iterator[Styled]:
    node = d.node
    of = f"∂output/∂{labels[node]}" if d.kind == "adjoint" else labels[node]
    what = f"leaf {labels[node]}" if node.is_leaf else node.op.name
    where = f"   {node.line.shown()}" if node.line and not node.is_leaf else ""
    yield [(f"  {title}: ", ""), (f"{of}{lane_text(d.lane)}", d.kind), (f"   {what}{where}", "")]
    yield [(f"    {d.a!s}  and  {d.b!s}", "")]
    ulps = "" if d.ulps is None else f", {d.ulps:.3g} ulp"
    yield [(f"    apart {d.absolute:.3g}, relative {d.relative:.3g}{ulps}", "")]
    yield [(f"    {ROLES[d.kind][d.role]}", "dim")]

"""A graph and a run of it as a picture: standalone SVG, made here, without a browser.

Values stand above the wires and adjoints below them.  Squares are values and circles adjoints.  A
wire along which no gradient flows is dashed; a dot marks where the parts of a sum meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Literal

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError, GraphError
from chainrule.view.boxes import (
    GATE,
    LETTER,
    SMALL_LETTER,
    Box,
    Heat,
    local_text,
    width_of,
)
from chainrule.view.collapse import Level, collapsed
from chainrule.view.heavy import heavy_edges
from chainrule.view.layout import Layout, route
from chainrule.view.model import ADJOINT_NOT_FINITE, AT_KINK, VALUE_NOT_FINITE, Model, model_of
from chainrule.view.scene import placed
from chainrule.view.theme import Theme, style

Drawn = Level | Literal["node"]

MARGIN = 20.0
FOOT = 26.0
MAX_NODES_UNGROUPED = 250  # beyond it functions are drawn, unless nodes are asked for
MAX_NODES = 20_000  # beyond it nodes are not drawn
ARROW = 9.0
HEAVY = ".chainrule .heavy { fill: none; stroke: var(--adjoint); }\n"


def to_svg(
    graph: Graph,
    run: Run | None = None,
    theme: Theme = "auto",
    level: Drawn | None = None,
    paths_to: int | str | Node | None = None,
) -> str:
    """The graph as SVG text; with a run also its values, and adjoints where it has them.

    `theme` is "light", "dark", or "auto": as the reader's system is.  `level` is what is drawn as
    one: a "node", all of a "line" of code, a "function" or a "file"; unless given, nodes where they
    are few, else functions.  `paths_to` is an input, as `cr.explain` takes it for `wrt`: the
    heaviest paths on which the gradient comes to it are drawn bold.
    """
    if run is not None and run.graph is not graph:
        raise GraphError("the run is one of another graph; pass one that graph.forward(…) gave")
    model = model_of(graph if run is None else run)
    shown = levelled(model, level)
    bold = {}
    if paths_to is not None:
        if run is None or not run.has_adjoints:
            raise GraphError("paths_to needs a run with adjoints: call run.backward() first")
        if shown is not model:
            raise ArgumentError("paths_to: paths lead from node to node; draw them: level='node'")
        bold = heavy_edges(run, paths_to)
    return svg_of(shown, theme, bold)


def run_svg(
    run: Run,
    theme: Theme = "auto",
    level: Drawn | None = None,
    paths_to: int | str | Node | None = None,
) -> str:
    """The graph with the values of this run, and adjoints where it has them: `graph.to_svg`."""
    return to_svg(run.graph, run, theme, level, paths_to)


def notebook_svg(subject: Graph | Run) -> str:
    """The picture a notebook shows of a graph or a run."""
    return svg_of(levelled(model_of(subject), None))


def notebook_html(subject: Graph | Run) -> str:
    """The same picture with a scroll bar of its own."""
    return f'<div style="overflow-x:auto">{notebook_svg(subject)}</div>'


def levelled(model: Model, level: Drawn | None) -> Model:
    """The model with nodes drawn together up to this level; None is what can be read."""
    if level == "node" or (level is None and len(model) <= MAX_NODES_UNGROUPED):
        if len(model) > MAX_NODES:
            raise ArgumentError(
                f"a picture of {len(model):,} nodes is not one to look at "
                f"(the limit is {MAX_NODES:,}); "
                "draw functions: level='function', or lines: level='line'"
            )
        return model
    return collapsed(model, level or "function")


def svg_of(model: Model, theme: Theme = "auto", bold: Mapping[int, float] | None = None) -> str:
    """A model as SVG text; `bold` are the edges drawn so, and their share, 0 … 1."""
    heavy = {e: 2 + 3.5 * min(share, 1.0) for e, share in (bold or {}).items()}
    sheet = style(theme) + (HEAVY if heavy else "")
    boxes, made = placed(model)
    legend = _legend(model) + ("   bold: the heaviest paths" if heavy else "")
    width = max(made.width + ARROW, width_of(legend, SMALL_LETTER)) + 2 * MARGIN
    height = made.height + 2 * MARGIN + FOOT
    shared, bold_out = _shared(model), {model.parent[e] for e in heavy}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chainrule" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{_text(_title(model))}</title>",
        f"<desc>{_text(_description(model))}</desc>",
        f"<style>{sheet}</style>",
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        f'<g transform="translate({MARGIN:g} {MARGIN:g})">',
        *_wires(model, made, boxes),
        *_heavy_wires(model, made, boxes, heavy),
        *(
            part
            for k, box in enumerate(boxes)
            for part in _node(model, made, k, box, k in shared, k in bold_out)
        ),
        "</g>",
        f'<text class="dim small" x="{MARGIN:g}" y="{height - 12:.0f}">{_text(legend)}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# -- words ----------------------------------------------------------------------------------------


def _text(text: str) -> str:
    """Text that cannot be read as markup, and that holds no character XML does not have."""
    return escape("".join(c if c.isprintable() else " " for c in text), quote=True)


def _title(model: Model) -> str:
    what = {"structure": "", "forward": " with its values", "backward": " with values and adjoints"}
    return f"computational graph of {model.name}{what[model.stage]}"


def _description(model: Model) -> str:
    """What a reader who does not see the picture needs: the leaves and the result."""
    said = [f"{len(model)} nodes, {len(model.parent)} edges."]
    for k in (*model.leaves[:20], *model.outputs[:20]):
        kind = "result" if k in model.outputs else "leaf"
        said.append(f"{kind} {model.label[k]}{_sentence(model, k)}.")
    return " ".join(said)


def _sentence(model: Model, k: int) -> str:
    value = f" = {model.value[k]}" if model.value[k] else ""
    return value + (f", adjoint {model.adjoint[k]}" if model.adjoint[k] else "")


def _legend(model: Model) -> str:
    if model.stage == "structure":
        return "leaves left, result right"
    parts = ["above the line: value"]
    if model.stage == "backward":
        parts.append("below: adjoint")
    if any(map(local_text, model.local)):
        parts.append("×: local derivative")
    if any(model.arrays.values()):
        parts.append("squares: values, circles: adjoints, hollow: negative")
    if not all(model.flow):
        parts.append("dashed: no gradient flows")
    return "   ".join(parts)


def _tip(model: Model, k: int) -> str:
    """What is said of a node on pointing at it."""
    parts = [model.label[k] + (f" = {model.call[k]}" if model.call[k] else "")]
    parts.append(f"{model.dtype[k]} {model.shape[k]}".strip())
    if model.value[k]:
        parts.append(f"value {model.value[k]}")
    if model.adjoint[k] or model.status[k]:
        odd = f" ({model.status[k]})" if model.status[k] not in ("value", "") else ""
        parts.append(f"adjoint {model.adjoint[k] or 'none'}{odd}")
    if model.gate[k]:
        parts.append(f"gate: {model.gate[k]}")
    if model.line[k] >= 0:
        line = model.lines[model.line[k]]
        parts.append(f"{line.file}:{line.number} {line.text}".strip())
    return " · ".join(parts)


# -- wires ----------------------------------------------------------------------------------------


def _shared(model: Model) -> set[int]:
    """The nodes that several others use."""
    return {p for p, uses in Counter(model.parent).items() if uses > 1}


def _wires(model: Model, made: Layout, boxes: list[Box]) -> Iterator[str]:
    sides, farthest = _sides(model, made), _farthest(model, made)
    for e, (tail, head) in enumerate(zip(model.parent, model.child, strict=True)):
        points = _points(made, boxes, e, tail, head)
        x, y = points[-2]
        if (
            farthest[tail, model.flow[e]] != e
        ):  # the trunk is drawn with the wire that goes farthest
            points = [points[-3], *points[-3:]]
        kind = "wire" if model.flow[e] else "wire none"
        yield f'<path class="{kind}" d="{_curve(points)}"/>'
        local = local_text(model.local[e])
        if local and sides[e]:
            y += sides[e]
            yield f'<text class="local" x="{x + 2:.1f}" y="{y:.1f}">{_text(local)}</text>'


def _points(made: Layout, boxes: list[Box], e: int, tail: int, head: int) -> list[Any]:
    """The course of a wire, from the end of its node into the gate, which lies over its end."""
    points = [*route(made, e, tail, head, float(made.x[tail]) + boxes[tail].width)]
    x, y = points[-1]
    return [*points, (x + boxes[head].lead + GATE / 2, y)]


def _heavy_wires(
    model: Model, made: Layout, boxes: list[Box], heavy: Mapping[int, float]
) -> Iterator[str]:
    """Wires from gate to gate, over the thin ones; of a node's several the widest first."""
    for e, width in sorted(heavy.items(), key=lambda pair: -pair[1]):
        tail, head = model.parent[e], model.child[e]
        points = _points(made, boxes, e, tail, head)
        start = float(made.x[tail]) + boxes[tail].lead + boxes[tail].gate_width
        points[0] = start, points[0][1]
        yield f'<path class="heavy" stroke-width="{width:.1f}" d="{_curve(points)}"/>'


def _farthest(model: Model, made: Layout) -> dict[tuple[int, bool], int]:
    """Of each node, among its wires with and without a gradient, the one that goes farthest."""
    found: dict[tuple[int, bool], int] = {}
    for e, (tail, head) in enumerate(zip(model.parent, model.child, strict=True)):
        best = found.setdefault((tail, model.flow[e]), e)
        if made.layer[head] > made.layer[model.child[best]]:
            found[tail, model.flow[e]] = e
    return found


def _sides(model: Model, made: Layout) -> list[float]:
    """Where a local derivative stands: above the first wire into a node, below the last."""
    top: dict[int, float] = {}
    bottom: dict[int, float] = {}
    for child, entry in zip(model.child, made.entry, strict=True):
        top[child] = min(entry, top.get(child, entry))
        bottom[child] = max(entry, bottom.get(child, entry))
    return [
        -4.0 if entry == top[child] else 10.5 if entry == bottom[child] else 0.0
        for child, entry in zip(model.child, made.entry, strict=True)
    ]


def _curve(points: list[tuple[float, float]]) -> str:
    """Level to the second point, a curve to the third, level to the fourth, …"""
    (x, y), *rest = points
    made = [f"M{x:.1f} {y:.1f}"]
    for k, (to, height) in enumerate(rest):
        if k % 2 == 0 or abs(height - y) < 0.05:
            made.append(f"H{to:.1f}")
        else:
            middle = (x + to) / 2
            made.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {height:.1f} {to:.1f} {height:.1f}")
        x, y = to, height
    return "".join(made)


# -- nodes ----------------------------------------------------------------------------------------


def _node(model: Model, made: Layout, k: int, box: Box, shared: bool, bold: bool) -> Iterator[str]:
    x, y = float(made.x[k]) + box.lead, float(made.y[k])
    end = box.width - box.lead
    yield f'<g transform="translate({x:.1f} {y:.1f})"><title>{_text(_tip(model, k))}</title>'
    if not bold:  # the wire that leaves it is drawn from here
        yield f'<path class="stem" d="M{box.gate_width:.1f} 0H{end:.1f}"/>'
    yield _gate(model, k, box) if box.gate else '<path class="dot" d="M0 -4h4v8h-4z"/>'
    left = box.gate_width + 6
    yield from _above(model, k, box, left)
    yield from _below(model, k, box, left)
    if k in model.outputs:
        yield f'<path class="dot" d="M{end:.1f} -5l{ARROW:g} 5l-{ARROW:g} 5z"/>'
    elif shared:
        parting = float(made.end[made.layer[k]]) - x  # the end of the column
        yield f'<circle class="dot" cx="{parting:.1f}" cy="0" r="3.2"/>'
    yield "</g>"


def _gate(model: Model, k: int, box: Box) -> str:
    """A round gate; one that routes is pointed, and a group of nodes has corners."""
    kind = "gate alarm" if model.flags[k] else "gate"
    width = box.gate_width
    if model.gate[k] == "routes":
        outline = (
            f'<path class="{kind}" d="M7 -{GATE:g}H{width - 7:.1f}L{width:.1f} 0'
            f'L{width - 7:.1f} {GATE:g}H7L0 0z"/>'
        )
    else:
        outline = (
            f'<rect class="{kind}" y="-{GATE:g}" width="{width:.1f}" height="{2 * GATE:g}" '
            f'rx="{GATE if model.count[k] == 1 else 3:g}"/>'
        )
    return f'{outline}<text class="middle" x="{width / 2:.1f}" y="4.2">{_text(box.gate)}</text>'


def _above(model: Model, k: int, box: Box, left: float) -> Iterator[str]:
    lift = 5.0
    if box.heat:
        yield from _heat(box.heat, left, -lift - box.heat.rows * box.heat.cell, "value")
        lift += box.heat.rows * box.heat.cell + 4
    spans = []
    if box.name:
        spans.append(f'<tspan class="name">{_text(box.name)}</tspan>')
    if box.value:
        kind = "wrong" if model.flags[k] & VALUE_NOT_FINITE else "dim" if box.heat else "value"
        if not model.value[k]:
            kind = "dim"
        spans.append(f'<tspan class="{kind}">{_text(box.value)}</tspan>')
    if spans:
        yield f'<text x="{left:.1f}" y="{-lift:.1f}">{" ".join(spans)}</text>'


def _below(model: Model, k: int, box: Box, left: float) -> Iterator[str]:
    drop = 5.0
    if box.slope_heat:
        yield from _heat(box.slope_heat, left, drop, "adjoint")
        drop += box.slope_heat.rows * box.slope_heat.cell + 4
    if not box.adjoint:
        return
    wrong = model.flags[k] & (ADJOINT_NOT_FINITE | AT_KINK)
    kind = "wrong" if wrong else "adjoint" if model.adjoint[k] else "dim"
    baseline = drop + 9
    if model.adjoint[k]:
        yield f'<path class="plus-adjoint" d="M{left:.1f} {baseline - 4:.1f}l6 -3.5v7z"/>'
        left += LETTER * 1.4
    yield f'<text class="{kind}" x="{left:.1f}" y="{baseline:.1f}">{_text(box.adjoint)}</text>'


def _heat(heat: Heat, x: float, y: float, which: str) -> Iterator[str]:
    """Squares or circles, filled where positive and hollow where negative; × is not finite."""
    marks: dict[str, list[str]] = {"plus": [], "minus": [], "lost": []}
    for k, level in enumerate(heat.levels):
        row, column = divmod(k, heat.columns)
        cx, cy = x + (column + 0.5) * heat.cell, y + (row + 0.5) * heat.cell
        if level is None:
            marks["lost"].append(f"M{cx - 2:.1f} {cy - 2:.1f}l4 4m0 -4l-4 4")
            continue
        side = max(1.0, (heat.cell - 0.6) * abs(level) ** 0.5)
        sign = "plus" if level >= 0 else "minus"
        side -= sign == "minus" and side > 2
        marks[sign].append(_square(cx, cy, side) if which == "value" else _circle(cx, cy, side))
    for sign in ("plus", "minus"):
        if marks[sign]:
            yield f'<path class="{sign}-{which}" d="{"".join(marks[sign])}"/>'
    if marks["lost"]:
        yield f'<path class="alarm" d="{"".join(marks["lost"])}"/>'


def _square(cx: float, cy: float, side: float) -> str:
    return f"M{cx - side / 2:.1f} {cy - side / 2:.1f}h{side:.1f}v{side:.1f}h-{side:.1f}z"


def _circle(cx: float, cy: float, side: float) -> str:
    arc = f"a{side / 2:.2f} {side / 2:.2f} 0 1 0"
    return f"M{cx - side / 2:.1f} {cy:.1f}{arc} {side:.2f} 0{arc} -{side:.2f} 0z"

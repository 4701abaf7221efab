"""All that a page needs of one graph or run, as plain JSON data.

model      what is shown of every node and edge: `model.py`
place      where it stands: `Layout.to_data` in `layout.py`, and of each node its box
           (`boxes.py`): lead, gate (its width), wide, above, below, in pixels
groups     the nodes as a tree of calls, loops and lines: `groups.py`
timeline   the steps of both passes: `timeline.py`; null without adjoints
paths      the heaviest paths of each leaf: `timeline.py`; null without adjoints
program    the graph as `graph.to_json()` has it, exact, to be evaluated again; null where an op
           is the user's own or the graph has more than FEW nodes
"""

from __future__ import annotations

import json
from typing import Any

from chainrule.core.graph import Graph
from chainrule.diff.run import Run
from chainrule.errors import SerialisationError
from chainrule.view.boxes import Box, boxes_of
from chainrule.view.groups import groups_of
from chainrule.view.layout import Layout, layout
from chainrule.view.model import Model, model_of
from chainrule.view.timeline import FEW, paths, timeline

# Columns that a page of a large graph does without: calls are in its steps, all counts are 1, and
# no number is computed anew.
UNSAID = (
    ("nodes", "call"),
    ("nodes", "count"),
    ("nodes", "number"),
    ("nodes", "slope"),
    ("edges", "count"),
)


def scene(subject: Graph | Run) -> dict[str, Any]:
    """The data of a page about a graph, or about a run of one."""
    model = model_of(subject)
    graph = subject if isinstance(subject, Graph) else subject.graph
    run = subject if isinstance(subject, Run) and subject.has_adjoints else None
    shown = _shown(model)
    steps = None if run is None else timeline(run, model)
    if steps is not None and "compact" in steps:
        for part, name in UNSAID:
            del shown["model"][part][name]
    return {
        **shown,
        "groups": groups_of(graph, model),
        "timeline": steps,
        "paths": None if run is None else paths(run),
        "program": _program(graph),
    }


def placed(model: Model) -> tuple[list[Box], Layout]:
    """The boxes of a model and where they stand."""
    boxes = boxes_of(model)
    made = layout(
        model.parent,
        model.child,
        [box.width for box in boxes],
        [max(box.above, box.below) for box in boxes],
        [not op for op in model.op],
    )
    return boxes, made


def _shown(model: Model) -> dict[str, Any]:
    boxes, made = placed(model)
    place = made.to_data() | {
        "lead": [round(box.lead, 1) for box in boxes],
        "gate": [round(box.gate_width, 1) for box in boxes],
        "wide": [round(box.width, 1) for box in boxes],
        "above": [round(box.above, 1) for box in boxes],
        "below": [round(box.below, 1) for box in boxes],
    }
    return {"model": model.to_data(), "place": place}


def _program(graph: Graph) -> Any:
    if len(graph) > FEW:
        return None
    try:
        return json.loads(graph.to_json())
    except SerialisationError:
        return None

"""All that a page needs of one graph or run, as plain JSON data.

model      what is shown of every node and edge: `model.py`
place      where it stands: `Layout.to_data` in `layout.py`, and of each node its box
           (`boxes.py`): lead, gate (its width), wide, above, below, in pixels
groups     the nodes as a tree of calls, loops and lines: `groups.py`
timeline   the steps of both passes: `timeline.py`; null without adjoints
paths      the heaviest paths of each leaf: `timeline.py`; null without adjoints
program    the graph as `graph.to_json()` has it, exact, to be evaluated again; null where an op
           is the user's own or the graph has more than MAX_NODES_WRITTEN_OUT nodes
point      {"leaves": per leaf, by its index as a string, its value, "seeds": per output that of its
           adjoint}, written as constants are in `program`; null without adjoints, and where the
           values of all nodes have more than ENTRIES numbers
loops      per loop, by the index of its node as a string, what is inside of its box:
           count     how many iterations there are
           kept      the numbers, from 0, of those that are written out, in the order they ran in
           scenes    of each of these a scene like this one
           source    of the functions that made them, as `listing.py` has it
           sizes     {"value", "adjoint"}: per iteration the norm of what it hands on, and of the
                     adjoint of that, null where it is not finite; null for all if not known
"""

from __future__ import annotations

import json
from typing import Any

from chainrule.core.graph import Graph
from chainrule.core.parts import OBJECT
from chainrule.core.serial import encode
from chainrule.diff.run import Run
from chainrule.errors import SerialisationError
from chainrule.view.boxes import Box, boxes_of
from chainrule.view.groups import groups_of
from chainrule.view.iterations import Iterations, loops_of
from chainrule.view.layout import Layout, layout
from chainrule.view.listing import listings
from chainrule.view.model import Model, model_of
from chainrule.view.timeline import MAX_NODES_WRITTEN_OUT, paths, timeline

ENTRIES = 20_000  # of all values together, up to which a page computes them anew
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
        "program": program_of(graph),
        "point": None if run is None else point_of(run),
        "loops": {} if isinstance(subject, Graph) else _loops(subject),
    }


def _loops(run: Run) -> dict[str, Any]:
    """What is inside the boxes of loops, as described above."""
    found = {}
    for node, body in loops_of(run.graph):
        inside = Iterations(run, node, body)
        found[str(run.graph.index[node])] = {
            "count": body.count,
            "kept": [inside.order[place] for place in inside.kept],
            "scenes": [scene(inside.at(place)) for place in inside.kept],
            "source": listings(inside.graph),
            "sizes": inside.sizes(),
        }
    return found


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


def program_of(graph: Graph) -> Any:
    """The graph to be evaluated again, as described above."""
    if len(graph) > MAX_NODES_WRITTEN_OUT:
        return None
    try:
        return json.loads(graph.to_json())
    except SerialisationError:
        return None


def point_of(run: Run) -> Any:
    """Where it was evaluated, as described above."""
    graph = run.graph
    if (
        len(graph) > MAX_NODES_WRITTEN_OUT
        or sum(n.size for n in graph.nodes if n.dtype != OBJECT) > ENTRIES
    ):
        return None
    leaves = (*graph.leaves, *graph.captured)
    return {
        "leaves": {str(graph.index[leaf]): encode(run.value(leaf)) for leaf in leaves},
        "seeds": [encode(seed) for seed in run.seeds(run.seed)],
    }

"""The edges of a run as they are shown: the local derivative of each, and what flows along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.diff.call import unit
from chainrule.diff.reverse import add, fit
from chainrule.diff.run import Run
from chainrule.errors import ChainruleError
from chainrule.explain.size import is_dead
from chainrule.view.values import shown

MAX_JACOBIAN_ENTRIES = 16  # entries of a Jacobian that is written out
MAX_NODES_WITH_MATRICES = 2_000


@dataclass(frozen=True)
class Flows:
    """Columns, one entry per edge; see `model.py`."""

    parent: list[int]
    child: list[int]
    slots: list[list[int]]
    local: list[str]
    contribution: list[str]
    flow: list[bool]


def no_flows(graph: Graph) -> Flows:
    """The edges of a graph alone."""
    flows = Flows([], [], [], [], [], [])
    for c, node in enumerate(graph.nodes):
        slots: dict[Node, list[int]] = {}
        for slot, arg in enumerate(node.args or ()):
            if isinstance(arg, Node):
                slots.setdefault(arg, []).append(slot)
        for parent, places in slots.items():
            flows.parent.append(graph.index[parent])
            flows.child.append(c)
            flows.slots.append(places)
            flows.local.append("")
            flows.contribution.append("")
            flows.flow.append(parent in node.parents)
    return flows


def flows_of(run: Run) -> Flows:
    """The edges of a run: derivatives at this point, and contributions where it has adjoints.

    Of a graph of more than MAX_NODES_WITH_MATRICES nodes no matrix is written out.
    """
    flows = no_flows(run.graph)
    matrices = len(run.graph) <= MAX_NODES_WITH_MATRICES
    nodes = run.graph.nodes
    adjoints = run.known_adjoints() if run.has_adjoints else {}
    e = 0
    while e < len(flows.child):
        c = flows.child[e]
        child = nodes[c]
        local = _locals(run, child) if matrices or child.size == 1 else {}
        g = adjoints.get(child)
        added = _pulled(run, g, child) if g is not None else {}
        while e < len(flows.child) and flows.child[e] == c:
            parent = nodes[flows.parent[e]]
            flows.local[e] = local.get(parent, "")
            if g is not None:
                part = added.get(parent)
                flows.flow[e] = not is_dead(part)
                flows.contribution[e] = _shown_part(run, parent, part)
            e += 1
    return flows


def _shown_part(run: Run, parent: Node, part: Any) -> str:
    if part is None:
        return ""
    return shown(part if type(part) is np.float64 else run.plain_adjoint(parent, part))


def _pulled(run: Run, g: Any, child: Node) -> dict[Node, Any]:
    """What a child with this adjoint adds to each parent."""
    parts: dict[Node, Any] = {}
    try:
        for parent, part in run.pulled(g, child):
            if part is not None:
                add(parts, parent, fit(part, parent))
    except ChainruleError:  # a derivative nobody has written: there is nothing to show
        pass
    return parts


def _locals(run: Run, child: Node) -> dict[Node, str]:
    """The local derivatives with respect to parents between which they are few numbers."""
    if child.dtype == OBJECT or child.dtype.kind not in "fc" or child.size > MAX_JACOBIAN_ENTRIES:
        return {}
    if child.size == 1:
        found = _pulled(run, unit(child.shape, child.dtype, 0), child)
        return {
            p: _text(part if type(part) is np.float64 else np.conj(unmasked(part)))
            for p, part in found.items()
            if p.dtype != OBJECT and p.size <= MAX_JACOBIAN_ENTRIES
        }
    return {
        p: _text(run.local_jacobian(p, child))
        for p in run.graph.parents(child)
        if p.dtype != OBJECT and p.size * child.size <= MAX_JACOBIAN_ENTRIES and p in child.parents
    }


def _text(matrix: Any) -> str:
    if type(matrix) is np.float64:
        return shown(matrix)
    array = np.asarray(matrix)
    if array.size == 1:
        return shown(array.reshape(())[()])
    with np.printoptions(precision=4, suppress=True, linewidth=1000, threshold=1000):
        return np.array2string(array, separator=" ").replace("\n", "")

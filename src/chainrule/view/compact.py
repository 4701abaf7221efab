"""The steps of a large run in few bytes: what a page cannot tell from the model.

A page composes the sentences of the sorted order itself: values, adjoints, local derivatives and
contributions stand in the model, a parent's sum is the contribution where it is the first, and the
adjoint where it is the last.  Left to say is

    template   per node its call with HOLE for each argument that is a node; "" for a leaf
    captured   leaves that were not given
    beside     {node: text} the adjoint of nodes that no gradient reaches: zero of their shape
    edge, after   the sums after contributions that are neither the first nor the last
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.text import attr_texts, value_text
from chainrule.diff.reverse import fit
from chainrule.diff.run import Run
from chainrule.view.model import Model, column_of
from chainrule.view.values import shown

HOLE = "\x1f"  # in no text that Python writes of a value


def compact_steps(run: Run, model: Model) -> dict[str, Any]:
    """What is described above, as plain JSON data."""
    graph = run.graph
    adjoints = run.known_adjoints()
    with np.errstate(all="ignore"):
        sums = _sums(run, model)
        beside = {
            str(k): shown(run.adjoint(node))
            for k, node in enumerate(graph.nodes)
            if adjoints.get(node) is None
        }
    return {
        "template": column_of([_template(node) for node in graph.nodes]),
        "captured": [graph.index[node] for node in graph.captured],
        "beside": beside,
        "edge": list(sums),
        "after": list(sums.values()),
    }


def _template(node: Node) -> str:
    if node.is_leaf:
        return ""
    args = [HOLE if isinstance(a, Node) else value_text(a) for a in node.args or ()]
    return f"{node.op.name}({', '.join([*args, *attr_texts(node)])})"


def _sums(run: Run, model: Model) -> dict[int, str]:
    """Of each contribution between the first and the last to its parent the sum after it."""
    nodes, adjoints = run.graph.nodes, run.known_adjoints()
    seeded = set(model.outputs)
    left = [0] * len(nodes)
    for p, text in zip(model.parent, model.contribution, strict=True):
        left[p] += text != ""
    several = {p for p, parts in enumerate(left) if parts + (p in seeded) > 2}
    seeds = {run.graph.index[out]: seed for out, seed in run.seeded(run.seed).items()}
    sums = {p: seed for p, seed in seeds.items() if p in several}
    edges: dict[int, dict[int, int]] = {}  # child, parent, edge
    for e, (p, c) in enumerate(zip(model.parent, model.child, strict=True)):
        if p in several and model.contribution[e]:
            edges.setdefault(c, {})[p] = e
    found: dict[int, str] = {}
    for c in sorted(edges, reverse=True):
        begun = {p for p in edges[c] if p in sums}
        for parent, part in run.pulled(adjoints[nodes[c]], nodes[c]):
            p = run.graph.index[parent]
            if p in edges[c] and part is not None:
                part = fit(part, parent)
                sums[p] = sums[p] + part if p in sums else part
        for p, e in edges[c].items():
            left[p] -= 1
            if left[p] and p in begun:
                found[e] = shown(run.plain_adjoint(nodes[p], sums[p]))
    return found

"""A run as it unfolds, and why its gradient is what it is, as plain JSON data for a page.

`timeline(run)` has the topological sort and every step of both passes in each order, with the words
of `graph.steps`; columns have one entry per step:

    sort     {"dfs": {kind, node}, "kahn": {kind, node}}
             kinds as in `cr.topological_sort`: dfs "push", "visited", "backtrack", "placed"; kahn
             "ready", "placed", "released".  A push puts its node on the stack and placed takes it
             off; ready appends to the queue and placed takes its first.  placed appends to the
             order.
    orders   {"sorted": steps, "data-driven": steps, "recursive": steps, or where it would take more
             than VISITS {"refused": why, "visits": how many edges it goes along, as text (10^18 is
             that many or more), "begins": the forward steps and the first BEGINS backward}}
             kind      0 forward, 1 backward          node      whose step it is
             why       as `Step.why`                  wrong     "", "early", "again", "inherited"
             lines     per step its lines of text, each a list of [text, style]; joined they are
                       those of str(graph.steps(…)).  Styles: value, adjoint, wrong, dim, ""
             adds      per step the parents it adds to, as {parent, contribution, after} columns;
                       null for none

Of a graph of more than MAX_NODES_WRITTEN_OUT nodes there is only the sorted order, as `compact.py`
writes it: {"compact": …}; one of more than MAX_NODES nodes has no steps: {"refused": why}.

`paths(run)` has for each leaf, by its index as a string,

    count    how many paths lead from it, as text: it may have many digits
    exact    whether it is certain that no other is heavier
    total    its adjoint                              rest      what the paths not listed add
    paths    nodes (from the leaf to an output), factors (text per edge: the local derivative, or
             "×0.4", the ratio of two norms, where arrays are met), product, share, covered
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np

from chainrule.core.order import topological_sort
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError
from chainrule.explain.explanation import explain
from chainrule.explain.flow import is_number
from chainrule.explain.numbers import as_json
from chainrule.explain.paths import Path
from chainrule.explain.steps import COUNTED, ORDERS, Step, Steps
from chainrule.explain.steps import steps as steps_of
from chainrule.view.compact import compact_steps
from chainrule.view.explanation import counted
from chainrule.view.model import Model, model_of
from chainrule.view.steps import Names
from chainrule.view.values import shown

MAX_NODES_WRITTEN_OUT = 2_000  # nodes of a graph whose steps are written out
MAX_NODES = 200_000  # nodes of a graph that has steps
VISITS = 5_000  # of a recursion that is written out
BEGINS = 500  # visits written out of one that is longer
WORK = 200_000  # nodes looked at to find the paths of all leaves
TOP = 5


def timeline(run: Run, model: Model | None = None) -> dict[str, Any]:
    """The sort and the steps of a run, as described above; `model` is that of the run, if known."""
    graph = run.graph
    if len(graph) > MAX_NODES:
        return {"refused": f"{len(graph):,} nodes; steps are shown of {MAX_NODES:,} at the most"}
    if len(graph) > MAX_NODES_WRITTEN_OUT:
        return {"compact": compact_steps(run, model or model_of(run))}
    orders: dict[str, Any] = {order: _steps(run, order) for order in ORDERS}
    return {"sort": {method: _sort(run, method) for method in ("dfs", "kahn")}, "orders": orders}


def _steps(run: Run, order: Any) -> dict[str, Any]:
    graph, names = run.graph, Names(run.graph)
    values = [run.value(leaf) for leaf in graph.leaves]
    flat = replace(graph, inputs=None)  # which takes the values of its leaves one by one

    def made(limit: int) -> Steps:
        return steps_of(flat, *values, order=order, seed=run.seed, limit=limit)

    try:
        return _columns(made(VISITS), names, graph.index)
    except ArgumentError as error:  # the recursion is too long
        steps = made(COUNTED**2)
        edges = steps.total - len(graph) - len(set(graph.outputs))
        begins = _columns(islice(steps, len(graph) + BEGINS), names, graph.index)
        return {"refused": str(error), "visits": str(min(edges, COUNTED)), "begins": begins}


def _sort(run: Run, method: Any) -> dict[str, list[Any]]:
    """The events of a sort that begins at the outputs."""
    graph, index = run.graph, run.graph.index
    first = dict.fromkeys((*graph.outputs, *graph.nodes))
    mapping = {index[n]: [index[p] for p in graph.parents(n)] for n in first}
    events = [*topological_sort(mapping, method, steps=True)]
    return {"kind": [e.kind for e in events], "node": [e.node for e in events]}


def _columns(made: Iterable[Step], names: Names, index: dict[Any, int]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        name: [] for name in ("kind", "node", "why", "wrong", "lines", "adds")
    }
    with np.errstate(all="ignore"):
        for step in made:
            columns["kind"].append(int(step.kind == "backward"))
            columns["node"].append(index[step.node])
            columns["why"].append(step.why)
            columns["wrong"].append(step.wrong)
            columns["lines"].append([[*map(list, line)] for line in names.lines(step)])
            columns["adds"].append(_adds(step, index))
    return columns


def _adds(step: Step, index: dict[Any, int]) -> dict[str, list[Any]] | None:
    if not step.additions:
        return None
    return {
        "parent": [index[a.parent] for a in step.additions],
        "contribution": [shown(a.contribution) for a in step.additions],
        "after": [shown(a.after) for a in step.additions],
    }


def paths(run: Run, top: int = TOP) -> dict[str, Any]:
    """The heaviest paths of each leaf, as described above; of the first leaves in a large graph."""
    graph = run.graph
    leaves = [n for n in (*graph.leaves, *graph.captured) if n.dtype.kind in "fc"]
    leaves = leaves[: max(WORK // max(len(graph), 1), 1 if len(graph) <= WORK else 0)]
    found: dict[str, Any] = {}
    explanation = None
    with np.errstate(all="ignore"):
        for leaf in leaves:
            if explanation is None:
                explanation = explain(run, wrt=leaf, top=top, seed=run.seed)
            else:
                explanation = explanation.of(leaf)
            found[str(graph.index[leaf])] = {
                "count": counted(explanation.path_count),
                "exact": explanation.exact,
                "total": shown(explanation.total),
                "rest": shown(explanation.rest),
                "paths": [_path(path, graph.index) for path in explanation.paths],
            }
    return found


def _path(path: Path, index: dict[Any, int]) -> dict[str, Any]:
    return {
        "nodes": [index[n] for n in path.nodes],
        "factors": _factors(path),
        "product": shown(path.product),
        "share": as_json(path.share),
        "covered": as_json(path.covered),
    }


def _factors(path: Path) -> list[str]:
    if all(map(is_number, path.nodes)):
        return [shown(np.reshape(f, ())[()]) for f in path.factors]
    sizes = path.magnitudes
    return [
        f"×{below / above:.4g}" if above and not math.isnan(above) else ""
        for below, above in pairwise(sizes)
    ]

"""A large graph shown as its functions, its lines of code or its files: each group is one node.

A function that is called twice, the second time on what came of the first, is two groups as long as
that makes no more than MAX_GROUPS of them.  Beyond that each function is one group, and functions
that depend on each other are one together.  Many leaves become one group per argument.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np

from chainrule.core.order import topological_sort
from chainrule.errors import ArgumentError
from chainrule.view.model import Model

Level = Literal["line", "function", "file"]
MAX_GROUPS = 150  # groups
MANY_LEAVES = 30
Keys = list[Hashable]


def collapsed(model: Model, level: Level) -> Model:
    """The model with every node of one line, function or file drawn as one."""
    return _merged(model, grouped(model, level), _keys(model, level), level)


def grouped(model: Model, level: Level) -> list[int]:
    """Per node the node of the collapsed model that stands for it."""
    keys = _keys(model, level)
    groups = _calls(model, keys)
    if len(set(groups)) > MAX_GROUPS + len(model.leaves):
        groups = _entangled(model, keys)
    return _numbered(model, groups)


# -- who belongs together -------------------------------------------------------------------------


def _keys(model: Model, level: Level) -> Keys:
    of: dict[str, Callable[[Any], Hashable]] = {
        "line": lambda s: (s.file, s.number),
        "function": lambda s: (s.file, s.function),
        "file": lambda s: s.file,
    }
    if level not in of:
        raise ArgumentError(f"level {level!r}: choose one of {', '.join(of)}")
    named = [of[level](source) for source in model.lines]
    many = len(model.leaves) > MANY_LEAVES
    return [
        (("", argument_of(model.label[k])) if many else k)
        if not op
        else named[model.line[k]]
        if model.line[k] >= 0
        else ("", "")
        for k, op in enumerate(model.op)
    ]


def argument_of(name: str) -> str:
    """The argument a leaf belongs to: p of p['W'][0] and of p.bias."""
    return name.partition("[")[0].partition(".")[0]


def _calls(model: Model, keys: Keys) -> Keys:
    """(key, rank): a rank rises where an edge leads to another key, so no group leads to itself."""
    rank = [0] * len(keys)
    for p, c in zip(model.parent, model.child, strict=True):
        rank[c] = max(rank[c], rank[p] + (keys[p] != keys[c]))
    return [(key, r) if op else (key, -1) for key, r, op in zip(keys, rank, model.op, strict=True)]


def _entangled(model: Model, keys: Keys) -> Keys:
    """One group per key, and one for all keys that depend on each other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    at = np.array([number[key] for key in keys], int)
    size = len(number)
    ones = np.ones(len(model.parent), bool)
    edges = coo_array((ones, (at[model.parent], at[model.child])), shape=(size, size))
    return connected_components(edges, connection="strong")[1][at].tolist()


def _numbered(model: Model, groups: Keys) -> list[int]:
    """The groups as numbers, parents before children."""
    needs: dict[Hashable, dict[Hashable, None]] = {group: {} for group in groups}
    for p, c in zip(model.parent, model.child, strict=True):
        if groups[p] != groups[c]:
            needs[groups[c]][groups[p]] = None
    place = {group: k for k, group in enumerate(topological_sort(needs))}
    return [place[group] for group in groups]


# -- what a group shows ---------------------------------------------------------------------------


def _merged(model: Model, group: list[int], keys: Keys, level: str) -> Model:
    members: list[list[int]] = [[] for _ in range(max(group, default=-1) + 1)]
    for k, g in enumerate(group):
        members[g].append(k)
    edges: dict[tuple[int, int], list[int]] = {}
    leaving: list[set[int]] = [set() for _ in members]
    for e, (p, c) in enumerate(zip(model.parent, model.child, strict=True)):
        if group[p] != group[c]:
            edges.setdefault((group[c], group[p]), []).append(e)
            leaving[group[p]].add(p)
    for k in model.outputs:
        leaving[group[k]].add(k)
    # What a group shows is what its one result shows, if it has one.
    shown = [next(iter(out)) if len(out) == 1 else None for out in leaving]
    alone = [m[0] if len(m) == 1 else None for m in members]
    pairs = sorted(edges)

    def column(name: str, of: list[int | None], otherwise: Any) -> list[Any]:
        values = getattr(model, name)
        return [otherwise if k is None else values[k] for k in of]

    names = [_name(model, m, keys, level) for m in members]
    return Model(
        name=model.name,
        stage=model.stage,
        label=_distinct(names),
        named=[k is None or model.named[k] for k in alone],
        op=[model.op[m[0]] if len(m) == 1 else level if model.op[m[0]] else "" for m in members],
        symbol=[
            model.symbol[m[0]] if len(m) == 1 else name
            for m, name in zip(members, names, strict=True)
        ],
        gate=column("gate", alone, ""),
        shape=column("shape", shown, ""),
        dtype=column("dtype", shown, ""),
        call=column("call", alone, ""),
        line=[model.line[m[0]] for m in members],
        count=[len(m) for m in members],
        value=column("value", shown, ""),
        number=column("number", shown, None),
        adjoint=column("adjoint", shown, ""),
        slope=column("slope", shown, None),
        status=column("status", shown, ""),
        flags=[int(np.bitwise_or.reduce([model.flags[k] for k in m])) for m in members],
        parent=[p for _, p in pairs],
        child=[c for c, _ in pairs],
        slots=[model.slots[edges[pair][0]] for pair in pairs],
        local=["" for _ in pairs],
        contribution=[
            model.contribution[edges[pair][0]] if len(edges[pair]) == 1 else "" for pair in pairs
        ],
        flow=[any(model.flow[e] for e in edges[pair]) for pair in pairs],
        edge_count=[len(edges[pair]) for pair in pairs],
        leaves=list(dict.fromkeys(group[k] for k in model.leaves)),
        outputs=list(dict.fromkeys(group[k] for k in model.outputs)),
        lines=model.lines,
        arrays={
            which: {g: found[k] for g, k in enumerate(shown) if k in found}
            for which, found in model.arrays.items()
        },
    )


def _name(model: Model, members: list[int], keys: Keys, level: str) -> str:
    first = members[0]
    if len(members) == 1:
        return model.label[first]
    if not model.op[first]:
        return argument_of(model.label[first])
    if model.line[first] < 0:
        return "…"
    source = model.lines[model.line[first]]
    if level == "line":
        return source.text or f"{source.file}:{source.number}"
    name = source.file if level == "file" else source.function.rpartition(".")[2] or source.file
    others = len({keys[k] for k in members}) - 1
    return f"{name} and {others} more" if others else name


def _distinct(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found

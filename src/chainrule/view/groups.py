"""The nodes of a graph as a tree: calls of functions, turns of loops, lines of code, nodes.

Every group is a stretch of what was recorded, one thing after another.  So whatever groups are
drawn as one, an arrow never leads back.  A leaf belongs to the smallest group that has all of its
users.  `groups_of(…)` is plain JSON data; of each group, the first of which has everything,

    kind     "call", "loop", "turn", "line", "part" (of what would be too many) or "leaves"
    name     "attention", "for x in xs ×12", …      parent   the group it is in; of the first -1
    line     index into the model's `lines`, or -1

and of each node

    of       the group it is in                       rank     its place in what was recorded
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import CodeType
from typing import Any

from chainrule.core.calls import Calls
from chainrule.core.graph import Graph
from chainrule.core.node import Node, span_of
from chainrule.view.collapse import argument_of
from chainrule.view.loops import Loop, Placed, loops_of, nested
from chainrule.view.model import Model, shortened

MAX_ITEMS = 48  # things in a group
PART = 32  # of them in each part of what has more
MAX_ITEMS_WITH_LINES = 12  # things up to which lines are not drawn as one
MANY_LEAVES = 8  # of one argument
LONGEST = 60  # characters of a name
PARTS = ("part", "leaves")
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
CALLED = {"__call__", "forward", "apply"}  # methods that are called by the name of their class


@dataclass(eq=False)
class Group:
    """A group in the making: `items` are groups and indices of nodes."""

    kind: str
    name: str
    items: list[Any] = field(default_factory=list)


def groups_of(graph: Graph, model: Model) -> dict[str, Any]:
    """The tree of a graph, as described above."""
    order, owners, root = _recorded(graph)
    for owner in reversed(owners):
        owner.settle(model)
    tree = Group("call", model.name, root.group.items)
    columns = _Columns(len(model))
    columns.add(tree, model)
    _settle_leaves(columns, model)
    rank = [0] * len(model)
    for k, node in enumerate([*(k for k, op in enumerate(model.op) if not op), *order]):
        rank[node] = k
    return {
        "kind": columns.kind,
        "name": columns.name,
        "parent": columns.parent,
        "line": columns.line,
        "of": columns.of,
        "rank": rank,
    }


# -- calls ----------------------------------------------------------------------------------------


class _Call:
    """One call: what it did, and the instruction that did each."""

    def __init__(self, code: CodeType | None):
        self.code = code
        self.placed: list[Placed] = []
        self.group = Group("call", "")

    def done(self, node: Node, site: int, index: int) -> None:
        """A node was made, by a generator that ran at `site`, or, where that is -1, here."""
        last = self.placed[-1][0] if self.placed else 0
        at = site if site >= 0 else node.lasti if node.code is self.code else last
        self.placed.append((at, index))

    def settle(self, model: Model) -> None:
        """Put what it did into groups; those of calls it made are settled."""
        placed = [(at, _lone(item)) for at, item in self.placed]
        loops = loops_of(self.code) if self.code is not None else ()
        items = nested(placed, loops, lambda loop, turns: self._loop(loop, turns, model))
        items = _shortened(_repeats(items), model)
        only = items[0] if len(items) == 1 else None
        if isinstance(only, Group) and (only.kind != "call" or self.code is None):
            items = only.items  # all of it is one loop, or the recorded function
        self.group.items = items
        self.group.kind, self.group.name = self._kind_and_name(model)

    def _loop(self, loop: Loop, turns: list[list[Any]], model: Model) -> Group:
        made = [
            turn[0] if len(turn) == 1 else Group("turn", "", _shortened(_repeats(turn), model))
            for turn in turns
        ]
        called = {t.name if isinstance(t, Group) and t.kind == "call" else "" for t in made}
        name = called.pop() if len(called) == 1 else ""
        return _loop_of(made, name or self._head(loop))

    def _head(self, loop: Loop) -> str:
        """The line on which a loop begins: for x in xs."""
        code = self.code
        assert code is not None
        line = span_of(code, loop[0])[0] or code.co_firstlineno
        text = linecache.getline(code.co_filename, line).strip()
        return text.removesuffix(":") if text.startswith(("for ", "while ")) else "loop"

    def _kind_and_name(self, model: Model) -> tuple[str, str]:
        path = self.code.co_qualname.split(".") if self.code is not None else [model.name]
        if path[-1].startswith("<"):  # a lambda or a comprehension: its line says what it is
            return "line", _line_text(self.group.items, model) or path[-1]
        of_class = path[-1] in CALLED and len(path) > 1 and "<" not in path[-2]
        return "call", path[-2] if of_class else path[-1]


def _recorded(graph: Graph) -> tuple[list[int], list[_Call], _Call]:
    """Nodes in the order in which they were recorded, and the calls, callers first."""
    calls = graph.calls or Calls((), (), (), (), ())
    made: dict[int, _Call] = {-1: _Call(None)}
    order: list[int] = []
    known = {node: (k, c) for k, (node, c) in enumerate(zip(calls.nodes, calls.call, strict=True))}
    placed = _known_places(graph, known)
    call = calls.call[0] if calls.call else -1
    for node in sorted(placed, key=lambda n: placed[n]):
        call = known[node][1] if node in known else call
        owner, site = _owner(calls, call)
        _attach(made, calls, owner)
        made[owner].done(node, site, graph.index[node])
        order.append(graph.index[node])
    return order, [made[c] for c in sorted(made)], made[-1]


def _known_places(graph: Graph, known: dict[Any, tuple[int, int]]) -> dict[Any, tuple[float, int]]:
    """Where each node stands in what was recorded; one that is not in it follows its parents."""
    found: dict[Any, tuple[float, int]] = {}
    for k, node in enumerate(graph.nodes):
        if node.is_leaf:
            continue
        if node in known:
            found[node] = known[node][0], -1
        else:
            after = [found[p][0] for p in graph.parents(node) if p in found]
            found[node] = max(after, default=-1.0), k
    return found


def _owner(calls: Calls, call: int) -> tuple[int, int]:
    """The call that a node is shown in, and where in it: a generator is part of who runs it."""
    site = -1
    while call >= 0 and calls.code[call].co_flags & RESUMED:
        site, call = calls.site[call], calls.parent[call]
    return call, site


def _attach(made: dict[int, _Call], calls: Calls, call: int) -> None:
    """Make the call, and those it was made from, things that their callers have done."""
    fresh = []
    while call not in made:
        fresh.append(call)
        call = _owner(calls, calls.parent[call])[0]
    for c in reversed(fresh):
        made[c] = _Call(calls.code[c])
        owner, site = _owner(calls, calls.parent[c])
        made[owner].placed.append((calls.site[c] if site < 0 else site, made[c].group))


def _lone(item: Any) -> Any:
    """A call that has done one thing is that thing."""
    return item.items[0] if isinstance(item, Group) and len(item.items) == 1 else item


# -- what stands together -------------------------------------------------------------------------


def _loop_of(turns: list[Any], name: str) -> Group:
    for k, turn in enumerate(turns, 1):
        if isinstance(turn, Group):
            turn.name = f"{turn.name} {k}" if turn.kind == "call" else f"#{k}"
    count = len(turns)
    return Group("loop", f"{shortened(name, LONGEST)} ×{count}", _parts(turns, _numbered))


def _repeats(items: list[Any]) -> list[Any]:
    """Three or more calls of one function after each other are drawn as one."""
    found: list[Any] = []
    k = 0
    while k < len(items):
        end = k
        name = _called(items[k])
        while end < len(items) and name and _called(items[end]) == name:
            end += 1
        if end - k > 2 and end - k < len(items):
            found.append(_loop_of(items[k:end], name))
        else:
            end = max(end, k + 1)
            found += items[k:end]
        k = end
    return found


def _called(item: Any) -> str:
    return item.name if isinstance(item, Group) and item.kind == "call" else ""


def _shortened(items: list[Any], model: Model) -> list[Any]:
    """Not too many things: lines are drawn as one, and if that is not enough, parts."""
    if len(items) > MAX_ITEMS_WITH_LINES:
        items = _lines(items, model)
    return _parts(items, lambda part, _: _extent(part, model))


def _lines(items: list[Any], model: Model) -> list[Any]:
    """Nodes of one line after each other as one group, unless that is all there is."""

    def place(item: Any) -> Any:
        line = model.lines[model.line[item]] if isinstance(item, int) else None
        return item if line is None or model.line[item] < 0 else (line.file, line.number)

    found = [list(same) for _, same in groupby(items, place)]
    if len(found) == 1:
        return items
    return [
        same[0]
        if len(same) == 1
        else Group("line", _line_text(same, model), _parts(same, _numbered))
        for same in found
    ]


def _parts(items: list[Any], name: Any, kind: str = "part") -> list[Any]:
    while len(items) > MAX_ITEMS:
        cut = [(k, items[k : k + PART]) for k in range(0, len(items), PART)]
        items = [Group(kind, name(part, k), part) if len(part) > 1 else part[0] for k, part in cut]
    return items


def _numbered(part: list[Any], first: int) -> str:
    """The numbers of the things in a part, or in the parts that it is made of."""
    ends = [p.name for p in (part[0], part[-1]) if isinstance(p, Group) and p.kind in PARTS]
    if len(ends) == 2:
        return f"{ends[0].partition('–')[0]}–{ends[1].rpartition('–')[2]}"
    return f"{first + 1}–{first + len(part)}"


def _extent(part: list[Any], model: Model) -> str:
    """The lines of source that a part comes from."""
    known = [model.line[k] for k in _members(part) if model.line[k] >= 0]
    if not known:
        return "…"
    first, last = (model.lines[line] for line in (known[0], known[-1]))
    numbers = sorted({first.number, last.number})
    return f"{first.file}:{'–'.join(map(str, numbers))}"


def _line_text(items: Iterable[Any], model: Model) -> str:
    line = next((model.line[k] for k in _members(items)), -1)
    if line < 0:
        return ""
    return shortened(model.lines[line].text, LONGEST) or f"line {model.lines[line].number}"


def _members(items: Iterable[Any]) -> Iterable[int]:
    """The nodes in these things, and in what is in them."""
    stack = [*items][::-1]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            yield item
        else:
            stack.extend(reversed(item.items))


# -- as columns -----------------------------------------------------------------------------------


class _Columns:
    def __init__(self, count: int):
        self.kind: list[str] = []
        self.name: list[str] = []
        self.parent: list[int] = []
        self.line: list[int] = []
        self.depth: list[int] = []
        self.of = [0] * count

    def add(self, tree: Group, model: Model, parent: int = -1) -> None:
        """A group and all that is in it."""
        stack: list[tuple[Group, str, int]] = [(tree, tree.name, parent)]
        while stack:
            group, name, above = stack.pop()
            number = len(self.kind)
            self.kind.append(group.kind)
            self.name.append(shortened(name, LONGEST))
            self.parent.append(above)
            self.depth.append(self.depth[above] + 1 if above >= 0 else 0)
            self.line.append(next((model.line[k] for k in _members(group.items)), -1))
            inner = []
            for item in group.items:
                if isinstance(item, int):
                    self.of[item] = number
                else:
                    inner.append(item)
            stack += [(g, n, number) for g, n in zip(inner, _distinct(inner), strict=True)][::-1]


def _distinct(groups: Sequence[Group]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for group in groups:
        seen[group.name] = seen.get(group.name, 0) + 1
        again = seen[group.name]
        found.append(group.name if again == 1 else f"{group.name} ({again})")
    return found


def _settle_leaves(columns: _Columns, model: Model) -> None:
    """Each leaf into the smallest group of all its users; many of one argument into their own."""
    homes: dict[int, int] = {}
    for p, c in zip(model.parent, model.child, strict=True):
        if not model.op[p]:
            home = columns.of[c]
            homes[p] = _common(columns, homes[p], home) if p in homes else home
    together: dict[tuple[int, str], list[int]] = {}
    for leaf in (k for k, op in enumerate(model.op) if not op):
        home = columns.of[leaf] = homes.get(leaf, 0)
        together.setdefault((home, argument_of(model.label[leaf])), []).append(leaf)
    alone: dict[int, list[Any]] = {}
    for (home, name), leaves in together.items():
        if len(leaves) > MANY_LEAVES:
            found = Group("leaves", name, _parts([*leaves], _numbered, "leaves"))
            alone.setdefault(home, []).append(found)
        else:
            alone.setdefault(home, []).extend(leaves)
    for home, items in alone.items():
        for item in _parts(items, _numbered, "leaves"):
            if isinstance(item, Group):
                columns.add(item, model, home)


def _common(columns: _Columns, a: int, b: int) -> int:
    while a != b:
        if columns.depth[a] >= columns.depth[b]:
            a = columns.parent[a]
        else:
            b = columns.parent[b]
    return a

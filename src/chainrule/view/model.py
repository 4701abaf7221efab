"""What is shown of a graph and a run: one model, of which every picture and page is made.

`model_of(graph_or_run).to_data()` is plain JSON data, in columns, one entry per node or edge:

    chainrule  1, the version of this form            name    of the recorded function
    stage      "structure", "forward" (there are values) or "backward" (and adjoints)
    nodes      label     its name in formulas and steps, all different
               named     whether that is the user's own name, or a letter given to it
               op        name of the op; "" for a leaf, "function" and the like for a group
               symbol    what its gate shows: "+", "×", "^2", "max", or the name of the op
               gate      "distributes", "swaps", "routes" or "": what it does to a gradient
               shape     "", "3×4"                    dtype     "float64"
               call      "add(x, y)": the formula
               line      index into `lines`, or -1    count     nodes it stands for (groups)
               value     text as in tables            number    exact, of a scalar; else null
               adjoint   text; "" where none comes    slope     exact, of a scalar; else null
               status    "value", "structural zero", "no path", "kink", "integer"; "" before
               flags     bits: 1 value not finite, 2 adjoint not finite, 4 evaluated at a kink
    edges      parent, child    in the order of the children
               slots            positions among the arguments: [0], for x * x [0, 1]
               local            text of the local derivative, between small ends; else ""
               contribution     text of what the child adds to the adjoint of the parent
               flow             whether a derivative flows: false is drawn dashed
               count            edges it stands for (groups)
    leaves, outputs             indices of nodes
    lines      file, number, text, function           one per line of source that made a node
    arrays     {"value": {index: summary}, "adjoint": {…}}, as in `summary.py`

A column of strings that repeat is {"of": [strings], "at": [index of each]}.  NaN and infinities are
the strings "nan", "inf" and "-inf".  A node shared by several children sums what they add: it has
more than one edge.  `scene.py` adds where all of it stands, its groups, its steps and its paths.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Line, Node
from chainrule.core.text import attr_texts, value_text
from chainrule.diff.run import Run
from chainrule.explain.numbers import as_json
from chainrule.explain.status import node_statuses
from chainrule.view.flows import Flows, flows_of, no_flows
from chainrule.view.gates import gate_of, symbol_of
from chainrule.view.labels import assigned_name
from chainrule.view.steps import names_of
from chainrule.view.summary import CELLS, summary
from chainrule.view.values import shown

CELLS_IN_ALL = 100_000  # of the coarse pictures of all arrays together
LONGEST = 200  # characters of a name, a formula or a line of source
VALUE_NOT_FINITE, ADJOINT_NOT_FINITE, AT_KINK = 1, 2, 4


@dataclass(frozen=True)
class Source:
    """One line of source."""

    file: str
    number: int
    text: str
    function: str


@dataclass(frozen=True)
class Model(Flows):
    """What is shown, with a column per edge of Flows; all are described at the top of this file."""

    name: str
    stage: str
    label: list[str]
    named: list[bool]
    op: list[str]
    symbol: list[str]
    gate: list[str]
    shape: list[str]
    dtype: list[str]
    call: list[str]
    line: list[int]
    count: list[int]
    value: list[str]
    number: list[Any]
    adjoint: list[str]
    slope: list[Any]
    status: list[str]
    flags: list[int]
    edge_count: list[int]
    leaves: list[int]
    outputs: list[int]
    lines: list[Source]
    arrays: dict[str, dict[int, Any]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.label)

    def to_data(self) -> dict[str, Any]:
        """As plain JSON data."""
        nodes = {name: getattr(self, name) for name in NODE_COLUMNS}
        edges = {name.removeprefix("edge_"): getattr(self, name) for name in EDGE_COLUMNS}
        return {
            "chainrule": 1,
            "name": self.name,
            "stage": self.stage,
            "nodes": {name: column_of(column) for name, column in nodes.items()},
            "edges": {name: column_of(column) for name, column in edges.items()},
            "leaves": self.leaves,
            "outputs": self.outputs,
            "lines": {
                "file": column_of([s.file for s in self.lines]),
                "number": [s.number for s in self.lines],
                "text": [s.text for s in self.lines],
                "function": column_of([s.function for s in self.lines]),
            },
            "arrays": {
                which: {str(k): v for k, v in found.items()} for which, found in self.arrays.items()
            },
        }


NODE_COLUMNS = (
    "label", "named", "op", "symbol", "gate", "shape", "dtype", "call", "line", "count", "value",
    "number", "adjoint", "slope", "status", "flags",
)  # fmt: skip
EDGE_COLUMNS = ("parent", "child", "slots", "local", "contribution", "flow", "edge_count")


def column_of(column: list[Any]) -> Any:
    """A column of strings of which many are equal is written as a list of them and indices."""
    if not column or not isinstance(column[0], str):
        return column
    of = {text: k for k, text in enumerate(dict.fromkeys(column))}
    if 2 * len(of) > len(column):
        return column
    return {"of": list(of), "at": [of[text] for text in column]}


def model_of(subject: Graph | Run, arrays: bool = True) -> Model:
    """The model of a graph, or of a run of one with its values, and adjoints where it has them.

    `arrays=False` leaves out the summaries of arrays.
    """
    graph = subject if isinstance(subject, Graph) else subject.graph
    run = None if isinstance(subject, Graph) else subject
    labels = {node: shortened(name) for node, name in names_of(graph).items()}
    line, lines = _lines(graph)
    nodes = graph.nodes
    ops = [None if n.is_leaf else n.op for n in nodes]
    own = _named(graph)
    names = {n: labels[n] for n, known in zip(nodes, own, strict=True) if known}
    with np.errstate(all="ignore"):
        flows = no_flows(graph) if run is None else flows_of(run)
        seen = _Seen(graph, run, arrays)
    gates = {op: gate_of(op) for op in set(ops) if op is not None}
    return Model(
        name=shortened(graph.name),
        stage=seen.stage,
        label=list(labels.values()) if not nodes else [labels[n] for n in nodes],
        named=own,
        op=["" if op is None else op.name for op in ops],
        symbol=["" if n.is_leaf else shortened(symbol_of(n, names)) for n in nodes],
        gate=["" if op is None else gates[op] for op in ops],
        shape=["several" if n.dtype == object else "×".join(map(str, n.shape)) for n in nodes],
        dtype=[n.dtype.name for n in nodes],
        call=["" if n.is_leaf else shortened(_call(n, labels)) for n in nodes],
        line=line,
        count=[1] * len(nodes),
        value=seen.value,
        number=seen.number,
        adjoint=seen.adjoint,
        slope=seen.slope,
        status=seen.status,
        flags=seen.flags,
        **vars(flows),
        edge_count=[1] * len(flows.parent),
        leaves=[graph.index[n] for n in (*graph.leaves, *graph.captured)],
        outputs=[graph.index[n] for n in dict.fromkeys(graph.outputs)],
        lines=lines,
        arrays=seen.arrays,
    )


def shortened(text: str, longest: int = LONGEST) -> str:
    """One line of text that is not too long; what does not print is a space."""
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _named(graph: Graph) -> list[bool]:
    outputs = set(graph.outputs) if graph.name.isidentifier() else set()
    return [n.name is not None or n in outputs or assigned_name(n) is not None for n in graph.nodes]


def _call(node: Node, labels: dict[Node, str]) -> str:
    args = [labels[a] if isinstance(a, Node) else value_text(a) for a in node.args or ()]
    return f"{node.op.name}({', '.join([*args, *attr_texts(node)])})"


def _lines(graph: Graph) -> tuple[list[int], list[Source]]:
    """Per node the index of its line, and the lines."""
    places: dict[tuple[Any, int], int] = {}  # of instructions, which a loop repeats
    known: dict[Source, int] = {}
    index = []
    for node in graph.nodes:
        place = node.code, node.lasti
        if node.is_leaf or node.code is None:
            index.append(-1)
            continue
        if place not in places:
            places[place] = known.setdefault(_source(node), len(known))
        index.append(places[place])
    return index, list(known)


def _source(node: Node) -> Source:
    line = node.line
    assert line is not None
    function = line.code.co_qualname if isinstance(line, Line) else ""
    file = os.path.basename(line.file.replace("\\", "/"))
    return Source(shortened(file), line.number, shortened(line.text), shortened(function))


class _Seen:
    """The columns that a run fills in: values, adjoints, statuses."""

    def __init__(self, graph: Graph, run: Run | None, arrays: bool):
        count = len(graph)
        self.stage = "structure" if run is None else "backward" if run.has_adjoints else "forward"
        self.value, self.adjoint, self.status = [""] * count, [""] * count, [""] * count
        self.number: list[Any] = [None] * count
        self.slope: list[Any] = [None] * count
        self.flags = [0] * count
        self.arrays: dict[str, dict[int, Any]] = {"value": {}, "adjoint": {}}
        if run is None:
            return
        many = sum(1 for n in graph.nodes if n.shape)
        self.cells = min(CELLS, CELLS_IN_ALL // max(many, 1)) if arrays else -1
        for k, node in enumerate(graph.nodes):
            self._take(k, run.value(node), "value", VALUE_NOT_FINITE)
        if run.has_adjoints:
            self._backward(run)

    def _backward(self, run: Run) -> None:
        adjoints = run.known_adjoints()
        self.status = [str(status) for status in node_statuses(run)]
        for k, node in enumerate(run.graph.nodes):
            if adjoints.get(node) is not None:
                self._take(k, run.adjoint(node), "adjoint", ADJOINT_NOT_FINITE)
                if not node.is_leaf and node.op.kinks is not None and run.kink_matters(node):
                    self.flags[k] |= AT_KINK

    def _take(self, k: int, value: Any, which: str, flag: int) -> None:
        texts, numbers = (
            (self.value, self.number) if which == "value" else (self.adjoint, self.slope)
        )
        texts[k] = shown(value)
        if type(value) is np.float64:  # what most nodes of a large graph hold
            finite = math.isfinite(value)
            numbers[k] = float(value) if finite else str(float(value))
            self.flags[k] |= 0 if finite else flag
            return
        if not isinstance(value, tuple) and np.ndim(value) == 0:
            numbers[k] = as_json(value)
        elif self.cells >= 0 and (found := summary(value, self.cells)) is not None:
            self.arrays[which][k] = found
        if not _is_finite(value):
            self.flags[k] |= flag


def _is_finite(value: Any) -> bool:
    parts: Sequence[Any] = value if isinstance(value, tuple) else (value,)
    return all(bool(np.isfinite(p).all()) for p in parts if np.asarray(p).dtype.kind in "fc")

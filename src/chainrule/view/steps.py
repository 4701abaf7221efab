"""The steps of a run as sentences: each formula with its numbers filled in.

4   a = add(x, y) = add(-2, 5) = 3                 x, y computed
7   ā = -4                                         gradient of f computed
        x̄ += ā · ∂a/∂x = -4 × 1 → -4
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from unicodedata import normalize

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.core.text import attr_texts, value_text
from chainrule.explain.steps import Addition, Step, Steps
from chainrule.view.labels import labels_of
from chainrule.view.styled import Piece, Styled
from chainrule.view.values import shown

FIRST = 200  # steps of a long run that are printed
NOTE = 56  # column of the reason
LISTED = 4  # nodes named in a reason
WRONG = {
    "early": "wrong: some of its children have not added their part yet",
    "again": "wrong: it hands on again what it has handed on before",
    "inherited": "wrong: it holds what a wrong step has added",
}
TITLES = {"forward": "values", "backward": "adjoints"}


def step_lines(steps: Steps) -> Iterator[Styled]:
    """Every line of every step, made as it is asked for."""
    yield from _lines(steps.again(), Names(steps.graph))
    yield from _summary(steps)


def first_lines(steps: Steps) -> Iterator[Styled]:
    """The lines of all steps; of a long run those of the first ones."""
    names = Names(steps.graph)
    yield from _lines(islice(steps.again(), FIRST), names)
    if steps.total > FIRST:
        more = f"… {steps.total - FIRST:,} more steps; iterate over them to see each"
        yield [("  ", ""), (more, "dim")]
    else:
        yield from _summary(steps)


def _lines(steps: Iterable[Step], names: Names) -> Iterator[Styled]:
    kind = ""
    for step in steps:
        if step.kind != kind:
            if kind:
                yield []
            yield [(f"  {TITLES[step.kind]}", "heading")]
            kind = step.kind
        yield from names.lines(step)


class Names:
    """How the nodes of one graph are called in its steps."""

    def __init__(self, graph: Graph):
        self.graph, self.labels = graph, names_of(graph)

    def lines(self, step: Step) -> Iterator[Styled]:
        """One step: what happens, why now, and what it adds to whom."""
        forward = step.kind == "forward"
        said = self._evaluation(step) if forward else self._adjoint(step)
        head = f"  {step.number:>4}   "
        used = sum(_width(text) for text, _ in said)
        yield [(head, "dim"), *said, (" " * max(NOTE - used, 3), ""), (self._reason(step), "dim")]
        for addition in step.additions:
            yield [(" " * (len(head) + 4), ""), *self.addition(addition, bool(step.wrong))]
        if step.wrong:
            yield [(" " * len(head), ""), (f"✗ {WRONG[step.wrong]}", "wrong")]

    def _evaluation(self, step: Step) -> Styled:
        node, label = step.node, self.labels[step.node]
        said: Styled = [(f"{label} = ", "")]
        if not node.is_leaf:
            said.append((f"{self._call(node, self._named)} = ", ""))
            if all(_is_scalar(p) for p in step.because) and step.because:
                said.append((f"{self._call(node, lambda p: shown(step.value_of(p)))} = ", ""))
        return [*said, (shown(step.value), "value")]

    def _named(self, node: Node) -> str:
        return self.labels[node]

    def _call(self, node: Node, of: Any) -> str:
        """`add(x, y)`, the arguments named or by their values."""
        args = [of(a) if isinstance(a, Node) else value_text(a) for a in node.args or ()]
        return f"{node.op.name}({', '.join([*args, *attr_texts(node)])})"

    def _adjoint(self, step: Step) -> Styled:
        style = "wrong" if step.wrong == "inherited" else "adjoint"
        return [(f"{barred(self.labels[step.node])} = ", ""), (shown(step.adjoint), style)]

    def addition(self, addition: Addition, wrong: bool) -> Styled:
        """ "x̄ += ā · ∂a/∂x = -4 × 1 → -4"; for arrays the contribution stands for the product."""
        parent, child = addition.parent, addition.child
        p, c = self.labels[parent], self.labels[child]
        what = f"{barred(p)} += {barred(c)} · ∂{c}/∂{p} = "
        if _is_scalar(parent) and _is_scalar(child):
            g = shown(addition.child_adjoint)
            what += f"{g} × {shown(addition.local_jacobian[0, 0])}"
            what += "" if addition.first else f" = {shown(addition.contribution)}"
        else:
            what += shown(addition.contribution)
        style = "wrong" if wrong else "adjoint"
        return [(what, ""), (" → ", "dim"), (shown(addition.after), style)]

    def _reason(self, step: Step) -> str:
        because = self._listed(step.because)
        several = len(step.because) > 1
        return {
            "given": "given",
            "captured": "captured",
            "constant": "a constant",
            "parents": f"{because} computed",
            "seed": "seed",
            "children": f"gradient{'s' * several} of {because} computed",
            "called": f"called by {because}",
            "no path": "no gradient reaches it",
        }[step.why]

    def _listed(self, nodes: tuple[Node, ...]) -> str:
        named = ", ".join(self.labels[n] for n in nodes[:LISTED])
        more = len(nodes) - LISTED
        return f"{named} and {more} more" if more > 0 else named


def _summary(steps: Steps) -> Iterator[Styled]:
    """The gradient these steps have come to, beside the right one where it is another."""
    labels = names_of(steps.graph)
    last = {s.node: s for s in steps.again() if s.kind == "backward" and s.node.is_leaf}
    right = steps.run() if any(s.wrong for s in last.values()) else None
    if last:
        yield []
        yield [("  gradient", "heading")]
    for leaf in (n for n in steps.graph.leaves if n in last):
        line: list[Piece] = [(f"         {barred(labels[leaf])} = ", "")]
        if last[leaf].wrong and right is not None:
            line += [(shown(last[leaf].adjoint), "wrong")]
            line += [(f"   wrong; in sorted order {shown(right.adjoint(leaf))}", "wrong")]
        else:
            line += [(shown(last[leaf].adjoint), "adjoint")]
        yield line


def names_of(graph: Graph) -> dict[Node, str]:
    """The labels of the nodes; vertex 3 of a formal graph is u3, as 3 = 5 would be no sentence."""
    labels = labels_of(graph).items()
    return {node: f"u{label}" if label.isdigit() else label for node, label in labels}


def barred(label: str) -> str:
    """The name of an adjoint: x̄; a longer name under a line; what is no name as adjoint(…)."""
    if not label.isidentifier():
        return f"adjoint({label})"
    if len(label) == 1:
        return normalize("NFC", f"{label}\u0304")  # one character where there is one
    return "".join(f"{letter}\u0305" for letter in label)


def _width(text: str) -> int:
    return sum(letter not in "\u0304\u0305" for letter in text)


def _is_scalar(node: Node) -> bool:
    return node.dtype != object and node.shape == ()

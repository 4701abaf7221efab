"""A run as a table: each node's value, adjoint, and the contributions the adjoint is the sum of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chainrule.diff.run import Run
from chainrule.view.model import Model, model_of
from chainrule.view.styled import Styled, plain_of
from chainrule.view.values import shown


@dataclass(frozen=True)
class Row:
    """One node as it is shown."""

    order: str
    node: str
    op: str
    parents: str
    value: str
    adjoint: str
    terms: str
    gate: str


STYLES = {"order": "dim", "value": "value", "adjoint": "adjoint", "gate": "dim"}
HEADINGS = Row(
    "order",
    "node",
    "op",
    "parents",
    "value",
    "adjoint",
    "sum of (adjoint of child × local derivative)",
    "gate",
)


def rows_of(run: Run) -> list[Row]:
    """The rows of a run on which `backward` has been called, in topological order."""
    model = model_of(run, arrays=False)
    into: list[list[int]] = [[] for _ in range(len(model))]
    out: list[list[int]] = [[] for _ in range(len(model))]
    for e, (p, c) in enumerate(zip(model.parent, model.child, strict=True)):
        into[c].append(e)
        out[p].append(e)
    return [
        Row(
            order=str(k + 1),
            node=model.label[k],
            op=model.op[k],
            parents=" ".join(model.label[model.parent[e]] for e in into[k]),
            value=model.value[k],
            adjoint=_adjoint(run, model, k),
            terms=_terms(run, model, k, out[k]),
            gate=model.gate[k],
        )
        for k in range(len(model))
    ]


def _adjoint(run: Run, model: Model, k: int) -> str:
    """The adjoint; zeros where no path leads to the output."""
    return model.adjoint[k] or shown(run.adjoint(run.graph.nodes[k]))


def _terms(run: Run, model: Model, k: int, edges: list[int]) -> str:
    """ "q: -4 × 1" per child; for arrays the shapes speak, so only the contribution is shown."""
    nodes = run.graph.nodes
    terms = ["seed"] if k in model.outputs else []
    for e in edges:
        c = model.child[e]
        said = model.label[c]
        if "several" in (model.shape[k], model.shape[c]):
            terms.append(said)
        elif nodes[k].size == 1 and nodes[c].size == 1:
            terms.append(f"{said}: {_adjoint(run, model, c)} × {model.local[e] or '0'}")
        else:
            part = model.contribution[e] or shown(run.contribution(nodes[k], nodes[c]))
            terms.append(f"{said}: {part}")
    return "  +  ".join(terms)


def table_text(run: Run) -> str:
    """The table as plain text, aligned, numbers to the right."""
    return "\n".join(plain_of(line) for line in table_lines(run))


def table_lines(run: Run) -> Iterator[Styled]:
    """The table in styled pieces, a heading first."""
    rows = [HEADINGS, *rows_of(run)]
    names = [n for n in Row.__dataclass_fields__ if n != "gate" or any(r.gate for r in rows[1:])]
    width = {n: max(len(getattr(r, n)) for r in rows) for n in names}
    for row in rows:
        line: Styled = [("  ", "")]
        for n in names:
            text, style = getattr(row, n), STYLES.get(n, "")
            text = text.rjust(width[n]) if n in ("value", "adjoint") else text.ljust(width[n])
            line += [(text, "heading" if row is HEADINGS else style), ("   ", "")]
        yield line

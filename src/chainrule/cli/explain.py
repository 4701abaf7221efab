"""`chainrule explain`: why a gradient is what it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import show, show_json, value_json

if TYPE_CHECKING:
    from chainrule.cli.subject import Subject
    from chainrule.explain.explanation import Explanation

EXAMPLE = 'chainrule explain "log(sum(exp(W @ x))) + sum(W**2)" W=[[1,2],[3,4]] x=[1,-1] --wrt W'


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser, wrt=False)
    parser.add_argument(
        "--wrt", metavar="name[,name]", help="explain the gradient by these; all unless given"
    )
    parser.add_argument("--top", type=int, default=10, help="so many paths are listed (10)")
    parser.add_argument("--entry", metavar="i[,j]", help="one entry of an array, as in --entry 1,3")


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.mistake import InputError
    from chainrule.cli.nodes import scalar_run
    from chainrule.cli.subject import subject_of

    wrt, options.wrt = options.wrt, None  # the others are not held fixed
    if options.top < 0:
        raise InputError(f"--top {options.top}: how many paths to list, 0 or more")
    with subject_of(options) as subject:
        every = list(_explanations(subject, wrt, options.top, _entry(options.entry)))
        value = scalar_run(subject).outputs
        if options.json:
            explained = {name: _document(e) for name, e in every}
            value = value_json(value)
            show_json({"function": subject.shown, "value": value, "explanations": explained})
        else:
            show(options, _lines(every))
    return 0


def _entry(typed: str | None) -> tuple[int, ...] | None:
    from chainrule.cli.mistake import InputError

    if typed is None:
        return None
    try:
        return tuple(int(word) for word in typed.strip().strip("[]()").split(","))
    except ValueError:
        raise InputError(f"--entry {typed}: write whole numbers, as in 1,3") from None


def _explanations(
    subject: Subject, wrt: str | None, top: int, entry: tuple[int, ...] | None
) -> Iterator[tuple[str, Explanation]]:
    """One per leaf: all of them, or those of the arguments that were named."""
    from chainrule.cli.mistake import InputError
    from chainrule.cli.nodes import scalar_run
    from chainrule.explain.explanation import explain

    run = scalar_run(subject)
    leaves = [str(leaf.name) for leaf in run.graph.leaves]
    wanted = leaves if wrt is None else list(dict.fromkeys(wrt.replace(" ", "").split(",")))
    for name in wanted:
        inside = [n for n in leaves if n == name or n.startswith((f"{name}[", f"{name}."))]
        if not inside:
            known = ", ".join(leaves) or "none"
            raise InputError(f"--wrt {name}: no such argument; there are {known}")
        for leaf in inside:
            yield leaf, explain(run, wrt=leaf, top=top, entry=entry)


def _lines(every: list[tuple[str, Any]]) -> Iterator[Any]:
    from chainrule.view.explanation import explanation_lines

    for _, explanation in every:
        yield []
        yield from explanation_lines(explanation)
    yield []


def _document(explanation: Explanation) -> dict[str, Any]:
    from chainrule.view.labels import labels_of

    labels = labels_of(explanation.graph)
    count = explanation.path_count
    return {
        "total": value_json(explanation.total),
        "explained": value_json(explanation.value),
        "path_count": count if count < 2**53 else str(count),
        "exact": explanation.exact,
        "paths": [
            {
                "nodes": [labels[n] for n in path.nodes],
                "product": value_json(path.product),
                "share": value_json(path.share),
            }
            for path in explanation.paths
        ],
        "lines": [
            {
                "line": part.line.shown() if part.line else None,
                "op": part.op,
                "amount": value_json(part.amount),
                "share": value_json(part.share),
            }
            for part in explanation.contributions.lines
        ],
        "status": {name: str(status) for name, status in explanation.status.items()},
        "cuts": [
            {"parent": labels[c.parent], "child": labels[c.child], "why": c.why}
            for c in explanation.cuts
        ],
        "kinks": [{"node": labels[k.node], "lanes": k.lanes} for k in explanation.kinks],
    }

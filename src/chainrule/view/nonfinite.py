"""A NaN or an infinity as it is shown: where it was created, where it turned, who carried it."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from chainrule.core.node import Line, Node
from chainrule.explain.blame import Event, kind_of
from chainrule.explain.lanes import Operand
from chainrule.explain.nonfinite import NonFinite, NonFiniteResult, input_name
from chainrule.view.labels import assigned_name, operand_source
from chainrule.view.styled import Styled
from chainrule.view.values import lane_text, shown

MAX_SHOWN = 3  # places of origin, and turns, that are shown in full
CHAIN = 6  # carriers that are named
CODE = 44  # characters of source
WIDTH = 100
ROW = 125  # characters beyond which what happened stands on a line of its own
WORDS = {"input": "given", "constant": "given", "seed": "given", "creator": "created",
         "unknown": "unclear"}  # fmt: skip


def nonfinite_lines(report: NonFinite) -> list[Styled]:
    """The report line by line: results, origins, turns, carriers, cure."""
    if not report:
        return [[(_all_finite(report), "")]]
    lines: list[Styled] = [[(text, "heading")] for text in _headings(report)]
    lines += _table(_rows(report))
    lines += [[("  carried   ", "dim"), (text, "")] for text in _chains(report)]
    lines += [[(text, "")] for text in _cures(report)]
    if any(e.role == "unknown" or any(o.value is None for o in e.operands) for e in report.origins):
        lines.append([("  what shows as ? was recorded outside cr.debug() and not kept.", "dim")])
    return lines


def _all_finite(report: NonFinite) -> str:
    text = f"{report.name}: the value and every gradient are finite."
    if report.harmless:
        one = len(report.harmless) == 1
        what = "1 value in between is" if one else f"{len(report.harmless)} values in between are"
        text += f" {what} not, and no result depends on it."
    return text


# -- results ---------------------------------------------------------------------------------------


def _headings(report: NonFinite) -> list[str]:
    if report.stopped is not None:
        said = str(report.stopped).partition("\n")[0]
        return [f"`{report.name}` stops, given numbers that are not finite: {said}"]
    values = [r for r in report.results if r.what == "value"]
    gradients = [r for r in report.results if r.what == "gradient"]
    tangents = [r for r in report.results if r.what == "tangent"]
    found = [f"the value of {_output(report)} is {_amount(r)}." for r in values[:MAX_SHOWN]]
    found += [f"the tangent of {_output(report)} is {_amount(r)}." for r in tangents[:MAX_SHOWN]]
    found += [
        f"the gradient of {_output(report)} with respect to {_input(r)} is {_amount(r)}."
        for r in gradients[:MAX_SHOWN]
    ]
    left = len(values[MAX_SHOWN:]) + len(gradients[MAX_SHOWN:])
    return [*found, f"… and {left} more."] if left else found


def _output(report: NonFinite) -> str:
    if report.name or not report.outputs:
        return f"`{report.name}`"
    return f"`{_label(report.outputs[0], {})}`"


def _input(result: NonFiniteResult) -> str:
    return f"`{result.name}`" if result.name else "a leaf without a name"


def _amount(result: NonFiniteResult) -> str:
    if result.size == 1:
        return result.kind
    if result.count == result.size:
        return f"{result.kind} in every lane"
    return (
        f"{result.kind} in {result.count} of {result.size} lanes, first {lane_text(result.index)}"
    )


# -- origins and turns -----------------------------------------------------------------------------

Cells = tuple[str, str, str, str]
Names = Mapping[Node, str]


def _rows(report: NonFinite) -> list[Cells]:
    groups = _grouped(report.origins)
    rows = [_origin(group, report.names) for group in groups[:MAX_SHOWN]]
    if len(groups) > MAX_SHOWN:
        left = len(groups) - MAX_SHOWN
        places = f"{left} more place{'s' if left > 1 else ''}"
        rows.append(("created", places, "", ""))
    turns = [e for e in report.carriers if e.how]
    met = list(dict.fromkeys(_turn(e) for e in turns))
    return rows + met[:MAX_SHOWN]


def _grouped(events: Sequence[Event]) -> list[list[Event]]:
    """Events of one op on one line together: a loop, or both passes through one node."""
    found: dict[Any, list[Event]] = {}
    for event in events:
        node = event.node
        op = None if node.rule is None else node.op.name
        same = (node if node.code is None else (node.code, node.lasti), op, WORDS[event.role])
        found.setdefault(same, []).append(event)
    return list(found.values())


def _origin(group: list[Event], names: Names) -> Cells:
    event = group[0]
    back = next((e for e in group if e.when == "backward" and e.node is event.node), None)
    again = len({e.node for e in group})
    text = _given(event, names) if WORDS[event.role] == "given" else _created(event, back, names)
    if again > 1:
        text += f"   (and {again - 1} more times)"
    return WORDS[event.role], *_where(event), text


def _given(event: Event, names: Names) -> str:
    if event.role == "constant":
        name = _operand_name(event.operands[0], event.node, names)
        return f"the constant {name}{lane_text(event.index)} = {event.kind}"
    name = "the seed" if event.role == "seed" else f"the input {_label(event.node, names)}"
    return f"{name}{lane_text(event.index)} = {event.kind}"


def _created(event: Event, back: Event | None, names: Names) -> str:
    """ "density[17] = 0: value -inf, local derivative inf"."""
    if event.how == "sum":
        name = _label(event.node, names)
        return f"the contributions to the adjoint of {name} add up to {event.kind}"
    if event.role == "unknown":
        return f"{event.node.op.name} of ? gives {event.kind}"
    parts = []
    if event.when == "tangent":
        parts.append(f"the tangent of {event.node.op.name} is {event.kind}")
    if event.when == "forward":
        parts.append(f"{event.node.op.name} gives {event.kind}{_because(event)}")
    if back is not None:
        parts.append(_product(back))
    read = ", ".join(
        _operand(o, place, event.node, names)
        for o, place in zip(event.operands, event.places, strict=True)
    )
    return f"{read}: {'; '.join(parts)}" if read else "; ".join(parts)


def _because(event: Event) -> str:
    return f" ({event.how})" if event.how else ""


def _product(event: Event) -> str:
    """The local derivative, and what it made of the upstream adjoint."""
    if event.local is None:
        return f"its derivative gives {event.kind}{_because(event)}"
    text = f"local derivative {shown(event.local)}"
    if np.isfinite(event.local) or event.kind.strip("-") != kind_of(event.local).strip("-"):
        text = (
            f"upstream adjoint {shown(event.adjoint)} × {text} = {event.kind}"
            if event.adjoint is not None
            else text
        )
    return text


def _turn(event: Event) -> Cells:
    if event.when == "backward":
        return "met", *_where(event), _product(event)
    return "met", *_where(event), f"{event.how} = {event.kind}"


def _where(event: Event) -> tuple[str, str]:
    line = event.line
    if line is None:
        return ("", event.node.op.name if event.node.rule is not None else "")
    code = line.text or ""
    if len(code) > CODE:
        code = _expression(event.node) or code
    return str(line), code if len(code) <= CODE else code[: CODE - 1] + "…"


def _table(rows: list[Cells]) -> list[Styled]:
    where = max((len(r[1]) for r in rows), default=0)
    code = max((len(r[2]) for r in rows), default=0)
    styles = {"created": "wrong", "given": "wrong", "unclear": "wrong", "met": "adjoint"}
    longest = max((len(r[3]) for r in rows), default=0)
    below = 18 + where + code + longest > ROW
    lines: list[Styled] = []
    for word, place, text, what in rows:
        first = [("  ", ""), (word.ljust(10), styles[word]), (place.ljust(where) + "   ", "dim")]
        if below:
            lines += [[*first, (text, "")], [(" " * 12 + what, "")]]
        else:
            lines.append([*first, (text.ljust(code) + "   ", ""), (what, "")])
    return lines


# -- names -----------------------------------------------------------------------------------------


def _operand(operand: Operand, place: tuple[int, ...] | None, node: Node, names: Names) -> str:
    name = _operand_name(operand, node, names)
    if operand.value is None:
        return f"{name} = ?"
    if isinstance(operand.value, tuple) or (np.ndim(operand.value) and place is None):
        return f"{name} of {_summary(operand.value)}"
    return f"{name}{lane_text(place)} = {shown(operand.value)}"


def _operand_name(operand: Operand, node: Node, names: Names) -> str:
    """The user's own name or expression for an operand; else the op's name for it."""
    if operand.node is None:
        return _constant_name(operand, node)
    name = names.get(operand.node) or operand.node.name or assigned_name(operand.node)
    if name is None:
        inner, outer = _expression(operand.node), _expression(node)
        name = f"({inner})" if inner and inner != outer and " " in inner else inner
        name = None if inner == outer else name
    return str(name or operand.name)


def _constant_name(operand: Operand, node: Node) -> str:
    """The user's expression for a constant; of a bare number, or where it is not clear, the op's
    name for it."""
    inputs = node.op.inputs
    names = [input_name(node, i) for i in range(len(node.args or inputs))]
    part = operand_source(_expression(node), len(names), names.index(operand.name))
    if part is None:
        return operand.name
    return f"({part})" if " " in part and not part.endswith(")") else part


def _summary(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} results"
    array = np.asarray(value)
    if array.size <= 4 or array.dtype.kind not in "fc":
        return shown(array) if array.size <= 4 else f"shape {array.shape}"
    sizes = np.abs(array[np.isfinite(array)])
    bounds = f", sizes {sizes.min():.4g} to {sizes.max():.4g}" if sizes.size else ""
    return f"shape {array.shape}{bounds}"


def _expression(node: Node) -> str:
    """The user's source text that recorded this node, if it stands on one line."""
    line = node.line
    if not isinstance(line, Line) or node.is_leaf:
        return ""
    first, last, start, end = line.positions
    if first is None or first != last or start is None or end is None:
        return ""
    return linecache.getline(line.file, first).encode()[start:end].decode(errors="replace")


def _label(node: Node, names: Names) -> str:
    name = names.get(node) or node.name or assigned_name(node)
    return str(name or (node.op.name if node.rule else "a leaf"))


# -- carriers and cures ----------------------------------------------------------------------------


def _chains(report: NonFinite) -> list[str]:
    forward = [e for e in report.carriers if e.when != "backward"]
    backward = [e for e in report.carriers if e.when == "backward"]
    found = []
    if forward:
        last = forward[-1].line
        where = f" ({last})" if last is not None else ""
        found.append(_chain(forward) + where)
    if backward:
        found.append("back through " + _chain(backward))
    return found


def _chain(events: Sequence[Event]) -> str:
    names = [e.node.op.name for e in events]
    names = [n for i, n in enumerate(names) if i == 0 or n != names[i - 1]]
    if len(names) > CHAIN:
        left = len(names) - CHAIN + 1
        names = [*names[: CHAIN - 2], f"… {left} more …", names[-1]]
    return " → ".join(names)


def _cures(report: NonFinite) -> list[str]:
    found = []
    for cure in report.cures[:MAX_SHOWN]:
        found += wrap(f"usual cure: {cure}.", WIDTH, initial_indent="  ", subsequent_indent="    ",
                      break_long_words=False)  # fmt: skip
    return found

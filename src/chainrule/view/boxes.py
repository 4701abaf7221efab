"""How large each node of a picture is, and what stands where in it.

     ×1 ╭───╮  q  3          the local derivatives, a gate, and the wire that leaves it: above
    ────│ + │────────────    it the name and the value, below it the adjoint
     ×1 ╰───╯  ◂ -4

An array has a table of squares above its wire, one per entry or block of entries: the larger the
square, the larger the number, and a hollow one is negative.  That of the adjoint is of circles.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.explain.numbers import norm_of
from chainrule.view.model import AT_KINK, Model, shortened
from chainrule.view.summary import as_table, blocks, heat_levels

SIZE = 12.0  # of letters, in pixels
LETTER = 0.602 * SIZE  # the width of each: the typeface is monospaced
SMALL_LETTER = 0.602 * 10.0
GATE = 13.0  # half the height of a gate
SMALLEST_CELL, LARGEST_CELL = 5.0, 8.0
HEAT_ROOM = 40.0  # pixels of a table whose cells are large
ROW = 15.0  # the height of a line of text
LONGEST_NAME, LONGEST_GATE, LONGEST_GROUP, LONGEST_VALUE = 22, 16, 28, 26
IN_WORDS, LONGEST_WORDS = 3, 20  # entries and characters of an array that is written out
HEAT_ROWS, HEAT_COLUMNS = 12, 16


@dataclass(frozen=True)
class Heat:
    """A table of numbers, row by row: -1 … 1, or None where one is not finite."""

    rows: int
    columns: int
    levels: list[float | None]

    @property
    def cell(self) -> float:
        """The size of an entry, in pixels: where they are few, they are larger."""
        room = HEAT_ROOM // max(self.rows, self.columns / 2, 1)
        return min(LARGEST_CELL, max(SMALLEST_CELL, room))


@dataclass(frozen=True)
class Box:
    """One node: the text of its gate ("" for a leaf), name, value, adjoint, and its measures.

    `lead` is the room for local derivatives, left of the gate.
    """

    lead: float
    gate: str
    gate_width: float
    name: str
    value: str
    adjoint: str
    heat: Heat | None
    slope_heat: Heat | None
    width: float
    above: float
    below: float


def width_of(text: str, letter: float = LETTER) -> float:
    """The width of a text in the monospaced typeface."""
    return letter * sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def boxes_of(model: Model) -> list[Box]:
    """The box of every node."""
    lead = [0.0] * len(model)
    for child, local in zip(model.child, model.local, strict=True):
        text = local_text(local)
        if text:
            lead[child] = max(lead[child], width_of(text, SMALL_LETTER) + 6)
    return [_box(model, k, lead[k]) for k in range(len(model))]


def local_text(local: str) -> str:
    """A local derivative as it stands on a wire: a number in four digits; "" for a matrix."""
    try:
        return f"×{float(local):.4g}" if local else ""
    except ValueError:
        return ""


def _box(model: Model, k: int, lead: float) -> Box:
    longest = LONGEST_GATE if model.count[k] == 1 else LONGEST_GROUP
    gate = "" if not model.op[k] else shortened(model.symbol[k], longest)
    gate_width = max(2 * GATE, width_of(gate) + 14) if gate else 0.0
    name = shortened(model.label[k], LONGEST_NAME) if model.named[k] else ""
    if model.count[k] > 1:
        name = f"{model.count[k]:,} nodes" if gate else f"{name} ({model.count[k]:,} leaves)"
    heat, slope = (heat_of(model.arrays[which].get(k)) for which in ("value", "adjoint"))
    value = _value_text(model, k, heat)
    adjoint = _adjoint_text(model, k, slope)
    head = width_of(name) + width_of(value) + (LETTER if name and value else 0)
    below_text = width_of(adjoint) + (LETTER * 1.6 if adjoint else 0)
    text = max(head, below_text, *(h.columns * h.cell for h in (heat, slope) if h), 0.0)
    return Box(
        lead,
        gate,
        gate_width,
        name,
        value,
        adjoint,
        heat,
        slope,
        lead + gate_width + max(text + 14, 20.0),
        max(ROW * bool(head) + _heat_height(heat) + 4, GATE * bool(gate)),
        max(ROW * bool(adjoint) + _heat_height(slope) + 4, GATE * bool(gate)),
    )


def _heat_height(heat: Heat | None) -> float:
    return heat.rows * heat.cell + 5 if heat else 0.0


def _value_text(model: Model, k: int, heat: Heat | None) -> str:
    if heat or not model.value[k]:
        return model.shape[k]
    return _number_text(model.value[k], model.arrays["value"].get(k))


def _adjoint_text(model: Model, k: int, heat: Heat | None) -> str:
    if model.stage != "backward":
        return ""
    status = model.status[k]
    if not model.adjoint[k]:
        return "no gradient" if status == "integer" else status
    summary = model.arrays["adjoint"].get(k)
    if heat and summary:
        return f"norm {_norm(summary):.3g}"
    text = _number_text(model.adjoint[k], summary)
    notes = ["structural"] * (status == "structural zero") + ["kink"] * bool(
        model.flags[k] & AT_KINK
    )
    return " ".join([text, *notes])


def _number_text(text: str, summary: dict[str, Any] | None) -> str:
    """A number as it is, a few of them to three digits."""
    return shortened(text if summary is None else _in_words(summary), LONGEST_VALUE)


def _in_words(summary: dict[str, Any]) -> str:
    """A few numbers written out, or "" where they are too many or too long."""
    if math.prod(summary["shape"]) > IN_WORDS:
        return ""
    text = f"[{' '.join(f'{_real(v) + 0.0:.3g}' for v in summary['data'])}]"  # + 0.0: no "-0"
    return text if len(text) <= LONGEST_WORDS else ""


def _norm(summary: dict[str, Any]) -> float:
    if "norm" in summary:
        return float(summary["norm"])
    return float(norm_of(np.array([_real(v) for v in summary["data"]])))


def heat_of(summary: dict[str, Any] | None) -> Heat | None:
    """The picture of an array with more entries than are written out."""
    if summary is None or _in_words(summary):
        return None
    if "heat" in summary:
        found = summary["heat"]
        flat = np.array([np.nan if v is None else v - 128.0 for v in found["data"]])
        table = flat.reshape(found["rows"], found["columns"])
    elif "data" in summary:
        table = as_table(np.reshape([_real(v) for v in summary["data"]], summary["shape"]))
    else:
        return None
    rows, columns = table.shape
    table = blocks(table, min(rows, HEAT_ROWS), min(columns, HEAT_COLUMNS))
    levels = [None if v is None else (v - 128) / 127 for v in heat_levels(table)]
    return Heat(*table.shape, levels)


def _real(number: Any) -> float:
    """One number of a summary; of a complex one the size."""
    if isinstance(number, dict):
        return math.hypot(float(number["re"]), float(number["im"]))
    return float(number)

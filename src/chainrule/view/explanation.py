"""An explanation as a person reads it: what the gradient is made of, and by which paths.

∂J/∂W   shape (3, 4)   norm 0.9311
  through  z = W @ x + b     model.py:12   norm 1.014
  through  r = np.sum(W**2)  model.py:15   norm 0.2289   they partly cancel
2 paths
  J ←-1— nll ←×0.4055— z ←×2.5— W          norm 1.014    106.2%
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.explain.contributions import Contribution
from chainrule.explain.depth import Change
from chainrule.explain.explanation import Explanation
from chainrule.explain.paths import Path
from chainrule.explain.size import norm
from chainrule.view.labels import assigned_name
from chainrule.view.styled import Piece, Styled

LINES = 8  # contributions, gains, statuses, cuts and kinks listed; the rest is counted
STATIONS = 9  # nodes shown of one path
MAX_NODES_BY_ENTRY = 2_000  # beyond it the largest entry of an array is not explained by itself
PULLS = 256  # entries of the arrays along a path up to which its Jacobians are written out


def explanation_lines(explanation: Explanation) -> Iterator[Styled]:
    """Every line, in styled pieces."""
    names = _Names(explanation)
    yield _heading(explanation, names)
    yield from _contributions(explanation)
    yield from _paths(explanation, names)
    entry = _largest_entry(explanation)
    if entry is not None:
        at = explanation.at(*entry)
        yield [(f"entry {list(entry)} = ", ""), (number(at.value), "adjoint")]
        yield from _paths(at, _Names(at))
    yield from _gains(explanation)
    yield from _changes(explanation, names)
    yield from _statuses(explanation)
    yield from _cuts(explanation, names)
    yield from _kinks(explanation, names)


def number(value: Any) -> str:
    """A number to four digits; an array by its norm."""
    if np.ndim(value):
        return f"norm {norm(value):.4g}"
    return f"{value:.4g}"


def counted(count: int) -> str:
    """A whole number in full, or by its power of ten where it has more than fifteen digits."""
    if count < 10**15:
        return f"{count:,}"
    power = math.log10(count)
    return f"{10 ** (power % 1):.2f}·10^{math.floor(power)}"


def percent(share: float) -> str:
    """A share; as a multiple from ten on, nothing where there is no total to have a share of."""
    if share != share:
        return ""
    return f"{share:.1%}" if abs(share) < 10 else f"×{share:.3g}"


class _Names:
    """How nodes are called: their own name, the variable they were assigned to, else their op."""

    def __init__(self, explanation: Explanation):
        graph = explanation.graph
        self.known: dict[Any, str | None] = {}  # by place in the code: a loop asks a million times
        self.outputs = set(graph.outputs)
        self.title = graph.name if graph.name.isidentifier() else None

    def own(self, node: Node) -> str | None:
        """The name the user gave, if there is one."""
        if node.name is not None:
            return str(node.name)
        if node in self.outputs and self.title is not None:
            return self.title
        key = node.code, node.lasti
        if key not in self.known:
            self.known[key] = assigned_name(node)
        return self.known[key]

    def of(self, node: Node) -> str:
        return self.own(node) or ("output" if node in self.outputs else node.op.name)


def _heading(explanation: Explanation, names: _Names) -> Styled:
    outputs = explanation.graph.outputs
    of = names.of(outputs[0]) if len(outputs) == 1 else "outputs"
    line: list[Piece] = [(f"∂{of}/∂{names.of(explanation.wrt)}", "heading")]
    total, entry = explanation.total, explanation.entry
    if np.ndim(total):
        line.append((f"   shape {np.shape(total)}   ", "dim"))
        line.append((f"norm {norm(total):.4g}", "adjoint"))
    else:
        line += [(" = ", ""), (f"{total:.6g}", "adjoint")]
    if entry:
        line += [(f"   entry {list(entry)} = ", ""), (number(explanation.value), "adjoint")]
    elif explanation.along is not None:
        line += [("   along the direction ", ""), (number(explanation.value), "adjoint")]
    status = explanation.status.get(str(explanation.wrt.name), "value")
    if status != "value":
        line.append((f"   {status}", "wrong" if status == "no path" else "dim"))
    return line


def _contributions(explanation: Explanation) -> Iterator[Styled]:
    """One row per line of code that uses the input."""
    parts = explanation.contributions.lines
    shown = parts[:LINES]
    rows = [
        [
            (f"through  {_source(part)}", ""),
            (_place(part.children[0]), "dim"),
            (_amount(part, _is_whole(explanation)), "adjoint"),
            (percent(part.share), "dim"),
            (f"{len(part.children)} uses" if len(part.children) > 1 else "", "dim"),
        ]
        for part in shown
    ]
    yield from _aligned(rows)
    if len(parts) > len(shown):
        yield [(f"  … and {len(parts) - len(shown)} more lines", "dim")]
    if len(parts) > 1 and _cancel(explanation, parts):
        yield [("  (they partly cancel)", "dim")]


def _cancel(explanation: Explanation, parts: Sequence[Contribution]) -> bool:
    """Whether parts of opposite signs meet in one entry: norms of disjoint parts add up to more
    than that of the whole without any of them being lost."""
    if sum(p.norm for p in parts) <= 1.05 * norm(explanation.value):
        return False
    whole = _is_whole(explanation)
    with np.errstate(all="ignore"):
        sizes = [np.abs(p.value if whole else p.amount) for p in parts]
        return norm(sum(sizes[1:], start=sizes[0])) > 1.05 * norm(explanation.value)


def _amount(part: Contribution, whole: bool) -> str:
    return f"norm {part.amount:.4g}" if whole else number(part.amount)


def _source(part: Contribution) -> str:
    """The user's line, or where that is not known the op."""
    text = part.line.text if part.line else ""
    return text if text else f"{part.op}(…)"


def _place(node: Node) -> str:
    return str(node.line) if node.line else ""


def _aligned(rows: list[list[Piece]]) -> Iterator[Styled]:
    """Rows of columns, numbers to the right."""
    if not rows:
        return
    width = [max(len(row[i][0]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line: Styled = [("  ", "")]
        for (text, style), w in zip(row, width, strict=True):
            right = style == "adjoint" or text.endswith("%") or text.startswith("×")
            line.append((f"{text:>{w}}   " if right else f"{text:<{w}}   ", style))
        yield line


# -- paths ---------------------------------------------------------------------------------------


def _paths(explanation: Explanation, names: _Names) -> Iterator[Styled]:
    paths, count = explanation.paths, explanation.path_count
    if not count:
        return
    several = "path" if count == 1 else "paths"
    few = "" if len(paths) == 1 else f"{len(paths)} "
    how = ", all shown" if len(paths) == count else f", the {few}heaviest"
    if not explanation.exact and paths:
        how += " of those tried"
    yield [(f"{counted(count)} {several}{how if count > 1 else ''}", "heading")]
    whole = _is_whole(explanation)
    rows: list[list[Piece]] = []
    for path, route in zip(paths, _routes(paths, names, whole), strict=True):
        rows.append(
            [
                (route, ""),
                (number(path.product), "adjoint"),
                (percent(path.share), "dim"),
                (_covered(path) if count > 1 else "", "dim"),
            ]
        )
    left = count - len(paths)
    if left and paths:
        rest = explanation.rest
        share = percent(1.0 - paths[-1].covered)
        others = "path" if left == 1 else counted(left)
        rows.append([(f"the other {others}", "dim"), (number(rest), "adjoint")])
        rows[-1] += [(share, "dim"), ("", "dim")]
    yield from _aligned(rows)
    if not whole and not all(map(_is_small, paths)):
        yield [(f"  (×: ratios of norms; of more than {PULLS} entries along a path", "dim")]
        yield [("  the derivatives are not written out one by one)", "dim")]


def _covered(path: Path) -> str:
    return f"covered {percent(path.covered)}" if percent(path.covered) else ""


def _is_whole(explanation: Explanation) -> bool:
    """Whether an array is explained as a whole, so that sizes stand for factors."""
    return explanation.entry is None and explanation.along is None


def _routes(paths: Sequence[Path], names: _Names, whole: bool) -> list[str]:
    """Each path as text: by the user's variables, or where that does not tell them apart by ops."""
    short = [_route(path, names, whole, named_only=True) for path in paths]
    if len({tuple(_bare(s)) for s in short}) == len(short):
        return ["".join(s) for s in short]
    return ["".join(_route(path, names, whole, named_only=False)) for path in paths]


def _bare(route: list[str]) -> list[str]:
    return route[::2]


def _route(path: Path, names: _Names, whole: bool, named_only: bool) -> list[str]:
    """Names and arrows in turn, output first: `J`, ` ←0.1— `, `r`, …"""
    stations = [
        i
        for i, node in enumerate(path.nodes)
        if i in (0, len(path.nodes) - 1) or not named_only or names.own(node) is not None
    ]
    exact = not whole and _is_small(path)
    entries = path.entries if exact else (None,) * len(path.nodes)
    stations.reverse()
    pieces = []
    cut = len(stations) - STATIONS if len(stations) > STATIONS else 0
    for k, i in enumerate(stations):
        if cut and STATIONS // 2 <= k < STATIONS // 2 + cut:
            if k == STATIONS // 2:
                pieces += [" ← ", f"… {cut:,} more …"]
            continue
        if k:
            skipped = cut and k == STATIONS // 2 + cut
            pieces.append(" ← " if skipped else _arrow(path, i, stations[k - 1], exact))
        entry = entries[i]
        pieces.append(f"{names.of(path.nodes[i])}{list(entry) if entry else ''}")
    return pieces


def _is_small(path: Path) -> bool:
    """Whether writing out the Jacobians along this path takes no time."""
    if path._flow.scalar:
        return path._measure.linear
    sizes = (1 if node.dtype == object else node.size for node in path.nodes[1:])
    return sum(sizes) <= PULLS and path.nodes[0].size <= PULLS**2


def _arrow(path: Path, parent: int, child: int, exact: bool) -> str:
    """` ←0.318— ` with the derivative of one station with respect to the next, or ` ←×0.4— `."""
    if exact:
        product: Any = 1.0
        for factor in path.factors[parent:child]:
            product = np.dot(factor, product)
        if np.size(product) == 1:
            return f" ←{number(np.reshape(product, -1)[0])}— "
    below, above = path.magnitudes[parent], path.magnitudes[child]
    return f" ←×{below / above:.4g}— " if above else " ← "


def _largest_entry(explanation: Explanation) -> tuple[int, ...] | None:
    """Of an array as a whole, the entry to look at next."""
    total = np.asarray(explanation.total)
    big = total.size < 2 or len(explanation.graph) > MAX_NODES_BY_ENTRY
    if not _is_whole(explanation) or big or not explanation.paths:
        return None
    sizes = np.abs(total)
    if not np.nanmax(np.where(np.isnan(sizes), np.inf, sizes)) > 0:
        return None
    at = np.argmax(np.where(np.isnan(sizes), np.inf, sizes))
    return tuple(int(i) for i in np.unravel_index(at, total.shape))


# -- what else there is to know ------------------------------------------------------------------


def _gains(explanation: Explanation) -> Iterator[Styled]:
    """The lines that multiply the gradient most and least, where any does so tenfold."""
    gains = [g for g in explanation.gains if g.factor == g.factor]
    strong = [g for g in gains if g.factor >= 10.0 or 0.0 < g.factor <= 0.1]
    if not strong or len(gains) < 2 or not norm(explanation.value):
        return
    yield [("along the heaviest path, line by line", "heading")]
    rows: list[list[Piece]] = [
        [
            (f"×{gain.factor:.4g}", "adjoint"),
            (gain.line.text if gain.line else gain.nodes[0].op.name, ""),
            (_place(gain.nodes[0]), "dim"),
        ]
        for gain in gains[:LINES]
    ]
    yield from _aligned(rows)


def _changes(explanation: Explanation, names: _Names) -> Iterator[Styled]:
    depth = explanation.depth
    for what, change in (("vanishes", depth.vanishing), ("explodes", depth.exploding)):
        if change is not None and norm(explanation.total):
            yield [(f"it {what}: ", "wrong"), *_change(change, names)]


def _change(change: Change, names: _Names) -> Styled:
    where = f" ({_place(change.start)})" if change.start.line else ""
    per = f", ×{change.rate:.3g} a level" if 0 < change.rate < math.inf else ""
    line: Styled = [
        (f"from {names.of(change.start)}{where} back to {names.of(change.end)} it is ", ""),
        (f"×{change.factor:.3g}", "adjoint"),
        (f" over {change.levels:,} level{'s' * (change.levels > 1)}{per}", ""),
    ]
    step = change.steepest
    return [*line, (f"; steepest at {names.of(step.node)}: ×{step.ratio:.3g}", "dim")]


def _statuses(explanation: Explanation) -> Iterator[Styled]:
    """The inputs whose gradient is not an ordinary value."""
    odd = {name: s for name, s in explanation.status.items() if s != "value"}
    for name, status in list(odd.items())[:LINES]:
        why = f": {status.cut.why}" if status.cut else ""
        where = f"   {status.line.shown()}" if status.line else ""
        yield [(f"{name}  ", ""), (str(status), "wrong"), (f"{why}{where}", "dim")]
    if len(odd) > LINES:
        yield [(f"… and {len(odd) - LINES:,} more inputs without a value", "dim")]


def _cuts(explanation: Explanation, names: _Names) -> Iterator[Styled]:
    own = explanation.status.get(str(explanation.wrt.name))
    known = own.cut if own is not None else None
    cuts = [
        cut
        for cut in explanation.cuts
        if known is None or (cut.parent, cut.child) != (known.parent, known.child)
    ]
    for cut in cuts[:LINES]:
        where = f"   {cut.line.shown()}" if cut.line else ""
        yield [
            (f"nothing flows to {names.of(cut.parent)} here: ", ""),
            (f"{cut.why}{where}", "dim"),
        ]
    if len(cuts) > LINES:
        yield [(f"… and {len(cuts) - LINES:,} more such edges", "dim")]


def _kinks(explanation: Explanation, names: _Names) -> Iterator[Styled]:
    for kink in explanation.kinks[:LINES]:
        lanes = f" in {kink.lanes:,} lanes" if kink.lanes > 1 else ""
        where = f"   {kink.line.shown()}" if kink.line else ""
        yield [(f"at a kink{lanes}: {names.of(kink.node)}", ""), (where, "dim")]
    if len(explanation.kinks) > LINES:
        yield [(f"… and {len(explanation.kinks) - LINES:,} more nodes at a kink", "dim")]

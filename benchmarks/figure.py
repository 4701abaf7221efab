"""One picture of the newest results: ours, the peers and the limit, as bars on a logarithmic axis.

    python -m benchmarks.figure [--results benchmarks/results] [--out docs/assets/benchmarks.svg]

Each group is one case. Its bars are times divided by that of the fastest peer, so that groups of
microseconds and of seconds share one axis; the time itself stands beside the bar.
"""

import argparse
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

from benchmarks import peers, report
from benchmarks.case import FASTEST, Cell, Table
from benchmarks.harness import LIMIT

# Workload and case of each group, in the order of the picture; those without results are left out.
HEADLINES = (
    ("gmm", "d=10, K=25, n=1,000", "Gaussian mixture, 10 dimensions, 25 components"),
    ("gmm", "d=64, K=100, n=1,000", "Gaussian mixture, 64 dimensions, 100 components"),
    ("training_steps", "MLP 784-256-10, batch 32", "Training step, MLP 784-256-10, batch 32"),
    (
        "training_steps",
        "MLP 784-1024-1024-10, batch 1024",
        "Training step, MLP 784-1024-1024-10, batch 1024",
    ),
    ("compiled_small_arrays", "mixed 16×16, 256", "20 operations on 256 elements"),
    ("compiled_scalar_graphs", "random graph of 100,000", "Random scalar graph, 100,000 nodes"),
    ("bandwidth", "log-sum-exp, n=1,280,000", "log-sum-exp of 1,280,000 numbers"),
    (
        "bandwidth",
        "logistic Hessian·vector, n=10,000, d=1000",
        "Logistic regression, Hessian-vector product",
    ),
    ("networks", "CNN, batch 32", "Convolutional network, batch 32"),
    ("networks", "attention block, batch 32", "Attention block, batch 32"),
    ("compile_latency", "layers, 1,000 ops", "Compiling 1,000 operations"),
)

WIDTH, LEFT, RIGHT = 820, 190, 130  # pixels; the names stand left of the bars, the times right
BAR, GAP, TITLE = 14, 4, 26
HEAD, FOOT, MARGIN = 58, 46, 12
SMALLEST_SPAN = 10.0  # the axis covers at least one decade

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; } .group { font-weight: 600; }
  .faint { fill: #57606a; }
  .ours { fill: #0969da; } .peer { fill: #8c959f; } .hand { fill: #bf8700; }
  .grid { stroke: #d0d7de; } .one { stroke: #57606a; }
  .limit { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 4 2; } .limit-text { fill: #cf222e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .faint { fill: #9198a1; }
    .ours { fill: #4493f8; } .peer { fill: #6e7681; } .hand { fill: #d29922; }
    .grid { stroke: #30363d; } .one { stroke: #9198a1; }
    .limit { stroke: #f85149; } .limit-text { fill: #f85149; }
  }"""


@dataclass(frozen=True)
class Bar:
    """One variant: its time, that time over the fastest peer's, or why there is none."""

    variant: str
    ratio: float | None
    text: str


@dataclass(frozen=True)
class Group:
    """One case."""

    title: str
    bars: tuple[Bar, ...]
    limit: float | None  # over the fastest peer's time


def newest(results: Path, workload: str, quick: bool = False) -> dict | None:
    """A workload's last run on one thread; quick ones, which are no claim, only if asked for."""
    found = [json.loads(path.read_text()) for path in results.glob(f"{workload}-*.json")]
    facts = {"quick": quick, "threads": 1}
    runs = [raw for raw in found if facts.items() <= raw["machine"].items()]
    return max(runs, key=lambda raw: raw["time"], default=None)


def table_with(raw: dict, case: str) -> Table | None:
    """The table of a run in which a case was measured."""
    for table in raw["tables"]:
        if any(cell["case"] == case for cell in table["cells"]):
            cells = tuple(Cell(**cell) for cell in table["cells"])
            return Table(table["title"], table["unit"], cells)
    return None


def group(table: Table, case: str, title: str) -> Group | None:
    """The bars of one case: ours first, then the peers, the fastest first."""
    one = report.best(table, case, FASTEST)
    if one is None:
        return None
    unit = median(one.rounds)
    cells = [c for c in table.cells if c.case == case and peers.competes(c.variant)]
    ours = [cell for cell in cells if peers.peer(cell.variant) == report.OURS]
    theirs = [cell for cell in cells if cell not in ours and cell.rounds]
    theirs.sort(key=lambda cell: median(cell.rounds))
    limit = report.best(table, case, LIMIT)
    return Group(
        title,
        tuple(_bar(cell, unit, table.unit) for cell in (*ours, *theirs)),
        median(limit.rounds) / unit if limit else None,
    )


def _bar(cell: Cell, unit: float, name: str) -> Bar:
    if not cell.rounds:
        return Bar(cell.variant, None, cell.problem.partition("\n")[0])
    cost = median(cell.rounds)
    return Bar(
        cell.variant, cost / unit, f"{cost:.3g} {name}" if cost < 1000 else f"{cost:.0f} {name}"
    )


def span(groups: Iterable[Group]) -> tuple[int, int]:
    """The decades that hold every bar and limit, with room to see the shortest bar."""
    values = [1.0]
    for one in groups:
        values += [bar.ratio for bar in one.bars if bar.ratio]
        values += [one.limit] if one.limit else []
    low = math.floor(math.log10(min(values) / 1.2))
    high = math.ceil(math.log10(max(*values, SMALLEST_SPAN * 10.0**low)))
    return low, high


def draw(groups: list[Group], caption: str) -> str:
    """The picture, as SVG that reads in light and dark."""
    low, high = span(groups)
    inner = WIDTH - LEFT - RIGHT

    def place(ratio: float) -> float:
        return LEFT + inner * (math.log10(ratio) - low) / (high - low)

    heights = [TITLE + len(one.bars) * (BAR + GAP) for one in groups]
    bottom = HEAD + sum(heights)
    parts = [_text(LEFT, 20, "Time ÷ that of the fastest peer (shorter is faster)", "title")]
    for decade in range(low, high + 1):
        x = place(10.0**decade)
        parts.append(_line(x, HEAD - 6, bottom, "one" if decade == 0 else "grid"))
        parts.append(_text(x, HEAD - 12, f"{10.0**decade:g}×", "faint", "middle"))
    y = float(HEAD)
    for one, height in zip(groups, heights, strict=True):
        parts += _group(one, y, height, place)
        y += height
    parts.append(_text(LEFT, bottom + 20, "blue: chainrule · grey: libraries", "faint"))
    parts.append(_text(LEFT + 190, bottom + 20, "· ochre: derivatives by hand", "faint"))
    parts.append(_text(LEFT + 355, bottom + 20, "· dashed: the limit of the machine", "limit-text"))
    parts.append(_text(MARGIN, bottom + 37, caption, "faint"))
    height = bottom + FOOT
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img">'
    )
    title = "<title>Benchmarks: chainrule, its peers and the limit of the machine</title>"
    return "\n".join([opening, title, f"<style>{STYLE}\n</style>", *parts, "</svg>"]) + "\n"


def _group(one: Group, y: float, height: float, place) -> list[str]:
    parts = [_text(LEFT, y + 17, one.title, "group")]
    for k, bar in enumerate(one.bars):
        top = y + TITLE + k * (BAR + GAP)
        base = top + BAR - 3
        parts.append(_text(LEFT - 8, base, bar.variant, "", "end"))
        if bar.ratio is None:
            parts.append(_text(LEFT + 4, base, bar.text, "faint"))
            continue
        end = place(bar.ratio)
        kind = "hand" if peers.by_hand(bar.variant) else "peer"
        kind = "ours" if peers.peer(bar.variant) == report.OURS else kind
        parts.append(
            f'<rect class="{kind}" x="{LEFT}" y="{top:g}" width="{end - LEFT:.1f}" '
            f'height="{BAR}" rx="2"/>'
        )
        parts.append(_text(end + 5, base, f"{bar.ratio:.2g}× · {bar.text}", "faint"))
    if one.limit:
        parts.append(_line(place(one.limit), y + TITLE - 3, y + height - 1, "limit"))
    return parts


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x: float, top: float, bottom: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top:g}" y2="{bottom:g}"/>'


def caption(runs: list[dict]) -> str:
    """Machine, threads, commits and dates of the runs, and whether they may be quoted."""
    machines = [raw["machine"] for raw in runs]
    commits = list(dict.fromkeys(str(facts["commit"]) for facts in machines))
    more = f" and {len(commits) - 2} more" if len(commits) > 2 else ""
    dates = dict.fromkeys(raw["time"][:10] for raw in runs)
    facts = [
        *(["quick run: not a claim"] if any(facts["quick"] for facts in machines) else []),
        *(["other work was running"] if any(map(report.disturbed, machines)) else []),
        *dict.fromkeys(facts["cpu"] for facts in machines),
        "one thread",
        ", ".join(dates),
        f"commit {', '.join(commits[:2])}{more}",
    ]
    return " · ".join(facts)


def picture(results: Path, quick: bool = False) -> str | None:
    """The picture of the newest results, or None where there are none."""
    groups, runs = [], []
    for workload, case, title in HEADLINES:
        raw = newest(results, workload, quick)
        table = table_with(raw, case) if raw else None
        made = group(table, case, title) if table else None
        if made is None:
            continue
        groups.append(made)
        if raw not in runs:
            runs.append(raw)
    return draw(groups, caption(runs)) if groups else None


def main() -> None:
    """Draw the picture into a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figure", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--out", type=Path, default=Path("docs/assets/benchmarks.svg"))
    parser.add_argument("--quick", action="store_true", help="of quick runs: a look, not a claim")
    arguments = parser.parse_args()
    svg = picture(arguments.results, arguments.quick)
    if svg is None:
        parser.exit(1, f"no results of compiled benchmarks in {arguments.results}\n")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(svg, encoding="utf-8")
    print(arguments.out)


if __name__ == "__main__":
    main()

"""A run of everything that compiled code is compared on, as JSON and as a page:

    PYTHONPATH=src python -m tests.agree.compiled_report

takes some hours of all cores together, and writes benchmarks/results/compiled_agreement.*
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import chainrule as cr
from tests.agree.compiled import ROUNDINGS, Agreement, compared, derivative, program_derivative
from tests.agree.programs import SEED, generate
from tests.agree.report import twice, versions
from tests.ops.table import case_of

OUT = Path("benchmarks/results/compiled_agreement")
Part = tuple[int, int | None, int]  # first, end, and how many further the next one is
Named = tuple[str, Callable[..., Any], list[Any]]  # a function, and a point to compare it at


@dataclass
class Row:
    """What was seen of one kind of function at one order."""

    what: str
    order: int
    cases: int = 0
    entries: int = 0
    relative: float = 0.0
    furthest: str = ""  # the case it is of
    narrow: float = 0.0
    beyond: int = 0
    beyond_in: list[str] = field(default_factory=list)
    roundings: float = 0.0
    most_moved: str = ""  # the case it is of
    without: dict[str, int] = field(default_factory=dict)  # why some have no such derivative
    disagreements: list[str] = field(default_factory=list)

    def pass_over(self, why: str, times: int = 1) -> None:
        self.without[why] = self.without.get(why, 0) + times

    def add(self, name: str, found: Agreement) -> None:
        self.cases += 1
        self.entries += found.entries
        if found.relative > self.relative:
            self.relative, self.furthest = found.relative, name
        self.narrow = max(self.narrow, found.narrow)
        if found.beyond:
            self.beyond += found.beyond
            self.beyond_in.append(name)
        if found.roundings > self.roundings:
            self.roundings, self.most_moved = found.roundings, name
        if not found.agrees:
            self.disagreements.append(f"{name}: {found}")

    def join(self, other: Row) -> None:
        """Take in what was seen of other functions."""
        self.cases += other.cases
        self.entries += other.entries
        if other.relative > self.relative:
            self.relative, self.furthest = other.relative, other.furthest
        self.narrow = max(self.narrow, other.narrow)
        self.beyond += other.beyond
        self.beyond_in += other.beyond_in
        if other.roundings > self.roundings:
            self.roundings, self.most_moved = other.roundings, other.most_moved
        for why, times in other.without.items():
            self.pass_over(why, times)
        self.disagreements += other.disagreements


def table_cases(row: Row, part: Part) -> Iterator[Named]:
    """Samples and edges of every op that have this derivative."""
    every = (
        (op, i, sample)
        for op in cr.OPS.values()
        for i, sample in enumerate((*op.samples(), *(op.edges() if op.edges else ())))
    )
    for op, i, sample in islice(every, *part):
        case = case_of(op, sample)
        try:
            f = derivative(case, row.order)
            if f is None or not (case.places and f(*case.point)):
                row.pass_over("no floating-point input or result")
                continue
        except cr.ChainruleError as error:
            row.pass_over(str(error).splitlines()[0])
            continue
        yield f"{op.name}-{i}", f, case.point


def program_cases(row: Row, part: Part) -> Iterator[Named]:
    for number in range(*part):
        program = generate(number)
        if row.order > 1 and not twice(program):
            row.pass_over("a step has only a first derivative")
            continue
        yield f"program {number}", program_derivative(program, row.order), [list(program.inputs)]


CASES = {"op table": table_cases, "random programs": program_cases}


def filled(what: str, order: int, part: Part) -> Row:
    """Compare all of them; an exception counts as a disagreement and does not end the run."""
    warnings.simplefilter("ignore")  # NumPy's, of samples at the edge of a domain
    row = Row(what, order)
    for name, f, point in CASES[what](row, part):
        try:
            row.add(name, compared(f, *point))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be reported
            row.disagreements.append(f"{name}: {type(error).__name__}: {error}")
    return row


def page(result: dict[str, Any]) -> str:
    """The result in words."""
    lines = [
        f"| {r['what']} | {r['order']} | {r['cases']} | {r['entries']} | {r['relative']:.1e} {r['furthest']} | {r['narrow']:.1e} "
        f"| {r['beyond']} in {len(r['beyond_in'])} | {r['roundings']:.2f} {r['most_moved']} | {len(r['disagreements'])} |"
        for r in result["rows"]
    ]
    beyond = [
        f"- {r['what']}, order {r['order']}: {', '.join(r['beyond_in'])}."
        for r in result["rows"]
        if r["beyond"]
    ]
    without = [
        f"- {r['what']}, order {r['order']}: {n} ({why})"
        for r in result["rows"]
        for why, n in r["without"].items()
    ]
    wrong = [f"- {d}" for r in result["rows"] for d in r["disagreements"]]
    made = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    return f"""# Compiled as interpreted

`{result["command"]}` (random programs of seed {result["seed"]}; {made})

| what | order | functions | numbers | largest relative difference | in float32 | beyond 1e-12 | of what rounding moves | disagreements |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{chr(10).join(lines)}

Every function is computed by the interpreter and by machine code, and every number compared by itself:
it may differ by 1e-12 of itself (float32: 1e-5).  The numbers beyond that are what cancellation left: each
may differ by {ROUNDINGS:g} times what it moves when the interpreter rounds every operation otherwise, by one unit in the last
place (`tests/agree/compiled.py`).  The column before the last says how much of that movement was seen at most.

**Disagreements: {len(wrong)}**
{chr(10).join(wrong)}

Functions with numbers beyond 1e-12:

{chr(10).join(beyond) or "- none"}

Not compared, as the derivative does not exist:

{chr(10).join(without) or "- none"}
"""


def main() -> None:
    """The command at the top of this file."""
    parser = argparse.ArgumentParser(description="compiled against interpreted")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--every", type=int, nargs=3, default=[1, 1, 1], metavar="K")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    asked: list[tuple[str, int, int | None, int]] = [("op table", n, None, 1) for n in range(4)]
    asked += [
        ("random programs", order, options.programs, every)
        for order, every in enumerate(options.every, 1)
    ]
    fresh = multiprocessing.get_context("spawn")
    rows: list[Row] = []
    with ProcessPoolExecutor(options.processes, fresh) as pool:
        for what, order, end, every in asked:
            shares = 8 * options.processes  # small ones, so that all are done at about one time
            parts = [(i * every, end, shares * every) for i in range(shares)]
            done = pool.map(filled, *zip(*[(what, order, part) for part in parts], strict=True))
            rows.append(joined(what, order, done))
            write(rows, options.out)
            sys.stderr.write(f"{what}, order {order}: {rows[-1].cases} done\n")
    sys.exit(1 if any(row.disagreements for row in rows) else 0)


def joined(what: str, order: int, parts: Iterable[Row]) -> Row:
    """One row of all parts."""
    row = Row(what, order)
    for part in parts:
        row.join(part)
    return row


def write(rows: list[Row], out: Path) -> None:
    result = {
        "command": " ".join(["python -m tests.agree.compiled_report", *sys.argv[1:]]),
        "seed": SEED,
        "versions": {
            "python": platform.python_version(),
            "chainrule": cr.__version__,
            **versions(("numpy", "scipy", "llvmlite")),
        },
        "rows": [asdict(row) for row in rows if row.cases],  # those that are done
    }
    out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(page(result), encoding="utf-8")


if __name__ == "__main__":
    main()

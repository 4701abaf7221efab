"""Measured cells become a Markdown page and a raw JSON file, with the facts of the machine."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks import others, peers
from benchmarks.case import FASTEST, FASTEST_LIBRARY, PRIMAL, Cell, Table, Target
from benchmarks.harness import LIMIT, ROOT, Options

OURS = "chainrule"
NOISE = 0.05  # by which two equal costs may differ
IDLE = 0.5  # load average above which other work disturbs the clock
BUSY = 0.1  # cores


@dataclass(frozen=True)
class Verdict:
    """One target, judged: the ratio of costs round by round, and the variants compared."""

    target: Target
    ours: str
    theirs: str
    ratios: tuple[float, ...]

    @property
    def met(self) -> bool:
        """Whether the median round is within the limit."""
        return median(self.ratios) <= self.target.limit


def best(table: Table, case: str, who: str) -> Cell | None:
    """The cheapest variant of `who` in a case: a library, one variant, or the fastest peer."""
    cells = [
        cell
        for cell in table.cells
        if cell.case == case
        and cell.rounds
        and (cell.variant == who or _competes_for(cell.variant, who))
    ]
    return min(cells, key=lambda cell: median(cell.rounds), default=None)


def _competes_for(variant: str, who: str) -> bool:
    library = peers.peer(variant)
    if who in (FASTEST, FASTEST_LIBRARY):
        theirs = library != OURS and peers.competes(variant)
        return theirs and not (who == FASTEST_LIBRARY and peers.by_hand(variant))
    if library == who == LIMIT:
        return True
    return library == who and peers.competes(variant)


def ratios(table: Table, case: str) -> dict[str, Verdict | None]:
    """R1, R1 without hand-written derivatives, R2 and R3 of one case; None: not measured."""
    against = {"R1": FASTEST, "R1 of libraries": FASTEST_LIBRARY, "R2": PRIMAL, "R3": LIMIT}
    return {name: judge(table, Target(case, who, 1.0)) for name, who in against.items()}


def judge(table: Table, target: Target) -> Verdict | None:
    """The verdict on a target, or None where one of its two sides was not measured."""
    ours = best(table, target.case, OURS)
    if ours is None:
        return None
    against = ours.variant if target.against == OURS else target.against  # like with like
    theirs = best(table, target.baseline or target.case, against)
    if theirs is None:
        return None
    pairs = zip(ours.rounds, theirs.rounds, strict=True)
    return Verdict(target, ours.variant, theirs.variant, tuple(a / b for a, b in pairs))


def machine(options: Options) -> dict:
    """What a reader needs to repeat the run; no host name, no path."""
    # chainrule is named by its commit
    busy = others.cores_busy(options.start, others.now())
    libraries = ("numpy", "scipy", "scikit-learn", "torch", "jax", "autograd", "casadi", "numba")
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in libraries if (found := peers.version(name))},
        "commit": _git("rev-parse", "--short", "HEAD"),
        "uncommitted changes": bool(_git("status", "--porcelain")),
        "threads": options.threads,
        "quick": options.quick,
        "load average before": round(options.load, 2),
        "load average at the end": round(os.getloadavg()[0], 2),
        "cores busy with other work": None if busy is None else round(busy, 2),
    }


def disturbed(facts: dict) -> bool:
    """Whether other work was running.

    Where only the load average is known, the run itself adds 1 per thread at its end.
    """
    busy = facts.get("cores busy with other work")
    if busy is not None:
        return busy > BUSY
    own = facts["threads"]
    return max(facts["load average before"], facts["load average at the end"] - own) > IDLE


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _git(*arguments: str) -> str | None:
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def markdown(title: str, tables: list[Table], facts: dict) -> str:
    """The page a reader sees: costs first, then the targets, then the machine."""
    parts = [f"# {title}"]
    if disturbed(facts):
        parts += ["**Other work was running on this machine: these numbers are not to be quoted.**"]
    for table in tables:
        parts += [f"## {table.title}", _costs(table)]
        if table.ratios:
            parts += [_ratios(table)]
        if table.targets:
            parts += [_verdicts(table)]
    parts += ["## Machine", "\n".join(f"- {key}: {_plain(value)}" for key, value in facts.items())]
    return "\n\n".join(parts) + "\n"


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return str(value)


def _costs(table: Table) -> str:
    versus = table.versus if table.versus == FASTEST else f"best {table.versus}"
    rows = [_row("case", "variant", table.unit, "min–max over rounds", f"÷ {versus}")]
    rows.append(_row("---", "---", "--:", "--:", "--:"))
    for cell in table.cells:
        if not cell.rounds:
            rows.append(_row(cell.case, cell.variant, "—", cell.problem.partition("\n")[0], ""))
            continue
        other = best(table, cell.case, table.versus)
        ratio = f"{median(cell.rounds) / median(other.rounds):.2f}" if other else ""
        spread = f"{_short(min(cell.rounds))}–{_short(max(cell.rounds))}"
        rows.append(_row(cell.case, cell.variant, _short(median(cell.rounds)), spread, ratio))
    return "\n".join(rows)


def _ratios(table: Table) -> str:
    """R1 (÷ fastest peer), R2 (÷ our primal), R3 (÷ limit), with the min–max over rounds."""
    cases = dict.fromkeys(cell.case for cell in table.cells)
    found = {case: ratios(table, case) for case in cases}
    shown = [name for name in ("R1", "R1 of libraries", "R2", "R3") if _shown(table, name)]
    rows = [_row("case", "fastest peer", *shown), _row("---", "---", *("--:" for _ in shown))]
    for case in cases:
        peer = best(table, case, FASTEST)
        name = peer.variant if peer else "—"
        rows.append(_row(case, name, *(_spread(found[case][column]) for column in shown)))
    broken = [
        f"{case} ({name})"
        for case in cases
        for name in ("R2", "R3")
        if (verdict := found[case][name]) and median(verdict.ratios) < 1 - NOISE
    ]
    if broken:
        rows += ["", f"**Below their floor of 1, so something is broken: {', '.join(broken)}.**"]
    return "\n".join(rows)


def _shown(table: Table, name: str) -> bool:
    """A column of ratios is left out where no cell could fill it."""
    names = {cell.variant for cell in table.cells}
    if name == "R1 of libraries":
        return any(peers.by_hand(variant) for variant in names)
    if name == "R2":
        return PRIMAL in names
    return name == "R1" or any(peers.peer(variant) == LIMIT for variant in names)


def _spread(verdict: Verdict | None) -> str:
    if verdict is None:
        return "—"
    low, high = min(verdict.ratios), max(verdict.ratios)
    return f"{median(verdict.ratios):.2f} ({low:.2f}–{high:.2f})"


def _verdicts(table: Table) -> str:
    rows = [_row("case", "ours", "against", "ratio", "min–max", "target", "met", "in rounds")]
    rows.append(_row("---", "---", "---", "--:", "--:", "--:", "---", "--:"))
    for target in table.targets:
        against = target.against + (f" in {target.baseline}" if target.baseline else "")
        verdict = judge(table, target)
        limit = f"≤ {target.limit}"
        if verdict is None:
            rows.append(_row(target.case, OURS, against, "—", "", limit, "not measured", ""))
            continue
        against = against.replace(target.against, verdict.theirs, 1)
        spread = f"{min(verdict.ratios):.2f}–{max(verdict.ratios):.2f}"
        middle = f"{median(verdict.ratios):.2f}"
        met = "yes" if verdict.met else "no"
        within = sum(ratio <= target.limit for ratio in verdict.ratios)
        count = f"{within} of {len(verdict.ratios)}"
        rows.append(_row(target.case, verdict.ours, against, middle, spread, limit, met, count))
    return "\n".join(rows)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def write(name: str, title: str, tables: list[Table], options: Options) -> str:
    """Write `<name>-<date>.json` and `.md`; return the page."""
    facts = machine(options)
    now = datetime.now(UTC)
    page = markdown(title, tables, facts)
    options.out.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-{now:%Y-%m-%d}" + ("-quick" if options.quick else "")
    stem += f"-{options.threads}-threads" if options.threads > 1 else ""
    raw = {
        "workload": name,
        "command": f"python -m benchmarks {name} --threads {options.threads}"
        + (" --quick" if options.quick else "")
        + (f" --peers {' '.join(options.peers)}" if options.peers else ""),
        "time": now.isoformat(timespec="seconds"),
        "machine": facts,
        "tables": [asdict(table) for table in tables],
    }
    (options.out / f"{stem}.json").write_text(json.dumps(raw, indent=1) + "\n")
    (options.out / f"{stem}.md").write_text(page)
    return page

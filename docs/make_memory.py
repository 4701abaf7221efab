"""Measures and draws the time and memory of a scan with checkpoints, beside theory.

    python docs/make_memory.py

Writes `docs/assets/memory-scan.json`, what was measured, and the picture of it, `memory-scan.svg`.
With `--draw` the picture alone is drawn again.

Theory counts iterations: n of them keep n · s bytes, or in segments of k iterations n / k · c
carries of c bytes and k · s, for the time of one forward pass more, which is 4 / 3 where a reverse
pass takes twice as long as a forward one.
"""

from __future__ import annotations

import argparse
import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import chainrule as cr

ASSETS = Path(__file__).parent / "assets"
COUNTS = (64, 128, 256, 512, 1024, 2048)
SIZE = 2000  # numbers that are carried
WAYS: dict[str, tuple[Any, str]] = {
    "everything kept": (None, "#8c959f"),
    'checkpoint="auto"': ("auto", "#0969da"),
    "checkpoint=4": (4, "#bf8700"),
}
LEFT, TOP, WIDE, HIGH, APART = 64, 46, 300, 210, 90  # pixels


def gradient(count: int, checkpoint: Any) -> Callable[[], Any]:
    """A loop that keeps three arrays of each iteration where nothing is computed again."""

    def loss(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return np.tanh(np.sin(c) * 1.1) + 0.1 * np.cos(c), None

        return np.sum(cr.scan(step, x, length=count, checkpoint=checkpoint)[0])

    x = np.linspace(0.1, 1, SIZE)
    return lambda: cr.grad(loss)(x)


def measured() -> dict[str, list[list[float]]]:
    """Per way a row (iterations, megabytes, milliseconds of the processor)."""
    found: dict[str, list[list[float]]] = {}
    for name, (checkpoint, _) in WAYS.items():
        gradient(16, checkpoint)()
        found[name] = []
        for count in COUNTS:
            call = gradient(count, checkpoint)
            times = []
            for _ in range(5):
                start = process_time()
                call()
                times.append(process_time() - start)
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            call()
            peak = tracemalloc.get_traced_memory()[1] - before
            tracemalloc.stop()
            found[name].append([count, peak / 1e6, 1e3 * min(times)])
    return found


def theory(name: str, count: int, saved: float) -> float:
    """Megabytes; `saved` are those that one iteration keeps."""
    carry = 8 * SIZE / 1e6
    if name == "everything kept":
        return count * saved
    k = math.isqrt(count) if "auto" in name else 4
    return count / k * carry + k * saved


def drawn(found: dict[str, list[list[float]]]) -> str:
    """Two panels: memory and time by the number of iterations, both axes logarithmic."""
    kept = found["everything kept"]
    saved = (kept[-1][1] - kept[0][1]) / (kept[-1][0] - kept[0][0])
    least = min(row[1] for rows in found.values() for row in rows)
    parts = [
        *_panel(found, 1, 0, "MB at the peak", least),
        *_panel(found, 2, WIDE + APART, "CPU ms of a gradient", min(r[2] for r in kept)),
    ]
    for name, (_, color) in WAYS.items():
        line = [(count, theory(name, count, saved)) for count in COUNTS]
        top = max(row[1] for rows in found.values() for row in rows)
        places = " ".join(f"{_x(c):.1f},{_y(v, least, top):.1f}" for c, v in line)
        parts.append(_dashed(places, color))
    slowest = max(row[2] for rows in found.values() for row in rows)
    more = [(row[0], row[2] * 4 / 3) for row in kept]
    left, fastest = WIDE + APART, min(row[2] for row in kept)
    at = [(_x(c, left), _y(min(v, slowest), fastest, slowest)) for c, v in more]
    parts.append(_dashed(" ".join(f"{x:.1f},{y:.1f}" for x, y in at), WAYS['checkpoint="auto"'][1]))
    for k, (name, (_, color)) in enumerate(WAYS.items()):
        at = LEFT + 190 * k
        parts.append(f'<rect x="{at}" y="12" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{at + 18}" y="22">{name.replace(chr(34), "&quot;")}</text>')
    parts.append(f'<text x="{LEFT + 590}" y="22">dashed: theory</text>')
    width, height = LEFT + 2 * WIDE + APART + 40, TOP + HIGH + 48
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    style = (
        "<style>text{font:12px system-ui,sans-serif;fill:#24292f}"
        ".grid{stroke:#d0d7de}@media (prefers-color-scheme: dark)"
        "{text{fill:#e6edf3}.grid{stroke:#30363d}}</style>"
    )
    title = "<title>Memory and time of a scan by its length, with and without checkpoints</title>"
    return "\n".join([head, title, style, *parts, "</svg>", ""])


def _dashed(places: str, color: str) -> str:
    return f'<polyline points="{places}" fill="none" stroke="{color}" stroke-dasharray="4 3"/>'


def _x(count: float, left: float = 0) -> float:
    share = math.log(count / COUNTS[0]) / math.log(COUNTS[-1] / COUNTS[0])
    return LEFT + left + WIDE * share


def _y(value: float, low: float, high: float) -> float:
    return TOP + HIGH * (1 - math.log(value / low) / math.log(high / low))


def _panel(
    found: dict[str, list[list[float]]], column: int, left: float, title: str, low: float
) -> list[str]:
    high = max(row[column] for rows in found.values() for row in rows)
    foot = TOP + HIGH
    parts = [f'<text x="{LEFT + left}" y="{TOP - 6}">{title}</text>']
    for count in COUNTS:
        x = _x(count, left)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{foot}"/>')
        parts.append(f'<text x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{count:,}</text>')
    parts.append(
        f'<text x="{LEFT + left + WIDE / 2}" y="{foot + 36}" text-anchor="middle">iterations</text>'
    )
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for value in (10.0**exponent, 3 * 10.0**exponent):
            if low <= value <= high:
                y = _y(value, low, high)
                ends = f'x1="{LEFT + left}" x2="{LEFT + left + WIDE}"'
                parts.append(f'<line class="grid" {ends} y1="{y:.1f}" y2="{y:.1f}"/>')
                text = f'x="{LEFT + left - 6}" y="{y + 4:.1f}" text-anchor="end"'
                parts.append(f"<text {text}>{value:g}</text>")
    for name, (_, color) in WAYS.items():
        at = [(_x(row[0], left), _y(row[column], low, high)) for row in found[name]]
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in at]
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    raw = ASSETS / "memory-scan.json"
    if not parser.parse_args().draw:
        raw.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    found = json.loads(raw.read_text(encoding="utf-8"))
    (ASSETS / "memory-scan.svg").write_text(drawn(found), encoding="utf-8")


if __name__ == "__main__":
    main()

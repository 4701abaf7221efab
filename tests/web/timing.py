"""How long pages of large graphs take to open, and each frame of a pan and a zoom.

python -m tests.web.timing FILE.md    measures, and writes a table
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from chainrule.diff.run import Run, recorded_run

# Closed groups; every node, seen from far away; and seen from where numbers can be read.
FORMS = ("in groups", "all nodes", "nodes, close")
LAYERS = {10_000: 13, 100_000: 128}  # of 16 units: so many nodes, within a few in a hundred

# Milliseconds from the start until there is a first picture.
OPENED = """async () => {
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now();
}"""
# Milliseconds of each frame while the wheel turns, or while the picture is dragged.
FRAMES = """async (how) => {
  const canvas = document.getElementById("graph");
  const box = canvas.getBoundingClientRect();
  const [x, y] = [box.x + 300, box.y + 200];
  const at = (k) => ({ clientX: x + 9 * k, clientY: y + 4 * k, pointerId: 1, bubbles: true });
  canvas.setPointerCapture = () => {};
  if (how === "pan") canvas.dispatchEvent(new PointerEvent("pointerdown", at(0)));
  const took = [];
  for (let k = 1; k <= 40; k++) {
    const start = performance.now();
    const turn = { deltaY: k % 8 < 4 ? 120 : -120, clientX: x, clientY: y, cancelable: true };
    if (how === "pan") canvas.dispatchEvent(new PointerEvent("pointermove", at(k % 20)));
    else canvas.dispatchEvent(new WheelEvent("wheel", turn));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    took.push(performance.now() - start);
  }
  if (how === "pan") canvas.dispatchEvent(new PointerEvent("pointerup", at(40)));
  return took.sort((a, b) => a - b);
}"""


@dataclass(frozen=True)
class Taken:
    """Milliseconds; of frames the middle one, and the one that 5 in 100 exceed."""

    opened: float
    pan: tuple[float, float]
    zoom: tuple[float, float]


def net(inputs: Any, weights: Any) -> Any:
    for matrix in weights:
        inputs = [np.tanh(sum(a * b for a, b in zip(row, inputs, strict=True))) for row in matrix]
    return sum(v * v for v in inputs)


def network(nodes: int) -> Run:
    """A network of single numbers, run forward and backward."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(LAYERS[nodes], 16, 16)).tolist()
    return recorded_run(net, rng.normal(size=16).tolist(), weights).backward()


def taken(page: Any, path: Path, form: str) -> Taken:
    """Open a page, and pan and zoom it in one of the FORMS."""
    page.goto("about:blank")
    page.goto(path.as_uri())
    opened = page.evaluate(OPENED)
    page.select_option("#level", "group" if form == "in groups" else "node")
    page.wait_for_timeout(1000)
    if form == "all nodes":
        page.click("#fit")
        page.wait_for_timeout(2000)
    frames = {how: page.evaluate(FRAMES, how) for how in ("pan", "zoom")}
    middle, late = (len(frames["pan"]) * part // 100 for part in (50, 95))
    ends = {how: (took[middle], took[late]) for how, took in frames.items()}
    return Taken(opened, ends["pan"], ends["zoom"])


def main(target: Path) -> None:
    import playwright.sync_api as api

    lines = [
        "# The explorer on large graphs",
        "",
        "A network of single numbers in headless Chromium, drawn by the processor: written by",
        "`python -m tests.web.timing benchmarks/results/explorer.md`. A frame is the time from a",
        "move until it is drawn, 16.7 ms at the least; of 40 the middle one and that which 5 %",
        "exceed.",
        "",
        "| nodes | shown | page | written in | opens in | pan: ms a frame | zoom: ms a frame |",
        "|---|---|---|---|---|---|---|",
    ]
    with api.sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        import shutil

        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for nodes in LAYERS:
            run = network(nodes)
            start = perf_counter()
            path = run.explore(Path(folder) / f"{nodes}.html")
            wrote = perf_counter() - start
            for form in FORMS:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                found = taken(page, path, form)
                page.close()
                lines.append(
                    f"| {len(run.graph):,} | {form} | {path.stat().st_size / 1e6:.1f} MB | "
                    f"{wrote:.1f} s | {found.opened:.0f} ms | "
                    f"{found.pan[0]:.1f}, {found.pan[1]:.1f} | "
                    f"{found.zoom[0]:.1f}, {found.zoom[1]:.1f} |"
                )
        browser.close()
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

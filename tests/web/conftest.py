"""Pages in a real browser, read from files, with the network cut off; without one, skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# What is written on a canvas, in the frame that was drawn last: [text, x, y] in pixels.
RECORD = """
const { fillText, fillRect } = CanvasRenderingContext2D.prototype;
window.written = [];
CanvasRenderingContext2D.prototype.fillRect = function (x, y, w, h) {
  if (x === 0 && y === 0) this.canvas.written = window.written = [];
  return fillRect.call(this, x, y, w, h);
};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const at = this.getTransform().transformPoint({ x, y });
  if (text) this.canvas.written.push([text, at.x / devicePixelRatio, at.y / devicePixelRatio]);
  return fillText.call(this, text, x, y);
};
"""

# Two frames, and the milliseconds between them in which what the page puts off is done.  The page
# counts them: on a busy machine its clock and that of this process do not go together.
SETTLED = """new Promise((done) => requestAnimationFrame(() => setTimeout(
  () => requestAnimationFrame(() => setTimeout(done)), 60)))"""
LONGEST = 300_000  # milliseconds after which what should have come is a hang, on a busy machine too


class Opened:
    """One open page, and what it has complained of."""

    def __init__(self, page: Any, path: Path):
        self.page, self.path, self.trouble = page, path, []
        page.on("console", lambda said: self.trouble.append(said.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("request", self._requested)
        page.add_init_script(RECORD)

    def _requested(self, request: Any) -> None:
        if request.url.partition("#")[0] != self.path.as_uri() and request.url[:5] != "data:":
            self.trouble.append(f"asked for {request.url}")

    def at(self, anchor: str = "") -> Opened:
        self.page.goto("about:blank")
        self.page.goto(f"{self.path.as_uri()}{anchor}")
        self.settle()
        return self

    def settle(self) -> None:
        """Wait until nothing moves: the frame that is asked for has been drawn."""
        self.page.evaluate(SETTLED)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def text(self, selector: str) -> str:
        return " ".join(self.page.inner_text(selector).split())

    def drawn(self) -> list[str]:
        """The texts on the canvas, with the minus of a keyboard."""
        return [text.replace("−", "-") for text, _, _ in self.page.evaluate("written")]

    def panes(self) -> list[list[str]]:
        """The texts on each canvas of those side by side."""
        every = "[...document.querySelectorAll('.pane canvas')].map((c) => c.written.map(String))"
        return [[t.split(",")[0].replace("−", "-") for t in p] for p in self.page.evaluate(every)]

    def place(self, text: str) -> tuple[float, float]:
        """Where on the page a text of the canvas stands."""
        box = self.page.locator("#graph").bounding_box()
        x, y = next((x, y) for t, x, y in self.page.evaluate("written") if t == text)
        return box["x"] + x, box["y"] + y


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if os.environ.get("CI"):  # where it must be there
        import playwright.sync_api as api
    else:
        api = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    with api.sync_playwright() as play:
        try:
            made = play.chromium.launch(
                executable_path=found, args=["--no-sandbox"], timeout=LONGEST
            )
        except api.Error as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no browser: {str(error).splitlines()[0]}")
        yield made
        made.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Write a run's page and open it: opened(run, "#step=7"); no page may complain."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    context.set_default_timeout(LONGEST)
    pages: list[Opened] = []

    def opening(run: Any, anchor: str = "", width: int = 1280) -> Opened:
        path = run if isinstance(run, Path) else run.explore(tmp_path / f"page{len(pages)}.html")
        pages.append(Opened(context.new_page(), path))
        pages[-1].page.set_viewport_size({"width": width, "height": 800})
        return pages[-1].at(anchor)

    yield opening
    for page in pages:
        assert page.trouble == []
    context.close()

"""What is seen of a training run: a bar on a terminal, else lines; nothing; or a `Live` view."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import chainrule as cr
from chainrule.learn.history import figure

if TYPE_CHECKING:
    from chainrule.learn.training import Point

SHORTEST = 0.1  # seconds between two drawings of the bar
MIN_WIDE_COLUMNS = 100  # columns of a terminal, from which on there is room for examples per second
SHARE = 250  # drawing takes at most one part in so many of the time


class Shown(Protocol):
    """How a run is shown; the first two are called millions of times and do next to nothing.

    A step writes into the parameters: they may be read in `before` and `step`, not kept.
    """

    def before(self, parameters: Any, batch: Any) -> None: ...
    def step(self, rows: int, loss: float, parameters: Any) -> None: ...
    def start(self, point: Point) -> None: ...
    def epoch(self, record: dict[str, Any], seconds: float) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self, why: BaseException | None) -> None: ...


def shown(
    progress: bool | cr.Live, loss: Callable[..., Any], epochs: int, count: int | None
) -> Shown:
    """How to show a run of so many epochs, each of `count` batches if that is known."""
    if not isinstance(progress, bool) and isinstance(progress, cr.Live):
        progress.watch(loss, epochs, count)
        return progress
    if not progress:
        return Silent()
    from rich.console import Console

    console = Console(stderr=True)
    if (console.is_terminal and not console.is_dumb_terminal) or console.is_jupyter:
        return Bar(console, epochs, count)
    return Lines(epochs)


class Silent:
    """Nothing is shown."""

    def before(self, parameters: Any, batch: Any) -> None:
        pass

    def step(self, rows: int, loss: float, parameters: Any) -> None:
        pass

    def start(self, point: Point) -> None:
        pass

    def epoch(self, record: dict[str, Any], seconds: float) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self, why: BaseException | None) -> None:
        pass


class Lines(Silent):
    """One plain line per epoch, on the standard error stream."""

    def __init__(self, epochs: int):
        self.epochs, self.rows = epochs, 0

    def step(self, rows: int, loss: float, parameters: Any) -> None:
        self.rows += rows

    def epoch(self, record: dict[str, Any], seconds: float) -> None:
        number = f"{record['epoch']:>{len(str(self.epochs))}}/{self.epochs}"
        rate = f"{self.rows / max(seconds, 1e-9):,.0f} examples/s"
        self.rows = 0
        self.note(f"epoch {number}   {measured(record)}   {seconds:.2f} s   {rate}")

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class Bar(Silent):
    """A bar with the loss, what was measured last, examples per second and the time left.

    It is drawn now and then, so seldom that drawing takes less than a hundredth of the time.
    """

    def __init__(self, console: Any, epochs: int, count: int | None):
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.epochs, self.count = epochs, count
        wide = console.width >= MIN_WIDE_COLUMNS
        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=24 if wide else 10),
            TextColumn("{task.fields[loss]}"),
            TextColumn("{task.fields[metrics]}", style="dim"),
            *([TextColumn("{task.fields[rate]}", style="dim")] if wide else []),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=console,
            auto_refresh=False,
            redirect_stdout=sys.stdout.isatty(),  # else prints would not go where they are sent
        )
        total = None if count is None else epochs * count
        fields: dict[str, Any] = dict.fromkeys(("loss", "metrics", "rate"), "")
        self.task = self.bar.add_task("", total=total, epoch=f"1/{epochs}", **fields)
        self.done, self.rows, self.rate = 0, 0, 0.0
        self.loss = self.metrics = ""
        self.drawn: float | None = None

    def start(self, point: Point) -> None:
        self.finished, self.number = point.epoch, min(point.epoch + 1, self.epochs)
        self.done = point.epoch * (self.count or 0) + point.position
        self.bar.start()
        self.next = perf_counter()
        self._draw()
        self.drawn = None  # the first step is compiled, which says nothing of the next

    def step(self, rows: int, loss: float, parameters: Any) -> None:
        self.done += 1
        self.rows += rows
        if perf_counter() >= self.next:
            self.number = self.finished + 1
            self.loss = f"loss {figure(loss)}"
            self._draw()

    def epoch(self, record: dict[str, Any], seconds: float) -> None:
        self.finished = self.number = record["epoch"]
        self.loss = f"loss {figure(record['loss'])}"
        self.metrics = measured({k: v for k, v in record.items() if k != "loss"})

    def note(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False)

    def close(self, why: BaseException | None) -> None:
        self._draw()
        self.bar.stop()

    def _draw(self) -> None:
        began = perf_counter()
        if self.drawn is not None and self.rows:
            newest = self.rows / max(began - self.drawn, 1e-9)
            self.rate = 0.7 * self.rate + 0.3 * newest if self.rate else newest
        self.bar.update(
            self.task,
            completed=self.done,
            epoch=f"{self.number}/{self.epochs}",
            loss=self.loss,
            metrics=self.metrics,
            rate=f"{self.rate:,.0f} examples/s" if self.rate else "",
            refresh=True,
        )
        self.rows, self.drawn = 0, perf_counter()
        self.next = self.drawn + max(SHORTEST, SHARE * (self.drawn - began))


def measured(record: dict[str, Any]) -> str:
    """The measurements of a record: `loss 0.3124   validation 0.3535   accuracy 0.9111`."""
    names = [name for name in record if name not in ("epoch", "step")]
    return "   ".join(f"{name} {figure(record[name])}" for name in names)

"""The history of a training run: a record per epoch, as a table, learning curves or CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, UnsupportedError

BARS = "▁▂▃▄▅▆▇█"
COUNTS = ("epoch", "step")  # whole numbers; the rest of a record are measurements
LOSSES = ("loss", "validation")
TRAINING, VALIDATION, QUIET = "#7a8ba3", "#c2410c", "#6b7280"


@dataclass(frozen=True)
class History:
    """One record per epoch: `epoch` (from 1), `step`, `loss`, and with validation its metrics.

    Two histories are equal if their records are; how long the epochs took is no part of that.
    """

    records: tuple[dict[str, Any], ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, column: str) -> np.ndarray:
        """A column over the epochs: `history["loss"]`."""
        if self.records and column not in self.records[0]:
            raise ArgumentError(f"the history has the columns {', '.join(self.columns)}: {column}")
        return np.array([record[column] for record in self.records])

    @property
    def columns(self) -> list[str]:
        return list(self.records[0]) if self.records else []

    def plus(self, record: dict[str, Any], seconds: float) -> History:
        """The history with one epoch more."""
        return History((*self.records, record), (*self.seconds, seconds))

    def __str__(self) -> str:
        """A table of the epochs, at most ten of them, and a curve of each measurement."""
        if not self.records:
            return "no epoch was finished"
        shown = list(self.records)
        if len(shown) > 10:
            shown[5:-5] = [dict.fromkeys(self.columns, "…")]
        cells = [self.columns, *([figure(r[c]) for c in self.columns] for r in shown)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["   ".join(map(str.rjust, row, widths)) for row in cells]
        measured = [name for name in self.columns if name not in COUNTS]
        width = max(map(len, measured))
        curves = [
            f"{name:{width}}   {sparkline(self[name])}   {figure(self[name][0])} → "
            f"{figure(self[name][-1])}"
            for name in measured
        ]
        return "\n".join([*lines, "", *curves])

    def to_csv(self, path: str | Path) -> Path:
        """Write the records, and the seconds that each epoch took, as CSV."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*self.columns, "seconds"])
            for record, seconds in zip(self.records, self.seconds, strict=True):
                writer.writerow([*record.values(), f"{seconds:.6f}"])
        return Path(path)

    def plot(self, path: str | Path) -> Path:
        """Draw the learning curves into a file, SVG, PNG or PDF by its name; needs matplotlib."""
        if not self.records:
            raise ArgumentError("there is nothing to plot: no epoch was finished")
        try:
            import matplotlib as mpl
            from matplotlib.figure import Figure
        except ImportError:
            raise UnsupportedError(
                "plot needs matplotlib: pip install 'chainrule[learn]'.  print(history) shows the "
                "curves as text, history.to_csv(path) writes the numbers."
            ) from None
        metrics = [name for name in self.columns if name not in (*COUNTS, *LOSSES)]
        # The same curves give the same file: no date, and no random names in an SVG.
        with mpl.rc_context({"svg.hashsalt": "chainrule", "font.size": 10}):
            panels = 1 + bool(metrics)
            drawing = Figure(figsize=(5.2 * panels, 3.4), layout="constrained")
            axes = drawing.subplots(1, panels, squeeze=False)[0]
            self._draw_losses(axes[0])
            if metrics:
                self._draw_metrics(axes[1], metrics)
            svg = Path(path).suffix.lower() == ".svg"
            drawing.savefig(path, dpi=150, metadata={"Date": None} if svg else None)
        return Path(path)

    def _draw_losses(self, axes: Any) -> None:
        names = [name for name in LOSSES if name in self.columns]
        words = {"loss": "training", "validation": "validation"}
        colours = {"loss": TRAINING, "validation": VALIDATION}
        best = self._best()
        for name in names:
            marked = name == "validation" and best is not None
            after = f", best {figure(self[name][best])}" if marked else ""
            self._draw(axes, name, words[name], colours[name], after)
        values = np.concatenate([self[name] for name in names])
        if _spans_decades(values[np.isfinite(values)]):
            _logarithmic(axes)
        self._finish(axes, "loss")

    def _draw_metrics(self, axes: Any, names: list[str]) -> None:
        shades = [VALIDATION, "#0f766e", "#6d28d9", "#a16207"]
        for i, name in enumerate(names):
            self._draw(axes, name, name, shades[i % len(shades)])
        self._finish(axes, "on the validation data")

    def _best(self) -> int | None:
        """The position of the epoch with the lowest validation loss."""
        if "validation" not in self.columns or not np.isfinite(self["validation"]).any():
            return None
        return int(np.nanargmin(self["validation"]))

    def _draw(self, axes: Any, name: str, word: str, colour: str, after: str = "") -> None:
        marker = "o" if len(self) < 3 else None  # a line of one point would not be seen
        label = f"{word} {figure(self[name][-1])}{after}"
        axes.plot(self["epoch"], self[name], color=colour, lw=1.8, marker=marker, label=label)
        best = self._best()
        if name != "loss" and best is not None:
            axes.plot(self["epoch"][best], self[name][best], "o", color=colour, markersize=5)

    def _finish(self, axes: Any, title: str) -> None:
        from matplotlib.ticker import MaxNLocator

        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel("epoch", color=QUIET)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        if len(self) > 1:
            axes.set_xlim(1, len(self))
        axes.grid(axis="y", color="#e5e7eb", lw=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(which="both", length=0, colors=QUIET)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color("#9ca3af")
        axes.legend(frameon=False, fontsize=9, loc="best")


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _spans_decades(values: np.ndarray) -> bool:
    """Whether a logarithmic scale shows more."""
    return bool(values.size and values.min() > 0 and values.max() > 20 * values.min())


def sparkline(values: Iterable[float], width: int = 48) -> str:
    """A curve on one line: the lowest value is ▁, the highest █; what is not finite is a blank.

    More values than `width` are shown by the mean of as many neighbours, and those that span
    decades by their logarithms.
    """
    held = np.asarray(list(values), float)
    parts = np.array_split(held, min(width, len(held))) if len(held) else []
    means = np.array([part.mean() for part in parts])
    known = np.isfinite(means)
    if not known.any():
        return " " * len(means)
    if _spans_decades(means[known]):
        means = np.log(means, out=means.copy(), where=known)
    low, span = means[known].min(), float(np.ptp(means[known])) or 1.0
    return "".join(
        BARS[round((value - low) / span * (len(BARS) - 1))] if math.isfinite(value) else " "
        for value in means
    )


def figure(value: Any) -> str:
    """A number with four decimals where these say something, as `0.0321`; else `3.2e-06`."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.4g}"

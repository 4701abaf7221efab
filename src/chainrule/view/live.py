"""A training run that is watched: its curves, the health of its layers, the graph with its numbers.

What is shown is plain JSON data (`Live.to_data`), the same in a notebook and in a page:

    name, state     of the loss; "waiting", "running", "finished", "interrupted" or "failed"
    epoch, epochs, step, steps (of all epochs; null if not known), seconds, rate (examples a second)
    loss, trend     of every step, in few points: `Curve.to_data`
    measured        {"at": steps, "columns": {"loss": […], "validation": […], …}}, by epoch
    looks           steps at which was looked; a look is `view/look.py`
    signs           the three numbers of `view/signs.py`, each with its "history" over the looks
    layers          name, count, status, and over the looks "gradient" and "update"
    activations     op, text, place, times, units, dead, saturated: as there
    findings        what is wrong, in words         notes    what train had to say
    report          where a loss began that is not finite: `cr.find_nonfinite`
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.containers import map_leaves
from chainrule.diff.run import Run
from chainrule.errors import ChainruleError, NonFiniteLoss
from chainrule.explain.nonfinite import find_nonfinite
from chainrule.explain.numbers import as_json
from chainrule.view.curve import Curve
from chainrule.view.look import Look, look
from chainrule.view.notebook import Embedded, in_notebook
from chainrule.view.signs import Sign, findings, signs, stuck

if TYPE_CHECKING:
    from chainrule.learn.training import Point
    from chainrule.view.training import Cell

PAUSE = 0.25  # seconds between two messages to a notebook
LOOKING, DRAWING = 30, 100  # each takes at most one part in so many of the time
KEPT_RATIO = 1.05  # of lengths of a run at which a step is kept that may be its last
MAX_LOOKS = 120  # looks that are kept
RECENT = 2  # looks in all of which a unit is silent that is called dead
MAX_NODES_DRAWN = 60  # nodes of a graph that are drawn one by one


def _copied(leaf: Any) -> Any:
    """A batch may be a buffer that the next one is written into."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


class Live:
    """Watches a run of `learn.train(…, progress=live)`: in a notebook it moves in the cell.

    Now and then, so seldom that it takes no more than one part in 20 of the time, it looks closer:
    it records the loss once more, at the parameters and on the batch of a step.  It looks once more
    at the end, at one of the last steps, so that what a short run shows is not its beginning; what
    is older than the run says its step.  That changes no bit of the result, but a loss that counts
    its calls sees one more.  With `looks=False` only curves are shown.

    `save` writes what there is to see as a page; that needs no notebook.
    """

    _cold = True  # the first look imports what it needs, which says nothing of the next

    def __init__(self, looks: bool = True):
        self.looks = looks
        self._cell: Cell | None = None
        self.watch(lambda: None, 0, None)
        self._name, self._state = "", "waiting"

    # -- what train says ----------------------------------------------------------------------

    def watch(self, loss: Callable[..., Any], epochs: int, count: int | None) -> None:
        """A run begins, of this loss and so many epochs of `count` batches; what was is gone."""
        self._loss, self._epochs, self._count = loss, epochs, count
        self._name, self._state = getattr(loss, "__name__", type(loss).__name__), "running"
        self._curve = Curve()
        self._records: list[dict[str, Any]] = []
        self._seen: list[tuple[Look, list[Sign]]] = []
        self._recent: list[Look] = []
        self._looked, self._stride = 0, 1
        self._notes: list[str] = []
        self._report = self._picture = ""
        self._run: Run | None = None
        self._epoch = self._step = self._rows = 0
        self._old: tuple[Any, Any] | None = None
        self._late: tuple[Any, Any, Any, int] | None = None
        self._now, self._late_again = False, 1
        self._sent = self._look_again = self._draw_again = 0.0
        self._began = self._first = perf_counter()

    def start(self, point: Point) -> None:
        """Training goes on from this point; a notebook shows the view now."""
        self._epoch, self._step = point.epoch, point.step
        self._records = list(point.history.records)
        if in_notebook():
            from chainrule.view.training import Cell

            self._cell = Cell(self.to_data())

    def before(self, parameters: Any, batch: Any) -> None:
        """A step is about to be made, which may write into these parameters."""
        if not self.looks or self._look_again == math.inf:
            return
        self._now = perf_counter() >= self._look_again
        if self._now:
            self._old = map_leaves(np.array, parameters), batch
        elif self._step + 1 >= self._late_again:
            self._old = map_leaves(np.array, parameters), map_leaves(_copied, batch)

    def step(self, rows: int, loss: float, parameters: Any) -> None:
        """A step was made; `loss` is that before it."""
        self._step += 1
        self._curve.add(self._step, loss)
        if self._old is not None:
            (before, batch), self._old = self._old, None
            self._late_again = max(self._step + 1, math.ceil(KEPT_RATIO * self._step))
            if self._now:
                self._look(before, parameters, batch, self._step)
            else:
                self._late = before, map_leaves(np.array, parameters), batch, self._step
        if not self._rows:  # the first step is compiled, which says nothing of the next
            self._first = perf_counter()
        self._rows += rows
        if self._cell is not None and perf_counter() >= self._sent + PAUSE:
            self._send()

    def epoch(self, record: dict[str, Any], seconds: float) -> None:
        """An epoch has ended with this record."""
        self._epoch = record["epoch"]
        self._records.append(record)

    def note(self, text: str) -> None:
        """Something to be said once."""
        self._notes.append(text)

    def close(self, why: BaseException | None = None) -> None:
        """The run has ended; `why`, unless it came to its end."""
        self._state = "finished" if why is None else "failed"
        if isinstance(why, KeyboardInterrupt):
            self._state = "interrupted"
        elif why is not None:
            self._notes.append(str(why))
        if self._late is not None:
            self._look(*self._late)
        if isinstance(why, NonFiniteLoss) and why.batch:
            self._report = self._origin(why)
        self._ended = perf_counter()
        if self._cell is not None:
            self._cell.close(self._embedded())
            self._cell = None

    def _origin(self, error: NonFiniteLoss) -> str:
        """Where a loss began that is not finite; nothing where that cannot be recorded."""
        try:
            with np.errstate(all="ignore"):
                return str(find_nonfinite(self._loss, error.parameters, *error.batch))
        except ChainruleError:
            return ""

    # -- looking ------------------------------------------------------------------------------

    def _look(self, before: Any, after: Any, batch: Any, step: int) -> None:
        self._late = None
        self._run = None  # one recording is held at a time
        began = perf_counter()
        try:
            seen, self._run = look(self._loss, before, after, batch, step)
        except ChainruleError as error:  # it can be trained, so training goes on
            self._notes.append(f"it cannot be looked at: {error}")
            self._look_again = math.inf
            return
        self._recent = [*self._recent[1 - RECENT :], seen]
        self._keep(seen)
        cold, Live._cold = Live._cold, False
        done = perf_counter()
        self._look_again = done + max(PAUSE, 0 if cold else LOOKING * (done - began))

    def _keep(self, seen: Look) -> None:
        """Of many looks every second stays, then every fourth, …, and always the last."""
        if (self._looked - 1) % self._stride:
            self._seen.pop()
        self._looked += 1
        self._seen.append((seen, signs(seen, stuck(self._recent))))
        if len(self._seen) > MAX_LOOKS:
            del self._seen[1::2]
            self._stride *= 2

    # -- showing ------------------------------------------------------------------------------

    def _send(self) -> None:
        assert self._cell is not None
        began = perf_counter()
        if began >= self._draw_again:
            self._draw()
            drawn = perf_counter()
            self._draw_again = drawn + DRAWING * (drawn - began)
        self._cell.send(self.to_data(), self._picture)
        self._sent = perf_counter()

    def _draw(self) -> None:
        """Make the picture of the last look, unless it is there."""
        if self._run is not None:
            few = len(self._run.graph) <= MAX_NODES_DRAWN
            self._picture = self._run.to_svg(level="node" if few else "function")
            self._run = None

    def save(self, path: str | Path) -> Path:
        """Write what there is to see as one page that needs nothing else; the path."""
        target = Path(path)
        target.write_text(self._embedded().page, encoding="utf-8")
        return target

    def _embedded(self) -> Embedded:
        from chainrule.view.training import training_page

        self._draw()
        page = training_page(self.to_data(), self._picture)
        return Embedded(f"training of {self._name}", page)

    def _repr_html_(self) -> str:
        return self._embedded()._repr_html_()

    def to_data(self) -> dict[str, Any]:
        """What is shown, as plain JSON data; its form is described at the top of this file."""
        until = self._ended if self._state not in ("waiting", "running") else perf_counter()
        took = until - self._first
        columns = dict.fromkeys(k for r in self._records for k in r if k not in ("epoch", "step"))
        return {
            "chainrule": 1,
            "name": self._name,
            "state": self._state,
            "epoch": self._epoch,
            "epochs": self._epochs,
            "step": self._step,
            "steps": None if self._count is None else self._epochs * self._count,
            "seconds": round(until - self._began, 3),
            "rate": round(self._rows / took, 1) if took > 0 else None,
            "loss": self._curve.to_data(),
            "trend": self._curve.trend(),
            "measured": {
                "at": [r["step"] for r in self._records],
                "columns": {k: [as_json(r.get(k)) for r in self._records] for k in columns},
            },
            **self._health(),
            "notes": self._notes,
            "report": self._report,
        }

    def _health(self) -> dict[str, Any]:
        if not self._seen:
            names = ("looks", "signs", "layers", "activations", "findings")
            return {name: [] for name in names}
        last, now = self._seen[-1]
        active = stuck(self._recent)
        old = f" at step {last.step}" if last.step < self._step else ""
        histories = zip(*(found for _, found in self._seen), strict=True)
        return {
            "looks": [seen.step for seen, _ in self._seen],
            "signs": [
                sign.to_data()
                | {"history": [as_json(s.value) for s in history], "where": sign.where + old}
                for sign, history in zip(now, histories, strict=True)
            ],
            "layers": [
                {
                    "name": layer.name,
                    "count": layer.count,
                    "status": layer.status,
                    "gradient": self._history(layer.name, "gradient"),
                    "update": self._history(layer.name, "update"),
                }
                for layer in last.layers
            ],
            "activations": [vars(each) for each in active],
            "findings": [said + (old and f" ({old.strip()})") for said in findings(last, active)],
        }

    def _history(self, name: str, column: str) -> list[Any]:
        """A column of a layer over the looks; the order of layers may differ between two paths."""
        found = ({x.name: getattr(x, column) for x in seen.layers} for seen, _ in self._seen)
        return [as_json(each.get(name)) for each in found]

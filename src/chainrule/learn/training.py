"""The training loop: epochs of compiled steps, watched, saved, and resumed to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from warnings import warn

import numpy as np

import chainrule as cr
from chainrule import tree
from chainrule.errors import ArgumentError, CheckpointError, NonFiniteLoss
from chainrule.learn.batches import Batch, Batches, Source, rows_of, source_of
from chainrule.learn.checkpoints import writable
from chainrule.learn.history import History
from chainrule.learn.identity import told
from chainrule.learn.metrics import means_over
from chainrule.learn.optimisers import Optimiser
from chainrule.learn.progress import Shown, shown
from chainrule.learn.step import Alone, Scale
from chainrule.learn.store import Store

Metrics = Mapping[str, Callable[..., Any]]
Callback = Callable[[dict[str, Any], Any], Any]


@dataclass(frozen=True)
class Trained:
    """What a training run ended with.

    `best` are the parameters of `best_epoch`, which had the lowest validation loss; without
    validation, those of the end.  `stopped` says why it ended: "epochs", "patience", "callback" or
    "interrupted"; `resumed` from where it went on, or None.
    """

    parameters: Any = field(repr=False)
    state: Any = field(repr=False)
    history: History = field(repr=False)
    best: Any = field(repr=False)
    best_epoch: int
    stopped: str
    resumed: str | None = None

    @property
    def interrupted(self) -> bool:
        return self.stopped == "interrupted"

    def plot(self, path: str | Path) -> Path:
        """Draw the learning curves; see `History.plot`."""
        return self.history.plot(path)


def train(
    loss: Callable[..., Any],
    parameters: Any,
    batches: Any,
    *,
    optimiser: Optimiser,
    epochs: int,
    validation: Any = None,
    metrics: Metrics | None = None,
    patience: int | None = None,
    checkpoints: str | Path | None = None,
    keep: int = 3,
    every: int | None = None,
    resume: bool = True,
    accept: str | Collection[str] = (),
    callbacks: Iterable[Callback] = (),
    steps: int | None = None,
    progress: bool | cr.Live = True,
    seed: int = 0,
    keys: bool = False,
    compile: bool = True,
    scale: Scale | None = None,
) -> Trained:
    """Minimise `loss(parameters, *batch)` over the batches, for so many epochs.

    - `batches`: `Batches`; a tuple of arrays (then batches of 32 rows, in an order drawn from
      `seed`); or any iterable of tuples, an iterator with `steps` batches to an epoch.
    - `validation`: a tuple of arrays, `Batches` or a list of tuples, on which the loss and the
      `metrics`, functions of (parameters, *batch) by name, are measured after each epoch.
      `patience` is the number of epochs to wait for a lower validation loss.
    - `checkpoints`: a folder. A checkpoint is written after each epoch, or after `every` so many
      steps, and at the end; the `keep` newest and the best stay. If there are checkpoints in it,
      the run goes on where the newest sound one stood, and ends with the same bits as if it had
      never stopped; with `resume=False` that is an error. So is another loss, optimiser, rate or
      other data than then, unless it is in `accept`, as `accept="optimiser"`. A checkpoint that
      cannot be written is a warning, and the run goes on; if it is the last one, the run ends in
      a `CheckpointError` that has what was trained as `trained`.
    - `keys`: the loss takes a key as its last argument, for dropout and other noise, drawn from
      `seed` and the number of the step; None where it is measured.
    - `callbacks`: each is called with the record of an epoch and the parameters; True ends the run.
    - `scale`: an engine of `chainrule.scale`, whose workers compute each batch in shards. The run
      ends with the same bits on any of them, which are not those of a run without.  Under MPI the
      first rank alone writes, shows and calls back.
    - `progress`: a bar or lines, nothing (False), or a `cr.Live` that watches the run.

    The parameters passed in are not changed. Ctrl-C ends the run with what there is.
    """
    plan = Plan(epochs, patience, every, validation, dict(metrics or {}))
    source = source_of(batches, seed=seed, steps=steps)
    parameters = tree.map(_own, parameters)
    start = Point(parameters, optimiser.init(parameters), best=plan.first_best(parameters))
    quiet = (lambda p, *batch: loss(p, *batch, None)) if keys else loss
    measure = plan.measure(quiet, compile)
    if scale is not None and not hasattr(scale, "train_step"):
        raise ArgumentError(
            f"scale={scale!r}: pass an engine, as chainrule.scale.processes(4), or leave it out"
        )
    alone = scale is None
    scale = scale or Alone()
    identity = {
        "seed": seed,
        "loss": told(loss, "loss"),
        "optimiser": told(optimiser.update, "optimiser"),
        **({} if alone else {"scale": "in shards"}),
        **plan.identity(),
        **source.identity(),
    }
    run = _Run(
        plan=plan,
        source=source,
        step=scale.train_step(loss, optimiser, compile, keys),
        measure=measure,
        store=_store(checkpoints, keep, identity, accept, reads=not scale.first),
        callbacks=tuple(callbacks),
        shown=shown(progress if scale.first else False, loss, epochs, source.count),
        scale=scale,
        point=start,
        keyed=seed + 1 if keys else None,
    )
    return run.to_the_end(resume)


def _store(
    folder: str | Path | None,
    keep: int,
    identity: dict[str, Any],
    accept: str | Collection[str],
    *,
    reads: bool,
) -> Store | None:
    """Where the checkpoints of a run go, if anywhere."""
    if folder is None:
        return None
    accepted = (accept,) if isinstance(accept, str) else tuple(accept)
    return Store(writable(folder), keep, identity, accepted, reads=reads)


@dataclass(frozen=True)
class Plan:
    """How long a run goes on, when it is saved, and what is measured after an epoch."""

    epochs: int
    patience: int | None
    every: int | None
    validation: Any
    metrics: dict[str, Callable[..., Any]]

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "every"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ArgumentError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.validation is None and (self.metrics or self.patience is not None):
            raise ArgumentError(
                "metrics and patience look at the validation data: pass validation=(x, y)"
            )
        reserved = {"epoch", "step", "loss", "validation", "seconds"} & {*self.metrics}
        if reserved:
            raise ArgumentError(f"a metric cannot be called {', '.join(sorted(reserved))}")

    def first_best(self, parameters: Any) -> Any:
        """Memory for the best parameters, where there is validation to judge by."""
        return None if self.validation is None else tree.map(np.array, parameters)

    def identity(self) -> dict[str, Any]:
        """What is measured, and on which data, as `Store` compares it."""
        if self.validation is None:
            return {"validation": {}, "measured": []}
        data = source_of(self.validation, seed=0).identity().get("data", {})
        return {
            "validation": {f"validation, {name}": text for name, text in data.items()},
            "measured": ["validation", *self.metrics],
        }

    def measure(self, loss: Callable[..., Any], compile: bool) -> Callable[[Any], dict[str, float]]:
        """What is measured after an epoch, as a function of the parameters."""
        validation = self.validation
        if validation is None:
            return lambda parameters: {}
        if isinstance(validation, tuple) and all(isinstance(a, np.ndarray) for a in validation):
            validation = [validation]
        if not isinstance(validation, Batches | list) and iter(validation) is validation:
            raise ArgumentError(
                "validation must be there after each epoch: pass arrays, Batches or a list, not an "
                "iterator"
            )
        fast = cr.compile(loss) if compile and find_spec("llvmlite") is not None else loss
        functions = {"validation": fast, **self.metrics}
        return lambda parameters: means_over(functions, parameters, validation)


class Point(NamedTuple):
    """Where a run stands; replaced as a whole, so that an interrupt finds it before or after."""

    parameters: Any
    state: Any
    step: int = 0
    epoch: int = 0  # epochs that are finished
    position: int = 0  # batches seen of the epoch that is not
    total: float = 0.0  # sum of loss × rows over these
    rows: int = 0
    source: Any = None  # the state of the batches, if they have one
    history: History = History()
    best: Any = None
    best_epoch: int = 0  # 0: none yet
    stopped: str = ""  # by whom, if not by the number of epochs or by patience


@dataclass
class _Run:
    plan: Plan
    source: Source
    step: Callable[..., Any]
    measure: Callable[[Any], dict[str, float]]
    store: Store | None
    callbacks: tuple[Callback, ...]
    shown: Shown
    scale: Scale
    point: Point
    keyed: int | None  # what the keys are drawn from, if there are any
    unwritten: CheckpointError | None = None  # why the newest checkpoint is not there

    def to_the_end(self, resume: bool) -> Trained:
        resumed = self._resume(resume) if self.store else None
        self._check_together()
        self.shown.start(self.point)
        why: BaseException | None = None
        try:
            if resumed:
                self.shown.note(resumed)
            while not self._is_over():
                self._one_epoch()
        except KeyboardInterrupt as interrupt:
            why = interrupt
            if self.scale.together and not interrupt.args:  # the other processes know nothing of it
                raise
            if not _not_finite(self.point.parameters):
                self._write()
            self.point = self.point._replace(stopped="interrupted")
        except Exception as error:  # the loss and the callbacks are the user's
            why = error
            if self.store is not None and self.store.last is not None:
                error.add_note(f"Run it again to resume from {self.store.last}")
            raise
        finally:
            self.shown.close(why)
        p = self.point
        best = p.best if p.best_epoch else p.parameters
        stopped = p.stopped or ("epochs" if p.epoch >= self.plan.epochs else "patience")
        found = Trained(p.parameters, p.state, p.history, best, p.best_epoch, stopped, resumed)
        if self.unwritten is not None:
            raise CheckpointError(
                f"the run is over, but its last checkpoint is missing: {self.unwritten}.\n"
                "  What was trained is in `trained` of this error",
                found,
            ) from self.unwritten
        return found

    def _resume(self, resume: bool) -> str | None:
        assert self.store is not None
        found = self.store.newest(self.point, self.source.count)
        if found is None:
            return None
        if not resume:
            raise ArgumentError(
                f"{self.store.folder} holds checkpoints: leave out resume=False to go on from the "
                "newest, or name another folder"
            )
        how = self.source.resume(found.position, found.step, found.source)
        self.point = found
        return f"resumed after step {found.step}, in epoch {found.epoch + 1}: {how}"

    def _check_together(self) -> None:
        """Raise where the processes of one run stand at different steps."""
        step = self.scale.agreed(self.point.step)
        if step != self.point.step:
            raise CheckpointError(
                f"this process resumes after step {self.point.step}, the first one after {step}: "
                "name a folder of checkpoints that all processes see"
            )

    def _is_over(self) -> bool:
        p = self.point
        patience = self.plan.patience
        waited = patience is not None and p.epoch - p.best_epoch >= patience
        return bool(p.stopped) or p.epoch >= self.plan.epochs or waited

    def _one_epoch(self) -> None:
        began = perf_counter()
        for batch in self.source.epoch(self.point.epoch, self.point.position):
            self._one_step(batch)
        if not self.point.position:
            raise ArgumentError(f"there is no batch in epoch {self.point.epoch + 1}")
        self._end_epoch(began)

    def _one_step(self, batch: Batch) -> None:
        p = self.point
        if self.keyed is not None:
            batch = (*batch, cr.key((self.keyed << 64) + p.step))
        self.shown.before(p.parameters, batch)
        parameters, state, value = self.step(p.parameters, p.state, *batch)
        loss, rows = float(value), rows_of(batch)
        if not isfinite(loss):
            raise self._nonfinite_loss(loss, batch)
        self.point = p._replace(
            parameters=parameters,
            state=state,
            step=p.step + 1,
            position=p.position + 1,
            total=p.total + loss * rows,
            rows=p.rows + rows,
            source=self.source.state(),
        )
        self.shown.step(rows, loss, parameters)
        if self.plan.every and self.point.step % self.plan.every == 0:
            self._save()

    def _end_epoch(self, began: float) -> None:
        p = self.point
        self._refuse_nonfinite()
        record = {"epoch": p.epoch + 1, "step": p.step, "loss": p.total / p.rows}
        record.update(self.measure(p.parameters))
        seconds = perf_counter() - began
        p = p._replace(
            epoch=p.epoch + 1,
            position=0,
            total=0.0,
            rows=0,
            history=p.history.plus(record, seconds),
        )
        if "validation" in record:
            p = self._judged(p)
        self.point = p
        self.shown.epoch(record, seconds)
        called = self.callbacks if self.scale.first else ()
        answers = [callback(dict(record), p.parameters) for callback in called]
        if self.scale.agreed(any(answer is True for answer in answers)):
            self.point = p._replace(stopped="callback")
        if self.plan.every is None or self._is_over():
            self._save()

    def _judged(self, p: Point) -> Point:
        """The point, with the parameters kept if they are the best so far."""
        losses = p.history["validation"]
        lowest = losses[p.best_epoch - 1] if p.best_epoch else np.inf
        if not losses[-1] < lowest:
            return p
        return p._replace(best=tree.map(np.array, p.parameters), best_epoch=p.epoch)

    def _save(self) -> None:
        if self.store:
            self._refuse_nonfinite()
            self._write()

    def _write(self) -> None:
        """Write a checkpoint; a full disk does not end the run, which may outlast it."""
        if self.store is None:
            return
        self.unwritten = None
        try:
            self.store.save(self.point)
        except CheckpointError as error:
            self.unwritten = error
            warn(f"training goes on without a checkpoint: {error}", RuntimeWarning, stacklevel=2)

    def _nonfinite_loss(self, loss: float, batch: Batch) -> NonFiniteLoss:
        p = self.point
        where = self.source.where(p.epoch, p.position)
        head = f"the loss is {loss} at step {p.step + 1}, epoch {p.epoch + 1}: {where}."
        wrong = _not_finite(p.parameters)
        if wrong:
            return NonFiniteLoss(f"{head}\n  {self._before(wrong)}", p.parameters, batch)
        ask = (
            "to see where it began, catch this error and ask\n"
            "    cr.find_nonfinite(loss, error.parameters, *error.batch)"
        )
        return NonFiniteLoss(f"{head}\n  {ask}{self._last_good()}", p.parameters, batch)

    def _refuse_nonfinite(self) -> None:
        p = self.point
        wrong = _not_finite(p.parameters)
        if wrong:
            raise NonFiniteLoss(f"after step {p.step}, {self._before(wrong)}", p.parameters)

    def _before(self, wrong: str) -> str:
        return (
            f"the parameter {wrong} is not finite, although the loss was: a gradient is not.  To "
            f"see which, train with compile=False under cr.debug().{self._last_good()}"
        )

    def _last_good(self) -> str:
        path = self.store.last if self.store else None
        return f"\n  the last good checkpoint: {path}" if path else ""


def _own(leaf: Any) -> np.ndarray:
    """A copy, since the step writes into what it is given; whole numbers become float64."""
    array = np.array(leaf)
    if array.dtype.kind not in "iufc":
        raise cr.DTypeError(f"parameters must be numbers, got {array.dtype}")
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def _not_finite(parameters: Any) -> str:
    """Where a leaf that is not finite stands; empty if all are."""
    leaves, structure = tree.flatten(parameters)
    for leaf, path in zip(leaves, structure.paths, strict=True):
        if not np.isfinite(leaf).all():
            return path or "itself"
    return ""

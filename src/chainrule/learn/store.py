"""Where a training run stands, as a checkpoint and back."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from pathlib import Path
from typing import Any

from chainrule.errors import ArgumentError, CheckpointError
from chainrule.learn.checkpoints import newest_sound, read_checkpoint, save_checkpoint
from chainrule.learn.history import History

COUNTS = ("epoch", "position", "rows", "best_epoch")
STOPPED = ("", "callback")
# What may be another than before, if that is accepted; the columns of the history may not.
ACCEPTABLE = ("seed", "loss", "optimiser", "batches", "data", "validation", "scale")
MOST_SAID, LONGEST = 5, 120  # differences in an error, and characters of each


class Store:
    """The folder of one run's checkpoints.

    `identity` is what must be the same for the run to go on, but for what is in `accept`: its seed,
    loss, optimiser, batches and data.  One that only `reads` leaves writing to another process.
    """

    def __init__(
        self,
        folder: Path,
        keep: int,
        identity: dict[str, Any],
        accept: Collection[str] = (),
        reads: bool = False,
    ):
        self.reads = reads
        self.folder, self.keep, self.identity, self.accept = folder, keep, identity, accept
        if not {*accept} <= {*ACCEPTABLE}:
            possible = ", ".join(ACCEPTABLE)
            raise ArgumentError(f"accept={accept!r}: what can be accepted is {possible}")
        self.last: Path | None = None  # the newest that this run wrote or read

    def save(self, point: Any) -> None:
        """Write a checkpoint of where the run stands."""
        if self.reads:
            return
        at_the_end = point.history.records[-1:] if point.position == 0 else ()
        self.last = save_checkpoint(
            self.folder,
            _tree(point),
            step=point.step,
            keep=self.keep,
            score=at_the_end[0].get("validation") if at_the_end else None,
            run=self.identity,
            total=_written(point.total),
            source=point.source,
            stopped=point.stopped,
            history=[{k: _written(v) for k, v in r.items()} for r in point.history.records],
            seconds=list(point.history.seconds),
            **{name: getattr(point, name) for name in COUNTS},
        )

    def newest(self, like: Any, count: int | None) -> Any:
        """The point of the newest sound checkpoint, in the containers of `like`; None if none."""
        return newest_sound(self.folder, lambda path: self._point(path, like, count))

    def _point(self, path: Path, like: Any, count: int | None) -> Any:
        try:
            found = read_checkpoint(path, _tree(like))
        except CheckpointError:
            # If it is sound in itself, it is better known what differs than that it does not fit.
            self._check_run(read_checkpoint(path).meta.get("run"), path)
            raise
        self._check_run(found.meta.get("run"), path)
        try:
            fields = _fields(found.meta, count)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CheckpointError(
                f"{path.name} is refused: it is not of a training run ({error!r:.100})"
            ) from None
        self.last = path
        return like._replace(**found.tree, step=found.step, **fields)

    def _check_run(self, then: Any, path: Path) -> None:
        """Raise where the checkpoint is of a run that differs in what is not accepted."""
        if not isinstance(then, dict):
            raise CheckpointError(f"{path.name} is refused: it does not say of which run it is")
        now = self.identity
        names = [n for n in {**now, **then} if n not in self.accept and then.get(n) != now.get(n)]
        if names:
            said = [each for name in names for each in _differing(name, then, now)]
            more = [f"and {len(said) - MOST_SAID} more"] if len(said) > MOST_SAID else []
            cure = f"Train as then, or name another folder than {self.folder}"
            if {*names} <= {*ACCEPTABLE}:
                cure += f"; accept={tuple(sorted({*names, *self.accept}))} goes on all the same"
            raise ArgumentError(
                f"{path.name} is of another run: {', '.join(said[:MOST_SAID] + more)}.  {cure}"
            )


def _tree(point: Any) -> dict[str, Any]:
    return {"parameters": point.parameters, "state": point.state, "best": point.best}


def _fields(meta: dict[str, Any], count: int | None) -> dict[str, Any]:
    """The fields of a point that are not arrays; raises where one is not what it must be."""
    fields = {name: meta[name] for name in COUNTS}
    if not all(type(value) is int and value >= 0 for value in fields.values()):
        raise ValueError("a count is not a whole number")
    records = tuple({k: _read(v) for k, v in record.items()} for record in meta["history"])
    seconds = tuple(map(float, meta["seconds"]))
    epochs = range(1, fields["epoch"] + 1)
    if [record["epoch"] for record in records] != [*epochs] or len(seconds) != len(records):
        raise ValueError("the history is not that of its epochs")
    if len({tuple(record) for record in records}) > 1:
        raise ValueError("the records of the history differ in their columns")
    if fields["best_epoch"] > fields["epoch"] or meta["stopped"] not in STOPPED:
        raise ValueError("the best epoch is in the future, or why it stopped is unknown")
    if count is not None and fields["position"] > count:
        raise ValueError(f"it stands at batch {fields['position']} of {count}")
    return {
        **fields,
        "total": float(_read(meta["total"])),
        "source": meta["source"],
        "stopped": meta["stopped"],
        "history": History(records, seconds),
    }


def _written(value: Any) -> Any:
    """A number as JSON, which has no word for NaN."""
    return repr(value) if isinstance(value, float) and not isfinite(value) else value


def _read(value: Any) -> float | int:
    if type(value) in (int, float):
        return value
    if value not in ("nan", "inf", "-inf"):
        raise ValueError(f"{value!r:.80} is not a number")
    return float(value)


def _differing(name: str, then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What has changed of one thing; the parts of it that have, where it has parts."""
    old, new = then.get(name), now.get(name)
    if isinstance(old, dict) and isinstance(new, dict):
        parts = [part for part in {**new, **old} if old.get(part) != new.get(part)]
        return [each for part in parts for each in _differing(part, old, new)]
    return [f"{_said(name)} was {_said(old)}, is {_said(new)}"]


def _said(value: Any) -> str:
    """What a file holds, in a few characters that can be printed."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value[:9]) or None
    if not isinstance(value, str | int | float):
        return "nothing" if value is None else "something"
    text = str(value)[:LONGEST]
    return text if text.isprintable() else ascii(text)

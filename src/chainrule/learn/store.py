"""Where a training run stands, as a checkpoint and back."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from chainrule.errors import ArgumentError, CheckpointError
from chainrule.learn.checkpoints import newest_sound, read_checkpoint, save_checkpoint
from chainrule.learn.history import History

COUNTS = ("epoch", "position", "rows", "best_epoch")
STOPPED = ("", "callback")


class Store:
    """The folder of one run's checkpoints.

    `identity` is what must be the same for the run to go on: its seed, optimiser and batches.
    """

    def __init__(self, folder: Path, keep: int, identity: dict[str, Any]):
        self.folder, self.keep, self.identity = folder, keep, identity
        self.last: Path | None = None  # the newest that this run wrote or read

    def save(self, point: Any) -> None:
        """Write a checkpoint of where the run stands."""
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
        found = read_checkpoint(path, _tree(like))
        try:
            fields = _fields(found.meta, count)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CheckpointError(
                f"{path.name} is refused: it is not of a training run ({error!r:.100})"
            ) from None
        if found.meta["run"] != self.identity:
            raise ArgumentError(
                f"{path} was written by another run: {_differing(found.meta['run'], self.identity)}"
                ".  Name another folder, or train as then"
            )
        self.last = path
        return like._replace(**found.tree, step=found.step, **fields)


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


def _differing(then: Any, now: dict[str, Any]) -> str:
    if not isinstance(then, dict):
        return "its description is damaged"
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return ", ".join(f"{name} was {then.get(name)!r}, is {now.get(name)!r}" for name in names)

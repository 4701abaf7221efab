"""What runs in another process: it unpacks, computes, and returns what can travel back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from chainrule.scale.carry import packed, unpacked, unpacked_once
from chainrule.scale.failing import Failure, failure_of
from chainrule.scale.shards import Cut, Source
from chainrule.scale.task import Task


def packed_task(task: Task) -> tuple[bytes, bytes]:
    """The work and its arguments as messages."""
    return packed(task.work, "the loss"), packed(task.args, "the parameters")


def worker_name() -> str:
    """This process as reports and errors name it."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            return f"worker {distributed.get_worker().name}"
        except ValueError:  # not in a worker of Dask's
            pass
    return f"process {os.getpid()}"


def share(work: bytes, args: bytes, part: bytes, low: int, high: int, *arrays: Any) -> Any:
    """A `Share` of the shards from low to high, or a `Failure`."""

    def run() -> Any:
        source = _source(part, arrays)
        evaluator = unpacked_once(work).evaluator
        return evaluator.share(unpacked(args), source, low, high, worker_name())

    return _tried(run, low, f"shards {low} to {high - 1}")


def results(work: bytes, args: bytes, part: bytes, low: int, high: int, *arrays: Any) -> Any:
    """The results of the shards from low to high, or a `Failure`."""

    def run() -> Any:
        evaluator = unpacked_once(work).evaluator
        return _travelling(evaluator.results(unpacked(args), _source(part, arrays), low, high))

    return _tried(run, low, f"shards {low} to {high - 1}")


def mapped(function: bytes, items: bytes, first: int) -> Any:
    """What a function gives for items of a list, the first of which has this number."""
    number = first
    try:
        f, found = unpacked_once(function), []
        for item in unpacked(items):
            found.append(f(item))
            number += 1
        return _travelling(found)
    except Exception as error:  # noqa: BLE001 - the exception itself may be unable to travel
        return failure_of(error, number, f"item {number}", worker_name())


def flattened(found: Sequence[list[Any] | Failure]) -> list[Any]:
    """Lists of results as one, if no worker failed."""
    for each in found:
        if isinstance(each, Failure):
            raise each.error()
    return [result for each in found if isinstance(each, list) for result in each]


def _source(part: bytes, arrays: Sequence[Any]) -> Source:
    source: Source = unpacked(part)
    return source.filled(arrays) if isinstance(source, Cut) and arrays else source


def _tried(run: Callable[[], Any], low: int, where: str) -> Any:
    try:
        return run()
    except Exception as error:  # noqa: BLE001 - the exception itself may be unable to travel
        return failure_of(error, low, where, worker_name())


def _travelling(found: list[Any]) -> list[Any]:
    """Results, once it is sure that they can travel back."""
    packed(found, "what the function returns")
    return found

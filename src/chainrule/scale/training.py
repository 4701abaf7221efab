"""The step of `learn.train` on an engine: the gradient of a batch in shards, then the update."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import chainrule as cr
from chainrule.scale.report import Report
from chainrule.scale.shards import source_of
from chainrule.scale.task import Adds, Task
from chainrule.scale.work import Work, own, placed

SHARDS = 16  # of a batch; more workers than these would have nothing to do


class Step:
    """`step(parameters, state, *batch)`, as `learn.make_step` makes it, with the same update.

    The parameters and the state are donated to it.  Where each process runs the program, each
    updates its own copy, from the same sum by the same code: the copies have the same bits, and
    the next pass checks it.
    """

    def __init__(
        self, engine: Adds, loss: Callable[..., Any], optimiser: Any, compile: bool, keyed: bool
    ):
        self.engine, self.keyed = engine, keyed
        self.work = Work(loss, "gradient", mean=True, keyed=keyed, compile=compile)
        compiled = compile and find_spec("llvmlite") is not None
        update = optimiser.update
        self.update = cr.compile(update, donate=(0, 2)) if compiled else update
        self.report = Report(engine.name)

    def __call__(self, parameters: Any, state: Any, *batch: Any) -> tuple[Any, Any, Any]:
        rows, keys = (batch[:-1], batch[-1:]) if self.keyed else (batch, ())

        def make() -> Task:
            shards = min(SHARDS, len(rows[0])) if rows else None
            return Task(self.work, (*own((parameters,)), *keys), source_of(rows, shards))

        found = self.engine.add(make)
        self.report = self.report.plus(found.spent)
        value, gradient = placed(found.vector / found.rows, found.layout)
        parameters, state = self.update(parameters, gradient, state)
        return parameters, state, value

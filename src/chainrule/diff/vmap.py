"""vmap: a function of one example, called once on many.

`if` and `while` mean what they mean for each of them alone.  One lane is recorded on its own
values and replayed on all (`diff.lanes`); lanes for which Python code read something else go on
as a group of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.diff.batch import Batch, BatchReport
from chainrule.diff.lane_axes import Axes
from chainrule.errors import ArgumentError


def vmap(
    f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0, chunk: int | None = None
) -> Callable[..., Any]:
    """f for many examples at once: arrays get an axis of them, and f is written for one.

    `in_axes` says for each argument (or each leaf of a container) which axis counts the examples,
    None for what they share; `out_axes` where that axis stands in the results.  Keyword arguments
    that are arrays are mapped along their first axis.  `chunk` is how many examples are computed at
    a time, to bound the memory.

    Python's `if`, `while`, `float(x)` and `try` mean for each example what they mean alone:
    examples that take another branch are computed apart, and none runs what it would not have run.

    >>> cr.vmap(lambda x: np.sin(x) if x > 0 else x**2)(np.array([-2.0, 0.0, 1.0]))
    array([4.        , 0.        , 0.84147098])
    """
    if chunk is not None and (not isinstance(chunk, (int, np.integer)) or chunk < 1):
        raise ArgumentError(f"vmap: chunk={chunk!r} must be a whole number of lanes, at least 1")
    last = BatchReport()

    @wraps(f, updated=())
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal last
        last = BatchReport()
        batch = Batch.of(f, args, kwargs, in_axes)
        return batch.mapped(out_axes, chunk, last)

    def report() -> str:
        """How the last call went: lanes, groups, and ops that work lane by lane."""
        return str(last)

    return with_report(vmapped, report)


def with_report(f: Any, report: Callable[[], str]) -> Any:
    """The function f, of which `f.report()` says how its last call went."""
    f.report = report
    return f

"""What comes of an operation, as one number: the shapes of its results, or the error it raises.

The compiler guards by it where no other number decides a shape, and where an error was caught.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from chainrule.core.op import OPS, Sample, sample
from chainrule.core.spec import Spec
from chainrule.ops.define import ZERO, rules

RETURNED = np.int64(0)  # where only `errors` are asked for, and there is none


def _outcome(
    *xs: Any,
    op: str = "sin",
    settings: Any = None,
    errors: bool = False,
    by_lane: tuple[bool, ...] = (),
) -> Any:
    """The number of one call; or, where some operands have lanes in front, one for each lane."""
    if not any(by_lane):
        return _of_one(xs, op, settings, errors)
    count = len(xs[by_lane.index(True)])
    lanes = ([x[k] if on else x for x, on in zip(xs, by_lane, strict=True)] for k in range(count))
    return np.array([_of_one(lane, op, settings, errors) for lane in lanes], np.int64)


def _batched(call: Any) -> Any:
    """One node for all lanes; None where lanes lie in lanes, which are gone through one by one."""
    if any(call.attrs["by_lane"]):
        return None
    by_lane = tuple(map(call.on, range(len(call.args))))
    return call.call(*map(call.raw, range(len(call.args))), by_lane=by_lane)


def _spec(*xs: Any, by_lane: tuple[bool, ...] = (), **settings: Any) -> Spec:
    lanes = xs[by_lane.index(True)].shape[:1] if any(by_lane) else ()
    return Spec(lanes, np.dtype(np.int64))


def _of_one(xs: Any, op: str, settings: Any, errors: bool) -> Any:
    try:
        with np.errstate(all="ignore"):
            results = OPS[op].forward(*xs, **(settings or {}))
    except Exception as error:  # noqa: BLE001 - whatever it raises is the outcome
        text = f"raises {type(error).__name__}"
    else:
        if errors:
            return RETURNED
        parts = results if isinstance(results, tuple) else (results,)
        text = f"has shapes {[np.shape(part) for part in parts]}"
    return np.int64(
        int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)
    )


def _samples() -> list[Sample]:
    return [
        sample(np.array([1.0, 2.0]), op="sin"),
        sample(np.eye(2), op="cholesky"),
        sample(-np.eye(2), op="cholesky"),
        sample(np.array([True, False]), op="nonzero"),
        sample(np.stack([np.eye(2), -np.eye(2)]), op="cholesky", by_lane=(True,)),
    ]


outcome = rules(
    "outcome",
    _outcome,
    inputs=("xs",),
    variadic=True,
    fixed_from=0,
    derivative=ZERO,
    samples=_samples,
    spec=_spec,
    batch=_batched,
    doc="A number that tells the shapes of an op's results, or the error that it raises.",
)

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


def _outcome(*xs: Any, op: str = "sin", settings: Any = None, errors: bool = False) -> Any:
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
    ]


outcome = rules(
    "outcome",
    _outcome,
    inputs=("xs",),
    variadic=True,
    fixed_from=0,
    derivative=ZERO,
    samples=_samples,
    spec=lambda *xs, **settings: Spec((), np.dtype(np.int64)),
    doc="A number that tells the shapes of an op's results, or the error that it raises.",
)

"""A drop-in `numpy`: `import chainrule.numpy as np` and creation functions take Variables too.

Every NumPy function already works on Variables through NumPy's own protocols, so this module is
NumPy's namespace with the few functions replaced that NumPy does not dispatch.  The ops NumPy has
no name for (softmax, logsumexp, erf …) are here as well.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from chainrule.core.op import OPS as _OPS
from chainrule.record.creation import (
    array,
    asarray,
    empty,
    empty_like,
    full,
    full_like,
    geomspace,
    linspace,
    logspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)

asanyarray = ascontiguousarray = asarray

__all__ = [
    "array", "asanyarray", "asarray", "ascontiguousarray", "empty", "empty_like", "full",
    "full_like", "geomspace", "linspace", "logspace", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if hasattr(_numpy, name):
        return getattr(_numpy, name)
    if name in _OPS:
        return _OPS[name]
    raise AttributeError(f"neither numpy nor chainrule has {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_OPS, *dir(_numpy)})

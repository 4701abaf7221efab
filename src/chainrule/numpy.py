"""A drop-in `numpy`: `import chainrule.numpy as np` and creation functions take Variables too.

Every NumPy function already works on Variables through NumPy's own protocols, so this module is
NumPy's namespace with the few functions replaced that NumPy does not dispatch, and the others
taught to look into lists: NumPy does not, so `np.mean([x[0], x[1]])` would never ask us.  The ops
NumPy has no name for (softmax, logsumexp, erf …) are here as well.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from chainrule.core.op import OPS as _OPS
from chainrule.record.creation import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    copy,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    identity,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from chainrule.record.creation import looking_into_lists as _looking_into_lists
from chainrule.record.protocol import op_of as _op_of

__all__ = [
    "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "copy", "empty",
    "empty_like", "eye", "full", "full_like", "identity", "linspace", "ones", "ones_like",
    "zeros", "zeros_like",
]  # fmt: skip
_Dispatched = type(_numpy.mean)
_taught: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name in _taught:
        return _taught[name]
    if hasattr(_numpy, name):
        found = getattr(_numpy, name)
        if isinstance(found, _Dispatched) and _op_of(found) is not None:
            found = _taught[name] = _looking_into_lists(found)
        return found
    if name in _OPS:
        return _OPS[name]
    raise AttributeError(f"neither numpy nor chainrule has {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_OPS, *dir(_numpy)})

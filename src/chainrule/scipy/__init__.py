"""SciPy's names on Variables: `from chainrule import scipy`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ROOMS = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "spatial", "special", "stats",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return import_module(f"chainrule.scipy.{name}")
    raise AttributeError(
        f"module 'chainrule.scipy' has no attribute {name!r}; it has {', '.join(ROOMS)}"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *ROOMS})

"""SciPy's names on Variables: `from chainrule import scipy`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from chainrule.errors import UnsupportedAttributeError

ROOMS = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "spatial", "special", "stats",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """A submodule, imported when it is first asked for."""
    if name in ROOMS:
        return import_module(f"chainrule.scipy.{name}")
    raise UnsupportedAttributeError(f"chainrule.scipy has no {name!r}; it has {', '.join(ROOMS)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *ROOMS})

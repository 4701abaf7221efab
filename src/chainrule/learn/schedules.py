"""Learning rates η(t) as functions of the step number t, which starts at 0.

A schedule computes with t and never branches on it in Python, so a compiled step is recorded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import chainrule as cr

Schedule: TypeAlias = Callable[[Any], Any]


def constant(rate: float) -> Schedule:
    """η(t) = rate."""
    _positive("constant", rate=rate)
    return lambda t: rate


def inverse_time(rate: float, decay: float) -> Schedule:
    """η(t) = rate / (1 + decay · t): the sum diverges, that of squares not (Robbins & Monro)."""
    _positive("inverse_time", rate=rate, decay=decay)
    return lambda t: rate / (1.0 + decay * t)


def exponential(rate: float, decay: float) -> Schedule:
    """η(t) = rate · decayᵗ."""
    _positive("exponential", rate=rate, decay=decay)
    return lambda t: rate * decay**t


def step_decay(rate: float, every: int, factor: float = 0.1) -> Schedule:
    """η(t) = rate · factorᵏ, k how often `every` steps are complete."""
    _positive("step_decay", rate=rate, factor=factor)
    _count("step_decay", every=every)
    return lambda t: rate * factor ** np.floor(t / every)


def cosine(rate: float, steps: int, warmup: int = 0) -> Schedule:
    """Rises to `rate` in `warmup` steps, then falls as half a cosine to 0 at `steps`; 0 from there.

    The first of the rising steps is rate / warmup (Loshchilov & Hutter 2017).
    """
    _positive("cosine", rate=rate)
    _count("cosine", steps=steps)
    if not 0 <= warmup < steps:
        raise cr.ArgumentError(
            f"cosine(steps={steps}, warmup={warmup}): warmup must be in 0…steps-1"
        )

    def schedule(t: Any) -> Any:
        done = np.minimum((t - warmup) / (steps - warmup), 1.0)
        falling = rate * (0.5 + 0.5 * np.cos(np.pi * done))
        return np.where(t < warmup, rate * (t + 1.0) / warmup, falling) if warmup else falling

    return schedule


def _positive(name: str, **numbers: float) -> None:
    for key, value in numbers.items():
        if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
            raise cr.ArgumentError(f"{name}({key}={value!r}): must be a number, not negative")


def _count(name: str, **numbers: int) -> None:
    for key, value in numbers.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise cr.ArgumentError(
                f"{name}({key}={value!r}): must be a whole number of steps, 1 or more"
            )

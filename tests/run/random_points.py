"""The numbers that random programs are called with, and what alters their outside state."""

from __future__ import annotations

import random

LENGTH = 4
CHANGES = [
    'state["scale"] = 1.0 + 0.25 * k',
    'state["flag"] = not state["flag"]',
    'state["table"][k % 4] = 0.5 * k',
    'state["box"].scale = 1.0 - 0.5 * k',
    'state["deep"][1]["value"] = -0.5 * k',
    'state["counts"].append(k)',
    'state["words"][0] = "b"',
    'state["on"] = 0.5',
    "globals()['SCALE'] = 1.0 + 0.3 * k",
]


def values(rng: random.Random, mode: str) -> str:
    """The numbers of an array, as text."""
    draw = rng.gauss
    if mode == "tie":
        numbers = [rng.choice([-1.0, 0.0, 0.0, 0.5, 0.5, 1.0]) for _ in range(LENGTH)]
    elif mode == "positive":
        numbers = [round(abs(draw(0, 1)) + 0.1, 3) for _ in range(LENGTH)]
    elif mode == "negative":
        numbers = [round(-abs(draw(0, 1)) - 0.1, 3) for _ in range(LENGTH)]
    else:
        numbers = [round(draw(0, 1.2), 3) for _ in range(LENGTH)]
    if mode == "nan":
        numbers[rng.randrange(LENGTH)] = float("nan")
    return repr(numbers)

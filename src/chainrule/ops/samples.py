"""Test inputs that many ops share: drawn once from a fixed seed, made only when asked for."""

from __future__ import annotations

import numpy as np

from chainrule.core.op import Sample, Samples, sample

SHAPES = ((), (3,), (2, 3), (0,), (2, 1, 3))
BROADCAST = (((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((0,), (1,)))

Range = tuple[float, float]


def draw(shape: tuple[int, ...], low: float, high: float, seed: int = 0) -> np.ndarray:
    """Uniform numbers in [low, high), float64, the same on every machine."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def within(low: float, high: float, complex_too: bool = False) -> Samples:
    """Samples of a unary op whose domain is [low, high)."""

    def samples() -> list[Sample]:
        found = [sample(draw(s, low, high)) for s in SHAPES]
        found.append(sample(draw((4,), low, high).astype(np.float32)))
        if complex_too:
            found.append(sample(draw((3,), low, high) + 1j * draw((3,), 0.2, 0.9, seed=1)))
        return found

    return samples


def pairs_within(first: Range, second: Range, complex_too: bool = False) -> Samples:
    """Samples of a binary op, broadcasting included, each operand within its own interval."""

    def samples() -> list[Sample]:
        found = [sample(draw(a, *first), draw(b, *second, seed=1)) for a, b in BROADCAST]
        found.append(
            sample(
                draw((3,), *first).astype(np.float32),
                draw((3,), *second, seed=1).astype(np.float32),
            )
        )
        if complex_too:
            found.append(
                sample(
                    draw((3,), *first) + 1j * draw((3,), 0.2, 0.9, seed=2),
                    draw((3,), *second, seed=1) - 1j * draw((3,), 0.2, 0.9, seed=3),
                )
            )
        return found

    return samples


def points(*values: float) -> Samples:
    """One sample per listed point, for the edges of a domain."""
    return lambda: [sample(np.float64(v)) for v in values]


def point_pairs(*values: tuple[float, float]) -> Samples:
    return lambda: [sample(np.float64(a), np.float64(b)) for a, b in values]


def of_orders(first: Range, second: Range, narrow: Range) -> Samples:
    """Samples of a derivative of a given order, from these ranges: two orders, and float32."""
    return lambda: [
        sample(draw((3,), *first), order=1),
        sample(draw((2, 2), *second), order=2),
        sample(draw((2,), *narrow).astype(np.float32), order=1),
    ]


def joined(*sources: Samples) -> Samples:
    return lambda: [s for source in sources for s in source()]


reals = within(-2.0, 2.0)
holomorphic = within(-1.5, 1.5, complex_too=True)
positives = within(0.2, 3.0)
pairs = pairs_within((-2.0, 2.0), (-2.0, 2.0))

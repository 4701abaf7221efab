"""Polynomials close to minimax whose coefficients are numbers of float64 or float32."""

from collections.abc import Callable, Sequence

import numpy as np
from mpmath import lu_solve, matrix, mp, mpf

Function = Callable[[mpf], mpf]

NODES_PER_COEFFICIENT = 12


def polynomial(
    function: Function,
    low: float,
    high: float,
    degree: int,
    dtype: str,
    weight: Function | None = None,
    fixed: Sequence[float] = (),
    twofold: bool = False,
) -> tuple[tuple[float, ...], float]:
    """Coefficients, lowest first, and the largest weighted error on [low, high].

    `twofold`: the first one comes in two parts, so that its rounding does not count.

    `fixed` are the first coefficients where they are given. The others are rounded one by one,
    lowest first, and those still free are fitted anew after each, so that the rest makes a rounding
    good. Least squares on Chebyshev's points is within a factor of two of the smallest largest
    error, and has no exchange to go astray when a rounding leaves a residual without alternation.
    """
    with mp.workprec(200):
        nodes = _nodes(mpf(low), mpf(high), NODES_PER_COEFFICIENT * (degree + 1))
        weights = [abs(weight(x) if weight else 1 / function(x)) for x in nodes]
        rest = [function(x) for x in nodes]
        kept: list[float] = []
        for power in range(degree + 1):
            if power < len(fixed):
                numbers = [float(fixed[power])]
            else:
                exact = _least_squares(nodes, rest, weights, power, degree)
                numbers = [_rounded(exact, dtype)]
                if twofold and power == 0:
                    numbers.append(_rounded(exact - mpf(numbers[0]), dtype))
            kept += numbers
            number = sum(map(mpf, numbers))
            rest = [y - number * x**power for x, y in zip(nodes, rest, strict=True)]
        error = max(abs(w * y) for w, y in zip(weights, rest, strict=True))
    return tuple(kept), float(error)


def _nodes(low: mpf, high: mpf, count: int) -> list[mpf]:
    """Chebyshev's points: denser at both ends, without the ends themselves."""
    return [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count))
        for i in range(count)
    ]


def _least_squares(
    nodes: list[mpf], values: list[mpf], weights: list[mpf], first: int, last: int
) -> mpf:
    """The coefficient of x^first in the best combination of x^first … x^last."""
    size = last - first + 1
    # The normal equations lose half of the digits, of which there are enough.
    moments = [mpf(0)] * (2 * size - 1)
    target = matrix(size, 1)
    for x, y, w in zip(nodes, values, weights, strict=True):
        term = w * w * x ** (2 * first)
        seen = w * w * x**first * y
        for j in range(2 * size - 1):
            moments[j] += term
            term *= x
        for j in range(size):
            target[j] += seen
            seen *= x
    system = matrix(size, size)
    for i in range(size):
        for j in range(size):
            system[i, j] = moments[i + j]
    return lu_solve(system, target)[0]


def _rounded(number: mpf, dtype: str) -> float:
    return float(number) if dtype == "f64" else float(np.float32(float(number)))

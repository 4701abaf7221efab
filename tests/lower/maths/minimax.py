"""Minimax polynomials whose coefficients are numbers of float64 or float32, by Remez exchange."""

from collections.abc import Callable, Sequence

import numpy as np
from mpmath import lu_solve, matrix, mp, mpf

Function = Callable[[mpf], mpf]

NODES_PER_COEFFICIENT = 40
EXCHANGES = 12


def polynomial(
    function: Function,
    low: float,
    high: float,
    degree: int,
    dtype: str,
    weight: Function | None = None,
    fixed: Sequence[float] = (),
) -> tuple[list[float], float]:
    """Coefficients, lowest first, and the largest weighted error on [low, high].

    `fixed` are the first coefficients where they are given. The others are rounded one by one, lowest
    first, and those still free are fitted anew after each, so that a rounding is made good by the rest.
    """
    with mp.workprec(160):
        weight = weight or (lambda x: 1 / function(x))
        nodes = _nodes(mpf(low), mpf(high), NODES_PER_COEFFICIENT * (degree + 1))
        weights = [weight(x) for x in nodes]
        rest = [function(x) for x in nodes]
        kept: list[float] = []
        for power in range(degree + 1):
            if power < len(fixed):
                number = float(fixed[power])
            else:
                number = _rounded(_fit(nodes, rest, weights, power, degree)[0], dtype)
            kept.append(number)
            rest = [y - mpf(number) * x**power for x, y in zip(nodes, rest, strict=True)]
        error = max(abs(w * y) for w, y in zip(weights, rest, strict=True))
    return kept, float(error)


def _nodes(low: mpf, high: mpf, count: int) -> list[mpf]:
    """Chebyshev's points, denser at both ends, without the ends themselves."""
    return [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count))
        for i in range(count)
    ]


def _fit(
    nodes: list[mpf], values: list[mpf], weights: list[mpf], first: int, last: int
) -> list[mpf]:
    """Coefficients of x^first … x^last with the least largest weighted error on the nodes."""
    size = last - first + 1
    chosen = [round(i * (len(nodes) - 1) / size) for i in range(size + 1)]
    powers = [[x ** (first + j) for j in range(size)] for x in nodes]
    coefficients: list[mpf] = []
    for _ in range(EXCHANGES):
        system, target = matrix(size + 1, size + 1), matrix(size + 1, 1)
        for row, i in enumerate(chosen):
            for j in range(size):
                system[row, j] = powers[i][j]
            system[row, size] = (-1) ** row / weights[i]
            target[row] = values[i]
        solution = lu_solve(system, target)
        coefficients = [solution[j] for j in range(size)]
        errors = [
            w * (sum((c * p for c, p in zip(coefficients, row, strict=True)), mpf(0)) - y)
            for w, row, y in zip(weights, powers, values, strict=True)
        ]
        better = _alternating(errors, size + 1)
        if better is None or better == chosen:
            break
        chosen = better
    return coefficients


def _alternating(errors: list[mpf], count: int) -> list[int] | None:
    """Where the error is largest within each run of one sign, the `count` neighbours most in need."""
    peaks: list[int] = []
    for i, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    if len(peaks) < count:
        return None
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def _rounded(number: mpf, dtype: str) -> float:
    return float(number) if dtype == "f64" else float(np.float32(float(number)))

"""Where a function is tried: all magnitudes, the usual range, and where it is difficult."""

from __future__ import annotations

from functools import cache

import numpy as np
from mpmath import mp

from chainrule.lower.maths import FUNCTIONS
from tests.lower.maths.machine import DTYPES

INTEGERS = {"f64": np.int64, "f32": np.int32}
MANTISSA = {"f64": 53, "f32": 24}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5)

# Where a result overflows, underflows, changes its formula or has a zero; both signs are tried.
EDGES: dict[str, tuple[float, ...]] = {
    "exp": (709.7827128933841, 708.396, 745.1332191019412, 88.72284, 87.33655, 103.972084),
    "exp2": (1024.0, 1022.0, 1074.0, 1075.0, 128.0, 126.0, 149.0, 150.0),
    "expm1": (0.34657, 1.0397, 709.7827128933841, 88.72284, 37.43, 17.33),
    "log": (1.0, 0.70710678, 1.41421356, 2.0),
    "log2": (1.0, 0.70710678, 1.41421356, 2.0),
    "log10": (1.0, 0.70710678, 1.41421356, 10.0, 1000.0),
    "log1p": (1.0, 0.41421356, 0.29289322, 9007199254740992.0),
    "sinh": (1.0, 710.4758600739439, 89.415985),
    "cosh": (1.0, 710.4758600739439, 89.415985),
    "tanh": (0.549, 18.7, 19.06, 9.01),
    "sigmoid": (36.7, 708.4, 745.13, 17.3, 88.7, 103.9),
    "softplus": (36.7, 708.4, 745.13, 17.3, 88.7, 103.9),
    "erf": (0.5, 1.0, 3.9, 5.92),
    "erfc": (0.5, 2.5, 26.54, 27.226, 9.19, 10.05),
    "arcsin": (0.5, 1.0),
    "arccos": (0.5, 1.0),
    "arctan": (1.0, 2.0**53),
    "arcsinh": (0.4, 1.0, 2.0**28, 2.0**13),
    "arccosh": (1.0, 2.0, 2.0**28, 2.0**13),
    "arctanh": (0.2, 0.5, 1.0),
    "lgamma": (0.75, 1.0, 2.0, 2.5, 8.0, 2.5e305, 4.08e36),
    "digamma": (1.0, 1.4616321449683623, 2.25),
    "cbrt": (1.0, 8.0, 27.0, 0.70710678),
}

# Between their poles below 0 these have zeros where no bound in ulp holds.
ON_POSITIVE = ("lgamma", "digamma")


def points(name: str, dtype: str, count: int, seed: int = 0) -> list[np.ndarray]:
    """About `count` points for each argument, finite but for none."""
    draw = np.random.default_rng(seed)
    if FUNCTIONS[name].arguments == 1:
        found = [_spread(dtype, count, draw), _edges(name, dtype, count // 8, draw)]
        if name in ("sin", "cos", "tan"):
            found.append(near_quarter_turns(dtype, max(1, 40_000 // count)))
        values = _finite(np.concatenate(found))
        return [np.abs(values[values != 0]) if name in ON_POSITIVE else values]
    pairs = [draw.permutation(_spread(dtype, count, draw))[: count // 2] for _ in range(2)]
    if name == "pow":
        # Most pairs overflow, so these are chosen by their result.
        logarithm = draw.uniform(-1, 1, count // 2) * 2.0 ** draw.uniform(-30, 10, count // 2)
        limit = {"f64": 1080, "f32": 155}[dtype]
        base, exponent = np.exp2(logarithm), draw.uniform(-limit, limit, count // 2) / logarithm
        pairs = [np.concatenate(both) for both in zip(pairs, (base, exponent), strict=True)]
    with np.errstate(all="ignore"):
        x, y = (values.astype(DTYPES[dtype]) for values in pairs)
    usable = np.isfinite(x) & np.isfinite(y)
    return [x[usable], y[usable]]


def _spread(dtype: str, count: int, draw: np.random.Generator) -> np.ndarray:
    """Random patterns (every magnitude, subnormals too), usual numbers, and numbers around 1."""
    kind, part = INTEGERS[dtype], count // 4
    limits = np.iinfo(kind)
    patterns = _finite(draw.integers(limits.min, limits.max, part, kind).view(DTYPES[dtype]))
    tiny = draw.integers(0, 1 << (MANTISSA[dtype] - 1), part // 8, kind).view(DTYPES[dtype])
    usual = draw.uniform(-1, 1, part) * draw.choice([1, 4, 30, 800], part)
    around_one = 1 + draw.normal(size=part) * 2.0 ** draw.uniform(-MANTISSA[dtype], 0, part)
    moderate = draw.choice([-1, 1], part) * 2.0 ** draw.uniform(-32, 12, part)
    return np.concatenate(
        [patterns, tiny, *(a.astype(DTYPES[dtype]) for a in (usual, around_one, moderate))]
    )


def _edges(name: str, dtype: str, count: int, draw: np.random.Generator) -> np.ndarray:
    """Numbers within a few hundred steps of each edge, of both signs."""
    with np.errstate(over="ignore"):
        edges = np.array(EDGES.get(name, (1.0,)), DTYPES[dtype])
    edges = _finite(edges)
    steps = np.round(draw.normal(size=count) * 10.0 ** draw.uniform(0, 3, count))
    bits = draw.choice(edges, count).view(INTEGERS[dtype]) + steps.astype(INTEGERS[dtype])
    return bits.view(DTYPES[dtype]) * draw.choice([-1, 1], count).astype(DTYPES[dtype])


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


@cache
def near_quarter_turns(dtype: str, stride: int = 1) -> np.ndarray:
    """Numbers of every magnitude as near to a multiple of π/2 as any, by continued fractions."""
    largest = 1 << MANTISSA[dtype]
    exponents = range(-20, {"f64": 971, "f32": 104}[dtype] + 1, stride)
    found: list[float] = []
    with mp.workprec(2400):
        half = mp.pi / 2
        for exponent in exponents:
            # m·2^exponent is near a multiple of π/2 where m is the denominator of a convergent.
            rest = mp.mpf(2) ** exponent / half
            before, last = 0, 1
            rest -= mp.floor(rest)
            while last < largest:
                found.append(float(mp.ldexp(last, exponent)))
                if rest == 0:
                    break
                rest = 1 / rest
                whole = int(mp.floor(rest))
                rest -= whole
                before, last = last, whole * last + before
    near = np.array(found)
    return np.concatenate([near, -near]).astype(DTYPES[dtype])

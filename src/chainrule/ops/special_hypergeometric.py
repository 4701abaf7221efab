"""Hypergeometric functions, and orthogonal polynomials of any order, by their argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, Samples, sample
from chainrule.ops.define import elementwise
from chainrule.ops.samples import draw
from chainrule.ops.special import refused, scipy_special

NO_PARAMETER = "only the derivative with respect to the argument is written"
NO_DEGREE = "a polynomial is counted by its degree"


def _at(*parameters: Any, low: float, high: float) -> Samples:
    """Samples of f(parameters…, x)."""
    return lambda: [
        sample(*parameters, draw((3,), low, high)),
        sample(*(p + 1 for p in parameters), draw((2, 2), low, high)),
        sample(*parameters, draw((), low, high)),
        sample(*parameters, draw((3,), low, high).astype(np.float32)),
    ]


def hypergeometric(name: str, inputs: str, slope: Any, samples: Samples, doc: str) -> Op:
    *parameters, argument = inputs.split()
    factors = (*(refused(name, p, NO_PARAMETER) for p in parameters), slope)
    return elementwise(
        name, scipy_special(name), factors, inputs=(*parameters, argument), samples=samples, doc=doc
    )


hyp0f1: Op = hypergeometric(
    "hyp0f1",
    "v z",
    lambda v, z: hyp0f1(v + 1, z) / v,
    _at(1.5, low=-3.0, high=3.0),
    "The confluent hypergeometric limit function ₀F₁.",
)
hyp1f1: Op = hypergeometric(
    "hyp1f1",
    "a b x",
    lambda a, b, x: a / b * hyp1f1(a + 1, b + 1, x),
    _at(0.7, 1.5, low=-3.0, high=3.0),
    "The confluent hypergeometric function ₁F₁.",
)
hyp2f1: Op = hypergeometric(
    "hyp2f1",
    "a b c z",
    lambda a, b, c, z: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
    _at(0.7, 1.5, 2.2, low=-3.0, high=0.8),
    "Gauss's hypergeometric function ₂F₁.",
)
hyperu: Op = hypergeometric(
    "hyperu",
    "a b x",
    lambda a, b, x: -a * hyperu(a + 1, b + 1, x),
    _at(0.7, 1.5, low=0.3, high=3.0),
    "Tricomi's confluent hypergeometric function U.",
)

# ---- orthogonal polynomials ---------------------------------------------------------------------


def _lower(n: Any, factor: Any) -> tuple[Any, Any]:
    """n − 1 and the factor that goes with it; for n = 0 the slope is 0 and the degree stays."""
    n = plain(n)
    none = np.equal(n, 0)
    if np.ndim(n) == 0:
        return (n, 0.0) if none else (n - 1, factor(n))
    return np.where(none, n, n - 1), np.where(none, 0.0, factor(n))


def polynomial_op(name: str, slope: Any, low: float, high: float, parameters: Any = ()) -> Op:
    """An orthogonal polynomial f(n, parameters…, x); `slope` of a degree n − 1 and those."""
    named = tuple(p for p, _ in parameters)
    values = tuple(v for _, v in parameters)

    def samples() -> list[Any]:
        return [
            sample(3, *values, draw((3,), low, high)),
            sample(0, *values, draw((2, 2), low, high)),
            sample(np.array([0, 1, 4]), *values, draw((2, 3), low, high)),
            sample(2, *values, draw((3,), low, high).astype(np.float32)),
        ]

    refusals = [refused(name, "the degree n", NO_DEGREE)]
    refusals += [refused(name, p, NO_PARAMETER) for p in named]
    return elementwise(
        name,
        scipy_special(name),
        (*refusals, slope),
        inputs=("n", *named, "x"),
        samples=samples,
        doc=f"The polynomial {name.removeprefix('eval_')} of degree n at x.",
    )


def _simple(name: str, of: Any, factor: Any, low: float = -0.9, high: float = 0.9) -> Op:
    """f(n, x) with the slope factor(n)·of(n − 1, x)."""

    def slope(n: Any, x: Any) -> Any:
        """factor(n)·of(n − 1, x)."""
        degree, scale = _lower(n, factor)
        return scale * of(degree, x)

    return polynomial_op(name, slope, low, high)


def _jacobi_slope(n: Any, alpha: Any, beta: Any, x: Any) -> Any:
    """½(n + α + β + 1) P_{n−1}^{(α+1, β+1)}(x)."""
    degree, scale = _lower(n, lambda n: 0.5 * (n + alpha + beta + 1))
    return scale * eval_jacobi(degree, alpha + 1, beta + 1, x)


def _gegenbauer_slope(n: Any, alpha: Any, x: Any) -> Any:
    """2α C_{n−1}^{(α+1)}(x)."""
    degree, scale = _lower(n, lambda n: 2.0 * alpha)
    return scale * eval_gegenbauer(degree, alpha + 1, x)


def _genlaguerre_slope(n: Any, alpha: Any, x: Any) -> Any:
    """−L_{n−1}^{(α+1)}(x)."""
    degree, scale = _lower(n, lambda n: -1.0)
    return scale * eval_genlaguerre(degree, alpha + 1, x)


eval_jacobi: Op = polynomial_op(
    "eval_jacobi", _jacobi_slope, -0.9, 0.9, (("alpha", 0.5), ("beta", 1.5))
)
eval_gegenbauer: Op = polynomial_op(
    "eval_gegenbauer", _gegenbauer_slope, -0.9, 0.9, (("alpha", 1.5),)
)
eval_genlaguerre: Op = polynomial_op(
    "eval_genlaguerre", _genlaguerre_slope, 0.2, 4.0, (("alpha", 0.5),)
)
eval_legendre = _simple(
    "eval_legendre", lambda n, x: eval_jacobi(n, 1.0, 1.0, x), lambda n: 0.5 * (n + 1)
)
eval_sh_legendre = _simple(
    "eval_sh_legendre",
    lambda n, x: eval_jacobi(n, 1.0, 1.0, 2 * x - 1),
    lambda n: n + 1.0,
    0.1,
    0.9,
)
eval_chebyu: Op = _simple(
    "eval_chebyu", lambda n, x: eval_gegenbauer(n, 2.0, x), lambda n: 2.0 + 0 * n
)
eval_chebyt = _simple("eval_chebyt", lambda n, x: eval_chebyu(n, x), lambda n: 1.0 * n)
eval_sh_chebyt = _simple(
    "eval_sh_chebyt", lambda n, x: eval_chebyu(n, 2 * x - 1), lambda n: 2.0 * n, 0.1, 0.9
)
eval_sh_chebyu = _simple(
    "eval_sh_chebyu",
    lambda n, x: eval_gegenbauer(n, 2.0, 2 * x - 1),
    lambda n: 4.0 + 0 * n,
    0.1,
    0.9,
)
eval_chebys: Op = _simple(
    "eval_chebys", lambda n, x: eval_gegenbauer(n, 2.0, 0.5 * x), lambda n: 1.0 + 0 * n, -1.8, 1.8
)
eval_chebyc = _simple("eval_chebyc", lambda n, x: eval_chebys(n, x), lambda n: 1.0 * n, -1.8, 1.8)
eval_hermite: Op = _simple(
    "eval_hermite", lambda n, x: eval_hermite(n, x), lambda n: 2.0 * n, -2.0, 2.0
)
eval_hermitenorm: Op = _simple(
    "eval_hermitenorm", lambda n, x: eval_hermitenorm(n, x), lambda n: 1.0 * n, -2.0, 2.0
)
eval_laguerre = _simple(
    "eval_laguerre",
    lambda n, x: eval_genlaguerre(n, 1.0, x),
    lambda n: -1.0 + 0 * n,
    0.2,
    4.0,
)

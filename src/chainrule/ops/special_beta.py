"""The incomplete beta functions, by argument and by parameters, and the density of the beta law."""

from __future__ import annotations

from math import comb, factorial, pi
from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, Samples, sample
from chainrule.errors import DerivativeError
from chainrule.ops.define import elementwise
from chainrule.ops.factors import is_recorded
from chainrule.ops.samples import draw
from chainrule.ops.special import in_double, scipy_special
from chainrule.ops.special_gamma import polygamma, zeta_difference
from chainrule.ops.special_incomplete import FROM_STIRLING, distance, stirling

_betainc, _betaincc = scipy_special("betainc"), scipy_special("betaincc")
_betaln, _gammaln = scipy_special("betaln"), scipy_special("gammaln")
_xlogy, _xlog1py = scipy_special("xlogy"), scipy_special("xlog1py")
ON_NUMBERS = polygamma.forward, zeta_difference.forward
STEP, LOWEST, HIGHEST = 1 / 12, -4.5, 7.0  # of the nodes of the double-exponential rule


def _log_beta(a: Any, b: Any) -> Any:
    """log B(a, b), where SciPy's subtracts two large logarithms by Stirling's series."""
    p, q = np.minimum(a, b), np.maximum(a, b)
    large = np.maximum(q, FROM_STIRLING)
    shrunk = p - p * np.log(p + large) - (large - 0.5) * np.log1p(p / large)
    series = _gammaln(p) + shrunk + stirling(large) - stirling(p + large)
    return np.where(q < FROM_STIRLING, _betaln(a, b), series)


def _falling(a: Any, count: int) -> Any:
    """(a − 1)(a − 2)… , `count` factors."""
    product = np.ones_like(a)
    for i in range(count):
        product = product * (a - 1 - i)
    return product


@in_double
def _beta_density(a: Any, b: Any, x: Any, left: int = 0, right: int = 0) -> Any:
    """x^{a−1} (1−x)^{b−1} / B(a, b), its factors differentiated `left` and `right` times."""
    factor = _falling(a, left) * _falling(b, right)
    exponent = _xlogy(a - 1 - left, x) + _xlog1py(b - 1 - right, -x) - _log_beta(a, b)
    p, q = np.maximum(a, FROM_STIRLING), np.maximum(b, FROM_STIRLING)
    centred = -p * distance(x * (p + q), p) - q * distance((1 - x) * (p + q), q)
    centred = centred - stirling(p) - stirling(q) + stirling(p + q)
    centred = centred + 0.5 * np.log(p * (q / (2 * pi * (p + q))))
    centred = centred - (1 + left) * np.log(x) - (1 + right) * np.log1p(-x)
    inside = (x > 0) & (x < 1)
    exponent = np.where((a >= FROM_STIRLING) & (b >= FROM_STIRLING) & inside, centred, exponent)
    return np.where(factor == 0, 0.0, factor * np.exp(exponent))


def _beta_density_slope(a: Any, b: Any, x: Any, left: int, right: int) -> Any:
    """The product rule: the left factor once more, and the right one, which falls with x.

    Where a or b is differentiated as well, the factors are written out instead.
    """
    if is_recorded(a) or is_recorded(b):
        density = beta_density(a, b, x, left=left, right=right)
        return density * ((a - 1 - left) / x - (b - 1 - right) / (1 - x))
    first = beta_density(a, b, x, left=left + 1, right=right)
    return first - beta_density(a, b, x, left=left, right=right + 1)


def _by_shape(a: Any, b: Any, x: Any, out: Any, left: int, right: int) -> Any:
    """out·(log x − ψ(a) + ψ(a+b)): the derivative by the shape a whose factor x is to."""
    if left or right:
        raise DerivativeError(
            "beta_density: its derivatives by x have none by a and b; differentiate by a and b "
            "in the same call, cr.hessian(f, argnums=(0, 1, 2))"
        )
    return out * (np.log(x) + zeta_difference(a, b, s=1))


def _shapes_and(low: float, high: float) -> Samples:
    """Samples whose first two arguments are plain numbers, whole-number arrays, or shapes too."""

    def samples() -> list[Sample]:
        return [
            sample(2.5, 1.5, draw((3,), low, high)),
            sample(0.7, 3.0, draw((2, 2), low, high)),
            sample(30.0, 40.0, draw((3,), 0.35, 0.55)),
            sample(np.array([2, 3, 4]), 2, draw((2, 3), low, high)),
            sample(1.5, 2.0, draw((3,), low, high).astype(np.float32)),
            sample(draw((2, 1), 0.6, 4), draw((3,), 0.6, 4, 1), draw((2, 3), low, high)),
        ]

    return samples


beta_density: Op = elementwise(
    "beta_density",
    _beta_density,
    (
        lambda a, b, x, out, left, right: _by_shape(a, b, x, out, left, right),
        lambda a, b, x, out, left, right: _by_shape(b, a, 1 - x, out, right, left),
        _beta_density_slope,
    ),
    inputs=("a", "b", "x"),
    samples=_shapes_and(0.2, 0.8),
    edges=lambda: [sample(2.5, 3.0, np.float64(1e-300))],
    doc="x^(a−1) (1−x)^(b−1) / B(a, b), the density of the beta distribution.",
)

# ---- by the parameters --------------------------------------------------------------------------


def _cumulants(a: Any, b: Any, logs: tuple[Any, Any], orders: tuple[int, int], of: Any) -> Any:
    """∂^{p+q}/∂a^p∂b^q of the logarithm of the density, for (p, q) up to `orders`.

    `logs` are log x and log(1−x); `of` is whose polygamma and zeta_difference are asked.
    """
    polygamma, difference = of

    def cumulant(p: int, q: int) -> Any:
        if p and q:
            return polygamma(p + q - 1, a + b)
        first, second, log = (a, b, logs[0]) if p else (b, a, logs[1])
        if p + q == 1:
            return log + difference(first, second, s=1)
        return -((-1) ** (p + q)) * factorial(p + q - 1) * difference(first, second, s=p + q)

    pairs = [(p, q) for p in range(orders[0] + 1) for q in range(orders[1] + 1)]
    return {(p, q): cumulant(p, q) for p, q in pairs if p + q}


def _moment(cumulants: Any, orders: tuple[int, int]) -> Any:
    """The complete Bell polynomial in two variables: a derivative of e^f, over e^f."""
    found: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for p in range(orders[0] + 1):
        for q in range(orders[1] + 1):
            if not p and not q:
                continue
            i, j = (p - 1, q) if p else (p, q - 1)  # one derivative of f, the others anywhere
            one = (1, 0) if p else (0, 1)
            found[p, q] = sum(
                comb(i, r) * comb(j, s) * found[i - r, j - s] * cumulants[one[0] + r, one[1] + s]
                for r in range(i + 1)
                for s in range(j + 1)
            )
    return found[orders]


@in_double
def _betainc_derivative(a: Any, b: Any, x: Any, left: int, right: int) -> Any:
    """∂^{left+right} I_x(a, b)/∂a^left ∂b^right: a mean over one side of x, times what lies there.

    In y = log(t/(1−t)) the density is exp(a log t + b log(1−t)), which has one peak and straight
    tails.  Of the sides below x and above it, that without the mean of the law is taken.
    """
    upper = x > a / (a + b)
    A, B = np.where(upper, b, a), np.where(upper, a, b)
    X, rest = np.where(upper, 1 - x, x), np.where(upper, x, 1 - x)
    log_x, log_rest = np.log(X), np.where(upper, np.log(x), np.log1p(-x))
    start, slope = log_x - log_rest, A - (A + B) * X
    spread = np.sqrt((A + B) * X * rest) * np.minimum(1.0, np.sqrt(A))
    scale = 1 / (slope + spread)
    fixed = _cumulants(a, b, (0.0, 0.0), (left, right), ON_NUMBERS)
    mass, moment = 0.0, 0.0
    for w in np.arange(LOWEST, HIGHEST, STEP):
        near = scale * np.exp(w - np.exp(-w))
        y = start - near
        log_t = -np.logaddexp(0.0, -y)
        log_u = -np.logaddexp(0.0, y)
        weight = near * (1 + np.exp(-w)) * np.exp(A * (log_t - log_x) + B * (log_u - log_rest))
        cumulants = dict(fixed)
        if left:
            cumulants[1, 0] = fixed[1, 0] + np.where(upper, log_u, log_t)
        if right:
            cumulants[0, 1] = fixed[0, 1] + np.where(upper, log_t, log_u)
        mass, moment = mass + weight, moment + weight * _moment(cumulants, (left, right))
    total = np.where(upper, -_betaincc(a, b, x), _betainc(a, b, x)) * moment / mass
    return np.where((x == 0) | (x == 1), 0.0, total)


def _betainc_derivative_slope(a: Any, b: Any, x: Any, left: int, right: int) -> Any:
    """The same derivative of the density."""
    logs = np.log(x), np.log1p(-x)
    cumulants = _cumulants(a, b, logs, (left, right), (polygamma, zeta_difference))
    return beta_density(a, b, x) * _moment(cumulants, (left, right))


betainc_derivative: Op = elementwise(
    "betainc_derivative",
    _betainc_derivative,
    (
        lambda a, b, x, left, right: betainc_derivative(a, b, x, left=left + 1, right=right),
        lambda a, b, x, left, right: betainc_derivative(a, b, x, left=left, right=right + 1),
        _betainc_derivative_slope,
    ),
    inputs=("a", "b", "x"),
    samples=lambda: [
        sample(draw((2, 1), 0.6, 4), draw((3,), 0.6, 4, 1), draw((2, 3), 0.1, 0.9), left=p, right=q)
        for p, q in ((1, 0), (0, 1), (1, 1))
    ],
    doc="The derivative of betainc by a and b, of the orders left and right.",
)


def _incomplete(name: str, sign: int, doc: str) -> Op:
    return elementwise(
        name,
        scipy_special(name),
        (
            lambda a, b, x: sign * betainc_derivative(a, b, x, left=1, right=0),
            lambda a, b, x: sign * betainc_derivative(a, b, x, left=0, right=1),
            lambda a, b, x: sign * beta_density(a, b, x),
        ),
        inputs=("a", "b", "x"),
        samples=_shapes_and(0.2, 0.8),
        edges=lambda: [sample(1.0, 3.0, np.float64(0)), sample(2.0, 1.0, np.float64(1))],
        doc=doc,
    )


betainc = _incomplete("betainc", 1, "The regularised incomplete beta function I_x(a, b).")
betaincc = _incomplete(
    "betaincc", -1, "1 − I_x(a, b), the complement of the regularised incomplete beta function."
)

"""The elliptic integrals, complete and incomplete, by angle and by parameter."""

from __future__ import annotations

from math import factorial, pi
from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.ops.define import elementwise
from chainrule.ops.samples import draw, of_orders, point_pairs, points, within
from chainrule.ops.special import in_double, scipy_special

STEP, REACH = 0.25, 42.0  # of the trapezoidal rule over the logit: both within rounding

_ellipk, _elliprd = scipy_special("ellipk"), scipy_special("elliprd")
_hyp2f1 = scipy_special("hyp2f1")

# ---- complete -----------------------------------------------------------------------------------


def _rising(a: float, count: int) -> float:
    product = 1.0
    for i in range(count):
        product *= a + i
    return product


@in_double
def _ellipk_derivative(m: Any, order: int) -> Any:
    """dⁿK/dmⁿ = (π/2) (½)ₙ²/n! (1−m)^−n ₂F₁(½, ½; n+1; m); the first is R_D(0, 1, 1−m)/6."""
    before, now = _ellipk(m), _elliprd(0.0, 1.0, 1 - m) / 6
    if order == 1:
        return now
    for n in range(order - 1):  # the differential equation: loses digits near 0, none below −1
        after = ((n + 0.5) ** 2 * before - (n + 1) * (1 - 2 * m) * now) / (m * (1 - m))
        before, now = now, after
    scale = pi / 2 * _rising(0.5, order) ** 2 / factorial(order)
    return np.where(m < -1, now, scale * _hyp2f1(0.5, 0.5, order + 1.0, m) / (1 - m) ** order)


@in_double
def _ellipe_derivative(m: Any, order: int) -> Any:
    """dⁿE/dmⁿ = (π/2) (−½)ₙ(½)ₙ/n! (1−m)^{1−n} ₂F₁(3⁄2, ½; n+1; m); the first −R_D(0, 1−m, 1)/6."""
    if order == 1:
        return -_elliprd(0.0, 1 - m, 1.0) / 6
    scale = pi / 2 * _rising(-0.5, order) * _rising(0.5, order) / factorial(order)
    return scale * _hyp2f1(1.5, 0.5, order + 1.0, m) / (1 - m) ** (order - 1)


below_one = of_orders((-2, 0.9), (-2, 0.9), (-2, 0.9))

ellipk_derivative: Op = elementwise(
    "ellipk_derivative",
    _ellipk_derivative,
    (lambda m, order: ellipk_derivative(m, order=order + 1),),
    inputs=("m",),
    samples=below_one,
    doc="The derivative of ellipk of the given order (1 or more).",
)
ellipe_derivative: Op = elementwise(
    "ellipe_derivative",
    _ellipe_derivative,
    (lambda m, order: ellipe_derivative(m, order=order + 1),),
    inputs=("m",),
    samples=below_one,
    doc="The derivative of ellipe of the given order (1 or more).",
)
ellipk = elementwise(
    "ellipk",
    _ellipk,
    (lambda m: ellipk_derivative(m, order=1),),
    inputs=("m",),
    samples=within(-2.0, 0.9),
    edges=points(0.0, -1e8, 1 - 1e-12),
    doc="The complete elliptic integral of the first kind of the parameter m = k².",
)
ellipe = elementwise(
    "ellipe",
    scipy_special("ellipe"),
    (lambda m: ellipe_derivative(m, order=1),),
    inputs=("m",),
    samples=within(-2.0, 0.9),
    edges=points(0.0, -1e8, 1 - 1e-12),
    doc="The complete elliptic integral of the second kind of the parameter m = k².",
)

# ---- incomplete ---------------------------------------------------------------------------------


def _radicand(phi: Any, m: Any) -> Any:
    """1 − m sin²φ, which does not cancel where m and sin φ are near 1."""
    return np.cos(phi) ** 2 + (1 - m) * np.sin(phi) ** 2


def _within_quarter(angle: Any, m: Any, power: int, root: int) -> Any:
    """The integral from 0 to an angle of at most π/2: Carlson's R_D, or quadrature.

    The integrand has poles near 0 for a large −m, and near π/2 for m near 1; over the logit of
    the share of the angle they are π/2 away from the real line, however near they are.
    """
    sine, square, radicand = np.sin(angle), np.cos(angle) ** 2, _radicand(angle, m)
    if (power, root) == (1, 1):
        return sine**3 / 3 * _elliprd(square, radicand, 1.0)
    if (power, root) == (1, 3):
        return sine**3 / 3 * _elliprd(square, 1.0, radicand)
    total = 0.0
    for t in np.arange(-REACH, REACH + STEP, STEP).tolist():
        share, rest = 1 / (1 + np.exp(-t)), 1 / (1 + np.exp(t))
        sine = np.sin(angle * share)
        cosine = np.sin((pi / 2 - angle) + angle * rest)
        radicand = cosine**2 + (1 - m) * sine**2
        total = total + STEP * share * rest * sine ** (2 * power) * radicand ** (-root / 2)
    return angle * total


@in_double
def _elliptic_integral(phi: Any, m: Any, power: int, root: int) -> Any:
    """Odd in φ, and as much again in each half turn."""
    turns = np.round(phi / pi)
    rest = phi - pi * turns
    part = np.sign(rest) * _within_quarter(np.abs(rest), m, power, root)
    if not np.any(turns):
        return part
    quarter = _within_quarter(np.asarray(pi / 2), m, power, root)
    return part + np.where(turns == 0, 0.0, 2 * turns * quarter)


def _angles_and_parameters() -> list[Sample]:
    return [
        sample(draw((3,), -1.2, 1.2), 0.4),
        sample(draw((2, 2), -1.2, 1.2), np.array([-2.0, 0.7])),
        sample(draw((3,), -5, 5), draw((3,), -2, 0.8, 1)),
        sample(draw((), -1.2, 1.2), draw((), -2, 0.8, 1)),
    ]


elliptic_integral: Op = elementwise(
    "elliptic_integral",
    _elliptic_integral,
    (
        lambda phi, m, power, root: np.sin(phi) ** (2 * power) * _radicand(phi, m) ** (-0.5 * root),
        lambda phi, m, power, root: (
            0.5 * root * elliptic_integral(phi, m, power=power + 1, root=root + 2)
        ),
    ),
    inputs=("phi", "m"),
    samples=lambda: [
        sample(*s.args, power=power, root=root)
        for s in _angles_and_parameters()
        for power, root in ((1, 1), (1, 3), (2, 3))
    ],
    doc="∫ sin^(2 power) θ / (1 − m sin²θ)^(root/2) dθ from 0 to phi.",
)
ellipkinc = elementwise(
    "ellipkinc",
    scipy_special("ellipkinc"),
    (
        lambda phi, m: 1 / np.sqrt(_radicand(phi, m)),
        lambda phi, m: 0.5 * elliptic_integral(phi, m, power=1, root=3),
    ),
    inputs=("phi", "m"),
    samples=_angles_and_parameters,
    edges=point_pairs((0.0, 0.5), (1.2, 0.0), (1.5, 0.9999), (0.5, -1e8)),
    doc="The incomplete elliptic integral of the first kind of the parameter m = k².",
)
ellipeinc = elementwise(
    "ellipeinc",
    scipy_special("ellipeinc"),
    (
        lambda phi, m: np.sqrt(_radicand(phi, m)),
        lambda phi, m: -0.5 * elliptic_integral(phi, m, power=1, root=1),
    ),
    inputs=("phi", "m"),
    samples=_angles_and_parameters,
    edges=point_pairs((0.0, 0.5), (1.2, 0.0), (1.5, 0.9999), (0.5, -1e8)),
    doc="The incomplete elliptic integral of the second kind of the parameter m = k².",
)

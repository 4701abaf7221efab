"""Bessel functions, their exponentially scaled and spherical forms, and Airy functions.

The derivative by the argument is a combination of neighbouring orders, so every order of derivative
exists; the derivative by the order of a Bessel function is refused.
"""

from __future__ import annotations

from math import comb, pi
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Function, Op, Samples, sample
from chainrule.errors import DerivativeError
from chainrule.ops.define import composite, elementwise
from chainrule.ops.samples import draw, holomorphic, joined, points, positives, reals, within
from chainrule.ops.special import in_double, refused, scipy_special

NO_ORDER = "no closed form is known for the derivative of a Bessel function by its order"
MIN_SCIPY_ARGUMENT = 1e-50  # below it SciPy's jv and iv underflow early, or are NaN
FAR = 25.0  # from 25 + 2v² on, twenty terms of Hankel's series are exact to the last bit


def of_order(low: float, high: float, *, complex_too: bool = False) -> Samples:
    """Samples of f(v, z), the order a plain number or an array of whole numbers."""

    def samples() -> list[Any]:
        found = [
            sample(1.5, draw((3,), low, high)),
            sample(0, draw((2, 2), low, high)),
            sample(np.array([0, 1, 4]), draw((2, 3), low, high)),
            sample(2.0, draw((3,), low, high).astype(np.float32)),
        ]
        if complex_too:
            found.append(sample(1.5, draw((2,), low, high) + 1j * draw((2,), 0.2, 0.9, 1)))
        return found

    return samples


def whole_order(low: float, high: float) -> Samples:
    """Samples of f(n, z), the order a whole number."""
    return lambda: [
        sample(0, draw((3,), low, high)),
        sample(2, draw((2, 2), low, high)),
        sample(np.array([0, 1, 4]), draw((2, 3), low, high)),
        sample(1, draw((3,), low, high).astype(np.float32)),
    ]


def at_order(order: float, *values: float) -> Samples:
    return lambda: [sample(order, np.float64(v)) for v in values]


def _near_zero(name: str) -> Function:
    """SciPy's jv or iv; where only the first term (z/2)^v / Γ(v+1) counts, that, not 0 or NaN."""
    function, rgamma = scipy_special(name), scipy_special("rgamma")

    def call(v: Any, z: Any) -> Any:
        out = function(v, z)
        tiny = (np.abs(z) < MIN_SCIPY_ARGUMENT) & (np.asarray(v) >= 0) & np.not_equal(z, 0)
        if not np.any(tiny):
            return out
        half = np.where(tiny, z, 1) / 2
        first = np.where(tiny, half, 1) ** np.where(tiny, v, 0) * rgamma(v + 1.0)
        return np.where(tiny, first, out).astype(out.dtype)[()]

    call.__name__ = name
    return call


def bessel(name: str, below: float, above: float, samples: Samples, edges: Samples) -> Op:
    """A Bessel function f(v, z) with ∂f/∂z = below·f(v−1, z) + above·f(v+1, z)."""

    def slope(v: Any, z: Any) -> Any:
        """below·f(v−1, z) + above·f(v+1, z)."""
        return below * op(v - 1, z) + above * op(v + 1, z)

    op = elementwise(
        name,
        _near_zero(name) if name in ("jv", "iv") else scipy_special(name),
        (refused(name, "the order", NO_ORDER), slope),
        inputs=("v", "z"),
        samples=samples,
        edges=edges,
        bad=lambda: [sample(np.array([1, 2, 3]), np.ones(2))],
    )
    return op


jv = bessel("jv", 0.5, -0.5, of_order(0.3, 9.0, complex_too=True), at_order(1, 0.0, -3.0, 1e6))
yv = bessel("yv", 0.5, -0.5, of_order(0.4, 9.0, complex_too=True), at_order(1.5, 1e-50, 1e6))
yn = bessel("yn", 0.5, -0.5, whole_order(0.4, 9.0), at_order(2, 1e-50, 1e6))
iv = bessel("iv", 0.5, 0.5, of_order(0.3, 5.0, complex_too=True), at_order(1, 0.0, -3.0, 700.0))
kv = bessel("kv", -0.5, -0.5, of_order(0.4, 5.0, complex_too=True), at_order(1.5, 1e-50, 700.0))

j0 = elementwise(
    "j0", scipy_special("j0"), (lambda x: -j1(x),), samples=reals, edges=points(0.0, 1e6)
)
j1: Op = elementwise(
    "j1",
    scipy_special("j1"),
    (lambda x: 0.5 * (j0(x) - jv(2, x)),),
    samples=reals,
    edges=points(0.0, 1e6),
)
y0 = elementwise(
    "y0", scipy_special("y0"), (lambda x: -y1(x),), samples=positives, edges=points(1e-90, 1e6)
)
y1: Op = elementwise(
    "y1",
    scipy_special("y1"),
    (lambda x: 0.5 * (y0(x) - yv(2, x)),),
    samples=positives,
    edges=points(1e-90, 1e6),
)
i0 = elementwise(
    "i0",
    scipy_special("i0"),
    (lambda x: i1(x),),
    samples=reals,
    edges=points(0.0, -700.0),
    numpy=(np.i0,),
    reference=scipy_special("i0"),
)
i1: Op = elementwise(
    "i1",
    scipy_special("i1"),
    (lambda x: 0.5 * (i0(x) + iv(2, x)),),
    samples=reals,
    edges=points(0.0, -700.0),
)
k0 = elementwise(
    "k0", scipy_special("k0"), (lambda x: -k1(x),), samples=positives, edges=points(1e-90, 700.0)
)
k1: Op = elementwise(
    "k1",
    scipy_special("k1"),
    (lambda x: -0.5 * (k0(x) + kv(2, x)),),
    samples=positives,
    edges=points(1e-90, 700.0),
)

# ---- exponentially scaled -----------------------------------------------------------------------


def _hankel(v: Any, z: Any, order: int, sign: int) -> Any:
    """The n-th derivative of Hankel's series of e^{∓z} I_v(z) or K_v(z), term by term."""
    term, total = z ** (-0.5 - order), 0.0
    for i in range(order):
        term = term * -(0.5 + i)
    for k in range(1, 21):
        total = total + term
        term = term * (-sign * (4 * v * v - (2 * k - 1) ** 2) / (8 * k * z))
        term = term * ((k - 0.5 + order) / (k - 0.5))
    return total * (1 / np.sqrt(2 * pi) if sign > 0 else np.sqrt(pi / 2))


def _scaled(name: str, sign: int) -> Function:
    """The kernel of the n-th z-derivative of ive (sign 1) or kve (sign −1).

    D^n(e^{∓z} f_v) = (±½)^n Σ_m (−1)^m C(2n, m) e^{∓z} f_{v+n−m}, which cancels for large z.
    """
    general = scipy_special(name)
    quick = {n: scipy_special(f"{name[0]}{n}e") for n in (0, 1)}  # 6 to 13 times as fast

    def scaled(v: Any, z: Any) -> Any:
        if v.ndim == 0 and abs(v) in quick and not np.iscomplexobj(z):
            return quick[int(abs(v))](z)
        return general(v, z)

    @in_double
    def derivative(v: Any, z: Any, order: int) -> Any:
        if np.iscomplexobj(z) and sign > 0:
            raise DerivativeError("ive of a complex z is not holomorphic: it scales by |Re z|")
        size = np.abs(z) if sign > 0 else z
        near: Any = 0.0
        factor = (0.5 * sign) ** order
        for m in range(2 * order + 1):
            term = scaled(v + (order - m), size)
            near = near + factor * (-1) ** m * comb(2 * order, m) * term
        if np.iscomplexobj(z):
            return near
        far = size > FAR + 2 * v * v
        if np.any(far):
            near = np.where(far, _hankel(v, np.where(far, size, FAR), order, sign), near)
        return near * _parity(v, z, order) if sign > 0 else near

    return derivative


def _parity(v: Any, z: Any, order: int) -> Any:
    """±1 for z < 0, where ive(v, −z) = ±ive(v, z); at 0 the two slopes' mean, so 0 at a kink."""
    reflected = np.where(v == np.round(v), 1.0 - 2 * np.remainder(v + order, 2), 1.0)
    return np.where(z > 0, 1.0, np.where(z < 0, reflected, 0.5 * (1 + reflected)))


def _derivative_op(name: str, sign: int) -> Op:
    op = elementwise(
        f"{name}_derivative",
        _scaled(name, sign),
        (
            refused(name, "the order", NO_ORDER),
            lambda v, z, order: op(v, z, order=order + 1),
        ),
        inputs=("v", "z"),
        samples=lambda: [
            sample(0, draw((3,), 0.4, 5), order=1),
            sample(1.5, draw((2, 2), 0.4, 5), order=2),
            sample(1, draw((2,), 60, 80), order=1),
            sample(1, draw((2,), 0.4, 5).astype(np.float32), order=1),
        ],
        doc=f"The derivative of {name} by its argument, of the given order (1 or more).",
    )
    return op


ive_derivative, kve_derivative = _derivative_op("ive", 1), _derivative_op("kve", -1)
ive = elementwise(
    "ive",
    scipy_special("ive"),
    (refused("ive", "the order", NO_ORDER), lambda v, z: ive_derivative(v, z, order=1)),
    inputs=("v", "z"),
    samples=of_order(0.3, 9.0),
    edges=at_order(0, 0.0, -3.0, 1e6),
    kinks=lambda v, z: np.equal(z, 0) & np.equal(v, 0),
    doc="iv(v, z)·e^−|z|, which does not overflow.",
)
kve = elementwise(
    "kve",
    scipy_special("kve"),
    (refused("kve", "the order", NO_ORDER), lambda v, z: kve_derivative(v, z, order=1)),
    inputs=("v", "z"),
    samples=of_order(0.4, 9.0, complex_too=True),
    edges=at_order(1.5, 1e-50, 1e6),
    doc="kv(v, z)·e^z, which does not underflow.",
)
i0e = elementwise(
    "i0e",
    scipy_special("i0e"),
    (lambda x: ive_derivative(0, x, order=1),),
    samples=joined(within(0.2, 3.0), within(-60.0, -40.0)),
    edges=points(0.0, 1e8, -1e8),
    kinks=lambda x: np.equal(x, 0),
)
i1e = elementwise(
    "i1e",
    scipy_special("i1e"),
    (lambda x: ive_derivative(1, x, order=1),),
    samples=joined(within(0.2, 3.0), within(-60.0, -40.0)),
    edges=points(0.0, 1e8, -1e8),
)
k0e = elementwise(
    "k0e",
    scipy_special("k0e"),
    (lambda x: kve_derivative(0, x, order=1),),
    samples=positives,
    edges=points(1e-90, 1e8),
)
k1e = elementwise(
    "k1e",
    scipy_special("k1e"),
    (lambda x: kve_derivative(1, x, order=1),),
    samples=positives,
    edges=points(1e-90, 1e8),
)

# ---- spherical, Airy ----------------------------------------------------------------------------


def _previous(n: Any) -> Any:
    """n − 1 but not below 0; a plain number stays one, so that it does not widen float32."""
    n = plain(n)
    return max(n - 1, 0) if np.ndim(n) == 0 else np.maximum(n - 1, 0)


def spherical(name: str, below: int, above: int, samples: Samples, edges: Samples) -> Op:
    """A spherical Bessel function with (2n+1) f_n' = below·n f_{n−1} + above·(n+1) f_{n+1}."""

    def slope(n: Any, z: Any) -> Any:
        """(below·n f_{n−1} + above·(n+1) f_{n+1}) / (2n+1), which needs no division by z."""
        lower = below * n * op(_previous(n), z)
        return (lower + above * (n + 1) * op(n + 1, z)) / (2 * n + 1)

    op = elementwise(
        name,
        in_double(scipy_special(name)),  # SciPy's would widen float32
        (refused(name, "the order", "it is a whole number"), slope),
        inputs=("n", "z"),
        samples=samples,
        edges=edges,
    )
    return op


spherical_jn = spherical("spherical_jn", 1, -1, whole_order(0.3, 9.0), at_order(0, 0.0, -2.0, 1e4))
spherical_yn = spherical("spherical_yn", 1, -1, whole_order(0.4, 9.0), at_order(1, 1e-50, 1e4))
spherical_in = spherical("spherical_in", 1, 1, whole_order(0.3, 5.0), at_order(1, 0.0, -2.0))
spherical_kn = spherical("spherical_kn", -1, -1, whole_order(0.4, 5.0), at_order(1, 1e-50, 600.0))

_airy = scipy_special("airy")


def _airy_part(name: str, part: int, slope: Any) -> Op:
    return elementwise(name, lambda x: _airy(x)[part], (slope,), samples=holomorphic)


airy_ai: Op = _airy_part("airy_ai", 0, lambda x: airy_aip(x))
airy_aip: Op = _airy_part("airy_aip", 1, lambda x: x * airy_ai(x))
airy_bi: Op = _airy_part("airy_bi", 2, lambda x: airy_bip(x))
airy_bip: Op = _airy_part("airy_bip", 3, lambda x: x * airy_bi(x))
airy = composite(
    "airy",
    lambda x: (airy_ai(x), airy_aip(x), airy_bi(x), airy_bip(x)),
    samples=joined(holomorphic, within(-20.0, -10.0)),
    edges=points(0.0, 50.0, -50.0),
    outputs=4,
    reference=_airy,
    doc="The Airy functions Ai, Ai', Bi, Bi'.",
)

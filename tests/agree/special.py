"""Entries of special functions; where a peer has none, a formula in its own functions, or None."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import chainrule as cr
from tests.agree.builder import Builder
from tests.agree.elementwise import Bound, binary, unary
from tests.agree.entry import Const, Drawn, apart, entry

SP, T = "scipy.special.", "special."


def special(
    name: str, low: Bound, high: Bound, torch: Any = None, jax: Any = None, **fields: Any
) -> None:
    unary(name, low, high, torch, jax, family="special", **fields)


def _digamma(t: Any, x: Any) -> Any:
    """PyTorch's digamma with the slope ζ(2, x): its own trigamma has nine digits only."""
    fixed = x.detach()
    return t.digamma(fixed) + t.special.zeta(2.0, fixed) * (x - fixed)


special("erf", None, None, T + "erf", SP + "erf")
special("erfc", None, None, T + "erfc", SP + "erfc")
special("erfi", -1, 1)
special("erfcx", -1, None, T + "erfcx", SP + "erfcx")
special("dawsn", None, None, None, SP + "dawsn")
special("erfinv", -0.9, 0.9, T + "erfinv", SP + "erfinv")
special(
    "erfcinv",
    0.1,
    1.9,
    lambda t, x: t.special.erfinv(1 - x),
    lambda j, x: j.scipy.special.erfinv(1 - x),
)
special("ndtr", None, None, T + "ndtr", SP + "ndtr")
special("log_ndtr", -3, None, T + "log_ndtr", SP + "log_ndtr")
special("ndtri", 0.05, 0.95, T + "ndtri", SP + "ndtri")
special("ndtri_exp", -4, -0.05)
special("inverse_mills", -3, 3)
special("entr", 0.1, None, T + "entr", SP + "entr")
special("digamma", 0.4, None, _digamma, SP + "digamma")
special("psi", 0.4, None, _digamma, SP + "digamma")
special("gamma", 0.5, 3, lambda t, x: t.exp(t.lgamma(x)), SP + "gamma")
special(
    "rgamma", 0.4, 4, lambda t, x: t.exp(-t.lgamma(x)), lambda j, x: 1 / j.scipy.special.gamma(x)
)
special("gammaln", 0.3, None, T + "gammaln", SP + "gammaln")
special("loggamma", 0.3, None, "lgamma", SP + "gammaln")
special("exp1", 0.2, None, None, SP + "exp1")
special("expi", 0.3, 2, None, SP + "expi")
special("sici_si", 0.2, None, None, lambda j, x: j.scipy.special.sici(x)[0])
special("sici_ci", 0.3, None, None, lambda j, x: j.scipy.special.sici(x)[1])
special("shichi_shi", -2, 2)
special("shichi_chi", 0.3, 2)
special("exprel", 0.3, 2, lambda t, x: t.expm1(x) / x, lambda j, x: j.numpy.expm1(x) / x)
special("ellipk", -2, 0.8)
special("ellipe", -2, 0.8)
special("lambertw", 0.1, None)
special("j0", None, None)
special("j1", None, None)
special("y0", 0.4, None)
special("y1", 0.6, None)
special("i0", -3, 3, T + "i0", SP + "i0")
special("i1", -3, 3, T + "i1", SP + "i1")
special("i0e", None, None, T + "i0e", SP + "i0e", kinks=(0.0,))
special("i1e", None, None, T + "i1e", SP + "i1e", kinks=(0.0,))
special("k0", 0.3, None)
special("k1", 0.4, None)
special("k0e", 0.3, None)
special("k1e", 0.4, None)
special("airy_ai", None, 3)
special("airy_aip", None, 3)
special("airy_bi", -3, 1.5)
special("airy_bip", -3, 1.5)


def parts_of(name: str, low: float | None, high: float | None, jax: Any = None) -> None:
    """An op with several results."""
    entry(name, "special", lambda b: ((b.within(b.pick(), low, high),), {}), jax=jax)


parts_of("airy", -3, 1.5)
parts_of("sici", 0.3, None, lambda j, x: j.scipy.special.sici(x))
parts_of("shichi", 0.3, 2)


# -- two operands and parameters -------------------------------------------------------------------


def ordered(
    name: str, orders: tuple[Any, ...], low: Bound, high: Bound, torch: Any = None, jax: Any = None
) -> None:
    """A function f(n, x) of a constant order n and an operand x."""

    def draw(b: Builder) -> Drawn:
        return (Const(b.choice(orders)), b.within(b.pick(), low, high)), {}

    entry(name, "special", draw, torch=torch, jax=jax)


def _polygamma(t: Any, n: Any, x: Any) -> Any:
    return {1: 1.0, 2: -2.0}[int(n)] * t.special.zeta(n + 1, x)


def _jax_order(name: str) -> Any:
    return lambda j, n, x: getattr(j.scipy.special, name)(n, x)


ordered("polygamma", (1, 2), 0.5, None, _polygamma, _jax_order("polygamma"))
ordered("zeta", (1.5, 2.0, 3.5), 0.4, None, T + "zeta", _jax_order("zeta"))
ordered("expn", (1, 2, 3), 0.3, None, None, _jax_order("expn"))
ordered("jv", (0, 1, 2, 0.5), 0.3, None)
ordered("yv", (0, 1, 0.5), 0.6, None)
ordered("yn", (0, 1, 2), 0.8, None)
ordered("iv", (0, 1, 2, 0.5), 0.3, 2.5)
ordered("kv", (0, 1, 0.5), 0.5, None)
ordered("ive", (0, 1, 1.5), 0.3, None)
ordered("kve", (0, 1, 1.5), 0.5, None)
ordered("spherical_jn", (0, 1, 2), 0.3, None)
ordered("spherical_yn", (0, 1), 0.8, None)
ordered("spherical_in", (0, 1, 2), 0.3, 2.5)
ordered("spherical_kn", (0, 1), 0.6, None)
entry(
    "multigammaln",
    "special",
    lambda b: (lambda d: ((b.within(b.pick(), (d - 1) / 2 + 0.3, None),), {"d": d}))(
        b.integer(1, 3)
    ),
    torch=lambda t, x, d: t.special.multigammaln(x, d),
    jax=lambda j, x, d: j.scipy.special.multigammaln(x, d),
)


def _beta(t: Any, a: Any, b: Any) -> Any:
    return t.lgamma(a) + t.lgamma(b) - t.lgamma(a + b)


positive = (0.3, 4.0)
binary("betaln", _beta, SP + "betaln", first=positive, second=positive, family="special")
binary(
    "beta",
    lambda t, a, b: t.exp(_beta(t, a, b)),
    SP + "beta",
    first=positive,
    second=positive,
    family="special",
)
# PyTorch has no derivative by the parameter, JAX one of few digits: below, x alone is differentiated.
binary("gammainc", None, None, first=positive, second=positive, family="special")
binary("gammaincc", None, None, first=positive, second=positive, family="special")
for _name in ("gammainc", "gammaincc"):
    entry(
        f"{_name}_of_x",
        "special",
        lambda b: ((Const(b.number(0.5, 3)), b.within(b.pick(), *positive)), {}),
        ways=(cr.OPS[_name], getattr(scipy.special, _name)),
        torch=T + _name,
        jax=SP + _name,
    )
binary("rel_entr", lambda t, x, y: x * (t.log(x) - t.log(y)), SP + "rel_entr",
       first=positive, second=positive, family="special")  # fmt: skip
binary("kl_div", lambda t, x, y: x * (t.log(x) - t.log(y)) - x + y, SP + "kl_div",
       first=positive, second=positive, family="special")  # fmt: skip


def _huber(m: Any, delta: Any, r: Any) -> Any:
    return m.where(abs(r) <= delta, r * r / 2, delta * (abs(r) - delta / 2))


def _pseudo_huber(m: Any, delta: Any, r: Any) -> Any:
    return delta * delta * (m.sqrt(1 + (r / delta) ** 2) - 1)


def _pseudo_clip(m: Any, delta: Any, r: Any) -> Any:
    return delta * r / m.sqrt(delta**2 + r**2)


binary("huber", _huber, lambda j, d, r: _huber(j.numpy, d, r), first=(0.4, 3), family="special",
       ok=lambda d, r: apart(np.abs(r), d))  # fmt: skip
binary(
    "pseudo_huber",
    _pseudo_huber,
    lambda j, d, r: _pseudo_huber(j.numpy, d, r),
    first=(0.4, 3),
    family="special",
)
binary(
    "pseudo_clip",
    _pseudo_clip,
    lambda j, d, r: _pseudo_clip(j.numpy, d, r),
    first=(0.4, 3),
    family="special",
)
binary("boxcox", lambda t, x, p: (x**p - 1) / p, lambda j, x, p: (x**p - 1) / p,
       first=(0.3, 3), second=(0.3, 2), family="special")  # fmt: skip
binary("boxcox1p", lambda t, x, p: ((1 + x) ** p - 1) / p, lambda j, x, p: ((1 + x) ** p - 1) / p,
       first=(-0.6, 3), second=(0.3, 2), family="special")  # fmt: skip
binary("inv_boxcox", lambda t, x, p: (1 + p * x) ** (1 / p), lambda j, x, p: (1 + p * x) ** (1 / p),
       first=(-0.3, 2), second=(0.5, 1.5), family="special")  # fmt: skip
binary("inv_boxcox1p", lambda t, x, p: (1 + p * x) ** (1 / p) - 1, lambda j, x, p: (1 + p * x) ** (1 / p) - 1,
       first=(-0.3, 2), second=(0.5, 1.5), family="special")  # fmt: skip


# By its parameters betainc has no derivative in JAX; special_values.py holds those of mpmath.
for _name in ("betainc", "betaincc"):
    entry(
        f"{_name}_of_x",
        "special",
        lambda b: (
            (Const(b.number(0.6, 3)), Const(b.number(0.6, 3)), b.within(b.pick(), 0.1, 0.9)),
            {},
        ),
        ways=(cr.OPS[_name], getattr(scipy.special, _name)),
        jax=(lambda j, a, b, x: j.scipy.special.betainc(a, b, x))
        if _name == "betainc"
        else (lambda j, a, b, x: j.scipy.special.betainc(b, a, 1 - x)),
    )

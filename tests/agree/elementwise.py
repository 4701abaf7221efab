"""Entries of one or two operands, element by element: arithmetic, exponentials, trigonometry, kinks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.builder import Builder
from tests.agree.entry import Const, Drawn, apart, entry, far_from, spellings

Bound = float | None


# -- one operand -----------------------------------------------------------------------------------


def unary(
    name: str,
    low: Bound,
    high: Bound,
    torch: Any,
    jax: Any,
    *,
    family: str = "elementwise",
    kinks: tuple[float, ...] = (),
    **fields: Any,
) -> None:
    """An entry of one operand within (low, high), away from its kinks."""

    def draw(b: Builder) -> Drawn:
        return (b.within(b.pick(), low, high),), {}

    ok = (lambda x: far_from(x, *kinks)) if kinks else None
    entry(name, family, draw, torch=torch, jax=jax, ok=ok, **fields)


NN = "nn.functional."
unary("exp", -3, 1.5, "exp", "numpy.exp")
unary("exp2", -4, 2, "exp2", "numpy.exp2")
unary("expm1", -3, 1.5, "expm1", "numpy.expm1")
unary("log", 0.2, None, "log", "numpy.log")
unary("log2", 0.2, None, "log2", "numpy.log2")
unary("log10", 0.2, None, "log10", "numpy.log10")
unary("log1p", -0.7, None, "log1p", "numpy.log1p")
unary("expit", None, None, "special.expit", "scipy.special.expit")
unary("sigmoid", None, None, "sigmoid", "nn.sigmoid")
unary("logit", 0.05, 0.95, "special.logit", "scipy.special.logit")
unary("log_expit", None, None, NN + "logsigmoid", "nn.log_sigmoid")
unary("softplus", None, None, NN + "softplus", "nn.softplus")
unary("relu", None, None, "relu", "nn.relu", kinks=(0.0,))
unary("silu", None, None, NN + "silu", "nn.silu")
unary("gelu", None, None, NN + "gelu", lambda j, x: j.nn.gelu(x, approximate=False))
unary("negative", None, None, "neg", "numpy.negative")
unary("positive", None, None, "positive", "numpy.positive")
unary("reciprocal", 0.3, None, "reciprocal", "numpy.reciprocal")
unary("square", None, None, "square", "numpy.square")
unary("sqrt", 0.1, None, "sqrt", "numpy.sqrt")
unary("cbrt", 0.1, None, lambda t, x: x ** (1 / 3), "numpy.cbrt")
unary("absolute", None, None, "abs", "numpy.absolute", kinks=(0.0,))
unary("fabs", None, None, "abs", "numpy.fabs", kinks=(0.0,))
unary("sin", None, None, "sin", "numpy.sin")
unary("cos", None, None, "cos", "numpy.cos")
unary("tan", -1.2, 1.2, "tan", "numpy.tan")
unary("arcsin", -0.9, 0.9, "asin", "numpy.arcsin")
unary("arccos", -0.9, 0.9, "acos", "numpy.arccos")
unary("arctan", None, None, "atan", "numpy.arctan")
unary("sinh", -2, 2, "sinh", "numpy.sinh")
unary("cosh", -2, 2, "cosh", "numpy.cosh")
unary("tanh", None, None, "tanh", "numpy.tanh")
unary("sech_squared", None, None, lambda t, x: t.cosh(x) ** -2, lambda j, x: j.numpy.cosh(x) ** -2)
unary("arcsinh", None, None, "asinh", "numpy.arcsinh")
unary("arccosh", 1.2, None, "acosh", "numpy.arccosh")
unary("arctanh", -0.9, 0.9, "atanh", "numpy.arctanh")
unary("deg2rad", None, None, "deg2rad", "numpy.deg2rad")
unary("radians", None, None, "deg2rad", "numpy.radians")
unary("rad2deg", -0.06, 0.06, "rad2deg", "numpy.rad2deg")
unary("degrees", -0.06, 0.06, "rad2deg", "numpy.degrees")
unary("sinc", 0.1, None, "sinc", "numpy.sinc")
unary("copy", None, None, "clone", "numpy.copy")
unary("identity", None, None, "clone", "numpy.copy")
unary("nan_to_num", None, None, "nan_to_num", "numpy.nan_to_num")


def _slope(b: Builder, name: str) -> Drawn:
    return (b.pick(),), ({name: b.number(0.05, 1.5)} if b.chance(0.7) else {})


entry(
    "leaky_relu",
    "elementwise",
    lambda b: _slope(b, "negative_slope"),
    torch=NN + "leaky_relu",
    jax="nn.leaky_relu",
    ok=lambda x, negative_slope=0: far_from(x, 0.0),
)
entry(
    "elu",
    "elementwise",
    lambda b: _slope(b, "alpha"),
    torch=NN + "elu",
    jax="nn.elu",
    ok=lambda x, alpha=1: far_from(x, 0.0),
)
entry(
    "affine",
    "arithmetic",
    lambda b: ((b.pick(),), {"a": b.number(0.3, 2) * b.choice([-1, 1]), "b": b.number(-1, 1)}),
    ways=(
        lambda x, a, b: x * a + b,
        lambda x, a, b: b + a * x,
        lambda x, a, b: np.add(np.multiply(a, x), b),
        lambda x, a, b: b - (-a) * x,
        lambda x, a, b: x / (1 / a) - (-b),
        lambda x, a, b: cr.add(cr.multiply(x, np.float64(a)), np.asarray(b)),
    ),
    torch=lambda t, x, a, b: a * x + b,
    jax=lambda j, x, a, b: a * x + b,
)
entry(
    "stop_gradient",
    "structure",
    lambda b: ((b.pick(), b.pick()), {}),
    ways=(
        lambda x, y: (
            np.sum(x) * cr.stop_gradient(np.tanh(x)) + y
            if np.ndim(y) == 0
            else x + cr.stop_gradient(np.sin(x))
        ),
    ),
    torch=lambda t, x, y: x.sum() * x.tanh().detach() + y if y.ndim == 0 else x + x.sin().detach(),
    jax=lambda j, x, y: (
        j.numpy.sum(x) * j.lax.stop_gradient(j.numpy.tanh(x)) + y
        if y.ndim == 0
        else x + j.lax.stop_gradient(j.numpy.sin(x))
    ),
    by_differences=False,
)


# -- steps of zero slope: added to something that has one, so that the program keeps its gradient --


def stepped(name: str, torch: Any, jax: Any, offset: float) -> None:
    """floor and the like, whose jumps lie at the integers moved by `offset`."""

    def with_slope(f: Any) -> Any:
        return lambda x: f(x) + 0.5 * x

    entry(
        name,
        "rounding",
        lambda b: ((b.pick(),), {}),
        ways=tuple(with_slope(f) for f in spellings(name)),
        torch=lambda t, x: torch(t)(x) + 0.5 * x,
        jax=lambda j, x: jax(j)(x) + 0.5 * x,
        ok=lambda x: far_from(np.subtract(x, offset) - np.rint(np.subtract(x, offset)), 0.0),
    )


stepped("floor", lambda t: t.floor, lambda j: j.numpy.floor, 0.0)
stepped("ceil", lambda t: t.ceil, lambda j: j.numpy.ceil, 0.0)
stepped("trunc", lambda t: t.trunc, lambda j: j.numpy.trunc, 0.0)
stepped("fix", lambda t: t.fix, lambda j: j.numpy.trunc, 0.0)
stepped("rint", lambda t: t.round, lambda j: j.numpy.rint, 0.5)
stepped("sign", lambda t: t.sign, lambda j: j.numpy.sign, 0.0)
entry(
    "round",
    "rounding",
    lambda b: ((b.pick(),), {"decimals": b.integer(0, 1)}),
    ways=(
        lambda x, decimals: np.round(x, decimals) * x,
        lambda x, decimals: x * x.round(decimals=decimals),
        lambda x, decimals: np.around(x, decimals) * x,
        lambda x, decimals: cr.round(x, decimals) * x,
    ),
    torch=lambda t, x, decimals: t.round(x, decimals=decimals) * x,
    jax=lambda j, x, decimals: j.numpy.round(x, decimals) * x,
    ok=lambda x, decimals: far_from(
        np.multiply(x, 10.0**decimals) - 0.5 - np.rint(np.multiply(x, 10.0**decimals) - 0.5), 0.0
    ),
)
entry(
    "modf",
    "rounding",
    lambda b: ((b.pick(),), {}),
    torch=lambda t, x: (t.frac(x), t.trunc(x)),
    jax=lambda j, x: (x - j.lax.stop_gradient(j.numpy.trunc(x)), j.numpy.trunc(x)),
    ok=lambda x: far_from(x - np.rint(x), 0.0),
)


# -- two operands ----------------------------------------------------------------------------------


def binary(
    name: str,
    torch: Any,
    jax: Any,
    *,
    first: tuple[Bound, Bound] = (None, None),
    second: tuple[Bound, Bound] = (None, None),
    family: str = "elementwise",
    extra: tuple[Any, ...] = (),
    **fields: Any,
) -> None:
    """An entry of two operands that broadcast, each within its interval."""

    def draw(b: Builder) -> Drawn:
        x, y = b.pair()
        return (b.within(x, *first), b.within(y, *second)), {}

    ways = (*spellings(name), *extra)
    entry(name, family, draw, ways=ways, torch=torch, jax=jax, **fields)


def in_place(operation: Any) -> Any:
    """`y += v` on a copy of x that already has the shape of the result."""

    def call(x: Any, y: Any) -> Any:
        z = np.copy(x + 0 * y)
        return operation(z, y)

    return call


binary(
    "add", "add", "numpy.add", family="arithmetic", extra=(operator.add, in_place(operator.iadd))
)
binary(
    "subtract",
    "sub",
    "numpy.subtract",
    family="arithmetic",
    extra=(operator.sub, in_place(operator.isub)),
)
binary(
    "multiply",
    "mul",
    "numpy.multiply",
    family="arithmetic",
    extra=(operator.mul, in_place(operator.imul)),
)
binary(
    "divide",
    "div",
    "numpy.divide",
    second=(0.3, None),
    family="arithmetic",
    extra=(operator.truediv, in_place(operator.itruediv), np.true_divide),
)
binary(
    "power",
    "pow",
    "numpy.power",
    first=(0.2, 3),
    second=(-2, 2),
    family="arithmetic",
    extra=(operator.pow, np.float_power, in_place(operator.ipow)),
)
entry(
    "integer_power",
    "arithmetic",
    lambda b: ((b.pick(), Const(b.choice([0, 1, 2, 3, 4, 2.0, 3.0]))), {}),
    ways=(operator.pow, np.power, cr.power),
    torch="pow",
    jax=lambda j, x, n: x**n,
)
entry(
    "negative_power",
    "arithmetic",
    lambda b: ((b.within(b.pick(), 0.4, None), Const(b.choice([-1, -2, -3, -0.5, 0.5, 1.5]))), {}),
    ways=(operator.pow, lambda x, n: np.power(x, float(n)), cr.power),
    torch="pow",
    jax=lambda j, x, n: x**n,
)
binary("remainder", "remainder", "numpy.remainder", first=(None, None), second=(0.4, None), family="rounding",
       extra=(operator.mod, np.mod), ok=lambda x, y: far_from(np.divide(x, y) - np.rint(np.divide(x, y)), 0.0))  # fmt: skip
binary("fmod", "fmod", "numpy.fmod", second=(0.4, None), family="rounding",
       ok=lambda x, y: far_from(np.divide(x, y) - np.rint(np.divide(x, y)), 0.0))  # fmt: skip
entry(
    "floor_divide",
    "rounding",
    lambda b: (lambda x, y: ((x, b.within(y, 0.4, None)), {}))(*b.pair()),
    ways=(lambda x, y: (x // y) * x, lambda x, y: np.floor_divide(x, y) * x),
    torch=lambda t, x, y: t.floor(x / y).detach() * x,
    jax=lambda j, x, y: j.lax.stop_gradient(j.numpy.floor(x / y)) * x,
    ok=lambda x, y: far_from(np.divide(x, y) - np.rint(np.divide(x, y)), 0.0),
)
entry(
    "divmod",
    "rounding",
    lambda b: (lambda x, y: ((b.pick(), b.within(Const(y), 0.4, None)), {}))(0, 1.0),
    ways=(lambda x, y: divmod(x, y)[1] * divmod(x, y)[0] + x,),
    torch=lambda t, x, y: t.remainder(x, y) * t.floor(x / y).detach() + x,
    jax=lambda j, x, y: j.numpy.remainder(x, y) * j.lax.stop_gradient(j.numpy.floor(x / y)) + x,
    ok=lambda x, y: far_from(np.divide(x, y) - np.rint(np.divide(x, y)), 0.0),
)
binary("hypot", "hypot", "numpy.hypot", first=(0.1, None))
binary("arctan2", "atan2", "numpy.arctan2", second=(0.2, None))
binary("logaddexp", "logaddexp", "numpy.logaddexp")
binary("logaddexp2", "logaddexp2", "numpy.logaddexp2")
binary("xlogy", "special.xlogy", "scipy.special.xlogy", second=(0.2, None))
binary("xlog1py", "special.xlog1py", "scipy.special.xlog1py", second=(-0.6, None))
binary("maximum", "maximum", "numpy.maximum", family="selection", ok=apart)
binary("minimum", "minimum", "numpy.minimum", family="selection", ok=apart)
binary("fmax", "fmax", "numpy.fmax", family="selection", ok=apart)
binary("fmin", "fmin", "numpy.fmin", family="selection", ok=apart)
binary("copysign", "copysign", "numpy.copysign", family="selection",
       ok=lambda x, y: far_from(x, 0.0) and far_from(y, 0.0))  # fmt: skip
entry(
    "heaviside",
    "selection",
    lambda b: (b.pair(), {}),
    ways=(lambda x, y: np.heaviside(x, y) * x + y, lambda x, y: x * cr.heaviside(x, y) + y),
    torch=lambda t, x, y: (x > 0) * x + y,
    jax=lambda j, x, y: j.lax.stop_gradient(j.numpy.heaviside(x, y)) * x + y,
    ok=lambda x, y: far_from(x, 0.0),
)
entry(
    "nextafter",
    "rounding",
    lambda b: (b.pair(constants=False), {}),
    ways=(np.nextafter, cr.nextafter),
    # It is x but for the last bit.
    torch=lambda t, x, y: x + t.zeros_like(y),
    jax=lambda j, x, y: x + j.numpy.zeros_like(y),
    ok=apart,
)
entry(
    "deviation",
    "elementwise",
    lambda b: (lambda x, y: ((b.within(x, 0.2, None), y), {}))(*b.pair()),
    ways=(lambda x, y: np.sqrt(np.square(x) + np.square(y)),),
    torch=lambda t, x, y: t.sqrt(x * x + y * y),
    jax=lambda j, x, y: j.numpy.sqrt(x * x + y * y),
)


# -- choosing --------------------------------------------------------------------------------------


def _bounds(b: Builder) -> Drawn:
    low = None if b.chance(0.2) else b.number(-1.5, -0.2)
    high = None if low is not None and b.chance(0.2) else b.number(0.2, 1.5)
    return (b.pick(),), {"low": low, "high": high}


entry(
    "clip",
    "selection",
    _bounds,
    ways=(
        lambda x, low, high: np.clip(x, low, high),
        lambda x, low, high: x.clip(low, high),
        lambda x, low, high: cr.clip(x, low, high),
        lambda x, low, high: np.clip(x, a_min=low, a_max=high),
        lambda x, low, high: np.clip(x, min=low, max=high),
    ),
    torch=lambda t, x, low, high: t.clip(x, low, high),
    jax=lambda j, x, low, high: j.numpy.clip(x, low, high),
    ok=lambda x, low, high: far_from(x, *(p for p in (low, high) if p is not None)),
)


def _between(b: Builder) -> Drawn:
    x = b.pick()
    low = b.within(b.partner(x), -2, -0.1)
    return b.together(x, low, b.within(b.partner(x), 0.1, 2)), {}


entry(
    "clip_between",
    "selection",
    _between,
    ways=(lambda x, low, high: np.clip(x, low, high), lambda x, low, high: cr.clip(x, low, high)),
    torch=lambda t, x, low, high: t.minimum(t.maximum(x, low), high),  # its clip fails to broadcast
    jax="numpy.clip",
    ok=lambda x, low, high: apart(x, low) and apart(x, high),
)


def _where(b: Builder) -> Drawn:
    x, y = b.pair()
    c = x if not isinstance(x, Const) else y
    return b.together(c, b.partner(c), x, y), {}


def _three_way(f: Any) -> Any:
    return lambda module, c, d, x, y: f(module)(c > d, x, y)


entry(
    "where",
    "selection",
    _where,
    ways=(
        lambda c, d, x, y: np.where(c > d, x, y),
        lambda c, d, x, y: np.where(np.less_equal(c, d), y, x),
        lambda c, d, x, y: cr.where(cr.greater_equal(c, d), x, y),
        lambda c, d, x, y: np.where(np.logical_not(d > c), x, y),
        lambda c, d, x, y: np.where((c > d) | (c == d), x, y),
        lambda c, d, x, y: np.where(~(c < d) & (c != d), x, y),
        lambda c, d, x, y: np.where(np.logical_xor(c > d, np.isnan(c)), x, y),
        lambda c, d, x, y: np.where(np.logical_and(np.greater(c, d), np.isfinite(d)), x, y),
        lambda c, d, x, y: np.where(np.signbit(d - c), x, y),
    ),
    torch=_three_way(lambda t: t.where),
    jax=_three_way(lambda j: j.numpy.where),
    ok=lambda c, d, x, y: apart(c, d),
)
entry(
    "where_constant",
    "selection",
    lambda b: (lambda x, y: ((x, y), {"seed": b.integer(0, 99)}))(*b.pair()),
    ways=(
        lambda x, y, seed: np.where(_mask(x, y, seed), x, y),
        lambda x, y, seed: cr.where(_mask(x, y, seed), x, y),
    ),
    torch=lambda t, x, y, seed: t.where(t.as_tensor(_mask(x, y, seed)), x, y),
    jax=lambda j, x, y, seed: j.numpy.where(_mask(x, y, seed), x, y),
)


def _mask(x: Any, y: Any, seed: int) -> Any:
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    return np.random.default_rng(seed).random(shape) < 0.5


# Lanes not taken hold what would be infinite or NaN; their gradients are structural zeros.
entry(
    "where_guard",
    "selection",
    lambda b: ((b.pick(),), {}),
    ways=(lambda x: np.where(x > 0.1, np.log(np.maximum(x, 0.1)), np.expm1(np.minimum(x, 0.1))),),
    torch=lambda t, x: t.where(x > 0.1, t.log(t.clip(x, min=0.1)), t.expm1(t.clip(x, max=0.1))),
    jax=lambda j, x: j.numpy.where(
        x > 0.1, j.numpy.log(j.numpy.maximum(x, 0.1)), j.numpy.expm1(j.numpy.minimum(x, 0.1))
    ),
    ok=lambda x: far_from(x, 0.1),
)
entry(
    "select",
    "selection",
    lambda b: (lambda x: ((x, b.partner(x)), {}))(b.pick()),
    ways=(
        lambda x, y: np.select([x > 0.5, x < -0.5], [x * y, y - x], 0.5 * y),
        lambda x, y: cr.select([x > 0.5, x < -0.5], [x * y, y - x], default=0.5 * y),
    ),
    torch=lambda t, x, y: t.where(x > 0.5, x * y, t.where(x < -0.5, y - x, 0.5 * y)),
    jax=lambda j, x, y: j.numpy.where(x > 0.5, x * y, j.numpy.where(x < -0.5, y - x, 0.5 * y)),
    ok=lambda x, y: far_from(x, 0.5, -0.5),
)
# Python's own control flow on values.
entry(
    "branch",
    "selection",
    lambda b: ((b.pick(size=1), b.pick()), {}),
    ways=(lambda x, y: np.sin(x) * 2 if np.mean(x) > 0 else np.sum(y) - x,),
    torch=lambda t, x, y: t.sin(x) * 2 if t.mean(x) > 0 else t.sum(y) - x,
    jax=None,  # compiled code does not branch on values
    ok=lambda x, y: far_from(np.mean(x), 0.0),
)

"""Rounding, signs and steps: piecewise constant, or so up to a sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import LANES
from chainrule.core.masked import plain, within
from chainrule.core.op import Op, Sample, sample
from chainrule.ops.define import ZERO, Gate, composite, elementwise, elementwise_spec, rules
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw, holomorphic, pairs, pairs_within, points
from chainrule.ops.samples import within as in_interval

ONE = ("x",)
between_integers = in_interval(2.1, 2.4)


def _complex_numbers() -> list[Sample]:
    return [sample(np.ones(2) * 1j)]


def _is_whole(x: Any) -> Any:
    return np.equal(x, np.floor(x))


def _is_halfway(x: Any) -> Any:
    return np.equal(np.abs(x - np.trunc(x)), 0.5)


def _to_whole(ufunc: np.ufunc, kinks: Any, **fields: Any) -> Op:
    return elementwise(
        ufunc.__name__,
        ufunc,
        ZERO,
        samples=between_integers,
        edges=points(0.0, 1.0, 0.5),
        kinks=kinks,
        **fields,
    )


def _jumps_from_zero(x: Any) -> Any:
    """Whole numbers but 0, around which truncation is constant."""
    return np.logical_and(_is_whole(x), np.not_equal(x, 0))


floor = _to_whole(np.floor, _is_whole, bad=_complex_numbers)
ceil = _to_whole(np.ceil, _is_whole, bad=_complex_numbers)
trunc = _to_whole(np.trunc, _jumps_from_zero, bad=_complex_numbers)
rint = _to_whole(np.rint, _is_halfway)
fix = elementwise(
    "fix",
    np.trunc,
    ZERO,
    inputs=ONE,
    samples=between_integers,
    kinks=_jumps_from_zero,
    numpy=(np.fix,),
    reference=np.fix,
    lower="trunc",
)


def _round(x: Any, decimals: int = 0) -> Any:
    return np.round(x, decimals)


def _round_samples() -> list[Sample]:
    x = draw((2, 3), 2.1, 2.4)
    tenths = np.array([0.12, 0.34, -0.56])
    return [
        sample(x),
        sample(tenths, decimals=1),
        sample(100 * x, decimals=-2),
        sample(np.float32(1.3)),
    ]


def _round_lowered(b: Any, x: Any, decimals: int) -> Any:
    """As NumPy: scaled by a power of ten, rounded, scaled back."""
    if x.dtype.kind != "f":
        return None
    if not decimals:
        return b.map("rint", x)
    scale = b.constant(10.0 ** abs(decimals), x.dtype)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return b.map(back, b.map("rint", b.map(there, x, scale)), scale)


round = elementwise(
    "round",
    _round,
    ZERO,
    inputs=ONE,
    samples=_round_samples,
    bad=lambda: [sample(np.ones(2), decimals="few")],
    kinks=lambda x, decimals: _is_halfway(x * 10.0**decimals),
    numpy=(np.round, np.around),
    lower=_round_lowered,
)


def _modf(x: Any) -> Any:
    x = as_array(x)
    finite = np.where(np.isinf(x), 0.0, x)  # the fraction of ±∞ is 0
    return finite - np.trunc(finite), np.trunc(x)


modf = composite(
    "modf",
    _modf,
    samples=lambda: [*between_integers(), sample(np.array([-1.25, 3.5, -0.2]))],
    numpy=(np.modf,),
    doc="The fractional part of x (derivative 1) and the whole part (0), both with its sign.",
)


# -- signs -----------------------------------------------------------------------------------------


def _complex_variant(x: Any) -> tuple[Op, list[Any]] | None:
    return (sign_complex, [x]) if x.dtype.kind == "c" else None


sign = elementwise(
    "sign",
    np.sign,
    ZERO,
    samples=holomorphic,
    edges=points(0.0),
    kinks=lambda x: np.equal(x, 0),
    variant=_complex_variant,
)


def _turned(v: Any, x: Any, out: Any) -> Any:
    """The part of v across the direction `out` of x, divided by |x|; its own adjoint; 0 at 0."""
    alive = plain(x) != 0
    distance = np.where(alive, np.absolute(x), 1.0)
    return within(1j * out * np.imag(np.conjugate(out) * v) / distance, alive)


sign_complex = rules(
    "sign_complex",
    lambda x: np.sign(x),
    reverse=(lambda g, x, out: _turned(g, x, out),),
    push=(lambda t, x, out: _turned(t, x, out),),
    samples=lambda: holomorphic()[-1:],
    edges=lambda: [sample(np.complex128(0))],
    kinks=lambda x: np.equal(x, 0),
    spec=elementwise_spec(np.sign),
    doc="z / |z|, the direction of a complex number, and 0 at 0.",
    batch=LANES,
)
copysign = elementwise(
    "copysign",
    np.copysign,
    (Gate(lambda x, y: np.sign(plain(x)) * np.copysign(np.sign(plain(x)), plain(y))), None),
    samples=pairs,
    kinks=lambda x, y: np.logical_or(np.equal(x, 0), np.equal(y, 0)),
    doc="|x| with the sign of y.",
)
nextafter = elementwise(
    "nextafter",
    np.nextafter,
    (1, None),
    samples=pairs,
    doc="The next number after x towards y: x but for the last bit, and so is its derivative.",
)


def _step_samples() -> list[Sample]:
    """The value at the jump is differentiated where x, of whole numbers, stands on it."""
    return [*pairs_within((0.5, 2.0), (0.0, 1.0))(), sample(np.array([0, -1, 2]), draw((3,), 0, 1))]


def _heaviside_lowered(b: Any, x: Any, y: Any) -> Any:
    x, y = b.floats(x, y)
    zero, one = b.constant(0, x.dtype), b.constant(1, x.dtype)
    step = b.map("where", b.map("less", x, zero), zero, one)
    step = b.map("where", b.map("equal", x, zero), y, step)
    return b.map("where", b.map("isnan", x), x, step)


heaviside = elementwise(
    "heaviside",
    np.heaviside,
    (None, Gate(lambda x: np.equal(plain(x), 0))),
    samples=_step_samples,
    kinks=lambda x, y: np.equal(x, 0),
    doc="0 for x < 0, 1 for x > 0, and y at the jump.",
    lower=_heaviside_lowered,
)

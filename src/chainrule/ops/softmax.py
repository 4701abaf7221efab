"""Sums of exponentials without overflow: logsumexp, softmax, log_softmax.

The largest element is taken out first.  Rows in which every element is −∞ have no largest one to
take out; their logsumexp is −∞ and their softmax 0, with a derivative of 0 instead of NaN.  Rows
with +∞ have the softmax that they have in the limit: the infinite elements share the 1 equally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import Axes
from chainrule.core.depends import Along
from chainrule.core.op import Sample, sample
from chainrule.core.picked import lowest, reducing, shape_of
from chainrule.ops.define import composite, rules, same_shape, shaped_spec
from chainrule.ops.joining import as_array
from chainrule.ops.picking import SOFTMAX
from chainrule.ops.reductions import (
    Axis,
    bad_axes,
    expanded,
    reduced_shape,
    reduction_spec,
)
from chainrule.ops.samples import draw
from chainrule.ops.structure import stop_gradient


def _below_peak(x: Any, axis: Axis) -> tuple[Any, Any]:
    """x less the largest element, and that element; 0 in its place where every element is −∞."""
    peak = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    if np.isfinite(peak).all():
        return x - peak, peak
    peak = np.where(peak == -np.inf, peak.dtype.type(0), peak)
    with np.errstate(invalid="ignore"):
        return np.where(x == peak, peak.dtype.type(0), x - peak), peak  # ∞ less ∞ is 0 here


def _log_total(x: Any, axis: Axis) -> Any:
    """log Σ eˣ, the reduced axes kept; −∞ where every element is."""
    below, peak = _below_peak(x, axis)
    with np.errstate(divide="ignore"):
        out = np.log(np.sum(np.exp(below), axis=axis, keepdims=True)) + peak
    return _principal(out) if out.dtype.kind == "c" else out


def _principal(z: Any) -> Any:
    """A complex logarithm, to which the imaginary part of a shift was added, back in (−π, π]."""
    angle = np.imag(z)
    turned = np.arctan2(np.sin(angle), np.cos(angle))
    inside = np.abs(angle) <= np.pi
    return np.where(inside, z, np.real(z) + z.dtype.type(1j) * turned)


def _logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    x = as_array(x)
    out = _log_total(x, axis)
    return np.reshape(out, reduced_shape(x.shape, axis, keepdims))[()]


def _softmax(x: Any, axis: Axis = -1) -> Any:
    x = as_array(x)
    powers = np.exp(_below_peak(x, axis)[0])
    total = np.sum(powers, axis=axis, keepdims=True)
    return (powers / np.where(total == 0, total.dtype.type(1), total))[()]


def _log_softmax(x: Any, axis: Axis = -1) -> Any:
    x = as_array(x)
    below, _ = _below_peak(x, axis)
    total = np.sum(np.exp(below), axis=axis, keepdims=True)
    return (below - np.log(np.where(total == 0, total.dtype.type(1), total)))[()]


def _pull_logsumexp(g: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """g · softmax(x)"""
    return expanded(g, shape_of(x), axis, keepdims) * softmax(x, axis=axis)


def _push_logsumexp(t: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """Σ t · softmax(x)"""
    return np.sum(t * softmax(x, axis=axis), axis=axis, keepdims=keepdims)


def _along_softmax(g: Any, out: Any, axis: Axis) -> Any:
    """p · (g − Σ g·p): the Jacobian is symmetric, so both modes read the same."""
    return out * (g - np.sum(g * out, axis=axis, keepdims=True))


def _pull_log_softmax(g: Any, out: Any, axis: Axis) -> Any:
    """g − p · Σ g, the transpose of [[k = k′]] − p_k′"""
    return g - np.exp(out) * np.sum(g, axis=axis, keepdims=True)


def _push_log_softmax(t: Any, out: Any, axis: Axis) -> Any:
    """t − Σ p·t"""
    return t - np.sum(np.exp(out) * t, axis=axis, keepdims=True)


def _rows(alive: Any, x_spec: Any, axis: Axis, keepdims: bool = True) -> Any:
    """A lane matters when any result along its row does."""
    if alive.shape == x_spec.shape:
        alive, keepdims = np.any(alive, axis=axis, keepdims=True), True
    return np.broadcast_to(expanded(alive, x_spec.shape, axis, keepdims), x_spec.shape)


def _weighted(x: Any, b: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """log Σ b·eˣ = log Σ e^(x − s) b + s, the shift s taken where b counts."""
    x, b = as_array(x), as_array(b)
    counted = np.where(np.equal(b, 0), -np.inf, x)
    peak = stop_gradient(np.max(counted, axis=axis, keepdims=True, initial=-np.inf))
    shift = np.where(np.isfinite(peak), peak, 0.0)
    if not hasattr(b, "__chainrule_record__"):
        x = np.where(b == 0, shift, x)  # a large x with b = 0 counts for nothing
    powers = b * np.exp(x - shift)
    total = np.log(np.sum(powers, axis=axis, keepdims=True)) + shift
    return np.reshape(total, reduced_shape(powers.shape, axis, keepdims))


# -- SciPy's, which the tests compare with -----------------------------------------------------


def _scipy_logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    from scipy.special import logsumexp

    return logsumexp(x, axis=axis, keepdims=keepdims)


def _scipy_weighted(x: Any, b: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    from scipy.special import logsumexp

    return logsumexp(x, axis=axis, b=b, keepdims=keepdims)


def _scipy_softmax(x: Any, axis: Axis = -1) -> Any:
    from scipy.special import softmax

    return softmax(x, axis=axis)


def _scipy_log_softmax(x: Any, axis: Axis = -1) -> Any:
    from scipy.special import log_softmax

    return log_softmax(x, axis=axis)


def _reduced() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True), sample(x, axis=(0, 2)),
        sample(draw((), -2, 2)), sample(draw((3,), -2, 2).astype(np.float32)),
        sample(x[0] * 300, axis=1), sample(np.zeros((2, 0)), axis=0),
    ]  # fmt: skip


def _weights() -> list[Sample]:
    x = draw((3, 4), -2, 2)
    return [sample(x, draw((3, 4), 0.3, 2, 1), axis=1), sample(x, draw((4,), 0.3, 2))]


def _kept() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        sample(x), sample(x, axis=0), sample(x, axis=(0, 2)), sample(x, axis=None),
        sample(draw((3,), -2, 2).astype(np.float32)),
        sample(x[0] * 300), sample(np.zeros((2, 0)), axis=0),
    ]  # fmt: skip


def _far_out() -> list[Sample]:
    none = -np.inf
    return [
        sample(np.array([none, none])),
        sample(np.array([[none, none], [none, 0.5]]), axis=1),
        sample(np.array([1e307, -1e307])),
        sample(np.array([-800.0, -801.0, none])),
        sample(np.array([0.3, 0.3])),
        sample(np.array([[1.0, np.inf, none], [np.inf, np.inf, 2.0]]), axis=-1),
    ]


def _below_peak_lowered(b: Any, x: Any, axis: Axis) -> tuple[Any, Any]:
    """As `_below_peak`."""
    zero = b.constant(0, x.dtype)
    peak = b.reduce("max", x, axis, True)
    peak = b.map("where", b.map("equal", peak, b.constant(-np.inf, x.dtype)), zero, peak)
    return b.map("where", b.map("equal", x, peak), zero, b.map("subtract", x, peak)), peak


def _logsumexp_lowered(b: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    if x.dtype.kind != "f" or 0 in x.shape:
        return None
    below, shift = _below_peak_lowered(b, x, axis)
    total = b.reduce("sum", b.maths("exp", below), axis, True)
    found = b.map("add", b.maths("log", total), shift)
    return b.reshape(found, reduced_shape(x.shape, axis, keepdims))


def _softmax_lowered(b: Any, x: Any, axis: Axis) -> Any:
    if x.dtype.kind != "f" or 0 in x.shape:
        return None
    powers = b.maths("exp", _below_peak_lowered(b, x, axis)[0])
    total = b.reduce("sum", powers, axis, True)
    none, one = b.map("equal", total, b.constant(0, x.dtype)), b.constant(1, x.dtype)
    # One division for all: the quotients may be one unit in the last place off.
    return b.map("multiply", powers, b.map("divide", one, b.map("where", none, one, total)))


def _log_softmax_lowered(b: Any, x: Any, axis: Axis) -> Any:
    if x.dtype.kind != "f" or 0 in x.shape:
        return None
    below, _ = _below_peak_lowered(b, x, axis)
    total = b.reduce("sum", b.maths("exp", below), axis, True)
    none = b.map("equal", total, b.constant(0, x.dtype))
    total = b.map("where", none, b.constant(1, x.dtype), total)
    return b.map("subtract", below, b.maths("log", total))


logsumexp = rules(
    "logsumexp",
    _logsumexp,
    reverse=(_pull_logsumexp,),
    push=(_push_logsumexp,),
    samples=_reduced,
    edges=_far_out,
    bad=bad_axes,
    reference=_scipy_logsumexp,
    spec=reduction_spec(_logsumexp),
    depends=Along(_rows),
    doc="log Σ eˣ over axes.",
    picked=reducing(lowest),
    lower=_logsumexp_lowered,
    batch=Axes("axis"),
)
softmax = rules(
    "softmax",
    _softmax,
    reverse=(_along_softmax,),
    push=(lambda t, out, axis: _along_softmax(t, out, axis),),
    samples=_kept,
    edges=_far_out,
    bad=bad_axes,
    reference=_scipy_softmax,
    spec=shaped_spec(_softmax, same_shape),
    depends=Along(_rows),
    doc="eˣ / Σ eˣ along an axis; a row of −∞ alone gives 0.",
    picked=SOFTMAX,
    lower=_softmax_lowered,
    batch=Axes("axis"),
)
log_softmax = rules(
    "log_softmax",
    _log_softmax,
    reverse=(_pull_log_softmax,),
    push=(_push_log_softmax,),
    samples=_kept,
    edges=_far_out,
    bad=bad_axes,
    reference=_scipy_log_softmax,
    spec=shaped_spec(_log_softmax, same_shape),
    depends=Along(_rows),
    doc="x − log Σ eˣ along an axis.",
    lower=_log_softmax_lowered,
    batch=Axes("axis"),
)
logsumexp_weighted = composite(
    "logsumexp_weighted",
    _weighted,
    inputs=("x", "b"),
    samples=_weights,
    reference=_scipy_weighted,
    doc="log Σ b·eˣ over axes.",
)

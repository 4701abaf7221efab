"""Sums of exponentials without overflow: logsumexp, softmax, log_softmax.

The largest element is taken out first.  Rows in which every element is −∞ have no largest one to
take out; their logsumexp is −∞ and their softmax 0, with a derivative of 0 instead of NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.ops.define import composite
from chainrule.ops.extrema import largest
from chainrule.ops.reductions import Axis, array_of, bad_axes, reduced_shape
from chainrule.ops.samples import draw
from chainrule.ops.structure import stop_gradient


def _peak(x: Any, axis: Axis) -> tuple[Any, Any]:
    """The largest element, and what to subtract: the same, or 0 where it is infinite."""
    peak = stop_gradient(largest(x, axis=axis, keepdims=True, initial=-np.inf))
    return peak, np.where(np.isfinite(peak), peak, 0.0)


def _or_one(total: Any) -> Any:
    """A sum of exponentials; 1 where it is 0, that is where every element is −∞."""
    return np.where(np.equal(total, 0), 1.0, total)


def _logsumexp(x: Any, axis: Axis = None, b: Any = None, keepdims: bool = False) -> Any:
    x = array_of(x)
    if b is not None:
        b = array_of(b)
        # The peak is looked for where b counts, so that a large x with b = 0 hides nothing.
        peak, shift = _peak(np.where(np.equal(b, 0), -np.inf, x), axis)
        x = x if hasattr(b, "__chainrule_record__") else np.where(np.equal(b, 0), -np.inf, x)
        powers = b * np.exp(x - shift)
    else:
        peak, shift = _peak(x, axis)
        powers = np.exp(x - shift)
    total = np.sum(powers, axis=axis, keepdims=True)
    out = np.log(_or_one(total)) + peak
    shape = reduced_shape(powers.shape, axis, keepdims)
    return np.reshape(out, shape) if out.shape != shape else out


def _softmax(x: Any, axis: Axis = -1) -> Any:
    x = array_of(x)
    powers = np.exp(x - _peak(x, axis)[1])
    return powers / _or_one(np.sum(powers, axis=axis, keepdims=True))


def _log_softmax(x: Any, axis: Axis = -1) -> Any:
    x = array_of(x)
    below = x - _peak(x, axis)[1]
    return below - np.log(_or_one(np.sum(np.exp(below), axis=axis, keepdims=True)))


# -- SciPy's, which the tests compare with -----------------------------------------------------


def _scipy_logsumexp(x: Any, axis: Axis = None, b: Any = None, keepdims: bool = False) -> Any:
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
        sample(x[0], 1, draw((3, 4), 0.3, 2, 1)), sample(x[0], None, draw((4,), 0.3, 2)),
        sample(np.array([1000.0, 0.5, -0.3]), b=np.array([0.0, 1.0, 2.0])),
    ]  # fmt: skip


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
    ]


logsumexp = composite(
    "logsumexp", _logsumexp, samples=_reduced, edges=_far_out, bad=bad_axes,
    reference=_scipy_logsumexp,
    doc="log Σ b·eˣ over axes (b is 1 if not given).",
)  # fmt: skip
softmax = composite(
    "softmax", _softmax, samples=_kept, edges=_far_out, bad=bad_axes, reference=_scipy_softmax,
    doc="eˣ / Σ eˣ along an axis; a row of −∞ alone gives 0.",
)  # fmt: skip
log_softmax = composite(
    "log_softmax", _log_softmax, samples=_kept, edges=_far_out, bad=bad_axes,
    reference=_scipy_log_softmax,
    doc="x − log Σ eˣ along an axis.",
)  # fmt: skip

"""Running sums, products and extrema along an axis, and the linear recurrence behind them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import AlignedAxis, Axes
from chainrule.core.depends import COPIES, Along
from chainrule.core.masked import gated, plain
from chainrule.core.op import Op, Rules, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec, broadcast_shapes
from chainrule.errors import ArgumentError
from chainrule.ops.cures import PRODUCT_OVERFLOW
from chainrule.ops.define import composite, linear, rules, same_shape, shaped_spec
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw

FEW_LANES = 16  # up to here Python's own floats walk an axis faster than rows of arrays do


# -- neighbours along an axis -------------------------------------------------------------------


def along(axis: int, part: slice, ndim: int) -> tuple[slice, ...]:
    """The index that takes `part` of one axis and everything of the others."""
    return (slice(None),) * (axis % ndim) + (part,)


def flipped(x: Any, axis: int) -> Any:
    """The array in reverse order along an axis."""
    return x[along(axis, slice(None, None, -1), len(x.shape))]


def before(x: Any, first: int, axis: int) -> Any:
    """Each element replaced by the one before it, the foremost by the constant `first`."""
    head = x.shape[axis] and 1
    shape = tuple(head if i == axis % len(x.shape) else n for i, n in enumerate(x.shape))
    start = np.full(shape, first, x.dtype)
    return np.concatenate([start, x[along(axis, slice(None, -1), len(x.shape))]], axis=axis)


def flat_axis(x: Any, axis: int | None) -> tuple[Any, int]:
    """The array and axis a running op works on: without an axis, the flattened array."""
    if axis is None or x.shape == ():
        return np.reshape(x, (-1,)), 0
    return x, axis


# -- cumsum ------------------------------------------------------------------------------------


def _cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumsum(x, axis=axis, dtype=dtype)


def _running_shape(x: Spec, axis: int | None = None, **attrs: Any) -> Any:
    """The array's own; without an axis that of the flattened array, and never without an axis."""
    return (x.size,) if axis is None or x.shape == () else x.shape


def _suffix_sums(g: Any, x_spec: Any, axis: int | None) -> Any:
    """The transpose of running sums: the sums of everything from here on."""
    axis = 0 if axis is None or x_spec.shape == () else axis
    return np.reshape(flipped(np.cumsum(flipped(g, axis), axis=axis), axis), x_spec.shape)


def _running() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        sample(x), sample(x, axis=0), sample(x, axis=-2), sample(draw((), -2, 2)),
        sample(draw((2, 0), -2, 2), axis=1), sample(draw((3,), -2, 2).astype(np.float32)),
        sample(draw((2, 3), -2, 2) + 1j * draw((2, 3), -2, 2, 1), axis=1),
        sample(draw((3,), -2, 2).astype(np.float32), dtype=np.dtype(np.float64)),
    ]  # fmt: skip


def _no_such_axis() -> list[Sample]:
    return [sample(draw((2, 3), -2, 2), axis=2)]


def _running_lowered(function: str) -> Any:
    def lower(b: Any, x: Any, axis: int | None, dtype: Any = None) -> Any:
        if x.dtype.kind == "b" and dtype is None:
            dtype = np.int64
        return b.scan(function, [x if dtype is None else b.astype(x, dtype)], axis)

    return lower


cumsum = linear(
    "cumsum", _cumsum, _suffix_sums, samples=_running, numpy=(np.cumsum,), bad=_no_such_axis,
    spec=shaped_spec(_cumsum, _running_shape), lower=_running_lowered("add"),
    batch=Axes("axis", flat=True),
)  # fmt: skip


# -- the linear recurrence ---------------------------------------------------------------------


def _recurrence(x: Any, y: Any, axis: int = -1) -> Any:
    x, y = np.broadcast_arrays(x, y)
    dtype = np.result_type(x, y)
    factors, terms = np.moveaxis(x, axis, 0), np.moveaxis(y, axis, 0)
    out = np.empty(terms.shape, dtype)
    if terms.size <= FEW_LANES * terms.shape[0]:
        for lane in np.ndindex(terms.shape[1:]):
            at = (slice(None), *lane)
            out[at] = _walk(factors[at].tolist(), terms[at].tolist())
    elif terms.shape[0]:
        out[0] = terms[0]
        for k in range(1, terms.shape[0]):
            out[k] = factors[k] * out[k - 1] + terms[k]
    return np.moveaxis(out, 0, axis)


def _walk(factors: list[Any], terms: list[Any]) -> list[Any]:
    """The recurrence in one lane."""
    found = terms[:1]
    for factor, term in zip(factors[1:], terms[1:], strict=True):
        found.append(factor * found[-1] + term)
    return found


def backwards(x: Any, g: Any, axis: int) -> Any:
    """The transposed recurrence r_k = g_k + x̄_{k+1}·r_{k+1}, which runs from the end."""
    ndim = len(x.shape)
    # The last factor is not used; the first one stands in for it.
    after = np.concatenate(
        [x[along(axis, part, ndim)] for part in (slice(1, None), slice(1))], axis
    )
    return flipped(recurrence(flipped(conjugate(after), axis), flipped(g, axis), axis=axis), axis)


def _up_to(alive: Any, axis: int) -> Any:
    """The elements from which an alive lane was reached: everything up to the last one."""
    return flipped(np.maximum.accumulate(flipped(alive, axis), axis=axis), axis)


def _recurrence_samples() -> list[Sample]:
    x, y = draw((2, 3, 4), -1.5, 1.5), draw((2, 3, 4), -2, 2, 1)
    return [
        sample(x, y), sample(x, y, axis=0), sample(x, y, axis=-2), sample(x[0, 0], y),
        sample(draw((3, 20), -1.5, 1.5), draw((3, 20), -2, 2, 1), axis=0),
        sample(draw((0,), -1, 1), draw((0,), -1, 1)),
        sample(x[0].astype(np.float32), y[0].astype(np.float32)),
        sample(x[0] + 1j * x[1], y[0] + 1j * y[1]),
    ]  # fmt: skip


recurrence: Op = rules(
    "recurrence",
    _recurrence,
    reverse=(
        lambda g, x, out, axis: _wide_backwards(x, g, axis) * conjugate(before(out, 0, axis)),
        lambda g, x, axis: _wide_backwards(x, g, axis),
    ),
    push=(
        lambda t, x, out, axis: recurrence(x, t * before(out, 0, axis), axis=axis),
        lambda t, x, axis: recurrence(x, t, axis=axis),
    ),
    inputs=("x", "y"),
    depends=Along(lambda alive, x_spec, axis: _up_to(alive, axis)),
    samples=_recurrence_samples,
    bad=lambda: [sample(np.ones(3), np.ones(4)), sample(np.ones(3), np.ones(3), axis=1)],
    spec=shaped_spec(_recurrence, lambda x, y, axis=-1: broadcast_shapes([x.shape, y.shape])),
    doc="h with h_k = x_k·h_{k−1} + y_k along an axis, h before the first being 0.",
    lower=lambda b, x, y, axis: b.scan("recurrence", b.floats(x, y), axis),
    batch=AlignedAxis("axis"),
)


def _wide_backwards(x: Any, g: Any, axis: int) -> Any:
    return backwards(np.broadcast_to(x, g.shape), g, axis)


# -- cumprod -----------------------------------------------------------------------------------


def _cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumprod(x, axis=axis, dtype=dtype)


def _pull_cumprod(g: Any, x: Any, out: Any, axis: int | None) -> Any:
    """x̄_k = (Σ_{j≥k} g_j ∏_{k<i≤j} x_i) · ∏_{i<k} x_i"""
    flat, axis = flat_axis(x, axis)
    return np.reshape(backwards(flat, g, axis) * conjugate(before(out, 1, axis)), x.shape)


def _push_cumprod(t: Any, x: Any, out: Any, axis: int | None) -> Any:
    """ṗ_k = x_k·ṗ_{k−1} + t_k·p_{k−1}"""
    t, _ = flat_axis(t, axis)
    flat, axis = flat_axis(x, axis)
    return recurrence(flat, t * before(out, 1, axis), axis=axis)


def _factors(alive: Any, x_spec: Any, axis: int | None, dtype: Any) -> Any:
    """The factors of the running products that are alive."""
    axis = 0 if axis is None or x_spec.shape == () else axis
    return np.reshape(_up_to(alive, axis), x_spec.shape)


def _running_products() -> list[Sample]:
    holed = draw((2, 5), -2, 2)
    holed[0, 2] = 0
    holed[1, 1:4:2] = 0
    return [*_running(), sample(holed, axis=1), sample(holed), sample(np.zeros(3))]


cumprod = rules(
    "cumprod",
    _cumprod,
    reverse=(_pull_cumprod,),
    push=(_push_cumprod,),
    depends=Along(_factors),
    samples=_running_products,
    numpy=(np.cumprod,),
    bad=_no_such_axis,
    spec=shaped_spec(_cumprod, _running_shape),
    doc="Running products; the derivative divides by nothing and holds for any number of zeros.",
    lower=_running_lowered("multiply"),
    cure=(PRODUCT_OVERFLOW,),
    batch=Axes("axis", flat=True),
)


# -- NumPy's newer names -----------------------------------------------------------------------


def _with_initial(out: Any, first: int, axis: int) -> Any:
    shape = tuple(1 if i == axis % len(out.shape) else n for i, n in enumerate(out.shape))
    return np.concatenate([np.full(shape, first, out.dtype), out], axis=axis)


def _axis_of(x: Any, axis: int | None) -> int:
    """The axis, which may be left out only where there is no choice."""
    if axis is not None:
        return axis
    if len(x.shape) > 1:
        raise ArgumentError(f"an array of shape {x.shape} has several axes: say along which")
    return 0


def _newer_samples() -> list[Sample]:
    x = draw((2, 3), -2, 2)
    return [sample(x, axis=1), sample(x, axis=-2, include_initial=True), sample(x[0])]


def _newer(name: str, running: Op, first: int) -> Op:
    """NumPy's newer name of a running sum or product, which may begin with what starts it."""

    def expand(
        x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        x = as_array(x)
        axis = _axis_of(x, axis)
        out = running(x, axis=axis, dtype=dtype)
        return _with_initial(out, first, axis) if include_initial else out

    return composite(
        name,
        expand,
        samples=_newer_samples,
        bad=lambda: [sample(draw((2, 3), -2, 2)), sample(draw((2, 3), -2, 2), axis=2)],
        numpy=(getattr(np, name),) if hasattr(np, name) else (),
    )


cumulative_sum = _newer("cumulative_sum", cumsum, 0)
cumulative_prod = _newer("cumulative_prod", cumprod, 1)


# -- running extrema ---------------------------------------------------------------------------


def _runs(x: Any, out: Any, axis: int) -> tuple[Any, Any, Any]:
    """Which elements attain the running extremum, which continue its run, how many did so far."""
    x, out = plain(x), plain(out)
    same = _same(out, np.roll(out, 1, axis))
    same[along(axis, slice(1), out.ndim)] = False
    hit, goes_on = _same(x, out), same.astype(out.real.dtype)
    return hit, goes_on, recurrence(goes_on, hit.astype(out.real.dtype), axis=axis)


def _same(a: Any, b: Any) -> Any:
    return (a == b) | ((a != a) & (b != b))


def _pull_running(g: Any, x: Any, out: Any, axis: int) -> Any:
    """Each result hands its adjoint, in equal parts, to the elements so far that attain it."""
    hit, goes_on, count = _runs(x, out, axis)
    return gated(backwards(goes_on, g / count, axis), hit)


def _push_running(t: Any, x: Any, out: Any, axis: int) -> Any:
    """Each result moves with the mean of the elements so far that attain it."""
    hit, goes_on, count = _runs(x, out, axis)
    return recurrence(goes_on, np.where(hit, t, np.zeros((), t.dtype)), axis=axis) / count


def _running_extrema() -> list[Sample]:
    shuffled = np.random.default_rng(0).permutation(12) * 0.3 - 0.7
    return [
        sample(shuffled), sample(shuffled.reshape(3, 4), axis=1),
        sample(shuffled.reshape(3, 4), axis=-2), sample(shuffled[:5].astype(np.float32)),
        sample(np.zeros((0, 2))),
    ]  # fmt: skip


def _running_ties() -> list[Sample]:
    return [sample(np.array([1.0, 3.0, 3.0, 2.0, 3.0, 1.0, 1.0])), sample(np.zeros((2, 3)), axis=1)]


def _running_extremum(name: str, ufunc: np.ufunc, word: str) -> Op:
    def forward(x: Any, axis: int = 0) -> Any:
        return ufunc.accumulate(x, axis=axis)

    return rules(
        name,
        forward,
        derivative=Rules((_pull_running,), (_push_running,)),
        depends=COPIES,
        samples=_running_extrema,
        edges=_running_ties,
        bad=_no_such_axis,
        kinks=lambda x, axis: _runs(x, forward(x, axis), axis)[2] > 1,
        reference=ufunc.accumulate,
        spec=shaped_spec(forward, same_shape),
        doc=f"The {word} element so far (np.{ufunc.__name__}.accumulate); ties so far share "
        "equally.",
        lower=_running_lowered(ufunc.__name__),
        batch=Axes("axis"),
    )


cummax = _running_extremum("cummax", np.maximum, "largest")
cummin = _running_extremum("cummin", np.minimum, "smallest")

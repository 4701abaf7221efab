"""Sums, products, truth and counts over axes, and what every reduction shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from chainrule.core.batching import Axes
from chainrule.core.depends import COPIES, Along
from chainrule.core.op import Op, Rules, Sample, Samples, register, sample
from chainrule.core.picked import Picked, reducing, shape_of
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import DTypeError
from chainrule.ops.cumulative import before, flipped
from chainrule.ops.cures import PRODUCT_OVERFLOW
from chainrule.ops.define import ZERO, rules, shaped_spec
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw

Axis = int | tuple[int, ...] | None
ADD: Any = np.add  # its types ask for a literal `keepdims`


# -- what reductions share ---------------------------------------------------------------------


def axes_of(ndim: int, axis: Axis) -> tuple[int, ...]:
    """The reduced axes, counted from the front.

    A number has none, but axis 0 of it is let pass: NumPy's ufuncs reduce `np.sum(x, axis=0)` of a
    vector along axis 0 once more.  What is stricter in NumPy calls `strict_axes` first.
    """
    if axis is None or (ndim == 0 and isinstance(axis, (int, np.integer)) and axis in (0, -1)):
        return tuple(range(ndim))
    return normalize_axis_tuple(axis, ndim, "axis")


def strict_axes(ndim: int, axis: Axis) -> tuple[int, ...]:
    """The reduced axes, counted from the front, of which a number has none."""
    return axes_of(ndim, axis) if ndim or axis is None else normalize_axis_tuple(axis, 0, "axis")


def lane_size(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements are reduced into one."""
    size = 1
    for a in axes_of(len(shape), axis):
        size *= shape[a]
    return size


def kept_shape(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """The shape with its reduced axes left as size one."""
    gone = axes_of(len(shape), axis)
    kept = tuple(1 if i in gone else n for i, n in enumerate(shape))
    if isinstance(shape, Picked) and shape.axis not in gone:
        return shape.along(kept, shape.axis)
    return kept


def reduced_shape(shape: tuple[int, ...], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduction's result."""
    if keepdims:
        return kept_shape(shape, axis)
    gone = axes_of(len(shape), axis)
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def reduction_spec(forward: Any) -> Any:
    """The spec of a function that reduces `axis` and takes `keepdims`."""
    return shaped_spec(
        forward,
        lambda x, axis=None, keepdims=False, **_: reduced_shape(x.shape, axis, bool(keepdims)),
    )


def expanded(g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """A reduced array with its reduced axes back, as size one, so that it broadcasts to `shape`."""
    if keepdims or g.shape == shape:
        return g
    return np.reshape(g, kept_shape(shape, axis))


def spread(g: Any, x_spec: Any, axis: Axis, keepdims: bool) -> Any:
    """The transpose of summing: every summand gets its sum's adjoint.

    A hot rule: of plain arrays, the view that np.broadcast_to would give, in a tenth of its time.
    """
    shape = x_spec.shape
    if axis is None and isinstance(g, np.generic):
        return np.ndarray(shape, g.dtype, g.tobytes(), 0, (0,) * len(shape))
    if not shape:  # of a number, which NumPy sums along axis 0 and -1 too
        return g
    if type(axis) is int and not keepdims and type(g) is np.ndarray and g.flags.c_contiguous:
        strides = list(g.strides)
        strides.insert(axis if axis >= 0 else axis + len(shape), 0)
        return np.ndarray(shape, g.dtype, g, 0, strides)
    return np.broadcast_to(expanded(g, shape, axis, keepdims), shape)


def lanes(x: Any, axis: Axis) -> Any:
    """The array with its reduced axes put last and flattened into one."""
    gone = axes_of(len(x.shape), axis)
    kept = tuple(i for i in range(len(x.shape)) if i not in gone)
    if kept + gone != tuple(range(len(x.shape))):
        x = np.transpose(x, kept + gone)
    shape = (*x.shape[: len(kept)], lane_size(x.shape, tuple(range(len(kept), len(x.shape)))))
    return np.reshape(x, shape) if x.shape != shape else x


def from_lanes(y: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """The inverse of `lanes`, for an array of `shape`."""
    gone = axes_of(len(shape), axis)
    order = tuple(i for i in range(len(shape)) if i not in gone) + gone
    y = np.reshape(y, tuple(shape[i] for i in order))
    return np.transpose(y, tuple(order.index(i) for i in range(len(shape))))


@dataclass(frozen=True, eq=False, repr=False)
class MaskableOp(Op):
    """A reduction that takes NumPy's `where`: a lane outside it is replaced by `neutral` first.

    The replacement is a `where` of its own in the graph, so such lanes carry structural zeros and
    no node keeps a mask among its attrs: run again elsewhere, the mask may be another.  An op
    without a neutral element is left to refuse.  `scaled(x, mask, attrs)` has the last word on x.
    """

    neutral: Callable[[dict[str, Any]], Any] = lambda attrs: 0
    scaled: Callable[[Any, Any, dict[str, Any]], Any] | None = None

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        inputs, attrs = super().bind(args, kwargs)
        mask = attrs["where"]
        if mask is True or (neutral := self.neutral(attrs)) is None:
            return inputs, attrs
        x = as_array(inputs[0])
        mask = mask_for(x, mask)
        filled = np.where(mask, x, neutral)
        if self.scaled is not None:
            filled = self.scaled(filled, mask, attrs)
        return [filled], {**attrs, "where": True}


def mask_for(x: Any, mask: Any) -> Any:
    """The mask of a reduction in the shape of what is reduced; True for every lane."""
    mask = as_array(mask)
    if mask.dtype != bool:
        raise DTypeError(f"where= takes booleans, not {mask.dtype.name}")
    return np.broadcast_to(mask, shape_of(x))


def maskable(name: str, forward: Any, derivative: Any, samples: Samples, **fields: Any) -> Op:
    """Enter a reduction that takes `where` into the table."""
    of_all = reduction_spec(forward)

    def spec(x: Any, where: Any = True, **attrs: Any) -> Spec:
        return of_all(x, **attrs)  # a mask changes neither shape nor dtype

    fields.setdefault("batch", Axes("axis"))
    return register(MaskableOp(name, forward, ("x",), derivative, spec, samples, **fields))


def distinct(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Numbers at least 0.3 apart in random order: no central difference crosses a tie."""
    size = lane_size(shape, None)
    return np.random.default_rng([seed, *shape]).permutation(size).reshape(shape) * 0.3 - 0.71


def reduction_samples(low: float = -2.0, high: float = 2.0, complex_too: bool = False) -> Any:
    """Every kind of axis argument a reduction takes."""

    def samples() -> list[Sample]:
        x = draw((2, 3, 4), low, high)
        found = [
            sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True),
            sample(x, axis=(0, 2)), sample(x, axis=(-1, 0), keepdims=True), sample(x, axis=()),
            sample(draw((), low, high)), sample(draw((3,), low, high).astype(np.float32)),
        ]  # fmt: skip
        if complex_too:
            found.append(sample(draw((2, 3), low, high) + 1j * draw((2, 3), low, high, 1), axis=1))
        return found

    return samples


def bad_axes() -> list[Sample]:
    """Axes a 2 × 3 array does not have, or has only once."""
    x = draw((2, 3), -2, 2)
    return [sample(x, axis=2), sample(x, axis=(0, 3)), sample(x, axis=(1, -1))]


# -- the ops -----------------------------------------------------------------------------------


def _sum(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    if initial is None:
        return ADD.reduce(x, axis, dtype, None, keepdims, where=where)
    return ADD.reduce(x, axis, dtype, None, keepdims, initial, where)


def _push_sum(t: Any, axis: Axis, dtype: Any, keepdims: bool) -> Any:
    """The sum without the constant it starts from."""
    return np.sum(t, axis=axis, dtype=dtype, keepdims=keepdims)


def _sum_samples() -> list[Sample]:
    return [
        *reduction_samples(complex_too=True)(),
        sample(draw((2, 0, 3), -2, 2), axis=1),
        sample(draw((3,), -2, 2).astype(np.float32), dtype=np.dtype(np.float64)),
        sample(draw((2, 3), -2, 2), axis=0, where=np.array([True, False, True])),
        sample(draw((2, 3), -2, 2), axis=0, initial=0.7),
        sample(draw((2, 3), -2, 2), initial=0.7, where=np.array([True, False, True])),
    ]


WITH_INITIAL = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def folded_by(function: str) -> Any:
    """The lowering of a reduction that folds its lanes with one function."""

    def lower(
        b: Any,
        x: Any,
        axis: Axis,
        keepdims: bool,
        dtype: Any = None,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if where is not True:
            return None
        if function in ("any", "all"):
            x = b.astype(x, np.bool_)
        elif dtype is not None:
            x = b.astype(x, dtype)
        elif x.dtype.kind == "b":
            x = b.astype(x, np.int64)  # the largest truth, back as one, or how many there are
        found = b.reduce(function, x, axis, bool(keepdims))
        if initial is None:
            return found
        return b.map(WITH_INITIAL[function], found, b.constant(initial, found.dtype))

    return lower


sum = maskable(
    "sum", _sum, Rules((spread,), (_push_sum,)), _sum_samples,
    numpy=(np.sum,), bad=bad_axes, depends=COPIES,
    doc="The sum over axes; lanes outside `where` carry structural zeros.",
    lower=folded_by("sum"),
    picked=reducing(lambda dtype: 0),
    symbol="Σ",
)  # fmt: skip


def _prod(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    given = {} if initial is None else {"initial": initial}
    return np.multiply.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims, where=where, **given)


def _others(x: Any, axis: Axis, dtype: Any, initial: Any) -> Any:
    """Per element the product of all that it is multiplied with, without a division."""
    flat = lanes(x if dtype is None else x.astype(dtype), axis)
    ahead = before(np.cumprod(flat, axis=-1), 1, -1)
    behind = flipped(before(np.cumprod(flipped(flat, -1), axis=-1), 1, -1), -1)
    others = from_lanes(ahead * behind, x.shape, axis)
    return others if initial is None else others * initial


def _pull_prod(g: Any, x: Any, axis: Axis, dtype: Any, keepdims: bool, initial: Any) -> Any:
    """g · ∏_{j≠i} x̄_j"""
    return expanded(g, x.shape, axis, keepdims) * conjugate(_others(x, axis, dtype, initial))


def _push_prod(t: Any, x: Any, axis: Axis, dtype: Any, keepdims: bool, initial: Any) -> Any:
    """Σ_i t_i · ∏_{j≠i} x_j"""
    return np.sum(t * _others(x, axis, dtype, initial), axis=axis, keepdims=keepdims)


def _factors(alive: Any, x_spec: Any, axis: Axis, keepdims: bool, **attrs: Any) -> Any:
    """The factors of the products that are alive."""
    return spread(alive, x_spec, axis, keepdims)


def _prod_samples() -> list[Sample]:
    one, two = draw((2, 4), -2, 2), draw((2, 4), -2, 2, 1)
    one[0, 2] = 0
    two[0, 1:3] = 0
    return [
        *reduction_samples(complex_too=True)(),
        sample(one, axis=1), sample(two, axis=1), sample(two), sample(np.zeros(3)),
        sample(draw((2, 0, 3), -2, 2), axis=1),
        sample(draw((3,), -2, 2).astype(np.float32), dtype=np.dtype(np.float64)),
        sample(draw((2, 3), -2, 2), axis=1, where=np.array([True, False, True])),
        sample(draw((2, 3), -2, 2), axis=1, initial=0.7), sample(one, initial=-2, where=one < 1),
    ]  # fmt: skip


prod = maskable(
    "prod",
    _prod,
    Rules((_pull_prod,), (_push_prod,)),
    _prod_samples,
    numpy=(np.prod,),
    bad=bad_axes,
    depends=Along(_factors),
    neutral=lambda attrs: 1,
    doc="The product over axes; its derivative holds for any number of zeros.",
    lower=folded_by("prod"),
    picked=reducing(lambda dtype: 1),
    symbol="Π",
    cure=(PRODUCT_OVERFLOW,),
)


def _truths() -> list[Sample]:
    x = np.array([[0.0, 1.5, np.nan], [0.0, 0.0, 0.0]])
    return [
        sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True), sample(x, axis=(0, 1)),
        sample(x > 0, axis=1), sample(np.zeros((0, 2)), axis=0),
    ]  # fmt: skip


def _masked_truths() -> list[Sample]:
    return [*_truths(), sample(np.ones((2, 2)), axis=0, where=np.array([[True], [False]]))]


def _of_truths(function: Any, neutral: int) -> Op:
    def forward(x: Any, axis: Axis = None, keepdims: bool = False, where: Any = True) -> Any:
        return function(x, axis=axis, keepdims=keepdims, where=where)

    name = function.__name__
    return maskable(
        name,
        forward,
        ZERO,
        _masked_truths,
        numpy=(function,),
        bad=bad_axes,
        neutral=lambda attrs: neutral,
        lower=folded_by(name),
        picked=reducing(lambda dtype: neutral),
    )


any_of, all_of = _of_truths(np.any, 0), _of_truths(np.all, 1)


def _count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return np.count_nonzero(x, axis=axis, keepdims=keepdims)


count_nonzero = rules(
    "count_nonzero",
    _count_nonzero,
    derivative=ZERO,
    samples=_truths,
    numpy=(np.count_nonzero,),
    bad=bad_axes,
    spec=reduction_spec(_count_nonzero),
    picked=reducing(lambda dtype: 0),
    lower=lambda b, x, axis, keepdims: b.reduce(
        "sum", b.astype(b.astype(x, np.bool_), np.int64), axis, keepdims
    ),
    batch=Axes("axis"),
)

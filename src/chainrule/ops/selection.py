"""Choosing between values: where, select, maximum, minimum, clip, absolute, nan_to_num.

Kinks follow one rule: the minimum-norm element of the subdifferential over the inputs being
differentiated.  So a tie between two variables is shared equally, and a tie with a constant
(relu, maximum(x, 0), clip at its bounds) gives 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import LANES
from chainrule.core.masked import perhaps, plain, within
from chainrule.core.op import Op, Sample, sample
from chainrule.core.python_numbers import OnPython
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError
from chainrule.ops.define import Gate, composite, elementwise, elementwise_spec, rules
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw, holomorphic, pairs, point_pairs, points, reals


def _where_samples() -> list[Sample]:
    mask = np.array([True, False, True])
    return [
        sample(mask, draw((3,), -2, 2), draw((3,), -2, 2, 1)),
        sample(mask, draw((2, 3), -2, 2), np.float64(0.5)),
        sample(np.True_, draw((2,), -2, 2), draw((2,), -2, 2, 1)),
    ]


def _numpy_where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """With the condition alone, the indices where it holds."""
    if x is None and y is None:
        return np.nonzero(plain(condition))
    return where(condition, x, y)


numpy_where = composite(
    "numpy_where",
    _numpy_where,
    inputs=("condition",),
    samples=lambda: [
        sample(np.array([True, False]), draw((2,), -2, 2), draw((2,), -2, 2, 1)),
        sample(np.array([True, False])),
    ],
    numpy=(np.where,),
    usually=(3, "where"),
    picked=True,
    doc="What np.where stands for: `where`, or the indices when only a condition is given.",
)


def _truth(condition: Any) -> Any:
    condition = plain(as_array(condition))
    return condition if condition.dtype == bool else np.not_equal(condition, 0)


def _where(condition: Any, x: Any, y: Any) -> Any:
    out = np.where(condition, x, y)
    return out if out.ndim else out[()]


where = elementwise(
    "where",
    _where,
    (None, Gate(_truth), Gate(lambda condition: ~_truth(condition))),
    inputs=("condition", "x", "y"),
    samples=_where_samples,
    doc="x where the condition holds, else y; the lanes not taken carry a structural zero.",
)


# -- the larger and the smaller --------------------------------------------------------------------


def _unequal_shapes() -> list[Sample]:
    return [sample(np.ones(2), np.ones(3))]


def _winner(better: Any, tied: Any, active: tuple[bool, ...], out: Spec) -> Any:
    """Weights of one operand of max or min: 1 where it wins, a share where it ties."""
    better, tied = plain(better), plain(tied)
    if not perhaps(tied):
        return better
    if not all(active):
        return better & ~tied
    return np.where(tied, 0.5, better).astype(out.dtype)


def _extremum(ufunc: np.ufunc, better: np.ufunc) -> Op:
    """maximum or minimum, where x is chosen if `better(x, y)`."""
    return elementwise(
        ufunc.__name__,
        ufunc,
        (
            Gate(
                lambda x, y, active, out_spec: _winner(
                    better(x, y), np.equal(x, y), active, out_spec
                )
            ),
            Gate(
                lambda x, y, active, out_spec: _winner(
                    better(y, x), np.equal(x, y), active, out_spec
                )
            ),
        ),
        samples=pairs,
        edges=point_pairs((0.0, 0.0), (1.0, 1.0), (0.0, -0.0)),
        bad=_unequal_shapes,
        kinks=lambda x, y: np.equal(x, y),
        symbol=ufunc.__name__[:3],
    )


def _extremum_of_numbers(ufunc: np.ufunc, better: np.ufunc) -> Op:
    """fmax or fmin, where x is also chosen if y is NaN; two NaNs tie."""

    def chosen(x: Any, y: Any) -> Any:
        return better(plain(x), plain(y)) | np.isnan(plain(y))

    def tied(x: Any, y: Any) -> Any:
        x, y = plain(x), plain(y)
        return np.equal(x, y) | (np.isnan(x) & np.isnan(y))

    return elementwise(
        ufunc.__name__,
        ufunc,
        (
            Gate(
                lambda x, y, active, out_spec: _winner(chosen(x, y), tied(x, y), active, out_spec)
            ),
            Gate(
                lambda x, y, active, out_spec: _winner(chosen(y, x), tied(x, y), active, out_spec)
            ),
        ),
        samples=pairs,
        edges=point_pairs((0.0, 0.0), (np.nan, 1.0), (1.0, np.nan)),
        bad=_unequal_shapes,
        kinks=lambda x, y: np.equal(x, y),
    )


maximum = _extremum(np.maximum, np.greater)
minimum = _extremum(np.minimum, np.less)
fmax = _extremum_of_numbers(np.fmax, np.greater)
fmin = _extremum_of_numbers(np.fmin, np.less)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """NumPy's own order: the upper bound is applied last and wins where the bounds cross."""
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ArgumentError("clip takes a_min and a_max, or min and max, not both")
    bounds = a_min if min is None else min, a_max if max is None else max
    low, high = (b if b is None or np.isscalar(b) else as_array(b) for b in bounds)
    a = as_array(a)
    if low is not None:
        a = np.maximum(a, low)
    return np.minimum(a, high) if high is not None else a if low is not None else np.positive(a)


def _clip_samples() -> list[Sample]:
    x = draw((2, 3), -2, 2)
    return [
        sample(x, -1.0, 1.0),
        sample(x, None, 0.5),
        sample(x, 0, None),
        sample(x, draw((3,), -1, -0.5), draw((2, 1), 0.5, 1)),
        sample(x, 1.0, -1.0),
        sample(x, min=-1.0, max=1.0),
        sample(x.astype(np.float32), -1, 0.5),
        sample(np.float64(3.0), 0.0, 1.0),
    ]


clip = composite(
    "clip",
    _clip,
    inputs=("a", "a_min", "a_max"),
    samples=_clip_samples,
    edges=lambda: [
        sample(np.array([-1.0, 1.0, 0.0]), -1.0, 1.0),
        sample(np.ones(2), np.ones(2), np.ones(2)),
    ],
    bad=lambda: [sample(np.ones(2), np.ones(3), None)],
    numpy=(np.clip,),
    doc="minimum(maximum(a, low), high); a bound may be None, and may be differentiated.",
    picked=True,
)


# -- absolute value --------------------------------------------------------------------------------


def _complex_variant(x: Any) -> tuple[Op, list[Any]] | None:
    return (absolute_complex, [x]) if x.dtype.kind == "c" else None


def _at_zero(x: Any) -> Any:
    return np.equal(x, 0)


absolute = elementwise(
    "absolute",
    np.absolute,
    (Gate(lambda x: np.sign(plain(x))),),
    samples=holomorphic,
    edges=points(0.0, -0.0, -3.0),
    kinks=_at_zero,
    variant=_complex_variant,
    symbol="|x|",
    python=OnPython(abs),
)
absolute_complex = rules(
    "absolute_complex",
    lambda x: np.absolute(x),
    reverse=(lambda g, x: within(g * np.sign(x), plain(x) != 0),),
    push=(lambda t, x: within(np.real(np.conjugate(np.sign(x)) * t), plain(x) != 0),),
    samples=lambda: holomorphic()[-1:],
    edges=lambda: [sample(np.complex128(0))],
    kinks=_at_zero,
    spec=elementwise_spec(np.absolute),
    doc="|z|: its gradient is the direction z / |z|, and 0 at 0.",
    batch=LANES,
)
fabs = elementwise(
    "fabs",
    np.fabs,
    (Gate(lambda x: np.sign(plain(x))),),
    samples=reals,
    edges=points(0.0),
    bad=lambda: [sample(np.ones(2) * 1j)],
    kinks=_at_zero,
)


# -- replacing and choosing among many -------------------------------------------------------------


def _nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Three choices, so that replaced lanes carry structural zeros; complex parts one by one."""
    if not copy:
        raise ArgumentError(
            "nan_to_num(copy=False) would write into x; assign its result: x = np.nan_to_num(x)"
        )
    x = as_array(x)[()]
    if x.dtype.kind == "c":
        parts = (_nan_to_num(part, True, nan, posinf, neginf) for part in (np.real(x), np.imag(x)))
        return np.add(next(parts), 1j * next(parts))
    if x.dtype.kind != "f":
        return x
    largest = float(np.finfo(x.dtype).max)
    kept = np.where(np.isnan(x), nan, x)
    kept = np.where(np.equal(x, np.inf), largest if posinf is None else posinf, kept)
    return np.where(np.equal(x, -np.inf), -largest if neginf is None else neginf, kept)[()]


def _broken_numbers() -> list[Sample]:
    broken = np.array([np.nan, 1.5, np.inf, -np.inf, -0.5])
    return [sample(broken), sample(broken.astype(np.float32), nan=2.0, posinf=1.0, neginf=-1.0)]


nan_to_num = composite(
    "nan_to_num",
    _nan_to_num,
    samples=lambda: [*holomorphic(), sample(np.array([1, 2]))],
    edges=_broken_numbers,
    numpy=(np.nan_to_num,),
    doc="x with NaN and infinities replaced; the replaced lanes carry a structural zero.",
    picked=True,
)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds: `where` nested from the last to the first."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ArgumentError(
            f"select needs a choice per condition, got {len(condlist)} and {len(choicelist)}"
        )
    chosen = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        condition = as_array(condition)
        if condition.dtype.kind != "b":
            raise DTypeError("select takes boolean conditions")
        chosen = np.where(condition, choice, chosen)
    return chosen


def _select_samples() -> list[Sample]:
    x = draw((2, 3), -2, 2)
    return [
        sample([x > 1, x > 0], [x, 2 * x]),
        sample([x > 1, x[0] > 0], [x, 0.5], -1.0),
        sample([x > 1], [x.astype(np.float32)], default=3),
    ]


select = composite(
    "select",
    _select,
    inputs=("condlist", "choicelist"),
    samples=_select_samples,
    numpy=(np.select,),
    doc="The first of the choices whose condition holds, else the default.",
)

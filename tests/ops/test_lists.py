"""A nested list of Variables is to every op what the array of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import Op, Sample

MOST = 24  # elements of an array that is taken apart


def listable(a: Any) -> bool:
    floats = isinstance(a, np.ndarray) and a.dtype in (np.float64, np.complex128)
    return floats and a.ndim > 0 and 0 < a.size <= MOST


def shortest(op: Op) -> Sample | None:
    """One sample per op: the first with a complex array that can be a list, or any such."""
    able = [s for s in op.samples() if any(listable(a) for a in s.args)]
    complexes = [s for s in able if any(listable(a) and a.dtype.kind == "c" for a in s.args)]
    return (complexes or able or [None])[0]


WRITES = ("put", "putmask", "place", "copyto", "put_along_axis", "fill_diagonal")
OPS = [
    pytest.param(op, s, id=op.name)
    for op in cr.OPS.values()
    if not op.variadic  # it takes its arrays in a list
    and op.name not in [f"numpy_{name}" for name in WRITES]  # and those write into an array
    and (s := shortest(op)) is not None
]


def nested(x: cr.Variable) -> Any:
    return x if x.ndim == 0 else [nested(row) for row in x]


def value_and_gradient(op: Op, sample: Sample, place: int, as_given: Any) -> tuple[Any, Any]:
    x = cr.variable(sample.args[place])
    args = [as_given(x) if i == place else a for i, a in enumerate(sample.args)]
    out = op(*args, **sample.attrs)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    total: Any = 0.0
    for o in outs:
        if isinstance(o, cr.Variable) and o.dtype.kind in "fc":
            real = np.real(o) + np.imag(o)
            total = total + np.sum(np.where(np.isfinite(real.value), real, 0.0))
    if isinstance(total, cr.Variable) and total.node.parents:
        total.backward()
    return [getattr(o, "value", o) for o in outs], x.grad


@pytest.mark.parametrize(("op", "sample"), OPS)
@pytest.mark.filterwarnings("ignore")
def test_a_list_of_variables_is_an_array(op, sample):
    place = next(i for i, a in enumerate(sample.args) if listable(a))
    expected, gradient = value_and_gradient(op, sample, place, lambda x: x)
    found, again = value_and_gradient(op, sample, place, nested)
    for f, e in zip(found, expected, strict=True):
        assert np.asarray(f).dtype == np.asarray(e).dtype
        np.testing.assert_allclose(f, e, rtol=1e-12)
    if gradient is None:
        assert again is None
    else:
        np.testing.assert_allclose(again, gradient, rtol=1e-9, atol=1e-12)

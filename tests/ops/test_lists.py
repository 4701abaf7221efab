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


def value_and_gradients(
    op: Op, sample: Sample, places: list[int], as_given: Any
) -> tuple[Any, list[Any]]:
    xs = {i: cr.variable(sample.args[i]) for i in places}
    args = [as_given(xs[i]) if i in xs else a for i, a in enumerate(sample.args)]
    out = op(*args, **sample.attrs)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    total: Any = 0.0
    for o in outs:
        if isinstance(o, cr.Variable) and o.dtype.kind in "fc":
            real = np.real(o) + np.imag(o)
            total = total + np.sum(np.where(np.isfinite(real.value), real, 0.0))
    if isinstance(total, cr.Variable) and total.node.parents:
        total.backward()
    return [getattr(o, "value", o) for o in outs], [x.grad for x in xs.values()]


@pytest.mark.parametrize(("op", "sample"), OPS)
@pytest.mark.filterwarnings("ignore")
def test_a_list_of_variables_is_an_array(op, sample):
    listables = [i for i, a in enumerate(sample.args) if listable(a)]
    for places in {(listables[0],), (listables[-1],), tuple(listables)}:
        assert_same_as_arrays(op, sample, list(places))


def assert_same_as_arrays(op: Op, sample: Sample, places: list[int]) -> None:
    expected, gradients = value_and_gradients(op, sample, places, lambda x: x)
    found, again = value_and_gradients(op, sample, places, nested)
    for f, e in zip(found, expected, strict=True):
        assert np.asarray(f).dtype == np.asarray(e).dtype
        np.testing.assert_allclose(f, e, rtol=1e-12)
    for g, a in zip(gradients, again, strict=True):
        if g is None:
            assert a is None
        else:
            np.testing.assert_allclose(a, g, rtol=1e-9, atol=1e-12)

"""Every op in the table, on every one of its samples: value, spec, both modes, order two, trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import NOT_WRITTEN, ZERO, Op, Sample
from chainrule.core.spec import Spec
from tests.ops.table import Case, assert_close, assert_derivatives, at_double, case_of, directions
from tests.sweeps import on_every_sample

ALL = [
    pytest.param(op, s, id=f"{op.name}-{i}")
    for op in cr.OPS.values()
    for i, s in enumerate(op.samples())
]
EDGES = [
    pytest.param(op, s, id=f"{op.name}-{i}")
    for op in cr.OPS.values()
    for i, s in enumerate(op.edges() if op.edges else ())
]
BAD = [
    pytest.param(op, s, id=f"{op.name}-{i}")
    for op in cr.OPS.values()
    for i, s in enumerate(op.bad() if op.bad else ())
]


def as_variables(sample: Sample) -> list[Any]:
    return [
        cr.variable(a) if getattr(a, "dtype", np.dtype(int)).kind in "fc" else a
        for a in sample.args
    ]


def differentiable(op: Op, sample: Sample) -> Case:
    """The sample as a function from floating-point arrays to such arrays, if it is one."""
    case = case_of(op, sample)
    if not case.places or not case(*case.point):
        pytest.skip("no floating-point input, or no floating-point result")
    return case


def flat(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (tuple, list)) else [out]


def reference_of(op: Op) -> Any:
    if op.reference is not None:
        return op.reference
    callables = [f for f in op.numpy if callable(f)]
    return callables[0] if callables else None


def test_there_are_at_least_two_hundred_ops():
    assert len(cr.OPS) >= 200


@pytest.mark.parametrize("op", list(cr.OPS.values()), ids=lambda op: op.name)
def test_has_samples(op):
    assert op.name == "item" or op.samples(), "an op without samples is untested"


@on_every_sample(ALL)
def test_value_is_numpy_s(op, sample):
    recorded = flat(op(*as_variables(sample), **sample.attrs))
    plain = flat(op(*sample.args, **sample.attrs))
    reference = reference_of(op)
    if reference is not None:
        expected = flat(
            reference(*(sample.args if not op.variadic else [list(sample.args)]), **sample.attrs)
        )
    else:
        expected = plain
    for r, p, e in zip(recorded, plain, expected, strict=True):
        value = r.value if isinstance(r, cr.Variable) else r
        np.testing.assert_array_equal(value, p)
        np.testing.assert_allclose(value, e, rtol=1e-13, atol=1e-300)
        assert np.asarray(value).dtype == np.asarray(e).dtype


@on_every_sample(ALL)
def test_spec_is_right(op, sample):
    if op.expand is not None:
        pytest.skip("a composite is recorded as other ops, each with its own spec")
    out = op(*sample.args, **sample.attrs)
    expected = tuple(Spec.of(o) for o in out) if isinstance(out, tuple) else Spec.of(out)
    found = op.spec(
        *(Spec.of(a) if hasattr(a, "dtype") else a for a in sample.args), **sample.attrs
    )
    if op.value_shaped(sample.args, sample.attrs):
        assert found is None, "it is not known beforehand"
    else:
        assert found == expected


@on_every_sample(ALL)
def test_first_derivative(op, sample):
    if op.name == "stop_gradient":
        pytest.skip("its derivative is zero by decree, not by calculus")
    case = differentiable(op, at_double(sample))
    assert_derivatives(case, case.point, op.name)


@on_every_sample(ALL)
def test_second_derivative(op, sample):
    """The pullback, as a function of the point, is differentiated again in both modes."""
    if op.derivative is ZERO:
        pytest.skip("zero to every order")
    case = differentiable(op, at_double(sample))
    outputs = case(*case.point)
    v = tuple(directions([np.asarray(o) for o in outputs], 3))

    def pulled_back(*arrays: Any) -> tuple[Any, ...]:
        return cr.vjp(case, *arrays)[1](v)

    assert_derivatives(pulled_back, case.point, f"{op.name}, order 2, over reverse")
    u = tuple(directions(case.point, 4))

    def pushed_forward(*arrays: Any) -> tuple[Any, ...]:
        return tuple(cr.jvp(case, arrays, u)[1])

    assert_derivatives(pushed_forward, case.point, f"{op.name}, order 2, over forward")


@on_every_sample(ALL)
def test_narrow_types_stay_narrow(op, sample):
    narrow = [a for a in sample.args if getattr(a, "dtype", None) == np.float32]
    if not narrow:
        pytest.skip("no float32 sample")
    case = differentiable(op, sample)
    _, pullback = cr.vjp(case, *case.point)
    outputs = case(*case.point)
    for g, x in zip(pullback(tuple(np.ones_like(o) for o in outputs)), case.point, strict=True):
        assert g.dtype == x.dtype


@on_every_sample(ALL)
def test_traced_graph_is_sound(op, sample):
    case = case_of(op, sample)
    if not case.places:
        pytest.skip("no floating-point input")
    graph = cr.trace(lambda *arrays: case.op(*_placed(case, arrays), **sample.attrs), *case.point)
    graph.verify()
    expected = flat(op(*sample.args, **sample.attrs))
    run = graph.forward(*case.point)
    assert_close([run.value(o) for o in graph.outputs], expected, "replayed", 1e-13)
    again = cr.Graph.from_json(graph.to_json())
    assert str(again) == str(graph)
    assert_close(
        [again.forward(*case.point).value(o) for o in again.outputs], expected, "from JSON", 1e-13
    )


def _placed(case: Any, arrays: Any) -> list[Any]:
    args = list(case.sample.args)
    for i, a in zip(case.places, arrays, strict=True):
        args[i] = a
    return args


@on_every_sample(EDGES)
def test_edges_are_finite_and_both_modes_agree(op, sample):
    """At the edges of its domain and at its kinks an op has a stated, finite derivative."""
    case = case_of(op, sample)
    outputs, pullback = cr.vjp(case, *case.point)
    u, v = directions(case.point, 1), directions([np.asarray(o) for o in outputs], 2)
    back = pullback(tuple(v))
    _, tangent = cr.jvp(case, case.point, u)
    for g in back:
        assert np.all(np.isfinite(g)), f"{op.name} at {sample.args}: gradient {g}"
    left = sum(np.sum(np.conj(a) * b).real for a, b in zip(v, tangent, strict=True))
    right = sum(np.sum(np.conj(a) * b).real for a, b in zip(back, u, strict=True))
    assert abs(left - right) <= 1e-9 * (1 + abs(left))


@on_every_sample(BAD)
def test_bad_input_is_named(op, sample):
    with pytest.raises(cr.ChainruleError) as caught:
        op(*as_variables(sample), **sample.attrs)
    assert "test_table.py" in str(caught.value), "the message names the user's line"


def test_not_written_is_only_for_composites():
    unwritten = [
        op.name for op in cr.OPS.values() if op.derivative is NOT_WRITTEN and op.expand is None
    ]
    assert unwritten == []

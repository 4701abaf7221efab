"""An op whose result has another shape or dtype at other values of the same kind says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import Op, Sample
from chainrule.core.spec import Spec
from chainrule.record.specialise import GuardedTrace


def others(a: Any, rng: np.random.Generator) -> list[Any]:
    """Arrays of the same shape and dtype: other truths, repeated values, zeros, NaN."""
    a = np.asarray(a)
    same = [a, np.zeros_like(a), np.ones_like(a)]
    if a.dtype.kind == "b":
        return [*same, ~a, rng.random(a.shape) < 0.5]
    if a.dtype.kind in "iu":
        return [*same, np.minimum(a, 1), rng.permutation(a.ravel()).reshape(a.shape)]
    drawn = rng.standard_normal(a.shape).astype(a.dtype)
    return [*same, -a, np.round(a), drawn, np.full_like(a, np.nan), a.real.astype(a.dtype)]


def perturbed(sample: Sample) -> Iterator[list[Any]]:
    """The arguments of a sample with other values in one array, and in all of them."""
    rng = np.random.default_rng(0)
    arrays = [i for i, a in enumerate(sample.args) if hasattr(a, "dtype")]
    for places in (*([i] for i in arrays), arrays):
        for turn in range(8):
            args = list(sample.args)
            for i in places:
                choices = others(args[i], rng)
                args[i] = choices[turn % len(choices)][()]
            yield args


def specs_of(op: Op, args: Any, attrs: Any) -> list[Spec] | None:
    """The specs of the results; None where the op refuses such values."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = op(*args, **attrs)
        except Exception:  # noqa: BLE001 - what is refused has no shape
            return None
    return [Spec.of(o) for o in (out if isinstance(out, (tuple, list)) else (out,))]


class Noting(GuardedTrace):
    """A trace that keeps every node it is told of."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Any] = []

    def noted(self, node: Any, value: Any) -> Any:
        self.nodes.append(node)
        return super().noted(node, value)


def says_so(op: Op, sample: Sample) -> bool:
    """Whether the op, or of a composite something it is recorded as, or a read of it, says so."""
    if op.expand is None:
        return op.value_shaped(sample.args, sample.attrs)
    trace = Noting()
    arrays = [a for a in sample.args if hasattr(a, "dtype")]

    def call(*variables: Any) -> Any:
        rest = iter(variables)
        op(*(next(rest) if hasattr(a, "dtype") else a for a in sample.args), **sample.attrs)
        return 0.0

    trace.record(call, arrays, {})
    return bool(trace.reads) or any(
        node.op.value_shaped(node.args, node.attrs) for node in trace.nodes
    )


@pytest.mark.parametrize("op", list(cr.OPS.values()), ids=lambda op: op.name)
def test_what_depends_on_values_says_so(op):
    for sample in (*op.samples(), *(op.edges() if op.edges else ())):
        first = specs_of(op, sample.args, sample.attrs)
        for args in perturbed(sample):
            found = specs_of(op, args, sample.attrs)
            if found is not None and found != first:
                assert says_so(op, sample), f"{first} at {sample.args}, {found} at {args}"
                break


def test_the_test_notices():
    """Of the ops that are known to depend on values each is met above."""
    for name in ("nonzero", "unique_labels", "gather", "least_squares"):
        op = cr.OPS[name]
        assert any(
            found is not None and found != specs_of(op, s.args, s.attrs)
            for s in op.samples()
            for args in perturbed(s)
            for found in (specs_of(op, args, s.attrs),)
        )


def test_lstsq_of_deficient_rank_is_a_sound_graph():
    a = np.ones((4, 2))
    graph = cr.trace(lambda b: np.linalg.lstsq(a, b)[1], np.arange(4.0))
    graph.verify()
    assert graph.outputs[0].shape == (0,)

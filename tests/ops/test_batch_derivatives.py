"""`Op.batch` under derivatives: of sums over lanes, of each lane, and of lanes within lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import NOT_WRITTEN, OPS, ZERO, Op, Sample
from tests.ops.test_batch import COUNT, PRIMITIVE, choices, lanes_of

DIFFERENTIABLE = [
    name for name, op in PRIMITIVE.items() if op.derivative not in (ZERO, NOT_WRITTEN)
]


class Case(NamedTuple):
    """An op of some operands with lanes, the others held; `whole` are those that have lanes."""

    op: Op
    args: list[Any]
    attrs: dict[str, Any]
    places: tuple[int, ...]
    whole: list[Any]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        args = list(self.args)
        for place, value in zip(self.places, values, strict=True):
            args[place] = value
        out = self.op(*args, **self.attrs)
        return out if isinstance(out, tuple) else (out,)

    def lane(self, k: int) -> list[Any]:
        return [v[k] for v in self.whole]

    def loss(self, results: tuple[Any, ...], weights: Any) -> Any:
        """A number that depends on all of the results which have a derivative."""
        total = np.float64(0.0)
        for out, w in zip(results, weights, strict=True):
            if out.dtype.kind in "fc":
                total = total + np.sum(np.real(out) * w)
        return total


def cases(op: Op, samples: slice) -> Iterator[Case]:
    """Operands that are numbers with a fraction, all of them with lanes."""
    for sample in list(op.samples())[samples]:
        args, attrs = op.bind(sample.args, dict(sample.attrs))
        if attrs.get("where", True) is not True:
            continue
        sets = [
            c
            for c in choices(Sample(tuple(args)))
            if all(np.asarray(args[i]).dtype.kind in "fc" for i in c)
        ]
        found = [Case(op, args, attrs, c, [lanes_of(args[i]) for i in c]) for c in sets]
        yield from [case for case in found if has_slopes(case)][-1:]


def has_slopes(case: Case) -> bool:
    """Some ops have a derivative with respect to some of their operands only."""
    names = tuple(range(len(case.whole)))
    if case.op.derivative is ZERO:
        return True
    try:
        cr.grad(lambda *v: case.loss(case(*v), weights_of(case)[0]), names)(*case.lane(0))
    except cr.DerivativeError:
        return False
    return True


def weights_of(case: Case) -> list[list[Any]]:
    """By lane, weights of the results."""
    rng = np.random.default_rng(0)
    shapes = [np.shape(out) for out in case(*case.lane(0))]
    return [[rng.normal(size=shape) for shape in shapes] for _ in range(COUNT)]


def alike(found: Any, wanted: Any, message: str, single: bool = False) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, message
    assert found.dtype == wanted.dtype, message
    tolerance = 1e-4 if single or found.dtype in (np.float32, np.complex64) else 1e-8
    scale = np.max(np.abs(wanted), initial=1.0, where=np.isfinite(wanted))
    np.testing.assert_allclose(
        found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=message
    )


def check(case: Case) -> None:
    weights = weights_of(case)
    columns = [np.stack(each) for each in zip(*weights, strict=True)]
    names, message = tuple(range(len(case.whole))), f"{case.op} by lane {case.places}"
    directions = [np.cos(np.arange(v.size)).reshape(v.shape).astype(v.dtype) for v in case.whole]

    def of_lane(w: Any, *values: Any) -> Any:
        return case.loss(case(*values), w)

    def of_all(*values: Any) -> Any:
        return case.loss(cr.vmap(case)(*values), columns)

    every = tuple(n + 1 for n in names)
    alone = [cr.grad(of_lane, every)(weights[k], *case.lane(k)) for k in range(COUNT)]
    moved = [
        cr.jvp(
            lambda *v, k=k: of_lane(weights[k], *v),
            tuple(case.lane(k)),
            tuple(d[k] for d in directions),
        )[1]
        for k in range(COUNT)
    ]
    together = cr.grad(of_all, names)(*case.whole)
    inside = cr.vmap(cr.grad(of_lane, every))(columns, *case.whole)
    for j in names:
        wanted = np.stack([slopes[j] for slopes in alone])
        alike(together[j], wanted, f"the gradient of a sum over lanes, {message}")
        alike(inside[j], wanted, f"the gradient of each lane, {message}")
    tangent = cr.jvp(of_all, tuple(case.whole), tuple(directions))[1]
    single = any(v.dtype in (np.float32, np.complex64) for v in case.whole)
    alike(tangent, np.sum(moved, axis=0), f"the tangent of a sum over lanes, {message}", single)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.filterwarnings("ignore")
def test_derivatives_by_lane_are_those_of_each_lane(name: str) -> None:
    for case in cases(OPS[name], slice(1)):
        check(case)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.filterwarnings("ignore")
def test_derivatives_of_every_sample(name: str) -> None:
    for case in cases(OPS[name], slice(1, None)):
        check(case)


@pytest.mark.parametrize("name", list(PRIMITIVE)[::5])
@pytest.mark.filterwarnings("ignore")
def test_lanes_within_lanes(name: str) -> None:
    """The rule of a rule: the first operand differs by the outer lane, the others by the inner."""
    for case in cases(OPS[name], slice(1)):
        some = [None] * (len(case.whole) - 1)
        outer, inner = (0, *some), (None, *(0 for _ in some))
        if not some:
            outer = inner = (0,)
            case = case._replace(whole=[np.stack([case.whole[0]] * COUNT)])
        first, *others = case.whole
        found = cr.vmap(cr.vmap(case, in_axes=inner), in_axes=outer)(*case.whole)
        for a in range(COUNT):
            for b in range(COUNT):
                lane = [first[a], *(v[b] for v in others)] if some else [first[a][b]]
                for out, wanted in zip(found, case(*lane), strict=True):
                    alike(out[a][b], wanted, str(case.op))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("shared", [True, False])
def test_rows_that_are_not_used_stay_out_of_the_gradient(shared: bool) -> None:
    x, w = np.cos(np.arange(60.0)).reshape(5, 4, 3), np.sin(np.arange(6.0)).reshape(3, 2)
    x[:, 1] = np.nan
    if not shared:
        x[3, 2] = np.inf

    def loss(w: Any, x: Any) -> Any:
        known = np.array([True, False, True, True]) if shared else np.isfinite(x[:, 0])
        return np.sum(np.where(known[:, None], x @ w, 0.0) ** 2)

    alone = np.stack([cr.grad(loss)(w, row) for row in x])
    assert np.isfinite(alone).all()
    np.testing.assert_allclose(cr.vmap(cr.grad(loss), in_axes=(None, 0))(w, x), alone)
    together = cr.grad(lambda w: np.sum(cr.vmap(loss, in_axes=(None, 0))(w, x)))(w)
    np.testing.assert_allclose(together, alone.sum(axis=0))
    second = cr.vmap(cr.grad(lambda x, w: loss(w, x)), in_axes=(0, None))(x, w)
    np.testing.assert_allclose(second, np.stack([cr.grad(loss, 1)(w, row) for row in x]))

"""A recorded derivative is a function: run again at another point it is the derivative there.

Nothing that a derivative rule reads from the values of the first point may stay in the graph.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.record.variable import Variable
from tests.ops.table import at_double, case_of, directions
from tests.sweeps import on_every_sample

# The path taken depends on values, so that what was recorded holds only where they decide alike:
SIZES = {  # a shape or a type does
    "trim_zeros",  # how much is trimmed
    "real_if_close",  # whether the result is real
    "least_squares", "lstsq",  # there are residuals only where the rank is full
}  # fmt: skip
DISTINCT = {  # whether values coincide does: then another rule holds, or there is no derivative
    "cond", "eig", "eig_pair", "eigh", "eigh_pair", "eigvals", "eigvalsh", "matrix_norm", "norm",
    "roots", "svd", "svd_factors", "svdvals",
}  # fmt: skip
# Ops that look at values only to refuse some of them.
CHECKED = {
    "average", "cofactor", "cofactor_change", "cov", "nanpercentile", "nanquantile", "percentile",
    "quantile",
}  # fmt: skip

CASES = [(op, i, sample) for op in cr.OPS.values() for i, sample in enumerate(op.samples())]
SAMPLES = [pytest.param(op, sample, id=f"{op.name}-{i}") for op, i, sample in CASES]


def permuted(p: Any) -> Any:
    """The same numbers in another order."""
    return np.roll(p.reshape(-1)[::-1], 1).reshape(p.shape)[()]


def level(p: Any) -> Any:
    """All lanes alike: ties, kinks, zeros."""
    return np.zeros_like(p)


def both_points(op: Any) -> list[Callable[[Any], Any]]:
    """Where what was recorded is run: at a kink only if the op does not branch there."""
    if op.name in SIZES:
        return [lambda p: p]
    return [permuted] if op.name in DISTINCT else [permuted, level]


@pytest.fixture
def asked(monkeypatch):
    """The Variables whose numbers are asked for: by that a rule decides something."""
    found: list[Any] = []
    for name in ("__bool__", "__array__", "__index__", "__int__", "__float__", "item"):
        method = getattr(Variable, name)

        def noticed(self: Any, *args: Any, _method: Any = method, **kwargs: Any) -> Any:
            found.append(self)
            return _method(self, *args, **kwargs)

        monkeypatch.setattr(Variable, name, noticed)
    return found


class Pull:
    """The adjoints of a case's inputs, for fixed adjoints of its results."""

    def __init__(self, case: Any):
        self.case = case
        self.seeds = tuple(directions([np.asarray(o) for o in case(*case.point)], 1))

    def __call__(self, *arrays: Any) -> Any:
        return cr.vjp(self.case, *arrays)[1](self.seeds)


class Push:
    """The tangents of a case's results, for fixed tangents of its inputs."""

    def __init__(self, case: Any):
        self.case, self.tangents = case, directions(case.point, 2)

    def __call__(self, *arrays: Any) -> Any:
        return cr.jvp(self.case, arrays, self.tangents)[1]


class PullTwice(Pull):
    """The adjoints of the inputs of `Pull`."""

    def __call__(self, *arrays: Any) -> Any:
        _, pullback = cr.vjp(super().__call__, *arrays)
        return pullback(tuple(directions(self.case.point, 2)))


def assert_replays(op: Any, sample: Any, derivative: type[Any], asked: list[Any]) -> None:
    """Record the derivative at the sample, run it elsewhere, compare with the derivative there."""
    case = case_of(op, at_double(sample))
    point = case.point
    if not case.places or not case(*point):
        pytest.skip("no floating-point input or result")
    with np.errstate(all="ignore"):
        try:
            f = derivative(case)
            f(*point)
        except (cr.ChainruleError, ValueError, np.linalg.LinAlgError) as error:
            pytest.skip(f"not differentiable: {error}")
        asked.clear()
        graph = cr.trace(f, *point)
        assert not asked or op.name in SIZES | DISTINCT | CHECKED
        for elsewhere in both_points(op):
            there = [elsewhere(p) for p in point]
            try:
                expected = f(*there)
            except (cr.ChainruleError, ValueError, np.linalg.LinAlgError):
                continue  # not differentiable there
            assert_same(graph.forward(*there).outputs, expected)


def assert_same(found: Any, expected: Any) -> None:
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-9)


@on_every_sample(SAMPLES)
def test_reverse_mode(op, sample, asked):
    assert_replays(op, sample, Pull, asked)


@on_every_sample(SAMPLES)
def test_forward_mode(op, sample, asked):
    assert_replays(op, sample, Push, asked)


@on_every_sample([pytest.param(op, s, id=op.name) for op, i, s in CASES if i == 0])
def test_second_order(op, sample, asked):
    assert_replays(op, sample, PullTwice, asked)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@on_every_sample(SAMPLES)
def test_second_order_of_every_sample(op, sample, asked):
    assert_replays(op, sample, PullTwice, asked)


# -- programs ----------------------------------------------------------------------------------


def assert_replayed(f: Callable[..., Any], point: tuple[Any, ...], *others: tuple[Any, ...]) -> Any:
    """`f`, recorded at a point, gives elsewhere what it gives when it is called there."""
    with np.errstate(all="ignore"):
        graph = cr.trace(f, *point)
        for other in others:
            found, expected = graph.forward(*other).outputs, f(*other)
            assert_same(np.atleast_1d(found)[None], np.atleast_1d(expected)[None])
    return graph


def everywhere(f: Callable[..., Any], *points: Any) -> None:
    """The gradient, a forward derivative and a product with the Hessian, from each to all."""

    def sums(x: Any) -> Any:
        return np.sum(cr.grad(f)(x) * np.cos(np.arange(x.size)).reshape(x.shape))

    def forward(x: Any) -> Any:
        return cr.jvp(f, (x,), (np.sin(1.0 + np.arange(x.size)).reshape(x.shape),))[1]

    for derivative in (cr.grad(f), forward, cr.grad(sums)):
        for point in points:
            assert_replayed(derivative, (point,), *((p,) for p in points))


UP = np.array([1.0, -2.0, 0.5, 3.0, -0.3, 0.7])
DOWN = np.array([-1.0, 2.0, -0.25, -3.0, 0.6, -0.1])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.where(x > 0, x**2, np.sin(x))),
        lambda x: np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), x**3)),
        lambda x: np.sum(np.maximum(x, x[::-1] ** 2)),
        lambda x: np.sum(np.clip(x, -0.5, x[0] ** 2) ** 3),
        lambda x: np.sum(np.abs(x) * x[::-1]),
        lambda x: np.max(x) * np.min(x**2),
        lambda x: x[np.argmax(x)] ** 2 + x[np.argmin(x)] * x[0],
        lambda x: np.sum(x[np.argsort(x)] * np.arange(6.0) ** 2),
        lambda x: np.sum(np.sort(x) ** 3 * np.arange(6.0)),
        lambda x: np.median(x) ** 2 + np.quantile(x, 0.3) * np.percentile(x, 80),
        lambda x: np.sum(np.take_along_axis(x.reshape(2, 3), np.argsort(x.reshape(2, 3)), 1)[:, 0]),
        lambda x: np.sum(np.sum(x.reshape(2, 3), axis=1, where=x.reshape(2, 3) > 0) ** 2),
        lambda x: np.linalg.norm(x) * np.linalg.norm(x, 1) + np.linalg.norm(x, np.inf) ** 2,
        lambda x: np.sum(np.cumsum(np.where(x > 0, x, 0.0)) ** 2),
        lambda x: np.prod(np.where(x > 0, x, 2.0)),
        lambda x: np.sum(np.where(x > 0, cr.stop_gradient(x) * x, x**3)),
        lambda x: np.sum(np.interp(x, np.array([-2.0, 0.0, 1.0]), x[:3] ** 2)),
        lambda x: np.sum(cr.put_along_axis(x, np.argsort(x)[:2], x[2:4] ** 2, 0) ** 3),
        lambda x: np.sum(cr.max_pool(x.reshape(1, 1, 6), window=2, stride=1) ** 2),
        lambda x: np.sum(np.maximum.accumulate(x) ** 2),
        lambda x: np.linalg.eigvalsh(np.outer(x, x) + np.diag(x))[0],
    ],
)
def test_programs_with_branches(f):
    everywhere(f, UP, DOWN)


@pytest.mark.parametrize(
    ("f", "kink"),
    [
        (lambda x: np.sum(np.abs(x)), np.array([0.0, 1.0, -0.0])),
        (lambda x: np.linalg.norm(x), np.zeros(3)),
        (lambda x: np.sum(np.linalg.norm(x.reshape(1, 3), 3, axis=0)), np.array([0.0, 1.0, 0.0])),
        (lambda x: np.max(x), np.ones(3)),
        (lambda x: np.sum(np.maximum(x, x[::-1])), np.array([1.0, 2.0, 1.0])),
        (lambda x: np.sum(np.maximum(x, 0.0)), np.zeros(3)),
        (lambda x: np.sum(np.sort(x) * np.arange(3.0)), np.array([2.0, 2.0, 1.0])),
        (lambda x: np.median(x), np.array([1.0, 1.0, 3.0])),
        (lambda x: np.std(x), np.ones(3)),
        (lambda x: np.sum(np.hypot(x, x[::-1])), np.zeros(3)),
        (lambda x: np.sum(np.unique(x) ** 2), np.array([2.0, 1.0, -1.0])),
        (lambda x: np.sum(np.linalg.eigvalsh(np.diag(x)) * np.arange(3.0)), np.ones(3)),
        (lambda x: np.sum(np.linalg.svdvals(np.diag(x)) * np.arange(3.0)), np.ones(3)),
    ],
)
def test_recorded_away_from_a_kink_and_run_at_it(f, kink):
    assert_replayed(cr.grad(f), (np.array([0.3, -1.2, 2.5]),), (kink,))
    assert_replayed(cr.grad(f), (kink,), (np.array([0.3, -1.2, 2.5]),))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
        lambda x: np.sum(np.where(x > 0, np.log(x) * x, x)),
        lambda x: np.sum(np.where(x > 0, 1 / x, x) ** 2),
        lambda x: np.sum(np.sum(np.sqrt(x.reshape(2, 3)), axis=0, where=x.reshape(2, 3) > 0)),
        lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)[::-1] * np.arange(6.0)),
        lambda x: np.sum(np.where((x > 0)[:2], np.log(x).reshape(2, 3) @ np.arange(3.0), 0.0)),
        lambda x: np.nansum(np.sqrt(x)) ** 2,
        lambda x: np.nanmean(np.log(x)),
        lambda x: np.nanmax(np.sqrt(x)),
    ],
)
@pytest.mark.parametrize("broken", [0.0, -1.0, np.inf, np.nan])
def test_nothing_leaks_from_the_branch_not_taken(f, broken):
    fine, holed = np.abs(UP), np.abs(UP)
    holed[1] = holed[4] = broken
    assert_replayed(cr.grad(f), (fine,), (holed,))
    assert_replayed(cr.grad(f), (holed,), (fine,))


def test_unused_rows_of_an_operand_stay_out_where_they_are_broken_later():
    def loss(w: Any, data: Any) -> Any:
        known = np.logical_not(np.isnan(data[:, 0]))
        return np.sum(np.where(known, data @ w, 0.0) ** 2)

    data = np.random.default_rng(0).standard_normal((5, 3))
    holed = data.copy()
    holed[[1, 3]] = np.nan
    w = np.array([1.0, -2.0, 0.5])
    for derivative in (cr.grad(loss), cr.grad(lambda w, d: np.sum(cr.grad(loss)(w, d) ** 2))):
        graph = assert_replayed(derivative, (w, data), (w, holed))
        assert np.isfinite(graph.forward(w, holed).outputs).all()
        assert_replayed(derivative, (w, holed), (w, data))


INDEXED = [
    lambda x, i: np.sum(x[i] ** 2 * np.arange(1.0, 4.0)),
    lambda x, i: np.sum(np.take(x, i) * x[:3]),
    lambda x, i: np.sum(cr.put(x, i, x[:3] ** 2) ** 2),
    lambda x, i: np.sum(cr.add_at(x, i, x[:3] ** 2) ** 2),
    lambda x, i: np.sum(np.outer(x, x)[i, i[::-1]] * x[i]),
    lambda x, i: np.sum(np.outer(x, x)[1:, i] ** 2),
    lambda x, i: np.sum(np.take_along_axis(x, i, 0) ** 3),
    lambda x, i: np.sum(np.choose(i % 3, [x[:3], x[3:], x[1:4] ** 2])),
    lambda x, i: np.sum(np.where(i > 2, x[i] ** 2, x[:3])),
    lambda x, i: x[i[0]] ** 2 * x[i[1]],
]


@pytest.mark.parametrize("f", INDEXED)
def test_an_index_that_is_a_leaf(f):
    places = [np.array(i) for i in ([0, 1, 2], [5, 5, 5], [3, -1, 3], [4, 2, 0])]
    points = [(x, i) for x in (UP, DOWN) for i in places]
    second = cr.grad(lambda x, i: np.sum(cr.grad(f)(x, i) ** 2))
    tangent = np.sin(1.0 + np.arange(6))

    def forward(x: Any, i: Any) -> Any:
        return cr.jvp(lambda x: f(x, i), (x,), (tangent,))[1]

    for derivative in (cr.grad(f), second, forward):
        for point in (points[0], points[2]):
            assert_replayed(derivative, point, *points)


def test_an_assignment_to_places_that_are_a_leaf():
    def f(x: Any, i: Any) -> Any:
        y = x**2
        y[i] = x[:3] ** 3
        return np.sum(y * np.arange(6.0))

    for first in ([0, 1, 2], [4, 4, 0]):
        others = [(DOWN, np.array(i)) for i in ([5, 4, 3], [2, 2, 2])]
        assert_replayed(cr.grad(f), (UP, np.array(first)), *others)


def test_a_mask_that_is_a_leaf():
    def f(x: Any, keep: Any) -> Any:
        return np.sum(np.where(keep, np.log(x), 0.0)) + np.sum(x[keep] ** 2)

    keep = np.array([True, False, True, True, False, True])
    moved = np.roll(keep, 1)
    assert_replayed(cr.grad(f), (np.abs(UP), keep), (np.where(moved, 2.0, -1.0), moved))


class Hinge(cr.Function):
    """max(x, 0)² with a backward of its own, which reads a mask."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.maximum(x, 0.0) ** 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return np.where(x > 0, 2 * x * g, 0.0)


def test_a_function_of_the_users_own():
    everywhere(lambda x: np.sum(Hinge.apply(x) * x), UP, DOWN)


def test_a_derivative_by_a_constant():
    def f(x: Any) -> Any:
        _, tangent = cr.jvp(np.sin, (np.arange(6.0),), (x,))
        return cr.grad(lambda y: np.sum(y**2 * x))(3.0) + np.sum(tangent**2)

    for derivative in (f, cr.grad(f)):
        assert_replayed(derivative, (UP,), (DOWN,))


def test_transforms_inside_transforms():
    def inner(x: Any) -> Any:
        return np.sum(np.where(x > 0, x**3, x[::-1] * x))

    def hessian(x: Any) -> Any:
        return np.sum(cr.hessian(inner)(x) * np.arange(36.0).reshape(6, 6))

    def jacobian(x: Any) -> Any:
        return np.sum(cr.jacobian(lambda x: np.sort(x) ** 2)(x) * np.arange(36.0).reshape(6, 6))

    for f in (hessian, jacobian, lambda x: np.sum(np.maximum(cr.grad(inner)(x), 0.5))):
        assert_replayed(f, (UP,), (DOWN,))
        assert_replayed(cr.grad(f), (UP,), (DOWN,))


@pytest.mark.parametrize("square", [lambda r: r**2, lambda r: r * r, np.square])
def test_the_square_of_a_root_has_its_slope_at_zero_too(square):
    def f(x):
        return square(np.sqrt(x))

    graph = cr.trace(cr.grad(f), 2.0)
    assert graph.forward(0.0).outputs == cr.grad(f)(0.0) == 1.0
    assert graph.forward(3.0).outputs == 1.0

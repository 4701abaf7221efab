"""First and second derivatives where numbers are tiny, huge, at an edge, or have no shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special

import chainrule as cr

pytest.importorskip("mpmath", reason="the derivatives to compare with have up to 2400 digits")

from mpmath import mp, mpf

from tests.ops.exact import LARGEST, ONE, SMALLEST, TWO, derivative

SIZES = (1e-310, 1e-200, 1e-20, 1e-8, 0.01, 0.3, 3.0, 40.0, 600.0, 1e8, 1e100, 1e150, 1e300)
EDGES = (0.5, 0.5 + 1e-8, 1.0, 1 - 2**-53, 1 - 1e-8, 1 + 2**-52, 1 + 1e-8)
POINTS = [(0.0,), *((s * p,) for p in (*SIZES, *EDGES) for s in (1, -1))]
SIDES = (0.0, 1e-310, 1e-200, 1e-20, 1e-8, 1.0, 1 + 2**-52, 3.0, 1e8, 1e150, 1e300)
PAIRS = [(x, y) for x in (*SIDES, -1.0, -1e-20) for y in (*SIDES, -1.0, -1e8)]
REACH = {"j0": 1e5, "j1": 1e5}  # beyond it SciPy's own values have lost their digits
FAST = "arccos arcsin arctan arctanh cbrt expit exprel i0 i1 j1 logit arctan2 hypot kl_div rel_entr"


def _undecided(name: str, point: tuple[float, ...]) -> bool:
    """Kinks, a vertical tangent, 1/y of a subnormal y, and x^(y-1) that overflows before x^y/x."""
    if name == "power":
        return point[0] < 1e-150
    if name == "divide":
        return abs(point[1]) < 1e-300
    return point == (0.0,) and name in ("absolute", "cbrt", "elu", "entr", "i0e", "i1e")


def _modes(f: Callable[..., Any], i: int) -> Iterator[Callable[..., Any]]:
    """∂f/∂xᵢ of an elementwise f, in reverse and in forward mode."""

    def of_one(points: Any) -> Callable[[Any], Any]:
        return lambda v: f(*points[:i], v, *points[i + 1 :])

    yield lambda *x: cr.vjp(of_one(x), x[i])[1](np.ones(x[i].shape))[0]
    yield lambda *x: cr.jvp(of_one(x), (x[i],), (np.ones(x[i].shape),))[1]


def _is_close(found: float, exact: mpf) -> bool:
    with mp.workdps(40):
        if abs(exact) >= LARGEST:
            return bool(np.isinf(found) or abs(found) > 1e307) and (found > 0) == (exact > 0)
        if not np.isfinite(found):
            return False
        return abs(mpf(float(found)) - exact) <= abs(exact) * 1e-9 + 20 * SMALLEST


def _check(name: str) -> int:
    """Every derivative up to the second, in each combination of modes; how many were compared."""
    points = [p for p in (PAIRS if name in TWO else POINTS) if abs(p[0]) <= REACH.get(name, 1e308)]
    points = [p for p in points if not _undecided(name, p)]
    inputs = [np.array(column) for column in zip(*points, strict=True)]
    op, count = cr.OPS[name], 0
    axes = range(len(inputs))
    for which in [*((i,) for i in axes), *((i, j) for i in axes for j in axes if i <= j)]:
        functions = list(_modes(op, which[0]))
        if len(which) == 2:
            functions = [g for f in functions for g in _modes(f, which[1])]
        with np.errstate(all="ignore"):
            results = [f(*inputs) for f in functions]
        for k, point in enumerate(points):
            exact = derivative(name, point, which)
            for result in results if exact is not None else ():
                count += 1
                where = f"∂{which} {name}{point}: {result[k]!r}, not {mp.nstr(exact, 17)}"
                assert _is_close(result[k], exact), where
    return count


@pytest.mark.parametrize("name", FAST.split())
def test_derivatives_are_exact_far_out(name: str) -> None:
    assert _check(name) > 40


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*ONE, *TWO} - {*FAST.split()}))
def test_derivatives_of_the_rest_are_exact_far_out(name: str) -> None:
    assert _check(name) > 40


@pytest.mark.parametrize("name", ["hypot", "arctan2", "kl_div", "rel_entr", "pseudo_clip"])
def test_compiled_second_derivatives_are_the_interpreted_of_two(name: str) -> None:
    x, y = (np.array(c) for c in zip(*(p for p in PAIRS if min(p) > 0), strict=True))
    slope = lambda x, y: cr.vjp(cr.OPS[name], x, y)[1](np.ones(x.shape))  # noqa: E731
    second = lambda x, y: cr.vjp(lambda *a: slope(*a)[0], x, y)[1](np.ones(x.shape))  # noqa: E731
    for f in (slope, second):
        with np.errstate(all="ignore"):
            for a, b in zip(cr.compile(f)(x, y), f(x, y), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-320)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh", "arctan", "expit", "logit"])
def test_compiled_second_derivatives_are_the_interpreted(name: str) -> None:
    x = np.array([1e-300, 1e-20, 1e-8, 0.3, 0.5, 1 - 1e-8])
    second = cr.grad(lambda x: np.sum(cr.grad(lambda x: np.sum(cr.OPS[name](x)))(x)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(cr.compile(second)(x), second(x), rtol=1e-12)


# -- norms -----------------------------------------------------------------------------------------


def _exact_hessian(x: Any) -> Any:
    with mp.workdps(120):
        v = [mpf(float(a)) for a in x]
        n = mp.sqrt(sum(a * a for a in v))
        return np.array(
            [[float(((n * n if i == j else 0) - a * b) / n**3) for j, b in enumerate(v)]
             for i, a in enumerate(v)]
        )  # fmt: skip


@pytest.mark.parametrize(
    "x", [(1e8, 1.0), (-1e8, 1.0, 3.0), (1e8, 1e-20), (1.0, 1e-8, 2e-8), (3.0, 4.0), (1.0, 1.0)]
)
def test_the_hessian_of_a_norm_keeps_its_digits(x: tuple[float, ...]) -> None:
    norm, point = np.linalg.norm, np.array(x)
    hessians = [cr.hessian(norm), cr.compile(cr.hessian(norm))] + [
        cr.jacobian(cr.jacobian(norm, mode=a), mode=b)
        for a in ("forward", "reverse")
        for b in ("forward", "reverse")
    ]
    for hessian in hessians:
        np.testing.assert_allclose(hessian(point), _exact_hessian(x), rtol=1e-14)


# -- infinity, and the exponent 0 ------------------------------------------------------------------


def test_flat_at_infinity() -> None:
    inf = np.array([np.inf, np.inf])
    assert np.all(cr.grad(lambda x: np.sum(x**0))(inf) == 0)
    assert np.all(cr.grad(lambda x: np.sum(x ** np.zeros(2)))(inf) == 0)
    slope = lambda x: np.sum(cr.grad(lambda x: np.sum(np.cbrt(x)))(x))  # noqa: E731
    assert np.all(cr.grad(slope)(inf) == 0)


def test_an_exponent_of_zero_has_its_mixed_derivative() -> None:
    def slope(x: Any, y: Any) -> Any:
        return cr.grad(np.power, argnums=0)(x, y)

    for f in (cr.grad(slope, argnums=1), cr.compile(cr.grad(slope, argnums=1))):
        np.testing.assert_allclose(f(4.0, 0.0), 0.25, rtol=1e-15)


def test_logsumexp_of_complex_numbers_is_on_the_principal_branch() -> None:
    z = np.array([[1 + 3j, 9j, 2 - 30j], [3.1j, 3.2j, 9.5j]])
    np.testing.assert_allclose(
        cr.logsumexp(z, axis=1), np.log(np.sum(np.exp(z), axis=1)), rtol=1e-14
    )
    np.testing.assert_allclose(cr.logsumexp(z), special.logsumexp(z), rtol=1e-14)


# -- numbers without an axis -----------------------------------------------------------------------

REDUCTIONS = (
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "ptp",
    "nansum",
    "nanprod",
    "nanmax",
)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, ()])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_number_is_reduced_as_numpy_does(name: str, axis: Any, keepdims: bool) -> None:
    def f(x: Any) -> Any:
        return getattr(np, name)(x * x, axis=axis, keepdims=keepdims)

    x = np.float64(1.5)
    try:
        expected = f(x)
    except np.exceptions.AxisError:
        with pytest.raises(cr.ChainruleError):
            f(cr.variable(x))
        return
    slope = 0.0 if name in ("std", "var", "ptp") else 3.0
    graph = cr.Graph.from_json(cr.trace(f, x).to_json())
    assert graph.forward(x).value(graph.outputs[0]) == expected
    for g in (cr.grad(f), cr.compile(cr.grad(f)), lambda x: cr.jvp(f, (x,), (1.0,))[1]):
        assert g(x) == slope
        assert np.shape(g(x)) == ()


def test_axes_that_numpy_refuses_are_refused() -> None:
    x = cr.variable(np.float64(1.5))
    for f in (np.sum, np.prod, np.max):
        for axis in (1, -2, (0,)):
            with pytest.raises(cr.ChainruleError):
                f(x, axis=axis)
    for f in (np.median, lambda x, axis: np.quantile(x, 0.5, axis=axis), np.linalg.norm):
        with pytest.raises(cr.ChainruleError):
            f(x, axis=0)


def test_a_product_over_no_axes_takes_a_python_number() -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(cr.grad(lambda x: np.sum(np.tensordot(x, 2.0, 0)))(x), 2.0)
    np.testing.assert_array_equal(cr.grad(lambda x: np.sum(np.tensordot(2.0, x, 0)))(x), 2.0)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("outer", ["sum", "prod", "max"])
@pytest.mark.parametrize("inner", ["sum", "prod", "max"])
def test_a_reduced_number_is_reduced_again(inner: str, outer: str, axis: int) -> None:
    """The adjoint of the outer reduction is an array without axes, not a scalar."""

    def f(x: Any) -> Any:
        return np.sum(getattr(np, outer)(getattr(np, inner)(x * x, axis=axis), axis=axis))

    for g in (cr.grad(f), cr.compile(cr.grad(f)), cr.grad(lambda x: cr.grad(f)(x) * x / 2)):
        assert g(2.0) == 4.0

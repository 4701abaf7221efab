"""`special_*.py`: derivatives against mpmath's, SciPy's own calls, refusals, kinks, edges."""

from __future__ import annotations

import subprocess
import sys
from math import e, gamma, inf, nan, pi

import numpy as np
import pytest
import scipy.special as ss

import chainrule as cr
from tests.ops.special_values import DERIVATIVES

UFUNCS = [op for name, op in cr.OPS.items() if type(getattr(ss, name, None)) is np.ufunc]


@pytest.mark.parametrize(
    ("name", "args", "i", "first", "second"),
    DERIVATIVES,
    ids=[f"{n}{a}-{i}" for n, a, i, _, _ in DERIVATIVES],
)
def test_derivatives_are_exact_to_twelve_digits(name, args, i, first, second):
    once = cr.grad(cr.OPS[name], argnums=i)
    np.testing.assert_allclose(once(*args), first, rtol=3e-13, atol=1e-323)
    np.testing.assert_allclose(cr.grad(once, argnums=i)(*args), second, rtol=5e-12, atol=1e-323)


def test_every_function_of_scipy_s_that_is_here_is_tested_through_scipy():
    assert len(UFUNCS) >= 70
    assert {"erf", "psi", "digamma", "gammainc", "jv", "yn", "airy", "kl_div"} <= {
        op.name for op in UFUNCS
    }


@pytest.mark.parametrize("op", UFUNCS, ids=lambda op: op.name)
def test_scipy_s_function_of_a_variable_is_the_op(op):
    """`scipy.special.erf(x)` arrives by NumPy's protocol and by the ufunc's name."""
    function = getattr(ss, op.name)
    sample = op.samples()[1]
    *fixed, x = sample.args
    recorded, expected = function(*fixed, cr.variable(x)), function(*fixed, x)
    if not isinstance(expected, tuple):
        recorded, expected = (recorded,), (expected,)
    for r, value in zip(recorded, expected, strict=True):
        assert isinstance(r, cr.Variable)
        np.testing.assert_allclose(r.value, value, rtol=1e-15)
    (gradient,) = cr.vjp(lambda v: function(*fixed, v), x)[1](
        expected if len(expected) > 1 else expected[0]
    )
    assert gradient.shape == np.shape(x)
    assert np.all(np.isfinite(gradient))


def test_functions_of_scipy_s_that_are_no_ufuncs():
    x = cr.variable(np.array([0.5, 1.5]))
    np.testing.assert_array_equal(cr.zeta(3.0, x).value, ss.zeta(3.0, x.value))
    assert np.i0(x).node.op is cr.OPS["i0"]
    np.testing.assert_allclose(np.i0(x).value, np.i0(x.value), rtol=1e-14)
    for n in range(4):
        np.testing.assert_array_equal(cr.polygamma(n, x).value, ss.polygamma(n, x.value))
    np.testing.assert_array_equal(cr.lambertw(x).value, ss.lambertw(x.value).real)
    np.testing.assert_allclose(
        cr.multigammaln(x + 1, 3).value, ss.multigammaln(x.value + 1, 3), rtol=1e-14
    )
    for kind in "jyik":
        name = f"spherical_{kind}n"
        expected = getattr(ss, name)(2, x.value, derivative=True)
        found = cr.jvp(lambda v, name=name: cr.OPS[name](2, v), (x.value,), (np.ones(2),))[1]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_importing_the_ops_does_not_load_scipy():
    probe = "import sys, chainrule as cr; cr.OPS['erf']; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ---- what has no derivative ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "i", "what"),
    [
        *((name, (1.5, 2.0), 0, "the order") for name in ("jv", "yv", "iv", "kv", "ive", "kve")),
        ("yn", (1.0, 2.0), 0, "the order"),
        ("spherical_jn", (1.0, 2.0), 0, "the order"),
        ("polygamma", (1.0, 2.0), 0, "n"),
        ("expn", (1.0, 2.0), 0, "n"),
        ("zeta", (2.0, 1.5), 0, "x"),
    ],
)
def test_an_order_is_refused_by_name_in_both_modes(name, args, i, what):
    op = cr.OPS[name]

    def along(v):
        return op(*args[:i], v, *args[i + 1 :])

    message = rf"{name} has no derivative with respect to {what}: .*\n  pass {what} as a plain"
    with pytest.raises(cr.errors.DerivativeError, match=message):
        cr.grad(along)(args[i])
    with pytest.raises(cr.errors.DerivativeError, match=message):
        cr.jvp(along, (args[i],), (1.0,))
    assert np.isfinite(cr.grad(op, argnums=len(args) - 1)(*args)), "the argument itself has one"


def test_complex_gamma_has_one_derivative_and_the_second_is_refused():
    z = np.array([0.7 + 0.5j, -1.2 - 0.4j])
    for name, slope in [
        ("gamma", ss.gamma(z) * ss.psi(z)),
        ("rgamma", -ss.rgamma(z) * ss.psi(z)),
        ("loggamma", ss.psi(z)),
    ]:
        _, tangent = cr.jvp(cr.OPS[name], (z,), (np.ones(2, complex),))
        np.testing.assert_allclose(tangent, slope, rtol=1e-13)
    with pytest.raises(cr.errors.DTypeError, match="real"):
        cr.jvp(cr.digamma, (z,), (np.ones(2, complex),))
    with pytest.raises(cr.errors.DerivativeError, match="holomorphic"):
        cr.jvp(lambda v: cr.ive(1, v), (z,), (np.ones(2, complex),))


# ---- edges and kinks ----------------------------------------------------------------------------


def test_scaled_bessel_functions_have_a_kink_only_at_order_zero():
    assert cr.grad(cr.i0e)(0.0) == 0  # the slopes are 1 and −1
    assert cr.grad(cr.i1e)(0.0) == 0.5
    assert cr.grad(lambda x: cr.ive(2, x))(0.0) == 0
    assert cr.OPS["i0e"].kinks(0.0)
    assert cr.OPS["ive"].kinks(0, 0.0)
    assert not cr.OPS["ive"].kinks(1, 0.0)
    for x in (0.3, 40.0):
        assert cr.grad(cr.i0e)(-x) == -cr.grad(cr.i0e)(x)
        assert cr.grad(cr.i1e)(-x) == cr.grad(cr.i1e)(x)


def test_reciprocal_gamma_is_smooth_at_the_poles_of_gamma():
    for n in range(8):
        assert cr.grad(cr.rgamma)(-float(n)) == pytest.approx((-1) ** n * gamma(n + 1), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "args", "i", "expected"),
    [
        ("erfinv", (1.0,), 0, inf),
        ("ndtri", (0.0,), 0, inf),
        ("entr", (0.0,), 0, inf),
        ("kl_div", (0.0, 2.0), 0, -inf),
        ("kl_div", (0.0, 0.0), 1, 1.0),
        ("kl_div", (0.0, 2.0), 1, 1.0),
        ("rel_entr", (0.0, 0.0), 1, 0.0),
        ("rel_entr", (0.0, 2.0), 1, 0.0),
        ("log_ndtr", (inf,), 0, 0.0),
        ("gammainc", (1.0, 0.0), 1, 1.0),
        ("gammainc", (0.5, 0.0), 1, inf),
        ("gammainc", (2.0, 0.0), 0, 0.0),
        ("gammainc", (2.0, inf), 0, 0.0),
        ("betainc", (1.0, 3.0, 0.0), 2, 3.0),
        ("betainc", (3.0, 1.0, 1.0), 2, 3.0),
        ("boxcox", (0.0, 1.0), 0, 1.0),
        ("boxcox", (0.0, 2.0), 1, 0.25),
        ("inv_boxcox", (-1.0, 1.0), 0, 1.0),
        ("lambertw", (0.0,), 0, 1.0),
        ("ellipk", (0.0,), 0, pi / 8),
        ("ellipe", (0.0,), 0, -pi / 8),
        ("ellipk", (1.0,), 0, inf),
        ("sici_si", (0.0,), 0, 1.0),
        ("shichi_shi", (0.0,), 0, 1.0),
        ("pseudo_huber", (0.0, 0.0), 1, 0.0),
        ("j1", (0.0,), 0, 0.5),
    ],
)
def test_slope_at_the_edge_of_a_domain(name, args, i, expected):
    found = cr.grad(cr.OPS[name], argnums=i)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "args", "i", "expected"),
    [
        ("betainc", (1.0, 3.0, 0.0), 2, -6.0),
        ("betainc", (2.0, 3.0, 0.0), 2, 12.0),
        ("gammainc", (1.0, 0.0), 1, -1.0),
        ("gammainc", (2.0, 0.0), 1, 1.0),
        ("exprel", (0.0,), 0, 1 / 3),
        ("ellipk", (0.0,), 0, 9 * pi / 64),
        ("rgamma", (0.0,), 0, 2 * np.euler_gamma),
        ("spherical_jn", (0, 0.0), 1, -1 / 3),
        ("log_ndtr", (60.0,), 0, 0.0),
    ],
)
def test_curvature_at_the_edge_of_a_domain(name, args, i, expected):
    found = cr.grad(cr.grad(cr.OPS[name], argnums=i), argnums=i)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_branch_not_taken_sends_nothing_back_at_either_order():
    x = np.array([-1.0, 0.0, 0.5])

    def entropy(p):
        return np.sum(np.where(p > 0, cr.entr(p), 0.0))

    gradient = cr.grad(entropy)(x)
    np.testing.assert_allclose(gradient, [0, 0, -np.log(0.5) - 1])
    np.testing.assert_allclose(cr.hessian(entropy)(x), np.diag([0, 0, -2.0]))


def test_real_lambertw_is_real_and_nan_left_of_its_branch_point():
    assert cr.lambertw(np.float64(e)).dtype == np.float64
    assert np.isnan(cr.lambertw(-1.0))
    assert cr.grad(lambda x: cr.lambertw(x, k=-1))(-0.2) == pytest.approx(
        1 / (np.exp(w := ss.lambertw(-0.2, -1).real) * (1 + w)), rel=1e-14
    )


# ---- consistency --------------------------------------------------------------------------------


def test_mixed_second_derivatives_agree_in_either_order():
    for name, args in [
        ("gammainc", (0.4, 0.3)),
        ("gammainc", (3.0, 8.0)),
        ("betaln", (3.0, 1e-6)),
        ("boxcox", (1e-3, 2.0)),
        ("inv_boxcox", (0.5, 1.5)),
        ("pseudo_huber", (1e3, 1e-2)),
        ("kl_div", (0.3, 0.3000001)),
    ]:
        op = cr.OPS[name]
        found = cr.hessian(lambda p, op=op: op(p[0], p[1]))(np.array(args))
        np.testing.assert_allclose(found[0, 1], found[1, 0], rtol=1e-11, err_msg=name)


def test_third_derivatives_follow_from_the_same_rules():
    def third(f, x):
        return cr.grad(cr.grad(cr.grad(f)))(x)

    x = 1.3
    assert third(cr.j0, x) == pytest.approx((3 * ss.j1(x) - ss.jv(3, x)) / 4, rel=1e-13)
    assert third(cr.gammaln, x) == pytest.approx(ss.polygamma(2, x), rel=1e-13)
    assert third(cr.erf, x) == pytest.approx(
        (4 * x * x - 2) * 2 / pi**0.5 * np.exp(-x * x), rel=1e-13
    )
    assert third(cr.exprel, 0.0) == pytest.approx(1 / 4, rel=1e-13)
    f = cr.grad(cr.grad(cr.grad(cr.gammainc, argnums=0), argnums=0), argnums=0)
    h = 1e-3
    d2 = cr.grad(cr.grad(cr.gammainc, argnums=0), argnums=0)
    ahead, behind = d2(2.0 + h, 1.5), d2(2.0 - h, 1.5)
    assert f(2.0, 1.5) == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


def test_log_likelihood_of_a_gamma_distribution_has_its_fisher_information():
    """E[−∂² log p/∂a²] is the trigamma function; here for one observation, in closed form."""

    def log_density(a):
        return (a - 1) * np.log(2.5) - 2.5 - cr.gammaln(a)

    assert cr.grad(cr.grad(log_density))(3.0) == pytest.approx(-ss.polygamma(1, 3.0), rel=1e-14)


def test_arguments_outside_the_domain_are_named():
    with pytest.raises(cr.errors.ArgumentError, match=r"greater than \(d − 1\)/2 = 1.5"):
        cr.multigammaln(cr.variable(1.0), d=4)
    with pytest.raises(cr.errors.ShapeError, match=r"test_special\.py"):
        cr.betaln(cr.variable(np.ones(3)), np.ones(2))
    assert np.isnan(cr.grad(cr.loggamma)(nan))

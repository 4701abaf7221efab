"""Roots, minima, integrals and differential equations by SciPy's solvers."""

from __future__ import annotations

import numpy as plain

from tests.scientist.snippet import snippet

X2, X3 = [0.7, 1.3], [0.7, 1.3, 2.1]
T = plain.linspace(0, 2, 8)
DATA = 1.5 * plain.exp(-0.8 * T)


@snippet(2.0, needs="optimize")
def root_by_brent(np, scipy, a):
    return scipy.optimize.brentq(lambda t: t**3 + t - a, 0, 3)


@snippet(2.0, needs="optimize")
def root_by_newton(np, scipy, a):
    return scipy.optimize.newton(lambda t: np.cos(t) - a * t, 0.5)


@snippet(X2, needs="optimize")
def system_of_equations(np, scipy, p):
    def residual(u):
        return np.stack([u[0] ** 2 + p[0] * u[1] - 2, u[1] ** 3 + u[0] - p[1]])

    return np.sum(scipy.optimize.root(residual, np.array([1.5, -0.5])).x)


@snippet(X2, needs="optimize", rtol=1e-4)
def smallest_value(np, scipy, p):
    best = scipy.optimize.minimize(lambda u: np.sum((u - p) ** 2) + np.sum(u**4), np.zeros(2))
    return np.sum(best.x**2)


@snippet(X2, needs="optimize", rtol=1e-4, step=1e-3)
def fitted_curve(np, scipy, p):
    y = DATA + p[0] * T
    found, _ = scipy.optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), T, y, p0=[1.5, 0.8])
    return np.sum(found)


@snippet(X2, needs="optimize", rtol=1e-4)
def nonlinear_least_squares(np, scipy, p):
    fit = scipy.optimize.least_squares(lambda u: u[0] * np.exp(-u[1] * T) - p[0] * DATA, [1.0, 1.0])
    return fit.x[0] * p[1]


@snippet(0.9, needs="optimize")
def fixed_point_of_cosine(np, scipy, a):
    return scipy.optimize.fixed_point(lambda t: np.cos(a * t), 0.7)


@snippet(X2, needs="integrate")
def integral_with_parameters(np, scipy, p):
    return scipy.integrate.quad(lambda t: np.exp(-p[0] * t**2), 0, p[1])[0]


@snippet(X3, needs="integrate")
def integral_of_samples(np, scipy, p):
    return scipy.integrate.simpson(p[0] * np.exp(-p[1] * T) + p[2], x=T)


@snippet(X3, needs="integrate")
def running_integral(np, scipy, p):
    return np.sum(scipy.integrate.cumulative_trapezoid(np.polyval(p, T), T) ** 2)


@snippet(X2, needs="integrate", rtol=1e-3)
def decay_equation(np, scipy, p):
    found = scipy.integrate.solve_ivp(
        lambda t, y: -p[0] * y, (0, 1), np.stack([p[1], p[1] * 0.5]), rtol=1e-9, atol=1e-10
    )
    return np.sum(found.y[:, -1] ** 2)


@snippet(X2, needs="integrate", rtol=1e-3)
def pendulum(np, scipy, p):
    def f(y, t):
        return np.stack([y[1], -p[0] * np.sin(y[0])])

    path = scipy.integrate.odeint(f, np.stack([p[1], 0.0 * p[1]]), np.linspace(0, 1, 5), rtol=1e-9)
    return path[-1, 0] ** 2

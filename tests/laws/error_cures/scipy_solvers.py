"""What SciPy's solvers, rotations, counts and distributions say on Variables."""

from __future__ import annotations

import numpy as np
from scipy.integrate import RK45

import chainrule as cr
from chainrule import scipy as csp
from tests.laws.error_cures.entry import entry

SPAN, START = (0.0, 1.0), np.array([1.0])
AT = np.linspace(0.0, 1.0, 8)


class OwnSolver(RK45):
    pass


def slope(f, x=0.5):
    return lambda: cr.grad(f)(x)


# ---- differential equations ----------------------------------------------------------------------


def decayed(**options):
    """The slope of exp(-k) at k = 0.5, by an equation."""

    def end(k):
        found = csp.integrate.solve_ivp(
            lambda t, y: -k * y, SPAN, START, **{"rtol": 1e-10, "atol": 1e-12, **options}
        )
        return found.y[0, -1]

    return slope(end)


PROBLEMS = "scipy/integrate/problems.py:"
DECAYED = -np.exp(-0.5)
entry(PROBLEMS + "_refuse_uncovered", "choose one of", decayed(method=OwnSolver),
      decayed(method="RK45"), decayed(method="DOP853"), right=DECAYED)  # fmt: skip


def restless(method, still):
    """Its rate is another one once it is solved, unless it is `still`."""

    def end(k):
        solved = []

        def rate(t, y):
            return -k * y * (2.0 if solved and not still else 1.0)

        found = csp.integrate.solve_ivp(rate, SPAN, START, method, rtol=1e-8, atol=1e-10)
        solved.append(True)
        return found.y[0, -1]

    return slope(end)


entry("scipy/integrate/adjoint.py:_refuse_other", "choose method='Radau', or smaller tolerances",
      restless("BDF", False), restless("Radau", True), right=DECAYED)  # fmt: skip


def growing(k):
    """exp(|k|), by an equation with two branches."""
    found = csp.integrate.solve_ivp(
        lambda t, y: k * y if k > 0 else -k * y, SPAN, START, rtol=1e-10, atol=1e-12
    )
    return found.y[0, -1]


entry("diff/closed.py:opened.call", "Call the function itself there",
      lambda: cr.trace(growing, 0.5).forward(-1.0), lambda: growing(-1.0),
      right=np.e)  # fmt: skip


def when(k):
    """When exp(-k t) is a half: log(2) / k."""

    def left(t, k):
        y = csp.integrate.solve_ivp(
            lambda t, y, k: -k * y, (0.0, t), START, args=(k,), rtol=1e-10, atol=1e-12
        ).y
        return y[0, -1] - 0.5

    return csp.optimize.brentq(left, 0.1, 5.0, args=(k,))


entry(PROBLEMS + "_refuse_uncovered", "solve for the time with scipy.optimize.brentq of chainrule",
      decayed(events=lambda t, y: y[0] - 0.5), slope(when),
      right=-np.log(2) / 0.25)  # fmt: skip
entry(PROBLEMS + "_refuse_uncovered", "pass the times as t_eval", decayed(dense_output=True),
      decayed(t_eval=AT), right=DECAYED)  # fmt: skip


def turning(y0, parts):
    def f(w):
        if parts:
            y = csp.integrate.solve_ivp(
                lambda t, y: np.stack([-w * y[1], w * y[0]]), SPAN, y0, rtol=1e-10, atol=1e-12
            ).y
            return y[0, -1]
        return np.real(csp.integrate.solve_ivp(lambda t, y: 1j * w * y, SPAN, y0).y[0, -1])

    return slope(f)


entry(PROBLEMS + "_floats", "split them in two", turning(np.array([1.0 + 0j]), False),
      turning(np.array([1.0, 0.0]), True), right=-np.sin(0.5))  # fmt: skip

# ---- fits ----------------------------------------------------------------------------------------

Y = 2.0 * AT + 1.0


def fitted(loss):
    def rate(y0):
        shift = np.zeros(8) + y0 - 0.5
        return csp.optimize.least_squares(
            lambda p: p[0] * AT + p[1] - Y - shift, np.array([1.0, 0.0]), loss=loss
        ).x[1]

    return slope(rate)


def own_loss(z):
    return np.stack([z, np.ones_like(z), np.zeros_like(z)])


entry("scipy/optimize/fitting.py:least_squares", "choose one of", fitted(own_loss),
      fitted("linear"), right=1.0)  # fmt: skip


def curve(policy, missing):
    def rate(y0):
        y, at = Y + y0 - 0.5, AT
        if missing:
            y = y * np.where(np.arange(8) == 3, np.nan, 1.0)
        if policy is None:
            y, at = y[np.arange(8) != 3], AT[np.arange(8) != 3]
        return csp.optimize.curve_fit(
            lambda t, a, b: a * t + b, at, y, p0=(1.0, 0.0), nan_policy=policy
        )[0][1]

    return slope(rate)


entry("scipy/optimize/fitting.py:curve_fit", "drop the missing points first", curve("omit", False),
      curve(None, True), right=1.0)  # fmt: skip

# ---- rotations, counts, distributions ------------------------------------------------------------

ROTATION = csp.spatial.transform.Rotation


def turned(a):
    """About z, the middle axis at its pole."""
    return ROTATION.from_euler("xyz", np.stack([0 * a, np.pi / 2 + 0 * a, a]))


entry("scipy/spatial/transform/quaternions.py:euler", "choose another sequence of axes, or as_rot",
      slope(lambda a: turned(a).as_euler("xyz")[0]), slope(lambda a: turned(a).as_euler("yxz")[2]),
      slope(lambda a: ROTATION.from_euler("x", a).as_rotvec()[0]), right=1.0)  # fmt: skip
COUNTS = "scipy/special/functions.py:"
entry(COUNTS + "comb", "leave exact out", slope(lambda n: csp.special.comb(n, 2, exact=True), 5.0),
      slope(lambda n: csp.special.comb(n, 2), 5.0), right=4.5)  # fmt: skip
entry(COUNTS + "perm", "leave exact out", slope(lambda n: csp.special.perm(n, 2, exact=True), 5.0),
      slope(lambda n: csp.special.perm(n, 2), 5.0), right=9.0)  # fmt: skip
entry(COUNTS + "factorial", "leave exact out",
      slope(lambda n: csp.special.factorial(n, exact=True), 1.0),
      slope(lambda n: csp.special.factorial(n), 1.0), right=1 - np.euler_gamma)  # fmt: skip


def log_likelihood(allow, added):
    def f(s):
        cov = np.array([[1.0, 1.0], [1.0, 1.0]]) * s + added * np.eye(2)
        return csp.stats.multivariate_normal.logpdf(np.ones(2), None, cov, allow_singular=allow)

    return slope(f, 1.0)


entry("scipy/stats/multivariate.py:_normal_parameters", "add a small multiple of the identity",
      log_likelihood(True, 0.0), log_likelihood(False, 0.5),
      right=-1 / 2.5 + 1 / 2.5**2 * 2)  # fmt: skip

"""What is said of programs: of lanes, loops, and of functions that a solver calls."""

from __future__ import annotations

from itertools import count

import numpy as np

import chainrule as cr
from chainrule import scipy as csp
from chainrule.core.op import OPS
from tests.laws.error_cures.entry import entry

X = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(3, 2)


def doubled(x):
    return 2 * x


# ---- lanes ---------------------------------------------------------------------------------------

entry("diff/batch.py:Batch.of", "in_axes says which axis counts them; give None for what all",
      lambda: cr.vmap(lambda a, b: a + np.sum(b))(X, M.T),
      lambda: cr.vmap(lambda a, b: a + np.sum(b), in_axes=(0, 1))(X, M.T),
      right=X + M.sum(1))  # fmt: skip
entry("diff/batch.py:Batch.of", "give None for what all lanes share",
      lambda: cr.vmap(lambda a, b: a + np.sum(b))(X, X[:2]),
      lambda: cr.vmap(lambda a, b: a + np.sum(b), in_axes=(0, None))(X, X[:2]),
      right=X + 3.0)  # fmt: skip

GENERATOR = np.random.default_rng(0)
MANY = np.random.default_rng(0).normal(size=(200, 8))


def doubled_every_second():
    """A branch that a counter decides, and nothing that is read of an argument."""
    calls = count()
    return lambda x: 2 * x if next(calls) % 2 else np.sin(x)


def signed(x):
    total = 0.0
    for v in x:
        total = total + (v if v > 0 else -2 * v)
    return total


entry("diff/batch.py:Batch._alone", "np.where and NumPy's functions keep the lanes together",
      lambda: cr.vmap(signed)(MANY),
      lambda: cr.vmap(lambda x: np.sum(np.where(x > 0, x, -2 * x)))(MANY),
      right=np.where(MANY > 0, MANY, -2 * MANY).sum(1))  # fmt: skip
entry("diff/constants.py:_refuse", "draw random numbers before, for all lanes, and pass",
      lambda: cr.vmap(lambda x: x * np.random.default_rng().normal())(X),
      lambda: cr.vmap(lambda x, noise: x * noise)(X, np.ones(3)), right=X)  # fmt: skip
entry("diff/constants.py:_refuse_branch", "draw random numbers before, for all lanes, and pass",
      lambda: cr.vmap(doubled_every_second())(X),
      lambda: cr.vmap(lambda x, second: np.where(second, 2 * x, np.sin(x)))(X, np.ones(3, bool)),
      right=2 * X)  # fmt: skip
entry("diff/chance.py:refuse_draws", "draw random numbers before, for all lanes, and pass",
      lambda: cr.vmap(lambda x: x * GENERATOR.integers(1, 3))(X),
      lambda: cr.vmap(lambda x, noise: x * noise)(X, np.ones(3)), right=X)  # fmt: skip
entry("diff/lane_axes.py:lanes_first", "lanes hold numbers; in_axes=None for what all",
      lambda: cr.vmap(lambda x, name: x * len(name))(X, "abc"),
      lambda: cr.vmap(lambda x, name: x * len(name), in_axes=(0, None))(X, "abc"),
      right=3 * X)  # fmt: skip
entry("diff/lane_axes.py:lanes_first", "; in_axes=None for what all lanes share",
      lambda: cr.vmap(lambda x, a: x * a)(X, 2.0),
      lambda: cr.vmap(lambda x, a: x * a, in_axes=(0, None))(X, 2.0), right=2 * X)  # fmt: skip
entry("diff/lane_axes.py:placed", "give the axis where the lanes shall stand",
      lambda: cr.vmap(doubled, out_axes=None)(X), lambda: cr.vmap(doubled, out_axes=0)(X),
      right=2 * X)  # fmt: skip


def into_the_table(copy):
    """The first number of a shared table is replaced."""

    def f(x, table):
        table = table.copy() if copy else table
        table[0] = 2.0
        return np.sum(x * table)

    return f


entry("diff/batch.py:in_lane.__exit__", "write into a copy, a.copy(), and return it",
      lambda: cr.vmap(into_the_table(copy=False), in_axes=(0, None))(M, np.ones(2)),
      lambda: cr.vmap(into_the_table(copy=True), in_axes=(0, None))(M, np.ones(2)),
      right=M @ [2.0, 1.0])  # fmt: skip

SHARED = cr.variable(np.zeros(2))


def writing(x):
    SHARED[0] = x
    return x


def written(x, shared):
    shared = shared + 0 * x
    shared[0] = x
    return shared


entry("record/lanes.py:LaneTrace.written", "pass it as an argument with in_axes=None, and return",
      lambda: cr.vmap(writing)(X), lambda: cr.vmap(written, in_axes=(0, None))(X, np.zeros(2)),
      right=np.stack([X, 0 * X], 1))  # fmt: skip

# ---- loops ---------------------------------------------------------------------------------------


def leaking(x):
    inside = []

    def step(c, v):
        inside.append(c * v)
        return c + v, None

    total, _ = cr.scan(step, 0.0, x)
    return total * inside[-1]


def returned(x):
    total, products = cr.scan(lambda c, v: (c + v, c * v), 0.0, x)
    return total * products[-1]


entry("core/loop.py:refuse_leaked", "return it from the body, as a part of the carry or of y",
      lambda: cr.grad(leaking)(X), lambda: returned(X), right=54.0)  # fmt: skip
entry("diff/scan.py:_length", "cr.scan(f, init, length=100)",
      lambda: cr.scan(lambda c, _: (2 * c, None), 1.0),
      lambda: cr.scan(lambda c, _: (2 * c, None), 1.0, length=10)[0], right=1024.0)  # fmt: skip
entry("diff/scan.py:_truth", "np.any or np.all of it",
      lambda: cr.while_loop(lambda x: x < 10, doubled, X),
      lambda: cr.while_loop(lambda x: np.any(x < 10), doubled, X),
      right=16.0 * X)  # fmt: skip

# ---- propagated errors and densities -------------------------------------------------------------

entry("explain/propagate.py:_checked", "Of independent inputs it is np.diag(std**2)",
      lambda: cr.propagate(doubled, X, np.array([0.1, 0.2, 0.3])),
      lambda: cr.propagate(doubled, X, np.diag(np.array([0.1, 0.2, 0.3]) ** 2)).cov,
      right=4 * np.diag([0.01, 0.04, 0.09]))  # fmt: skip


def density(a, b, x):
    return OPS["beta_density"](a, b, x)


def of_slope(a):
    return OPS["beta_density"](a, 3.0, 0.4, left=1)


entry("ops/special_beta.py:_by_shape", "cr.hessian(f, argnums=(0, 1, 2))",
      lambda: cr.grad(of_slope)(2.0),
      lambda: cr.hessian(density, argnums=(0, 1, 2))(2.0, 3.0, 0.4)[0][2],
      right=lambda: cr.grad(lambda x: cr.grad(density)(2.0, 3.0, x))(0.4))  # fmt: skip

# ---- equations -----------------------------------------------------------------------------------


def apart(a):
    return cr.implicit(np.abs, lambda x, a: x - a if a > 0 else x + a)(a)


entry("diff/implicit.py:Equations.solved", "Call the function itself there",
      lambda: cr.trace(apart, 2.0).forward(-1.0), lambda: apart(-1.0), right=1.0)  # fmt: skip


def tangent(a):
    """Newton's method for arctan(x) = 0 goes astray from far off."""
    solved = np.tan(a.value if isinstance(a, cr.Variable) else a)
    return cr.implicit(lambda: solved, lambda x: np.arctan(x) - a)()


entry("diff/implicit.py:Equations._newton", "Call the function itself there",
      lambda: cr.trace(tangent, 1.4).forward(0.1), lambda: tangent(0.1),
      right=np.tan(0.1))  # fmt: skip

# ---- what a solver calls -------------------------------------------------------------------------

entry("scipy/dispatch.py:not_covered", "pass x.value to compute it without a gradient",
      lambda: cr.grad(lambda x: csp.special.struve(1, x))(1.0),
      lambda: cr.grad(lambda x: x * csp.special.struve(1, x.value))(1.0),
      right=lambda: __import__("scipy.special").special.struve(1, 1.0))  # fmt: skip

# ---- within a budget of memory -------------------------------------------------------------------

WIDE = np.linspace(0.1, 1.0, 10_000)
SINE = np.cos(np.sin(WIDE)) * np.cos(WIDE)
OUTSIDE = cr.variable(2.0)


def sines(x):
    return np.sum(np.sin(np.sin(x)))


def doubled_later(copy):
    """A table that is changed after it was used."""

    def f(x):
        table = np.ones(3)
        y = x * (table.copy() if copy else table)
        table[:] = 2.0
        return np.sum(y * table)

    return f


def repeated(checkpoint=None):
    """A sine of a sine of a sine."""

    def f(x):
        return np.sum(cr.scan(lambda c, _: (np.sin(c), None), x, None, 400, False, checkpoint)[0])

    return f


def repeated_slope():
    slope, x = np.ones(3), X
    for _ in range(400):
        slope, x = slope * np.cos(x), np.sin(x)
    return slope


entry("core/memory_size.py:bytes_of", "give a number of bytes, or a text such as",
      lambda: cr.grad(sines, memory="much")(WIDE), lambda: cr.grad(sines, memory="100MB")(WIDE),
      lambda: cr.grad(sines, memory=100_000_000)(WIDE), right=SINE)  # fmt: skip
entry("diff/within_memory.py:SparingCall._sort", "pass it as an argument, or its number, v.value",
      lambda: cr.grad(lambda x: np.sum(x * OUTSIDE), memory="100MB")(X),
      lambda: cr.grad(lambda x, v: np.sum(x * v), memory="100MB")(X, OUTSIDE.value),
      lambda: cr.grad(lambda x: np.sum(x * OUTSIDE.value), memory="100MB")(X),
      right=np.full(3, 2.0))  # fmt: skip
entry(
    "record/sparing.py:SparingTrace._changed",
    "pass a copy of it, or change it outside",
    lambda: cr.grad(doubled_later(copy=False), memory="100MB")(X),
    lambda: cr.grad(doubled_later(copy=True), memory="100MB")(X),
    right=np.full(3, 2.0),
)
entry("record/sparing.py:SparingTrace._over", "give it more, or let go of what is not needed",
      lambda: cr.grad(sines, memory="200kB")(WIDE), lambda: cr.grad(sines, memory="2MB")(WIDE),
      right=SINE)  # fmt: skip
entry("diff/jacobian_memory.py:SparingJacobian._reserve", "cr.vjp, cr.jvp, cr.hvp",
      lambda: np.sum(cr.jacobian(np.sin, memory="5MB")(WIDE[::10]), 0),
      lambda: np.sum(cr.jacobian(np.sin, memory="20MB")(WIDE[::10]), 0),
      lambda: cr.vjp(np.sin, WIDE[::10])[1](np.ones(1000))[0],
      lambda: cr.jvp(np.sin, WIDE[::10], np.ones(1000))[1],
      right=np.cos(WIDE[::10]))  # fmt: skip
entry("diff/jacobian_memory.py:SparingJacobian.blocks", 'leave mode="auto"',
      lambda: cr.jacobian(sines, mode="forward", memory="500kB")(WIDE[::10]),
      lambda: cr.jacobian(sines, mode="forward", memory="5MB")(WIDE[::10]),
      lambda: cr.jacobian(sines, memory="500kB")(WIDE[::10]),
      right=SINE[::10])  # fmt: skip
entry("run/program.py:Executable.refuse_above", "Keep less for the derivative",
      lambda: cr.compile(cr.grad(repeated()), memory="8kB")(X),
      lambda: cr.compile(cr.grad(repeated("auto")), memory="8kB")(X),
      lambda: cr.grad(repeated(), memory="5MB")(X),
      right=repeated_slope)  # fmt: skip

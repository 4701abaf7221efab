"""What user code is told while it is recorded: conversions, writing, indexing, NumPy's own ways."""

from __future__ import annotations

import math
import pickle  # noqa: TID251 - what a user who pickles a Variable gets

import numpy as np
from scipy.integrate import quad

import chainrule as cr
import chainrule.numpy as cnp
from tests.laws.error_cures.entry import entry

X = np.array([1.5, 2.0])
Z = np.array([1 + 2j, 3.0])


def slope(f, x=X):
    return lambda: cr.grad(f)(x)


# ---- conversions ---------------------------------------------------------------------------------

DETACHING = "record/protocol.py:lost_in_conversion"

entry(
    DETACHING, "write np.sin(x) for math.sin(x)",
    slope(lambda x: math.sin(x), 2.0),
    slope(lambda x: np.sin(x), 2.0),
    right=np.cos(2.0),
)  # fmt: skip
entry(
    DETACHING, "chainrule.numpy.array(x, float) for float(x)",
    slope(lambda x: float(x) ** 2, 2.0),
    slope(lambda x: cnp.array(x, float) ** 2, 2.0),
    right=4.0,
)  # fmt: skip
entry(
    DETACHING, "chainrule.numpy.array(x, float) for float(x) and np.array(x, float)",
    slope(lambda x: np.sum(np.array([x[0] ** 2, 1.0], float))),
    slope(lambda x: np.sum(cnp.array([x[0] ** 2, 1.0], float))),
    right=[3.0, 0.0],
)  # fmt: skip


class Integral(cr.Function):
    """∫₀ᵘ t² dt."""

    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return quad(lambda t: t * t, 0, u)[0]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved[0] ** 2


entry(
    DETACHING, "wrap a call of another library in a cr.Function",
    slope(lambda u: quad(lambda t: t * t, 0, u)[0], 2.0),
    slope(Integral.apply, 2.0),
    right=4.0,
)  # fmt: skip
entry(
    DETACHING, "cr.stop_gradient(x).value if the derivative is meant to be dropped",
    slope(lambda x: x * int(x), 2.5),
    slope(lambda x: x * int(cr.stop_gradient(x).value), 2.5),
    lambda: cr.grad(cr.grad(lambda x: x * x * int(cr.stop_gradient(x).value)))(2.5) / 2,
    right=2.0,
)  # fmt: skip


def filled(make):
    def f(x):
        y = make(2)
        y[0] = x[0] ** 2
        return np.sum(y)

    return f


def number_in(x):
    y = np.zeros(2)
    y[0] = cr.stop_gradient(x[0]).value
    return np.sum(x * y)


def variable_in(x):
    y = np.zeros(2)
    y[0] = x[0]
    return np.sum(x * y)


ASSIGNING = "record/protocol.py:lost_in_assignment"
entry(
    ASSIGNING, "np.zeros(n), and of np.copy(a) for an array a, can be assigned to",
    slope(filled(np.zeros)),
    slope(filled(cnp.zeros)),
    slope(filled(lambda n: cnp.copy(np.zeros(n)))),
    slope(filled(lambda n: cnp.array(np.zeros(n)))),
    right=[3.0, 0.0],
)  # fmt: skip
entry(
    ASSIGNING, "or build it with np.stack([...])",
    slope(filled(np.zeros)),
    slope(lambda x: np.sum(np.stack([x[0] ** 2, 0.0]))),
    right=[3.0, 0.0],
)  # fmt: skip
entry(
    ASSIGNING, "assign cr.stop_gradient(v).value",
    slope(variable_in),
    slope(number_in),
    right=[1.5, 0.0],
)  # fmt: skip


class Sorted(cr.Function):
    """Sorted by the real part, by code that takes plain arrays only."""

    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(np.argsort(z.real))
        return z[np.argsort(z.real)]

    @staticmethod
    def backward(ctx, g):
        out = np.zeros(len(ctx.saved[0]), complex)
        out[ctx.saved[0]] = g
        return out


OBJECTS = "record/variable.py:Variable.__array__"

entry(
    OBJECTS, "np.stack([z[0], z[1]]) and chainrule.numpy.array make an array of numbers",
    slope(lambda z: np.real(np.sum(np.array([z[0], z[1]]) ** 2)), Z),
    slope(lambda z: np.real(np.sum(np.stack([z[0], z[1]]) ** 2)), Z),
    slope(lambda z: np.real(np.sum(cnp.array([z[0], z[1]]) ** 2)), Z),
    slope(lambda z: np.real(np.sum(cnp.asarray(z) ** 2)), Z),
    right=np.conj(2 * Z),
)  # fmt: skip
entry(
    OBJECTS, "code of another library wants plain ones: wrap its call in a cr.Function",
    slope(lambda z: np.real(np.asarray(z)[0] ** 2), Z),
    slope(lambda z: np.real(Sorted.apply(z)[0] ** 2), Z),
    right=np.conj([2 * Z[0], 0]),
)  # fmt: skip
entry(
    "record/variable.py:Variable.__index__", "a computed number becomes an index as n.astype(int)",
    slope(lambda x: [5.0, 6.0, 7.0][x[1]] * x[1]),
    slope(lambda x: [5.0, 6.0, 7.0][x[1].astype(int)] * x[1]),
    right=[0.0, 7.0],
)  # fmt: skip
entry(
    "record/variable.py:Variable.__index__", "pass it as a constant, lambda x: f(x, 3)",
    lambda: cr.trace(lambda x, n: sum(x for _ in range(n)), 2.0, 3),
    lambda: cr.trace(lambda x: sum(x for _ in range(3)), 2.0).forward(2.0).outputs,
    right=[6.0],
)  # fmt: skip
entry(
    "ops/indexing.py:_refuse_other_than_integers", "write x[i.astype(int)]",
    slope(lambda x: x[x[0]] ** 2),
    slope(lambda x: x[x[0].astype(int)] ** 2),
    right=[0.0, 4.0],
)  # fmt: skip
entry(
    "ops/indexing.py:_refuse_other_than_integers", "pass it as a constant, lambda x: f(x, 3)",
    lambda: cr.check_grads(lambda x, n: x[n] ** 2, X, 1),
    lambda: cr.check_grads(lambda x: x[1] ** 2, X).order,
    right=2,
)  # fmt: skip
entry(
    "core/op.py:refuse_gradients", "pass its number,",
    slope(lambda x: x * cr.leaky_relu(-1.0, x), 0.5),
    slope(lambda x: x * cr.leaky_relu(-1.0, negative_slope=x.value), 0.5),
    right=-0.5,
)  # fmt: skip
entry(
    "core/op.py:refuse_gradients", "=int(v.value) where a whole number is wanted",
    lambda: cr.grad(lambda x, n: np.sum(np.linspace(x, 1.0, n)), (0, 1))(2.0, 3),
    lambda: cr.grad(lambda x, n: np.sum(np.linspace(x, 1.0, int(n.value))), (0, 1))(2.0, 3),
    right=[1.5, 0.0],
)  # fmt: skip
entry(
    "record/variable.py:Variable.__reduce_ex__", "pickle x.value",
    lambda: pickle.dumps(cr.variable(2.0) * 3),
    lambda: pickle.loads(pickle.dumps((cr.variable(2.0) * 3).value)),
    right=6.0,
)  # fmt: skip
entry(
    "record/variable.py:Variable.__reduce_ex__", "the graph as text with cr.trace(f, …).to_json()",
    lambda: pickle.dumps(cr.variable(2.0) * 3),
    lambda: cr.Graph.from_json(cr.trace(lambda x: x * 3, 2.0).to_json()).forward(2.0).outputs,
    right=[6.0],
)  # fmt: skip
entry(
    "record/variable.py:variable", "np.stack([...]) keeps their gradient",
    slope(lambda x: np.sum(cr.variable([x[0] ** 2, x[1]]))),
    slope(lambda x: np.sum(np.stack([x[0] ** 2, x[1]]))),
    right=[3.0, 1.0],
)  # fmt: skip

# ---- writing -------------------------------------------------------------------------------------


def written(change, value=lambda z: np.real(z[0])):
    def f(z):
        y = change(np.real(z).astype(int))
        y[0] = value(z)
        return np.real(np.sum(y**2))

    return f


WIDER = "record/variable.py:Variable.__setitem__"

entry(
    WIDER, "use y = y.astype(",
    slope(written(lambda y: y)),
    slope(written(lambda y: y.astype(float))),
    right=[3.0, 0.0],
)  # fmt: skip
entry(
    WIDER, ") first.",
    slope(written(lambda y: y, lambda z: z[0]), Z),
    slope(written(lambda y: y.astype(complex), lambda z: z[0]), Z),
    right=np.conj([2 * Z[0], 0]),
)  # fmt: skip


def into_view(x):
    y = x * 1.0
    y[1:][0] = 5.0
    v = y[1:]
    v[0] = 5.0
    return np.sum(y**2)


def into_whole(x):
    y = x * 1.0
    y[1] = 5.0
    return np.sum(y**2)


def sorted_view(x):
    v = x[1:]
    v.sort()
    return np.sum(v**2)


def into_copy(x):
    v = x[1:]
    v = v.copy()
    v.sort()
    return np.sum(v**2)


VIEW = "record/variable.py:Variable._rebind"
entry(VIEW, "write to the whole array (y[1:][0] = v becomes y[1] = v)",
      slope(into_view), slope(into_whole), right=[3.0, 0.0])  # fmt: skip
entry(VIEW, "take a copy first: v = v.copy()",
      slope(sorted_view), slope(into_copy), right=[0.0, 4.0])  # fmt: skip


def in_place(update):
    def f(x):
        y = (x > 1).astype(int)
        y = update(y, x)
        return np.sum(y**2)

    return f


def _adds(y, x):
    y += x
    return y


def _adds_to_array(x):
    a = np.zeros(2)
    a += x
    return np.sum(a**2)


def _new_array(x):
    a = np.zeros(2)
    a = a + x
    return np.sum(a**2)


entry(
    "record/operators.py:in_place_operator.in_place", "write `y = y ∘ v`",
    slope(in_place(_adds)),
    slope(in_place(lambda y, x: y + x)),
    right=2 * (X + 1),
)  # fmt: skip
LOST = "record/protocol.py:lost_in_array"
entry(LOST, "`a += x` on an ndarray becomes `a = a + x`",
      slope(_adds_to_array), slope(_new_array), right=2 * X)  # fmt: skip
entry(
    LOST, "`np.add(x, y, out=a)` becomes `a = np.add(x, y)`",
    slope(lambda x: np.sum(np.add(x, 1.0, out=np.zeros(2)) ** 2)),
    slope(lambda x: np.sum(np.add(x, 1.0) ** 2)),
    right=2 * (X + 1),
)  # fmt: skip


def _adds_to_part(x):
    a = np.zeros(3)
    a[1:] += x
    return np.sum(a**2)


def _part_of(make):
    def f(x):
        a = make(np.zeros(3))
        a[1:] += x
        return np.sum(a**2)

    return f


entry(
    LOST, "make the array with chainrule.numpy.zeros(n), or with chainrule.numpy.copy(a) of a",
    slope(_adds_to_part),
    slope(_part_of(lambda a: cnp.zeros(3))),
    slope(_part_of(cnp.copy)),
    right=2 * X,
)  # fmt: skip
LANES = "record/protocol.py:_refuse_destination"
entry(
    LANES, "use np.where(mask, np.",
    slope(lambda x: np.sum(np.log(x, where=x > 1.7))),
    slope(lambda x: np.sum(np.where(x > 1.7, np.log(x), 0))),
    right=[0.0, 0.5],
)  # fmt: skip
entry(
    LANES, "), otherwise).",
    slope(lambda x: np.sum(np.divide(1.0, x, where=x > 1.7))),
    slope(lambda x: np.sum(np.where(x > 1.7, np.divide(1.0, x), 0))),
    right=[0.0, -0.25],
)  # fmt: skip

COPYTO = "ops/writing.py:writer.write"


def _copied(x):
    a = np.zeros(2)
    np.copyto(a, x**2)
    return np.sum(a)


entry(COPYTO, "takes the same arguments and returns the changed array",
      slope(_copied), slope(lambda x: np.sum(cr.copyto(np.zeros(2), x**2))),
      right=2 * X)  # fmt: skip
entry(
    "ops/writing.py:<module>", "the one that keeps it is chainrule.numpy.full(shape, v)",
    slope(lambda x: np.sum(np.full(3, x[0] ** 2, dtype=float))),
    slope(lambda x: np.sum(cnp.full(3, x[0] ** 2, dtype=float))),
    right=[9.0, 0.0],
)  # fmt: skip
entry(
    "record/methods.py:_refuse_flattening", "(x, axis=None) returns the flat array",
    slope(lambda x: np.sum((x * 1).sort(axis=None)), np.array([[2.0, 1.0]])),
    slope(lambda x: np.sum(np.sort(x * 1, axis=None) ** 2), np.array([[2.0, 1.0]])),
    right=[[4.0, 2.0]],
)  # fmt: skip
entry(
    "record/creation.py:array", "copy=False, but this array cannot be had without copying",
    slope(lambda x: np.sum(cnp.array([x, x**2], copy=False)), 3.0),
    slope(lambda x: np.sum(cnp.array([x, x**2])), 3.0),
    right=7.0,
)  # fmt: skip


class Square(cr.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.piecewise(x, [x > 1.7], [lambda t: t * t, 0.0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return g * np.where(x > 1.7, 2 * x, 0)


UNKNOWN = "record/protocol.py:unsupported"
entry(
    UNKNOWN, "cr.OPS lists every supported function; cr.Function makes your own",
    slope(lambda x: np.sum(np.polydiv(np.where(x > 1.7, x**3, 0.0), x)[0])),
    slope(lambda x: np.sum(Square.apply(x))),
    slope(lambda x: np.sum(cr.OPS["where"](x > 1.7, x * x, 0.0))),
    right=[0.0, 4.0],
)  # fmt: skip
entry(
    UNKNOWN, "x.value computes without a gradient",
    slope(lambda x: np.sum(x * np.histogram_bin_edges(x, 1))),
    slope(lambda x: np.sum(x * np.histogram_bin_edges(x.value, 1))),
    right=X,
)  # fmt: skip

# ---- constants that change -----------------------------------------------------------------------


def _weighted(change_at, copied=False):
    x, w = cr.variable(X), np.array([3.0, 4.0])
    y = np.sum(x * (w.copy() if copied else w))
    if change_at == "before":
        w[0] = 7.0
    y.backward()
    w[0] = 7.0
    return x.grad


CHANGED = "record/watch.py:Watch.check"
entry(CHANGED, "pass a copy of it", lambda: _weighted("before"),
      lambda: _weighted("before", copied=True), right=[3.0, 4.0])  # fmt: skip
entry(CHANGED, "or change it after backward()", lambda: _weighted("before"),
      lambda: _weighted("after"), right=[3.0, 4.0])  # fmt: skip

"""What is said of graphs, derivatives and functions with a derivative of their own."""

from __future__ import annotations

import numpy as np

import chainrule as cr
from chainrule.core.op import OPS, Sample
from chainrule.ops.define import rules
from tests.laws.error_cures.entry import entry

X = np.array([1.0, 2.0])
M = np.array([[2.0, 0.5], [0.0, 1.0]])

# ---- graphs --------------------------------------------------------------------------------------


def _twins():
    a, b = cr.variable(3.0, name="w"), cr.variable(5.0, name="w")
    return cr.trace(lambda x: x * a * b, 2.0)


def _adjoint_of_second():
    graph = _twins()
    run = graph.forward(2.0)
    run.backward()
    return run.adjoint(list(graph.captured)[1])


entry("core/graph.py:Graph.node", "; pass the node itself", lambda: _twins().node("w"),
      _adjoint_of_second, right=6.0)  # fmt: skip
entry("core/graph.py:Graph.order", "choose one of", lambda: _twins().order("bfs"),
      *(lambda m=m: len(_twins().order(m)) for m in ("dfs", "kahn")), right=5)  # fmt: skip
entry(
    "core/order.py:_cycle", "drop one of these dependencies",
    lambda: cr.topological_sort({"a": ["b"], "b": ["a"]}),
    lambda: [ord(n) for n in cr.topological_sort({"a": ["b"], "b": []})],
    right=[98, 97],
)  # fmt: skip
entry(
    "core/order.py:_read", "write a list of nodes, such as [",
    lambda: cr.topological_sort({"a": "bc"}),
    lambda: [ord(n) for n in cr.topological_sort({"a": ["bc"], "bc": []}) if n != "bc"],
    right=[97],
)  # fmt: skip


def _tripled(*push):
    op = rules("tripled_here", lambda x: 3 * x, reverse=(lambda g: 3 * g,),
               push=push or (None,), samples=lambda: [Sample((1.0,))])  # fmt: skip
    del OPS[op.name]  # the table is the same for all tests
    return cr.jvp(lambda x: op(x), (2.0,), (1.0,))[1]


entry("core/rule.py:_not_written.reverse", "add it to the op's record", _tripled,
      lambda: _tripled(lambda t: 3 * t), right=3.0)  # fmt: skip


def _values(graph_of):
    graph = graph_of()
    return graph, graph.forward(M)


def _matrix_of_values():
    graph, run = _values(lambda: cr.trace(lambda m: np.sum(np.linalg.svd(m)[1]), M))
    return run.local_jacobian(graph.nodes[0], graph.nodes[1])


def _by_differences():
    step = 1e-6
    columns = [
        (np.linalg.svd(M + d)[1] - np.linalg.svd(M - d)[1]) / (2 * step)
        for d in step * np.eye(4).reshape(4, 2, 2)
    ]
    return np.stack(columns, -1)


entry(
    "diff/run.py:Run.local_jacobian", "cr.jacobian(f)(x) is the matrix",
    _matrix_of_values,
    lambda: cr.jacobian(lambda m: np.linalg.svd(m)[1])(M),
    right=_by_differences,
)  # fmt: skip


def _adjoint(first=lambda run: None):
    graph = cr.trace(lambda x: np.sum(x**2), X)
    run = graph.forward(X)
    first(run)
    return run.adjoint(graph.leaves[0])


entry("diff/run.py:Run.known_adjoints", "call run.backward() first", _adjoint,
      lambda: _adjoint(lambda run: run.backward()), right=2 * X)  # fmt: skip

# ---- what can be differentiated ------------------------------------------------------------------


def _inner(x):
    y = cr.variable(2.0)
    (y**3).backward()
    return x * y.grad


entry("diff/backward.py:backward", "cr.grad(f)(x) is recorded, and may stand inside",
      lambda: cr.grad(_inner)(5.0), lambda: cr.grad(lambda x: cr.grad(lambda y: y**3)(x))(2.0),
      right=12.0)  # fmt: skip


def _backward(end):
    x = cr.variable(X)
    end(x**2).backward()
    return x.grad


entry("diff/backward.py:seed_for", "y.sum().backward() takes their sum",
      lambda: _backward(lambda y: y), lambda: _backward(lambda y: y.sum()),
      right=2 * X)  # fmt: skip

INPUT = "diff/call.py:_input"
WHOLE = np.arange(3)
entry(
    INPUT, "pass it as floating point: x.astype(float)",
    lambda: cr.grad(lambda x: np.sum(x**2))(WHOLE),
    lambda: cr.grad(lambda x: np.sum(x**2))(WHOLE.astype(float)),
    lambda: cr.grad(lambda x: np.sum(x**2))(WHOLE.astype(object).astype(float)),
    right=2 * WHOLE,
)  # fmt: skip
NAMES = np.array(["a", "b"])
entry(
    INPUT, "say with argnums= what is differentiated",
    lambda: cr.grad(lambda names, x: len(names) * x)(NAMES, 3.0),
    lambda: cr.grad(lambda names, x: len(names) * x, argnums=1)(NAMES, 3.0),
    right=2.0,
)  # fmt: skip
entry(
    "diff/gradient.py:_split_aux", "the function must return a pair (output, aux)",
    lambda: cr.grad(lambda x: x**2, has_aux=True)(3.0),
    lambda: cr.grad(lambda x: (x**2, x + 1), has_aux=True)(3.0),
    right=[6.0, 4.0],
)  # fmt: skip
SCALAR = "diff/gradient.py:_scalar"
entry(SCALAR, "use cr.jacobian for every output's derivative", lambda: cr.grad(lambda x: x**2)(X),
      lambda: cr.jacobian(lambda x: x**2)(X), right=np.diag(2 * X))  # fmt: skip
entry(SCALAR, "cr.vjp for a weighted sum of them", lambda: cr.grad(lambda x: x**2)(X),
      lambda: cr.vjp(lambda x: x**2, X)[1](np.array([1.0, 3.0])), right=[2.0, 12.0])  # fmt: skip
entry(SCALAR, "or sum them first", lambda: cr.grad(lambda x: x**2)(X),
      lambda: cr.grad(lambda x: np.sum(x**2))(X), right=2 * X)  # fmt: skip
C = 1 + 2j


def _complex(part):
    return lambda: cr.grad(lambda z: part(z**2))(C)


for part, slope in ((np.real, np.conj(2 * C)), (np.imag, np.conj(-2j * C)), (np.abs, 2 * C)):
    entry(SCALAR, f"{' or ' if part is np.abs else ''}np.{part.__name__.replace('olute', '')}",
          lambda: cr.grad(lambda z: z**2)(C), _complex(part), right=slope)  # fmt: skip
entry(SCALAR, "or pass holomorphic=True for the complex derivative",
      lambda: cr.grad(lambda z: z**2)(C),
      lambda: cr.grad(lambda z: z**2, holomorphic=True)(C), right=2 * C)  # fmt: skip
V = np.array([1 + 2j, 3.0])
MATRIX = "diff/jacobian.py:_refuse_complex"
entry(
    MATRIX, "split it with np.real and np.imag",
    lambda: cr.jacobian(lambda x: x * V)(V),
    lambda: cr.jacobian(lambda x: np.real(x * V))(X),
    right=np.diag(V.real),
)  # fmt: skip
entry(MATRIX, "or pass holomorphic=True for the complex derivative",
      lambda: cr.jacobian(lambda z: z**2)(V),
      lambda: cr.jacobian(lambda z: z**2, holomorphic=True)(V), right=np.diag(2 * V))  # fmt: skip
entry("diff/jacobian.py:value_and_jacobian", ": choose one of",
      lambda: cr.jacobian(np.exp, mode="back")(X),
      *(lambda m=m: cr.jacobian(np.exp, mode=m)(X) for m in ("auto", "reverse", "forward")),
      right=np.diag(np.exp(X)))  # fmt: skip
entry("diff/jacobian.py:value_and_jacobian", "leave sparse=False",
      lambda: cr.jacobian(np.exp, sparse=True)(X),
      lambda: cr.jacobian(np.exp, sparse=False)(X), right=np.diag(np.exp(X)))  # fmt: skip

# ---- functions with a derivative of their own ----------------------------------------------------


class Nothing(cr.Function):
    pass


class Forward(cr.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2


class Squared(Forward):
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved[0]


def of(function):
    return lambda: cr.grad(lambda x: np.sum(function.apply(x)))(X)


entry("diff/custom.py:Function.forward", "write forward(ctx, *args)", of(Nothing), of(Squared),
      right=2 * X)  # fmt: skip
entry("diff/custom.py:Function.backward", "write backward(ctx, g)", of(Forward), of(Squared),
      right=2 * X)  # fmt: skip


BUFFER = np.empty(2)


class Reusing(Squared):
    """Its forward computes in the same memory each time."""

    @staticmethod
    def forward(ctx, x):
        BUFFER[:] = x
        ctx.save_for_backward(BUFFER)
        return BUFFER**2


class Copying(Squared):
    @staticmethod
    def forward(ctx, x):
        BUFFER[:] = x
        ctx.save_for_backward(BUFFER.copy())
        return BUFFER**2


def twice(function):
    return lambda: cr.grad(lambda x: np.sum(function.apply(x) + function.apply(3 * x)))(X)


entry("diff/custom.py:_op_of.context", "save a copy of it: ctx.save_for_backward(a.copy())",
      twice(Reusing), twice(Copying), right=20 * X)  # fmt: skip


class Scaled(cr.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(n)
        return x * n

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved[0]


class ScaledPair(Scaled):
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved[0], None


entry(
    "diff/custom.py:_adjoints", "return one per argument of forward, None where there is none",
    lambda: cr.grad(lambda x: Scaled.apply(x, 3.0))(2.0),
    lambda: cr.grad(lambda x: ScaledPair.apply(x, 3.0))(2.0),
    right=3.0,
)  # fmt: skip


class ByNumbers(Squared):
    """Its backward converts to plain numbers."""

    @staticmethod
    def backward(ctx, g):
        return np.array([float(v) for v in g * 2 * ctx.saved[0]])


class WithPush(ByNumbers):
    @staticmethod
    def jvp(ctx, t):
        return 2 * t * ctx.saved[0]


def pushed(function):
    return lambda: cr.jvp(lambda x: np.sum(function.apply(x)), (X,), (np.ones(2),))[1]


entry("diff/custom.py:_transposed", "give it a static method jvp(ctx, *tangents)",
      pushed(ByNumbers), pushed(WithPush), right=6.0)  # fmt: skip


class Alternating(Squared):
    """Its backward counts its calls."""

    calls = 0

    @classmethod
    def backward(cls, ctx, g):
        cls.calls += 1
        return g * 2 * ctx.saved[0] * (np.nan if cls.calls == 1 else 1)


def watched(function):
    def walk():
        function.calls = 0
        with cr.debug():
            return cr.grad(lambda x: np.sum(function.apply(x)))(X)

    return walk


entry("explain/debug.py:<module>",
      "look for a backward of your own that gives something else when it is called again",
      watched(Alternating), watched(Squared), right=2 * X)  # fmt: skip

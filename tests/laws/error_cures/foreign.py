"""What is said of other libraries: of their names, of their code, of sparse matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.sparse as sp
from scipy.integrate import quad

import chainrule as cr
import chainrule.numpy as cnp
from chainrule import scipy as csp
from tests.laws.error_cures.entry import entry
from tests.laws.error_cures.recording import Integral, slope

X = np.array([1.5, 2.0])
A = sp.csr_array(np.array([[2.0, 0.0], [1.0, 3.0]]))

# ---- code of other libraries ---------------------------------------------------------------------

CURE = "record/foreign.py:_cure"


def inverse(array):
    return lambda x: np.linalg.inv(array([[x[0], 1.0], [0.5, x[1] ** 2]]))[0, 0]


entry(
    CURE, "it is a Variable: `import chainrule.numpy as np` in place of `import numpy as np`",
    slope(inverse(np.array)), slope(inverse(cnp.array)),
    lambda: cr.grad(lambda x: x[1] ** 2 / (x[0] * x[1] ** 2 - 0.5))(X),
    right=slope(inverse(cnp.array)),
)  # fmt: skip
entry(
    CURE, "write `from chainrule import scipy`, whose",
    slope(lambda x: np.sum(scipy.linalg.inv(np.diag(x)))),
    slope(lambda x: np.sum(csp.linalg.inv(np.diag(x)))),
    right=-1 / X**2,
)  # fmt: skip
FRAME = pd.DataFrame({"a": [3.0, 4.0]})
entry(
    CURE, "compute with NumPy, which a Variable takes part in: df['a'].to_numpy() is a column's",
    slope(lambda x: pd.Series(x).rolling(2).mean().sum()),
    slope(lambda x: np.mean(x) * np.prod(FRAME["a"].to_numpy()) / 12),
    slope(lambda x: np.sum(FRAME["a"] * x / FRAME["a"]) / 2),
    right=[0.5, 0.5],
)  # fmt: skip
entry(
    CURE, "wrap its call in a cr.Function, which says what its derivative is",
    slope(lambda u: __import__("statistics").mean([u, 2.0]), 2.0),
    slope(Integral.apply, 2.0),
    lambda: cr.grad(lambda u: u * quad(lambda t: t, 0, cr.stop_gradient(u).value)[0])(2.0) * 2,
    right=4.0,
)  # fmt: skip

# ---- names of other libraries --------------------------------------------------------------------

METHOD = "record/methods.py:<module>"


def product(x):
    return x[0] * x[1]


for says, fails, cured, right in (
    ("write cr.stop_gradient(x)", lambda x: x.detach() @ x, lambda x: cr.stop_gradient(x) @ x, X),
    ("write x.value", lambda x: x.numpy()[0] * x[0], lambda x: x.value[0] * x[0], [1.5, 0.0]),
    ("leave it out, a Variable is in the memory", lambda x: product(x.cpu()), product, [2.0, 1.5]),
    ("write x.copy()", lambda x: product(x.clone()), lambda x: product(x.copy()), [2.0, 1.5]),
    ("write x.transpose(axes)", lambda x: product(x.permute(0)),
     lambda x: product(x.transpose((0,))), [2.0, 1.5]),
    ("write np.expand_dims(x, axis)", lambda x: np.sum(x.unsqueeze(0)),
     lambda x: np.sum(np.expand_dims(x, 0)), [1.0, 1.0]),
    ("leave it out, a value is there as soon as", lambda x: product(x.block_until_ready()),
     product, [2.0, 1.5]),
):  # fmt: skip
    entry(METHOD, says, slope(fails), slope(cured), right=right)


def written(x):
    y = x.copy()
    y[0] = x[1] ** 2
    return np.sum(y)


entry(
    METHOD, "write y = x.copy(); y[i] = v, which is recorded",
    slope(lambda x: np.sum(x.at[0].set(x[1] ** 2))),
    slope(written),
    right=[0.0, 5.0],
)  # fmt: skip


def leaf_gradient():
    x = cr.variable(X)
    product(x).backward()
    return x.grad


entry(METHOD, "write cr.variable(value), or let cr.grad(f) make the leaves",
      lambda: cr.variable(X).requires_grad_(), leaf_gradient, slope(product),
      right=[2.0, 1.5])  # fmt: skip
entry(METHOD, "ask x.is_leaf; every Variable that a leaf leads to has a gradient",
      lambda: cr.variable(X).requires_grad, lambda: float(cr.variable(X).is_leaf),
      right=1.0)  # fmt: skip
entry(METHOD, "read x.node, the operation that made it",
      lambda: product(cr.variable(X)).grad_fn, lambda: product(cr.variable(X)).node.op.name,
      right="multiply")  # fmt: skip


def adjoint_inside():
    graph = cr.trace(product, X)
    run = graph.forward(X).backward()
    return run.adjoint(graph.nodes[1])


entry(METHOD, "call cr.trace(f, …), run.adjoint(node) is the gradient of any node",
      slope(lambda x: x.retain_grad()), adjoint_inside, right=2.0)  # fmt: skip

FACE = "__init__.py:<module>"


def cubes(x):
    return x**3


for says, name, cured, right in (
    ("write cr.compile(f)", "jit", lambda: cr.compile(cubes)(X), X**3),
    ("write cr.compile(cr.vmap(f)), which uses every core", "pmap",
     lambda: cr.compile(cr.vmap(cr.grad(cubes)))(X), 3 * X**2),
    ("write cr.jacobian(f, mode='reverse')", "jacrev",
     lambda: cr.jacobian(cubes, mode="reverse")(X), np.diag(3 * X**2)),
    ("write cr.jacobian(f, mode='forward')", "jacfwd",
     lambda: cr.jacobian(cubes, mode="forward")(X), np.diag(3 * X**2)),
    ("write cr.grad(lambda x: np.sum(f(x)))", "elementwise_grad",
     lambda: cr.grad(lambda x: np.sum(cubes(x)))(X), 3 * X**2),
    ("write a cr.Function", "custom_vjp", slope(Integral.apply, 2.0), 4.0),
    ("compute with x.value, or with cr.stop_gradient(x)", "no_grad",
     slope(lambda x: np.sum(x * cr.stop_gradient(x))), X),
    ("write cr.variable(value)", "tensor", leaf_gradient, [2.0, 1.5]),
    ("write cr.scan, cr.while_loop, cr.fori_loop or cr.cond, or a loop in Python", "lax",
     slope(lambda x: cr.cond(x[0] > 0, lambda x: x[0] ** 2, lambda x: x[1], x)), [3.0, 0.0]),
    ("leave it out, arrays are in the memory", "device_put", slope(product), [2.0, 1.5]),
    ("leave it out, numbers are float64 from the start", "config",
     lambda: float(cr.variable(1).dtype == np.float64), 1.0),
):  # fmt: skip
    entry(FACE, says, lambda name=name: getattr(cr, name), cured, right=right)

# ---- sparse matrices -----------------------------------------------------------------------------

SPARSE = "ops/sparse_values.py:"
entry(
    SPARSE + "SparseValues.__matmul__", "multiply by one after the other: A @ (B @ x)",
    slope(lambda x: np.sum(cr.sparse_values(A, A.data) @ A @ x)),
    slope(lambda x: np.sum(cr.sparse_values(A, A.data) @ (A @ x))),
    right=np.ones(2) @ A.toarray() @ A.toarray(),
)  # fmt: skip
entry(
    SPARSE + "SparseValues.__mul__", "write A @ x for the product",
    slope(lambda x: np.sum(cr.sparse_values(A) * x)),
    slope(lambda x: np.sum(cr.sparse_values(A) @ x)),
    right=np.ones(2) @ A.toarray(),
)  # fmt: skip
entry(
    SPARSE + "sparse_values", "pass A.tocsr() and values in the order of its data",
    lambda: cr.sparse_values(A.todia(), np.ones(4)),
    lambda: (cr.sparse_values(A.todia().tocsr(), np.ones(3)) @ X),
    right=[1.5, 3.5],
)  # fmt: skip
TWICE = sp.coo_array((np.array([1.0, 2.0]), (np.array([0, 0]), np.array([0, 0]))), shape=(2, 2))
entry(
    SPARSE + "_in_rows", "pass A.tocsr().",
    lambda: cr.sparse_values(TWICE),
    lambda: cr.sparse_values(TWICE.tocsr()) @ X,
    right=[4.5, 0.0],
)  # fmt: skip

LINALG = "scipy/linalg/functions.py:"
M = np.array([[2.0, 1.0], [0.5, 3.0]])
entry(
    LINALG + "eig", "pass left=False",
    lambda: cr.grad(lambda a: np.sum(csp.linalg.eig(a, left=True)[0]))(M),
    lambda: cr.grad(lambda a: np.sum(np.real(csp.linalg.eig(a, left=False)[0])))(M),
    lambda: cr.grad(lambda a: np.sum(np.real(csp.linalg.eig(a.conj().T)[0])))(M),
    right=np.eye(2),
)  # fmt: skip
entry(
    LINALG + "qr", "choose 'full', 'economic' or 'r'",
    lambda: cr.grad(lambda a: np.sum(csp.linalg.qr(a, mode="raw")[0]))(M),
    *(lambda m=m: cr.grad(lambda a: np.sum(csp.linalg.qr(a, mode=m)[-1] ** 2))(M)
      for m in ("full", "economic", "r")),
    right=2 * M,
)  # fmt: skip
entry(
    LINALG + "pinv", "pass rtol, a part of the largest",
    lambda: cr.grad(lambda a: np.sum(csp.linalg.pinv(a, atol=1e-9)))(M),
    lambda: cr.grad(lambda a: np.sum(csp.linalg.pinv(a, rtol=1e-9)))(M),
    right=lambda: cr.grad(lambda a: np.sum(np.linalg.inv(a)))(M),
)  # fmt: skip

"""chainrule: automatic differentiation of NumPy code, with the computational graph as a value."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as _numpy

from chainrule import explain
from chainrule.core.op import OPS
from chainrule.errors import (
    ArgumentError,
    ChainruleError,
    CheckpointError,
    CompileDifference,
    CompileError,
    CycleError,
    DataError,
    DegenerateError,
    DerivativeError,
    DetachError,
    DTypeError,
    GradientCheckError,
    GraphError,
    LinearAlgebraError,
    MemoryBudgetError,
    MutationError,
    NeedsHistoryError,
    NonFiniteGradient,
    NonFiniteLoss,
    OutOfRangeError,
    ScaleError,
    SerialisationError,
    ShapeError,
    UnsupportedAttributeError,
    UnsupportedError,
    ViewWriteError,
)
from chainrule.ops.sparse_values import sparse_values
from chainrule.ops.structure import stop_gradient
from chainrule.record import methods as _methods  # noqa: F401 - Variable gets ndarray's methods
from chainrule.record import operators as _operators  # noqa: F401 - and its operators
from chainrule.record.protocol import op_of
from chainrule.record.variable import Variable, variable

if TYPE_CHECKING:  # the rest of the public face is imported when first asked for: see LAZY
    from chainrule import tree
    from chainrule.core.graph import Graph
    from chainrule.core.order import topological_sort
    from chainrule.diff.custom import Function
    from chainrule.diff.gradient import grad, jvp, value_and_grad, vjp
    from chainrule.diff.jacobian import (
        diag_hessian,
        diag_jacobian,
        hessian,
        hvp,
        jacobian,
        per_example_grad,
        value_and_jacobian,
    )
    from chainrule.diff.run import Run
    from chainrule.diff.vmap import vmap
    from chainrule.record.trace import trace

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ChainruleError",
    "CheckpointError",
    "CompileDifference",
    "CompileError",
    "CycleError",
    "DTypeError",
    "DataError",
    "DegenerateError",
    "DerivativeError",
    "DetachError",
    "Explanation",
    "Function",
    "GradientCheckError",
    "Graph",
    "GraphError",
    "LinearAlgebraError",
    "Live",
    "MemoryBudgetError",
    "MutationError",
    "NeedsHistoryError",
    "NonFiniteGradient",
    "NonFiniteLoss",
    "OPS",
    "OutOfRangeError",
    "Run",
    "ScaleError",
    "SerialisationError",
    "ShapeError",
    "UnsupportedAttributeError",
    "UnsupportedError",
    "Variable",
    "ViewWriteError",
    "check_grads",
    "checkpoint",
    "compile",
    "cond",
    "conditioning",
    "debug",
    "diag_hessian",
    "diag_jacobian",
    "diff_runs",
    "explain",
    "find_nonfinite",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "key",
    "learn",
    "numpy",
    "per_example_grad",
    "propagate",
    "scale",
    "scan",
    "scipy",
    "set_threads",
    "sparse_values",
    "stop_gradient",
    "topological_sort",
    "trace",
    "tree",
    "value_and_grad",
    "value_and_jacobian",
    "variable",
    "vjp",
    "vmap",
    "while_loop",
]


LAZY = {  # where each name lives that is imported when first asked for
    "Explanation": "chainrule.explain.explanation",
    "Function": "chainrule.diff.custom",
    "Graph": "chainrule.core.graph",
    "Live": "chainrule.view.live",
    "Run": "chainrule.diff.run",
    "check_grads": "chainrule.explain.check",
    "checkpoint": "chainrule.diff.checkpoint",
    "compile": "chainrule.run.compiled",
    "cond": "chainrule.diff.scan",
    "conditioning": "chainrule.explain.conditioning",
    "debug": "chainrule.explain.debug",
    "diag_hessian": "chainrule.diff.jacobian",
    "diag_jacobian": "chainrule.diff.jacobian",
    "diff_runs": "chainrule.explain.compare",
    "find_nonfinite": "chainrule.explain.nonfinite",
    "fori_loop": "chainrule.diff.scan",
    "grad": "chainrule.diff.gradient",
    "hessian": "chainrule.diff.jacobian",
    "hvp": "chainrule.diff.jacobian",
    "implicit": "chainrule.diff.implicit",
    "jacobian": "chainrule.diff.jacobian",
    "jvp": "chainrule.diff.gradient",
    "key": "chainrule.ops.random",
    "per_example_grad": "chainrule.diff.jacobian",
    "propagate": "chainrule.explain.propagate",
    "scan": "chainrule.diff.scan",
    "set_threads": "chainrule.run.threads",
    "topological_sort": "chainrule.core.order",
    "trace": "chainrule.record.trace",
    "value_and_grad": "chainrule.diff.gradient",
    "value_and_jacobian": "chainrule.diff.jacobian",
    "vjp": "chainrule.diff.gradient",
    "vmap": "chainrule.diff.vmap",
    "while_loop": "chainrule.diff.scan",
}
MODULES = ("learn", "numpy", "scale", "scipy", "tree")


def __getattr__(name: str) -> Any:
    """Lazy names, and every op: `cr.exp`, `cr.softmax`, also under NumPy's name for it."""
    if name in MODULES:
        return import_module(f"chainrule.{name}")
    if name in LAZY:
        value = globals()[name] = getattr(import_module(LAZY[name]), name)
        return value
    if name in OPS:
        return OPS[name]
    op = op_of(getattr(_numpy, name, None))
    if op is not None:
        return op
    if name in ELSEWHERE:
        raise UnsupportedAttributeError(f"cr.{name} is of another library; {ELSEWHERE[name]}")
    raise AttributeError(f"module 'chainrule' has no attribute {name!r}")


# What other libraries call it, and what it is here.
ELSEWHERE = {
    "jit": "write cr.compile(f) instead",
    "pmap": "write cr.compile(cr.vmap(f)), which uses every core",
    "jacrev": "write cr.jacobian(f, mode='reverse')",
    "jacfwd": "write cr.jacobian(f, mode='forward')",
    "elementwise_grad": "write cr.grad(lambda x: np.sum(f(x)))",
    "custom_jvp": "write a cr.Function instead",
    "custom_vjp": "write a cr.Function instead",
    "primitive": "write a cr.Function instead",
    "no_grad": "compute with x.value, or with cr.stop_gradient(x)",
    "tensor": "write cr.variable(value) instead",
    "lax": "write cr.scan, cr.while_loop, cr.fori_loop or cr.cond, or a loop in Python",
    "device_put": "leave it out, arrays are in the memory of the CPU",
    "config": "leave it out, numbers are float64 from the start",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY, *MODULES, *OPS})

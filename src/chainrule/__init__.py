"""chainrule: automatic differentiation of NumPy code, with the computational graph as a value."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy

from chainrule import explain, tree
from chainrule.core.graph import Graph
from chainrule.core.op import OPS
from chainrule.core.order import topological_sort
from chainrule.diff.custom import Function
from chainrule.diff.gradient import grad, jvp, value_and_grad, vjp
from chainrule.diff.jacobian import hessian, hvp, jacobian
from chainrule.diff.run import Run
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
from chainrule.ops.structure import stop_gradient
from chainrule.record import methods as _methods  # noqa: F401 - Variable gets ndarray's methods
from chainrule.record import operators as _operators  # noqa: F401 - and its operators
from chainrule.record.protocol import op_of
from chainrule.record.trace import trace
from chainrule.record.variable import Variable, variable

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
    "compile",
    "conditioning",
    "debug",
    "diff_runs",
    "explain",
    "find_nonfinite",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "key",
    "learn",
    "scale",
    "set_threads",
    "stop_gradient",
    "topological_sort",
    "trace",
    "tree",
    "value_and_grad",
    "variable",
    "vjp",
]


LAZY = {  # imported when first asked for
    "Explanation": "chainrule.explain.explanation",
    "Live": "chainrule.view.live",
    "check_grads": "chainrule.explain.check",
    "compile": "chainrule.run.compiled",
    "conditioning": "chainrule.explain.conditioning",
    "debug": "chainrule.explain.debug",
    "diff_runs": "chainrule.explain.compare",
    "find_nonfinite": "chainrule.explain.nonfinite",
    "key": "chainrule.ops.random",
    "set_threads": "chainrule.run.threads",
}


def __getattr__(name: str) -> Any:
    """Names imported late, and every op: `cr.exp`, `cr.softmax`, also under NumPy's name for it."""
    if name in ("learn", "scale"):
        return import_module(f"chainrule.{name}")
    if name in LAZY:
        return getattr(import_module(LAZY[name]), name)
    if name in OPS:
        return OPS[name]
    op = op_of(getattr(numpy, name, None))
    if op is not None:
        return op
    raise AttributeError(f"module 'chainrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *OPS})

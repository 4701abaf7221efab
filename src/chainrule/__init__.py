"""chainrule: automatic differentiation of NumPy code, with the computational graph as a value."""

from __future__ import annotations

from typing import Any

from chainrule import errors
from chainrule.core.graph import Graph
from chainrule.core.op import OPS
from chainrule.core.order import topological_sort
from chainrule.diff.gradient import grad, jvp, value_and_grad, vjp
from chainrule.diff.jacobian import hessian, hvp, jacobian
from chainrule.record import methods as _methods
from chainrule.record.trace import trace
from chainrule.record.variable import Variable, variable


def __getattr__(name: str) -> Any:
    """Every op is also `cr.<name>`."""
    if name in OPS:
        return OPS[name]
    raise AttributeError(f"module 'chainrule' has no attribute {name!r}")

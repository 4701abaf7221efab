"""`cr.propagate`: what the uncertainty of the inputs makes of the result, and where it comes from.

To first order the covariance of f(x) is J Σ Jᵀ, with J the Jacobian of f and Σ the covariance of x.
The variance of the result splits into one share per input: for the input i it is
J_i (Σ Jᵀ)_i / (J Σ Jᵀ), so that shares add up to 1, and one may be negative where inputs are
correlated.  A source line has the share that the inputs carry through its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Node
from chainrule.diff.implicit import Layout
from chainrule.diff.jacobian import jacobian
from chainrule.diff.reverse import contributions, fit, reverse_masked
from chainrule.core.masked import plain, unmasked
from chainrule.core.order import order_above
from chainrule.errors import ArgumentError, ShapeError
from chainrule.record.recorder import as_operand
from chainrule.record.trace import parameter_names

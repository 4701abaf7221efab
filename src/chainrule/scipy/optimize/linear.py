"""Linear programs whose optimum is a single point: a vertex that moves with its constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from chainrule.core.containers import flatten
from chainrule.diff.closed import without_history
from chainrule.errors import UnsupportedError
from chainrule.record.variable import Variable
from chainrule.scipy.optimize.optimum import Rows, optimum


def linprog(
    c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), **settings: Any,
) -> Any:  # fmt: skip
    """scipy.optimize.linprog: `x` and `fun` of the result differentiate by costs and constraints.

    The derivative exists where the optimum is unique, and no constraint is touched without force.
    """
    given = (c, A_ub, b_ub, A_eq, b_eq, bounds)
    found = optimize.linprog(*without_history(given), **settings)
    if not found.success or not any(isinstance(v, Variable) for v in flatten(given)[0]):
        return found
    if np.any(settings.get("integrality")):
        raise UnsupportedError("linprog: an optimum in whole numbers has no derivative")
    rows = [_between(bounds, found.x.size)]
    if A_ub is not None:
        rows.append(Rows(lambda x: A_ub @ x, -np.inf, b_ub))
    if A_eq is not None:
        rows.append(Rows(lambda x: A_eq @ x, b_eq, b_eq))
    found.x = optimum("linprog", found.x, lambda x: np.sum(c * x), rows)
    found.fun = np.sum(c * found.x)
    return found


def _between(bounds: Any, count: int) -> Rows:
    """Bounds on each variable, given as one pair for all or one for each."""
    pairs = [bounds] * count if np.ndim(bounds[0]) == 0 else list(bounds)

    def side(k: int, default: float) -> Any:
        values = [default if pair[k] is None else pair[k] for pair in pairs]
        if any(isinstance(v, Variable) for v in values):
            return np.stack([v if isinstance(v, Variable) else np.float64(v) for v in values])
        return np.array(values, np.float64)

    return Rows(lambda x: x, side(0, -np.inf), side(1, np.inf))

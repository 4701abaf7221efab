"""Functions as SciPy's solvers call them: on plain numbers, beside the derivatives of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.diff.closed import Captured, ClosedTrace, detached, without_history
from chainrule.diff.implicit import refuse_compiling
from chainrule.errors import UnsupportedError
from chainrule.record.state import current, recording
from chainrule.record.variable import Variable

Transform = Callable[[Callable[..., Any]], Callable[..., Any]]


class Supplied:
    """A function that the user gave, with `args` bound; `plain` is what a solver calls.

    `captured` are the Variables that it was seen to close over.
    """

    def __init__(self, f: Callable[..., Any], args: Any = (), solver: str = "a solver"):
        self.f = f
        self.args = args if isinstance(args, tuple) else (args,)
        self.captured: Captured = {}
        self._plain = detached(self, self.captured)
        self.solver = solver

    def __call__(self, *x: Any) -> Any:
        return self.f(*x, *self.args)

    def plain(self, *x: Any) -> Any:
        """The value as plain numbers."""
        found = self._plain(*x)
        if self.captured and current.get().tracing is not None:
            refuse_compiling(self.solver)
        return found

    def derivative(self, transform: Transform, at: Sequence[Any]) -> Callable[..., Any] | None:
        """transform(f) on plain numbers, as cr.grad is one; None where f cannot be recorded there.

        Then the solver takes differences, as SciPy does.
        """
        differentiated = transform(self)

        def of(*x: Any) -> Any:
            return on_numbers(differentiated, self.captured)(*x)

        try:
            of(*at)
        except Exception:  # noqa: BLE001 - whatever it is, the solver meets it too, or can do without
            return None
        return of


def without_derivative(module: ModuleType, name: str, ours: Sequence[str]) -> Any:
    """A name of SciPy's that is none of `ours`; a function of it refuses Variables."""
    found = getattr(module, name, None)
    if found is None:
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    if not isinstance(found, FunctionType):
        return found

    refusal = UnsupportedError(
        f"{module.__name__}.{name} has no derivative here; the functions that have one: "
        f"{', '.join(ours)}"
    )

    @wraps(found)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if any(isinstance(v, Variable) for v in leaves):
            raise refusal
        captured: Captured = {}
        plain = [detached(v, captured) if isinstance(v, FunctionType) else v for v in leaves]
        args, kwargs = structure.unflatten(plain)
        result = found(*args, **kwargs)
        if captured:
            raise refusal
        return result

    return call


def on_numbers(derivative: Callable[..., Any], captured: Captured) -> Callable[..., Any]:
    """A derivative on plain numbers, of a function that closes over what was `captured`.

    Where that is nothing, the walk on arrays will do.  Else a trace keeps apart what the captured
    Variables were computed from.
    """

    def of(*x: Any) -> Any:
        tracing = ClosedTrace(captured) if captured else None
        with recording(tracing=tracing, line=None, debug=None), np.errstate(all="ignore"):
            return without_history(derivative(*x))

    return of

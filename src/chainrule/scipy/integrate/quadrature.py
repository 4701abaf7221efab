"""Integrals of functions and of samples, differentiable by limits, parameters and data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import integrate

from chainrule.core.op import Op, Rules
from chainrule.diff.applied import applied
from chainrule.diff.closed import Captured, detached, opened, without_history
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.implicit import refuse_compiling
from chainrule.errors import DerivativeError, UnsupportedError
from chainrule.record.recorder import record
from chainrule.record.state import recording
from chainrule.record.variable import Variable

LIMITS = 2  # the inputs that come first: from where to where


class Integrand:
    """A function of (x, *inputs) to be integrated over x; its value may be a vector."""

    def __init__(self, f: Callable[..., Any], tolerance: tuple[float, float]):
        self.f, self.tolerance = f, tolerance

    def integral(self, a: Any, b: Any, inputs: Sequence[Any]) -> Any:
        """The integral on plain numbers."""
        absolute, relative = self.tolerance
        with recording(tracing=None, debug=None):
            found, _ = integrate.quad_vec(
                lambda x: np.asarray(self.f(np.float64(x), *inputs), np.float64), float(a),
                float(b), epsabs=absolute, epsrel=relative, norm="max",
            )  # fmt: skip
        return found

    def __repr__(self) -> str:
        return "<integrand>"


def _forward(*xs: Any, integrand: Integrand) -> Any:
    a, b, *inputs = xs
    return np.asarray(integrand.integral(a, b, inputs), np.float64)[()]


def _end(x: Any, integrand: Integrand, inputs: Sequence[Any]) -> Any:
    """The value at a limit; nothing flows through one that is infinite."""
    if not np.isfinite(without_history(x)):
        return np.zeros(())
    return integrand.f(x, *inputs)


def _pull(g: Any, xs: Any, integrand: Integrand) -> Any:
    a, b, *inputs = xs
    at_a, at_b = (_end(x, integrand, inputs) for x in (a, b))
    ends = [-np.sum(g * at_a), np.sum(g * at_b)]
    found = []
    for i in range(len(inputs)):

        def weighted(x: Any, g: Any, *every: Any, i: int = i) -> Any:
            def of(v: Any) -> Any:
                return integrand.f(x, *every[:i], v, *every[i + 1 :])

            return vjp(of, every[i])[1](g)[0]

        inner = Integrand(weighted, integrand.tolerance)
        found.append(applied(QUADRATURE, [a, b, g, *inputs], {"integrand": inner}))
    return (*ends, *found)


def _push(ts: Any, xs: Any, integrand: Integrand) -> Any:
    a, b, *inputs = xs
    moved_a, moved_b, *moves = ts
    change = moved_b * _end(b, integrand, inputs) - moved_a * _end(a, integrand, inputs)
    if not inputs:
        return change
    count = len(inputs)

    def along(x: Any, *every: Any) -> Any:
        def of(*values: Any) -> Any:
            return integrand.f(x, *values)

        return jvp(of, every[:count], every[count:])[1]

    inner = Integrand(along, integrand.tolerance)
    return change + applied(QUADRATURE, [a, b, *inputs, *moves], {"integrand": inner})


QUADRATURE = Op(
    "quadrature", _forward, ("xs",), Rules((_pull,), (_push,)), lambda *_, **__: None, list,
    variadic=True, doc="The integral of a function of the user's own over an interval.",
)  # fmt: skip


def quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), full_output: int = 0,
    epsabs: float = 1.49e-8, epsrel: float = 1.49e-8, **settings: Any,
) -> Any:  # fmt: skip
    """scipy.integrate.quad, differentiable by its limits, args and all that `func` closes over.

    The derivative is another integral, of the derivative of `func`, to the same tolerances.
    """
    more = args if isinstance(args, tuple) else (args,)
    captured: Captured = {}
    f = lambda x: func(x, *more)  # noqa: E731
    plain = detached(f, captured)
    low, high = without_history((a, b))
    found = integrate.quad(
        plain, low, high, full_output=full_output, epsabs=epsabs, epsrel=epsrel, **settings
    )
    if not captured and not isinstance(a, Variable) and not isinstance(b, Variable):
        return found
    refuse_compiling("quad")
    if any(settings.get(name) is not None for name in ("weight", "wvar")) or settings.get(
        "complex_func"
    ):
        raise UnsupportedError("quad: weights and complex functions are not differentiated")
    inputs = list(captured.values())
    call = opened(f, inputs)
    value = found[0]

    class Known(Integrand):
        """The integral that SciPy has computed, where it is asked for again."""

        def integral(self, a: Any, b: Any, at: Sequence[Any]) -> Any:
            same = all(x is v._value for x, v in zip(at, inputs, strict=True))
            return value if same and (a, b) == (low, high) else super().integral(a, b, at)

    integrand = Known(lambda x, *values: call((x,), values), (epsabs, epsrel))
    ends = [v if isinstance(v, Variable) else np.float64(v) for v in (a, b)]
    if not np.isfinite(value):
        raise DerivativeError("quad: the integral is not finite, so it has no derivative")
    return (record(Variable, QUADRATURE, [*ends, *inputs], {"integrand": integrand}), *found[1:])

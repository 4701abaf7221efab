"""Optimisers: how a gradient changes the parameters, as pure functions of parameters and state.

The state is a dict of arrays: "step", how many updates were made (a float64 number), and for each
moment a container like that of the parameters, in their types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import chainrule as cr
from chainrule import tree
from chainrule.learn.schedules import Schedule, constant

State: TypeAlias = dict[str, Any]
# rule(p, g, rate, t, *moments) -> (p, *moments), of one array
Rule: TypeAlias = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Optimiser:
    """`init(parameters)` is the first state; `update` the parameters and the state that follow."""

    name: str
    init: Callable[[Any], State] = field(repr=False)
    update: Callable[[Any, Any, State], tuple[Any, State]] = field(repr=False)


def sgd(rate: float | Schedule) -> Optimiser:
    """Gradient descent: p − η·g.  On one example or on a batch it is the same function."""
    return _by_rule("sgd", rate, (), lambda p, g, eta, t: (p - eta * g,))


def momentum(rate: float | Schedule, decay: float = 0.9) -> Optimiser:
    """v ← decay·v + g, p ← p − η·v (Polyak 1964, in the form of PyTorch: η outside of v)."""
    _fraction("momentum", decay=decay)

    def rule(p: Any, g: Any, eta: Any, t: Any, v: Any) -> tuple[Any, Any]:
        v = decay * v + g
        return p - eta * v, v

    return _by_rule("momentum", rate, ("velocity",), rule)


def nesterov(rate: float | Schedule, decay: float = 0.9) -> Optimiser:
    """v ← decay·v + g, p ← p − η·(g + decay·v): momentum one step ahead (Nesterov 1983)."""
    _fraction("nesterov", decay=decay)

    def rule(p: Any, g: Any, eta: Any, t: Any, v: Any) -> tuple[Any, Any]:
        v = decay * v + g
        return p - eta * (g + decay * v), v

    return _by_rule("nesterov", rate, ("velocity",), rule)


def rmsprop(rate: float | Schedule = 0.01, decay: float = 0.99, epsilon: float = 1e-8) -> Optimiser:
    """s ← decay·s + (1 − decay)·g², p ← p − η·g / (√s + ε) (Tieleman & Hinton 2012)."""
    _fraction("rmsprop", decay=decay)

    def rule(p: Any, g: Any, eta: Any, t: Any, s: Any) -> tuple[Any, Any]:
        s = decay * s + (1.0 - decay) * (g * g)
        return p - eta * (g / (np.sqrt(s) + epsilon)), s

    return _by_rule("rmsprop", rate, ("square",), rule)


def adam(
    rate: float | Schedule = 0.001,
    first: float = 0.9,
    second: float = 0.999,
    epsilon: float = 1e-8,
) -> Optimiser:
    """m, s ← means of g and g², p ← p − η·m̂ / (√ŝ + ε), hats: freed of bias (Kingma & Ba 2015)."""
    return _adam("adam", rate, first, second, epsilon, 0.0)


def adamw(
    rate: float | Schedule = 0.001,
    first: float = 0.9,
    second: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.01,
) -> Optimiser:
    """`adam`, after p ← p − η·weight_decay·p (Loshchilov & Hutter 2019).

    The decay is scaled by the rate, as in PyTorch; the paper scales it by the schedule alone.
    """
    return _adam("adamw", rate, first, second, epsilon, weight_decay)


def clipped(
    optimiser: Optimiser, norm: float | None = None, value: float | None = None
) -> Optimiser:
    """The optimiser on gradients cut to ±value, then scaled down to this Euclidean norm at most.

    The norm is that of all gradients together.  A longer gradient gets exactly this norm; PyTorch's
    clip_grad_norm_ adds 1e-6 to the norm it divides by.
    """
    for key, bound in (("norm", norm), ("value", value)):
        if bound is not None and not bound > 0:
            raise cr.ArgumentError(f"clipped({key}={bound!r}): must be positive, or None")

    def update(parameters: Any, gradient: Any, state: State) -> tuple[Any, State]:
        if value is not None:
            gradient = tree.map(lambda g: np.clip(g, -value, value), gradient)
        if norm is not None:
            squares = [np.sum(_cast(g, np.float64) ** 2) for g in tree.leaves(gradient)]
            scale = norm / np.maximum(np.sqrt(sum(squares[1:], squares[0])), norm)
            gradient = tree.map(lambda g: g * _cast(scale, g.dtype), gradient)
        return optimiser.update(parameters, gradient, state)

    return Optimiser(f"clipped {optimiser.name}", optimiser.init, update)


def accumulated(optimiser: Optimiser, every: int) -> Optimiser:
    """The optimiser on the mean of `every` gradients: its update is made each `every` calls.

    Between these the parameters stay as they are.  Both are computed in every call and one is
    chosen, so a compiled step has one path.
    """
    if not isinstance(every, int | np.integer) or every < 1:
        raise cr.ArgumentError(f"accumulated(every={every!r}): must be a whole number, 1 or more")

    def init(parameters: Any) -> State:
        zeros = tree.map(_zeros, parameters)
        return {"step": np.zeros(()), "gradient": zeros, "inner": optimiser.init(parameters)}

    def update(parameters: Any, gradient: Any, state: State) -> tuple[Any, State]:
        total = tree.map(lambda s, g: s + g, state["gradient"], gradient)
        mean = tree.map(lambda s: s / float(every), total)
        due = np.equal(np.remainder(state["step"] + 1.0, float(every)), 0.0)
        new = optimiser.update(parameters, mean, state["inner"])
        old = parameters, state["inner"]
        parameters, inner = tree.map(lambda n, o: np.where(due, n, o), new, old)
        left = tree.map(lambda s: np.where(due, np.zeros((), s.dtype), s), total)
        return parameters, {"step": state["step"] + 1.0, "gradient": left, "inner": inner}

    return Optimiser(f"accumulated {optimiser.name}", init, update)


# -- how they are made -----------------------------------------------------------------------------


def _adam(
    name: str,
    rate: float | Schedule,
    first: float,
    second: float,
    epsilon: float,
    weight_decay: float,
) -> Optimiser:
    _fraction(name, first=first, second=second)

    def rule(p: Any, g: Any, eta: Any, t: Any, m: Any, s: Any) -> tuple[Any, Any, Any]:
        m = first * m + (1.0 - first) * g
        s = second * s + (1.0 - second) * (g * g)
        size = _cast(eta / (1.0 - first ** (t + 1.0)), p.dtype)
        root = _cast(np.sqrt(1.0 - second ** (t + 1.0)), p.dtype)
        if weight_decay:
            p = p - (eta * weight_decay) * p
        return p - size * (m / (np.sqrt(s) / root + epsilon)), m, s

    return _by_rule(name, rate, ("mean", "square"), rule)


def _by_rule(name: str, rate: float | Schedule, moments: tuple[str, ...], rule: Rule) -> Optimiser:
    """An optimiser that treats every array alike."""
    schedule = rate if callable(rate) else _given_rate(name, rate)

    def init(parameters: Any) -> State:
        leaves, structure = tree.flatten(parameters)
        _check_floating(name, leaves, structure)
        zeros = [structure.unflatten(map(_zeros, leaves)) for _ in moments]
        return {"step": np.zeros(()), **dict(zip(moments, zeros, strict=True))}

    def update(parameters: Any, gradient: Any, state: State) -> tuple[Any, State]:
        leaves, structure = tree.flatten(parameters)
        trees = [gradient, *(state[moment] for moment in moments)]
        whats = ("gradient", *moments)
        columns = [
            structure.leaves_of(given, f"{name}: {what}")
            for what, given in zip(whats, trees, strict=True)
        ]
        leaves = [_array(p) for p in leaves]
        _check_shapes(name, leaves, columns[0], structure)
        t = state["step"]
        eta = schedule(t)
        rows = [
            rule(p, g, _cast(eta, p.dtype), t, *rest)
            for p, g, *rest in zip(leaves, *columns, strict=True)
        ]
        parameters, *rest = (structure.unflatten(column) for column in zip(*rows, strict=True))
        return parameters, {"step": t + 1.0, **dict(zip(moments, rest, strict=True))}

    return Optimiser(name, init, update)


def _given_rate(name: str, rate: Any) -> Schedule:
    if not isinstance(rate, int | float | np.number) or not 0 <= rate < np.inf:
        raise cr.ArgumentError(
            f"{name}(rate={rate!r}): must be a number, not negative, or a schedule: a function of "
            "the step number, as chainrule.learn.cosine(0.1, steps=1000)"
        )
    return constant(float(rate))


def _fraction(name: str, **numbers: float) -> None:
    for key, value in numbers.items():
        if not 0 <= value < 1:
            raise cr.ArgumentError(f"{name}({key}={value!r}): must be at least 0 and less than 1")


def _check_floating(name: str, leaves: list[Any], structure: tree.Structure) -> None:
    if not leaves:
        raise cr.ArgumentError(f"{name}: there are no parameters")
    for leaf, at in zip(leaves, structure.paths, strict=True):
        if _array(leaf).dtype.kind != "f":
            raise cr.DTypeError(
                f"{name}: parameters{at} is {_array(leaf).dtype}; parameters are floating arrays, "
                "other things are arguments of the loss"
            )


def _check_shapes(
    name: str, leaves: list[Any], found: list[Any], structure: tree.Structure
) -> None:
    for i, (p, g) in enumerate(zip(leaves, found, strict=True)):
        if p.shape != np.shape(g):
            raise cr.ShapeError(
                f"{name}: gradient{structure.paths[i]} is {np.shape(g)}, the parameter {p.shape}"
            )


def _array(x: Any) -> Any:
    return x if hasattr(x, "dtype") else np.asarray(x)


def _zeros(x: Any) -> np.ndarray:
    """Like x, in memory of their own: x may lie in a file."""
    return np.zeros(np.shape(x), _array(x).dtype)


def _cast(x: Any, dtype: Any) -> Any:
    """x in the type of an array it is computed with; a Python float takes it by itself."""
    return x.astype(dtype) if hasattr(x, "dtype") else x

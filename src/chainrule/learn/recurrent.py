"""Layers that walk along a sequence with a state: LSTM and GRU."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from chainrule.learn.initialise import Initialiser, drawn, glorot, orthogonal, taken


def init_lstm(
    rng: np.random.Generator,
    inputs: int,
    units: int,
    initialiser: Initialiser = glorot,
    recurrent: Initialiser = orthogonal,
    dtype: Any = np.float64,
) -> dict[str, np.ndarray]:
    """{"input": (inputs, 4·units), "recurrent": (units, 4·units), "bias": (4·units,)}.

    The gates are input, forget, candidate, output, in this order; the forget gate's bias is 1.
    """
    bias = np.zeros(4 * units, dtype)
    bias[units : 2 * units] = 1.0
    return {
        "input": _side_by_side(4, initialiser, rng, (inputs, units), dtype),
        "recurrent": _side_by_side(4, recurrent, rng, (units, units), dtype),
        "bias": bias,
    }


def lstm(params: Any, x: Any, state: Any = None) -> tuple[Any, tuple[Any, Any]]:
    """x (…, times, inputs) → the outputs (…, times, units) and the last state (h, c).

    i, f, o = σ(…), g = tanh(…), c ← f·c + i·g, h ← o·tanh(c) (Hochreiter & Schmidhuber 1997, Gers
    et al. 2000).  A state that is not given is 0.
    """
    given, own, bias = taken("lstm", params, "input", "recurrent", "bias")
    units = own.shape[0]
    h, c = _first_state("lstm", given, own, x, state, 2)
    outputs = []
    for t in range(np.shape(x)[-2]):
        i, f, g, o = _gates(_from_input(x, t, given, bias) + h @ own, units)
        c = cr.expit(f) * c + cr.expit(i) * np.tanh(g)
        h = cr.expit(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs, axis=-2), (h, c)


def init_gru(
    rng: np.random.Generator,
    inputs: int,
    units: int,
    initialiser: Initialiser = glorot,
    recurrent: Initialiser = orthogonal,
    dtype: Any = np.float64,
) -> dict[str, np.ndarray]:
    """{"input": (inputs, 3·units), "recurrent": (units, 3·units), "bias", "recurrent_bias"}.

    The gates are reset, update, candidate, in this order.
    """
    return {
        "input": _side_by_side(3, initialiser, rng, (inputs, units), dtype),
        "recurrent": _side_by_side(3, recurrent, rng, (units, units), dtype),
        "bias": np.zeros(3 * units, dtype),
        "recurrent_bias": np.zeros(3 * units, dtype),
    }


def gru(params: Any, x: Any, state: Any = None) -> tuple[Any, Any]:
    """x (…, times, inputs) → the outputs (…, times, units) and the last of them.

    r, z = σ(…), n = tanh(a + r·b), h ← (1 − z)·n + z·h, with a from x and b from h (Cho et al.
    2014; the reset gate is applied after the product, as in PyTorch).
    """
    names = "input", "recurrent", "bias", "recurrent_bias"
    given, own, bias, own_bias = taken("gru", params, *names)
    units = own.shape[0]
    (h,) = _first_state("gru", given, own, x, None if state is None else (state,), 1)
    outputs = []
    for t in range(np.shape(x)[-2]):
        r, z, a = _gates(_from_input(x, t, given, bias), units)
        own_r, own_z, b = _gates(h @ own + own_bias, units)
        r, z = cr.expit(r + own_r), cr.expit(z + own_z)
        h = (1.0 - z) * np.tanh(a + r * b) + z * h
        outputs.append(h)
    return np.stack(outputs, axis=-2), h


def _side_by_side(
    gates: int, draw: Initialiser, rng: np.random.Generator, shape: tuple[int, int], dtype: Any
) -> np.ndarray:
    """The weights of the gates; each gate's are drawn on their own."""
    return np.concatenate([drawn(draw, rng, shape, dtype) for _ in range(gates)], axis=1)


def _gates(x: Any, units: int) -> list[Any]:
    return [x[..., at : at + units] for at in range(0, np.shape(x)[-1], units)]


def _from_input(x: Any, t: int, weights: Any, bias: Any) -> Any:
    """What the inputs add to the gates at a time.

    One product for all times would be cut into T pieces, and the adjoint of each is as long as the
    whole: the gradient would take T² time.
    """
    return x[..., t, :] @ weights + bias


def _first_state(name: str, given: Any, own: Any, x: Any, state: Any, count: int) -> Any:
    """The state given, or 0."""
    shape, inputs = tuple(np.shape(x)), given.shape[0]
    if len(shape) < 2 or shape[-1] != inputs or not shape[-2]:
        raise cr.ShapeError(
            f"{name} of {shape}: x must be (…, times, inputs) with {inputs} inputs and a time"
        )
    h = (*shape[:-2], own.shape[0])
    if state is None:
        state = (np.zeros(h, own.dtype),) * count
    for part in state:
        if tuple(np.shape(part)) != h:
            raise cr.ShapeError(f"{name} of {shape}: a state is {h}, got {tuple(np.shape(part))}")
    return state

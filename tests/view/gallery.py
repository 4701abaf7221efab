"""Graphs worth looking at, each as a run with its adjoints; also those of the documentation.

python -m tests.view.gallery FOLDER    writes a picture of each
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chainrule as cr
from chainrule.diff.run import Run, recorded_run


def product_of_a_sum(x, y, z):
    q = x + y
    f = q * z
    return f  # noqa: RET504 - the picture shows the name


def shared(x):
    a = x**2
    b = np.exp(a)
    c = a + b
    d = np.sqrt(c)
    e = np.cos(c)
    f = d + e
    return f  # noqa: RET504 - the picture shows the name


def two_ways(x, y):
    f = x * y
    g = x + np.sin(f)
    h = f * y
    T = g * h
    return T  # noqa: RET504 - the picture shows the name


def gates(x, y):
    m = np.maximum(x, y)
    s = m + x
    return s * np.floor(y) + np.maximum(s, 10.0)


def softmax_regression(W, b, x, label):
    z = W @ x + b
    p = cr.log_softmax(z)
    loss = -np.sum(p * label)
    r = np.sum(W**2)
    J = loss + 0.1 * r
    return J  # noqa: RET504 - the picture shows the name


def hidden_layer(W, b, V, c, x):
    z = W @ x + b
    h = np.tanh(z)
    scores = V @ h + c
    q = cr.log_softmax(scores)
    o = -q[1]
    return o  # noqa: RET504 - the picture shows the name


def lstm_step(W, U, b, x, h, c):
    gate = W @ x + U @ h + b
    i = cr.sigmoid(gate[0:3])
    f = cr.sigmoid(gate[3:6])
    o = cr.sigmoid(gate[6:9])
    g = np.tanh(gate[9:12])
    cell = f * c + i * g
    out = o * np.tanh(cell)
    return np.sum(out**2)


def normed(x, scale):
    mean = np.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale


def attention(x, Q, K, V):
    q = x @ Q
    k = x @ K
    v = x @ V
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = cr.softmax(scores)
    return weights @ v


def transformer_block(x, p):
    a = x + attention(normed(x, p["s1"]), p["Q"], p["K"], p["V"]) @ p["O"]
    hidden = cr.relu(normed(a, p["s2"]) @ p["W1"])
    y = a + hidden @ p["W2"]
    return np.mean(y**2)


def lstm_unrolled(W, U, b, xs):
    h = np.zeros(3)
    c = np.zeros(3)
    for x in xs:
        gate = W @ x + U @ h + b
        i, f, o = (cr.sigmoid(gate[3 * k : 3 * k + 3]) for k in range(3))
        c = f * c + i * np.tanh(gate[9:12])
        h = o * np.tanh(c)
    return np.sum(h**2)


def trouble(x, y):
    r = np.sqrt(x)
    s = np.log(y)
    return r * s + np.floor(x) + np.maximum(x, 0.0)


def chain_of_shared(x):
    for _ in range(4):
        x = x * np.sin(x)
    return x


def _drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).round(2)


def _block() -> dict[str, np.ndarray]:
    shapes = {"Q": (4, 4), "K": (4, 4), "V": (4, 4), "O": (4, 4), "W1": (4, 8), "W2": (8, 4)}
    return {"s1": np.ones(4), "s2": np.ones(4)} | {k: _drawn(*s) for k, s in shapes.items()}


W = np.array([[0.2, -0.1, 0.4, 0.3], [0.1, 0.6, -0.3, 0.5], [-0.2, 0.3, 0.1, -0.4]])
FEATURES = np.array([1.0, 0.5, -1.0, 2.0])

PROGRAMS: dict[str, tuple[Callable[..., object], tuple[object, ...]]] = {
    "product": (product_of_a_sum, (-2.0, 5.0, -4.0)),
    "shared": (shared, (0.8,)),
    "two-ways": (two_ways, (2.0, 3.0)),
    "chain": (chain_of_shared, (1.9,)),
    "gates": (gates, (4.0, 2.5)),
    "softmax": (softmax_regression, (W, np.array([0.1, -0.2, 0.3]), FEATURES, np.eye(3)[1])),
    "network": (
        hidden_layer,
        (_drawn(4, 3), _drawn(4), _drawn(2, 4), _drawn(2), np.array([1.0, -0.5, 2.0])),
    ),
    "lstm": (
        lstm_step,
        (_drawn(12, 2), _drawn(12, 3), _drawn(12), _drawn(2), _drawn(3), _drawn(3)),
    ),
    "transformer": (transformer_block, (_drawn(5, 4), _block())),
    "unrolled": (lstm_unrolled, (_drawn(12, 2), _drawn(12, 3), _drawn(12), _drawn(4, 2))),
    "trouble": (trouble, (0.0, 2.0)),
}


def ran(name: str) -> Run:
    """One of the programs, run forward and backward."""
    function, arguments = PROGRAMS[name]
    with np.errstate(all="ignore"):
        return recorded_run(function, *arguments).backward()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for program in PROGRAMS:
        (folder / f"{program}.svg").write_text(ran(program).to_svg(), encoding="utf-8")
    (folder / "dark.svg").write_text(ran("two-ways").to_svg(theme="dark"), encoding="utf-8")
    block = ran("transformer")
    for level in ("function", "line"):
        picture = block.to_svg(level=level)
        (folder / f"transformer-{level}.svg").write_text(picture, encoding="utf-8")

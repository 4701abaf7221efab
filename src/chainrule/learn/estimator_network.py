"""The network inside of the estimators: linear layers, its loss, and epochs of mini-batch steps.

Nothing here knows scikit-learn.  Parameters are a list of `init_linear`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from chainrule import NonFiniteLoss, log_softmax, sigmoid
from chainrule.learn.initialise import glorot, he
from chainrule.learn.layers import init_linear, linear
from chainrule.learn.optimisers import Optimiser, adam, momentum
from chainrule.learn.step import make_step

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "logistic": sigmoid,
    "identity": lambda x: x,
}
OPTIMISERS: dict[str, Callable[[float], Optimiser]] = {"adam": adam, "momentum": momentum}
# Compiling a step takes 0.3 to 0.7 s and saves about 1 ms of each: it pays from here on.
STEPS_THAT_PAY = 500


class Network(NamedTuple):
    """What a network is apart from its parameters; equal ones share their compiled steps."""

    hidden: tuple[int, ...]
    activation: str
    classifies: bool
    bias: bool = True

    def init(self, rng: np.random.Generator, inputs: int, outputs: int, dtype: Any) -> list[Any]:
        """First parameters: He's below relu, Glorot's elsewhere."""
        widths = (inputs, *self.hidden, outputs)
        below_relu = len(self.hidden) if self.activation == "relu" else 0
        return [
            init_linear(rng, a, b, self.bias, he if i < below_relu else glorot, dtype)
            for i, (a, b) in enumerate(pairwise(widths))
        ]

    def outputs(self, parameters: Any, x: Any) -> Any:
        """Scores of the classes, or predicted numbers: (rows, outputs).  x may be sparse."""
        for layer in parameters[:-1]:
            x = ACTIVATIONS[self.activation](linear(layer, x))
        return linear(parameters[-1], x)

    def loss(self, parameters: Any, x: Any, targets: Any, weights: Any, decay: Any) -> Any:
        """Σ weights · (cross-entropy, or mean squared error, of a row) + decay · Σ weights²."""
        found = self.outputs(parameters, x)
        if self.classifies:
            each = -np.take_along_axis(log_softmax(found, axis=-1), targets, axis=-1)[:, 0]
        else:
            each = np.mean(np.square(found - targets), axis=-1)
        squares = [np.sum(np.square(layer["weights"])) for layer in parameters]
        return np.sum(weights * each) + decay * sum(squares[1:], squares[0])


class Examples(NamedTuple):
    """Rows (an array or CSR), targets (rows, 1) or (rows, outputs), and weights of mean 1."""

    x: Any
    targets: np.ndarray
    weights: np.ndarray

    def take(self, rows: Any) -> Examples:
        return Examples(self.x[rows], self.targets[rows], self.weights[rows])


class Settings(NamedTuple):
    """How a network is trained."""

    optimiser: str
    rate: float
    alpha: float
    size: int
    compile: bool


@lru_cache(maxsize=64)
def step_of(
    network: Network, optimiser: str, rate: float, compile: bool, *signature: Any
) -> Callable[..., Any]:
    """The step of training; kept, so that a grid search compiles once per signature of a batch."""
    return make_step(network.loss, OPTIMISERS[optimiser](rate), compile=compile)


def pays(compile: bool | str, steps: int) -> bool:
    """Whether to compile for so many steps; "auto" weighs compiling against what it saves."""
    if find_spec("llvmlite") is None:
        return False
    return steps >= STEPS_THAT_PAY if compile == "auto" else bool(compile)


def epochs(
    network: Network,
    parameters: Any,
    state: Any,
    examples: Examples,
    settings: Settings,
    rng: np.random.Generator,
) -> Iterator[tuple[Any, Any, float]]:
    """Parameters, state and mean loss after each epoch, without end.

    A step writes into the memory of what it was given: copy what is to be kept.
    """
    dtype = examples.weights.dtype.type
    signature = settings.size, examples.x.shape[1:], examples.targets.shape[1:], dtype.__name__
    step = step_of(network, settings.optimiser, settings.rate, settings.compile, *signature)
    count = len(examples.weights)
    decay = dtype(settings.alpha / 2)
    while True:
        order, total = rng.permutation(count), 0.0
        for start in range(0, count, settings.size):
            rows = order[start : start + settings.size]
            batch = _batch(examples, rows, settings.size)
            parameters, state, value = step(parameters, state, *batch, decay)
            total += float(value) * len(rows)
        if not np.isfinite(total):
            raise NonFiniteLoss(
                f"the loss became {total}: scale the columns of X, as by StandardScaler, or lower "
                f"learning_rate_init={settings.rate}",
                parameters,
            )
        yield parameters, state, total / count


def _batch(examples: Examples, rows: np.ndarray, size: int) -> tuple[Any, Any, Any]:
    """The rows of a batch, dense.

    The last one of an epoch is filled up with rows of weight 0: one shape, compiled once.
    """
    x, targets, weights = examples.take(np.resize(rows, size))
    weights = weights / weights.dtype.type(len(rows))
    weights[len(rows) :] = 0.0
    return x if isinstance(x, np.ndarray) else x.toarray(), targets, weights

"""One step of training as a pure function of parameters, state and batch."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

import chainrule as cr
from chainrule.learn.optimisers import Optimiser


class Scale(Protocol):
    """An engine of `chainrule.scale`, as a training run uses it.

    `first` is whether this process writes and shows; `together`, whether others run the same
    program.
    """

    first: bool
    together: bool

    def train_step(
        self, loss: Callable[..., Any], optimiser: Optimiser, compile: bool, keyed: bool
    ) -> Callable[..., tuple[Any, Any, Any]]: ...

    def agreed(self, value: Any) -> Any: ...


class Alone:
    """This process, where no engine is given."""

    first = True
    together = False

    def train_step(
        self, loss: Callable[..., Any], optimiser: Optimiser, compile: bool, keyed: bool
    ) -> Callable[..., tuple[Any, Any, Any]]:
        return make_step(loss, optimiser, compile=compile)

    def agreed(self, value: Any) -> Any:
        return value


def make_step(
    loss: Callable[..., Any], optimiser: Optimiser, compile: bool = True, has_aux: bool = False
) -> Callable[..., tuple[Any, Any, Any]]:
    """`step(parameters, state, *batch)` → (parameters, state, value) of `loss(parameters, *batch)`.

    It is compiled, gradient and update in one, with the parameters and the state donated: their
    memory takes the results of the call after.  So go on with what a step returns, and copy what
    you want to keep.  Without llvmlite, or with `compile=False`, it is interpreted and changes no
    array.

    A compiled step is recorded once for each shape of a batch.  With `has_aux` the loss returns
    (value, aux), as running statistics, and so does the step in the place of the value.
    """
    if not isinstance(optimiser, Optimiser):
        raise cr.ArgumentError(
            f"make_step takes an optimiser, as chainrule.learn.adam(0.001), not {optimiser!r}"
        )
    value_and_grad = cr.value_and_grad(loss, has_aux=has_aux)

    def step(parameters: Any, state: Any, *batch: Any) -> tuple[Any, Any, Any]:
        value, gradient = value_and_grad(parameters, *batch)
        parameters, state = optimiser.update(parameters, gradient, state)
        return parameters, state, value

    if not compile or find_spec("llvmlite") is None:
        return step
    return cr.compile(step, donate=(0, 1))

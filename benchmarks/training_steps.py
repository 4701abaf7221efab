"""W3, training steps: loss, gradient and SGD update of a softmax regression and two networks.

The hidden layers are tanh: of a million rectified units in float32 a few change sides with the
order of summation, which moves gradients by 0.6 % and would blind the check of the results.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.case import FASTEST, PRIMAL, Case, Table, Target, Work
from benchmarks.harness import LIMIT, Options, time_cases
from benchmarks.peers import Bound

TITLE = "Training steps (W3): loss, gradient and SGD update, float32"

RATE = 0.1
MODELS = {
    "softmax regression": (784, 10),
    "MLP 784-256-10": (784, 256, 10),
    "MLP 784-1024-1024-10": (784, 1024, 1024, 10),
}
BATCHES = (32, 128, 1024)
SHOWN = 1000  # entries of each parameter that are compared


def initial(widths: tuple[int, ...]) -> list[np.ndarray]:
    """Weights and biases, alternating; new arrays at each call, since steps write over them."""
    rng = np.random.default_rng(0)
    parameters = []
    for fan_in, fan_out in pairwise(widths):
        weights = rng.normal(size=(fan_in, fan_out)) / np.sqrt(fan_in)
        parameters += [weights.astype(np.float32), np.zeros(fan_out, np.float32)]
    return parameters


@cache
def batch(slot: int, size: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of one ring slot."""
    rng = np.random.default_rng(slot)
    images = rng.normal(size=(size, features)).astype(np.float32)  # standardised
    return images, rng.integers(classes, size=size)


class State:
    """Parameters that every step replaces; `shown` is how far they have moved."""

    def __init__(self, widths: tuple[int, ...], convert: Callable = lambda array: array):
        self.widths, self.convert = widths, convert
        self.start = initial(widths)

    def reset(self) -> None:
        """Back to the start."""
        self.parameters = [self.convert(array) for array in initial(self.widths)]

    def shown(self) -> list[np.ndarray]:
        """Differences from the start, of entries spread over each parameter."""
        moved = []
        for now, start in zip(self.parameters, self.start, strict=True):
            stride = max(1, start.size // SHOWN)
            moved.append((np.asarray(now) - start).ravel()[::stride])
        return moved


def stateful(prepare: Callable, step: Callable, state: State) -> Bound:
    """A step bound to its state: step(parameters, images, labels) -> (loss, parameters)."""

    def call(inputs: tuple) -> Any:
        loss, state.parameters = step(state.parameters, *inputs)
        return loss

    return Bound(prepare, call, lambda loss: [np.asarray(loss), *state.shown()], state.reset)


# -- ours ------------------------------------------------------------------------------------------


def loss_of(parameters: Any, images: Any, labels: Any) -> Any:
    """Mean cross-entropy of a network with tanh layers."""
    from chainrule import logsumexp

    h = images
    for k in range(0, len(parameters) - 2, 2):
        h = np.tanh(h @ parameters[k] + parameters[k + 1])
    z = h @ parameters[-2] + parameters[-1]
    return np.mean(logsumexp(z, 1) - z[np.arange(len(labels)), labels])


def step_of(cr: Any) -> Callable:
    """One step of gradient descent, as a user writes it."""

    def step(parameters: Any, images: Any, labels: Any) -> tuple:
        loss, gradients = cr.value_and_grad(loss_of)(parameters, images, labels)
        return loss, [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    return step


def ours(widths: tuple[int, ...]) -> Bound:
    """The whole step compiled; the old parameters are donated, so that the new take their place."""
    import chainrule as cr

    fast = compiled.compiled(step_of(cr), donate=0)
    return stateful(lambda inputs: inputs, fast, State(widths))


def our_primal(widths: tuple[int, ...]) -> Bound:
    """The compiled loss alone."""
    parameters = initial(widths)
    fast = compiled.compiled(loss_of)
    return Bound(
        lambda inputs: inputs,
        lambda inputs: fast(parameters, *inputs),
        lambda loss: [np.asarray(loss)],
    )


# -- peers -----------------------------------------------------------------------------------------


def by_hand(widths: tuple[int, ...]) -> Bound:
    """Backpropagation in NumPy, with the parameters updated in place."""

    def step(parameters: list, images: np.ndarray, labels: np.ndarray) -> tuple:
        hidden = [images]
        for k in range(0, len(parameters) - 2, 2):
            h = hidden[-1] @ parameters[k]
            h += parameters[k + 1]
            hidden.append(np.tanh(h, out=h))
        z = hidden[-1] @ parameters[-2]
        z += parameters[-1]
        rows = np.arange(len(labels))
        z -= z.max(1, keepdims=True)
        truth = z[rows, labels]
        np.exp(z, out=z)
        sums = z.sum(1, keepdims=True)
        loss = np.mean(np.log(sums[:, 0]) - truth)
        z /= sums
        z[rows, labels] -= 1
        z *= np.float32(RATE / len(labels))  # the rate is in the adjoint from here on
        for k in range(len(parameters) - 2, -1, -2):
            weights, bias, h = parameters[k], parameters[k + 1], hidden.pop()
            below = z @ weights.T if k else None
            weights -= h.T @ z
            bias -= z.sum(0)
            if below is not None:
                np.multiply(h, h, out=h)
                below *= np.subtract(1, h, out=h)
                z = below
        return loss, parameters

    return stateful(lambda inputs: inputs, step, State(widths))


def _torch_loss(torch: Any) -> Callable:
    functional = torch.nn.functional

    def loss(parameters: list, images: Any, labels: Any) -> Any:
        h = images
        for k in range(0, len(parameters) - 2, 2):
            h = torch.tanh(torch.addmm(parameters[k + 1], h, parameters[k]))
        return functional.cross_entropy(torch.addmm(parameters[-1], h, parameters[-2]), labels)

    return loss


def torch_eager(widths: tuple[int, ...]) -> Bound:
    """`torch.autograd.grad`, then one fused update in place."""
    torch = compiled.torch_setup()
    loss_function = _torch_loss(torch)

    def step(parameters: list, images: Any, labels: Any) -> tuple:
        loss = loss_function(parameters, images, labels)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-RATE)
        return loss.detach(), parameters

    return _torch_step(torch, step, State(widths, lambda x: torch.tensor(x, requires_grad=True)))


def torch_compiled(widths: tuple[int, ...]) -> Bound:
    """The whole step in one `torch.compile`, the update in place."""
    torch = compiled.torch_setup()
    differentiate = torch.func.grad_and_value(_torch_loss(torch))

    @torch.compile(dynamic=False)
    def step(parameters: list, images: Any, labels: Any) -> tuple:
        gradients, loss = differentiate(parameters, images, labels)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(gradient, alpha=RATE)
        return loss, parameters

    return _torch_step(torch, step, State(widths, lambda x: torch.tensor(x)))


def _torch_step(torch: Any, step: Callable, state: State) -> Bound:
    bound = stateful(compiled.Converted(lambda x: torch.tensor(x)), step, state)

    def read(loss: Any) -> list:
        with torch.no_grad():
            state.parameters, kept = [p.detach() for p in state.parameters], state.parameters
            shown = bound.read(loss)
            state.parameters = kept
        return shown

    return bound._replace(read=read)


def jax_jit(widths: tuple[int, ...]) -> Bound:
    """`jax.jit` of the whole step, with the parameters donated."""
    import jax

    jnp = jax.numpy

    def loss(parameters: list, images: Any, labels: Any) -> Any:
        h = images
        for k in range(0, len(parameters) - 2, 2):
            h = jnp.tanh(h @ parameters[k] + parameters[k + 1])
        z = h @ parameters[-2] + parameters[-1]
        truth = jnp.take_along_axis(z, labels[:, None], 1)[:, 0]
        return jnp.mean(jax.scipy.special.logsumexp(z, 1) - truth)

    def step(parameters: list, images: Any, labels: Any) -> tuple:
        value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
        return value, [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    fast = jax.jit(step, donate_argnums=0)
    prepare = compiled.Converted(jnp.asarray)
    wait = jax.block_until_ready
    return stateful(prepare, lambda *inputs: wait(fast(*inputs)), State(widths, jnp.array))


# -- the cases -------------------------------------------------------------------------------------


def work(widths: tuple[int, ...], size: int) -> Work:
    """Three products a layer, but no adjoint of the images; parameters read twice, written once."""
    products = sum(a * b for a, b in pairwise(widths))
    flops = 6.0 * size * products - 2.0 * size * widths[0] * widths[1]
    count = products + sum(widths[1:])
    return Work(flops=flops, bytes=12.0 * count, footprint=8.0 * count)


def case(model: str, size: int) -> Case:
    """One model at one batch size."""
    widths = MODELS[model]
    ways = {
        "numpy.hand": lambda: by_hand(widths),
        "torch.eager": lambda: torch_eager(widths),
        "torch.compile": lambda: torch_compiled(widths),
        "jax.jit": lambda: jax_jit(widths),
        "chainrule.compile": lambda: ours(widths),
        PRIMAL: lambda: our_primal(widths),
    }
    return Case(
        f"{model}, batch {size}",
        None,
        lambda slot: batch(slot, size, widths[0], widths[-1]),
        ways=ways,
        dtype="float32",
        limits={"products": work(widths, size)},
    )


CASES = {made.name: made for made in (case(model, n) for model in MODELS for n in BATCHES)}
TARGETS = (
    *(Target(f"{model}, batch 32", FASTEST, 0.5) for model in MODELS),
    *(Target(f"{model}, batch 1024", FASTEST, 1.0) for model in MODELS),
    *(Target(f"{model}, batch 1024", LIMIT, 1.3) for model in MODELS),
)


def run(options: Options) -> list[Table]:
    """Time every model and batch; a quick run leaves out the batch between."""
    skipped = "batch 128" if options.quick else "none"
    cases = [case for name, case in CASES.items() if not name.endswith(skipped)]
    cells = time_cases("training_steps", [[case] for case in cases], options, 1e3)
    return [Table("Time of one step", "µs", cells, TARGETS, FASTEST, ratios=True)]

"""W5, networks: value and gradient of a small convolutional network and of an attention block.

The convolutional network is smooth (tanh, mean pooling): in float32 some rectified units and some
maxima change sides with the order of summation, which would blind the check of the results.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.case import FASTEST, Case, Table, Target, Work
from benchmarks.harness import Options, time_cases

TITLE = "Networks (W5): value and gradient, float32"

BATCHES = (8, 32)
SIDE, CLASSES = 28, 10
TOKENS, WIDTH, HEADS = 128, 128, 4
EPSILON = 1e-5


def draw(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal numbers in float32."""
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


# -- convolutional network: conv 16@3, pool, conv 32@3, pool, dense --------------------------------


def cnn_parameters(slot: int) -> list[np.ndarray]:
    """Kernels (out, in, 3, 3) and the dense layer, each with its bias."""
    seed = 10 * (slot + 1)
    return [
        draw(seed, 16, 1, 3, 3, scale=0.3),
        draw(seed + 1, 16, 1, 1, scale=0.1),
        draw(seed + 2, 32, 16, 3, 3, scale=0.1),
        draw(seed + 3, 32, 1, 1, scale=0.1),
        draw(seed + 4, 32 * (SIDE // 4) ** 2, CLASSES, scale=0.03),
        draw(seed + 5, CLASSES, scale=0.1),
    ]


def cnn(parameters: Any, images: Any, labels: Any) -> Any:
    """Mean cross-entropy."""
    import chainrule as cr

    first, first_bias, second, second_bias, dense, bias = parameters
    h = cr.avg_pool(np.tanh(cr.conv(images, first, padding="same") + first_bias), 2)
    h = cr.avg_pool(np.tanh(cr.conv(h, second, padding="same") + second_bias), 2)
    z = h.reshape(len(labels), -1) @ dense + bias
    return np.mean(cr.logsumexp(z, 1) - z[np.arange(len(labels)), labels])


def cnn_in_jax(jax: Any) -> Callable:
    """The same with channels last, which XLA runs faster (9.5 and 15.7 ms at batch 32)."""
    jnp = jax.numpy

    def layer(x: Any, kernel: Any, bias: Any) -> Any:
        dimensions = ("NHWC", "OIHW", "NHWC")
        x = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=dimensions
        ) + bias.reshape(-1)
        n, height, width, channels = x.shape
        return jnp.tanh(x).reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4))

    def loss(parameters: Any, images: Any, labels: Any) -> Any:
        first, first_bias, second, second_bias, dense, bias = parameters
        h = layer(images.transpose(0, 2, 3, 1), first, first_bias)
        h = layer(h, second, second_bias).transpose(0, 3, 1, 2)
        z = h.reshape(len(labels), -1) @ dense + bias
        truth = jnp.take_along_axis(z, labels[:, None], 1)[:, 0]
        return jnp.mean(jax.scipy.special.logsumexp(z, 1) - truth)

    return loss


def cnn_in_torch(torch: Any) -> Callable:
    """The same, by oneDNN's convolution."""
    functional = torch.nn.functional

    def layer(x: Any, kernel: Any, bias: Any) -> Any:
        x = functional.conv2d(x, kernel, bias.reshape(-1), padding=1)
        return functional.avg_pool2d(torch.tanh(x), 2)

    def loss(parameters: Any, images: Any, labels: Any) -> Any:
        first, first_bias, second, second_bias, dense, bias = parameters
        h = layer(layer(images, first, first_bias), second, second_bias)
        return functional.cross_entropy(h.flatten(1) @ dense + bias, labels)

    return loss


@cache
def images(batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels, the same in every slot."""
    labels = np.random.default_rng(1).integers(CLASSES, size=batch)
    return draw(0, batch, 1, SIDE, SIDE), labels


def cnn_case(batch: int) -> Case:
    """Three products a layer, but no adjoint of the images."""
    first = 2.0 * batch * SIDE**2 * 16 * 9
    second = 2.0 * batch * (SIDE // 2) ** 2 * 32 * 16 * 9
    dense = 2.0 * batch * 32 * (SIDE // 4) ** 2 * CLASSES
    return Case(
        f"CNN, batch {batch}",
        None,
        lambda slot: (cnn_parameters(slot), *images(batch)),
        ways=compiled.four_ways(cnn, cnn_in_jax, cnn_in_torch),
        dtype="float32",
        limits={"products": Work(flops=2 * first + 3 * (second + dense))},
    )


# -- attention block: norm, heads, norm, dense layers of four times the width ----------------------


def attention_parameters(slot: int) -> list[np.ndarray]:
    """Gains and shifts of the norms, and the matrices."""
    seed = 100 * (slot + 1)
    small = 1 / np.sqrt(WIDTH)
    return [
        1 + draw(seed, WIDTH, scale=0.1),
        draw(seed + 1, WIDTH, scale=0.1),
        draw(seed + 2, WIDTH, 3 * WIDTH, scale=small),
        draw(seed + 3, WIDTH, WIDTH, scale=small),
        1 + draw(seed + 4, WIDTH, scale=0.1),
        draw(seed + 5, WIDTH, scale=0.1),
        draw(seed + 6, WIDTH, 4 * WIDTH, scale=small),
        draw(seed + 7, 4 * WIDTH, scale=0.1),
        draw(seed + 8, 4 * WIDTH, WIDTH, scale=small / 2),
        draw(seed + 9, WIDTH, scale=0.1),
    ]


def norm(x: Any, gain: Any, shift: Any) -> Any:
    """Layer norm."""
    centred = x - np.mean(x, -1, keepdims=True)
    variance = np.mean(centred * centred, -1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * gain + shift


def attention(parameters: Any, x: Any, target: Any) -> Any:
    """Mean squared error of one pre-norm block of a transformer."""
    import chainrule as cr

    gain, shift, W_qkv, W_out, gain_two, shift_two, W_up, b_up, W_down, b_down = parameters
    batch, tokens, width = x.shape
    qkv = (norm(x, gain, shift) @ W_qkv).reshape(batch, tokens, 3, HEADS, width // HEADS)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) * (HEADS / width) ** 0.5
    mixed = (cr.softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, width)
    h = x + mixed @ W_out
    h = h + cr.gelu(norm(h, gain_two, shift_two) @ W_up + b_up) @ W_down + b_down
    return np.mean((h - target) ** 2)


def attention_in_jax(jax: Any) -> Callable:
    """The same for JAX."""
    jnp = jax.numpy

    def normed(x: Any, gain: Any, shift: Any) -> Any:
        mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gain + shift

    def loss(parameters: Any, x: Any, target: Any) -> Any:
        gain, shift, W_qkv, W_out, gain_two, shift_two, W_up, b_up, W_down, b_down = parameters
        batch, tokens, width = x.shape
        qkv = (normed(x, gain, shift) @ W_qkv).reshape(batch, tokens, 3, HEADS, width // HEADS)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) * (HEADS / width) ** 0.5
        mixed = (jax.nn.softmax(scores, -1) @ v).transpose(0, 2, 1, 3)
        h = x + mixed.reshape(batch, tokens, width) @ W_out
        up = normed(h, gain_two, shift_two) @ W_up + b_up
        h = h + jax.nn.gelu(up, approximate=False) @ W_down + b_down
        return jnp.mean((h - target) ** 2)

    return loss


def attention_in_torch(torch: Any) -> Callable:
    """The same with torch's own fused attention, norm and GELU."""
    functional = torch.nn.functional

    def loss(parameters: Any, x: Any, target: Any) -> Any:
        gain, shift, W_qkv, W_out, gain_two, shift_two, W_up, b_up, W_down, b_down = parameters
        batch, tokens, width = x.shape
        h = functional.layer_norm(x, (width,), gain, shift, EPSILON)
        qkv = (h @ W_qkv).reshape(batch, tokens, 3, HEADS, width // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        h = x + mixed.reshape(batch, tokens, width) @ W_out
        normed = functional.layer_norm(h, (width,), gain_two, shift_two, EPSILON)
        h = h + functional.gelu(normed @ W_up + b_up) @ W_down + b_down
        return torch.mean((h - target) ** 2)

    return loss


@cache
def tokens(batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Input and target, the same in every slot."""
    return draw(0, batch, TOKENS, WIDTH), draw(1, batch, TOKENS, WIDTH)


def attention_case(batch: int) -> Case:
    """Three times the products of the forward half."""
    dense, pairs = 24.0 * batch * TOKENS * WIDTH**2, 4.0 * batch * TOKENS**2 * WIDTH
    return Case(
        f"attention block, batch {batch}",
        None,
        lambda slot: (attention_parameters(slot), *tokens(batch)),
        ways=compiled.four_ways(attention, attention_in_jax, attention_in_torch),
        dtype="float32",
        limits={"products": Work(flops=3 * (dense + pairs))},
    )


CASES = {case.name: case for case in (*map(cnn_case, BATCHES), *map(attention_case, BATCHES))}
TARGETS = tuple(Target(name, FASTEST, 1.0) for name in CASES)


def run(options: Options) -> list[Table]:
    """Time both networks."""
    cells = time_cases("networks", [[case] for case in CASES.values()], options, 1e3)
    return [Table("Time of value and gradient", "µs", cells, TARGETS, FASTEST, ratios=True)]

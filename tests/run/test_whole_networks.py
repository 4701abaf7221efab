"""Nothing of a network is left to the interpreter: all of it and of its gradient is compiled."""

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from benchmarks import networks
from tests.run.test_table import assert_agrees
from tests.seeds import test_rows12_and_13_network as rows_12_and_13
from tests.seeds import test_rows15_to_19_gates as rows_15_to_19
from tests.seeds import test_rows23_to_25_chains as rows_23_to_25

pytest.importorskip("llvmlite")


def interpreted(fast: Any) -> list[str]:
    """The ops that a compiled function leaves to the interpreter, with the reasons."""
    every = [v for variants in fast.variants.values() for v in variants]
    assert every
    return [f"{node.op.name}: {why}" for v in every for node, why in v.program.fallbacks]


def assert_compiles_whole(f: Any, *args: Any, argnums: Any = 0) -> None:
    gradient = cr.value_and_grad(f, argnums)
    fast = cr.compile(gradient)
    found, expected = fast(*args), gradient(*args)
    assert interpreted(fast) == []
    assert_agrees(found[0], expected[0])
    several = isinstance(expected[1], (list, tuple))
    for a, b in zip(
        found[1] if several else [found[1]], expected[1] if several else [expected[1]], strict=True
    ):
        assert_agrees(a, b)


def in_double(arrays: Any) -> Any:
    return [a.astype(np.float64) for a in arrays]


def test_convolutional_network():
    parameters = in_double(networks.cnn_parameters(0))
    images, labels = networks.images(2)
    assert_compiles_whole(networks.cnn, parameters, images.astype(np.float64), labels)


def test_attention_block():
    parameters = in_double(networks.attention_parameters(0))
    x, target = in_double(networks.tokens(2))
    assert_compiles_whole(networks.attention, parameters, x, target)


def rectified(parameters: Any, images: Any, labels: Any) -> Any:
    """Strides, max pooling, groups, batch statistics."""
    first, second, dense = parameters
    h = cr.max_pool(cr.relu(cr.conv(images, first, padding=1)), 2)
    h = (h - np.mean(h, (0, 2, 3), keepdims=True)) / np.std(h, (0, 2, 3), keepdims=True)
    h = cr.relu(cr.conv(h, second, stride=2, groups=2, dilation=(1, 2), padding=((1, 0), 2)))
    z = cr.log_softmax(np.mean(h, (2, 3)) @ dense, -1)
    return -np.sum(z[np.arange(len(labels)), labels])


def test_network_of_rectified_units():
    rng = np.random.default_rng(0)
    shapes = (8, 3, 3, 3), (16, 4, 3, 3), (16, 5)
    parameters = [rng.normal(size=shape) for shape in shapes]
    images = rng.normal(size=(4, 3, 12, 12))
    assert_compiles_whole(rectified, parameters, images, np.array([0, 4, 2, 2]))


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (
            rows_12_and_13.network,
            tuple(getattr(rows_12_and_13, n) for n in ("W", "b", "V", "gamma")),
        ),
        (rows_15_to_19.worked, (3.0, -1.0, 2.0)),
        (rows_15_to_19.intermediates, (0.4,)),
        (rows_23_to_25.diamond, (0.7, 1.3)),
    ],
)
def test_models_of_the_lecture_notes(f, args):
    assert_compiles_whole(f, *args, argnums=tuple(range(len(args))))

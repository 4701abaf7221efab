"""`convolution_lanes.py`: a convolution by lane is one convolution, its gradients too."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.batching import BatchCall, Lanes, batched
from chainrule.core.op import OPS

SETTINGS: tuple[dict[str, Any], ...] = (
    {"groups": 1},
    {"groups": 2, "stride": 2, "padding": 1},
    {"groups": 4, "dilation": 2},
)


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0)], ids=str)
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_values_and_gradients_are_those_of_each_lane(
    name: str, mapped: tuple[Any, Any], settings: dict[str, Any]
) -> None:
    op, channels = OPS[name], 4 // settings["groups"]
    images = [drawn(2, 4, 7, seed=k) for k in range(3)]
    kernels = [drawn(4, channels, 3, seed=10 + k) for k in range(3)]
    whole = [
        np.stack(each) if axis == 0 else each[0]
        for each, axis in zip((images, kernels), mapped, strict=True)
    ]

    def loss(x: Any, w: Any) -> Any:
        return np.sum(np.sin(op(x, w, **settings)))

    value, slopes = cr.vmap(cr.value_and_grad(loss, argnums=(0, 1)), in_axes=mapped)(*whole)
    for k in range(3):
        lane = [v[k] if axis == 0 else v for v, axis in zip(whole, mapped, strict=True)]
        wanted, wanted_slopes = cr.value_and_grad(loss, argnums=(0, 1))(*lane)
        np.testing.assert_allclose(value[k], wanted)
        for got, slope in zip(slopes, wanted_slopes, strict=True):
            np.testing.assert_allclose(got[k], slope, atol=1e-12)


@pytest.mark.parametrize("name", ["conv", "conv_transpose", "conv_weight"])
def test_one_convolution_does_for_all_lanes(name: str) -> None:
    op = OPS[name]
    args, attrs = op.bind(op.samples()[0].args, {**op.samples()[0].attrs})
    for on in product((True, False), repeat=2):
        if not any(on):
            continue
        calls = []

        def apply(op: Any, args: Any, attrs: Any, calls: list[Any] = calls) -> Any:
            calls.append(op.name)
            return op.forward(*args, **attrs)

        given = [Lanes(np.stack([a, a])) if o else a for a, o in zip(args, on, strict=True)]
        one = op.forward(*args, **attrs)
        out, by_lane = batched(BatchCall(op, given, attrs, 2, one.shape, apply))
        assert calls == [name]
        assert not by_lane
        np.testing.assert_allclose(out, np.stack([one, one]))

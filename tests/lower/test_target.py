"""Code for another processor than this one comes of another record alone."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower import build
from chainrule.lower.target import Target

pytest.importorskip("llvmlite")


def smoothed(x, w):
    return np.sum(np.sin(x @ w) ** 2) + np.sum(np.cumsum(x, axis=0))


@pytest.mark.parametrize("registers", [16, 32])
def test_narrow_vectors(registers, monkeypatch):
    monkeypatch.setattr(build, "host", lambda: Target(registers, vector_bytes=32))
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(50, 40)), rng.normal(size=(40, 30))
    plain = cr.grad(smoothed, (0, 1))
    fast = cr.compile(plain)
    for found, expected in zip(fast(x, w), plain(x, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    text = fast.ir("llvm")
    assert "<4 x double>" in text
    assert "<8 x double>" not in text

"""What every differentiable function of `chainrule.learn` is held to."""

import numpy as np

import chainrule as cr
from chainrule.core.containers import flatten, map_leaves


def assert_sound(f, *args, interpreted=()):
    """Gradient against differences; compiled as interpreted; float32 stays float32."""
    cr.check_grads(f, *args, order=1)
    slow = cr.value_and_grad(f)
    fast = cr.compile(slow)
    found, expected = (flatten(run(*args))[0] for run in (fast, slow))
    scale = max(np.max(np.abs(e), initial=0.0) for e in expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * scale)
    lines = [line for line in fast.report().splitlines() if " interpreted " in line]
    assert {line.split()[1].rstrip(":") for line in lines} == set(interpreted)
    narrow = map_leaves(narrowed, args)
    for run in (slow, cr.compile(slow)):
        assert {np.asarray(a).dtype.name for a in flatten(run(*narrow))[0]} == {"float32"}


def narrowed(a):
    return a.astype(np.float32) if a.dtype == np.float64 else a


def weighted(y):
    """A number that depends on each element of y in its own way."""
    return np.sum(np.sin(np.arange(y.size)).reshape(y.shape).astype(y.dtype) * y)

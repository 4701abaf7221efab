"""Random numbers that are a function of an explicit key: the same key, the same numbers.

The generator is Philox-4x64-10 of Salmon, Moraes, Dror & Shaw (SC 2011), which turns a counter and
a key of 2 × 64 bits into four words that pass every test of BigCrush; NumPy has it compiled.  New
keys are words of the same key from counters that numbers never reach.

A key is an argument like any other: a compiled function with a new key gives new numbers and is not
recorded again.  These ops have no lowering; machine code calls NumPy for them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError
from chainrule.ops.define import ZERO, composite, rules

WORD = np.dtype(np.uint64)
KEY = Spec((2,), WORD)
DIGITS = {np.dtype(np.float64): 53, np.dtype(np.float32): 24}
SPLITTING = 1  # the highest word of the counter, of which a draw has 0


def key(seed: int) -> np.ndarray:
    """A key for random numbers, from a whole number; any two seeds give unrelated keys."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ArgumentError(f"cr.key({seed!r}): the seed must be a whole number, not negative")
    return np.random.SeedSequence(int(seed)).generate_state(2, np.uint64)


def _check_key(name: str, given: Any) -> None:
    if not hasattr(given, "dtype") or Spec.of(given) != KEY:
        found = Spec.of(given)
        raise DTypeError(
            f"{name} takes a key, cr.key(seed) or a row of cr.split_key(key, n), of two uint64; "
            f"got {found.dtype} of shape {found.shape}"
        )


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not all(isinstance(n, int | np.integer) and n >= 0 for n in sizes):
        raise ArgumentError(f"{name}(shape={shape!r}): must be whole numbers, not negative")
    return tuple(map(int, sizes))


def _words(key: Any, count: int, domain: int = 0) -> np.ndarray:
    """So many words of the key's own stream."""
    return np.random.Philox(key=np.asarray(key), counter=[0, 0, 0, domain]).random_raw(count)


def _bits(key: Any, shape: Any = ()) -> Any:
    _check_key("random_bits", key)
    sizes = _sizes("random_bits", shape)
    return _words(key, prod(sizes)).reshape(sizes)


def _uniform(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    spec = _uniform_spec(key, shape, dtype)
    digits = DIGITS[spec.dtype]
    words = _words(key, spec.size)
    numbers = np.right_shift(words, WORD.type(64 - digits), out=words).astype(spec.dtype)
    numbers *= 2.0**-digits
    return numbers.reshape(spec.shape)


def _uniform_spec(key: Any, shape: Any = (), dtype: Any = np.float64) -> Spec:
    _check_key("random_uniform", key)
    if np.dtype(dtype) not in DIGITS:
        raise DTypeError(f"random_uniform(dtype={dtype!r}): must be float64 or float32")
    return Spec(_sizes("random_uniform", shape), np.dtype(dtype))


def _normal(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """√(−2 log(1 − u)) · cos(2π v): the method of Box & Muller, in float64."""
    u, v = random_uniform(key, (2, *_sizes("random_normal", shape)))
    return (np.sqrt(-2.0 * np.log1p(-u)) * np.cos(2.0 * np.pi * v)).astype(dtype)


def _split(key: Any, n: int = 2) -> Any:
    spec = _split_spec(key, n)
    return _words(key, spec.size, SPLITTING).reshape(spec.shape)


def _split_spec(key: Any, n: int = 2) -> Spec:
    _check_key("split_key", key)
    (count,) = _sizes("split_key", n)
    return Spec((count, 2), WORD)


def _draws() -> list[Sample]:
    return [
        sample(key(0)), sample(key(1), shape=3), sample(key(2), shape=(2, 3)),
        sample(key(3), shape=(2, 0)),
    ]  # fmt: skip


def _floats() -> list[Sample]:
    return [*_draws(), sample(key(4), shape=(3,), dtype=np.dtype(np.float32))]


def _no_keys() -> list[Sample]:
    return [sample(np.zeros(2), shape=3), sample(np.float64(0))]


random_bits = rules(
    "random_bits",
    _bits,
    derivative=ZERO,
    inputs=("key",),
    samples=_draws,
    bad=_no_keys,
    spec=lambda key, shape=(): Spec(_sizes("random_bits", shape), WORD),
    doc="Random words of 64 bits, a function of the key.",
)
random_uniform = rules(
    "random_uniform",
    _uniform,
    derivative=ZERO,
    inputs=("key",),
    samples=_floats,
    bad=_no_keys,
    spec=_uniform_spec,
    doc="Random numbers in [0, 1), every multiple of 2⁻⁵³ (float32: 2⁻²⁴) equally likely.",
)
random_normal = composite(
    "random_normal",
    _normal,
    inputs=("key",),
    samples=_floats,
    bad=_no_keys,
    doc="Random numbers of the normal distribution with mean 0 and variance 1.",
)
split_key = rules(
    "split_key",
    _split,
    derivative=ZERO,
    inputs=("key",),
    samples=lambda: [sample(key(0)), sample(key(1), n=5), sample(key(1), n=0)],
    bad=lambda: [sample(np.zeros(2))],
    spec=_split_spec,
    doc="n new keys, a (n, 2) array: use each for one thing, and the old one for nothing more.",
)

"""Every rewrite applies to its examples, and changes no bit that it says it does not change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.core.op import OPS
from chainrule.optimise.passes import EVERY, EXACT
from chainrule.optimise.rewrite import BITS, REALS, is_elementwise
from tests.optimise.examples import EXAMPLES, NEAR_MISSES
from tests.optimise.graphs import assert_same_bits, swept, traced, values

REWRITES = {rewrite.name: rewrite for rewrite in EVERY}
CASES = [
    pytest.param(name, f, id=f"{name}-{i}")
    for name, functions in EXAMPLES.items()
    for i, f in enumerate(functions)
]
LIMITS = {
    np.float64: (1.7976931348623157e308, 2.2250738585072014e-308, 5e-324),
    np.float32: (3.4028234663852886e38, 1.1754943508222875e-38, 1.401298464324817e-45),
}


def lanes(dtype):
    """Six numbers: special ones as likely as others."""
    huge, tiny, least = LIMITS[dtype]
    special = [0.0, 1.0, 0.5, 2.0, huge, huge / 2, tiny, 3 * least, least, np.inf]
    width = np.finfo(dtype).bits
    number = st.one_of(
        st.sampled_from([*special, *(-s for s in special), np.nan]), st.floats(width=width)
    )
    return st.lists(number, min_size=6, max_size=6).map(lambda v: np.array(v, dtype))


def test_every_rewrite_has_examples():
    assert set(EXAMPLES) == {r.name for r in EVERY} - {"constant"}
    assert len(REWRITES) == len(EVERY)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "f"), CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_to_the_bit(name, f, dtype, data):
    rewrite = REWRITES[name]
    x, y = data.draw(lanes(dtype)), data.draw(lanes(dtype))
    if rewrite.exact == REALS:
        x, y = (np.clip(np.nan_to_num(v), 0.1, 9.0).astype(dtype) for v in (x, y))
    graph = traced(f, x, y)
    found = swept(graph, rewrite)
    assert found.counts[name] >= 1
    before, after = values(graph, x, y), values(found.graph, x, y)
    if rewrite.exact == BITS:
        assert_same_bits(after, before, name)
        return
    near = 1e-13 if dtype is np.float64 else 1e-5
    for a, b in zip(after, before, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_what_is_not_exact_stays(f, dtype):
    x = np.array([0.0, -0.0, np.nan, np.inf, 1e-40, -3.0], dtype)
    y = np.array([-0.0, 1.0, 2.0, -np.inf, 0.0, 5.0], dtype)
    graph = traced(f, x, y)
    rewrites = [r for r in EXACT if r.name not in ("itself", "constant")]
    found = swept(graph, *rewrites)
    assert found.counts == {}
    assert_same_bits(values(found.graph, x, y), values(graph, x, y))


@pytest.mark.parametrize(
    "f",
    [
        lambda n: (n * 1 + 0 - 0) // 3,
        lambda n: np.negative(-n) + -n,
        lambda n: n * n.dtype.type(-1 % 256),
        lambda n: n / 4,
        lambda n: -(n * 3),
        lambda n: -n * 3,
        lambda n: n * 1.0,
        lambda n: n**2,
        lambda n: np.where(n != 0, n, 0),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_integers_wrap_around_and_divide_as_before(f, dtype):
    info = np.iinfo(dtype)
    n = np.array([0, 1, 2, 7, info.max, info.min, info.max - 1], dtype)
    graph = traced(f, n)
    found = swept(graph, *EXACT, shared=True)
    assert_same_bits(values(found.graph, n), values(graph, n))


def test_complex_numbers_are_left_alone():
    z = np.array([1 + 2j, complex(np.inf, 1.0), complex(-0.0, 0.0), complex(np.nan, 0.0)])
    for f in (lambda z: z * 1, lambda z: z / 1, lambda z: -z * 2.0, lambda z: z.conj() + -z):
        graph = traced(f, z)
        found = swept(graph, *EXACT, shared=True)
        assert_same_bits(values(found.graph, z), values(graph, z))


def test_what_is_called_elementwise_broadcasts():
    for op in list(OPS.values()):
        if not is_elementwise(op):
            continue
        for s in op.samples():
            with np.errstate(all="ignore"):
                out = op.forward(*s.args, **s.attrs)
            shapes = [np.shape(a) for a in s.args]
            assert np.shape(out) == np.broadcast_shapes(*shapes), op.name

"""Arrays picked by a mask are kept whole: one program for every mask; what keeps its guard."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chainrule as cr
from chainrule.core.text import graph_text
from chainrule.optimise.masked import without_counts
from chainrule.record.specialise import Guard, specialised
from tests.optimise.graphs import assert_same_bits, values

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def written(x, y, m):
    y = y * 1.0
    y[m] = np.sin(x[m]) * y[m]
    return np.sum(y * y)


def added_to(x, y, m):
    y = y * 1.0
    y[m] += x[m] ** 2
    return np.sum(y * x)


def set_to(x, y, m):
    y = y * x
    y[m] = 2.5
    return np.sum(y * x)


def residuals(x, y, m):
    rows = np.stack([x, y, x * y], axis=-1)[m]
    left = rows @ np.array([0.5, -1.0, 2.0]) - y[m]
    return np.sum(left**2) / np.sum(m)


# Functions of two arrays and a mask, all of one shape.
EVERYWHERE = {
    "sum": lambda x, y, m: np.sum(x[m]),
    "squares": lambda x, y, m: np.sum(x[m] ** 2),
    "products": lambda x, y, m: np.sum(y[m] * x[m]),
    "method": lambda x, y, m: (x[m] * 3 - y[m]).sum(),
    "mean": lambda x, y, m: np.mean(x[m] * y[m]),
    "constant mean": lambda x, y, m: np.mean(x[m]) * np.sum(y),
    "prod": lambda x, y, m: np.prod(np.cos(cr.stop_gradient(x[m]))) * np.sum(y),
    "var": lambda x, y, m: np.var(x[m]),
    "ddof": lambda x, y, m: np.var(x[m], ddof=1),
    "norm": lambda x, y, m: np.linalg.norm(x[m]) ** 2,
    "dot": lambda x, y, m: np.dot(x[m], y[m] * y[m]),
    "logsumexp": lambda x, y, m: np.sum(y) + np.exp(cr.logsumexp(x[m])),
    "outside": lambda x, y, m: np.sum(np.log(x[m] + 5.0) * np.mean(y)),
    "dead lanes": lambda x, y, m: np.sum(np.log(np.where(m, y * y + 1.0, -1.0)[m])),
    "gates": lambda x, y, m: np.sum(np.maximum(x[m], y[m]) + np.abs(x[m])),
    "truths": lambda x, y, m: np.sum(x[m] > y[m]) * np.sum(x * y),
    "centred": lambda x, y, m: np.sum((x[m] - np.mean(y[m])) ** 2 * y[m]),
    "average": lambda x, y, m: np.average(x[m], weights=y[m] ** 2 + 1.0),
    "two masks": lambda x, y, m: np.sum(x[m] ** 2) - np.sum(y[~m] ** 3) + np.sum(x[m | (y > 0.2)]),
    "written": written,
    "added to": added_to,
    "set to": set_to,
    "column": lambda x, y, m: np.sum((x[m][:, None] * y[m].reshape(-1, 1)) ** 2),
    "residuals": residuals,
}
# NumPy raises where nothing is picked.
SOMEWHERE = {
    "max": lambda x, y, m: np.max(x[m] * 2 + y[m]),
    "min": lambda x, y, m: np.min(x[m]) * np.sum(y),
    "ptp": lambda x, y, m: np.ptp(y[m]) + x[0] ** 2,
    "std": lambda x, y, m: np.std(x[m] + y[m]),
}


def gradient(f):
    return cr.grad(lambda x, y, m: np.sum(f(x, y, m)), argnums=(0, 1))


def curvature(f):
    """The derivative of the gradient along a direction."""

    def along(x, y, m):
        a, b = gradient(f)(x, y, m)
        return np.sum(a * np.cos(np.arange(1.0, a.size + 1)).reshape(a.shape)) + np.sum(b)

    return gradient(along)


ORDERS = {"value": lambda f: f, "gradient": gradient, "curvature": curvature}


def variants(fast):
    return [v for some in fast.variants.values() for v in some]


def assert_agree(fast, f, x, y, m, note=""):
    found, expected = fast(x, y, m), f(x, y, m)
    found, expected = (v if isinstance(v, tuple) else (v,) for v in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype, note
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=note)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from([(6,), (2, 4), (3, 2, 2)]))
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", [*EVERYWHERE, *SOMEWHERE])
def test_one_program_for_every_mask(name, order, seed, shape):
    if name in ("column", "residuals", "ptp") and len(shape) > 1:
        shape = shape[:1]
    f = ORDERS[order]((EVERYWHERE | SOMEWHERE)[name])
    fast = cr.compile(f)
    draw = np.random.default_rng(seed)
    masks = [draw.random(shape) < 0.5 for _ in range(3)]
    none, one, several = np.zeros(shape, bool), np.zeros(shape, bool), np.zeros(shape, bool)
    one[(0,) * len(shape)] = True
    several.reshape(-1)[:3] = True
    undefined = name in ("mean", "constant mean", "var", "ddof", "centred", "average", "residuals")
    for m in [several, ~none, *masks, one, none]:
        if not m.any() and (name in SOMEWHERE or undefined or order != "value"):
            continue
        if m.sum() < 2 and name in ("ddof", "std", "ptp", "var"):
            continue
        x, y = draw.normal(size=shape), draw.normal(size=shape)
        assert_agree(fast, f, x, y, m, f"{name} of {m}")
        assert len(variants(fast)) == 1, f"{name} was recorded again for {m}"


@pytest.mark.parametrize("name", EVERYWHERE)
def test_of_nothing(name):
    """What is the sum, the mean or the gradient of nothing, as NumPy and the engine have it."""
    f = EVERYWHERE[name]
    x, y = np.linspace(-1, 1, 6), np.linspace(2, 3, 6)
    several, none = np.arange(6) < 3, np.zeros(6, bool)
    if name == "average":
        return  # weights that sum to zero are an error
    fast = cr.compile(f)
    assert_agree(fast, f, x, y, several)
    assert_agree(fast, f, x, y, none)
    assert len(variants(fast)) == 1


def test_the_largest_of_nothing_raises():
    fast = cr.compile(lambda x: np.max(x[x > 0]))
    assert fast(np.array([1.0, -2.0, 3.0])) == 3.0
    assert fast(np.array([1.0, -2.0, -3.0])) == 1.0
    with pytest.raises(ValueError, match="zero-size"):
        fast(-np.ones(3))
    assert len(variants(fast)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32, np.uint8, bool])
@pytest.mark.parametrize("reduce", [np.sum, np.prod, np.max, np.min, np.mean, np.any, np.all])
def test_dtypes_are_those_of_numpy(dtype, reduce):
    fast = cr.compile(lambda x, m: reduce(x[m]))
    x = np.array([3, 1, 2, 0, 5]).astype(dtype)
    for m in ([1, 1, 0, 0, 1], [0, 1, 1, 1, 1], [0, 0, 0, 0, 1]):
        mask = np.array(m, bool)
        found, expected = fast(x, mask), reduce(x[mask])
        assert np.asarray(found).dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(variants(fast)) == 1


def test_integers_that_are_not_picked_do_no_harm():
    """They may be what nothing is divided by, and what nothing is raised to."""
    fast = cr.compile(lambda k: np.sum(12 // k[k > 0]) + np.sum(2 ** k[k > 0]))
    for k in ([1, 0, 3, -1], [4, 2, 0, -7], [0, 0, 0, 6]):
        picked = np.array([n for n in k if n > 0])
        assert fast(np.array(k)) == np.sum(12 // picked) + np.sum(2**picked)
    assert len(variants(fast)) == 1


def test_lanes_not_picked_leak_into_nothing():
    f = lambda x: np.sum(np.log(x[x > 0]) * np.sqrt(x[x > 0]))  # noqa: E731
    x = np.array([1.0, 2.0, -np.inf, np.nan, 0.0, -3.0])
    for fast, plain in ((cr.compile(f), f), (cr.compile(cr.grad(f)), cr.grad(f))):
        assert np.all(np.isfinite(fast(x)))
        np.testing.assert_allclose(fast(x), plain(x))


def test_a_mask_beside_slices_and_numbers():
    x, m = np.arange(24.0).reshape(2, 3, 4), np.array([True, False, True])
    other = np.array([False, True, False])
    for f in (
        lambda x, m: np.sum(x[:, m] ** 2),
        lambda x, m: np.sum(x[:, m, 1:3] ** 2, axis=(0, 1)),
        lambda x, m: np.sum(x[..., m, 1] ** 2),
        lambda x, m: np.mean(x[0, m], axis=0),
        lambda x, m: np.max(x[:, m, ::-1], axis=1),
        lambda x, m: np.sum(np.sum(x[:, m] ** 2, axis=2, keepdims=True) * x[:, m]),
    ):
        total = lambda x, m, f=f: np.sum(f(x, m) ** 2)  # noqa: E731
        for g in (f, cr.grad(total)):
            fast = cr.compile(g)
            for mask in (m, other, ~other):
                np.testing.assert_allclose(fast(x, mask), g(x, mask))
            assert len(variants(fast)) == 1


def counts_left(f, *args):
    """How many guards are on a count after the pass."""
    recording = specialised(f, args, {})
    _, guards = without_counts(recording.graph, recording.guards)
    return sum(g.node.op.name == "count_nonzero" for g in guards)


X, Y = np.array([1.0, -2.0, 3.0, 4.0, -5.0]), np.array([0.5, 1.5, 2.5])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 0],
        lambda x: np.cumsum(x[x > 0])[-1],
        lambda x: np.sum(x[x > 0][1:]),
        lambda x: np.sum(x[x > 0] * Y),  # fits three, by chance
        lambda x: np.sum(x[x > 0] * x[x < 2]),
        lambda x: (x[x > 0] * Y, np.sum(x))[1],  # of no use, but it raises for other counts
        lambda x: (x[x > 0] * x[x < 2], np.sum(x))[1],
        lambda x: np.sum(np.sort(x[x > 0])),
        lambda x: np.sum(np.broadcast_to(x[0], (3,)) * x[x > 0]),
        lambda x: np.sum(x[x > 0].reshape(3, 1)),
        lambda x: np.sum(np.concatenate([x[x > 0], x])),
        lambda x: np.median(x[x > 0]),
        lambda x: np.sum(x[x > 0][x[x > 0] > 2]),
        lambda x: np.sum(np.ones_like(x[x > 0])),
        lambda x: cr.grad(lambda y: np.prod(y[y > 0]))(x),
    ],
)
def test_what_needs_the_count_keeps_its_guard(f):
    assert counts_left(f, X) > 0


def test_one_lane_or_none_is_no_model_for_several():
    """One lane broadcasts, and nothing is summed up where it did."""
    f = lambda x, s: np.sum(x[x > 0] * s)  # noqa: E731
    assert counts_left(f, np.array([1.0, -1.0, -2.0]), np.ones(1)) == 1
    assert counts_left(f, np.array([1.0, -1.0, 2.0]), np.ones(1)) == 0


def test_a_count_that_code_has_read_stays():
    recording = specialised(lambda x: np.sum(x[x > 0]), (X,), {})
    (count,) = recording.guards
    read = Guard(count.node, count.value)
    graph, guards = without_counts(recording.graph, [count, read])
    assert [g.value for g in guards] == [3, 3]
    assert any(n.op.name == "gather" for n in graph.nodes if not n.is_leaf)


PICKS = {
    "masked": lambda x, w: np.sum(w[x > 0.3] * x[x > 0.3] ** 2),
    "masked_gradient": lambda x, w: cr.grad(lambda y: np.mean(np.log(y[y > 0.3])))(x) * w,
    "masked_rows": lambda x, w: np.max(np.stack([x, w], axis=1)[x > 0.3], axis=0),
}


@pytest.mark.parametrize("name", PICKS)
def test_golden(name):
    f, x, w = PICKS[name], np.array([1.0, -2.0, 0.5, 3.0]), np.arange(4.0)
    recording = specialised(f, (x, w), {})
    graph, guards = without_counts(recording.graph, recording.guards)
    graph.verify()
    asked = ", ".join(f"{g.node.op.name} is {g.value}" for g in guards)
    texts = [graph_text(g, lines=False) for g in (recording.graph, graph)]
    text = f"{texts[0]}\n\n{texts[1]}\n\nguards: {asked}\n"
    file = Path(__file__).with_name("golden") / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert_same_bits(values(graph, x, w), values(recording.graph, x, w))


def test_masks_of_what_masks_have_written_to_order_two():
    """The reverse pass has shapes by masks that are computed after them, unless put in order."""
    x = np.array([0.287, -1.861, -0.285, -1.513])
    y = np.array([-0.021, -0.297, -1.292, 1.305])

    def f(x, y):
        for v in x:
            last = v
            x[(x > -1.0413) & (y < 0.63)] = y[0]
        return np.sum(x * last)

    def slope(x, y):
        return sum(np.sum(g * np.arange(1.0, 5.0)) for g in cr.grad(f, (0, 1))(x, y))

    second = cr.grad(slope, (0, 1))
    for found, expected in zip(cr.compile(second)(x, y), second(x, y), strict=True):
        np.testing.assert_allclose(found, expected)

"""Layers (also `attention.py`, `convolution.py`, `normalise.py`, `recurrent.py`): their formulas.

They differentiate, compile without the interpreter, and keep types.
"""

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.core.containers import flatten, map_leaves
from tests.learn.checks import assert_sound, weighted


def rng():
    return np.random.default_rng(7)


def draw(*shape):
    return np.random.default_rng([7, *shape]).normal(size=shape)


def sigma(x):
    return 1 / (1 + np.exp(-x))


def perturbed(params):
    """Biases and scales that are not 0 or 1, so that a wrong one shows."""
    return map_leaves(lambda p: p + 0.1 * draw(*p.shape), params)


NORM, STATISTICS = learn.init_batch_norm(3)
STATISTICS = {"mean": draw(3), "variance": draw(3) ** 2 + 0.5}
SOUND = {
    "linear": (learn.linear, learn.init_linear(rng(), 4, 3), draw(2, 5, 4)),
    "linear without bias": (learn.linear, learn.init_linear(rng(), 4, 3, bias=False), draw(4)),
    "embedding": (
        learn.embedding, learn.init_embedding(rng(), 7, 3), rng().integers(0, 7, (2, 5))
    ),
    "conv": (
        lambda p, x: learn.conv(p, x, stride=2, padding=1, groups=2),
        learn.init_conv(rng(), 2, 4, (3, 2), groups=2), draw(2, 2, 6, 5),
    ),
    "max_pool": (lambda _, x: learn.max_pool(x, 2), draw(1), draw(2, 2, 6, 4)),
    "average_pool": (lambda _, x: learn.average_pool(x, 2), draw(1), draw(2, 2, 6, 4)),
    "layer_norm": (learn.layer_norm, perturbed(learn.init_layer_norm(6)), draw(4, 6)),
    "batch_norm": (
        lambda p, x: learn.batch_norm(p, x, map_narrow(STATISTICS, x))[0],
        perturbed(NORM), draw(4, 3, 2, 2),
    ),
    "batch_norm in evaluation": (
        lambda p, x: learn.batch_norm(p, x, map_narrow(STATISTICS, x), training=False)[0],
        perturbed(NORM), draw(4, 3, 2, 2),
    ),
    "lstm": (lambda p, x: learn.lstm(p, x)[0], learn.init_lstm(rng(), 3, 4), draw(2, 4, 3)),
    "gru": (lambda p, x: learn.gru(p, x)[0], perturbed(learn.init_gru(rng(), 3, 4)), draw(2, 4, 3)),
    "attention": (
        lambda p, x: learn.attention(p, x, heads=2, causal=True),
        perturbed(learn.init_attention(rng(), 6)), draw(2, 5, 6),
    ),
    "attention with a mask": (
        lambda p, x: learn.attention(p, x, heads=3, causal=True, mask=np.tri(5, k=1) == 0),
        perturbed(learn.init_attention(rng(), 6)), draw(5, 6),
    ),
    "attention to a memory": (
        lambda p, x: learn.attention(p, x, heads=2, memory=x[..., ::2, :]),
        perturbed(learn.init_attention(rng(), 6, bias=False)), draw(2, 5, 6),
    ),
}  # fmt: skip


def map_narrow(statistics, x):
    return {name: value.astype(x.dtype) for name, value in statistics.items()}


@pytest.mark.parametrize("name", SOUND)
def test_sound(name):
    layer, params, x = SOUND[name]
    assert_sound(lambda p, x: weighted(layer(p, x)), params, x)


def test_linear():
    params = perturbed(learn.init_linear(rng(), 4, 3))
    x = draw(5, 4)
    expected = np.array([[row @ w for w in params["weights"].T] for row in x]) + params["bias"]
    np.testing.assert_allclose(learn.linear(params, x), expected, rtol=1e-13)


def test_embedding_adds_up_rows_that_are_used_twice():
    params = learn.init_embedding(rng(), 4, 2)
    gradient = cr.grad(lambda p: np.sum(learn.embedding(p, [[1, 1], [3, 1]])))(params)
    np.testing.assert_array_equal(gradient["table"], [[0, 0], [3, 3], [0, 0], [1, 1]])


def test_conv():
    params = perturbed(learn.init_conv(rng(), 2, 3, 2))
    x = draw(1, 2, 3, 3)
    y = learn.conv(params, x)
    expected = np.sum(params["weights"][1] * x[0, :, 1:3, 0:2]) + params["bias"][1]
    assert y[0, 1, 1, 0] == pytest.approx(expected, rel=1e-13)


def test_layer_norm():
    x = draw(4, 6)
    params = perturbed(learn.init_layer_norm(6))
    plain = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    expected = plain * params["scale"] + params["shift"]
    np.testing.assert_allclose(learn.layer_norm(params, x), expected, rtol=1e-12)


def test_batch_norm():
    x, params = draw(4, 3, 2, 2), perturbed(NORM)
    y, new = learn.batch_norm(params, x, STATISTICS, decay=0.7)
    rows = np.moveaxis(x, 1, -1).reshape(-1, 3)
    np.testing.assert_allclose(new["mean"], 0.7 * STATISTICS["mean"] + 0.3 * rows.mean(axis=0))
    np.testing.assert_allclose(
        new["variance"], 0.7 * STATISTICS["variance"] + 0.3 * rows.var(axis=0, ddof=1)
    )
    plain = (rows - rows.mean(axis=0)) / np.sqrt(rows.var(axis=0) + 1e-5)
    found = np.moveaxis(y, 1, -1).reshape(-1, 3)
    np.testing.assert_allclose(found, plain * params["scale"] + params["shift"], rtol=1e-12)
    y, same = learn.batch_norm(params, x, STATISTICS, training=False)
    assert same is STATISTICS
    plain = (rows - STATISTICS["mean"]) / np.sqrt(STATISTICS["variance"] + 1e-5)
    found = np.moveaxis(y, 1, -1).reshape(-1, 3)
    np.testing.assert_allclose(found, plain * params["scale"] + params["shift"], rtol=1e-12)


def test_running_statistics_carry_no_gradient():
    def through(x):
        return np.sum(learn.batch_norm(NORM, x, STATISTICS)[1]["mean"])

    np.testing.assert_array_equal(cr.grad(through)(draw(4, 3)), np.zeros((4, 3)))


def test_lstm():
    params, x = perturbed(learn.init_lstm(rng(), 3, 4)), draw(2, 3, 3)
    h, c = draw(2, 4), draw(2, 4) / 2
    outputs, state = learn.lstm(params, x, (h, c))
    for t in range(3):
        gates = x[:, t] @ params["input"] + h @ params["recurrent"] + params["bias"]
        i, f, g, o = np.split(gates, 4, axis=1)
        c = sigma(f) * c + sigma(i) * np.tanh(g)
        h = sigma(o) * np.tanh(c)
        np.testing.assert_allclose(outputs[:, t], h, rtol=1e-12)
    np.testing.assert_allclose(state, (h, c), rtol=1e-12)
    assert np.all(learn.init_lstm(rng(), 3, 4)["bias"][4:8] == 1)


def test_gru():
    params, x, h = perturbed(learn.init_gru(rng(), 3, 4)), draw(2, 3, 3), draw(2, 4)
    outputs, state = learn.gru(params, x, h)
    for t in range(3):
        a = np.split(x[:, t] @ params["input"] + params["bias"], 3, axis=1)
        b = np.split(h @ params["recurrent"] + params["recurrent_bias"], 3, axis=1)
        r, z = sigma(a[0] + b[0]), sigma(a[1] + b[1])
        h = (1 - z) * np.tanh(a[2] + r * b[2]) + z * h
        np.testing.assert_allclose(outputs[:, t], h, rtol=1e-12)
    np.testing.assert_array_equal(state, outputs[:, -1])


def test_a_sequence_may_be_cut_in_two():
    params, x = learn.init_lstm(rng(), 3, 4), draw(2, 6, 3)
    whole, last = learn.lstm(params, x)
    first, state = learn.lstm(params, x[:, :2])
    second, state = learn.lstm(params, x[:, 2:], state)
    np.testing.assert_allclose(whole, np.concatenate([first, second], axis=1), rtol=1e-13)
    np.testing.assert_allclose(last, state, rtol=1e-13)


def test_attention():
    params, x = perturbed(learn.init_attention(rng(), 6)), draw(5, 6)
    q, k, v = (x @ params[n]["weights"] + params[n]["bias"] for n in ("query", "key", "value"))
    heads = []
    for at in (slice(0, 3), slice(3, 6)):
        rows = []
        for place in range(5):
            scores = np.array([q[place, at] @ k[p, at] for p in range(place + 1)]) / np.sqrt(3)
            shares = np.exp(scores) / np.exp(scores).sum()
            rows.append(sum(s * v[p, at] for p, s in enumerate(shares)))
        heads.append(rows)
    mixed = np.concatenate(heads, axis=1)
    expected = mixed @ params["output"]["weights"] + params["output"]["bias"]
    found = learn.attention(params, x, heads=2, causal=True)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_place_that_may_look_nowhere():
    params, x = perturbed(learn.init_attention(rng(), 6)), draw(3, 6)
    mask = np.array([[True, True, True], [False, False, False], [True, False, False]])
    found = learn.attention(params, x, mask=mask)
    np.testing.assert_array_equal(found[1], params["output"]["bias"])
    gradient = cr.grad(lambda x: np.sum(learn.attention(params, x, mask=mask)))(x)
    assert np.all(np.isfinite(gradient))


def test_dropout():
    x = draw(100, 100) + 5
    kept = learn.dropout(x, 0.3, cr.key(4))
    assert 0.68 < np.mean(kept != 0) < 0.72
    np.testing.assert_allclose(kept[kept != 0], x[kept != 0] / 0.7, rtol=1e-15)
    np.testing.assert_array_equal(kept, learn.dropout(x, 0.3, cr.key(4)))
    assert learn.dropout(x, 0.3, None) is x
    assert learn.dropout(x, 0.0, cr.key(4)) is x
    gradient = cr.grad(lambda x: np.sum(learn.dropout(x, 0.3, cr.key(4))))(x)
    np.testing.assert_allclose(gradient, (kept != 0) / 0.7, rtol=1e-15)
    f = lambda x, key: weighted(learn.dropout(x, 0.3, key))  # noqa: E731
    assert_sound(f, draw(4, 3), cr.key(1), interpreted=["random_uniform"])


def test_narrow_parameters():
    for params in (
        learn.init_linear(rng(), 2, 3, dtype=np.float32),
        learn.init_conv(rng(), 2, 3, dtype=np.float32),
        learn.init_lstm(rng(), 2, 3, dtype=np.float32),
        learn.init_gru(rng(), 2, 3, dtype=np.float32),
        learn.init_attention(rng(), 2, dtype=np.float32),
        learn.init_embedding(rng(), 2, 3, dtype=np.float32),
        learn.init_batch_norm(3, dtype=np.float32),
    ):
        leaves = flatten(params)[0]
        assert {a.dtype.name for a in leaves} == {"float32"}


LINEAR, TABLE = learn.init_linear(rng(), 4, 3), learn.init_embedding(rng(), 4, 3)
LSTM, ATTENTION = learn.init_lstm(rng(), 3, 4), learn.init_attention(rng(), 6)


@pytest.mark.parametrize(
    ("run", "error", "named"),
    [
        (lambda: learn.linear(LINEAR, draw(2, 3)), cr.ShapeError, r"linear of \(2, 3\).*\(4, 3\)"),
        (
            lambda: learn.linear(TABLE, draw(4)),
            cr.ArgumentError,
            r"linear.*init_linear.*\['weights'\]; got a dict with \['table'\]",
        ),
        (lambda: learn.lstm(None, draw(2, 3)), cr.ArgumentError, "init_lstm.*got NoneType"),
        (lambda: learn.batch_norm(NORM, draw(2, 3), NORM), cr.ArgumentError, "'variance'"),
        (lambda: learn.gru(LSTM, draw(2, 3)), cr.ArgumentError, "recurrent_bias"),
        (lambda: learn.embedding(TABLE, [4]), cr.OutOfRangeError, r"to 4, the rows are 0…3"),
        (lambda: learn.embedding(TABLE, [-1]), cr.OutOfRangeError, r"from -1"),
        (lambda: learn.embedding(TABLE, [1.0]), cr.DTypeError, "float64"),
        (lambda: learn.init_conv(rng(), 3, 4, groups=2), cr.ShapeError, "groups=2"),
        (lambda: learn.layer_norm(NORM, draw(2, 4)), cr.ShapeError, r"layer_norm of \(2, 4\).*3"),
        (lambda: learn.batch_norm(NORM, draw(3), STATISTICS), cr.ShapeError, r"\(3,\)"),
        (lambda: learn.batch_norm(NORM, draw(2, 4), STATISTICS), cr.ShapeError, r"\(2, 4\).*3"),
        (lambda: learn.batch_norm(NORM, draw(1, 3), STATISTICS), cr.ShapeError, "no variance"),
        (lambda: learn.lstm(LSTM, draw(2, 5, 4)), cr.ShapeError, r"lstm of \(2, 5, 4\).*3 inputs"),
        (lambda: learn.lstm(LSTM, draw(2, 0, 3)), cr.ShapeError, "a time"),
        (lambda: learn.lstm(LSTM, draw(2, 5, 3), (draw(4), draw(4))), cr.ShapeError, r"\(2, 4\)"),
        (lambda: learn.attention(ATTENTION, draw(5, 6), heads=4), cr.ArgumentError, "width 6"),
        (lambda: learn.attention(ATTENTION, draw(6)), cr.ShapeError, r"\(…, places, width\)"),
        (
            lambda: learn.attention(ATTENTION, draw(5, 6), mask=draw(5, 5)),
            cr.DTypeError,
            "got float64",
        ),
        (
            lambda: learn.attention(ATTENTION, draw(5, 6), mask=np.ones((4, 5), bool)),
            cr.ShapeError,
            r"\(4, 5\).*\(1, 5, 5\)",
        ),
        (lambda: learn.dropout(draw(2), 1.0, None), cr.ArgumentError, "rate=1.0"),
        (lambda: learn.dropout(draw(2), -0.1, None), cr.ArgumentError, "rate=-0.1"),
        (lambda: learn.dropout(draw(2), 0.5, 3), cr.DTypeError, r"cr\.key"),
    ],
)
def test_what_does_not_fit_is_named(run, error, named):
    with pytest.raises(error, match=named):
        run()

"""Losses, rows and parameters that the tests of `scale` compute, in whatever process."""

from functools import partial
from hashlib import sha256

import numpy as np

import chainrule as cr
from chainrule import learn, scale

RNG = np.random.default_rng(0)
X = RNG.normal(size=(203, 5))
Y = RNG.integers(0, 3, 203)
PARAMS = {"W": RNG.normal(size=(5, 3)), "b": (np.zeros(3), np.float64(0.5))}
WIDE = RNG.normal(size=(5, 2500))  # more than MPI adds in one message


def scores(p, x):
    return np.tanh(x @ p["W"] + p["b"][0]) * p["b"][1]


def loss(p, x, y):
    s = scores(p, x)
    return np.mean(cr.logsumexp(s, axis=1) - np.take_along_axis(s, y[:, None], 1)[:, 0])


def summed(p, x, y):
    return loss(p, x, y) * len(x)


def with_aux(p, x, y):
    s = scores(p, x)
    return loss(p, x, y), {"hits": np.mean(np.argmax(s, axis=1) == y), "mean": np.mean(s, axis=0)}


def wide(p, x, y):
    return np.mean(np.tanh(x @ p) ** 2)


def branching(p, x, y):
    return np.mean(x @ p) if np.sum(x) > 0 else np.mean(x @ p) ** 2


def noisy(p, x, y, key):
    return loss(p, x * cr.random_normal(key, x.shape), y) if key is not None else loss(p, x, y)


def load(shard):
    rows = slice(29 * shard, 29 * (shard + 1))
    return X[rows], Y[rows]


def held(arrays, shard):
    return arrays


def load_but_17(shard):
    if shard == 17:
        raise OSError("rows-17.npy: no such file")
    return X[:3] + shard, Y[:3]


def load_other_columns(shard):
    return (X[:3, :4] if shard == 5 else X[:3]), Y[:3]


def load_empty(shard):
    return X[: 0 if shard == 2 else 3], Y[: 0 if shard == 2 else 3]


def load_ragged(shard):
    return X[:3], Y[:4]


def raises_on_large(p, x, y):
    if x[0, 0] == X[170, 0]:
        raise KeyError("no such row")  # a line of the user's
    return loss(p, x, y)


def aux_of_rows(p, x, y):
    return loss(p, x, y), scores(p, x)


def square(x):
    return x * x


def fails_on_three(x):
    if x == 3:
        raise ValueError("three")
    return x


def bits(found):
    """A result as text in which every bit shows."""
    leaves, structure = cr.tree.flatten(found)
    arrays = [np.asarray(leaf) for leaf in leaves]
    said = repr([(structure, a.dtype.str, a.shape, a.tobytes()) for a in arrays])
    return sha256(said.encode()).hexdigest()


def trained(engine, **options):
    """A small training run."""
    start = {"W": np.zeros((5, 3)), "b": (np.zeros(3), np.float64(0.5))}
    return learn.train(
        options.pop("loss", loss),
        start,
        learn.Batches(X, Y, size=32, seed=1),
        optimiser=learn.adam(0.01),
        epochs=options.pop("epochs", 2),
        validation=(X[:20], Y[:20]),
        progress=False,
        scale=engine,
        **options,
    )


def mean(engine):
    return bits(scale.value_and_grad(loss, engine=engine, shards=13)(PARAMS, X, Y))


def computed(engine):
    """Everything that an engine computes, as bits by name; compiled where that may differ."""
    fits = {
        "minimize": minimized(engine),
        "trained": bits(trained(engine, epochs=1).parameters),
        "keys": bits(trained(engine, loss=noisy, keys=True, epochs=1, compile=False).parameters),
    }
    return passes(engine) | fits


def minimized(engine):
    fit = partial(scale.minimize, loss, PARAMS, X, Y, engine=engine, compile=False)
    return bits(fit(shards=6, iterations=3).parameters)


def passes(engine, *names):
    """What takes one pass each; all of it, or what is named."""
    given = partial(scale.value_and_grad, engine=engine)
    plain = partial(given, compile=False)
    product = scale.hvp(loss, engine=engine, shards=13, compile=False)
    rows = scale.jacobian(scores, engine=engine, shards=13, compile=False)
    narrow = WIDE.astype(np.float32)
    ways = {
        "mean": lambda: given(loss, shards=13)(PARAMS, X, Y),
        "mean, interpreted": lambda: plain(loss, shards=13)(PARAMS, X, Y),
        "branching": lambda: given(branching, shards=4)(PARAMS["W"], X, Y),
        "sum": lambda: plain(summed, shards=8, how="sum")(PARAMS, X, Y),
        "two shards": lambda: plain(loss, shards=2)(PARAMS, X, Y),
        "usual shards": lambda: plain(loss)(PARAMS, X, Y),
        "few rows": lambda: plain(loss)(PARAMS, X[:3], Y[:3]),
        "aux": lambda: plain(with_aux, shards=13, has_aux=True)(PARAMS, X, Y),
        "loader": lambda: plain(loss)(PARAMS, scale.Shards(load, 7)),
        "wide": lambda: plain(wide, shards=5)(WIDE, X, Y),
        "float32": lambda: plain(wide, shards=5, dtype="float32")(narrow, X, Y),
        "hvp": lambda: product(PARAMS, PARAMS, X, Y),
        "jacobian": lambda: rows(PARAMS, X),
        "map": lambda: scale.map(square, np.arange(5.0), engine=engine),
    }
    return {name: bits(ways[name]()) for name in names or ways}

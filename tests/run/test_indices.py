"""Indices that machine code finds out of range raise what the interpreter raises."""

import numpy as np
import pytest

import chainrule as cr

pytest.importorskip("llvmlite")

X = np.sin(np.arange(12.0)).reshape(4, 3)
GOOD = np.array([0, 2, -3, 1])


def written(x, i, value):
    y = x * 1.0
    y[i] = value
    return y


def increased(x, i, value):
    y = x * 1.0
    y[i] += value
    return y


READS = {
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: x[:, i],
    "columns of a part": lambda x, i: x[1:3, i],
    "pairs": lambda x, i: x[i, i],
    "pairs, one constant": lambda x, i: x[np.array([1, 0, 3, 2]), i],
    "rows, a column": lambda x, i: x[i, 1],
    "one": lambda x, i: x[i[0], 1] * x[1, i[1]],
    "take": lambda x, i: np.take(x, i, axis=1),
    "take, flat": lambda x, i: np.take(x, i),
    "take_along_axis": lambda x, i: np.take_along_axis(x, i[:, None], 1),
    "written": lambda x, i: written(x, i, 7.0),
    "written, columns": lambda x, i: written(x, (slice(None), i), x[:, :1] ** 2),
    "increased": lambda x, i: increased(x, i, 2.0),
    "put": lambda x, i: cr.put(x, i, x[0, 0]),
    "add_at": lambda x, i: cr.add_at(x, i, x[:, :1] ** 2),
    "of a computed index": lambda x, i: x[i * 2 - i],
}
BAD = [[0, 12, 1, 0], [-13, 1, 0, 0], [4000, 0, 0, 0], [0, -(2**63), 0, 0], [2**63 - 1, 0, 0, 0]]


def squared(f):
    return lambda x, i: np.sum(f(x, i) ** 2)


DERIVATIVES = {
    "value": lambda f: f,
    "gradient": lambda f: cr.grad(squared(f)),
    "tangent": lambda f: lambda x, i: cr.jvp(lambda x: f(x, i), (x,), (x,))[1],
    "second": lambda f: cr.grad(lambda x, i: np.sum(cr.grad(squared(f))(x, i) ** 2)),
}


def error_of(f, *args):
    with pytest.raises(cr.ChainruleError) as caught:
        f(*args)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", READS)
def test_the_error_is_the_interpreters(name, derivative):
    f = DERIVATIVES[derivative](READS[name])
    fast = cr.compile(f)
    expected = f(X, GOOD)
    np.testing.assert_allclose(fast(X, GOOD), expected, rtol=1e-12, atol=1e-14)
    for bad in map(np.array, BAD):
        found = error_of(fast, X, bad)
        assert found == error_of(cr.trace, f, X, bad)
        assert "test_indices.py:" in found[1]
        np.testing.assert_allclose(fast(X, GOOD), expected, rtol=1e-12, atol=1e-14)
    assert fast.report().count(", branch ") == 1


def test_indices_of_a_constant_that_are_out_of_range():
    """Known when it is recorded: the interpreter raises, and nothing is compiled."""
    for place in ([0, 4], [-5, 1]):
        with pytest.raises(cr.OutOfRangeError, match="out of bounds"):
            cr.compile(lambda x, place=place: x[np.array(place)] * 2)(X)


def test_an_index_that_only_machine_code_rounds_out_of_range():
    """Whatever a number is rounded to, nothing outside the array is read."""
    fast = cr.compile(lambda x, t: x[np.floor(t).astype(int)])
    fast(X, np.array([0.5, 3.5]))
    with pytest.raises(cr.OutOfRangeError, match="index 4 is out of bounds"):
        fast(X, np.array([0.5, 4.0]))


ROWS = 6000


@pytest.mark.parametrize("at", [0, 2999, ROWS - 1])
@pytest.mark.parametrize("bad", [50, -51])
def test_in_tiles(at, bad):
    rng = np.random.default_rng(0)
    table, w = rng.normal(size=(50, 32)), rng.normal(size=(32, 64)) / 6
    i = rng.integers(-50, 50, ROWS)

    def loss(table, w, i):
        return np.mean(np.sum(np.tanh(table[i] @ w), axis=1) ** 2)

    f = cr.grad(loss, (0, 1))
    fast = cr.compile(f)
    for found, expected in zip(fast(table, w, i), f(table, w, i), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * np.abs(expected).max())
    ((variant,),) = fast.variants.values()
    assert variant.run.module.plan.regions, "nothing was streamed, so this tests nothing"
    i[at] = bad
    assert error_of(fast, table, w, i) == error_of(cr.trace, f, table, w, i)

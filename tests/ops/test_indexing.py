"""Indexing, writing in place, diagonals: what the table of samples cannot say."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr

RNG = np.random.default_rng
VECTOR = np.array([0.0, 1.0, 4.0, 9.0])
TIED = np.array([3.0, 1.0, 2.0, 1.0])


def gradient(f, x):
    return cr.grad(lambda x: np.sum(f(x)))(x)


# ---- any index NumPy takes ----------------------------------------------------------------------


def random_part(rng, n):
    """One entry of an index, for an axis of length n."""
    bounds = [None if rng.random() < 0.4 else int(b) for b in rng.integers(-n - 1, n + 2, 2)]
    kinds = (
        lambda: int(rng.integers(-n, n)),
        lambda: slice(*bounds, rng.choice([-2, -1, 1, 2])),
        lambda: slice(None),
        lambda: rng.integers(-n, n, [(3,), (2, 1), (1, 3), ()][rng.integers(4)]),
        lambda: rng.random(n) < 0.5,
        lambda: [int(i) for i in rng.integers(-n, n, rng.integers(0, 4))],
        lambda: np.int64(rng.integers(n)),
    )
    return kinds[rng.integers(len(kinds))]()


def random_index(rng, shape):
    parts = [random_part(rng, n) for n in shape[: rng.integers(0, len(shape) + 1)]]
    if len(shape) > 1 and rng.random() < 0.15:
        parts = [rng.random(shape[:2]) < 0.5]
    for extra in (None, Ellipsis, True):
        if rng.random() < 0.15:
            parts.insert(int(rng.integers(len(parts) + 1)), extra)
    return parts[0] if len(parts) == 1 and rng.random() < 0.5 else tuple(parts)


def assert_reads_as_numpy(x, index, rng):
    lanes = np.arange(x.size).reshape(x.shape)[index]
    out, pullback = cr.vjp(lambda x: x[index], x)
    np.testing.assert_array_equal(out, x[index])
    g, u = (np.asarray(rng.standard_normal(shape)) for shape in (lanes.shape, x.shape))
    expected = np.zeros(x.size)
    np.add.at(expected, lanes.reshape(-1), g.reshape(-1))
    np.testing.assert_allclose(pullback(g)[0], expected.reshape(x.shape), atol=1e-14)
    np.testing.assert_array_equal(cr.jvp(lambda x: x[index], (x,), (u,))[1], u[index])
    assert cr.trace(lambda x: x[index], x).verify(), "its spec gives NumPy's shape"


def assert_writes_as_numpy(x, v, index, rng):
    def written(x, v):
        y = x.copy()
        y[index] = v
        return y

    u, w, g = (np.asarray(rng.standard_normal(a.shape)) for a in (x, v, x))
    np.testing.assert_array_equal(written(cr.variable(x), cr.variable(v)).value, written(x, v))
    tangent = cr.jvp(written, (x, v), (u, w))[1]
    np.testing.assert_array_equal(tangent, written(u, w))
    into_x, into_v = cr.vjp(written, x, v)[1](g)
    assert np.shape(into_v) == v.shape
    np.testing.assert_allclose(np.sum(g * tangent), np.sum(into_x * u) + np.sum(into_v * w))
    constant = cr.jvp(lambda x: written(x, 3), (x,), (u,))[1]
    np.testing.assert_array_equal(constant, written(u, 0))


@pytest.mark.parametrize("seed", range(25))
def test_every_kind_of_index_reads_and_writes_as_in_numpy(seed):
    rng = RNG(seed)
    tried = 0
    while tried < 20:
        x = np.asarray(rng.standard_normal(rng.integers(1, 4, rng.integers(0, 4))))
        index = random_index(rng, x.shape)
        try:
            place = x[index].shape
            shape = [place, (), (1, *place), (1,) * len(place)][rng.integers(4)]
            v = np.asarray(rng.standard_normal(shape))
            np.array(x)[index] = v
        except (IndexError, ValueError, TypeError):
            continue  # not an index, or NumPy does not take this value for it
        assert_reads_as_numpy(x, index, rng)
        assert_writes_as_numpy(x, v, index, rng)
        tried += 1


def test_of_several_writes_to_a_lane_only_the_last_has_a_gradient():
    def f(v):
        y = v[:1] * np.zeros(2)
        y[[0, 0, 1]] = v
        return y

    np.testing.assert_array_equal(gradient(f, np.ones(3)), [0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda x: x[np.argmax(x)], [1, 0, 0, 0]),
        (lambda x: x[np.unravel_index(np.argmax(x), x.shape)], [1, 0, 0, 0]),
        (lambda x: x[[np.argmax(x), 0, 2]], [2, 0, 1, 0]),
        (lambda x: x[np.argmin(x) : np.argmax(x) + 3], [0, 1, 1, 0]),
        (lambda x: x[x > 1], [1, 0, 1, 0]),
        (lambda x: x[np.argsort(x)] * np.arange(4), [3, 0, 2, 1]),
        (lambda x: x[np.nonzero(x > 2)], [1, 0, 0, 0]),
        (lambda x: np.take(x, np.argsort(x)[-1:]), [1, 0, 0, 0]),
        (lambda x: np.take_along_axis(x, np.argsort(x), 0)[2:], [1, 0, 1, 0]),
        (lambda x: np.choose(np.argmax(x), [x[1], x[2]]), [0, 1, 0, 0]),
        (lambda x: x.reshape(2, 2)[np.ix_([True, False], [1])], [0, 1, 0, 0]),
    ],
)
def test_variables_may_stand_in_an_index(read, expected):
    np.testing.assert_array_equal(gradient(read, TIED), expected)


@pytest.mark.parametrize(
    ("kind", "index", "said"),
    [
        (cr.OutOfRangeError, 4, "index 4 is out of bounds for axis 0 with size 4"),
        (cr.OutOfRangeError, [0, -5], "index -5 is out of bounds for axis 0 with size 4"),
        (cr.OutOfRangeError, (0, 0), "too many indices"),
        (cr.OutOfRangeError, np.ones(3, bool), "boolean index did not match"),
        (cr.DTypeError, 1.5, "integers or booleans"),
        (cr.DTypeError, "name", "integers or booleans"),
        (cr.DTypeError, slice(0, 1.5), "slice indices"),
    ],
)
def test_a_bad_index_is_named_with_its_line(kind, index, said):
    x = cr.variable(VECTOR)
    with pytest.raises(kind, match=said) as caught:
        x[index]  # the line that is named
    assert "# the line that is named" in str(caught.value)
    with pytest.raises(kind, match=r"test_indexing\.py"):
        (x * 1)[index] = 0.0


# ---- structural zeros ---------------------------------------------------------------------------


def changed(y, index, value):
    z = y.copy()
    z[index] = value
    return z


OFF = np.array([[0.0, 2.0], [3.0, 0.0]])
ON = np.array([[1.0, 0.0], [0.0, 4.0]])
UNREAD = {
    "slice": (lambda y: y[1:], VECTOR),
    "integer": (lambda y: y[-1], VECTOR),
    "twice": (lambda y: y[1:][::2][0], VECTOR),
    "gather": (lambda y: y[[1, 1, 2]][1:], VECTOR),
    "mask": (lambda y: y[y > 0.5], VECTOR),
    "take": (lambda y: np.take(y, [1]), VECTOR),
    "take_along_axis": (lambda y: np.take_along_axis(y, np.array([1, 2]), 0), VECTOR),
    "compress": (lambda y: np.compress([False, True, True], y), VECTOR),
    "extract": (lambda y: np.extract(y > 0.5, y), VECTOR),
    "choose": (lambda y: np.choose([1, 1, 1, 0], [y, y[::-1]])[1:3], VECTOR),
    "trim_zeros": (lambda y: np.trim_zeros(y), VECTOR),
    "sort": (lambda y: np.sort(y)[1:], VECTOR),
    "sort, tied": (lambda y: np.sort(y)[2:], np.array([0.0, 4.0, 0.0, 1.0])),
    "partition": (lambda y: np.partition(y, 2)[1:], VECTOR),
    "unique": (lambda y: np.unique(y)[1:], np.array([0.0, 4.0, 0.0, 1.0])),
    "setdiff1d": (lambda y: np.setdiff1d(y, [0.0]), VECTOR),
    "diag of a matrix": (lambda y: np.diag(y), ON),
    "diag of a vector": (lambda y: np.diag(y[1:]), VECTOR),
    "diagonal": (lambda y: np.diagonal(y, -1), np.array([[0.0, 0.0], [4.0, 0.0]])),
    "trace": (lambda y: np.trace(y), ON),
    "tril": (lambda y: np.tril(y), np.array([[1.0, 0.0], [2.0, 4.0]])),
    "triu": (lambda y: np.triu(y, 1), np.array([[0.0, 2.0], [0.0, 0.0]])),
    "setitem": (lambda y: changed(y, 0, 7.0), VECTOR),
    "setitem, mask": (lambda y: changed(y, y < 0.5, 7.0), VECTOR),
    "setitem, array": (lambda y: changed(y, [0, 0], 7.0), VECTOR),
    "value overwritten": (lambda y: changed(np.ones(4) * y[1], [2, 2], y[:2]), VECTOR),
    "put": (lambda y: cr.put(y, [0], 5.0), VECTOR),
    "putmask": (lambda y: cr.putmask(y, y < 0.5, 5.0), VECTOR),
    "place": (lambda y: cr.place(y, y < 0.5, [5.0]), VECTOR),
    "copyto": (lambda y: cr.copyto(y, 5.0, where=y < 0.5), VECTOR),
    "put_along_axis": (lambda y: cr.put_along_axis(y, np.array([0]), 5.0, 0), VECTOR),
    "fill_diagonal": (lambda y: cr.fill_diagonal(y, 1.0), OFF),
    "interp, points read": (lambda y: np.interp(y, [0.5, 5.0], [0.0, 1.0])[1:], VECTOR),
    "interp, points outside": (lambda y: np.interp(y, [0.5, 5.0], [0.0, 1.0]), VECTOR),
    "interp, values": (lambda y: np.interp([1.5, 2.5], [0.0, 1.0, 2.0, 3.0], y), VECTOR),
    "interp, knots": (lambda y: np.interp([1.5, 2.5], y, [0.0, 1.0, 2.0, 3.0]), VECTOR),
}


def live_difference(f, x, h=1e-5):
    """Central differences in the lanes that are not zero, and zero in the others."""
    found = np.zeros((*np.shape(f(x)), x.size))
    for lane in np.flatnonzero(x):
        step = np.zeros(x.size)
        step[lane] = h
        step = step.reshape(x.shape)
        found[..., lane] = (f(x + step) - f(x - step)) / (2 * h)
    return found.reshape(*np.shape(f(x)), *x.shape)


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_has_a_structural_zero(name):
    """The square root has an infinite slope at 0; nobody reads the lanes in which x is 0."""
    read, x = UNREAD[name]
    one = np.ones_like(x)

    def f(x):
        return np.sum(read(np.sqrt(x)) ** 3)

    slope, bend = live_difference(f, x), live_difference(cr.grad(f), x)
    jacobian = live_difference(lambda x: read(np.sqrt(x)), x)
    along, twice = np.sum(slope), np.sum(bend)

    def forward(x):
        return cr.jvp(f, (x,), (one,))[1]

    for found, expected in (
        (cr.grad(f)(x), slope),
        (forward(x), along),
        (cr.jacobian(lambda x: read(np.sqrt(x)), mode="reverse")(x), jacobian),
        (cr.jacobian(lambda x: read(np.sqrt(x)), mode="forward")(x), jacobian),
        (cr.hessian(f)(x), bend),
        (cr.grad(forward)(x).sum(), twice),
        (cr.jvp(forward, (x,), (one,))[1], twice),
        (cr.jvp(cr.grad(f), (x,), (one,))[1].sum(), twice),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


# ---- writing in place ---------------------------------------------------------------------------


IN_PLACE = [
    lambda y: np.put(y, [1, -1], [7.0, 8.0]),
    lambda y: np.put(a=y, ind=[5, 0], v=7.0, mode="clip"),
    lambda y: np.putmask(y, y > 1, [7.0, 8.0]),
    lambda y: np.place(y, y > 1, [7.0, 8.0, 9.0]),
    lambda y: np.copyto(y, 7.0, where=y > 1),
    lambda y: np.put_along_axis(y, np.array([[0], [1]]), 7.0, axis=1),
    lambda y: np.fill_diagonal(y, [7.0, 8.0]),
    lambda y: y.fill(7.0),
]


@pytest.mark.parametrize("write", IN_PLACE)
def test_numpy_s_writers_change_the_variable(write):
    x = TIED.reshape(2, 2)
    expected = x.copy()
    write(expected)

    def f(x):
        y = x * 2.0
        y /= 2.0
        write(y)
        return y

    np.testing.assert_array_equal(f(cr.variable(x)).value, expected)
    np.testing.assert_array_equal(gradient(f, x), (expected == x).astype(float))


def test_a_value_written_in_place_keeps_its_gradient():
    def f(v):
        y = v * 0.0
        np.put(y, [0, 1], v[2:])
        np.copyto(y, v[0], where=np.array([False, False, True, False]))
        return y

    np.testing.assert_array_equal(gradient(f, np.ones(4)), [1, 0, 1, 1])


def test_nothing_is_written_where_a_gradient_would_be_lost():
    x = cr.variable(VECTOR)
    for write in (
        lambda: np.put(np.zeros(3), [0], x[1]),
        lambda: np.copyto(np.zeros(4), x),
        lambda: np.putmask(np.zeros(4), np.ones(4, bool), x),
    ):
        with pytest.raises(cr.DetachError, match=r"cr\.(put|copyto|putmask) takes the same"):
            write()
    with pytest.raises(cr.ViewWriteError):
        np.put(x[1:], [0], 1.0)


# ---- diagonals ----------------------------------------------------------------------------------


def test_a_diagonal_is_a_view():
    x = cr.variable(np.ones((2, 2))) * 2.0
    view = np.diag(x)
    x[1, 1] = 5.0
    np.testing.assert_array_equal(view.value, [2.0, 5.0])
    with pytest.raises(cr.ViewWriteError):
        view[0] = 1.0


def test_powers_of_zero_have_their_derivatives():
    found = cr.jacobian(lambda x: np.vander(x, 3)[0])(np.array([0.0, 2.0]))
    np.testing.assert_array_equal(found, [[0, 0], [1, 0], [0, 0]])


def test_add_at_adds_what_is_named_twice():
    def f(v):
        return cr.add_at(np.zeros(2), [0, 0, 1], v) * np.array([1.0, 2.0])

    np.testing.assert_array_equal(gradient(f, np.ones(3)), [1, 1, 2])

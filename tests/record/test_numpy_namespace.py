"""`import chainrule.numpy as np`: ordinary NumPy code runs unchanged, also inside cr.grad."""

import numpy
import pytest

import chainrule as cr
import chainrule.numpy as cnp

x0 = numpy.array([0.5, 1.5, 2.5])
M0 = numpy.array([[2.0, 0.5, 0.0], [0.5, 3.0, 0.25], [0.0, 0.25, 4.0]])

# ---- snippets: each is run with np = numpy, with np = chainrule.numpy, and inside cr.grad ---------


def filled_by_a_loop(np, x):
    a = np.zeros(3)
    for i in range(3):
        a[i] = x[i] ** 2 + (a[i - 1] if i else 0.0)
    return a


def filled_by_slices(np, x):
    a = np.empty((2, 3))
    a[0] = x
    a[1, :2] = x[1:] * 2
    a[1, 2] = 1.0
    a[:, 0] += 1
    return a


def rotation(np, x):
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.array([[c, -s], [s, c]]) @ x[1:]


def blocks(np, x):
    top = np.array([[x[0], 1], [1, x[1]]])
    return np.vstack([np.hstack([top, np.zeros((2, 1))]), np.ones((1, 3)) * x[2]])


def network(np, x):
    W = np.ones((2, 3)) * 0.1
    W[0, 1] = 0.5
    hidden = np.tanh(W @ x + np.full(2, 0.25))
    return np.exp(hidden) / np.sum(np.exp(hidden))


def newton(np, x):
    r = np.ones_like(x)
    for _ in range(5):
        r = 0.5 * (r + x / r)
    return r


def branches(np, x):
    total = 0.0
    for v in x:
        total += np.log(v) if v > 1 else v**2
    return total


def standardised(np, x):
    return (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean() + np.finfo(float).eps)


def quadratic_form(np, x):
    A = np.eye(3) + np.diag(np.arange(3.0)) + np.outer(x, x)
    return x.T @ np.linalg.solve(A, x) + np.linalg.slogdet(A)[1]


def polynomial(np, x):
    return sum(c * x**k for k, c in enumerate([1.0, -2.0, 0.5]))


def pairwise(np, x):
    difference = x[:, None] - x[None, :]
    distance = np.sqrt(np.sum(difference[..., np.newaxis] ** 2, axis=-1) + np.eye(3))
    return np.triu(distance, 1).sum()


def trapezoid(np, x):
    t = np.linspace(0.0, x[0], 11)
    return np.sum((np.sin(t[1:]) + np.sin(t[:-1])) / 2 * np.diff(t))


def cumulative(np, x):
    return np.cumsum(x)[::-1] * np.cumprod(x) - np.maximum.accumulate(x)


def spectrum(np, x):
    return np.abs(np.fft.rfft(np.concatenate([x, x[::-1]]))) ** 2


def gathered(np, x):
    y = np.sort(x)[::-1][np.array([0, 2, 2])]
    y[np.asarray([1])] = np.clip(x, 0, 2).max()
    return np.where(y > 1, y, -y)


def in_place(np, x):
    y = np.array(x)
    y -= y.mean()
    y /= np.linalg.norm(y)
    y[::2] *= 3
    return y


def stacked(np, x):
    rows = [np.array([v, v**2, 1.0]) for v in x]
    return np.stack(rows).T


def from_lists(np, x):
    return np.array([[x[0], 2], [[3][0], x[1]]]) + np.asarray([x[1], x[2]])


def random_walk(np, x):
    steps = np.random.default_rng(3).standard_normal((4, 3))
    return np.exp(-np.einsum("ij,j->i", steps, x))


def narrow(np, x):
    return x.astype(np.float32) * np.float32(2) + np.zeros(3, dtype=np.float32)


def complex_numbers(np, x):
    z = np.zeros(3, dtype=complex)
    z[:] = x * np.exp(1j * x)
    return np.real(z * np.conj(z)) + np.angle(z)


def spaces(np, x):
    return np.logspace(x[0], x[1], 4) + np.geomspace(x[0], x[2], 4) + np.linspace(x[0], 9, num=4)


def filled(np, x):
    return np.full((2, 2), x[1]) * np.full_like(np.eye(2), 3.0) + np.full(2, x[0])


def shapes(np, x):
    a = x.reshape(3, 1) @ x.reshape(1, 3)
    return np.swapaxes(np.tile(a, (2, 1))[None], 1, 2).squeeze(0).ravel()[: x.size]


SNIPPETS = [
    *(filled_by_a_loop, filled_by_slices, rotation, blocks, network, newton, branches, stacked),
    *(
        standardised,
        quadratic_form,
        polynomial,
        pairwise,
        trapezoid,
        cumulative,
        spectrum,
        gathered,
    ),
    *(in_place, from_lists, random_walk, narrow, complex_numbers, spaces, filled, shapes),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda f: f.__name__)
def test_snippet(snippet):
    expected = numpy.asarray(snippet(numpy, x0))
    found = snippet(cnp, x0)
    assert not isinstance(found, cr.Variable), "outside a transform it is plain NumPy"
    numpy.testing.assert_array_equal(found, expected)
    assert numpy.asarray(found).dtype == expected.dtype
    inside, values = [], []

    def loss(x):
        made = snippet(cnp, x)
        inside.append(made)
        values.append(getattr(made, "value", made))
        return numpy.sum(numpy.real(made))

    gradient = cr.grad(loss)(x0)
    assert all(isinstance(made, cr.Variable) for made in inside)
    numpy.testing.assert_allclose(values[0], expected, rtol=1e-13, atol=1e-15)
    assert values[0].dtype == expected.dtype
    step = 1e-3 if expected.dtype == numpy.float32 else 1e-6
    for k, slope in enumerate(gradient):
        up, down = (snippet(numpy, x0 + sign * step * numpy.eye(3)[k]) for sign in (1, -1))
        difference = (numpy.sum(numpy.real(up)) - numpy.sum(numpy.real(down))) / (2 * step)
        numpy.testing.assert_allclose(
            slope, difference, rtol=2e-3 if step == 1e-3 else 1e-6, atol=1e-7
        )


# ---- creation -----------------------------------------------------------------------------------


def bug(case, reason):
    return pytest.param(case, marks=pytest.mark.xfail(reason=reason))


OPTIONS = "an option of NumPy's is not taken, or dropped without a word"
CREATED = [
    lambda np, x: np.array(x, dtype=np.float32),
    lambda np, x: np.array([x[0], 1], dtype=complex),
    lambda np, x: np.array(((x[0],), [x[1]])),
    lambda np, x: np.array([x, x * 2]),
    lambda np, x: np.array([np.array([x[0], 1.0]), [2.0, x[1]]]),
    lambda np, x: np.array([[[x[0]]]]),
    lambda np, x: np.asarray(x),
    lambda np, x: np.asarray([[1, x[2]]]),
    lambda np, x: np.asanyarray((x[0], x[1])),
    lambda np, x: np.ascontiguousarray(x),
    lambda np, x: np.zeros((2, 3)) + x,
    lambda np, x: np.zeros(shape=3, dtype=int) + x,
    lambda np, x: np.ones(3, "f4") * x,
    lambda np, x: np.zeros_like(x, dtype=int) + x,
    lambda np, x: np.ones_like([x[0], 2.0]) * x[0],
    lambda np, x: np.full(3, x[1], dtype=np.float32),
    lambda np, x: np.full((2, 3), x),
    lambda np, x: np.full(shape=(2,), fill_value=x[0]),
    lambda np, x: np.full_like(x, x[1]),
    lambda np, x: np.full_like(x, x[1], dtype=np.float32, shape=(2, 1)),
    lambda np, x: np.linspace(x[0], x[1], 5, endpoint=False),
    lambda np, x: np.linspace(x, x + 1, 3),
    lambda np, x: np.linspace(x[0], x[1], 1),
    lambda np, x: np.linspace(x[0], x[1], 0),
    lambda np, x: np.linspace(start=0, stop=x, num=3),
    lambda np, x: np.logspace(x[0], 1.0, 3, base=x[1]),
    lambda np, x: np.geomspace(x[0], x[1], num=3),
    lambda np, x: np.arange(3) * x,
    lambda np, x: np.eye(3) @ x + np.identity(3)[0] + np.tri(3)[1],
    lambda np, x: np.diag(x),
    bug(lambda np, x: np.array(x, ndmin=2), OPTIONS),
    bug(lambda np, x: np.asarray(x, copy=True), OPTIONS),
    bug(lambda np, x: np.linspace(x, x + 1, 5, axis=-1), OPTIONS),
    bug(lambda np, x: np.linspace(x[0], x[1], 5, dtype=np.float32), OPTIONS),
    bug(lambda np, x: np.linspace(x[0], x[1], 5, retstep=True)[1], OPTIONS),
    bug(lambda np, x: np.linspace(*x.astype(np.float32)[:2], 3), "float32 end points give float64"),
    bug(lambda np, x: np.zeros(3, device="cpu") + x, OPTIONS),
    bug(lambda np, x: np.zeros_like(x, order="C") + x, OPTIONS),
    bug(lambda np, x: np.logspace(0, 1, 3, dtype=np.float32) * x, OPTIONS),
    bug(lambda np, x: np.geomspace(-x[0], -x[1], 3), "the logarithm of negative end points"),
    bug(lambda np, x: np.ascontiguousarray(2.0) * x[0], "at least one axis"),
    bug(lambda np, x: np.mean([x[0], x[1]]), "NumPy's ValueError: a list is not dispatched"),
]


@pytest.mark.parametrize("make", CREATED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_creation(make):
    expected = make(numpy, x0)
    plain = make(cnp, x0)
    assert (plain.dtype, plain.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_array_equal(plain, expected)
    inside = []
    cr.grad(lambda x: numpy.sum(numpy.real(inside.append(make(cnp, x)) or inside[-1])))(x0)
    assert isinstance(inside[0], cr.Variable)
    assert (inside[0].dtype, inside[0].shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(inside[0].value, expected, rtol=1e-15)


@pytest.mark.xfail(reason="asanyarray and ascontiguousarray are asarray, also for plain arrays")
def test_plain_arrays_get_numpy_s_own_functions():
    assert cnp.ascontiguousarray(M0.T[::2]).flags.c_contiguous
    assert isinstance(cnp.asanyarray(numpy.ma.array([1.0, 2.0])), numpy.ma.MaskedArray)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_only_floats_inside_a_transform_are_assignable(name):
    make = getattr(cnp, name)
    kinds = {}
    assert type(make(2)) is numpy.ndarray

    def f(x):
        kinds.update({k: type(make(2, k)) for k in ("f4", "c16", "i8", "?")})
        return x

    cr.grad(f)(1.0)
    assert [kinds[k] is cr.Variable for k in ("f4", "c16", "i8", "?")] == [True, True, False, False]


def test_empty_is_the_same_on_every_run():
    def f(x):
        a = cnp.empty(4)
        a[0] = x
        return numpy.sum(a)

    assert {cr.value_and_grad(f)(2.0) for _ in range(3)} == {(2.0, 1.0)}


# ---- the namespace ------------------------------------------------------------------------------


def test_everything_numpy_has_is_there():
    missing = [n for n in numpy.__all__ if not hasattr(cnp, n)]
    assert missing == []
    for name in (
        "pi",
        "float32",
        "newaxis",
        "linalg",
        "fft",
        "random",
        "errstate",
        "sin",
        "ndarray",
    ):
        assert getattr(cnp, name) is getattr(numpy, name)
    assert set(cnp.__all__) <= set(dir(cnp))
    assert {"sin", "softmax", "linspace"} <= set(dir(cnp))


def test_ops_numpy_has_no_name_for():
    for name in ("softmax", "logsumexp", "erf", "relu"):
        assert getattr(cnp, name) is cr.OPS[name]
    with pytest.raises(AttributeError, match="neither numpy nor chainrule has 'no_such_thing'"):
        cnp.no_such_thing  # noqa: B018

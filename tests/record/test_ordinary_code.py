"""`import chainrule.numpy as np`: ordinary NumPy code runs unchanged, also inside cr.grad.

Each snippet is run with np = numpy, with np = chainrule.numpy, and inside cr.grad.
"""

import numpy
import pytest

import chainrule as cr
import chainrule.numpy as cnp

x0 = numpy.array([0.5, 1.5, 2.5])


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


# ---- arrays made and written to in what is run many times ------------------------------------


def filled(c):
    y = cnp.zeros(2)
    y[0] = c[1]
    y[1] = c[0] * 2
    return y


def filled_like(c):
    y = cnp.ones_like(c)
    y[0] = c[1]
    y *= c
    return y


@pytest.mark.parametrize("f", [filled, filled_like])
def test_an_array_made_in_a_loop_s_body_or_in_lanes_is_written_to(f):
    def ended(c):
        return cnp.sum(cr.scan(lambda c, _: (f(c), None), c, None, length=3)[0] ** 2)

    def plain(c):
        for _ in range(3):
            c = f(c)
        return cnp.sum(c**2)

    at = numpy.array([0.5, -1.5])
    numpy.testing.assert_allclose(cr.grad(ended)(at), cr.grad(plain)(at))
    numpy.testing.assert_allclose(cr.compile(cr.grad(ended))(at), cr.grad(plain)(at))
    lanes = numpy.array([[1.0, 2.0], [-0.5, 3.0], [0.0, 1.0]])
    numpy.testing.assert_allclose(cr.vmap(f)(lanes), [f(c) for c in lanes])
    numpy.testing.assert_allclose(
        cr.vmap(cr.jacobian(f))(lanes), [cr.jacobian(f)(c) for c in lanes]
    )
    numpy.testing.assert_allclose(
        cr.grad(lambda c: cnp.sum(cr.vmap(f)(c) ** 2))(lanes),
        [cr.grad(lambda c: cnp.sum(f(c) ** 2))(c) for c in lanes],
    )

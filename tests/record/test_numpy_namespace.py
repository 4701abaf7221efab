"""`chainrule.numpy`: NumPy's namespace, with creation functions that take Variables."""

import numpy
import pytest

import chainrule as cr
import chainrule.numpy as cnp

x0 = numpy.array([0.5, 1.5, 2.5])

# ---- creation -----------------------------------------------------------------------------------


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
    lambda np, x: np.array(x, ndmin=2),
    lambda np, x: np.asarray(x, copy=True),
    lambda np, x: np.linspace(x, x + 1, 5, axis=-1),
    lambda np, x: np.linspace(x[0], x[1], 5, dtype=np.float32),
    lambda np, x: np.linspace(x[0], x[1], 5, retstep=True)[1],
    lambda np, x: np.linspace(*x.astype(np.float32)[:2], 3),
    lambda np, x: np.zeros(3, device="cpu") + x,
    lambda np, x: np.zeros_like(x, order="C") + x,
    lambda np, x: np.logspace(0, 1, 3, dtype=np.float32) * x,
    lambda np, x: np.geomspace(-x[0], -x[1], 3),
    lambda np, x: np.ascontiguousarray(2.0) * x[0],
    lambda np, x: np.mean([x[0], x[1]]),
    lambda np, x: np.std(a=[x[0], (x[1] + 1)]),
    lambda np, x: np.array([x, x], order="F", ndmin=3),
    lambda np, x: np.asfortranarray([x, x]),
    lambda np, x: np.full(2, [x[0], 1.0], order="F"),
    lambda np, x: np.full_like([x[0], 1.0], x[1], order="C"),
    lambda np, x: np.linspace([x[0], 1], [2, x[1]], 3),
    lambda np, x: np.linspace(x[0], x[1], 4, endpoint=False, retstep=True)[1],
    lambda np, x: np.linspace(x[0], x[1], 3, device="cpu"),
    lambda np, x: np.logspace(x[0], x[1], 3, base=x, axis=-1, dtype=np.float32),
    lambda np, x: np.geomspace(-x, x[0] * (1 + 1j), 3, axis=1),
    lambda np, x: np.astype(x, np.float32, copy=False),
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


def test_plain_arrays_get_numpy_s_own_functions():
    assert cnp.ascontiguousarray(numpy.ones((4, 4))[::2, ::2]).flags.c_contiguous
    assert isinstance(cnp.asanyarray(numpy.ma.array([1.0, 2.0])), numpy.ma.MaskedArray)


@pytest.mark.parametrize(
    ("create", "named"),
    [
        (lambda x: cnp.array(x, like=x0), "like"),
        (lambda x: cnp.array([x], ndmax=1), "ndmax"),
        (lambda x: cnp.array([x], copy=False), "copy"),
        (lambda x: cnp.array(x.astype("f4"), float, copy=False), "copy"),
        (lambda x: cnp.asarray(x, device="gpu"), "device"),
        (lambda x: cnp.full(3, x, device="gpu"), "device"),
        (lambda x: cnp.full(3, x, like=x0), "like"),
        (lambda x: cnp.full(3, x * 1j, dtype=float), "imaginary"),
        (lambda x: cnp.full_like(x, x * 1j), "imaginary"),
        (lambda x: cnp.zeros_like(x, device="gpu"), "device"),
        (lambda x: cnp.linspace(x, 1, device="gpu"), "device"),
        (lambda x: cnp.linspace(x, 1, 5, axis=2), "axis 2"),
        (lambda x: cnp.linspace(x, 1, -5), "-5"),
        (lambda x: cnp.geomspace(x, 0), "zero"),
        (lambda x: cnp.zeros(3, like=x), "zeros"),
    ],
)
def test_options_that_cannot_be_had_are_refused(create, named):
    with pytest.raises(cr.ChainruleError, match=named) as caught:
        create(cr.variable(x0))
    assert "test_numpy_namespace.py" in str(caught.value)


def test_layout_is_as_asked_for():
    x = cr.variable(numpy.ones((2, 3)))
    assert cnp.asfortranarray(x).value.flags.f_contiguous
    assert cnp.array(x, order="F").value.flags.f_contiguous
    assert cnp.ascontiguousarray(x.T).value.flags.c_contiguous
    assert cnp.ascontiguousarray(x) is x
    assert numpy.copy(x, order="F").value.flags.f_contiguous
    assert cnp.zeros_like(x.T).flags.f_contiguous
    assert numpy.full_like(x.T, x[0, 0]).value.flags.f_contiguous


def test_ends_of_a_range_are_differentiated():
    jacobian = cr.jacobian(lambda x: numpy.linspace(x[0], x[1], 3))(x0)
    numpy.testing.assert_allclose(jacobian, [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0]])
    cr.check_grads(lambda x: cnp.logspace(x[0], [x[1], 1.0], 3, base=x[2]), x0)
    cr.check_grads(lambda x: cnp.geomspace(-x[0], [-x[1], -1.0], 3), x0)


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

"""`chainrule.numpy`: NumPy's namespace, with creation functions that take Variables."""

import numpy
import pytest

import chainrule as cr
import chainrule.numpy as cnp

x0 = numpy.array([0.5, 1.5, 2.5])

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
    assert cnp.ascontiguousarray(numpy.ones((4, 4))[::2, ::2]).flags.c_contiguous
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

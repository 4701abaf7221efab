"""The methods an ndarray has: a Variable's give the same values, or say that they are not there."""

import numpy as np
import pytest

import chainrule as cr

A = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
C = A - 2j * A[::-1]


def call(name, *args, **kwargs):
    return pytest.param(name, args, kwargs, id=f"{name}{args or ''}{kwargs or ''}")


METHODS = [
    *(call("all"), call("all", 0), call("any", axis=1, keepdims=True)),
    *(call("argmax"), call("argmax", 1), call("argmin", axis=0, keepdims=True)),
    *(call("argsort"), call("argsort", 0), call("argsort", kind="stable"), call("argpartition", 1)),
    *(call("astype", np.float32), call("astype", "c16"), call("astype", int)),
    *(call("astype", np.float32, copy=False), call("conj"), call("conjugate")),
    *(call("clip", 2, 4), call("clip", 2), call("clip", None, 4), call("clip", max=3)),
    *(call("copy"), call("copy", "F"), call("cumprod"), call("cumprod", 0), call("cumsum", axis=1)),
    *(call("cumsum", 0, "f4"), call("diagonal"), call("diagonal", 1), call("diagonal", offset=-1)),
    *(call("dot", np.ones((3, 2))), call("dot", 2.0), call("flatten"), call("flatten", "F")),
    *(call("max"), call("max", 0), call("max", axis=1, keepdims=True, initial=4.5)),
    *(call("mean"), call("mean", 0), call("mean", axis=(0, 1)), call("mean", 1, "f4")),
    *(call("min"), call("min", axis=-1), call("nonzero"), call("prod"), call("prod", 0)),
    *(call("prod", keepdims=True), call("ravel"), call("ravel", "F"), call("ravel", order="C")),
    *(call("repeat", 2), call("repeat", 2, 1), call("repeat", [1, 2], axis=0)),
    *(call("reshape", 3, 2), call("reshape", (3, 2)), call("reshape", -1), call("reshape", [3, 2])),
    *(call("reshape", 3, 2, order="F"), call("reshape", 3, -1), call("reshape", (6,))),
    *(call("round"), call("round", 1), call("round", decimals=1)),
    *(call("squeeze"), call("std"), call("std", 0), call("std", axis=1, keepdims=True, ddof=1)),
    *(call("sum"), call("sum", 0), call("sum", axis=(0, 1)), call("sum", 1, "f4")),
    *(call("sum", keepdims=True), call("swapaxes", 0, 1)),
    *(call("take", [0, 2]), call("take", [0, 1], axis=1), call("take", 1, 0)),
    *(call("take", [7], mode="wrap"), call("trace"), call("trace", 1), call("trace", offset=1)),
    *(call("transpose"), call("transpose", 1, 0), call("transpose", (1, 0))),
    *(call("transpose", None), call("var"), call("var", 1), call("var", axis=0, ddof=1)),
    *(call("__len__"), call("tolist")),
    *(call("compress", [True], axis=0), call("compress", [True, False, True], 1, None)),
    call("mean", where=True),
    call("sum", initial=5.0),
    *(call("transpose", [1, 0]), call("item", 3), call("item", 1, 2), call("item", (0, 0))),
    *(call("max", 0, None, True), call("mean", 0, None, None, True)),
    *(call("max", where=True), call("max", axis=0, initial=9.5, where=A > 9)),
    *(call("std", 0, None, None, 1), call("sum", 0, None, None), call("sum", out=None)),
    *(call("take", [7], 1, None, "wrap"), call("clip", 2, 4, None)),
]


def plain(out):
    if isinstance(out, (tuple, list)):
        return [plain(o) for o in out]
    return np.asarray(out.value if isinstance(out, cr.Variable) else out)


def assert_same(found, expected):
    if isinstance(expected, list):
        assert isinstance(found, list)
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e)
        return
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("array", [A, C, A[:, :1], A[:1]], ids=["real", "complex", "column", "row"])
@pytest.mark.parametrize(("name", "args", "kwargs"), METHODS)
@pytest.mark.filterwarnings(
    "ignore"
)  # NumPy's own, of complex casts and too few degrees of freedom
def test_method(array, name, args, kwargs):
    try:
        expected = getattr(array.copy(), name)(*args, **kwargs)
    except (ValueError, TypeError, IndexError):
        with pytest.raises((cr.ChainruleError, TypeError)):
            getattr(cr.variable(array), name)(*args, **kwargs)
        return
    assert_same(plain(getattr(cr.variable(array), name)(*args, **kwargs)), plain(expected))


IN_PLACE = [
    *(call("sort"), call("sort", 0), call("sort", axis=-2), call("sort", kind="stable")),
    *(call("fill", 7.0), call("put", [0, 3], [9.0, 8.0]), call("partition", 1)),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), IN_PLACE)
def test_method_that_writes(name, args, kwargs):
    array, y = A.copy(), cr.variable(A) * 1.0
    assert getattr(array, name)(*args, **kwargs) is None
    assert getattr(y, name)(*args, **kwargs) is None
    np.testing.assert_array_equal(y.value, array)
    view = (cr.variable(A) * 1.0)[:, 1:]
    with pytest.raises(cr.ViewWriteError):
        getattr(view, name)(*args, **kwargs)


@pytest.mark.parametrize(
    "name", ["T", "mT", "real", "imag", "shape", "dtype", "ndim", "size", "nbytes"]
)
@pytest.mark.parametrize("array", [A, C], ids=["real", "complex"])
def test_property(array, name):
    found, expected = getattr(cr.variable(array), name), getattr(array, name)
    if isinstance(expected, np.ndarray):
        assert_same(plain(found), expected)
    else:
        assert found == expected


def test_flat_walks_every_lane():
    x = cr.variable(A)
    assert [v.value for v in x.flat] == list(A.flat)
    sum(v * k for k, v in enumerate(x.flat)).backward()
    np.testing.assert_array_equal(x.grad.ravel(), np.arange(6.0))


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        call("sort", axis=None),
        call("partition", 1, axis=None),
        call("astype", "i8", casting="safe"),
        call("item", 9),
        call("item", 0, 5),
        call("item"),
        call("reshape", 4),
        call("squeeze", 0),
        call("swapaxes", 0, 2),
        call("sum", axis=2),
        call("take", [9]),
        call("transpose", 0, 0),
        call("repeat", -1),
    ],
)
def test_what_numpy_refuses(name, args, kwargs):
    with pytest.raises((ValueError, TypeError, IndexError)):
        getattr(A.copy(), name)(*args, **kwargs)
    y = cr.variable(A) * 1.0
    with pytest.raises(cr.ChainruleError):
        getattr(y, name)(*args, **kwargs)
    np.testing.assert_array_equal(y.value, A)


# ---- what is not there ---------------------------------------------------------------------------

ABSENT = [n for n in dir(np.ndarray) if not n.startswith("_") and not hasattr(cr.Variable, n)]


def test_what_is_not_there_is_about_memory_or_files():
    assert set(ABSENT) <= {
        *("base", "byteswap", "ctypes", "data", "device", "dump", "dumps", "flags", "getfield"),
        *("itemsize", "resize", "setfield", "setflags", "strides", "to_device", "tobytes"),
        *("tofile", "view"),
    }


@pytest.mark.parametrize("name", ABSENT)
def test_a_method_that_is_not_there_names_itself(name):
    x = cr.variable(A)
    assert not hasattr(x, name)
    with pytest.raises(cr.UnsupportedError, match=rf"ndarray\.{name} is not supported.*x\.value"):
        getattr(x, name)


def test_an_attribute_nobody_has():
    with pytest.raises(AttributeError, match="'Variable' object has no attribute 'colour'") as said:
        cr.variable(A).colour  # noqa: B018
    assert "test_methods.py:" in str(said.value)  # the user's line


# ---- elements of object arrays -------------------------------------------------------------------

ON_ELEMENTS = [
    *("sin", "cos", "exp", "log", "sqrt", "tanh", "arctan", "log1p", "expm1", "cbrt", "rint"),
    *("absolute", "negative", "square", "reciprocal", "conjugate", "sign"),
]


@pytest.mark.parametrize("name", ON_ELEMENTS)
def test_a_ufunc_of_an_object_array_reaches_its_elements(name):
    """NumPy calls x[0].sin() where an array holds objects."""
    x = cr.variable([0.5, 1.5])
    boxed = np.array([x[0], 2.0 * x[1]])
    assert boxed.dtype == object
    made = getattr(np, name)(boxed)
    expected = getattr(np, name)(np.array([0.5, 3.0]))
    np.testing.assert_array_equal([float(v) for v in made], expected)
    if name not in ("sign", "rint"):
        np.sum(made).backward()
        slope = cr.grad(lambda t: np.sum(getattr(np, name)(t * np.array([1.0, 2.0]))))
        np.testing.assert_allclose(x.grad, slope(np.array([0.5, 1.5])))


@pytest.mark.parametrize("name", ["arctan2", "hypot", "power", "maximum", "multiply"])
def test_a_binary_ufunc_of_an_object_array(name):
    x = cr.variable([0.5, 1.5])
    made = getattr(np, name)(np.array([x[0], x[1]]), 2.0)
    expected = getattr(np, name)(np.array([0.5, 1.5]), 2.0)
    np.testing.assert_array_equal([float(v) for v in made], expected)


def test_an_object_array_meets_a_variable_as_a_stack():
    x = cr.variable([0.5, 1.5])
    boxed = np.array([[x[0], 1.0], [2.0, x[1]]])
    made = x + boxed
    assert made.dtype == np.float64
    assert made.node.op.name == "add"
    np.sum(made).backward()
    np.testing.assert_array_equal(x.grad, [3.0, 3.0])


def test_an_op_of_an_object_array():
    x = cr.variable([0.5, 1.5])
    assert isinstance(cr.erf(np.array([x[0], x[1]])), cr.Variable)

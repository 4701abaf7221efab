"""NumPy's functions, however called (`folding.py`): value and dtype are NumPy's own."""

import numpy as np
import pytest

import chainrule as cr
import chainrule.numpy as cnp

A = np.array([[3.0, -1.0, 2.0], [6.0, 5.0, -4.0]])
B = A[::-1] + 0.5


def plain(out):
    """What NumPy would have returned: values in place of Variables."""
    if isinstance(out, (tuple, list)):
        return [plain(o) for o in out]
    return np.asarray(out.value if isinstance(out, cr.Variable) else out)


def assert_same(found, expected):
    found, expected = plain(found), plain(expected)
    pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
    for f, e in pairs:
        assert (f.shape, f.dtype) == (e.shape, e.dtype)
        np.testing.assert_array_equal(f, e)


# ---- ways to call -------------------------------------------------------------------------------

CALLS = [
    lambda a: np.sum(a, 0),
    lambda a: np.sum(a=a),
    lambda a: np.sum(a=a, axis=1, keepdims=True),
    lambda a: np.sum(a, axis=(0, 1)),
    lambda a: np.sum(a, 0, None, None, True),
    lambda a: np.sum(a, 0, np.float32),
    lambda a: np.sum(a, out=None),
    lambda a: np.sum(a, where=A > 0),
    lambda a: np.max(a, 0, None, True),
    lambda a: np.max(a, axis=-1, initial=4.0),
    lambda a: np.max(a, where=A > 9, initial=-9.0),
    lambda a: np.mean(a, 1),
    lambda a: np.mean(a, axis=0, dtype=np.float32),
    lambda a: np.std(a, 0, None, None, 1),
    lambda a: np.std(a, ddof=1, keepdims=True),
    lambda a: np.var(a, axis=1, correction=1),
    lambda a: np.clip(a, 0, 4),
    lambda a: np.clip(a, None, 4),
    lambda a: np.clip(a, a_min=0, a_max=None),
    lambda a: np.clip(a, min=0, max=4),
    lambda a: np.clip(a=a, a_min=0, a_max=4),
    lambda a: np.reshape(a, (3, 2)),
    lambda a: np.reshape(a, shape=(3, 2), order="F"),
    lambda a: np.transpose(a),
    lambda a: np.transpose(a, (1, 0)),
    lambda a: np.transpose(a, axes=[1, 0]),
    lambda a: np.moveaxis(a, 0, 1),
    lambda a: np.moveaxis(a, source=[0], destination=[-1]),
    lambda a: np.concatenate([a, a]),
    lambda a: np.concatenate((a, A), 1),
    lambda a: np.concatenate([A, a], axis=None),
    lambda a: np.stack([a, A], -1),
    lambda a: np.stack(arrays=[a, a], axis=1),
    lambda a: np.dot(a, A.T),
    lambda a: np.dot(a=A, b=a.T),
    lambda a: np.einsum("ij,kj->ik", a, A, optimize=True),
    lambda a: np.einsum(a, [0, 1], [1]),
    lambda a: np.tensordot(a, A, axes=([0, 1], [0, 1])),
    lambda a: np.where(A > 0, a, 0),
    lambda a: np.where(a > 0),
    lambda a: np.diff(a, n=1, axis=0),
    lambda a: np.diff(a, prepend=0),
    lambda a: np.linalg.norm(a),
    lambda a: np.linalg.norm(x=a, axis=0, keepdims=True),
    lambda a: np.linalg.norm(a, 1, 0),
    lambda a: np.sort(a, kind="stable"),
    lambda a: np.sort(a, axis=None),
    lambda a: np.argsort(a, 0),
    lambda a: np.pad(a, ((1, 0), (0, 1)), constant_values=5),
    lambda a: np.pad(a, 1, "edge"),
    lambda a: np.split(a, 3, axis=1),
    lambda a: np.meshgrid(a[0], a[1], indexing="ij"),
    lambda a: np.average(a, axis=0, weights=[1, 2]),
    lambda a: np.quantile(a, [0.2, 0.5], axis=1),
    lambda a: np.atleast_2d(a[0], 1.0),
    lambda a: np.broadcast_arrays(a, 1.0),
    lambda a: np.take(a, [0, 1], axis=1, mode="wrap"),
    lambda a: np.roll(a, shift=1, axis=0),
    lambda a: np.tile(a, reps=(2, 1)),
    lambda a: np.full_like(a, 2.0),
    lambda a: np.zeros_like(a, dtype=np.float32),
    lambda a: np.ones_like(a, shape=(2,)),
    lambda a: np.float_power(a.astype(np.float32), 2),
    lambda a: np.astype(a, np.float32),
    lambda a: np.sum(a, initial=5.0),
    lambda a: np.mean(a, where=A > 0),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call(call):
    assert_same(call(cr.variable(A)), call(A))


# ---- ufuncs -------------------------------------------------------------------------------------

METHODS = [
    lambda a: np.add.reduce(a),
    lambda a: np.add.reduce(a, 1),
    lambda a: np.add.reduce(a, axis=None),
    lambda a: np.add.reduce(a, axis=(0, 1), keepdims=True),
    lambda a: np.add.reduce(a, dtype=np.float32),
    lambda a: np.multiply.reduce(a, axis=1),
    lambda a: np.maximum.reduce(a),
    lambda a: np.maximum.reduce(a, initial=4.0),
    lambda a: np.minimum.reduce(a, axis=-1),
    lambda a: np.logical_and.reduce(a > 0),
    lambda a: np.logical_or.reduce(a > 5, axis=1),
    lambda a: np.add.accumulate(a),
    lambda a: np.add.accumulate(a, axis=1, dtype=np.float32),
    lambda a: np.multiply.accumulate(a),
    lambda a: np.maximum.accumulate(a, 1),
    lambda a: np.minimum.accumulate(a),
    lambda a: np.add.outer(a, a[0]),
    lambda a: np.subtract.outer(A[0], a),
    lambda a: np.multiply.outer(2.0, a),
    lambda a: np.power.outer(np.abs(a), [1, 2]),
    lambda a: np.maximum.outer(a[0], a[1]),
    lambda a: np.sin(a, where=True, out=None),
    lambda a: np.add(a, 1, None),
    lambda a: np.add(a, 1, order="F", subok=False),
    lambda a: np.add(a, 1, dtype=np.float64),
    lambda a: np.add.reduce(a, where=A > 0),
    lambda a: np.add.reduce(a, initial=5.0),
    lambda a: np.sqrt(-np.abs(a), dtype=complex),
    lambda a: np.sin(a, dtype=np.float32),
    lambda a: np.add(a, 1, signature="ff->f"),
    lambda a: np.add(1e-9, a, sig=(None, None, "f")),
    lambda a: np.add(a, 1.7, dtype=int, casting="unsafe"),
    lambda a: np.greater(a, 1, dtype=bool),
    lambda a: np.add(a, A.astype("f4"), casting="safe"),
]


@pytest.mark.parametrize("call", METHODS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_ufunc_s_method_or_keyword(call):
    assert_same(call(cr.variable(A)), call(A))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.add(a, 1, dtype=int),
        lambda a: np.add(a, 1, signature="ll->l"),
        lambda a: np.add(a, A.astype("f4"), casting="no"),
        lambda a: np.sin(a, dtype="f4", casting="safe"),
        lambda a: np.sin(a, signature="nonsense"),
    ],
)
def test_a_cast_numpy_would_refuse(call):
    with pytest.raises((TypeError, ValueError)):
        call(A)
    with pytest.raises(cr.ChainruleError, match=r"test_protocol\.py"):
        call(cr.variable(A))


def test_a_dtype_is_differentiated_through():
    x = cr.variable([0.5, 2.0])
    np.sum(np.abs(np.sqrt(-x, dtype=complex)) ** 2).backward()
    np.testing.assert_allclose(x.grad, [1.0, 1.0])


def test_a_destination_is_refused_with_the_way_out():
    x, out = cr.variable(A), np.zeros_like(A)
    for call in (
        *(lambda: np.sin(x, out=out), lambda: np.sin(x, out), lambda: np.add(x, x, out=(out,))),
        *(lambda: np.sin(A, out=x), lambda: np.add.reduce(x, out=out[0])),
    ):
        with pytest.raises(cr.DetachError, match=r"cannot write .*\n.*test_protocol"):
            call()
    assert not out.any()
    with pytest.raises(cr.UnsupportedError, match=r"np\.where\(mask, np\.sin\(x\), otherwise\)"):
        np.sin(x, where=A > 0)
    for function in (np.sum, np.mean, np.max, np.cumsum, np.clip, np.std):
        with pytest.raises(cr.ChainruleError, match="out"):
            function(x, *((0, 1) if function is np.clip else ()), out=out)


@pytest.mark.parametrize(
    ("call", "named", "nearest"),
    [
        (lambda x: np.packbits(x), "np.packbits", None),
        (lambda x: np.frexp(x), "frexp", "exp"),
        (lambda x: np.spacing(x), "spacing", None),
        (lambda x: np.histogram2d(x, x), "np.histogram2d", "histogram"),
        (lambda x: np.polydiv(x, x), "np.polydiv", "poly"),
        (lambda x: np.apply_over_axes(np.sum, x, 0), "np.apply_over_axes", "apply_along_axis"),
        (lambda x: np.multiply.at(x, 0, 2.0), "multiply.at", None),
        (lambda x: np.sin.at(x, 0), "sin.at", None),
    ],
)
def test_an_unknown_function_is_named_with_its_line(call, named, nearest):
    with pytest.raises(cr.UnsupportedError) as caught:
        call(cr.variable(A[0]))
    text = str(caught.value)
    assert text.startswith(f"{named} is not supported on a Variable")
    assert "test_protocol.py" in text
    assert isinstance(caught.value, TypeError)
    if nearest:
        assert nearest in text.split("nearest supported function is ")[1].split("\n")[0]


def test_an_unknown_keyword_is_named():
    x = cr.variable(A)
    with pytest.raises(cr.UnsupportedError, match=r"np\.median .*take overwrite_input=True"):
        np.median(x, overwrite_input=True)
    with pytest.raises(TypeError):
        np.sum(x, colour=1)


def test_adding_at_places_of_a_plain_array():
    with pytest.raises(cr.DetachError, match=r"np\.add\.at .*\n.*test_protocol\.py"):
        np.add.at(np.zeros(3), [0, 0], cr.variable(1.0))


# ---- questions ----------------------------------------------------------------------------------

INQUIRIES = [
    lambda a: np.shape(a),
    lambda a: np.size(a),
    lambda a: np.size(a, 1),
    lambda a: np.ndim(a),
    lambda a: np.shape([a, a]),
    lambda a: np.allclose(a, A),
    lambda a: np.allclose(A, a, atol=1),
    lambda a: np.allclose([a], [A + 1]),
    lambda a: np.array_equal(a, A),
    lambda a: np.array_equiv(a, A[:1]),
    lambda a: np.iscomplexobj(a),
    lambda a: np.isrealobj(a),
    lambda a: np.result_type(a, np.float32),
    lambda a: np.can_cast(a.dtype, np.float32),
    lambda a: np.common_type(a),
    lambda a: np.array2string(a, precision=2),
    lambda a: np.array_repr(a),
    lambda a: np.array_str(a),
    lambda a: np.size(a=a),
    lambda a: np.shape(a=a),
    lambda a: np.allclose(A, b=a),
    lambda a: np.array_equal(a1=a, a2=A),
]


@pytest.mark.parametrize("ask", INQUIRIES)
def test_a_question_is_answered_as_for_the_array(ask):
    found, expected = ask(cr.variable(A)), ask(A)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("ask", [np.isclose, np.equal, np.greater, np.not_equal])
def test_a_comparison_is_numpy_s(ask):
    assert_same(ask(cr.variable(A), B), ask(A, B))
    assert_same(ask(B, cr.variable(A)), ask(B, A))


def test_errors_asked_of_numpy_are_numpy_s():
    """By the long path and the short, of a ufunc and of an operator."""
    x = cr.variable([0.0, 1.0])
    with np.errstate(all="raise"):
        for call in (lambda: np.log(x), lambda: np.log(x), lambda: 1 / x, lambda: np.exp(x * 1e5)):
            with pytest.raises(FloatingPointError):
                call()


@pytest.mark.parametrize("make", [np.array, np.real, np.imag, np.angle, np.sum])
def test_complex_variables_are_not_put_into_an_array_of_objects(make):
    """Of which NumPy takes the imaginary part to be 0, without a word."""
    z = cr.variable(np.array([1 + 2j, 3 - 1j]))
    with pytest.raises(cr.DetachError, match=r"np\.stack") as caught:
        make([z[0], z[1]])
    assert "make([z[0], z[1]])" in str(caught.value)
    assert isinstance(cnp.array([z[0], z[1]]), cr.Variable)

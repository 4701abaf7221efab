"""Every parameter of every NumPy function is taken with NumPy's meaning, or refused by name."""

from __future__ import annotations

import dis
import inspect
from types import CodeType
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import Op, Sample

# -- none is unknown, none is dropped -----------------------------------------------------------

VALUES: dict[str, Any] = {"out": np.zeros(3), "weights": np.ones(3), "dtype": np.float32}
WITHOUT_MEANING = {
    "item": {"count"},  # read by its rule
    "broadcast_arrays": {"subok"},  # there are no subclasses of Variable
    "unique": {"sorted"},  # in order is one of the orders of sorted=False
}
FUNCTIONS = [
    pytest.param(op, f, id=f"{op.name}-{f.__module__}.{f.__name__}")
    for op in cr.OPS.values()
    for f in op.numpy
    if not isinstance(f, (str, np.ufunc))
]


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return {}


def not_ours(op: Op, function: Any) -> list[str]:
    """NumPy's parameters, beside the arrays, that the op does not have."""
    found = parameters(function)
    if any(p.kind is p.VAR_POSITIONAL for p in found.values()):
        names = [n for n, p in found.items() if p.kind is p.KEYWORD_ONLY]
    else:
        names = list(found)[1 if op.variadic else len(op.inputs) :]
    named = (n for n in names if found[n].kind is not inspect.Parameter.VAR_KEYWORD)
    return [n for n in named if n not in op.attrs and n not in op.inputs]


def as_variables(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_variables(v) for v in value]
    floats = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc"
    return cr.variable(value) if floats else value


def call_with(op: Op, function: Any, sample: Sample, **options: Any) -> Any:
    args, attrs = as_variables(sample.args), dict(sample.attrs)
    spread = any(p.kind is p.VAR_POSITIONAL for p in parameters(function).values())
    return function(*(args if spread or not op.variadic else [args]), **attrs, **options)


@pytest.mark.parametrize(("op", "function"), FUNCTIONS)
def test_a_parameter_we_do_not_have_is_refused_by_name(op, function):
    for name in not_ours(op, function):
        given = {name: VALUES.get(name, True)}
        with pytest.raises(cr.ChainruleError, match=rf"{name}|existing array") as caught:
            call_with(op, function, op.samples()[0], **given)
        assert "test_signatures.py" in str(caught.value)


def names_read(code: CodeType) -> set[str]:
    loads = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLOSURE")
    found = {str(i.argval) for i in dis.get_instructions(code) if i.opname in loads}
    return found.union(*(names_read(c) for c in code.co_consts if isinstance(c, CodeType)))


@pytest.mark.parametrize("op", list(cr.OPS.values()), ids=lambda op: op.name)
def test_no_parameter_is_taken_and_dropped(op):
    code = getattr(inspect.unwrap(op.forward), "__code__", None)
    read = set() if code is None else names_read(code)
    assert set(op.attrs) - read == WITHOUT_MEANING.get(op.name, set())


# -- what is taken means what it means to NumPy -------------------------------------------------

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
V = np.array([3.0, 1.0, 2.0, 1.0])
S = np.array([[2.0, 1.0], [1.0, 3.0]])
N = np.array([[np.nan, 1.0, 2.0], [3.0, np.nan, 0.5]])
KEPT = np.array([True, True, False])
OPTIONS = [
    (X, lambda x: np.concatenate([x, x], dtype="f4")),
    (X, lambda x: np.concatenate([x, x], dtype="f4", casting="safe")),
    (X, lambda x: np.stack([x, x], dtype="c8", casting="same_kind")),
    (X, lambda x: np.hstack([x, x], dtype="i4", casting="same_kind")),
    (X, lambda x: np.vstack([x, x], dtype="i4", casting="unsafe")),
    (X, lambda x: np.reshape(x, (3, 2), copy=False)),
    (X, lambda x: np.reshape(x.T, (6,), copy=False)),
    (X, lambda x: np.ravel(x.T, order="K")),
    (X, lambda x: np.trace(x, 1, 1, 0, "f4")),
    (X, lambda x: np.linalg.trace(x, offset=1, dtype="f4")),
    (X, lambda x: np.cumulative_sum(x, axis=1, dtype="f4")),
    (N, lambda x: np.nanmax(x, axis=1, where=KEPT, initial=-5)),
    (N, lambda x: np.nanmin(x, axis=1, where=KEPT, initial=5)),
    (N, lambda x: np.nansum(x, axis=0, initial=3.0, dtype="f4")),
    (N, lambda x: np.nanprod(x, axis=0, initial=3.0, dtype="c16")),
    (N, lambda x: np.nancumsum(x, axis=0, dtype="f4")),
    (N, lambda x: np.nancumprod(x, axis=0, dtype="f4")),
    (N, lambda x: np.nanmean(x, axis=0, dtype="f4")),
    (N, lambda x: np.nanvar(x, axis=0, mean=np.zeros((1, 3)))),
    (N, lambda x: np.nanstd(x, axis=1, mean=np.zeros((2, 1)), dtype="c16")),
    (X, lambda x: np.std(x, axis=0, dtype="c16")),
    (X.astype("f4"), lambda x: np.var(x, axis=0, dtype="f8")),
    (X, lambda x: np.average(x, axis=1, weights=[1, 2, 3], returned=True, keepdims=True)),
    (V, lambda x: np.sort(x, stable=True)),
    (V, lambda x: np.sort(x, kind="quicksort", stable=True)),
    (V, lambda x: np.sort(x, kind="nonsense")),
    (V, lambda x: np.sort(x, order="field")),
    (V, lambda x: np.argsort(x, stable=True)),
    (V, lambda x: np.argsort(x, order="field")),
    (V, lambda x: np.partition(x, 2, kind="nonsense")),
    (V, lambda x: np.partition(x, 2, order="field")),
    (V, lambda x: np.argpartition(x, 2, kind="nonsense")),
    (S, lambda x: np.linalg.pinv(x, rtol=0.5)),
    (S, lambda x: np.linalg.pinv(x, rcond=0.5, hermitian=True)),
    (S, lambda x: np.linalg.pinv(x, rcond=0.5, rtol=0.5)),
    (S, lambda x: np.linalg.matrix_rank(x, tol=2.0)),
    (S, lambda x: np.linalg.matrix_rank(x, rtol=0.6, hermitian=True)),
    (S, lambda x: np.linalg.matrix_rank(x, tol=1, rtol=0.6)),
    *((S, lambda x, r=r: np.linalg.lstsq(x, np.ones(2), rcond=r)) for r in (0.5, None, -1)),
    (S, lambda x: np.linalg.svd(x, hermitian=True)),
    (X, lambda x: np.linalg.svd(x, full_matrices=False, compute_uv=False)),
    (S, lambda x: np.linalg.eigh(x, UPLO="U")),
    (S, lambda x: np.linalg.eigvalsh(x, "Q")),
    (S, lambda x: np.linalg.cholesky(x, upper=True)),
    (S, lambda x: np.linalg.vector_norm(x, ord=0, axis=0)),
    (S, lambda x: np.linalg.matrix_norm(x, ord=3)),
    (N, lambda x: np.unique(x, equal_nan=False)),
    (V, lambda x: np.isin(x, [1.0, 2.0], assume_unique=True, invert=True)),
    (V[:3], lambda x: np.intersect1d(x, [1.0, 2.0], assume_unique=True)),
    (V[:3], lambda x: np.setxor1d(x, [1.0, 5.0], assume_unique=True)),
    (V[:3], lambda x: np.setdiff1d(x, [1.0, 5.0], assume_unique=True)),
    (X, lambda x: np.cross(x.T, x[::-1].T, axisa=0, axisb=0, axisc=0)),
    (X, lambda x: np.vecdot(x, x, axis=0, keepdims=True)),
    (30 * X, lambda x: np.round(x, decimals=-1)),
    (X, lambda x: np.around(x, decimals=np.int64(1))),
    (X, lambda x: np.clip(a_min=0.0, a_max=1.0, a=x)),
    (X, lambda x: np.clip(x, max=1.0)),
    (X, lambda x: np.clip(x)),
    (X, lambda x: np.cov(x, aweights=[1.0, 2, 3], fweights=[1, 2, 1], ddof=0)),
    (X, lambda x: np.cov(x, bias=True, dtype="f4")),
    (X, lambda x: np.cov(x, fweights=[1, 2, 1.5])),
    (X, lambda x: np.corrcoef(x, rowvar=False, dtype="f4")),
    (X, lambda x: np.einsum("ij,kj", x, x, dtype="f4")),
    (X, lambda x: np.linspace(x, 1.0, 3, dtype=int, axis=1)),
    (V, lambda x: np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0], left=-1, right=9)),
    (V, lambda x: np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0], period=1.7)),
]


def outcome(call: Any, x: Any) -> Any:
    try:
        return call(x)
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises is what is compared
        return error


@pytest.mark.parametrize(("array", "call"), OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_an_option_means_what_it_means_to_numpy(array, call):
    found, expected = outcome(call, cr.variable(array)), outcome(call, array)
    if isinstance(expected, Exception):
        assert isinstance(found, cr.ChainruleError)
        return
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for f, e in zip(found, expected, strict=True):
        value = np.asarray(getattr(f, "value", f))
        assert value.dtype == np.asarray(e).dtype
        tolerance = 1e-5 if value.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(value, e, rtol=tolerance, atol=tolerance)

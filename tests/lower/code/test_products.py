"""Products of matrices: in registers and by BLAS, in every layout, size and number of parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr
from chainrule.lower import build
from chainrule.lower.target import Target

pytest.importorskip("llvmlite")

FORMS = {
    "nn": lambda a, b: a @ b,
    "tn": lambda a, b: a.T @ b,
    "nt": lambda a, b: a @ b.T,
    "tt": lambda a, b: a.T @ b.T,
}


@pytest.fixture(params=["registers", "BLAS"])
def way(request, monkeypatch):
    """On every processor both ways are tested."""
    registers = 32 if request.param == "registers" else 4
    monkeypatch.setattr(build, "host", lambda: Target(registers))
    return request.param


def operands(form, sizes, dtype=np.float64, batch=()):
    rows, summed, columns = sizes
    rng = np.random.default_rng(sum(sizes))
    a = (rows, summed) if form[0] == "n" else (summed, rows)
    b = (summed, columns) if form[1] == "n" else (columns, summed)
    return [rng.normal(size=(*batch, *shape)).astype(dtype) for shape in (a, b)]


def assert_product(form, sizes, dtype, way=None):
    a, b = operands(form, sizes, dtype)
    fast = cr.compile(lambda a, b: FORMS[form](a, b))
    found = fast(a, b)
    if way is not None:
        assert way in fast.report()
    exact = FORMS[form](a.astype(np.longdouble), b.astype(np.longdouble))
    scale = FORMS[form](np.abs(a).astype(float), np.abs(b).astype(float))
    error = np.abs(found - exact) / scale
    assert error.max() < 8 * np.finfo(dtype).eps * np.sqrt(sizes[1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "sizes",
    [
        *[(8, 8, 64), (33, 17, 65), (100, 600, 49), (97, 1030, 24), (13, 2100, 9)],
        (10, 2100, 200),  # a second operand that is turned is rather made the first
        (64, 256, 1024),  # unless lines of the result share a part of the cache
        *[(35, 130, 10), (100, 1100, 5), (64, 2100, 6), (23, 64, 3)],  # few columns
        (129, 94, 99),  # in chunks, of which the last has one row
    ],
)
def test_every_layout(form, dtype, sizes, way):
    assert_product(form, sizes, dtype, way)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(FORMS)),
    st.tuples(st.integers(8, 130), st.integers(4, 130), st.integers(8, 130)),
    st.sampled_from([np.float64, np.float32]),
)
def test_any_size(form, sizes, dtype):
    assert_product(form, sizes, dtype)


@pytest.mark.parametrize("subscripts", ["bik,bkj->bij", "bki,bkj->bij", "bik,bjk->bij"])
def test_batches(subscripts, way):
    rng = np.random.default_rng(0)
    extents = {"b": 5, "i": 12, "j": 20, "k": 37}
    terms = subscripts.split("->")[0].split(",")
    a, b = (rng.normal(size=[extents[n] for n in term]) for term in terms)
    f = cr.value_and_grad(lambda a, b: np.sum(np.einsum(subscripts, a, b) ** 2), (0, 1))
    value, found = cr.compile(f)(a, b)
    expected_value, expected = f(a, b)
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * np.abs(y).max())


def test_not_a_number_stays_in_its_row(way):
    a, b = operands("nn", (40, 30, 50))
    a[3, 4], a[7, 0] = np.nan, np.inf
    found = cr.compile(lambda a, b: a @ b)(a, b)
    assert np.isnan(found[3]).all()
    assert np.isinf(found[7]).all()
    assert np.isfinite(np.delete(found, [3, 7], 0)).all()

"""Questions that are answered by one truth: as NumPy answers them, and recorded."""

import itertools

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import OPS
from chainrule.lower.build import Program

ANSWERS = {getattr(np, n): OPS[n] for n in ("allclose", "array_equal", "array_equiv")}

nan, inf = np.nan, np.inf
OPERANDS = [
    np.array([1.0, 2.0]),
    np.array([1.0, 2.0 + 1e-7]),
    np.array([1.0, nan]),
    np.array([inf, -inf]),
    np.array([1, 2]),
    np.array([True, False]),
    np.array([1.0, 2.0], np.float32),
    np.array([1 + 0j, 2 + 0j]),
    np.array([complex(nan, 1), complex(1, nan)]),
    np.array([[1.0, 2.0], [1.0, 2.0]]),
    np.array([1.0]),
    np.array([]),
    np.zeros((3, 0)),
    np.float64(1.0),
    [1.0, 2.0],
    [[1.0], [2.0, 3.0]],
    "no number",
    ["a", "b"],
    None,
    2,
]
PAIRS = [
    pytest.param(a, b, id=f"{i}-{k}")
    for (i, a), (k, b) in itertools.product(enumerate(OPERANDS), repeat=2)
    if hasattr(a, "dtype") or hasattr(b, "dtype")
]


def as_variable(a):
    return cr.variable(a) if hasattr(a, "dtype") and a.dtype.kind in "fc" else a


def outcome(f, *args, **kwargs):
    """The truth, or that there is none."""
    try:
        return bool(f(*args, **kwargs))
    except (TypeError, ValueError):
        return "raises"


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_answer_is_numpy_s(a, b):
    for function, op in ANSWERS.items():
        if function is np.allclose and (a is None or b is None):
            continue  # refused; NumPy refuses it too, unless the other is empty
        for options in ({}, {"equal_nan": True}) if function is not np.array_equiv else ({},):
            expected = outcome(function, a, b, **options)
            assert outcome(op, as_variable(a), as_variable(b), **options) == expected, op
            assert outcome(op, a, b, **options) == expected, f"{op}, of arrays"


@pytest.mark.parametrize("op", ANSWERS.values(), ids=lambda op: op.name)
def test_the_answer_is_recorded(op):
    graph = cr.trace(lambda x, y: op(x, y), np.ones(3), np.ones(3))
    (answer,) = graph.outputs
    assert (answer.shape, answer.dtype) == ((), bool)
    assert not graph.forward(np.ones(3), np.zeros(3)).value(answer), "it is asked at every point"
    assert Program(graph).fallbacks == [], "machine code answers it"


def test_lists_of_variables():
    x = cr.variable(np.array([1.0, 2.0]))
    for op in ANSWERS.values():
        assert op([x[0], x[1]], x)
        assert op(x, [1.0, x[1]])
        assert not op([x[1], x[0]], x)


def test_tolerances_may_be_variables():
    x, wide = cr.variable(np.array([1.0, 2.0])), cr.variable(np.float64(1.0))
    assert cr.allclose(x, x + 0.5, atol=wide)
    assert not cr.allclose(x, x + 0.5, atol=wide / 4)
    np.testing.assert_array_equal(cr.isclose(x, x + 0.5, 0.0, [wide, 0.0]).value, [True, False])


@pytest.mark.parametrize("kinds", list(itertools.product("fdl?", repeat=2)), ids="".join)
def test_compiled_closeness_is_numpy_s_to_the_last_bit(kinds):
    rng = np.random.default_rng(1)
    apart = rng.choice([0.0, 1e-5, 1.0000001e-5, 9.9999999e-6, 1e-8], 500) * rng.choice(
        [-1, 1], 500
    )
    a = rng.standard_normal(500) * 3
    a, b = a.astype(kinds[0]), (a * (1 + apart)).astype(kinds[1])

    def close(x, y):
        return cr.isclose(x, y), cr.isclose(x, y, equal_nan=True)

    compiled = cr.compile(close)
    for found, expected in zip(compiled(a, b), close(a, b), strict=True):
        np.testing.assert_array_equal(found, expected)
    every = [v for variants in compiled.variants.values() for v in variants]
    assert [v.program.fallbacks for v in every] == [[]]


def test_a_python_number_takes_the_type_of_what_it_meets():
    x = np.float32(0.1) + np.spacing(np.float32(0.1)) * np.arange(-80, 80, dtype=np.float32)
    for f in (lambda x: np.isclose(x * 1, 0.1, atol=0.0), lambda x: np.isclose(0.1, x, atol=0.0)):
        np.testing.assert_array_equal(cr.compile(f)(x), f(x))

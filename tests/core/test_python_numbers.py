"""Python's operators on Python's numbers: where NumPy's result is finite, Python's is the same."""

import itertools
import math

import numpy as np
import pytest

import chainrule as cr

REAL = (0.0, -0.0, 1.0, -2.5, 0.5, 3, -1, 1e200, -1e-200, math.inf, math.nan)
NUMBERS = (*REAL, 1 + 2j, 0j)
OPERATORS = {op.name: op for op in cr.OPS.values() if op.python is not None}
TRUTHS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert"}
OF_REALS = {"greater", "greater_equal", "less", "less_equal", "power"}  # complex ones are read


def points(op):
    numbers = REAL if op.name in OF_REALS else (True, False) if op.name in TRUTHS else NUMBERS
    return itertools.product(numbers, repeat=len(op.inputs))


def by_python(op, point):
    try:
        return op.python.operator(*point)
    except (ArithmeticError, TypeError) as error:
        return error


def by_numpy(op, point):
    try:
        with np.errstate(all="ignore"):
            return op.forward(*map(np.asarray, point))[()]
    except (TypeError, ValueError) as error:
        return error


# Python counts with a truth that is inverted, and so does the recording.
@pytest.mark.parametrize("name", sorted({*OPERATORS} - {"invert"}))
def test_python_does_as_numpy_while_the_result_is_finite(name):
    op, compared = OPERATORS[name], 0
    for point in points(op):
        ours, theirs = by_numpy(op, point), by_python(op, point)
        if isinstance(ours, Exception) or not np.isfinite(ours):
            continue
        compared += 1
        assert not isinstance(theirs, Exception), (point, theirs)
        np.testing.assert_allclose(complex(ours), complex(theirs), rtol=1e-12)
    assert compared


@pytest.mark.parametrize("name", [n for n, op in OPERATORS.items() if not op.python.may_raise])
def test_what_may_not_raise_does_not(name):
    op = OPERATORS[name]
    for point in points(op):
        found = by_python(op, point)
        if not isinstance(found, TypeError):  # there is no order of complex numbers
            assert not isinstance(found, Exception), (point, found)


@pytest.mark.parametrize("name", [n for n, op in OPERATORS.items() if op.python.cause])
def test_the_cause_decides_whether_python_raises(name):
    op = OPERATORS[name]
    for point in points(op):
        found = by_python(op, point)
        if not isinstance(found, TypeError):
            assert bool(op.python.cause(*point)) == isinstance(found, ArithmeticError), point

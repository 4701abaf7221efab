"""Rows and parameters whose meaning would be lost are refused, with the cure."""

import numpy as np
import pytest

from chainrule import learn, scale
from chainrule.errors import DTypeError
from chainrule.learn.numeric import numbers
from tests.scale import losses
from tests.scale.losses import PARAMS, X, Y

NOT_NUMBERS = {
    "masked": (np.ma.masked_greater(X, 1.0), r"masked array.*pass x\.filled\(value\), or x\.data"),
    "without a mask": (np.ma.masked_array(X), "masked array"),
    "a list of masked rows": ([np.ma.masked_greater(row, 1.0) for row in X], "masked array"),
    "matrix": (X.view(np.matrix), r"np\.matrix.*pass np\.asarray\(x\)"),
    "objects": (X.astype(object), r"Python objects.*x\.to_numpy\(float\)"),
    "structured": (np.zeros(len(X), [("a", float), ("b", float)]), "its fields as arrays"),
    "records": (np.rec.array(np.zeros(len(X), [("a", float)])), "its fields as arrays"),
    "text": (X.astype(str), r"text: pass numbers, as x\.astype\(float\)"),
    "bytes": (X.astype("S8"), "bytes: pass numbers"),
    "dates": (np.zeros(X.shape, "M8[s]"), "dates: pass numbers"),
    "times": (np.zeros(X.shape, "m8[s]"), "times: pass numbers"),
}


@pytest.mark.parametrize("what", NOT_NUMBERS)
def test_parameters_and_batches_whose_meaning_would_be_lost_are_refused(what):
    value, says = NOT_NUMBERS[what]
    hvp = scale.hvp(losses.wide, compile=False)
    for call, name in (
        (lambda: scale.value_and_grad(losses.wide)({"W": value}, X, Y), r"params\['W'\]\S*"),
        (lambda: hvp(PARAMS["W"], value, X, Y), r"tangent\S*"),
        (lambda: learn.Batches(X, value, size=3), "array 1"),
        (lambda: learn.minimise(np.sum, {"W": value}), r"minimise: parameters\['W'\]\S*"),
        (lambda: learn.standardiser(value), "x"),
    ):
        with pytest.raises(DTypeError, match=f"{name} .*{says}"):
            call()


def test_arrays_of_numbers_are_what_they_were():
    assert numbers(X, "x") is X
    for value in (X.tolist(), X > 0, X.astype(np.float16), X + 1j, 3, np.float32(2.0)):
        assert numbers(value, "x").dtype == np.asarray(value).dtype
        assert np.array_equal(numbers(value, "x"), value)
    with pytest.raises(DTypeError, match="masked"):
        numbers([1.0, np.ma.masked], "x")

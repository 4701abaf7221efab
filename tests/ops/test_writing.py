"""What is written into an array must be numbers that the array can hold whole."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr

MASK = np.array([True, False, True])
ODD = {
    "complex": np.array([1j, 2, 3]),
    "text": np.array(["a", "b", "c"]),
    "dates": np.array(["2001-01-01"] * 3, "M8[D]"),
    "masked": np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
}


def by_assigning(x, values):
    x[...] = values


def by_assigning_at(x, values):
    x[[0, 1, 2]] = values


def by_adding(x, values):
    x += values


WRITES = {
    "x[...] =": by_assigning,
    "x[indices] =": by_assigning_at,
    "+=": by_adding,
    "put": lambda x, v: np.put(x, [0, 1, 2], v),
    "x.put": lambda x, v: x.put([0, 1, 2], v),
    "place": lambda x, v: np.place(x, MASK, v),
    "putmask": lambda x, v: np.putmask(x, MASK, v),
    "copyto": np.copyto,
    "unsafe copyto": lambda x, v: np.copyto(x, v, casting="unsafe"),
    "put_along_axis": lambda x, v: np.put_along_axis(x, np.array([0, 1, 2]), v, 0),
    "add.at": lambda x, v: np.add.at(x, [0, 1, 2], v),
    "insert": lambda x, v: np.insert(x, 0, v),
    "pad": lambda x, v: np.pad(x, (1, 2), constant_values=v[:2]),
    "full_like": np.full_like,
    "ediff1d": lambda x, v: np.ediff1d(x, to_end=v),
}
JOINS = {
    "append": np.append,
    "concatenate": lambda x, v: np.concatenate([x, v]),
    "stack": lambda x, v: np.stack([x, v]),
    "block": lambda x, v: np.block([x, v]),
    "where": lambda x, v: np.where(MASK, x, v),
    "choose": lambda x, v: np.choose([0, 1, 0], [x, v]),
    "select": lambda x, v: np.select([MASK], [x], v),
    "compress": lambda x, v: np.compress(v, x),
    "gradient": np.gradient,
}
CASES = [
    (write, kind) for write in (*WRITES, *JOINS) for kind in ODD
    if kind != "complex" or write in WRITES
]  # fmt: skip


@pytest.mark.parametrize(("write", "kind"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_what_an_array_cannot_hold_is_refused(write, kind):
    x = cr.variable([0.5, 1.5, 2.5]) * 1.0
    with pytest.raises(cr.DTypeError, match=r"test_writing\.py"):
        (WRITES | JOINS)[write](x, ODD[kind])
    np.testing.assert_array_equal(x.value, [0.5, 1.5, 2.5])


def test_adding_in_place_keeps_the_dtype():
    x = cr.variable(np.ones(3, np.float32)) * 1
    np.add.at(x, [0, 0], np.array([0.5, 1.0]))
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x.value, [2.5, 1.0, 1.0])

"""The condition of a function's numbers, as text."""

import numpy as np
import pytest

import chainrule as cr
from tests.view.test_table import assert_golden

EXTENDED = np.finfo(np.longdouble).precision == 18  # the golden text was measured with 80 bits


def loss(x, a):
    big = x + 1e8
    d = big - 1e8
    r = np.maximum(d, 0.1)
    z = np.log(1.0 + 1e-10 * x)
    w, _ = np.linalg.eigh(a)
    return np.sum(r * z) + np.sum(np.abs(w - w[0]))


@pytest.mark.skipif(not EXTENDED, reason="long double has not 64 bits here")
def test_golden():
    found = cr.conditioning(loss, np.array([0.1, 0.2, 0.3]), np.array([[2.0, 1.0], [1.0, 3.0]]))
    assert_golden(str(found), "conditioning.txt")


def test_nothing_to_say():
    text = str(cr.conditioning(lambda x: x * 2.0, 1.0))
    assert len(text.splitlines()) <= 3


def test_long_lists_are_cut():
    def f(x):
        for k in range(15):
            x = np.abs(x - x) + k * x
        return x

    text = str(cr.conditioning(f, 1.0))
    assert "  … 5 more" in text


def test_in_a_notebook():
    html = cr.conditioning(lambda x: np.abs(x), 0.0)._repr_html_()
    assert html.startswith("<pre")
    assert "at a kink" in html

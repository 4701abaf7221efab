"""Two runs compared, as text."""

import numpy as np

import chainrule as cr
from tests.view.test_table import assert_golden


def loss(x, w):
    big = x + 1e4
    d = big - 1e4
    return np.sum(d * w)


def test_golden():
    args = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    narrow = [a.astype(np.float32) for a in args]
    fine = cr.trace(loss, *args).forward(*args).backward()
    coarse = cr.trace(loss, *narrow).forward(*narrow).backward()
    assert_golden(str(cr.diff_runs(fine, coarse)), "compare-dtypes.txt")
    moved = fine.graph.forward(args[0] + [0, 0.5, 0], args[1]).backward()
    assert_golden(str(cr.diff_runs(fine, moved)), "compare-inputs.txt")


def test_in_a_notebook():
    graph = cr.trace(np.sin, 1.0)
    html = cr.diff_runs(graph.forward(1.0), graph.forward(2.0))._repr_html_()
    assert html.startswith("<pre")
    assert "2 of 2 values differ" in html

"""The table of a result with its uncertainty."""

from __future__ import annotations

import numpy as np

import chainrule as cr
from chainrule.view.propagated import SHOWN, lines_of, text


def test_every_result_and_its_sources() -> None:
    found = cr.propagate(lambda x: x[0] * x[1], [2.0, 3.0], np.diag([0.01, 0.04]))
    shown = text(found).splitlines()
    assert shown[0] == "6 ± 0.5"
    assert shown[2:5] == ["share  input", " 36.0% x[0]", " 64.0% x[1]"]


def test_long_results_are_cut() -> None:
    found = cr.propagate(lambda x: np.sin(x), np.arange(20.0), np.eye(20))
    assert sum("more" in "".join(t for t, _ in line) for line in lines_of(found)) == 2
    assert f"… {20 - SHOWN} more" in text(found)

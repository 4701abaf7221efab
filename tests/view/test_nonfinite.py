"""The report on a NaN or an infinity as text: golden, short whatever the graph, and as HTML."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.view.styled import report_html, report_text
from tests.view.test_table import assert_golden


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def loss(density, w):
    ll = np.log(density)
    s = w * ll
    return -np.sum(s)


def normalised(x):
    y = x / np.linalg.norm(x)
    return y @ np.arange(3.0)


def looped(x):
    total = 0.0
    for k in range(5):
        total = total + np.sqrt(x * k) * np.log(x - x)
    return total


def overflowing(A):
    B = A @ A
    return np.sum(B)


def test_golden_reports():
    texts = [
        str(cr.find_nonfinite(loss, np.array([1.0, 0.0, 2.0]), np.array([1.0, 0.0, 1.0]))),
        str(cr.find_nonfinite(normalised, np.zeros(3))),
        str(cr.find_nonfinite(looped, 1.0)),
        str(cr.find_nonfinite(overflowing, np.full((3, 3), 1e200))),
        str(cr.find_nonfinite(loss, np.array([1.0, np.nan]), np.ones(2))),
        str(cr.find_nonfinite(lambda x: x * np.array([1.0, np.inf]) * 0, np.ones(2))),
        str(cr.find_nonfinite(lambda x: np.where(x > 0, np.log(x), 0), np.array([0.0, 1.0]))),
        str(cr.find_nonfinite(lambda x: 1.7e308 * x + 1.7e308 * x, 1e-10)),
    ]
    assert_golden("\n\n".join(texts), "nonfinite.txt")


def test_the_error_under_debug_is_the_same_text():
    with cr.debug(), pytest.raises(cr.NonFiniteGradient) as caught:
        cr.grad(normalised)(np.zeros(3))
    assert str(caught.value) == report_text(caught.value.report)
    assert_golden(str(caught.value), "nonfinite-debug.txt")


def test_in_a_notebook_and_at_the_prompt():
    report = cr.find_nonfinite(normalised, np.zeros(3))
    assert repr(report) == str(report)
    html = report_html(report)
    assert html == report._repr_html_()
    assert html.startswith("<pre")
    assert "np.linalg.norm(x) = 0" in html


def test_no_more_lines_for_a_large_graph():
    def f(xs):
        total = 0.0
        for x in xs:
            total = total + np.log(x)
        return total

    report = cr.find_nonfinite(f, [0.0] * 300)
    assert len(report.creators) == 600
    assert "299 more times" in str(report)
    assert "… and 297 more." in str(report)
    assert len(str(report).splitlines()) < 14


def test_rich_shows_the_same_words_in_colour():
    report = cr.find_nonfinite(loss, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    shown = report.__rich__()
    assert [line.rstrip() for line in shown.plain.splitlines()] == str(report).splitlines()
    assert any(span.style == "bold red" for span in shown.spans)

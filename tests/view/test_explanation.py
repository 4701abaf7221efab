"""An explanation as text, for a notebook and for rich."""

import io

import numpy as np
import pytest

import chainrule as cr
from chainrule.view.explanation import counted, percent
from tests.view.test_table import assert_golden

W = np.array([[0.2, -0.1, 0.4, 0.3], [0.1, 0.6, -0.3, 0.5], [-0.2, 0.3, 0.1, -0.4]])
b, x = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, -1.0, 2.0])


def J(W, b, x):  # noqa: N802 - as the lecture calls it
    z = W @ x + b
    q = cr.log_softmax(z)
    nll = -q[1]
    r = np.sum(W**2)
    return nll + 0.1 * r


def shared(x, y):
    q = x + y
    s = np.sin(q)
    return q * x * s


def many(x):
    for _ in range(400):
        x = 0.9 * x + 0.2 * np.sin(x)
    return x


def troubled(x, y, n, unused):
    rounded = np.floor(x)
    chosen = np.where(x > 100.0, x, y)
    steep = np.exp(12.0 * y)
    return rounded * y + chosen * steep + np.abs(x - 1.5) + np.sum(n)


def test_golden_explanations():
    assert_golden(str(cr.explain(shared, 2.0, 3.0)), "explain-numbers.txt")
    assert_golden(str(cr.explain(J, W, b, x, wrt="W")), "explain-array.txt")
    assert_golden(str(cr.explain(J, W, b, x, wrt="W", entry=(1, 3))), "explain-entry.txt")
    assert_golden(str(cr.explain(many, 0.3, top=3)), "explain-many.txt")
    point = 1.5, 1.0, np.array([1, 2]), 4.0
    assert_golden(str(cr.explain(troubled, *point)), "explain-troubled.txt")
    assert_golden(str(cr.explain(troubled, *point, wrt="y")), "explain-steep.txt")


def test_the_same_text_everywhere():
    explanation = cr.explain(shared, 2.0, 3.0)
    assert repr(explanation) == str(explanation)
    html = explanation._repr_html_()
    assert html.startswith("<pre")
    assert "←-4.795— " in html
    assert "<span" in html
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=200, file=io.StringIO(), record=True)
    console.print(explanation)
    shown = [line.rstrip() for line in console.export_text().splitlines()]
    assert shown == str(explanation).splitlines()


def test_source_is_escaped_in_html():
    assert "x &gt; 0" in cr.explain(lambda x: np.where(x > 0, x, 0.0), 1.0)._repr_html_()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (10**15, "1.00·10^15"),
        (2**1000, "1.07·10^301"),
        (10**300, "1.00·10^300"),
    ],
)
def test_counts(count, text):
    assert counted(count) == text


def test_counts_that_python_does_not_print():
    assert counted(7 * 10**9000) == "7.00·10^9000"


def test_percent():
    shares = 1.0, -0.237, float("nan"), 3.2e10
    assert [percent(s) for s in shares] == ["100.0%", "-23.7%", "", "×3.2e+10"]


def test_a_path_says_which_entry_only_where_it_goes_through_one():
    text = str(cr.explain(lambda x: np.sum(np.tanh(W @ x)), x, entry=0))
    assert "x[0]" in text
    assert "∂output/∂x" in text


def test_paths_that_look_alike_by_their_names_are_told_apart_by_their_ops():
    text = str(cr.explain(lambda x: np.sin(x) + np.cos(x), 0.3))
    assert "output ←1— sin ←0.9553— x" in text
    assert "output ←1— cos ←-0.2955— x" in text


def test_why_norms_stand_for_derivatives_is_said():
    def f(x):
        return np.sum(np.sin(x) * np.cos(x))

    few = cr.explain(f, np.linspace(0, 1, 4), entry=(1,))
    many = cr.explain(f, np.linspace(0, 1, 300), entry=(1,))
    said = "ratios of norms; of more than 256 entries"
    assert said not in str(few)
    assert said in str(many)


def test_parts_cancel_only_where_signs_do():
    """Norms of parts that stand in different entries add up to more than that of the whole."""

    def apart(x):
        a = np.sum(x[:2] ** 2)
        b = np.sum(x[2:] ** 3)
        return a + b

    def against(x):
        a = np.sum(x**2)
        b = np.sum(3 * x)
        return a - b

    point = np.array([1.0, 1.0, 1.0, 1.0])
    assert "cancel" not in str(cr.explain(apart, point))
    assert "(they partly cancel)" in str(cr.explain(against, point))

"""The steps of a run as sentences (`styled.py`): golden texts, names of adjoints, HTML."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.view.steps import barred, step_lines
from chainrule.view.styled import html_of, plain_of, say
from tests.view.test_table import assert_golden


def shared(x):
    w = x * x
    u1 = 3.0 * w
    u2 = np.sin(w)
    return u1 * u2


def layer(W, x, n):
    z = W @ x
    h = np.maximum(z, 0.0)
    return np.sum(h, axis=0) * np.floor(n)


@pytest.mark.parametrize("order", ["sorted", "data-driven", "recursive"])
def test_golden_steps(order):
    text = str(cr.trace(shared, 1.3).steps(1.3, order=order))
    assert_golden(text, f"steps-{order}.txt")


def test_golden_steps_of_arrays():
    args = np.arange(6.0).reshape(2, 3) - 2.5, np.arange(3.0), 1.5
    assert_golden(str(cr.trace(layer, *args).steps(*args)), "steps-arrays.txt")


def test_printing_takes_no_step():
    steps = cr.trace(shared, 1.3).steps(1.3)
    next(steps)
    assert str(steps) == str(steps)
    assert next(steps).number == 2


def test_a_long_run_is_cut_short_when_printed_and_whole_when_asked():
    def chain(x):
        for _ in range(300):
            x = np.sin(x)
        return x

    steps = cr.trace(chain, 1.0).steps(1.0)
    assert str(steps).splitlines()[-1] == "  … 402 more steps; iterate over them to see each"
    assert len(str(steps).splitlines()) == 202
    lines = [plain_of(line) for line in step_lines(steps)]
    assert lines[-2] == "  gradient"
    assert len(lines) == 301 * 2 + 300 + 2 + 1 + 3


def test_names_of_adjoints():
    assert barred("x") == "x\u0304"
    assert barred("u1") == "u\u03051\u0305"
    assert barred("params['w']") == "adjoint(params['w'])"


def test_vertices_of_a_formal_graph():
    graph = cr.Graph.define(
        [1, 1, 1, 1], [(1, 3), (2, 3), (2, 4), (3, 4)],
        {3: lambda a, b: a + b, 4: lambda b, c: b * c},
    )  # fmt: skip
    text = str(graph.steps(2.0, 3.0))
    assert "u3 = f3(u1, u2) = f3(2, 3) = 5 " in text
    assert text.endswith(f"{barred('u1')} = 3\n         {barred('u2')} = 8")


def test_in_a_notebook():
    html = cr.trace(shared, 1.3).steps(1.3, order="recursive")._repr_html_()
    assert html.startswith("<pre")
    assert html.endswith("</pre>")
    assert "✗ wrong: it hands on again" in html
    assert html.count("<span") == html.count("</span>")
    assert html_of([[("a < b & c", "value")]]).count("a &lt; b &amp; c") == 1


def test_in_a_terminal_it_is_coloured(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    say([[("x = ", ""), ("3 [bold]", "value")]])
    out = capsys.readouterr().out
    assert "\x1b[36m3 [bold]\x1b[0m" in out

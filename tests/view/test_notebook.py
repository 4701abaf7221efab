"""Pages in notebooks: when there is one, what explore gives it, and what stays inside the frame."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from chainrule.diff.run import recorded_run
from chainrule.view.explore import page_of
from chainrule.view.notebook import UNTRUSTED, Embedded, in_notebook
from tests.view.gallery import ran

HOSTILE = "\"></iframe><script>alert(1)</script><!-- ' & &quot; ]]> </style>"


def shell(monkeypatch, found):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: found))


@pytest.fixture
def notebook(monkeypatch):
    shell(monkeypatch, SimpleNamespace(kernel=object()))


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (None, False),  # IPython was imported by a program
        (SimpleNamespace(), False),  # its terminal
        (SimpleNamespace(kernel=None), False),
        (SimpleNamespace(kernel=object()), True),
    ],
)
def test_a_notebook_is_where_there_is_a_kernel(monkeypatch, found, answer):
    shell(monkeypatch, found)
    assert in_notebook() is answer


def test_without_ipython_nobody_imports_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    assert "IPython" not in sys.modules


def test_explore_in_a_notebook(notebook, tmp_path):
    run = ran("product")
    for shown in (run.explore(), run.graph.explore()):
        assert isinstance(shown, Embedded)
        assert repr(shown) == "Embedded(title='explorer of product_of_a_sum')"
    assert run.explore().page == page_of(run)
    assert isinstance(run.explore(tmp_path / "page.html"), Path)
    assert isinstance(run.graph.explore(str(tmp_path / "page.html")), Path)


class Tags(HTMLParser):
    """Every tag with its attributes, and all text outside of tags."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.tags.append(("!--", {}))


def test_nothing_breaks_out_of_the_frame(notebook):
    def hostile(p):
        return np.sin(p[HOSTILE])

    hostile.__name__ = HOSTILE
    shown = recorded_run(hostile, {HOSTILE: 2.0}).backward().explore()
    found = Tags(shown._repr_html_())
    assert [name for name, _ in found.tags] == ["style", "iframe"]
    attributes = found.tags[1][1]
    assert attributes["srcdoc"] == shown.page
    assert attributes["title"] == f"explorer of {HOSTILE}"
    assert attributes["sandbox"].split() == ["allow-scripts", "allow-downloads"]
    assert found.text.endswith(f"}}{UNTRUSTED}")
    assert found.text.count("{") == 2, "the rest is the style sheet"

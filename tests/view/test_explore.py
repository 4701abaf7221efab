"""The explorer page (`listing.py`): where it is written, what is in it, and what is only text."""

import json
import re
import webbrowser

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view.explore import page_of
from chainrule.view.listing import listings
from chainrule.view.scene import scene
from tests.view.gallery import product_of_a_sum, ran

DATA = re.compile(r'<script type="application/json" id="scene">(.*?)</script>', re.S)


def data_of(page):
    (found,) = DATA.findall(page)
    return json.loads(found)


def test_the_page_holds_the_scene(tmp_path):
    run = ran("product")
    path = run.explore(tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    held = data_of(path.read_text(encoding="utf-8"))
    expected = json.loads(json.dumps(scene(run)))
    assert {key: held[key] for key in expected} == expected
    assert held["formula"] == ""


def test_a_graph_is_explored_with_or_without_a_run(tmp_path):
    run = ran("product")
    alone = data_of(run.graph.explore(tmp_path / "a.html").read_text(encoding="utf-8"))
    assert alone["model"]["stage"] == "backward"
    assert alone["model"]["nodes"]["adjoint"] == ["-4", "-4", "3", "-4", "1"]
    read = cr.Graph.from_json(run.graph.to_json()).explore(tmp_path / "c.html")
    assert data_of(read.read_text(encoding="utf-8"))["model"]["stage"] == "structure"
    several = cr.trace(lambda x: (x, x * x), np.arange(3.0)).explore(tmp_path / "d.html")
    assert data_of(several.read_text(encoding="utf-8"))["model"]["stage"] == "forward"
    whole = cr.trace(lambda x: x > 1.0, 2.0).explore(tmp_path / "e.html")
    assert data_of(whole.read_text(encoding="utf-8"))["model"]["stage"] == "forward"
    both = data_of(run.graph.explore(tmp_path / "b.html", run).read_text(encoding="utf-8"))
    assert both["model"]["stage"] == "backward"
    with pytest.raises(cr.GraphError, match="another graph"):
        ran("shared").graph.explore(tmp_path / "c.html", run)


def test_without_a_path_the_browser_opens_it(monkeypatch):
    asked = []
    monkeypatch.setattr(webbrowser, "open", asked.append)
    path = ran("product").explore()
    assert asked == [path.as_uri()]
    assert data_of(path.read_text(encoding="utf-8"))["model"]["name"] == "product_of_a_sum"
    path.unlink()


def test_nothing_in_a_name_is_markup():
    name = "</script><script>alert(1)</script><!--"
    run = recorded_run(lambda p: np.sin(p[name]), {name: 2.0}).backward()
    page = page_of(run)
    assert page.count("<script") == 2
    assert name in data_of(page)["model"]["nodes"]["label"][0]
    assert "<title>&lt;lambda&gt; · chainrule</title>" in page


def test_the_source_is_that_of_the_functions_that_made_nodes():
    (listing,) = listings(ran("product").graph)
    assert listing["file"] == "gallery.py"
    assert listing["first"] == product_of_a_sum.__code__.co_firstlineno
    assert listing["text"][:3] == [
        "def product_of_a_sum(x, y, z):",
        "    q = x + y",
        "    f = q * z",
    ]
    functions = [one["text"][0] for one in listings(ran("transformer").graph)]
    assert [text.split("(")[0] for text in functions] == [
        "def normed",
        "def attention",
        "def transformer_block",
    ]


def test_an_inner_function_is_listed_once():
    def outer(x):
        y = x * 2.0
        return sum((lambda k: k * y)(v) for v in [x, y])

    (listing,) = listings(cr.trace(outer, 1.0))
    assert len(listing["text"]) == 3
    assert listing["text"][0] == "def outer(x):"

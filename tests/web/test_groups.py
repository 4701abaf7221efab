"""Groups in the page: opened and closed where they stand, by mouse, by keys and by link."""

import re

import numpy as np
import pytest

from chainrule.diff.run import recorded_run
from chainrule.view.model import model_of
from chainrule.view.steps import Names
from tests.sweeps import sampled
from tests.view.gallery import ran
from tests.web.test_page import squeezed, step_texts


def cell(x, h, w):
    gate = np.tanh(w * x + h)
    return gate * h + np.sin(x)


def unrolled(xs, h, w):
    for x in xs:
        h = cell(x, h, w)
    return h * h


@pytest.fixture
def loop():
    return recorded_run(unrolled, [0.1 * k for k in range(5)], 0.5, 0.3).backward()


def names(page):
    """The groups on the canvas: ▸ closed, ▾ open."""
    return [text for text in page.drawn() if text[0] in "▸▾"]


def closed(opened, run, anchor="#open="):
    """The page with every group closed, or as the link says."""
    page = opened(run, anchor)
    assert page.page.input_value("#level") == "group"
    return page


def test_a_page_opens_as_far_as_can_be_read_at_one_look(opened, loop):
    page = opened(loop)
    page.page.select_option("#level", "group")
    page.settle()
    assert names(page) == ["▾ cell ×5", *(f"▸ cell {k}" for k in range(1, 6))]
    page.page.select_option("#level", "node")
    page.settle()
    assert names(page) == []


def test_a_click_on_the_triangle_opens_and_closes(opened, loop):
    page = closed(opened, loop)
    assert names(page) == ["▸ cell ×5"]
    x, y = page.place("▸ cell ×5")  # the middle of the text
    scale = page.page.evaluate("document.getElementById('graph').getContext('2d').getTransform().a")
    page.page.mouse.click(x - 4 * 7.2 * scale, y)
    page.settle()
    page.press("0")
    assert names(page)[0] == "▾ cell ×5"
    assert names(page)[1:] == [f"▸ cell {k}" for k in range(1, 6)]
    page.page.mouse.click(*page.place("▾ cell ×5"))
    page.settle()
    assert names(page) == ["▸ cell ×5"]


def test_a_double_click_opens_one_of_many(opened, loop):
    page = closed(opened, loop, "#open=1")
    page.page.mouse.dblclick(*page.place("▸ cell 3"))
    page.settle()
    assert "▾ cell 3" in names(page)
    assert sum(name.startswith("▸") for name in names(page)) <= 4
    assert page.drawn().count("tanh") == 1, "what is in it is drawn"


def test_the_keyboard_opens_and_closes(opened, loop):
    page = closed(opened, loop)
    page.page.locator("#graph").focus()
    page.press("ArrowDown")
    assert page.text("#node h2") == "cell ×5"
    page.press("Enter")
    assert "▾ cell ×5" in names(page)
    page.press("ArrowDown")
    assert page.text("#node h2") == "w"
    page.press("ArrowDown", "e")
    assert page.text("#node h2") == "cell 1"
    assert "▾ cell 1" in names(page)
    page.press("ArrowDown", "e")
    assert "▸ cell 1" in names(page), "e on a node closes the group around it"
    assert page.text("#node h2") == "cell 1", "which is selected then"
    page.press("Enter")
    assert "▾ cell 1" in names(page)


def test_the_link_keeps_what_is_open(opened, loop):
    page = closed(opened, loop)
    page.page.set_viewport_size({"width": 2600, "height": 800})
    page.press("0")
    box = page.place("▸ cell ×5")
    page.page.mouse.dblclick(*box)
    page.settle()
    page.page.mouse.dblclick(*page.place("▸ cell 2"))
    page.settle()
    page.press("0")
    before = names(page)
    assert {"▾ cell ×5", "▸ cell 1", "▾ cell 2"} <= set(before)
    link = page.page.evaluate("location.hash")
    assert re.search(r"open=\d+\.\d+", link)
    page.at(link)
    assert names(page) == before
    assert page.page.input_value("#level") == "group"


def test_a_step_shows_in_the_closed_group_that_has_it(opened, loop):
    page = closed(opened, loop, "#step=30&open=")
    assert page.text("#step").startswith("step 30 ")
    assert names(page) == ["▸ cell ×5"]
    page.page.mouse.dblclick(*page.place("▸ cell ×5"))
    page.settle()
    assert page.text("#step").startswith("step 30 ")
    assert page.page.evaluate("location.hash") == "#step=30&level=group", "as it is at first"
    page.press("ArrowRight")
    assert "▾ cell ×5" in names(page)


def test_a_group_says_what_flows_in_and_out(opened, loop):
    page = closed(opened, loop)
    page.page.mouse.click(*page.place("▸ cell ×5"))
    page.settle()
    said = page.text("#node")
    assert said.startswith("cell ×5 loop · ")
    graph = loop.graph
    (last,) = graph.parents(graph.outputs[0])
    assert f"{loop.value(last):.6g}" in said
    assert f"{loop.adjoint(last):.6g}" in said.replace("−", "-")
    assert "leaves inside" in said
    page.page.click("#toggle")
    page.settle()
    assert "▾ cell ×5" in names(page)


def test_groups_on_a_telephone(opened, loop):
    page = opened(loop, "#open=", width=320)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 320
    page.page.mouse.dblclick(*page.place("▸ cell ×5"))
    page.settle()
    assert "▾ cell ×5" in names(page)


def test_a_search_opens_what_hides_the_node(opened, loop):
    page = closed(opened, loop)
    page.press("/")
    page.page.keyboard.type("tanh")
    page.page.keyboard.press("Enter")
    page.settle()
    assert "tanh(" in page.text("#node h2")
    assert "▾ cell 1" in names(page)


def test_what_is_all_open_has_every_node(opened):
    run = ran("transformer")
    page = opened(run, "#open=1.2.3", width=3000)
    symbols = model_of(run).symbol
    for symbol in ("@", "+", "softmax", "^2"):
        assert page.drawn().count(symbol) == symbols.count(symbol)


@pytest.mark.parametrize(
    "name", sampled(["shared", "product", "two-ways", "softmax", "gates", "lstm"], 3)
)
def test_the_sentences_of_a_large_graph_are_those_of_steps(opened, monkeypatch, name):
    monkeypatch.setattr("chainrule.view.timeline.MAX_NODES_WRITTEN_OUT", 0)
    run = ran(name)
    expected = step_texts(run.graph.steps(*[run.value(leaf) for leaf in run.graph.leaves]))
    page = opened(run, "#step=1")
    found = []
    for _ in expected:
        found.append(squeezed(page.page.inner_text("#now section").split("\n", 1)[1]))
        page.page.keyboard.press("ArrowRight")
    assert [text.split("thegradient,byorderofsteps")[0] for text in found] == expected


def test_a_graph_of_thousands_can_be_stepped_through(opened):
    run = recorded_run(unrolled, [0.001 * k for k in range(700)], 0.5, 0.3).backward()
    graph, count = run.graph, len(run.graph)
    assert count > 2_000
    steps = list(graph.steps(*[run.value(leaf) for leaf in graph.leaves]))
    page = opened(run)
    assert page.text("#step") == f"step {2 * count} of {2 * count}"
    w = graph.leaves[-1]
    grows = [s.number for s in steps if any(a.parent is w for a in s.additions)]
    assert len(grows) == 700, "the adjoint of w is the sum of so many parts"
    for number in (1, 5, 705, count, count + 1, *grows[:2], grows[400], grows[-1], 2 * count):
        page.page.evaluate(f"location.hash = '#step={number}'")
        page.settle()
        lines = Names(graph).lines(steps[number - 1])
        told = squeezed("".join(text for line in lines for text, _ in line))
        said = squeezed(page.page.inner_text("#now section").split("\n", 1)[1])
        assert said.split("thegradient,byorderofsteps")[0] == told.removeprefix(str(number))

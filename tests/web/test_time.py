"""The orders side by side, what if, and the page read without seeing it."""

import numpy as np
import pytest

from chainrule.diff.run import recorded_run
from chainrule.explain.steps import ORDERS
from tests.view.gallery import ran
from tests.web.test_page import squeezed, step_texts

# ---- side by side --------------------------------------------------------------------------------


def deep(n):
    def chain(x):
        for _ in range(n):
            x = x * np.sin(x)
        return x

    return recorded_run(chain, 1.9).backward()


@pytest.mark.parametrize("name", ["two-ways", "shared"])
def test_every_order_says_its_step(opened, name):
    run = ran(name)
    values = [run.value(leaf) for leaf in run.graph.leaves]
    every = {order: [*run.graph.steps(*values, order=order)] for order in ORDERS}
    texts = {order: step_texts(run.graph.steps(*values, order=order)) for order in ORDERS}
    page = opened(run, "#compare&step=1")
    for number in range(1, max(map(len, every.values())) + 1):
        said = [squeezed(text) for text in page.page.locator(".pane .said").all_inner_texts()]
        counts = page.page.locator(".pane .heading span.dim").all_inner_texts()
        for order, words, count in zip(ORDERS, said, counts, strict=True):
            step = every[order][min(number, len(every[order])) - 1]
            text = texts[order][step.number - 1]
            head, _, wrong = words.partition("✗")
            assert text.startswith(head)
            assert ("✗" in text) == bool(wrong) == bool(step.wrong)
            done = sum(len(s.additions) for s in every[order][:number])
            assert count.startswith(f"{done} of {sum(len(s.additions) for s in every[order])} ")
        page.page.keyboard.press("ArrowRight")
    assert page.text("#step").startswith(f"step {len(every['recursive'])} of ")
    assert page.page.locator(".pane .heading").nth(0).inner_text().endswith("done")


def test_the_recursion_is_red_and_wrong_beside_the_others(opened):
    run = ran("two-ways")
    page = opened(run, "#compare&step=999")
    right, driven, wrong = page.panes()
    final = {f"{run.adjoint(leaf):.6g}" for leaf in run.graph.leaves}
    assert final <= set(right)
    assert final <= set(driven)
    assert not final <= set(wrong)
    assert any(text.endswith("×") for text in wrong), "how often a node was visited"
    assert page.page.locator(".pane").nth(2).locator(".said .wrong").count() > 0
    assert page.page.locator(".pane").nth(0).locator(".said .wrong").count() == 0
    assert "times as many" in page.page.locator(".pane .heading").nth(2).inner_text()


def test_what_waits_is_a_list_a_queue_and_a_stack(opened):
    run = ran("two-ways")  # x y f sin g h T
    page = opened(run, "#compare&step=8")  # T has handed on to g and h
    waiting = [" ".join(t.split()) for t in page.page.locator(".pane .chips").all_inner_texts()]
    assert waiting[0].split()[0] == "list"
    assert len(waiting[0].split()) == len(run.graph), "all but T"
    assert sorted(waiting[1].split()) == ["g", "h", "queue"]
    assert waiting[2].split() == ["stack", "g", "h"]
    assert {"waits for 1", "waits for 2"} & set(page.panes()[1])


@pytest.mark.parametrize("stages", [4, 30])
def test_a_recursion_through_shared_nodes_is_exponential(opened, stages):
    run = deep(stages)
    edges = len(run.graph.edges)
    visits = 3 * (2**stages - 1)  # sin, x through it and x beside it, at each of 2^k visits
    page = opened(run, "#compare&step=999999")
    counts = page.page.locator(".pane .heading span.dim").all_inner_texts()
    assert counts[0] == f"{edges} of {edges} edges · done"
    assert f"of {visits:,} edges" in counts[2]
    if stages == 30:
        assert not counts[2].endswith("done")
        assert 500 <= int(counts[2].split()[0].replace(",", "")) <= 1000, "the first 500 visits"


def test_side_by_side_is_reached_by_key_and_by_the_control(opened):
    page = opened(ran("two-ways"))
    page.press("s")
    assert page.page.locator(".pane").count() == 3
    assert page.page.url.endswith("#compare&step=7"), "where the backward pass begins"
    page.press("s")
    assert page.page.locator(".pane").count() == 0
    page.page.select_option("#order", "beside")
    assert page.page.locator(".pane").count() == 3
    page.page.select_option("#order", "data-driven")
    page.settle()
    assert page.page.locator(".pane").count() == 0
    assert "T" in page.drawn()


def test_side_by_side_on_a_telephone(opened):
    page = opened(ran("two-ways"), "#compare&step=9", width=320)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 320
    boxes = [pane.bounding_box() for pane in page.page.locator(".pane").all()]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"] + 2
    assert all("g" in texts for texts in page.panes()), "the node whose step it is"


# ---- what if -------------------------------------------------------------------------------------


def texts_on_the_page(page, count):
    found = []
    for _ in range(count):
        said = squeezed(page.page.inner_text("#now section").split("\n", 1)[1])
        found.append(said.split("thegradient,byorderofsteps")[0])
        page.page.keyboard.press("ArrowRight")
    return found


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("lstm", "transformer")]


@pytest.mark.parametrize("name", ["softmax", "network", *SLOW])
def test_an_entry_of_an_array_is_changed_as_python_computes_it(opened, name):
    run = ran(name)
    leaves = run.graph.leaves
    values = [np.array(run.value(leaf)) for leaf in leaves]
    page = opened(run, "#step=1&level=node")
    page.press("ArrowDown")
    page.page.click("#what-if-cell-2")
    page.page.keyboard.type("-1.3")
    page.page.locator("#graph").focus()
    values[0].reshape(-1)[2] = -1.3
    expected = step_texts(run.graph.steps(*values))
    assert texts_on_the_page(page, len(expected)) == expected
    there = run.graph.forward(*values).backward()
    out = run.graph.outputs[0]
    assert f" {there.value(out):.6g}, adjoint" in page.page.get_attribute("#graph", "aria-label")
    page.page.click("text=as it was")
    assert f" {run.value(out):.6g}, adjoint" in page.page.get_attribute("#graph", "aria-label")


def test_the_keyboard_in_the_table_of_an_array(opened):
    page = opened(ran("softmax"))
    page.press("ArrowDown")
    page.page.locator("#what-if-cell-0").focus()
    page.press("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown")
    assert page.page.evaluate("document.activeElement.id") == "what-if-cell-9"
    assert "what if W[2, 1] = " in page.page.inner_text(".what-if label")
    page.page.focus("#what-if")
    page.press("ArrowUp")
    assert float(page.page.input_value("#what-if")) == pytest.approx(0.32)
    page.press("Shift+ArrowDown")
    assert float(page.page.input_value("#what-if")) == pytest.approx(0.12)


def test_of_a_large_array_the_rows_around_the_entry_are_shown(opened):
    run = recorded_run(lambda W: np.sum(np.tanh(W) ** 2), np.arange(2000.0).reshape(50, 40))
    page = opened(run.backward())
    page.press("ArrowDown")
    assert "rows 1 to 12 of 50" in page.text(".what-if")
    page.page.locator("#what-if-cell-0").focus()
    page.press("PageDown", "PageDown", "ArrowDown", "ArrowRight")
    assert page.page.evaluate("document.activeElement.id") == "what-if-cell-1001"
    assert "what if W[25, 1] = " in page.page.inner_text(".what-if label")
    assert page.page.locator(".cell").count() == 480
    assert page.page.input_value("#what-if") == "1001"


def test_a_square_of_the_picture_is_an_entry(opened):
    page = opened(ran("softmax"))
    x, y = page.place("W")  # its name stands 4 pixels above the squares, of 8 pixels each
    zoom = page_scale(page)
    page.page.mouse.click(x + 20 * zoom, y + (4 + 12) * zoom)
    assert "W[1, 2]" in page.page.inner_text(".what-if label")


def page_scale(page):
    """How large a pixel of the drawing is: by two texts of one line."""
    found = [(x, y, t) for t, x, y in page.page.evaluate("written")]
    left, line = next((x, y) for x, y, t in found if t == "W")
    return next(x - left for x, y, t in found if t == "3×4" and y == line) / (2 * 7.224)


def test_kinks_and_trouble_are_found_at_the_new_point(opened):
    page = opened(ran("trouble"))
    page.press("ArrowDown", "ArrowDown")
    page.page.fill("#what-if", "-1")
    page.press("Escape")
    page.page.click("#trouble")
    assert "not finite" in page.text("#node")
    page = opened(ran("gates"))
    assert "kink" not in " ".join(page.drawn())
    page.press("ArrowDown")
    page.page.fill("#what-if", "2.5")
    page.press("Escape")
    page.press("/")
    page.page.keyboard.type("maximum")
    page.page.keyboard.press("Enter")
    page.settle()
    assert "at a kink" in page.text("#node"), "the two are equal here"
    assert any("kink" in text for text in page.drawn())


def test_an_op_it_does_not_know_is_named_with_its_node(opened):
    run = recorded_run(lambda x: np.sum(np.cumsum(x) ** 2), np.ones(3)).backward()
    page = opened(run)
    page.press("ArrowDown")
    assert "the page does not compute cumsum, by which" in page.text("#node")


# ---- reading without seeing ----------------------------------------------------------------------


def test_the_table_of_nodes(opened):
    run = ran("product")
    page = opened(run)
    page.press("t")
    heads = page.page.locator("#nodes thead th").all_inner_texts()
    assert heads == ["number", "name", "op", "shape", "value", "adjoint", "sum of", "line"]
    rows = [row.inner_text().split("\t") for row in page.page.locator("#nodes tbody tr").all()]
    assert [row[1] for row in rows] == ["x", "y", "z", "q", "f"]
    assert rows[3][2:] == ["add(x, y)", "", "3", "−4", "f: −4", rows[3][7]]
    page.press("ArrowDown")
    assert page.page.locator("#nodes tr.chosen th").inner_text() == "x"
    page.page.click("#nodes tbody tr:nth-child(4)")
    assert page.text("#node h2") == "q = add(x, y)"
    page.page.locator("#nodes tbody tr:nth-child(5) .link").focus()
    page.press("Enter")
    assert page.text("#node h2") == "f = multiply(q, z)"
    page.page.locator("#graph").focus()
    page.press("Home")
    assert "−12" not in page.text("#nodes table"), "nothing is computed yet"


def test_the_table_is_copied_as_text(opened):
    page = opened(ran("product"))
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.press("t")
    page.page.click("#nodes button")
    page.settle()
    copied = page.page.evaluate("navigator.clipboard.readText()").split("\n")
    assert copied[0].split("\t")[:5] == ["number", "name", "op", "shape", "value"]
    assert copied[5].split("\t")[1:6] == ["f", "multiply(q, z)", "", "-12", "1"]


def test_a_long_table_is_cut_and_searched(opened):
    run = recorded_run(lambda x: sum(np.sin(k * x) for k in range(1, 300)), 0.3).backward()
    page = opened(run)
    page.press("t")
    assert page.page.locator("#nodes tbody tr").count() == 500
    assert f"the first 500 of {len(run.graph)} nodes" in page.text("#nodes p").replace(",", "")


def test_what_is_announced_at_a_step_is_its_sentence(opened):
    page = opened(ran("product"), "#step=6")
    assert page.page.locator("[aria-live]").count() == 1
    page.press("ArrowRight")
    assert page.page.inner_text("#said") == (
        "q̄ = -4; x̄ += q̄ · ∂q/∂x = -4 × 1 → -4; ȳ += q̄ · ∂q/∂y = -4 × 1 → -4"
    )
    page.press("ArrowDown")
    assert page.page.inner_text("#said") == "x -2, adjoint -4"


def test_truths_are_shown(opened):
    run = recorded_run(lambda x: np.sum(np.where(x > 0, x, 0.5)), np.linspace(-1, 1, 6)).backward()
    page = opened(run)
    page.press("ArrowDown", "ArrowDown")
    assert "bool" in page.text("#node")

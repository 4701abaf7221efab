"""The explorer in a browser: the numbers of the seeds at the right step, every control."""

import re
from itertools import product

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from tests.sweeps import sampled
from tests.view.gallery import ran

WORDS = re.compile(r"\s+")


def squeezed(text):
    """Text without spaces, which a page sets as it likes."""
    return WORDS.sub("", text)


def step_texts(steps):
    """The text of each step of str(steps), without its number."""
    blocks = re.split(
        r"\n(?=\s+\d+   )", str(steps).split("gradient\n")[0].split("\n\n  gradient")[0]
    )
    made = [squeezed(re.sub(r"^\s+\d+   |\n\n?  adjoints.*", "", b)) for b in blocks]
    return [b.removesuffix("adjoints") for b in made[1:]]


def shared_node(x):
    w = x * x
    u = 3.0 * w
    v = np.sin(w)
    y = u * v
    return y  # noqa: RET504 - the page shows the name


# ---- rows of the mission -------------------------------------------------------------------------


def test_row_15_the_page_at_step_7(opened):
    page = opened(ran("product"), "#step=7")
    assert page.text("#step") == "step 7 of 10"
    assert page.text("#now") == (
        "step 7 · backward q̄ = -4 gradient of f computed "
        "x̄ += q̄ · ∂q/∂x = -4 × 1 → -4 ȳ += q̄ · ∂q/∂y = -4 × 1 → -4"
    )
    drawn = page.drawn()
    assert {"x̄ = -4 × 1", "ȳ = -4 × 1"} <= set(drawn)
    assert {"x", "-2", "y", "5", "z", "q", "3", "f", "-12", "×1", "×-4", "×3"} <= set(drawn)
    assert page.page.locator(".line.now").inner_text().split() == ["19", "q", "=", "x", "+", "y"]


def test_row_15_values_come_one_by_one_and_then_adjoints(opened):
    page = opened(ran("product"), "#step=4")
    assert "3" in page.drawn()
    assert "-12" not in page.drawn()
    page.press("ArrowRight")
    assert "-12" in page.drawn()
    assert page.drawn().count("0") == 0
    page.press("ArrowRight")
    assert page.text("#now h2") == "step 6 · backward"
    assert page.drawn().count("0") == 2, "the adjoints of x and y are still zero"
    assert {"q̄ = 1 × -4", "z̄ = 1 × 3"} <= set(page.drawn())


@pytest.mark.parametrize(
    ("name", "order"),
    sampled(product(["product", "shared", "softmax"], ["sorted", "data-driven", "recursive"]), 4),
)
def test_every_step_says_what_graph_steps_says(opened, name, order):
    run = ran(name)
    values = [run.value(leaf) for leaf in run.graph.leaves]
    expected = step_texts(run.graph.steps(*values, order=order))
    page = opened(run, f"#step=1&order={order}")
    found = []
    for _ in expected:
        found.append(squeezed(page.page.inner_text("#now section").split("\n", 1)[1]))
        page.page.keyboard.press("ArrowRight")
    said = [text.split("thegradient,byorderofsteps")[0] for text in found]
    assert said == expected


def test_row_7_the_recursion_is_marked(opened):
    page = opened(recorded_run(shared_node, 1.3).backward(), "#order=recursive&step=99")
    assert "✗ wrong" in page.text("#now")
    table = page.text("table.orders")
    assert table.endswith("sorted data-driven recursive x 6.17702 6.17702 ✗ 13.9217")
    assert page.drawn().count("13.9217") == 1
    page.page.select_option("#order", "sorted")
    page.settle()
    assert "6.17702" in page.drawn()


def test_rows_1_and_25_the_sort_and_its_stack(opened):
    page = opened(ran("shared"), "#sort=9")
    assert page.text("#now") == "sort · depth first a is placed stack f d c order x a"
    page.page.select_option("#order", "data-driven")
    page.page.evaluate("location.hash = '#sort=3&order=data-driven'")
    page.settle()
    assert page.text("#now").startswith("sort · by counting")
    assert "queue" in page.text("#now")


def test_row_10_the_paths_of_a_leaf(opened):
    run = ran("shared")
    page = opened(run)
    page.page.mouse.click(*page.place("x"))
    page.settle()
    found = cr.explain(run, wrt="x").paths
    assert page.page.locator(".path").count() == len(found) == 4
    assert page.text(".path .product").replace("−", "-").split()[0] == f"{found[0].product:.6g}"
    assert "4 paths, the heaviest first" in page.text("#node")


def test_row_21_both_children_of_the_weights(opened):
    page = opened(ran("softmax"))
    page.page.mouse.click(*page.place("W"))
    page.settle()
    said = page.text("#node")
    assert "used more than once: the parts add up" in said
    assert "norm 1.014" in said
    assert "norm 0.2289" in said
    page.page.click("details.adjoint summary")
    assert "−0.536" in page.text("details.adjoint table"), "the entry of EXPERIENCE: W[1, 3]"


# ---- what if -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["product", "shared", "two-ways"])
def test_what_if_is_what_python_computes_there(opened, name):
    run = ran(name)
    values = [run.value(leaf) for leaf in run.graph.leaves]
    page = opened(run, "#step=1")
    page.press("ArrowDown")
    page.page.fill("#what-if", "1.375")
    values[0] = 1.375
    there = run.graph.forward(*values).backward()
    page.press("Escape")
    page.page.locator("#graph").focus()
    expected = step_texts(run.graph.steps(*values))
    for text in expected:
        said = squeezed(page.page.inner_text("#now section").split("\n", 1)[1])
        assert said.split("thegradient,byorderofsteps")[0] == text
        page.page.keyboard.press("ArrowRight")
    page.settle()
    assert f"{there.adjoint(run.graph.leaves[0]):.6g}" in page.drawn()
    page.press("ArrowDown")
    page.page.click("text=as it was")
    page.settle()
    assert f"{run.adjoint(run.graph.leaves[0]):.6g}" in page.drawn()


# ---- controls ------------------------------------------------------------------------------------


def test_the_keyboard(opened):
    page = opened(ran("product"))
    page.press("Home")
    assert page.text("#step") == "sort 0 of 15"
    page.press("End", "ArrowLeft")
    assert page.text("#step") == "step 9 of 10"
    assert page.page.url.endswith("#step=9")
    page.press("ArrowDown", "ArrowDown")
    assert page.text("#node h2") == "y"
    page.press("c")
    assert page.page.locator("#code").is_hidden()
    page.press("/")
    page.page.keyboard.type("mult")
    page.page.keyboard.press("Enter")
    page.settle()
    assert page.text("#node h2") == "f = multiply(q, z)"


def test_play_runs_to_the_end(opened):
    page = opened(ran("product"), "#step=8")
    page.page.click("#play")
    page.page.locator("#step", has_text="step 10 of 10").wait_for()
    assert page.page.get_attribute("#play", "aria-label") == "Play"


def test_buttons_phases_and_the_scrubber(opened):
    page = opened(ran("product"))
    page.page.click("#phases .forward")
    assert page.text("#step") == "step 1 of 10"
    page.page.click("#next")
    page.page.click("#back")
    assert page.text("#step") == "step 1 of 10"
    page.page.locator("#scrub").fill("25")
    assert page.text("#step") == "step 10 of 10"
    page.page.click("#first")
    assert page.text("#now h2") == "beginning"
    page.page.click("#last")
    assert page.text("#step") == "step 10 of 10"


def test_zoom_and_pan(opened):
    page = opened(ran("product"))
    before = page.place("x")
    page.page.mouse.move(600, 600)
    page.page.mouse.down()
    page.page.mouse.move(630, 570)
    page.page.mouse.up()
    page.settle()
    assert page.place("x") == pytest.approx((before[0] + 30, before[1] - 30))
    page.page.mouse.wheel(0, 400)
    page.settle()
    assert page.place("f")[0] - page.place("x")[0] < 400
    page.page.click("#fit")
    page.settle()
    assert page.place("x") == pytest.approx(before)


def test_lines_and_nodes_are_linked(opened):
    page = opened(ran("product"))
    page.page.click(".line:has-text('f = q * z')")
    assert page.text("#node h2") == "f = multiply(q, z)"
    assert "chosen" in page.page.get_attribute(".line:has-text('f = q * z')", "class")


def test_groups(opened):
    page = opened(ran("transformer"))
    assert page.page.input_value("#level") == "group", "node by node nothing could be read"
    assert {"▸ attention", "▸ normed"} <= set(page.drawn())
    page.page.mouse.dblclick(*page.place("▸ attention"))
    page.settle()
    assert {"▾ attention", "softmax"} <= set(page.drawn())


def test_light_and_dark(opened):
    page = opened(ran("product"))
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.page.evaluate(ground) == "rgb(255, 255, 255)"
    page.page.click("#theme")
    assert page.page.evaluate(ground) == "rgb(15, 20, 25)"


@pytest.mark.parametrize("name", ["product", "softmax"])
def test_a_telephone(opened, name):
    page = opened(ran(name), "#step=7", width=320)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.drawn(), "the graph is drawn"


# ---- what could go wrong -------------------------------------------------------------------------

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>"


def test_a_hostile_name_is_text(opened):
    run = recorded_run(lambda p: np.sin(p[HOSTILE]), {HOSTILE: 2.0}).backward()
    page = opened(run)
    assert page.page.locator("img, script[src]").count() == 0
    assert page.page.title() != "broken"
    page.press("ArrowDown")
    assert HOSTILE in page.text("#node h2")
    assert page.text("#step") == "step 4 of 4", "a dict of one number has steps too"


def test_trouble_can_be_jumped_to(opened):
    page = opened(ran("trouble"))
    page.page.click("#trouble")
    assert "not finite" in page.text("#node")


def test_a_graph_alone(opened, tmp_path):
    graph = cr.Graph.from_json(ran("product").graph.to_json())  # which knows no numbers
    path = graph.explore(tmp_path / "alone.html")
    page = opened(path)
    assert "The graph alone" in page.text("#now")
    assert page.page.locator("#time").is_hidden()
    assert {"x", "y", "z", "+", "×"} <= set(page.drawn())
    assert "-12" not in page.drawn()

"""The box of a loop opens into one of its iterations, and closes again; links lead there."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from tests.web.conftest import LONGEST

XS = np.linspace(-0.5, 0.7, 1000)


def recurrent(w, h):
    def step(h, x):
        z = np.tanh(w * h + x)
        return z, z * z

    h, ys = cr.scan(step, h, XS)
    return np.sum(ys) + 2 * h


@pytest.fixture(scope="module")
def run():
    return recorded_run(recurrent, 0.8, 0.3).backward()


def test_a_loop_is_one_box_that_opens(opened, run):
    page = opened(run)
    assert "loop ×1,000" in page.drawn()
    assert not page.page.locator("#inside").is_visible()
    page.page.mouse.dblclick(*page.place("loop ×1,000"))
    page.settle()
    assert "iteration 1 of 1,000" in page.text("#inside")
    assert {"w", "h", "0.3", "x", "-0.5", "tanh", "z"} <= set(page.drawn())
    assert f"{float(run.adjoint('h')):.6g}" in page.drawn()
    assert "in=2.0" in page.page.url
    page.press("]", "]")
    assert "iteration 501 of 1,000" in page.text("#inside")
    assert f"{XS[500]:.6g}" in page.drawn()
    page.press("ArrowLeft")
    assert "in=2.500" in page.page.url
    page.press("Backspace")
    assert "loop ×1,000" in page.drawn()
    assert not page.page.locator("#inside").is_visible()
    page.page.go_back()
    page.settle()
    assert "iteration 501 of 1,000" in page.text("#inside"), "the way back of the browser"


def test_a_link_leads_into_a_loop(opened, run):
    page = opened(run, "#in=2.999&step=3")
    assert "iteration 1,000 of 1,000" in page.text("#inside")
    assert page.text("#step") == "step 3 of 14"
    page.page.click("#out")
    page.settle()
    assert page.text("#about") == "8 nodes · 8 edges"
    assert opened(run, "#in=2.17").text("#about") == "8 nodes · 8 edges", "it is not written out"


def test_the_card_of_a_loop_shows_how_it_goes_on(opened, run):
    page = opened(run)
    page.page.mouse.click(*page.place("loop ×1,000"))
    page.settle()
    assert "one iteration, 1,000 times" in page.text("#node")
    assert page.page.locator(".sizes path").count() == 2
    page.page.click("#open-loop")
    page.settle()
    assert "iteration 1 of 1,000" in page.text("#inside")


def test_a_gradient_that_vanishes_in_a_loop_is_told(opened):
    def fading(w):
        return cr.scan(lambda h, x: (np.tanh(w * h), None), 0.9, XS[:60])[0]

    page = opened(recorded_run(fading, 0.5).backward())
    page.page.mouse.click(*page.place("loop ×60"))
    page.settle()
    assert "the gradient vanishes: ×" in page.text("#node")


LISTEN = """window.heard = [];
new MutationObserver(() => {
  const now = document.getElementById("now")?.textContent;
  if (now && now !== heard.at(-1)) heard.push(now);
}).observe(document, { childList: true, characterData: true, subtree: true });"""


def test_a_page_that_opens_plays_both_passes_once(browser, tmp_path, run):
    page = browser.new_page(offline=True)
    page.set_default_timeout(LONGEST)
    page.add_init_script(LISTEN)  # a busy machine comes to look when the first pass is over
    page.goto(run.explore(tmp_path / "page.html").as_uri())
    page.locator("#step", has_text="step 16 of 16").wait_for()
    said = " ".join(page.evaluate("heard"))
    assert said.count("Values flow forward") == said.count("Gradients flow back") == 1
    assert said.index("Values flow forward") < said.index("Gradients flow back")
    assert page.inner_text("#play") == "▶"
    page.close()

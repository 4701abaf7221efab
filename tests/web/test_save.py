"""Pictures saved from the page: SVG and PNG of what is on the screen, and the page on paper."""

import io
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from chainrule.diff.run import recorded_run
from tests.view.gallery import ran
from tests.web.conftest import LONGEST
from tests.web.test_page import HOSTILE
from tests.web.test_pictures import differing

SVG = "{http://www.w3.org/2000/svg}"


def saved(page, tmp_path, press):
    """The file that a press of a key or a button saves."""
    with page.page.expect_download() as waiting:
        press()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def texts(path):
    root = ElementTree.parse(path).getroot()
    return ["".join(t.itertext()).replace("−", "-") for t in root.iter(f"{SVG}text")]


def test_svg_has_the_numbers_of_the_step_and_its_sentence(opened, tmp_path):
    page = opened(ran("product"), "#step=7")
    path = saved(page, tmp_path, lambda: page.page.click("#save-svg"))
    assert path.name == "product_of_a_sum-step-7.svg"
    found = texts(path)
    assert found[: len(page.drawn())] == page.drawn(), (
        "all that the canvas shows, in the same order"
    )
    assert {"x", "-2", "y", "5", "z", "q", "3", "f", "-12", "×1", "×-4", "×3"} <= set(found)
    assert {"x̄ = -4 × 1", "ȳ = -4 × 1"} <= set(found)
    said = "".join(found[len(page.drawn()) :])
    assert said.startswith("product_of_a_sumstep 7 · backwardq̄ = -4gradient of f computed")
    assert "x̄ += q̄ · ∂q/∂x = -4 × 1 → -4" in said
    root = ElementTree.parse(path).getroot()
    assert root.find(f"{SVG}title").text == "product_of_a_sum · step 7 of 10"
    assert "Leaves x -2" in root.find(f"{SVG}desc").text


def test_at_an_earlier_step_less_is_known(opened, tmp_path):
    page = opened(ran("product"), "#step=4")
    found = texts(saved(page, tmp_path, lambda: page.press("v")))
    assert "3" in found
    assert "-12" not in found


@pytest.mark.parametrize(
    ("name", "scheme"), [("product", "light"), ("softmax", "dark"), ("gates", "light")]
)
def test_svg_and_png_are_the_same_picture(opened, tmp_path, browser, name, scheme):
    page = opened(ran(name), "#step=9")
    page.page.emulate_media(color_scheme=scheme)
    svg = saved(page, tmp_path, lambda: page.press("v"))
    png = saved(page, tmp_path, lambda: page.press("p")).read_bytes()
    root = ElementTree.parse(svg).getroot()
    size = tuple(int(root.get(side)) for side in ("width", "height"))
    assert struct.unpack(">II", png[16:24]) == (2 * size[0], 2 * size[1])
    alone = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, device_scale_factor=2, offline=True
    )
    alone.set_default_timeout(LONGEST)
    alone.goto(svg.as_uri())
    shot = alone.screenshot()
    alone.close()
    assert differing(png, shot) < 0.01
    ground = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))[0, 0].tolist()
    assert ground == ([255, 255, 255] if scheme == "light" else [15, 20, 25])


def test_empty_ground_is_left_out_and_what_is_off_the_screen_too(opened, tmp_path):
    page = opened(ran("shared"))
    whole = texts(saved(page, tmp_path, lambda: page.press("v")))

    def zoomed(button):
        for _ in range(4):
            page.page.click(button)
        path = saved(page, tmp_path, lambda: page.press("v"))
        return texts(path), int(ElementTree.parse(path).getroot().get("width"))

    stage = page.page.locator("#graph").bounding_box()["width"]
    found, width = zoomed("#closer")
    assert len(found) < len(whole)
    assert width == stage
    page.page.click("#fit")
    found, width = zoomed("#farther")
    assert found == whole
    assert width < 0.4 * stage


@pytest.mark.parametrize("name", [HOSTILE, "a\x00b\x1b]]>&amp;<!--", "\ud800 ￿"])
def test_hostile_names_are_text(opened, tmp_path, name):
    run = recorded_run(lambda p: np.sin(p[name]), {name: 2.0}).backward()
    page = opened(run, "#step=2")
    path = saved(page, tmp_path, lambda: page.press("v"))
    root = ElementTree.parse(path).getroot()
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "path", "text"}
    assert {key for element in root.iter() for key in element.attrib} <= {
        "width", "height", "viewBox", "role", "font-family", "transform", "d", "fill", "stroke",
        "stroke-width", "stroke-linecap", "stroke-dasharray", "opacity", "x", "y", "font-size",
        "font-weight", "font-style", "text-anchor", "{http://www.w3.org/XML/1998/namespace}space",
    }  # fmt: skip
    assert path.parent == tmp_path


def test_a_graph_alone_is_saved_too(opened, tmp_path):
    path = ran("product").graph.explore(tmp_path / "graph.html")
    page = opened(path)
    assert {"x", "+", "×"} <= set(texts(saved(page, tmp_path, lambda: page.press("v"))))


def test_on_paper(opened):
    page = opened(ran("product"), "#step=7")
    page.page.click("#theme")
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")
    for hidden in ("#graph", "#save-svg", "#search", "#time", "#theme"):
        assert page.page.locator(hidden).is_hidden()
    assert page.page.locator("#print svg").is_visible()
    assert (
        page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert "−12" in page.page.locator("#print svg text").all_text_contents()
    assert page.page.locator("#now").is_visible()
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.page.emulate_media(media="screen")
    assert page.page.locator("#print svg").count() == 0
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_print_makes_one_page_with_lines(opened):
    page = opened(ran("product"), "#step=7")
    pdf = page.page.pdf()
    assert pdf.count(b"/Type /Page\n") == 1
    assert b"/Subtype /Image" not in pdf, "the picture is drawn, not a bitmap"

"""The gallery: every page opens where it should and shows the numbers of the seeds."""

import re
from math import cos, exp, sin, sqrt
from pathlib import Path

import pytest

import chainrule as cr
from examples.gallery import GALLERY, ran, write

PAGE = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("gallery")).parent


def pressed(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", GALLERY)
def test_the_documentation_says_what_to_look_at(name):
    exhibit = GALLERY[name]
    assert f"## {exhibit.title}\n" in PAGE
    assert exhibit.look in pressed(PAGE)


def test_the_index_leads_to_every_page(opened, folder):
    index = (folder / "index.html").read_text(encoding="utf-8")
    for target in re.findall(r'(?:href|src)="([^"#]*)', index):
        assert (folder / target).exists()
    assert index.count("<h2>") == len(GALLERY)


@pytest.mark.parametrize("name", GALLERY)
def test_every_page_opens(opened, folder, name):
    page = opened(folder / f"{name}.html", GALLERY[name].place)
    assert len(page.drawn()) >= len(GALLERY[name].arguments)
    page.page.set_viewport_size({"width": 320, "height": 700})
    page.at(GALLERY[name].place)
    page.settle()
    assert page.drawn(), "something that can be read"
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.page.evaluate("scrollY") == 0


def at(opened, folder, name, place):
    page = opened(folder / f"{name}.html", place)
    return page, page.drawn(), page.text("#now").replace("−", "-")


def test_rows_1_and_25_the_sort_depth_first_and_by_counting(opened, folder):
    _, _, said = at(opened, folder, "product", "#sort=15")
    assert said.endswith("order x y q z f")
    _, _, said = at(opened, folder, "product", "#sort=3&order=data-driven")
    assert said.endswith("z waits for nothing: it joins the queue queue x y z order empty")


def test_row_2_a_node_used_twice_sums_its_contributions(opened, folder):
    _, drawn, said = at(opened, folder, "two-ways", "#step=9")
    part = 3 * (2 + sin(6))
    assert f"f̄ += h̄ · ∂h/∂f = 1.72058 × 3 → {part:.6g}" in said
    _, drawn, said = at(opened, folder, "two-ways", GALLERY["two-ways"].place)
    total = part + 18 * cos(6)
    assert f"18 × 0.96017 = {18 * cos(6):.6g} → {total:.6g}" in said
    assert f"f̄ = {part:.6g} + 18 × 0.96017" in drawn


def test_row_7_recursion_counts_twice(opened, folder):
    page, drawn, said = at(opened, folder, "counted-twice", GALLERY["counted-twice"].place)
    assert "x 6.17702 6.17702 ✗ 13.9217" in page.text("table.orders")
    assert "13.9217" in drawn
    assert "✗ wrong" in said


def test_row_10_the_sum_over_paths(opened, folder):
    page, _, _ = at(opened, folder, "shared", "")
    page.press("ArrowDown")
    products = [
        float(text.replace("−", "-").split()[0])
        for text in page.page.locator(".path .product").all_inner_texts()
    ]
    assert len(products) == 4
    assert sum(products) == pytest.approx(-1.18134, abs=2e-5)


def test_row_15_value_and_gradients(opened, folder):
    _, drawn, said = at(opened, folder, "product", "#step=6")
    assert "q̄ += f̄ · ∂f/∂q = 1 × -4 → -4" in said
    assert "z̄ += f̄ · ∂f/∂z = 1 × 3 → 3" in said
    _, drawn, _ = at(opened, folder, "product", "#step=10")
    assert [drawn.count(text) for text in ("-12", "-4", "3")] == [1, 4, 2]


def test_row_16_shared_intermediates_and_the_closed_form(opened, folder):
    _, drawn, _ = at(opened, folder, "shared", "#step=14")
    x = 0.8
    c, inner = x**2 + exp(x**2), 2 * x * (1 + exp(x**2))
    assert {*"abcdef"} <= set(drawn)
    assert all(drawn.count(letter) == 1 for letter in "abcdef")
    assert f"{sqrt(c) + cos(c):.6g}" in drawn
    assert f"{inner * (0.5 / sqrt(c) - sin(c)):.6g}" in drawn


@pytest.mark.parametrize(
    ("search", "says"),
    [("add", "distributes"), ("multiply", "swaps"), ("maximum", "routes")],
)
def test_row_17_gates(opened, folder, search, says):
    page, _, _ = at(opened, folder, "gates", "")
    page.page.fill("#search", search)
    page.page.press("#search", "Enter")
    page.settle()
    assert f"{says}: " in page.text("#node")


def test_row_21_both_contributions_to_the_weights(opened, folder):
    page, drawn, _ = at(opened, folder, "softmax", "")
    assert "0.513825" in drawn
    page.press("ArrowDown")
    said = page.text("#node").replace("−", "-")
    explanation = cr.explain(ran(GALLERY["softmax"]), wrt="W")
    assert "norm 1.014" in said
    assert "norm 0.2289" in said
    assert f"{explanation.total[1, 3]:.3g}" == "-0.536"
    page.page.click("details.adjoint summary")
    assert "−0.536" in page.text("details.adjoint table")


def test_groups_show_layers_steps_and_blocks(opened, folder):
    expected = {"convolution": ("layer", 4), "lstm": ("cell", 4), "transformer": ("normed", 2)}
    for name, (group, count) in expected.items():
        page = opened(folder / f"{name}.html", "#level=group", width=2600)
        assert page.page.input_value("#level") == "group"
        named = re.compile(rf"[▸▾] {group}( \d+| \(\d+\))?")
        assert sum(bool(named.fullmatch(text)) for text in page.drawn()) == count
        page.press("ArrowLeft")
        assert page.page.url.endswith("&level=group"), "it stays in the link"
        page.page.evaluate("location.hash = '#step=3&level=node'")
        page.settle()
        assert page.page.input_value("#level") == "node"

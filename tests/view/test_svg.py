"""The picture (`boxes.py`, `heavy.py`, `theme.py`): the run's numbers above and below the wires.

Nothing that a name could smuggle in is in it.
"""

import os
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view.boxes import Heat
from chainrule.view.model import model_of
from chainrule.view.svg import MAX_NODES, MAX_NODES_UNGROUPED, svg_of
from chainrule.view.theme import DARK, LIGHT
from tests.view.gallery import PROGRAMS, ran

SVG = "{http://www.w3.org/2000/svg}"
ASSETS = Path(__file__).parents[2] / "docs" / "assets"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def parsed(text):
    return ElementTree.fromstring(text)


def texts(text):
    return ["".join(t.itertext()) for t in parsed(text).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", ["product", "shared", "two-ways", "gates"])
def test_golden_pictures(name):
    """Those of the documentation; `UPDATE_GOLDEN=1 pytest tests/view` writes them anew."""
    svg = ran(name).to_svg()
    assert kept(name, svg) == svg


@pytest.mark.parametrize("name", ["softmax", "network", "transformer"])
def test_golden_pictures_of_arrays(name):
    """Last digits may differ, since processors round differently."""
    svg = ran(name).to_svg(level="function" if name == "transformer" else None)
    golden = kept(name, svg)
    assert NUMBER.split(golden) == NUMBER.split(svg)
    pairs = zip(NUMBER.findall(golden), NUMBER.findall(svg), strict=True)
    assert all(float(a) == pytest.approx(float(b), rel=1e-4, abs=0.11) for a, b in pairs)


def kept(name, svg):
    file = ASSETS / f"graph-{name}.svg"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(svg, encoding="utf-8")
    return file.read_text(encoding="utf-8")


def test_values_stand_above_the_wire_and_adjoints_below():
    run = ran("product")
    root = parsed(run.to_svg())
    found = {}
    for node in root.iter(f"{SVG}g"):
        title = node.find(f"{SVG}title")
        if title is None:
            continue
        rows = {float(t.get("y")): "".join(t.itertext()) for t in node.findall(f"{SVG}text")}
        above = [text for y, text in rows.items() if y < 0]
        below = [text for y, text in rows.items() if y > 5]
        found[title.text.split(" ")[0]] = (*above, *below)
    assert found == {
        "x": ("x -2", "-4"),
        "y": ("y 5", "-4"),
        "z": ("z -4", "3"),
        "q": ("q 3", "-4"),
        "f": ("f -12", "1"),
    }


def test_cells_are_larger_where_they_are_few():
    """The page computes the same sizes: web/test/heat.test.ts has the same table."""
    sizes = [(1, 4), (3, 4), (5, 5), (6, 2), (8, 8), (12, 3), (1, 12), (4, 16)]
    assert [Heat(*size, []).cell for size in sizes] == [8, 8, 8, 6, 5, 5, 6, 5]


def test_local_derivatives_stand_on_the_wires():
    assert [t for t in texts(ran("product").to_svg()) if t[0] == "×" and len(t) > 1] == [
        "×1",
        "×1",
        "×-4",
        "×3",
    ]


def test_a_graph_alone_has_no_numbers_and_a_forward_run_no_adjoints():
    graph = ran("product").graph
    assert {"x", "y", "z", "q", "f", "+", "×"} < set(texts(graph.to_svg()))
    forward = texts(graph.to_svg(graph.forward(-2.0, 5.0, -4.0)))
    assert "f -12" in forward
    assert "-4" not in forward


def test_edges_without_a_gradient_are_dashed_and_sums_have_a_dot():
    root = parsed(ran("gates").to_svg())
    wires = [p.get("class") for p in root.iter(f"{SVG}path")]
    assert wires.count("wire none") == 3
    assert wires.count("wire") == 7
    assert len(list(root.iter(f"{SVG}circle"))) == 3, "x, y and s are shared"


def test_trouble_is_red_and_in_words():
    root = parsed(ran("trouble").to_svg())
    wrong = ["".join(t.itertext()) for t in root.iter(f"{SVG}text") if t.get("class") == "wrong"]
    assert wrong == ["inf", "1 kink", "1 kink"]
    assert "0 structural" in texts(ran("gates").to_svg())


def test_arrays_are_squares_and_circles():
    root = parsed(ran("softmax").to_svg())
    drawn: dict[str, str] = {}
    for path in root.iter(f"{SVG}path"):
        drawn[path.get("class")] = drawn.get(path.get("class"), "") + path.get("d")
    for sign in ("plus", "minus"):
        assert "h" in drawn[f"{sign}-value"]
        assert "a" not in drawn[f"{sign}-value"]
        assert "a" in drawn[f"{sign}-adjoint"]
        assert "h" not in drawn[f"{sign}-adjoint"]


def test_it_is_the_same_text_every_time():
    assert len({ran("softmax").to_svg() for _ in range(3)}) == 1


# -- for everybody --------------------------------------------------------------------------------


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(theme):
    for name in ("text", "dim", "value", "adjoint", "wrong"):
        assert contrast(theme[name], theme["ground"]) >= 4.5, name
    assert contrast(theme["text"], theme["gate"]) >= 4.5
    assert contrast(theme["wire"], theme["ground"]) >= 3.0
    assert contrast("#ffffff", "#000000") == pytest.approx(21)


def test_themes():
    run = ran("product")
    assert "prefers-color-scheme" in run.to_svg()
    for theme, colours in (("light", LIGHT), ("dark", DARK)):
        svg = run.to_svg(theme=theme)
        assert "prefers-color-scheme" not in svg
        assert f"--ground: {colours['ground']}" in svg
    with pytest.raises(cr.ArgumentError, match="'blue': choose one of auto, light, dark"):
        run.to_svg(theme="blue")


def test_a_reader_without_eyes_is_told_the_numbers():
    root = parsed(ran("product").to_svg())
    assert root.get("role") == "img"
    assert root[0].text == "computational graph of product_of_a_sum with values and adjoints"
    assert root[1].text == (
        "5 nodes, 4 edges. leaf x = -2, adjoint -4. leaf y = 5, adjoint -4. leaf z = -4, "
        "adjoint 3. result f = -12, adjoint 1."
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_text_lies_inside(name):
    root = parsed(ran(name).to_svg())
    width, height = float(root.get("width")), float(root.get("height"))
    for group in root.iter(f"{SVG}g"):
        x, y = map(float, re.findall(r"[-\d.]+", group.get("transform")))
        assert 0 <= x <= width
        assert 0 <= y <= height


# -- notebooks ------------------------------------------------------------------------------------


def test_notebooks_show_the_picture():
    run = ran("product")
    assert run._repr_svg_() == run.to_svg()
    assert run.graph._repr_svg_() == run.graph.to_svg()
    assert parsed(run._repr_html_())[0].tag == f"{SVG}svg"
    assert parsed(run.graph._repr_html_())[0].tag == f"{SVG}svg"


def test_a_style_sheet_reaches_nothing_outside():
    sheet = parsed(ran("product").to_svg()).find(f"{SVG}style").text
    bare = re.sub(r"@media[^{]*\{(.*)\}\n", r"\1", sheet)
    for selectors in re.findall(r"([^{}]+)\{[^{}]*\}", bare):
        assert all(one.strip().startswith(".chainrule") for one in selectors.split(",")), selectors


# -- hostile and large ----------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "\"' onload='alert(1)",
    "]]></style><script>",
    "two\nlines\x00\x1b\ufffe",
    "\u202eright to left\u202c",
    "&amp;lt;&#x3c;",
    "n" * 10_000,
    "\ud800",
    "名前" * 40,
    "",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_text_and_short(name):
    x = cr.variable(2.0, name=name)
    function = lambda x: x * x  # noqa: E731
    function.__name__ = name or "f"
    run = recorded_run(function, x).backward()
    for svg in (run.to_svg(), run.to_svg(level="function"), run._repr_html_()):
        svg.encode()
        root = parsed(svg)
        assert len(svg) < 12_000
        for element in root.iter():
            assert element.tag.removeprefix(SVG) in {
                "svg", "title", "desc", "style", "rect", "g", "path", "circle", "text", "tspan",
                "div",
            }  # fmt: skip
            assert not [key for key in element.attrib if key.startswith("on") or "href" in key]
        assert "\u202e" not in svg
        assert "url(" not in svg
        assert "@import" not in svg


def long_chain(x, n):
    for _ in range(n):
        x = x * 1.0
    return x


def test_a_large_graph_is_drawn_as_its_functions():
    run = recorded_run(long_chain, 2.0, n=MAX_NODES_UNGROUPED + 1).backward()
    assert f"{MAX_NODES_UNGROUPED + 1:,} nodes 2" in texts(run.to_svg())
    assert len(texts(run.to_svg(level="node"))) > MAX_NODES_UNGROUPED


@pytest.mark.timeout(60)
def test_a_very_large_graph_says_what_to_do():
    run = recorded_run(long_chain, 2.0, n=MAX_NODES + 1)
    assert "20,001 nodes 2" in texts(run._repr_svg_())
    with pytest.raises(cr.ArgumentError, match=r"20,002 nodes .* level='function'"):
        run.to_svg(level="node")


def test_a_run_of_another_graph_is_refused():
    with pytest.raises(cr.GraphError, match="another graph"):
        ran("product").graph.to_svg(ran("product"))


def test_odd_graphs_are_drawn():
    def several(A):
        w, v = np.linalg.eigh(A)
        return np.sum(w * v[0])

    def no_use(x, y):
        return 3.0

    for run in (
        recorded_run(several, np.array([[2.0, 1.0], [1.0, 3.0]])).backward(),
        recorded_run(no_use, 1.0, np.ones((0, 3))).backward(),
        recorded_run(lambda z: np.abs(z), np.arange(5) * (1 + 2j)),
        recorded_run(lambda x: x, 1.0).backward(),
        cr.Graph.define([1, 1, 1], [(1, 3), (2, 3)], {3: lambda a, b: a * b}).forward(2.0, 3.0),
    ):
        parsed(run.to_svg())
        parsed(run.graph.to_svg())
        parsed(svg_of(model_of(run)))
    again = cr.Graph.from_json(ran("product").graph.to_json())
    assert {"x", "y", "z", "+", "×"} < set(texts(again.to_svg()))


def test_the_heaviest_paths_are_bold_when_asked_for():
    run = ran("two-ways")
    assert "heavy" not in run.to_svg()
    svg = run.to_svg(paths_to="x", theme="light")
    found = [float(p.get("stroke-width")) for p in parsed(svg).iter(f"{SVG}path") if bold(p)]
    paths = cr.explain(run, wrt="x", top=5).paths
    whole = sum(abs(path.share) for path in paths)
    share = Counter()
    for path in paths:
        for edge in pairwise(path.nodes):
            share[edge] += abs(path.share) / whole
    assert found == sorted((round(2 + 3.5 * part, 1) for part in share.values()), reverse=True)
    assert "bold: the heaviest paths" in " ".join(texts(svg))


def bold(path):
    return path.get("class") == "heavy"


def test_paths_need_adjoints_and_nodes():
    run = ran("two-ways")
    with pytest.raises(cr.GraphError, match=r"run\.backward"):
        run.graph.to_svg(paths_to="x")
    with pytest.raises(cr.ArgumentError, match="level='node'"):
        run.to_svg(level="function", paths_to="x")
    with pytest.raises(cr.ArgumentError, match="wrt 'w'"):
        run.to_svg(paths_to="w")

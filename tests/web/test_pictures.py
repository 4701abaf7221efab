"""The pictures of the README and of the gallery are what the page looks like.

Machines differ in their fonts, so pictures are compared coarsely: the mean colour of every square
of CELL × CELL pixels in which something stands; what is written on the canvas, where, exactly.
Measured: with Cousine or Roboto Mono in place of DejaVu Sans Mono up to 0.041 of the squares of a
page differ and 0.035 of those of its graph, and no text moves by a pixel; without gates, the least
of the changes below, 0.096 of the graph's.

`UPDATE_GOLDEN=1 python -m pytest tests/web/test_pictures.py` writes the pictures anew.
"""

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.web.screenshots import SHOTS, page_of, places_text, small, taken

ASSETS = Path(__file__).parents[2] / "docs" / "assets"
PLACES = Path(__file__).parent / "places.json"
CELL = 16
FAR = 12  # of 255, in one of the three colours
MOST_OF_PAGE, MOST_OF_GRAPH = 0.08, 0.06  # of the squares may differ by more than that
NEAR = 3  # pixels that a text may stand elsewhere


def squares(picture):
    """The mean colour of each square."""
    pixels = np.asarray(picture, float)
    rows, columns = pixels.shape[0] // CELL, pixels.shape[1] // CELL
    whole = pixels[: rows * CELL, : columns * CELL]
    return whole.reshape(rows, CELL, columns, CELL, 3).mean(axis=(1, 3))


def differing(a, b, box=None):
    """Of the squares in which something stands in either, the share that differs."""
    a, b = (squares(Image.open(io.BytesIO(png)).convert("RGB").crop(box)) for png in (a, b))
    ground = np.median(a.reshape(-1, 3), axis=0)
    busy = np.maximum(np.abs(a - ground), np.abs(b - ground)).max(axis=-1) > 2
    return float((np.abs(a - b).max(axis=-1) > FAR)[busy].mean())


def kept(name):
    """The picture in the documentation, and the places of its texts."""
    places = json.loads(PLACES.read_text(encoding="utf-8"))
    return (ASSETS / f"{name}.png").read_bytes(), places[name]


def keep(name, shown):
    places = json.loads(PLACES.read_text(encoding="utf-8")) if PLACES.exists() else {}
    places[name] = [[text, round(x), round(y)] for text, x, y in shown.texts]
    PLACES.write_text(places_text({shot: places.get(shot, []) for shot in SHOTS}), "utf-8")
    (ASSETS / f"{name}.png").write_bytes(small(shown.png))


def moved(texts, places):
    pairs = zip(texts, places, strict=True)
    return [text for (text, x, y), (_, u, v) in pairs if max(abs(x - u), abs(y - v)) > NEAR]


@pytest.mark.parametrize("name", SHOTS)
def test_the_page_looks_like_its_picture(browser, tmp_path, name):
    shown = taken(browser, SHOTS[name], page_of(SHOTS[name], tmp_path))
    if os.environ.get("UPDATE_GOLDEN"):
        keep(name, shown)
    golden, places = kept(name)
    assert differing(golden, shown.png) < MOST_OF_PAGE
    assert differing(golden, shown.png, shown.graph) < MOST_OF_GRAPH
    assert [text for text, _, _ in shown.texts] == [text for text, _, _ in places]
    assert moved(shown.texts, places) == []


def test_pictures_are_small_and_all_are_shown():
    pages = "".join(
        (ASSETS.parents[1] / page).read_text(encoding="utf-8")
        for page in ("README.md", "docs/gallery.md")
    )
    assert {path.stem for path in ASSETS.glob("explorer*.png")} == set(SHOTS)
    for name in SHOTS:
        assert (ASSETS / f"{name}.png").stat().st_size <= 60_000
        assert f"assets/{name}.png" in pages


# ---- the comparison bites -----------------------------------------------------------------------

SPOILT = {
    "labels are gone": "CanvasRenderingContext2D.prototype.fillText = () => {};",
    "wires are gone": "CanvasRenderingContext2D.prototype.stroke = () => {};",
    "gates are gone": "CanvasRenderingContext2D.prototype.fill = () => {};",
    "the colours are those of dark": "addEventListener('DOMContentLoaded', () => "
    "{ document.documentElement.dataset.theme = 'dark'; });",
    "values and adjoints have changed colours": "addEventListener('DOMContentLoaded', () => { "
    "for (const [name, colour] of [['value', '#b35900'], ['adjoint', '#0b6e99']]) "
    "document.documentElement.style.setProperty(`--${name}`, colour); });",
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_spoilt_picture_is_noticed(browser, tmp_path, what):
    shot = SHOTS["explorer"]
    shown = taken(browser, shot, page_of(shot, tmp_path), SPOILT[what])
    assert differing(kept("explorer")[0], shown.png, shown.graph) > 1.2 * MOST_OF_GRAPH


def test_a_box_that_moved_is_noticed(browser, tmp_path):
    shot = SHOTS["explorer"]
    path = page_of(shot, tmp_path)
    page = path.read_text(encoding="utf-8")
    data = page.split('id="scene">')[1].split("</script>")[0]
    scene = json.loads(data)
    scene["place"]["y"][4] += 12  # f
    path.write_text(page.replace(data, json.dumps(scene).replace("<", "\\u003c")), encoding="utf-8")
    shown = taken(browser, shot, path)
    golden, places = kept("explorer")
    assert {"f", "−12", "1"} <= set(moved(shown.texts, places))
    assert differing(golden, shown.png, shown.graph) > 1.2 * MOST_OF_GRAPH

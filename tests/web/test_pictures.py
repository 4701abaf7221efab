"""The pictures of the README and of the gallery are what the page looks like.

Machines differ in their fonts, so pictures are compared coarsely: the mean colour of every square
of CELL × CELL pixels in which something stands; what is written on the canvas, where, exactly.
`UPDATE_GOLDEN=1 python -m pytest tests/web/test_pictures.py` writes them anew.
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
MOST = 0.04  # of the squares may differ by more than that
NEAR = 3  # pixels that a text may stand elsewhere


def squares(png):
    """The mean colour of each square."""
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), float)
    rows, columns = picture.shape[0] // CELL, picture.shape[1] // CELL
    whole = picture[: rows * CELL, : columns * CELL]
    return whole.reshape(rows, CELL, columns, CELL, 3).mean(axis=(1, 3))


def differing(a, b):
    """Of the squares in which something stands in either, the share that differs."""
    a, b = squares(a), squares(b)
    ground = np.median(a.reshape(-1, 3), axis=0)
    busy = np.maximum(np.abs(a - ground), np.abs(b - ground)).max(axis=-1) > 2
    return float((np.abs(a - b).max(axis=-1) > FAR)[busy].mean())


def kept(name, found):
    """The picture in the documentation and the places of its texts."""
    png, texts = found
    texts = [[text, round(x), round(y)] for text, x, y in texts]
    places = json.loads(PLACES.read_text(encoding="utf-8")) if PLACES.exists() else {}
    if os.environ.get("UPDATE_GOLDEN"):
        (ASSETS / f"{name}.png").write_bytes(small(png))
        places = {shot: texts if shot == name else places.get(shot, []) for shot in SHOTS}
        PLACES.write_text(places_text(places), encoding="utf-8")
    return (ASSETS / f"{name}.png").read_bytes(), places[name]


@pytest.mark.parametrize("name", SHOTS)
def test_the_page_looks_like_its_picture(browser, tmp_path, name):
    shot = SHOTS[name]
    png, texts = taken(browser, shot, page_of(shot, tmp_path))
    golden, places = kept(name, (png, texts))
    assert differing(golden, png) < MOST
    assert [text for text, _, _ in texts] == [text for text, _, _ in places]
    for (text, x, y), (_, u, v) in zip(texts, places, strict=True):
        assert abs(x - u) <= NEAR, text
        assert abs(y - v) <= NEAR, text


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
    png, _ = taken(browser, shot, page_of(shot, tmp_path), SPOILT[what])
    golden = (ASSETS / "explorer.png").read_bytes()
    assert differing(golden, png) > 1.5 * MOST


def test_a_box_that_moved_is_noticed(browser, tmp_path):
    shot = SHOTS["explorer"]
    path = page_of(shot, tmp_path)
    page = path.read_text(encoding="utf-8")
    data = page.split('id="scene">')[1].split("</script>")[0]
    scene = json.loads(data)
    scene["place"]["y"][4] += 12  # f
    path.write_text(page.replace(data, json.dumps(scene).replace("<", "\\u003c")), encoding="utf-8")
    png, texts = taken(browser, shot, path)
    places = json.loads(PLACES.read_text(encoding="utf-8"))["explorer"]
    pairs = zip(texts, places, strict=True)
    assert {"f", "−12", "1"} <= {text for (text, _, y), (_, _, v) in pairs if abs(y - v) > NEAR}
    assert differing((ASSETS / "explorer.png").read_bytes(), png) > MOST

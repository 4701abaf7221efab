"""Screenshots of the explorer, as the README and the gallery show them.

python -m tests.web.screenshots FOLDER    writes them (needs playwright and chromium)

Those in docs/assets are what `test_pictures.py` compares the page with; after a change that is
meant to be seen, `UPDATE_GOLDEN=1 python -m pytest tests/web/test_pictures.py` writes them anew.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from tests.view.gallery import ran
from tests.web.conftest import RECORD

COLOURS = 48  # of a picture; more are not to be told apart


class Shot(NamedTuple):
    """A program at a place, after some keys."""

    program: str
    place: str = ""
    keys: tuple[str, ...] = ()
    theme: str = "light"
    height: int = 760


SHOTS = {
    "explorer": Shot("product", "#step=7", height=640),
    "explorer-shared": Shot("shared", keys=("ArrowDown",)),
    "explorer-counted-twice": Shot("counted-twice", "#step=99&order=recursive", height=640),
    "explorer-softmax": Shot("softmax", keys=("ArrowDown",)),
    "explorer-network": Shot("network", "#step=19"),
    "explorer-convolution": Shot("convolution", "#level=group"),
    "explorer-lstm": Shot("lstm", "#level=group", theme="dark"),
    "explorer-transformer": Shot("transformer", "#step=60", theme="dark"),
    "explorer-beside": Shot("shared", "#compare&step=14"),
}


def page_of(shot: Shot, folder: Path) -> Path:
    return ran(shot.program).explore(folder / f"{shot.program}.html")


class Taken(NamedTuple):
    """A page as PNG, the box of the graph in it, and what is written there: [text, x, y]."""

    png: bytes
    graph: tuple[int, int, int, int]
    texts: list[Any]


def taken(browser: Any, shot: Shot, path: Path, script: str = "") -> Taken:
    """The page of a shot, spoilt by a script if one is given."""
    page = browser.new_page(
        viewport={"width": 1280, "height": shot.height},
        color_scheme=shot.theme,
        reduced_motion="reduce",
    )
    page.add_init_script(RECORD + script)
    page.goto(path.as_uri() + shot.place)
    for key in shot.keys:
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    box = page.locator("#stage").bounding_box()
    left, top = round(box["x"]), round(box["y"])
    graph = left, top, left + round(box["width"]), top + round(box["height"])
    made = Taken(page.screenshot(), graph, page.evaluate("written"))
    page.close()
    return made


def small(png: bytes) -> bytes:
    """The same picture in few colours."""
    made = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


def main(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, tempfile.TemporaryDirectory() as place:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, shot in SHOTS.items():
            shown = taken(browser, shot, page_of(shot, Path(place)))
            (folder / f"{name}.png").write_bytes(small(shown.png))
        browser.close()


def places_text(places: dict[str, list[Any]]) -> str:
    """What is written where, one picture a line."""
    rows = (f'"{name}": {json.dumps(found, ensure_ascii=False)}' for name, found in places.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))

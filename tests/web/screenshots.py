"""Screenshots of the explorer, as the documentation shows them.

python -m tests.web.screenshots FOLDER    writes them (needs playwright and chromium)
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.view.gallery import ran

SHOTS = {  # file: program, place, key, theme, size
    "explorer": ("product", "#step=7", "", "light", (1280, 640)),
    "explorer-shared": ("shared", "", "ArrowDown", "light", (1280, 800)),
    "explorer-softmax": ("softmax", "", "ArrowDown", "light", (1280, 800)),
    "explorer-recursive": ("two-ways", "#step=99&order=recursive", "", "light", (1280, 800)),
    "explorer-beside": ("shared", "#compare&step=14", "", "light", (1280, 800)),
    "explorer-sort": ("shared", "#sort=9", "", "dark", (1280, 800)),
    "explorer-transformer": ("transformer", "#step=60", "", "dark", (1280, 800)),
    "explorer-telephone": ("softmax", "#step=20", "", "light", (320, 700)),
}


def main(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, tempfile.TemporaryDirectory() as place:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, (program, anchor, key, theme, (width, height)) in SHOTS.items():
            path = ran(program).explore(Path(place) / f"{name}.html")
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme=theme,
                reduced_motion="reduce",
            )
            page.goto(path.as_uri() + anchor)
            if key:
                page.keyboard.press(key)
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

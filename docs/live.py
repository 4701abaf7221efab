"""Explorer pages inside the documentation, written when it is built.

    <!-- explorer product #step=7 -->

in a page becomes a frame with the page of that name of `examples/gallery.py`, at that place; where
Markdown is read as it is, nothing is seen of it.  MkDocs calls the functions below.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from html import escape
from pathlib import Path
from typing import Any

MARK = re.compile(r"^<!-- explorer (?P<name>[\w-]+)(?: (?P<place>#\S+))? -->$", re.M)
FOLDER = "live"
HIGH = 620  # pixels of a frame
wanted: set[str] = set()


def gallery() -> Any:
    """The module `examples/gallery.py`, which is not installed."""
    path = Path(__file__).parents[1] / "examples" / "gallery.py"
    spec = importlib.util.spec_from_file_location("gallery", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module  # where the source of its functions is looked up
    spec.loader.exec_module(module)
    return module


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put frames in the place of marks."""
    up = "../" * page.url.count("/")
    return MARK.sub(lambda mark: framed(mark["name"], mark["place"] or "", up), markdown)


def framed(name: str, place: str, up: str) -> str:
    wanted.add(name)
    address = f"{up}{FOLDER}/{name}.html{place}"
    style = f"width:100%;height:{HIGH}px;border:1px solid #8885;border-radius:8px"
    frame = f'<iframe src="{escape(address)}" title="The explorer" loading="lazy" style="{style}">'
    return f'{frame}</iframe>\n<p><a href="{escape(address)}">in a page of its own</a></p>'


def on_post_build(config: Any, **_: Any) -> None:
    """Write the pages that were asked for."""
    if not wanted:
        return
    found = gallery()
    folder = Path(config.site_dir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name in sorted(wanted):
        found.ran(found.GALLERY[name]).explore(folder / f"{name}.html")

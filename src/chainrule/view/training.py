"""A training run as a page of its own, and in the cell of a notebook while it trains.

Both run `training.js`, built from `web/` by `make web`.  What it shows is the data that
`live.py` describes, and a picture of the graph.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from chainrule.errors import UnsupportedError
from chainrule.view.explore import json_in_page
from chainrule.view.notebook import Embedded

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · chainrule</title>
</head>
<body>
<main id="chainrule-training"></main>
<script type="application/json" id="chainrule-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""
POLICY = "default-src 'none'; script-src {}; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def script() -> str:
    """The view, as a module that anywidget can run, or a page."""
    return files("chainrule.view").joinpath("training.js").read_text(encoding="utf-8").strip()


def training_page(data: dict[str, Any], picture: str) -> str:
    """The page of a run: its data, and the picture of its graph as SVG or nothing."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return PAGE.format(
        policy=POLICY.format(f"'sha256-{digest}'"),
        title=escape(data["name"] or "training"),
        data=json_in_page({"data": data, "picture": picture}),
        script=script(),
    )


class Cell:
    """The view in a notebook: a widget while it trains, then a page, which stays in the file."""

    def __init__(self, data: dict[str, Any]):
        self.widget = widget(data)
        from IPython.display import display

        self.handle = display(self.widget, display_id=True)

    def send(self, data: dict[str, Any], picture: str) -> None:
        """Show this."""
        with self.widget.hold_sync():
            self.widget.data, self.widget.picture = data, picture

    def close(self, page: Embedded) -> None:
        """Show a page in the place of the widget, whose kernel may be gone tomorrow."""
        if self.handle is not None:
            self.handle.update(page)
        self.widget.close()


def widget(data: dict[str, Any]) -> Any:
    """The view as a widget, whose traits are what it shows."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise UnsupportedError(
            "to watch training in a notebook takes anywidget: pip install 'chainrule[view]'.  "
            "Without it, train with progress=True."
        ) from None

    class Training(anywidget.AnyWidget):
        _esm = script()
        data = traitlets.Dict().tag(sync=True)
        picture = traitlets.Unicode().tag(sync=True)

    return Training(data=data)

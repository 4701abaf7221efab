"""Where Python's layout puts the boxes of some graphs, as the page's must: web/test/layouts.json.

python -m tests.web.layouts    writes it
"""

from __future__ import annotations

import json
from typing import Any

from chainrule.view.boxes import boxes_of
from chainrule.view.layout import layout
from chainrule.view.model import model_of
from tests.view.gallery import ran
from tests.web.ops import WEB

FILE = WEB / "test" / "layouts.json"
NAMES = ("product", "shared", "two-ways", "gates", "softmax", "network", "lstm", "transformer")


def cases() -> dict[str, Any]:
    """Per graph its boxes and edges, and where all of it stands."""
    found = {}
    for name in NAMES:
        model = model_of(ran(name))
        boxes = boxes_of(model)
        given = {
            "tails": model.parent,
            "heads": model.child,
            "widths": [box.width for box in boxes],
            "halves": [max(box.above, box.below) for box in boxes],
            "leaves": [not op for op in model.op],
        }
        found[name] = {**given, "place": layout(*given.values()).to_data()}
    return found


def text() -> str:
    """The file: one graph a line."""
    rows = [f'"{name}": {json.dumps(case)}' for name, case in cases().items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

"""The explorer: one page, complete in itself, in which a graph computes and differentiates.

The page is `page.html`, built from `web/` by `make web`.  What it shows is put into it as JSON, in
which no `<` stands, so that nothing in a name, a value or a line of code can be read as markup.
"""

from __future__ import annotations

import json
import tempfile
import webbrowser
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.diff.run import Run, completed_run
from chainrule.errors import GraphError
from chainrule.view.listing import listings
from chainrule.view.notebook import Embedded, in_notebook
from chainrule.view.scene import scene

DATA = '<script type="application/json" id="scene">null</script>'
TITLE = "<title>chainrule</title>"


def explore(
    graph: Graph, path: str | PathLike[str] | None = None, run: Run | None = None
) -> Path | Embedded:
    """Write the explorer page of a graph: its values, adjoints and steps in a run.

    Without a run it is that at the point where the graph was recorded; a graph read from a file has
    none, and shows its structure.  Without a path a notebook gets the page as an object that it
    shows in the cell; elsewhere it is a temporary file, which the browser opens.
    """
    if run is not None and run.graph is not graph:
        raise GraphError("the run is one of another graph; pass one that graph.forward(…) gave")
    if run is None and graph.point is not None:
        run = completed_run(graph, {**graph.captured, **graph.point})
        out = graph.outputs[0]
        if len(graph.outputs) == 1 and out.size == 1 and out.dtype.kind == "f":
            run.backward(np.ones(out.shape))
    page = page_of(graph if run is None else run)
    if path is None and in_notebook():
        return Embedded(f"explorer of {graph.name}", page)
    return written(page, path)


def explore_run(run: Run, path: str | PathLike[str] | None = None) -> Path | Embedded:
    """Write the explorer page of this run; without a path, also open it: `graph.explore`."""
    return explore(run.graph, path, run)


def written(page: str, path: str | PathLike[str] | None) -> Path:
    """Write a page; without a path to a temporary file that the browser opens."""
    if path is not None:
        target = Path(path)
        target.write_text(page, encoding="utf-8")
        return target
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="chainrule-", suffix=".html", delete=False
    ) as file:
        file.write(page)
    target = Path(file.name)
    webbrowser.open(target.as_uri())
    return target


def page_of(subject: Graph | Run, formula: str = "") -> str:
    """The page of a graph or run; `formula` is what was typed, where that is its source."""
    graph = subject if isinstance(subject, Graph) else subject.graph
    shown = scene(subject) | {"source": [] if formula else listings(graph), "formula": formula}
    page = files("chainrule.view").joinpath("page.html").read_text(encoding="utf-8")
    page = page.replace(TITLE, f"<title>{escape(formula or graph.name)} · chainrule</title>")
    return page.replace(DATA, DATA.replace("null", json_in_page(shown)))


def json_in_page(data: Any) -> str:
    """Data as JSON for a script element, in which nothing can be read as markup."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")

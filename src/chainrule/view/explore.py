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

from chainrule.core.graph import Graph
from chainrule.diff.run import Run
from chainrule.errors import GraphError
from chainrule.view.listing import listings
from chainrule.view.scene import scene

DATA = '<script type="application/json" id="scene">null</script>'
TITLE = "<title>chainrule</title>"


def explore(graph: Graph, path: str | PathLike[str] | None = None, run: Run | None = None) -> Path:
    """Write the explorer page of a graph, with a run also its values, adjoints and steps.

    Without a path the page is a temporary file, and is opened in the browser.
    """
    if run is not None and run.graph is not graph:
        raise GraphError("the run is one of another graph; pass one that graph.forward(…) gave")
    return written(page_of(graph if run is None else run), path)


def explore_run(run: Run, path: str | PathLike[str] | None = None) -> Path:
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
    data = json.dumps(shown, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    page = files("chainrule.view").joinpath("page.html").read_text(encoding="utf-8")
    page = page.replace(TITLE, f"<title>{escape(formula or graph.name)} · chainrule</title>")
    return page.replace(DATA, DATA.replace("null", data.replace("<", "\\u003c")))

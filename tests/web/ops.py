"""What Python computes for every op that the page's own evaluator knows: web/test/ops.json.

python -m tests.web.ops    writes it
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.explain.numbers import as_json

WEB = Path(__file__).parents[2] / "web"
FILE = WEB / "test" / "ops.json"
REALS = (-30.0, -2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 1.7, 25.0)
UNIT = (-0.9, -0.3, 0.0, 0.2, 0.75)
POSITIVE = (1e-3, 0.4, 1.0, 2.7, 40.0)
DOMAINS = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt"), POSITIVE),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), UNIT),
    "arccosh": (1.1, 1.5, 3.0, 40.0),
    "cbrt": (-8.0, -0.2, 0.3, 2.0, 27.0),
    "reciprocal": (-3.0, -0.2, 0.5, 4.0),
    "tan": (-1.2, -0.3, 0.0, 0.9, 2.5),
}
PAIRS = ((2.0, 3.0), (-1.5, 0.5), (0.0, 2.0), (4.0, -2.5), (1.25, 1.25), (-3.0, -0.25))
POWERS = ((2.0, 3.0), (0.5, -1.5), (0.0, 2.0), (1.7, 0.0), (9.0, 0.5), (-2.0, 3.0))


def known() -> list[str]:
    """The ops that the page says it knows."""
    text = (WEB / "src" / "evaluate.ts").read_text(encoding="utf-8")
    table = text.partition("RULES: Record<string, Rule> = {")[2].partition("\n};")[0]
    return re.findall(r"^  (\w+): ", table, re.M)


def cases() -> dict[str, list[dict[str, Any]]]:
    """Per op the programs, points, values and adjoints."""
    made = {name: _of(name) for name in known()}
    made["graph"] = [case(_graph, *at) for at in ((0.7, 2.0, -0.4), (-1.0, 0.3, 2.0))]
    return made


def case(function: Any, *at: float) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        graph = cr.trace(function, *at)
        run = graph.forward(*at).backward()
        adjoints = run.known_adjoints()
        return {
            "program": _bare(json.loads(graph.to_json())),
            "at": list(at),
            "values": [as_json(run.value(n)) for n in graph.nodes],
            "adjoints": [
                as_json(run.adjoint(n)) if adjoints.get(n) is not None else None
                for n in graph.nodes
            ],
        }


def _of(name: str) -> list[dict[str, Any]]:
    op = getattr(cr, name)
    if name in BINARY:
        pairs = POWERS if name == "power" else PAIRS
        both = [case(lambda x, y: op(x, y), *at) for at in pairs]
        if name == "power":
            return both + [case(lambda x, c=c: op(x, c), 1.5) for c in (2, 3.0, -1, 0.5)]
        return both + [case(lambda x: op(x, 1.25), at) for at in (-1.0, 1.25, 3.0)]
    return [case(lambda x: op(x) * x, at) for at in DOMAINS.get(name, REALS)]


BINARY = {"add", "subtract", "multiply", "divide", "power", "maximum", "minimum"}


def _graph(x: Any, y: Any, z: Any) -> Any:
    a = x * x + y
    b = np.maximum(a, z) * np.sin(a)
    return np.exp(-a) / (1.0 + b**2) + b * y + np.minimum(y, y)


def _bare(program: dict[str, Any]) -> dict[str, Any]:
    """Without the lines of source, which are those of this file."""
    nodes = [{k: v for k, v in node.items() if k != "line"} for node in program["nodes"]]
    return {"nodes": nodes, "outputs": program["outputs"]}


def text() -> str:
    """The file: one case a line."""
    made = []
    for name, found in cases().items():
        rows = ",\n".join(json.dumps(one) for one in found)
        made.append(f'"{name}": [\n{rows}\n]')
    return "{\n" + ",\n".join(made) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

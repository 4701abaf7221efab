"""What Python computes for every op that the page's own evaluator knows: web/test/ops.json.

Each op is taken at its own samples and edges, and at some points more; whole programs follow.

python -m tests.web.ops    writes it
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.core.op import ZERO, Sample, sample
from chainrule.diff.run import Run, recorded_run
from chainrule.explain.numbers import as_json
from chainrule.ops.samples import draw
from chainrule.view.model import model_of
from chainrule.view.scene import point_of, program_of
from tests.view.gallery import PROGRAMS

WEB = Path(__file__).parents[2] / "web"
FILE = WEB / "test" / "ops.json"
TABLES = (  # of the ops the page knows: file and name
    ("elementwise", "RULES"),
    ("selecting", "MOVES"),
    ("multiplying", "SUMS"),
    ("folding", "FOLDS"),
    ("multiplying", "PRODUCTS"),
)
COMPUTED = ("<f8", "|b1", "<i8")  # the types of leaves that the page computes with
LARGEST = 60  # entries of a sample
REALS = (-30.0, -2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 1.7, 25.0)
UNIT = (-0.9, -0.3, 0.0, 0.2, 0.75)
POSITIVE = (1e-3, 0.4, 1.0, 2.7, 40.0)
DOMAINS = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "square_of_root"), POSITIVE),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), UNIT),
    "arccosh": (1.1, 1.5, 3.0, 40.0),
    "cbrt": (-8.0, -0.2, 0.3, 2.0, 27.0),
    "reciprocal": (-3.0, -0.2, 0.5, 4.0),
    "tan": (-1.2, -0.3, 0.0, 0.9, 2.5),
}
PAIRS = ((2.0, 3.0), (-1.5, 0.5), (0.0, 2.0), (4.0, -2.5), (1.25, 1.25), (-3.0, -0.25))
POWERS = ((2.0, 3.0), (0.5, -1.5), (0.0, 2.0), (1.7, 0.0), (9.0, 0.5), (-2.0, 3.0))
GALLERY = ("softmax", "network", "lstm-step", "transformer", "lstm", "gates", "trouble")


def known() -> list[str]:
    """The ops that the page says it knows."""
    return [name for file, table in TABLES for name in _listed(file, table)]


def _listed(file: str, table: str) -> list[str]:
    text = (WEB / "src" / f"{file}.ts").read_text(encoding="utf-8")
    rows = re.split(rf"const {table}\b.*= \{{\n", text)[1].partition("\n};")[0]
    return re.findall(r"^  (\w+): ", rows, re.M)


ELEMENTWISE = _listed(*TABLES[0])


def cases(name: str) -> list[dict[str, Any]]:
    """Of an op, or of a program, the points with all that is shown there."""
    with np.errstate(all="ignore"):
        return WHOLE[name]() if name in WHOLE else [*_of(name)]


def case(function: Any, *at: Any) -> dict[str, Any]:
    """One run: its program and point, and what a page shows of it."""
    run = recorded_run(function, *at)
    out = run.graph.outputs[0]
    run.backward(draw(out.shape, -2, 2, seed=7)[()] if out.shape else None)
    return _written(run)


def _written(run: Run) -> dict[str, Any]:
    model, adjoints = model_of(run), run.known_adjoints()
    nodes = run.graph.nodes
    return {
        "program": _bare(program_of(run.graph)),
        "point": point_of(run),
        "values": [None if n.is_leaf else _flat(run.value(n)) for n in nodes],
        "adjoints": [_flat(run.adjoint(n)) if adjoints.get(n) is not None else None for n in nodes],
        "shown": {
            name: getattr(model, name)
            for name in ("value", "adjoint", "status", "flags", "parent", "child", "flow")
        }
        | {"local": model.local, "contribution": model.contribution},
    }


def _flat(value: Any) -> list[Any]:
    return as_json(np.reshape(value, -1), size=10**6)["data"]


def _of(name: str) -> Iterator[dict[str, Any]]:
    op = cr.OPS[name]
    for one in (*_samples(name), *_more(name)):
        size = max(map(np.size, one.args))  # without an entry there is nothing to see
        if 0 < size <= LARGEST and all(np.asarray(a).dtype.str in COMPUTED for a in one.args):
            made = case(_called(op, one), *(a for a in one.args if not _is_constant(a)))
            if _is_computed(made["program"]):
                yield made


def _samples(name: str) -> Iterator[Sample]:
    """Those of the op; of a function of one number two shapes are enough."""
    op = cr.OPS[name]
    alone = name in ELEMENTWISE and len(op.inputs) == 1
    for one in op.samples():
        if not alone or one.attrs or np.shape(one.args[0]) in ((), (2, 3)):
            yield one
    yield from op.edges() if op.edges else ()


def _more(name: str) -> Iterator[Sample]:
    """Points of our own, and constants beside leaves."""
    inputs = cr.OPS[name].inputs
    if name == "astype":
        yield sample(np.array([True, False]), dtype=np.dtype(np.float64))
        yield sample(draw((2, 3), -2, 2), dtype=np.dtype(np.float64))
    if name not in ELEMENTWISE or cr.OPS[name].attrs or cr.OPS[name].derivative is ZERO:
        return
    if inputs == ("x", "y") and name != "multiply_mask":
        for x, y in POWERS if name == "power" else PAIRS:
            yield sample(np.float64(x), np.float64(y))
            yield sample(np.float64(x), y)
            yield sample(x, np.float64(y))
    if inputs == ("x",):
        yield from (sample(np.float64(x)) for x in DOMAINS.get(name, REALS))


def _is_constant(value: Any) -> bool:
    return type(value) in (int, float)


def _called(op: Any, one: Sample) -> Any:
    """The op as a function of the arguments that are no constants, with a floating result."""

    def function(*leaves: Any) -> Any:
        left = iter(leaves)
        out = op(*(a if _is_constant(a) else next(left) for a in one.args), **one.attrs)
        return cr.where(out, leaves[0] * 2.0, 3.0) if out.dtype.kind == "b" else out

    return function


def _is_computed(program: Any) -> bool:
    """Whether the page claims to know it: float64 and truth, and no `where` or dtype of NumPy's."""
    ops = [node for node in program["nodes"] if "op" in node]
    names = {*known()}
    return (
        all(node["op"] in names and node["dtype"] in ("<f8", "|b1") for node in ops)
        and all(node["attrs"].get("dtype") is None or node["op"] == "astype" for node in ops)
        and all(node["attrs"].get("where", True) is True for node in ops)
        and all(node["dtype"] in COMPUTED for node in program["nodes"])
        and not any(node["op"] == "gather" and _has_mask(program, node) for node in ops)
    )


def _has_mask(program: Any, node: Any) -> bool:
    arrays = [a for a in node["args"][1:] if "node" in a]
    return any(program["nodes"][a["node"]]["dtype"] == "|b1" for a in arrays)


# -- whole programs ------------------------------------------------------------------------------


def _graph(x: Any, y: Any, z: Any) -> Any:
    a = x * x + y
    b = np.maximum(a, z) * np.sin(a)
    return np.exp(-a) / (1.0 + b**2) + b * y + np.minimum(y, y)


def _masks(x: Any) -> Any:
    above = x > 0
    kept = above * np.floor(x) + np.where(x < -1, x, 0.5)
    return np.sum(kept * np.max(x, axis=0), axis=1) + cr.relu(x)[:, 1]


def _dead_lanes(x: Any) -> Any:
    """√0 has an infinite slope, and no gradient comes there."""
    root = np.sqrt(x)
    table = np.stack([root, 1 / x])
    return np.where(x > 1, root, 0.0)[1] + table[0, 1] + (np.eye(2) @ table)[0, 1]


def _moved(name: str) -> dict[str, Any]:
    """A program of the gallery, at another point than the one where it was recorded."""
    function, arguments = PROGRAMS[name]
    graph = cr.trace(function, *arguments)
    at = [0.9 * value + 0.05 if name != "trouble" else value for value in _leaves(graph)]
    return _written(graph.forward(*at).backward())


def _leaves(graph: Any) -> list[Any]:
    return [graph.point[leaf] for leaf in graph.leaves]


WHOLE: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "graph": lambda: [case(_graph, *at) for at in ((0.7, 2.0, -0.4), (-1.0, 0.3, 2.0))],
    "masks": lambda: [case(_masks, draw((2, 3), -2, 2)), case(_masks, np.eye(2))],
    "dead lanes": lambda: [case(_dead_lanes, np.array([0.0, 2.0]))],
    **{f"program {name}": lambda name=name: [_moved(name)] for name in GALLERY},
}


def _bare(program: dict[str, Any]) -> dict[str, Any]:
    """Without the lines of source, which are those of this file."""
    nodes = [{k: v for k, v in node.items() if k != "line"} for node in program["nodes"]]
    return {"nodes": nodes, "outputs": program["outputs"]}


def text() -> str:
    """The file: one case a line."""
    made = []
    for name in (*known(), *WHOLE):
        rows = ",\n".join(
            json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in cases(name)
        )
        made.append(f'"{name}": [\n{rows}\n]')
    return "{\n" + ",\n".join(made) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

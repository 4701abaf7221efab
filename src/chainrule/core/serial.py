"""Graphs as JSON text and back: no pickle, exact to the bit, and nothing in a file is trusted.

    {"chainrule": 1, "name": …, "nodes": [{"leaf": name, "dtype": …, "shape": […]} |
     {"op": …, "args": [{"node": i} | value], "attrs": {…}, "dtype": …, "shape": …, "line": …}],
     "leaves": [i], "outputs": [i], "captured": [[i, value]]}

Values that JSON has no word for are objects with one key that says what they are.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.loop import Body
from chainrule.core.node import NO_ATTRS, Node, StoredLine, make_leaf
from chainrule.core.op import OPS
from chainrule.core.rule import rule_for
from chainrule.core.slot import Slot
from chainrule.core.spec import Spec
from chainrule.core.verify import verify
from chainrule.errors import ChainruleError, SerialisationError

VERSION = 1
MAX_AXES = 64  # NumPy's own limit
BODY = {"count": int, "carried": int, "rows": int, "backwards": bool, "saves": bool}


def to_json(graph: Graph) -> str:
    """The graph as text; `Graph.from_json` reads it back."""
    return json.dumps(_encode_graph(graph))


def _encode_graph(graph: Graph) -> dict[str, Any]:
    index = graph.index
    nodes = [_encode_node(node, index) for node in graph.nodes]
    return {
        "chainrule": VERSION,
        "name": _printable(graph.name),
        "nodes": nodes,
        "leaves": [index[n] for n in graph.leaves],
        "outputs": [index[n] for n in graph.outputs],
        "captured": [[index[n], encode(v)] for n, v in graph.captured.items()],
    }


def _encode_body(body: Body) -> dict[str, Any]:
    held = {name: getattr(body, name) for name in BODY}
    return {"graph": _encode_graph(body.graph), "reads": encode(body.reads), **held}


def _decode_body(held: Any) -> Body:
    numbers = {name: _typed(held[name], kind) for name, kind in BODY.items()}
    graph = verify(_decode_graph(held["graph"]))
    reads = _typed(decode(held["reads"]), tuple)
    body = Body(graph, reads=reads, **numbers)
    counts = body.count, body.carried, body.rows, body.fixed
    if min(counts) < 0 or graph.captured or body.carried + len(reads) > len(graph.outputs):
        raise SerialisationError("the inputs and outputs of a loop are not those of its body")
    return body


def _encode_node(node: Node, index: dict[Node, int]) -> dict[str, Any]:
    made: dict[str, Any] = {"dtype": node.dtype.str, "shape": list(node.shape)}
    if node.is_leaf:
        return {"leaf": _name(node.name), **made}
    if OPS.get(node.op.name) is not node.op:
        raise SerialisationError(
            f"{node.op.name} is a function of yours; only ops of the table can be written"
        )
    if node.line is not None:
        made["line"] = [
            _without_controls(node.line.file.replace("\\", "/").rsplit("/", 1)[-1]),
            node.line.number,
            _without_controls(node.line.text),
        ]
    args = [{"node": index[a]} if isinstance(a, Node) else encode(a) for a in node.args or ()]
    return {
        "op": node.op.name,
        "args": args,
        "attrs": {k: encode(v) for k, v in node.attrs.items()},
        **made,
    }


def _without_controls(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def encode(value: Any) -> Any:
    """A constant or attr as JSON."""
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "fciub":
            raise SerialisationError(f"an array of {value.dtype} cannot be written")
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [value.dtype.str, list(value.shape), data]}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [encode(v) for v in value]}
    named: dict[type, Callable[[Any], Any]] = {
        complex: lambda v: {"complex": [repr(v.real), repr(v.imag)]},
        Body: lambda v: {"body": _encode_body(v)},
        slice: lambda v: {"slice": [encode(v.start), encode(v.stop), encode(v.step)]},
        Slot: lambda v: {"slot": v.k},
        type(Ellipsis): lambda v: {"ellipsis": True},
    }
    if type(value) in named:
        return named[type(value)](value)
    if isinstance(value, np.dtype) or (
        isinstance(value, type) and issubclass(value, (np.generic, float, int, complex))
    ):
        return {"dtype": np.dtype(value).str}
    raise SerialisationError(f"a {type(value).__name__} cannot be written into a graph file")


def decode(text: Any) -> Any:
    """The value of one encoded constant or attr."""
    if not isinstance(text, dict):
        if isinstance(text, list):
            raise SerialisationError("a bare list is not a value")
        return text
    ((kind, held),) = text.items()
    if kind in ("array", "scalar"):
        array = _array(*held)
        return array if kind == "array" else array[()]
    known: dict[str, Callable[[Any], Any]] = {
        "float": float,
        "complex": lambda h: complex(float(h[0]), float(h[1])),
        "tuple": lambda h: tuple(decode(v) for v in h),
        "list": lambda h: [decode(v) for v in h],
        "body": _decode_body,
        "slice": lambda h: slice(*(decode(v) for v in h)),
        "slot": lambda h: Slot(_typed(h, int)),
        "ellipsis": lambda h: Ellipsis,
        "dtype": _dtype,
    }
    if kind not in known:
        raise SerialisationError(f"unknown kind of value {_shortened(kind)}")
    return known[kind](held)


def _dtype(name: str, several: bool = False) -> np.dtype[Any]:
    """A type of numbers; a node of `several` results has the type of objects."""
    dtype = np.dtype(_typed(name, str))
    if dtype.kind not in ("fciubO" if several else "fciub"):
        raise SerialisationError(f"dtype {name!r} is not a number type")
    return dtype


def _shape(sizes: Any) -> tuple[int, ...]:
    if len(_typed(sizes, list)) > MAX_AXES:
        raise SerialisationError(f"{len(sizes)} axes are more than the {MAX_AXES} NumPy has")
    if any(_typed(n, int) < 0 for n in sizes):
        raise SerialisationError(f"the shape {sizes} has a negative size")
    return tuple(sizes)


def _array(dtype: str, shape: list[int], data: str) -> np.ndarray[Any, Any]:
    raw = base64.b64decode(_typed(data, str), validate=True)
    spec = Spec(_shape(shape), _dtype(dtype))
    if len(raw) != spec.dtype.itemsize * spec.size:
        raise SerialisationError(
            f"an array of shape {shape} and dtype {dtype} is not {len(raw)} bytes long"
        )
    return np.frombuffer(raw, spec.dtype).reshape(spec.shape).copy()


def _typed(value: Any, kind: type) -> Any:
    """The value, which must be exactly of this type: a bool is no int, a str no list."""
    if type(value) is not kind:
        raise SerialisationError(f"{_shortened(value)} is not of type {kind.__name__}")
    return value


def _shortened(value: Any) -> str:
    """What an error message shows of something a file holds."""
    text = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    return text if len(text) < 60 else f"{text[:56]}…"


def from_json(text: str) -> Graph:
    """The graph a text holds; anything else raises a SerialisationError.

    Time and memory are in proportion to the length of the text, whatever sizes it claims.
    """
    try:
        return verify(_decode_graph(json.loads(text)))
    except SerialisationError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the text is not a graph
        message = (
            str(error) if isinstance(error, ChainruleError) else f"{type(error).__name__}: {error}"
        )
        raise SerialisationError(f"not a readable chainrule graph: {message}") from None


def _decode_graph(held: Any) -> Graph:
    if not isinstance(held, dict) or _typed(held.get("chainrule"), int) != VERSION:
        raise SerialisationError(f"this is not a chainrule graph of version {VERSION}")
    nodes: list[Node] = []
    for entry in _typed(held["nodes"], list):
        nodes.append(_decode_node(_typed(entry, dict), nodes))

    def at(i: Any) -> Node:
        return nodes[_position(i, nodes)]

    captured = [_typed(pair, list) for pair in _typed(held["captured"], list)]
    graph = Graph(
        nodes=tuple(nodes),
        leaves=tuple(map(at, _typed(held["leaves"], list))),
        outputs=tuple(map(at, _typed(held["outputs"], list))),
        name=_printable(held["name"]),
        captured={at(i): decode(value) for i, value in captured},
    )
    if len(graph.captured) < len(captured):
        raise SerialisationError("a value is captured twice")
    return graph


def _position(i: Any, nodes: list[Node]) -> int:
    if type(i) is not int or not 0 <= i < len(nodes):
        raise SerialisationError(f"there is no node {_shortened(i)}")
    return i


def _decode_node(entry: dict[str, Any], nodes: list[Node]) -> Node:
    shape = _shape(entry["shape"])
    if "leaf" in entry:
        return make_leaf(shape, _dtype(entry["dtype"]), _name(entry["leaf"]))
    dtype = _dtype(entry["dtype"], several=True)
    op = OPS.get(_typed(entry["op"], str))
    if op is None or op.expand is not None:
        raise SerialisationError(f"there is no op {_shortened(entry['op'])}")
    args = tuple(
        nodes[_position(a["node"], nodes)] if isinstance(a, dict) and "node" in a else decode(a)
        for a in _typed(entry["args"], list)
    )
    attrs = {k: decode(v) for k, v in _typed(entry["attrs"], dict).items()}
    if set(attrs) != set(op.attrs):
        raise SerialisationError(
            f"{op.name} takes the attrs {sorted(op.attrs)}, not {_shortened(str(sorted(attrs)))}"
        )
    flows = dtype.kind in "fcO"
    active = tuple(flows and isinstance(a, Node) and a.dtype.kind in "fcO" for a in args)
    rule = rule_for(op, active, dtype.kind == "c")
    parents = tuple(args[i] for i in rule.positions)
    return Node(
        rule, parents, (), attrs or NO_ATTRS, shape, dtype, _line(entry.get("line")), 0, args
    )


def _name(value: Any) -> Any:
    """The name of a leaf, or its number in a formal graph."""
    return value if value is None or type(value) is int else _printable(value)


def _printable(text: Any) -> str:
    """Text that is safe to print: what moves the cursor of a terminal is no part of a name."""
    if not _typed(text, str).isprintable():
        raise SerialisationError(f"{_shortened(text)} is not printable, and so no name")
    return str(text)


def _line(held: Any) -> StoredLine | None:
    if held is None:
        return None
    file, number, text = _typed(held, list)
    return StoredLine(_printable(file), _typed(number, int), _printable(text))

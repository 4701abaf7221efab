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
from chainrule.core.node import NO_ATTRS, Node, StoredLine, make_leaf
from chainrule.core.op import OPS
from chainrule.core.rule import rule_for
from chainrule.core.slot import Slot
from chainrule.core.verify import verify
from chainrule.errors import ChainruleError, SerialisationError

VERSION = 1


def to_json(graph: Graph) -> str:
    """The graph as text; `Graph.from_json` reads it back."""
    index = graph.index
    nodes = [_encode_node(node, index) for node in graph.nodes]
    return json.dumps(
        {
            "chainrule": VERSION,
            "name": graph.name,
            "nodes": nodes,
            "leaves": [index[n] for n in graph.leaves],
            "outputs": [index[n] for n in graph.outputs],
            "captured": [[index[n], encode(v)] for n, v in graph.captured.items()],
        }
    )


def _encode_node(node: Node, index: dict[Node, int]) -> dict[str, Any]:
    made: dict[str, Any] = {"dtype": node.dtype.str, "shape": list(node.shape)}
    if node.is_leaf:
        return {"leaf": encode(node.name), **made}
    if OPS.get(node.op.name) is not node.op:
        raise SerialisationError(
            f"{node.op.name} is a function of yours; only ops of the table can be written"
        )
    if node.line is not None:
        made["line"] = [
            node.line.file.replace("\\", "/").rsplit("/", 1)[-1],
            node.line.number,
            node.line.text,
        ]
    args = [{"node": index[a]} if isinstance(a, Node) else encode(a) for a in node.args or ()]
    return {
        "op": node.op.name,
        "args": args,
        "attrs": {k: encode(v) for k, v in node.attrs.items()},
        **made,
    }


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
        slice: lambda v: {"slice": [encode(v.start), encode(v.stop), encode(v.step)]},
        Slot: lambda v: {"slot": v.k},
        type(Ellipsis): lambda v: {"ellipsis": True},
    }
    if type(value) in named:
        return named[type(value)](value)
    if isinstance(value, np.dtype) or (
        isinstance(value, type) and issubclass(value, (np.generic, float, int))
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
        "slice": lambda h: slice(*(decode(v) for v in h)),
        "slot": lambda h: Slot(int(h)),
        "ellipsis": lambda h: Ellipsis,
        "dtype": _dtype,
    }
    if kind not in known:
        raise SerialisationError(f"unknown kind of value {kind!r}")
    return known[kind](held)


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "fciubO":
        raise SerialisationError(f"dtype {name!r} is not a number type")
    return dtype


def _array(dtype: str, shape: list[int], data: str) -> np.ndarray[Any, Any]:
    raw = base64.b64decode(data, validate=True)
    kind = _dtype(dtype)
    if kind.kind == "O" or any(type(n) is not int or n < 0 for n in shape):
        raise SerialisationError("an array of a strange kind")
    if len(raw) != kind.itemsize * int(np.prod(shape, dtype=object)):
        raise SerialisationError(
            f"an array of shape {shape} and dtype {dtype} is not {len(raw)} bytes long"
        )
    return np.frombuffer(raw, kind).reshape(shape).copy()


def from_json(text: str) -> Graph:
    """The graph a text holds; anything else raises a SerialisationError."""
    try:
        held = json.loads(text)
        if not isinstance(held, dict) or held.get("chainrule") != VERSION:
            raise SerialisationError(f"this is not a chainrule graph of version {VERSION}")
        nodes: list[Node] = []
        for entry in held["nodes"]:
            nodes.append(_decode_node(entry, nodes))
        graph = Graph(
            nodes=tuple(nodes),
            leaves=tuple(nodes[_position(i, nodes)] for i in held["leaves"]),
            outputs=tuple(nodes[_position(i, nodes)] for i in held["outputs"]),
            name=str(held["name"]),
            captured={nodes[_position(i, nodes)]: decode(v) for i, v in held["captured"]},
        )
        return verify(graph)
    except SerialisationError:
        raise
    except (
        ChainruleError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        raise SerialisationError(
            f"not a readable chainrule graph: {type(error).__name__}: {error}"
        ) from None


def _position(i: Any, nodes: list[Node]) -> int:
    if type(i) is not int or not 0 <= i < len(nodes):
        raise SerialisationError(f"there is no node {i!r}")
    return i


def _decode_node(entry: dict[str, Any], nodes: list[Node]) -> Node:
    dtype, shape = _dtype(entry["dtype"]), tuple(int(n) for n in entry["shape"])
    if "leaf" in entry:
        return make_leaf(shape, dtype, decode(entry["leaf"]))
    op = OPS.get(entry["op"])
    if op is None or op.expand is not None:
        raise SerialisationError(f"there is no op {entry['op']!r}")
    args = tuple(
        nodes[_position(a["node"], nodes)] if isinstance(a, dict) and "node" in a else decode(a)
        for a in entry["args"]
    )
    attrs = {k: decode(v) for k, v in entry["attrs"].items()}
    if set(attrs) != set(op.attrs):
        raise SerialisationError(
            f"{op.name} takes the attrs {sorted(op.attrs)}, not {sorted(attrs)}"
        )
    flows = dtype.kind in "fcO"
    active = tuple(flows and isinstance(a, Node) and a.dtype.kind in "fcO" for a in args)
    rule = rule_for(op, active, dtype.kind == "c")
    parents = tuple(args[i] for i in rule.positions)
    file, number, source = entry.get("line") or (None, 0, "")
    line = StoredLine(str(file), int(number), str(source)) if file is not None else None
    return Node(rule, parents, (), attrs or NO_ATTRS, shape, dtype, line, 0, args)

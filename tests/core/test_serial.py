"""Graphs as JSON: exact to the bit both ways, and no pickle anywhere."""

import ast
import json
import linecache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import chainrule as cr
from chainrule.core.serial import decode, encode
from chainrule.core.slot import Slot
from tests.core import golden

SOURCE = Path(cr.__file__).parent
NUMBERS = "?bhilBHILefdFD"
UNSAFE = {
    *("pickle", "cPickle", "dill", "cloudpickle", "ForkingPickler"),
    *("marshal", "shelve", "allow_pickle"),
}
MESSAGES = SOURCE / "scale" / "carry.py"  # between the workers of one engine, never of a file


def same(a, b):
    """Equal to the last bit, type included; signs of zero and the NaNs of arrays count."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, complex):
        return same((a.real, a.imag), (b.real, b.imag))
    if isinstance(a, float):  # a Python NaN is written as "nan", whatever its sign
        return (np.isnan(a) and np.isnan(b)) or np.array(a).tobytes() == np.array(b).tobytes()
    return a == b


def through_text(value):
    return decode(json.loads(json.dumps(encode(value))))


# ---- values -------------------------------------------------------------------------------------

tiny, big, nan, inf = 5e-324, 1.7976931348623157e308, float("nan"), float("inf")
VALUES = [
    *(None, True, False, 0, -1, 2**63, -(10**30), 0.0, -0.0, 0.1, 1 / 3, tiny, big, nan, inf, -inf),
    *(1j, complex(-0.0, 0.0), complex(0.0, -0.0), complex(nan, -inf), "", "ij,jk->ik", "ü\n\0"),
    *(..., slice(None), slice(1, -1, 2), slice(None, None, -1), (), [], (1, (2.5, [None, ...]))),
    *(Slot(0), Slot(7), (slice(None), Slot(0), None, 3), np.dtype("f4"), np.dtype(">c16")),
    *(np.float32(0.1), np.float16(-0.0), np.float64(nan), np.complex64(1j), np.int8(-3), np.True_),
    *(np.array(2.0), np.zeros((0, 3)), np.array([[0, 0, 1]]), np.array([True, False])),
    *(np.array([nan, -nan, inf, -0.0, tiny]), np.arange(6, dtype=np.uint8).reshape(2, 3).T),
    *(np.arange(8.0)[::-2], np.array([1 + 2j, -0.0j]), np.array([1, 2], ">i4")),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_value_comes_back_to_the_bit(value):
    assert same(through_text(value), value)


@given(hnp.arrays(st.sampled_from(NUMBERS).map(np.dtype), hnp.array_shapes(min_dims=0, min_side=0)))
def test_any_array(array):
    assert same(through_text(array), array)
    if array.ndim == 0:
        assert same(through_text(array[()]), array[()])


numbers = st.floats() | st.complex_numbers() | st.integers() | st.none()


@given(st.recursive(numbers, st.lists, max_leaves=8))
def test_any_nested_value(value):
    assert same(through_text(value), value)


def test_an_array_read_back_is_its_own():
    made = through_text(np.arange(3.0))
    made[0] = 5.0
    assert made.flags.owndata


@pytest.mark.parametrize(
    "value", [print, {1: 2}, {1}, b"x", np.array(["a"]), np.array([None]), np.sin, str], ids=repr
)
def test_what_cannot_be_written(value):
    with pytest.raises(cr.SerialisationError, match="cannot be written"):
        encode(value)


def test_a_function_of_the_user_s_cannot_be_written():
    graph = cr.Graph.define([1, 1], [(1, 2)], {2: np.sin})
    with pytest.raises(cr.SerialisationError, match="f2 is a function of yours"):
        graph.to_json()


# ---- graphs -------------------------------------------------------------------------------------

GRAPHS = {name: g for name, g in golden.graphs().items() if name != "formal"}
POINTS = {f.__name__: args for f, args in golden.PROGRAMS.items()}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_comes_back_and_computes_the_same_bits(name):
    graph = GRAPHS[name]
    text = graph.to_json()
    again = cr.Graph.from_json(text)
    assert again.to_json() == text
    for mine, read in zip(graph.nodes, again.nodes, strict=True):
        assert (mine.spec, mine.name, mine.is_leaf) == (read.spec, read.name, read.is_leaf)
        if not mine.is_leaf:
            assert mine.op is read.op
            assert mine.rule.active == read.rule.active, "the same inputs are differentiated"
            assert same(list(mine.attrs), list(read.attrs))
            assert str(mine.line) == str(read.line)
    values = [v for v in cr.core.containers.flatten(POINTS[name])[0] if not isinstance(v, bool)]
    with np.errstate(all="ignore"):
        before, after = graph.forward(*POINTS[name]), again.forward(*values)
        assert same(
            *(
                [np.asarray(run.value(n)) for n in run.graph if n.dtype != object]
                for run in (before, after)
            )
        )
        seed = [np.ones(o.shape, o.dtype) for o in graph.outputs]
        seed = seed if len(seed) > 1 else seed[0]
        if all(o.dtype.kind in "fc" for o in graph.outputs):
            before.backward(seed), after.backward(seed)
            assert same(
                *([np.asarray(run.adjoint(n)) for n in run.graph.leaves] for run in (before, after))
            )


def test_text_is_json_and_says_its_version():
    held = json.loads(GRAPHS["indices"].to_json())
    assert held["chainrule"] == 1
    assert set(held) == {"chainrule", "name", "nodes", "leaves", "outputs", "captured"}


def test_a_name_that_cannot_be_printed_is_not_written():
    leaf = cr.variable(1.0, name="two\nlines")
    with pytest.raises(cr.SerialisationError, match="not printable"):
        cr.trace(lambda x: x * leaf, 2.0).to_json()


def test_a_tab_in_the_user_s_line_does_not_matter():
    code = "def f(x):\n    return x\t* 2\n"
    linecache.cache["tabbed.py"] = (len(code), None, code.splitlines(True), "tabbed.py")
    made = {}
    exec(compile(code, "tabbed.py", "exec"), made)  # noqa: S102 - the text stands above
    again = cr.Graph.from_json(cr.trace(made["f"], 1.0).to_json())
    assert again.nodes[1].line.shown() == "tabbed.py:2    return x * 2"


def test_only_the_name_of_the_user_s_file_is_written():
    assert str(Path(__file__).parent) not in GRAPHS["arithmetic"].to_json()


def test_nothing_in_the_source_unpickles():
    """Reading a file must not be able to run code: JSON is the only way in."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert len(texts) > 50
    for path, text in texts.items():
        if not any(word in text for word in UNSAFE):
            continue
        for node in ast.walk(ast.parse(text)):  # a word in a comment or docstring is no import
            names = [a.name for a in getattr(node, "names", []) if isinstance(a, ast.alias)]
            names += [getattr(node, field, None) for field in ("module", "attr", "id", "arg")]
            found = {str(n).split(".")[0] for n in names} & UNSAFE
            if path == MESSAGES:
                found -= {"cloudpickle", "ForkingPickler"}
            assert not found, f"{path}:{getattr(node, 'lineno', 0)} {found}"


def test_what_unpickles_messages_reads_no_file():
    tree = ast.parse(MESSAGES.read_text(encoding="utf-8"))
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert modules <= {
        *("__future__", "collections", "hashlib", "importlib.util", "multiprocessing.reduction"),
        *("threading", "typing", "cloudpickle", "chainrule.errors"),
    }, "nothing that opens a file is at hand there"
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert "open" not in names
    packed = {path for path in SOURCE.rglob("*.py") if "scale.carry" in path.read_text("utf-8")}
    assert {path.parent.name for path in packed} == {"scale"}

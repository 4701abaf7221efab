"""Groups: a large graph shown as its functions, lines or files."""

import json

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view.collapse import MAX_GROUPS, collapsed
from chainrule.view.model import model_of
from tests.view.gallery import ran


def test_a_block_as_its_functions():
    model = model_of(ran("transformer"))
    found = collapsed(model, "function")
    groups = [(s, n) for s, n, op in zip(found.symbol, found.count, found.op, strict=True) if op]
    block = "transformer_block"
    assert groups == [("normed", 8), ("attention", 8), (block, 2), ("normed", 8), (block, 6)]
    assert sum(found.count) == len(model)
    assert len(found.leaves) == len(model.leaves)
    assert len(set(found.label)) == len(found), "calls of one function have different labels"
    assert all(p < c for p, c in zip(found.parent, found.child, strict=True))
    assert sum(found.edge_count) < len(model.parent)
    json.dumps(found.to_data(), allow_nan=False)


def test_a_group_shows_what_its_result_shows():
    model = model_of(ran("transformer"))
    found = collapsed(model, "function")
    at, result = found.symbol.index("attention"), model.symbol.index("softmax") + 2
    assert model.symbol[result] == "@"
    assert (found.value[at], found.adjoint[at]) == (model.value[result], model.adjoint[result])
    assert found.arrays["adjoint"][at] == model.arrays["adjoint"][result]
    assert found.value[-1] == model.value[-1]


def test_a_block_as_its_lines():
    found = collapsed(model_of(ran("transformer")), "line")
    at = found.symbol.index("variance = np.mean(centred**2, axis=-1, keepdims=True)")
    assert found.count[at] == 2
    assert found.symbol.count("softmax") == 1, "one node is shown as itself"


def test_a_block_as_its_files():
    found = collapsed(model_of(ran("transformer")), "file")
    assert [s for s in found.symbol if s] == ["gallery.py"]


def test_an_unknown_level_is_named():
    with pytest.raises(cr.ArgumentError, match="'module': choose one of line, function, file"):
        collapsed(model_of(ran("product")), "module")


def inner(h, w):
    return np.tanh(h * w)


def outer(h, w, n):
    for _ in range(n):
        h = inner(h, w) + 1.0
    return h


def test_functions_that_call_each_other_many_times_become_one():
    short = collapsed(model_of(recorded_run(outer, 0.5, 0.3, n=3)), "function")
    assert [s for s in short.symbol if s] == ["inner", "+1"] * 3
    long = collapsed(model_of(recorded_run(outer, 0.5, 0.3, n=MAX_GROUPS)), "function")
    assert [s for s in long.symbol if s] == ["inner and 1 more"]
    assert long.count[-1] == 3 * MAX_GROUPS


def test_many_leaves_become_one_per_argument():
    def total(p, q):
        return sum(p["w"]) + sum(q)

    p, q = {"w": [float(k) for k in range(40)]}, [1.0, 2.0]
    found = collapsed(model_of(recorded_run(total, p, q)), "function")
    assert found.label[:2] == ["p", "q"]
    assert found.count == [40, 2, 43]
    assert found.op[:2] == ["", ""]


def test_trouble_inside_a_group_is_marked():
    def noisy(x):
        return np.log(x) * 0.0 + np.sin(x)

    def f(x):
        return noisy(x) * 2.0

    with np.errstate(all="ignore"):
        run = recorded_run(f, 0.0)
    found = collapsed(model_of(run), "function")
    assert found.flags[found.symbol.index("noisy")] != 0

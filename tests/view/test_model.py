"""The model (`flows.py`, `summary.py`): the run's own numbers, as strict JSON, in linear time."""

import json
from time import process_time

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.view.model import ADJOINT_NOT_FINITE, AT_KINK, VALUE_NOT_FINITE, model_of
from chainrule.view.summary import FULL, blocks, summary
from chainrule.view.values import shown
from tests.view.gallery import PROGRAMS, ran


def strict(data):
    """Through JSON and back; NaN and infinities would raise."""
    return json.loads(json.dumps(data, allow_nan=False))


def column(data):
    return [data["of"][k] for k in data["at"]] if isinstance(data, dict) else data


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_model_says_what_the_run_says(name):
    run = ran(name)
    graph, model = run.graph, model_of(run)
    assert model.stage == "backward"
    assert [shown(run.value(n)) for n in graph.nodes] == model.value
    for k, node in enumerate(graph.nodes):
        assert model.status[k] == run.status(node)
        if model.adjoint[k]:
            assert model.adjoint[k] == shown(run.adjoint(node))
        else:
            assert not np.any(run.adjoint(node))
        if node.shape == ():
            assert float(model.number[k]) == run.value(node) or np.isnan(run.value(node))
        assert bool(model.flags[k] & VALUE_NOT_FINITE) == (not np.isfinite(run.value(node)).all())
    pairs = [(graph.index[p], graph.index[c]) for p, c in graph.edges]
    assert list(zip(model.parent, model.child, strict=True)) == pairs
    for e, (parent, child) in enumerate(graph.edges):
        contribution = run.contribution(parent, child)
        if model.contribution[e]:
            assert model.contribution[e] == shown(contribution)
        else:
            assert not np.any(contribution)
        if parent.size == child.size == 1 and model.local[e]:
            assert model.local[e] == shown(run.local_jacobian(parent, child)[0, 0])
        assert [child.args[slot] for slot in model.slots[e]] == [parent] * len(model.slots[e])


def test_a_small_jacobian_is_written_out():
    def f(x):
        return np.sum(x * np.array([2.0, 3.0]))

    model = model_of(recorded_run(f, np.array([1.0, 4.0])).backward())
    assert model.local == ["[[2. 0.] [0. 3.]]", "[1. 1.]"]


def test_as_data_the_columns_are_the_same():
    run = ran("transformer")
    model, data = model_of(run), strict(model_of(run).to_data())
    for name, values in data["nodes"].items():
        assert column(values) == getattr(model, name)
        assert len(column(values)) == len(run.graph)
    assert column(data["edges"]["flow"]) == model.flow
    assert column(data["edges"]["count"]) == [1] * len(model.parent)
    assert data["outputs"] == [len(run.graph) - 1]
    assert data["chainrule"] == 1
    at = column(data["nodes"]["label"]).index("scores")
    line = data["nodes"]["line"][at]
    assert column(data["lines"]["function"])[line] == "attention"
    assert column(data["lines"]["file"])[line] == "gallery.py"
    assert data["lines"]["text"][line].startswith("scores = ")


def test_stages():
    graph = cr.trace(PROGRAMS["product"][0], -2.0, 5.0, -4.0)
    model = model_of(graph)
    assert model.stage == "structure"
    assert set(model.value) == set(model.adjoint) == set(model.status) == {""}
    model = model_of(graph.forward(-2.0, 5.0, -4.0))
    assert (model.stage, model.value[-1], model.local) == ("forward", "-12", ["1", "1", "-4", "3"])
    assert set(model.adjoint) == {""}


def test_symbols_and_gates():
    model = model_of(ran("gates"))
    found = dict(zip(model.symbol, model.gate, strict=True))
    assert found == {
        "": "", "max": "routes", "+": "distributes", "floor": "", "×": "swaps", "max 10": "routes",
    }  # fmt: skip

    def f(x):
        return 2.0 * x**3 - 1 / x + x * 3.141592653589793

    assert {"2×", "^3", "1÷", "−", "×"} < set(model_of(recorded_run(f, 1.0)).symbol)


def test_an_index_is_written_as_in_python():
    def f(x, k):
        q = x * 2.0
        r = q[0:2] + q[..., 1] + np.sin(q)[1] + q[[0, 2], 1][0]
        return np.sum(r) + np.sum(x[k]) + np.sum(q[np.arange(9) % 3])

    model = model_of(recorded_run(f, np.ones((3, 3)), np.array([0, 1])))
    read = [text for text in model.symbol if "[" in text]
    assert read == ["q[0:2]", "q[…, 1]", "[1]", "q[[0, 2], 1]", "[0]", "x[…]", "q[…]"]


def test_trouble_is_marked():
    model = model_of(ran("trouble"))
    flags = dict(zip(model.label, model.flags, strict=True))
    assert flags["x"] == ADJOINT_NOT_FINITE
    assert model.flags[model.symbol.index("max 0")] == AT_KINK
    with np.errstate(all="ignore"):
        model = model_of(recorded_run(np.log, 0.0))
    assert model.flags == [0, VALUE_NOT_FINITE]
    assert model.number[1] == "-inf"
    strict(model.to_data())


def test_edges_without_a_derivative_do_not_flow():
    model = model_of(ran("gates"))
    dead = {(model.label[p], model.symbol[c]) for p, c, flow in
            zip(model.parent, model.child, model.flow, strict=True) if not flow}  # fmt: skip
    assert dead == {("y", "max"), ("y", "floor"), ("s", "max 10")}


# -- arrays ---------------------------------------------------------------------------------------


def test_a_small_array_is_given_in_full():
    assert summary(np.array([[1.0, np.nan], [np.inf, -2.0]])) == {
        "shape": [2, 2],
        "data": [1.0, "nan", "inf", -2.0],
    }
    assert summary(3.0) is None
    assert summary((np.ones(3), np.ones(2))) is None


def test_a_large_array_is_summarised():
    array = np.arange(-50.0, 50.0)
    array[:2] = np.nan, np.inf
    found = strict(summary(array))
    assert (found["low"], found["high"], found["zeros"]) == (-48.0, 49.0, 1)
    assert (found["nan"], found["inf"]) == (1, 1)
    assert found["mean"] == 0.5
    assert sum(found["histogram"]) == 98
    assert np.ptp(found["histogram"]) <= 2
    heat = found["heat"]
    assert len(heat["data"]) == heat["rows"] * heat["columns"] == 100
    assert heat["data"][:3] == [None, None, 4]
    assert heat["data"][50] == 128
    assert max(heat["data"][2:]) == 255


def test_a_coarse_picture_shows_means():
    table = np.kron(np.array([[1.0, -1.0], [0.0, 2.0]]), np.ones((10, 30)))
    assert blocks(table, 2, 2).tolist() == [[1.0, -1.0], [0.0, 2.0]]
    found = summary(table, cells=4)
    assert found["heat"]["rows"] * found["heat"]["columns"] <= 4
    assert "heat" not in summary(table, cells=0)


@pytest.mark.parametrize("scale", [1e308, 1e-308, 0.0])
def test_extreme_numbers_are_summarised(scale):
    found = strict(summary(np.tile([scale, -scale], FULL)))
    assert None not in found["heat"]["data"]
    assert sum(found["histogram"]) == 2 * FULL


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3, 4, 5), (1000,)])
def test_any_shape(shape):
    assert strict(summary(np.ones(shape)))["shape"] == list(shape)


# -- size -----------------------------------------------------------------------------------------


def grown(x, a, n):
    for _ in range(n):
        x = np.sin(x * a)
    return x


def test_time_and_size_are_linear():
    def measured(n):
        run = recorded_run(grown, 1.0, 0.5, n=n).backward()
        start = process_time()
        text = json.dumps(model_of(run).to_data(), allow_nan=False)
        return process_time() - start, len(text)

    measured(100)
    small, large = min(measured(400) for _ in range(3)), measured(4_000)
    assert large[0] < 30 * small[0]
    assert large[1] < 12 * small[1]
    assert large[1] < 250 * 8_000, "bytes a node"

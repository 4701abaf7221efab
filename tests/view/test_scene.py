"""The data of a page: everything that a page shows, of one run, at every level."""

import json

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.serial import decode
from chainrule.diff.run import recorded_run
from chainrule.view.boxes import boxes_of
from chainrule.view.model import model_of
from chainrule.view.scene import ENTRIES, placed, scene
from tests.view.gallery import PROGRAMS, ran


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_scene_is_strict_json(name):
    run = ran(name)
    made = json.loads(json.dumps(scene(run), allow_nan=False))
    count = len(run.graph)
    for column in ("x", "y", "layer", "first", "lead", "gate", "wide", "above", "below"):
        assert len(made["place"][column]) == count
    assert len(made["place"]["entry"]) == len(run.graph.edges)
    assert set(made["paths"]) == {str(run.graph.index[leaf]) for leaf in run.graph.leaves}
    assert len(made["timeline"]["orders"]["sorted"]["node"]) == 2 * count
    groups = made["groups"]
    assert len(groups["of"]) == len(groups["rank"]) == count
    assert set(groups["of"]) <= set(range(len(groups["name"])))


def test_the_places_are_those_of_the_picture():
    model = model_of(ran("lstm-step"))
    boxes, made = placed(model)
    assert boxes == boxes_of(model)
    data = scene(ran("lstm-step"))["place"]
    assert data["y"] == pytest.approx(made.y.tolist(), abs=0.06)
    assert data["width"] == pytest.approx(made.width, abs=0.06)


def test_the_program_can_be_run_again():
    run = ran("product")
    graph = cr.Graph.from_json(json.dumps(scene(run)["program"]))
    assert graph.forward(-2.0, 5.0, -4.0).outputs == -12.0


def test_without_adjoints_there_are_no_steps():
    graph = ran("product").graph
    for subject in (graph, graph.forward(1.0, 2.0, 3.0)):
        made = scene(subject)
        assert made["timeline"] is None
        assert made["paths"] is None
        json.dumps(made, allow_nan=False)


def test_functions_of_the_user_have_no_program():
    graph = cr.Graph.define([1, 1, 1], [(1, 3), (2, 3)], {3: lambda a, b: a * b})
    assert scene(graph.forward(2.0, 3.0).backward())["program"] is None


def test_the_point_is_exact_unless_it_is_large():
    run = ran("softmax")
    made = scene(run)["point"]
    for leaf in run.graph.leaves:
        value = decode(made["leaves"][str(run.graph.index[leaf])])
        assert value.tobytes() == run.value(leaf).tobytes()
    assert decode(made["seeds"][0]) == 1.0
    assert scene(run.graph)["point"] is None
    large = recorded_run(lambda x: np.sum(np.sin(x)), np.ones(ENTRIES // 2)).backward()
    assert scene(large)["point"] is None

"""`cr.tree`: containers of the user's own, mapped over and taken apart."""

from collections import namedtuple

import numpy as np
import pytest

import chainrule as cr

Layer = namedtuple("Layer", "W b")
PARAMETERS = {"layers": [Layer(np.ones((2, 3)), np.zeros(2))], "gain": 2.0}


def test_map_keeps_the_containers():
    doubled = cr.tree.map(lambda p: 2 * p, PARAMETERS)
    assert isinstance(doubled["layers"][0], Layer)
    assert doubled["gain"] == 4.0
    moved = cr.tree.map(lambda p, g: p - 0.5 * g, PARAMETERS, doubled)
    assert moved["gain"] == 0.0
    assert not moved["layers"][0].W.any()
    with pytest.raises(cr.ArgumentError, match="tree 2"):
        cr.tree.map(np.add, PARAMETERS, {"layers": []})


def test_flatten_and_back():
    leaves, structure = cr.tree.flatten(PARAMETERS)
    assert [np.shape(leaf) for leaf in leaves] == [(), (2, 3), (2,)]
    assert structure.paths == ["['gain']", "['layers'][0].W", "['layers'][0].b"]
    assert cr.tree.leaves(PARAMETERS) == leaves
    assert structure.unflatten(map(np.shape, leaves))["layers"][0].W == (2, 3)


def test_all_is_true():
    assert all(hasattr(cr.tree, name) for name in cr.tree.__all__)
    from chainrule import tree

    assert tree is cr.tree

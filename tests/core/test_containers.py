"""Nested containers: what is taken apart comes back, and a mismatch says where."""

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.core.containers import flatten, map_leaves
from chainrule.errors import ArgumentError

MILLION = 10**6


class Point(NamedTuple):
    x: Any
    y: Any


class Polar(namedtuple("_Polar", ["radius", "angle"])):
    """A named tuple whose constructor takes something else than its fields."""

    __slots__ = ()

    def __new__(cls, both):
        return super().__new__(cls, both, both)


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any


@dataclass(slots=True, kw_only=True)
class Counted:
    values: Any
    length: int = field(init=False)

    def __post_init__(self):
        self.length = len(flatten(self.values)[0])


keys = st.one_of(
    st.text(max_size=3),
    st.integers(-3, 3),
    st.tuples(st.integers(0, 2)),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
)
trees = st.recursive(
    st.integers() | st.none() | st.text(max_size=2),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.text(max_size=2), inner, max_size=4).map(OrderedDict),
        st.builds(Point, inner, inner),
        st.builds(Layer, inner, inner),
        st.builds(Counted, values=inner),
    ),
    max_leaves=15,
)


def reached(tree, path):
    """What `path` leads to, by evaluating it as Python would."""
    return eval("tree" + path, {"tree": tree})  # noqa: S307


# ---- there and back -----------------------------------------------------------------------------


@given(tree=trees)
def test_round_trip(tree):
    leaves, structure = flatten(tree)
    back = structure.unflatten(leaves)
    assert back == tree
    assert repr(back) == repr(tree)  # classes and the order of keys, which == does not see
    assert flatten(back) == (leaves, structure)
    assert hash(flatten(back)[1]) == hash(structure)


@given(tree=trees)
def test_a_path_leads_to_its_leaf(tree):
    leaves, structure = flatten(tree)
    assert structure.count == len(leaves)
    assert [reached(tree, path) for path in structure.paths] == leaves


@given(tree=trees)
def test_new_leaves_stand_where_the_old_ones_stood(tree):
    _, structure = flatten(tree)
    numbers = list(range(structure.count))
    assert flatten(structure.unflatten(iter(numbers))) == (numbers, structure)


@given(tree=trees, other=trees)
def test_structures_are_equal_where_their_pictures_are(tree, other):
    first, second = flatten(tree)[1], flatten(other)[1]
    assert (first == second) == (repr(first) == repr(second))
    assert (first != second) == (repr(first) != repr(second))


@given(tree=trees, other=trees)
def test_a_difference_is_reported_exactly_where_there_is_one(tree, other):
    structure = flatten(tree)[1]
    if flatten(other)[1] == structure:
        assert structure.leaves_of(other) == flatten(other)[0]
        return
    with pytest.raises(ArgumentError, match=r"the argument.* must be .*, got ") as caught:
        structure.leaves_of(other)
    want, got = str(caught.value).split(" must be ")[1].split(", got ")
    assert want != got


# ---- each container -----------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", [1.5, "text", np.ones(3), object, Layer, {1, 2}, range(3), b"x"])
def test_everything_else_is_a_leaf(leaf):
    leaves, structure = flatten(leaf)
    assert len(leaves) == 1
    assert leaves[0] is leaf
    assert structure.paths == [""]
    assert structure.unflatten([7]) == 7
    assert repr(structure) == "Structure(*)"


@pytest.mark.parametrize("base", [list, tuple, dict])
def test_a_subclass_of_a_built_in_container_is_a_leaf(base):
    tree = type("Own", (base,), {})()
    assert flatten([tree])[0] == [tree]


def test_none_has_no_leaves():
    assert flatten(None)[0] == []
    assert flatten((None, 1)) == ([1], flatten((None, 2))[1])
    assert flatten(None)[1].unflatten([]) is None


def test_leaves_of_a_dict_come_by_sorted_key_and_the_dict_as_it_was_filled():
    leaves, structure = flatten({"b": 1, "a": 2})
    assert leaves == [2, 1]
    assert structure.paths == ["['a']", "['b']"]
    assert list(structure.unflatten([20, 10]).items()) == [("b", 10), ("a", 20)]
    assert structure == flatten({"a": 0, "b": 0})[1]


def test_keys_that_do_not_compare_keep_the_order_of_filling():
    leaves, structure = flatten({"b": 1, 0: 2, "a": 3})
    assert leaves == [1, 2, 3]
    assert structure != flatten({"a": 1, 0: 2, "b": 3})[1]


def test_an_ordered_dict_is_opened_and_keeps_its_class():
    tree = map_leaves(str, OrderedDict(b=1, a=[2]))
    assert tree == OrderedDict(b="1", a=["2"])
    assert type(tree) is OrderedDict


def test_a_defaultdict_keeps_its_default():
    tree = map_leaves(str, defaultdict(list, {"a": 1}))
    assert tree == {"a": "1"}
    assert tree["new"] == []


def test_named_tuples_keep_their_class():
    assert map_leaves(str, Point(1, (2,))) == Point("1", ("2",))
    leaves, structure = flatten(Polar(1))
    assert structure.unflatten([3, 4]).angle == 4
    assert structure.paths == [".radius", ".angle"]
    assert type(structure.unflatten(leaves)) is Polar


def test_dataclasses_are_made_anew_from_their_init_fields():
    tree = Counted(values=[1, 2])
    tree.length = 99
    leaves, structure = flatten(tree)
    assert leaves == [1, 2]
    assert structure.unflatten([3, 4]) == Counted(values=[3, 4])
    assert structure.unflatten([3, 4]).length == 2


def test_a_dataclass_that_needs_more_than_its_fields():
    @dataclass
    class Scaled:
        value: float
        scale: InitVar[float]

    leaves, structure = flatten(Scaled(1.0, 2.0))
    with pytest.raises(ArgumentError, match=r"Scaled cannot be rebuilt from value: .*'scale'"):
        structure.unflatten(leaves)


# ---- how it reads -------------------------------------------------------------------------------


def test_paths_and_repr():
    tree = {"W": [Layer(1, bias=Point(2, 3)), (4,)], "n": None, 'k"': (), "e": [5, 6]}
    structure = flatten(tree)[1]
    assert structure.paths == [
        *["['W'][0].weight", "['W'][0].bias.x", "['W'][0].bias.y", "['W'][1][0]"],
        *["['e'][0]", "['e'][1]"],
    ]
    assert repr(structure) == (
        "Structure({'W': [Layer(weight=*, bias=Point(x=*, y=*)), (*,)], "
        "'e': [*, *], 'k\"': (), 'n': None})"
    )


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ({"a": [1, 2]}, {"a": [1]}, r"tree 2\['a'\] must be a list of 2, got a list of 1"),
        ([1, (2, 3)], [1, [2, 3]], r"tree 2\[1\] must be a tuple of 2, got a list of 2"),
        ({"a": 1}, {"b": 1}, "tree 2 must be a dict with 'a', got a dict with 'b'"),
        (Layer(1, [2]), Layer(1, None), r"tree 2\.bias must be a list of 1, got None"),
        ([1, [2]], [1, 2], r"tree 2\[1\] must be a list of 1, got a leaf"),
        (1, (), "tree 2 must be a leaf, got an empty tuple"),
        ([Point(1, 2)], [(1, 2)], r"\[0\] must be a Point with 'x', 'y', got a tuple of 2"),
    ],
)
def test_a_mismatch_says_where(tree, other, message):
    with pytest.raises(ArgumentError, match=message):
        map_leaves(lambda *_: 0, tree, other)
    assert map_leaves(lambda *_: 0, tree, tree) == map_leaves(lambda _: 0, tree)


def test_map_leaves_over_several_trees():
    tree, other = {"b": [1, 2], "a": 3}, {"a": 30, "b": [10, 20]}
    assert map_leaves(lambda x, y: x + y, tree, other) == {"b": [11, 22], "a": 33}
    with pytest.raises(ArgumentError, match="tree 3 must be"):
        map_leaves(max, tree, other, [1])


@pytest.mark.parametrize("leaves", [[], [1, 2]])
def test_a_wrong_number_of_leaves(leaves):
    with pytest.raises(ArgumentError, match=f"has 1 leaves, got {len(leaves)}"):
        flatten([0])[1].unflatten(leaves)


def test_a_container_that_contains_itself():
    inner = []
    tree = {"a": [inner]}
    inner.append(tree)
    with pytest.raises(ArgumentError, match="a dict contains itself"):
        flatten(tree)
    shared = [1]
    assert flatten([shared, [shared, shared]])[0] == [1, 1, 1]


# ---- nothing is recursive -----------------------------------------------------------------------


WRAPS = {"[0]": lambda t: [t], "['k']": lambda t: {"k": t}, ".x": lambda t: Point(t, None)}


def chain(wrap):
    tree = 1
    for _ in range(MILLION):
        tree = wrap(tree)
    return tree


def test_a_million_deep():
    leaves, structure = flatten(chain(WRAPS["[0]"]))
    assert leaves == [1]
    assert flatten(structure.unflatten([2])) == ([2], structure)


@pytest.mark.slow
@pytest.mark.parametrize("step", WRAPS)
def test_a_million_deep_in_every_way(step):
    tree = chain(WRAPS[step])
    structure = flatten(tree)[1]
    assert structure.paths == [step * MILLION]
    assert len(repr(structure)) > 2 * MILLION
    assert hash(flatten(structure.unflatten([2]))[1]) == hash(structure)
    with pytest.raises(ArgumentError, match="got a leaf"):
        structure.leaves_of(reached(tree, step))


def test_a_million_wide():
    tree = list(range(MILLION))
    leaves, structure = flatten(tree)
    assert leaves == structure.unflatten(leaves) == tree
    assert structure.paths[-1] == f"[{MILLION - 1}]"

"""Bindings are checked alike whether few or many; equal numbers are no change; nothing is kept."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.run.bindings import (
    ABSENT,
    UNROLLED,
    Binding,
    Outside,
    cell,
    element,
    elements,
    item,
    items_are,
    kind,
    method,
    read,
    same,
    size,
    unbound,
    value_of,
)

Namespace = types.SimpleNamespace


def bound(how, owner, key=None):
    value = how.value(owner, key)
    return Binding(how, owner, key, value, f"{key!r}")


# ---- one of each kind ----------------------------------------------------------------------------


def closed(value):
    return (lambda: value).__closure__[0]


class Owner:
    def first(self): ...

    def second(self): ...


def test_an_item_of_a_dict_and_its_absence():
    table = {"a": 1.0}
    outside = Outside([bound(item, table, "a"), Binding(unbound, table, "b", ABSENT, "'b'")])
    assert len(outside) == 2
    assert outside.changed() is None
    table["b"] = 1
    assert outside.changed() == "'b'"
    del table["b"]
    table["a"] = 2.0
    assert outside.changed() == "'a'"
    del table["a"]
    assert outside.changed() == "'a'"
    table["a"] = 1.0
    assert outside.changed() is None


def change_cell(owner):
    owner.cell_contents = 9.0


CHANGES = {
    "cell": (cell, closed(1.0), None, change_cell),
    "element": (element, [1.0, 2.0], 1, lambda o: o.__setitem__(1, 5.0)),
    "element, shorter": (element, [1.0, 2.0], 1, lambda o: o.pop()),
    "elements": (elements, [1.0] * 100, None, lambda o: o.__setitem__(50, 5.0)),
    "elements, longer": (elements, [1.0] * 100, None, lambda o: o.append(1.0)),
    "size": (size, [1.0], None, lambda o: o.append(1.0)),
    "class": (kind, Owner(), None, lambda o: setattr(o, "__class__", type("O", (Owner,), {}))),
    "attribute": (read, Namespace(k=1.0), attrgetter("k"), lambda o: setattr(o, "k", 2.0)),
    "attribute, gone": (read, Namespace(k=1.0), attrgetter("k"), lambda o: delattr(o, "k")),
    "method": (method, Owner(), attrgetter("first"), lambda o: setattr(o, "first", o.second)),
    "value": (value_of, np.ones(3), np.ndarray.tobytes, lambda o: o.fill(2.0)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change(name):
    how, owner, key, change = CHANGES[name]
    outside = Outside([bound(how, owner, key)])
    for _ in range(3):
        assert outside.changed() is None
    change(owner)
    for _ in range(3):
        assert outside.changed() is not None


# ---- what is no change ---------------------------------------------------------------------------


def test_equal_values_are_taken_over():
    scope = {"lr": 0.1, "shape": (3, (4.0, "a"))}
    outside = Outside([bound(item, scope, "lr"), bound(item, scope, "shape")])
    before = outside.as_before
    scope["lr"] = float("0.1")
    scope["shape"] = (int("3"), (float("4.0"), "a"))
    assert outside.changed() is None
    assert outside.as_before is not before, "or every call would compare again"
    after = outside.as_before
    assert outside.changed() is None
    assert outside.as_before is after
    scope["shape"] = (3, (4.0, "b"))
    assert outside.changed() == "'shape'"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        (np.float32(1), np.float64(1)),
        ((1,), (True,)),
        ((1,), [1]),
        ("a", b"a"),
        (np.ones(1), np.ones(1)),
        (0j, -0j),
        (np.float64(0.0), np.float64(-0.0)),
    ],
)
def test_values_that_only_seem_equal(old, new):
    scope = {"value": old}
    outside = Outside([bound(item, scope, "value")])
    scope["value"] = new
    assert outside.changed() == "'value'"


plain = (
    st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.booleans()
    | st.text()
    | st.binary()
    | st.none()
)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=10)


def copied(value):
    """An equal value that is another object, wherever Python lets there be one."""
    if type(value) is tuple:
        return tuple(copied(v) for v in value)
    if type(value) in (int, float, complex):
        return type(value)(repr(value).replace("(", "").replace(")", ""))
    return value


@given(values, values)
def test_same_is_equality_with_types(a, b):
    assert same(a, copied(a))
    assert same(a, b) == (repr(a) == repr(b))


@given(st.sampled_from([np.float32, np.float64, np.complex64, np.int8]), st.integers(0, 100))
def test_same_on_numpy_scalars(dtype, number):
    assert same(dtype(number), dtype(number))
    assert not same(dtype(number), dtype(number + 1))
    assert same(np.float64("nan"), np.float64("nan"))


def test_same_ends_on_tuples_of_tuples():
    def doubled():
        value = (object(),)
        for _ in range(100):
            value = (value, value)
        return value

    assert not same(doubled(), doubled())


names = st.sampled_from([f"n{k}" for k in range(6)])


@given(st.dictionaries(names, plain), st.lists(st.tuples(names, plain | st.just(...)), max_size=8))
def test_any_edits_of_a_dict(start, edits):
    """A change is reported exactly if the dict is now another one."""
    table = dict(start)
    every = {f"n{k}" for k in range(6)}
    outside = Outside(
        [bound(item, table, name) for name in start]
        + [Binding(unbound, table, name, ABSENT, name) for name in every - set(start)]
    )
    for name, value in edits:
        if value is ...:
            table.pop(name, None)
        else:
            table[name] = value
    equal = table.keys() == start.keys() and all(same(table[k], start[k]) for k in table)
    assert (outside.changed() is None) == equal


@given(st.lists(plain, max_size=40), st.lists(plain, max_size=40))
def test_items_are_those_very_objects(held, other):
    assert items_are(held, tuple(held))
    assert items_are(list(held), tuple(held))
    expected = len(held) == len(other) and all(a is b for a, b in zip(held, other, strict=True))
    assert items_are(held, tuple(other)) == expected


# ---- few and many --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, UNROLLED, UNROLLED + 1, 1000])
def test_few_and_many_are_checked_alike(count):
    table = {f"k{k}": object() for k in range(count)}
    layers = list(table.values())
    objects = [Namespace(v=v) for v in layers]
    outside = Outside(
        [bound(item, table, k) for k in table]
        + [bound(element, layers, n) for n in range(count)]
        + [bound(read, o, attrgetter("v")) for o in objects]
    )
    for where in {0, count // 2, count - 1}:
        for container, key in ((table, f"k{where}"), (layers, where), (vars(objects[where]), "v")):
            assert outside.changed() is None
            old, container[key] = container[key], object()
            assert outside.changed() is not None
            container[key] = old


def test_no_bindings_never_change():
    assert Outside([]).changed() is None


# ---- robust --------------------------------------------------------------------------------------


def test_a_read_that_raises_is_a_change():
    class Loud:
        fails = False

        @property
        def k(self):
            if self.fails:
                raise RuntimeError("mine")
            return 1.0

    loud = Loud()
    outside = Outside([bound(read, loud, attrgetter("k"))])
    assert outside.changed() is None
    loud.fails = True
    assert outside.changed() is not None
    loud.fails = False
    assert outside.changed() is None


def test_values_watched_are_released_with_it():
    class Held:
        pass

    held = Held()
    reference = weakref.ref(held)
    scope = {"held": held}
    outside = Outside([bound(item, scope, "held")])
    del held, scope["held"]
    assert reference() is not None
    gc.disable()
    try:
        del outside
        assert reference() is None, "no cycle keeps them"
    finally:
        gc.enable()


def test_threads():
    scope = {"lr": 0.1}
    outside = Outside([bound(item, scope, "lr")])
    stop = threading.Event()
    found, failed = set(), []

    def check():
        try:
            while not stop.is_set():
                found.add(outside.changed())
        except Exception as error:  # noqa: BLE001 - told in the main thread
            failed.append(error)

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for k in range(3000):
        scope["lr"] = float("0.1") if k % 2 else 0.2
    scope["lr"] = float("0.1")
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
    assert failed == []
    assert found <= {None, "'lr'"}
    assert outside.changed() is None


def test_a_check_leaves_nothing_behind():
    scope = {"W": np.ones(3), "b": 1.0}
    outside = Outside([bound(item, scope, "W"), bound(item, scope, "b")])
    outside.changed()
    before = sys.getallocatedblocks()
    for _ in range(1000):
        outside.changed()
    assert sys.getallocatedblocks() - before < 50

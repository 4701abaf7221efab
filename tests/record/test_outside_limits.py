"""Watching what a function reads from outside: what is no change, strange objects, and limits."""

import collections
import enum
import functools
import gc
import math
import sys
import threading
import types
import weakref

import numpy as np
import pytest
from chainrule.record.bindings import UNROLLED, same
from chainrule.record.outside import DEPTH, LIMIT, NOTES, watch
from hypothesis import given
from hypothesis import strategies as st

from tests.record.user_code import function, program

Namespace = types.SimpleNamespace


# ---- what is no rebinding ------------------------------------------------------------------------


def test_changes_in_place_of_arrays():
    W = np.ones(3)
    model = Namespace(W=W, parts=[W, np.zeros((), dtype=object)])
    outside = watch(lambda x: W @ x + model.W)
    W[:] = 2.0
    model.W += 1.0
    model.parts[1][()] = "anything"
    assert outside.changed() is None


def test_unrelated_names_and_locals():
    f, scope = function("[lr := x, sum(y for y in x), lr][0]", lr=0.1, other=1)
    outside = watch(f)
    scope["other"] = 2
    scope["another"] = 3
    scope["lr"] = 0.2
    scope["x"] = scope["y"] = 0
    assert outside.changed() is None


def test_equal_values_are_taken_over():
    f, scope = function("lr + shape[0]", lr=0.1, shape=(3, (4.0, "a")))
    outside = watch(f)
    before = outside._as_before
    scope["lr"] = float("0.1")
    scope["shape"] = (int("3"), (float("4.0"), "a"))
    assert outside.changed() is None
    assert outside._as_before is not before, "or every call would compare again"
    after = outside._as_before
    assert outside.changed() is None
    assert outside._as_before is after
    scope["shape"] = (3, (4.0, "b"))
    assert outside.changed() == "global `shape`"


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
    ],
)
def test_values_that_only_seem_equal(old, new):
    f, scope = function("x * value", value=old)
    outside = watch(f)
    scope["value"] = new
    assert outside.changed() == "global `value`"


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
    outside = watch(lambda x: table)
    for name, value in edits:
        if value is ...:
            table.pop(name, None)
        else:
            table[name] = value
    equal = table.keys() == start.keys() and all(same(table[k], start[k]) for k in table)
    assert (outside.changed() is None) == equal


# ---- robust --------------------------------------------------------------------------------------


class User:
    pass


@pytest.mark.parametrize(
    "f",
    [
        len,
        np.sin,
        np.add.reduce,
        math.sin,
        "a".join,
        int,
        collections.Counter,
        enum.Enum,
        User,
        type,
        object(),
        None,
        np.ones(3),
        print,
        dict.fromkeys,
        (1).__add__,
        lambda: (yield),
        (k for k in ()),
        math,
        np.random.default_rng(0),
        functools.partial(len),
        weakref.WeakValueDictionary(),
        sys.modules[__name__],
        types.MappingProxyType({}),
    ],
)
def test_anything_can_be_watched(f):
    assert watch(f).changed() is None
    assert watch(lambda x: f).changed() is None


def test_functions_and_objects_in_cycles():
    scope = program("def f(x): return g(x) * a\ndef g(x): return f(x) * b", a=1, b=1)
    loop = scope["loop"] = []
    loop += [loop, {"loop": loop}]
    outside = watch(scope["f"])
    scope["b"] = 2
    assert outside.changed() == "global `b`"
    cyclic = Namespace()
    cyclic.me = cyclic
    cyclic.both = (cyclic, [cyclic])
    outside = watch(lambda x: (cyclic, loop))
    assert outside.changed() is None
    assert outside.incomplete == ()


def test_a_long_chain_of_functions():
    lines = [f"def f{k}(x): return f{k + 1}(x)" for k in range(3000)]
    scope = program("\n".join(lines) + "\ndef f3000(x): return lr", lr=1)
    outside = watch(scope["f0"])
    scope["lr"] = 2
    assert outside.changed() == "global `lr`"


class CalledError(Exception):
    """Some of the user's code was run."""


def called(*_):
    raise CalledError


def test_no_code_of_the_user_is_run():
    special = ("getattribute", "getattr", "eq", "ne", "hash", "len", "iter", "bool", "contains")
    special += ("getitem", "missing", "repr", "str", "instancecheck", "index", "get", "call")
    names = {f"__{name}__": called for name in special}
    Meta = type("Meta", (type,), names)
    Hostile = types.new_class("Hostile", (), {"metaclass": Meta}, lambda n: n.update(names))
    type.__setattr__(Hostile, "value", property(called))
    bases = {"List": list, "Dict": dict, "Tuple": tuple, "Set": set, "Float": float, "Int": int}
    kinds = [types.new_class(k, (b,), {}, lambda n: n.update(names)) for k, b in bases.items()]
    objects = [object.__new__(Hostile), *(b.__new__(k) for k, b in zip(kinds, bases.values()))]  # noqa: B905
    object.__setattr__(objects[0], "W", 1)
    keyed = {}
    type.__setattr__(Hostile, "__hash__", object.__hash__)
    keyed[objects[0]] = 1
    type.__setattr__(Hostile, "__hash__", called)
    holder = Namespace(keyed=keyed, objects=objects, kind=Hostile)
    f, scope = function("(holder.value, holder.objects, one.W)", holder=holder, one=objects[0])
    outside = watch(f)
    assert outside.changed() is None
    object.__setattr__(objects[0], "W", 2)
    assert outside.changed() == "attribute `W` of `one`"
    object.__setattr__(objects[0], "W", objects[1])
    outside = watch(f)
    for k, replaced in enumerate(objects):
        holder.objects[k] = objects[k - 1]
        assert outside.changed() == f"item {k} of `holder.objects`"
        holder.objects[k] = replaced
    scope["one"] = objects[1]
    assert outside.changed() == "global `one`"


def test_many_bindings_are_bounded():
    big = list(range(100_000))
    huge = (tuple(range(1_000_000)), frozenset(range(100_000)))
    lr = 0.1
    outside = watch(lambda x: big[0] * lr + huge[0])
    assert outside.incomplete == (
        "the items of `big`, of which there are 100000",
        "the items of `huge[0]`, of which there are 1000000",
        "the items of `huge[1]`, of which there are 100000",
    )
    lr = 0.2
    assert outside.changed() == "the closure variable `lr`"
    lr = 0.1
    assert outside.changed() is None
    big.append(1)
    assert outside.changed() == "the length of `big`"


def test_bindings_in_all_are_bounded():
    parts = [Namespace(**{f"a{k}": k for k in range(50)}) for _ in range(LIMIT // 40)]
    outside = watch(lambda x: parts)
    assert len(outside._bindings) <= LIMIT
    assert len(outside.incomplete) == NOTES + 1
    assert outside.incomplete[-1] == "and more"
    assert outside.changed() is None
    parts[0].a0 = -1
    assert outside.changed() == "attribute `a0` of `parts[0]`"


@pytest.mark.parametrize("count", [1, UNROLLED, UNROLLED + 1, 1000])
def test_few_and_many_are_checked_alike(count):
    table = {f"k{k}": object() for k in range(count)}
    layers = list(table.values())
    objects = [Namespace(v=v) for v in layers]
    outside = watch(lambda x: (table, layers, objects))
    for where in {0, count // 2, count - 1}:
        for container, key in ((table, f"k{where}"), (layers, where), (vars(objects[where]), "v")):
            assert outside.changed() is None
            old, container[key] = container[key], object()
            assert outside.changed() is not None
            container[key] = old


def test_depth_is_bounded():
    inner = bottom = [0]
    for _ in range(DEPTH):
        inner = [inner]
    outside = watch(lambda x: inner)
    path = "inner" + "[0]" * DEPTH
    assert outside.incomplete == (f"the inside of `{path}`, which lies {DEPTH} steps deep",)
    bottom[0] = 1
    assert outside.changed() is None
    outside = watch(lambda x: (inner, bottom))
    assert outside.incomplete == ()
    bottom[0] = 2
    assert outside.changed() == "item 0 of `bottom`"


def test_what_cannot_be_looked_into_is_said():
    rng, buffer = np.random.default_rng(0), bytearray(3)
    assert watch(lambda x: rng.normal() + buffer[0]).incomplete == (
        "the inside of `buffer`, an object of builtins.bytearray",
        "the inside of `rng`, an object of numpy.random._generator.Generator",
    )
    f, _ = function("eval('lr')")
    assert watch(f).incomplete == ("names that `f` makes up for `eval`",)


def test_library_objects_are_watched_one_step_deep(monkeypatch):
    Estimator = type("Estimator", (), {"__module__": "an_installed_package"})
    package = types.ModuleType("an_installed_package")
    package.__file__ = "/anywhere/site-packages/an_installed_package.py"
    monkeypatch.setitem(sys.modules, package.__name__, package)
    estimator = Estimator()
    estimator.cache, estimator.coefficients = {}, np.ones(2)
    outside = watch(lambda x: estimator.coefficients)
    estimator.cache["a"] = 1
    assert outside.changed() is None
    estimator.coefficients = np.ones(2)
    assert outside.changed() == "attribute `coefficients` of `estimator`"


def test_values_watched_are_released_with_it():
    class Held:
        pass

    held = Held()
    reference = weakref.ref(held)
    f, scope = function("held", held=held)
    outside = watch(f)
    del held, scope["held"]
    assert reference() is not None
    gc.disable()
    try:
        del outside
        assert reference() is None, "no cycle keeps them"
    finally:
        gc.enable()


def test_threads():
    f, scope = function("lr * table['a']", lr=0.1, table={"a": 1, "b": 1}, odd={(1,): 2})
    outside = watch(f)
    stop = threading.Event()
    found, failed = set(), []

    def check():
        try:
            while not stop.is_set():
                found.add(outside.changed())
                found.add(watch(f).changed())
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for k in range(3000):
        scope["lr"] = float("0.1") if k % 2 else 0.2
        scope["table"][f"k{k}"] = k
        del scope["table"][f"k{k}"]
    scope["lr"] = float("0.1")
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
    assert failed == []
    assert found <= {None, "global `lr`", "a new item of `table`", *(
        f"item `k{k}` of `table`" for k in range(3000)
    )}  # fmt: skip
    assert outside.changed() is None


def test_a_check_leaves_nothing_behind():
    f, _ = function("np.sum(W * x) + b", W=np.ones(3), b=1.0)
    outside = watch(f)
    outside.changed()
    before = sys.getallocatedblocks()
    for _ in range(1000):
        outside.changed()
    assert sys.getallocatedblocks() - before < 50

"""Rebinding what a function reads from outside is noticed; everything else is not."""

import argparse
import collections
import dataclasses
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
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.record.bindings import UNROLLED, same
from chainrule.record.outside import DEPTH, LIMIT, NOTES, watch

Namespace = types.SimpleNamespace


def program(text, **names):
    """The namespace of a user's module with this text."""
    scope = {"__name__": "a_users_module", "np": np, "cr": cr, **names}
    exec(text, scope)  # noqa: S102
    return scope


def function(body, **names):
    """`f(x)` that returns this expression, and its namespace."""
    scope = program(f"def f(x):\n    return {body}", **names)
    return scope["f"], scope


# ---- each way of rebinding -----------------------------------------------------------------------


def test_a_global():
    f, scope = function("x * lr", lr=0.1)
    outside = watch(f)
    assert outside.changed() is None
    scope["lr"] = 0.2
    assert outside.changed() == "global `lr`"
    scope["lr"] = 0.1
    assert outside.changed() is None
    assert watch(f).incomplete == ()


def test_a_global_that_is_deleted_and_one_that_hides_a_builtin():
    f, scope = function("sum(x) * lr", lr=0.1)
    outside = watch(f)
    del scope["lr"]
    assert outside.changed() == "global `lr`"
    scope["lr"] = 0.1
    scope["sum"] = np.sum
    assert outside.changed() == "global `sum`"
    del scope["sum"]
    assert outside.changed() is None


def test_a_closure_variable():
    def outer():
        scale = 2.0

        def f(x):
            return x * scale

        def rebind(value):
            nonlocal scale
            scale = value

        def delete():
            nonlocal scale
            del scale

        return f, rebind, delete

    f, rebind, delete = outer()
    outside = watch(f)
    rebind(2.0)
    assert outside.changed() is None
    rebind(3.0)
    assert outside.changed() == "the closure variable `scale`"
    delete()
    assert outside.changed() == "the closure variable `scale`"
    empty = watch(f)
    assert empty.changed() is None
    rebind(3.0)
    assert empty.changed() == "the closure variable `scale`"


@pytest.mark.parametrize("make", [Namespace, argparse.Namespace])
def test_an_attribute(make):
    model = make(W=np.ones(3), b=np.zeros(3))
    f, _ = function("model.W @ x + model.b", model=model)
    outside = watch(f)
    assert outside.changed() is None
    model.W = np.ones(3)
    assert outside.changed() == "attribute `W` of `model`"
    del model.W
    assert outside.changed() == "attribute `W` of `model`"
    outside = watch(f)
    model.c = 1
    assert outside.changed() == "a new attribute of `model`"


def test_an_item():
    config = {"lr": 0.1, 3: "three"}
    layers = [np.ones(2), np.ones(2)]
    f, _ = function("config['lr'] * layers[0]", config=config, layers=layers)
    outside = watch(f)
    config["lr"] = 0.3
    assert outside.changed() == "item `lr` of `config`"
    config["lr"] = 0.1
    config[3] = "four"
    assert outside.changed() == "item `3` of `config`"
    config[3] = "three"
    config["new"] = 1
    assert outside.changed() == "a new item of `config`"
    del config["new"]
    layers[1] = layers[0]
    assert outside.changed() == "item 1 of `layers`"
    layers.pop()
    assert outside.changed() == "item 1 of `layers`"
    outside = watch(f)
    layers.append(1)
    assert outside.changed() == "a new item of `layers`"


def test_a_helper_that_is_redefined_and_what_it_reads():
    scope = program("def helper(x): return x * lr\ndef f(x): return [helper(v) for v in x]", lr=1)
    outside = watch(scope["f"])
    scope["lr"] = 2
    assert outside.changed() == "global `lr`"
    outside = watch(scope["f"])
    exec("def helper(x): return x", scope)  # noqa: S102
    assert outside.changed() == "global `helper`"
    outside = watch(scope["f"])
    scope["helper"].__code__ = (lambda x: -x).__code__
    assert outside.changed() == "the code of `helper`"


def test_default_arguments():
    data = [1.0]

    def f(x, scale=2.0, data=data, *, power=3):
        return x * scale * power

    outside = watch(f)
    f.__defaults__ = (2.0, data)
    assert outside.changed() is None
    f.__defaults__ = (3.0, data)
    assert outside.changed() == "the default arguments of `f`"
    f.__defaults__ = (2.0, data)
    f.__kwdefaults__["power"] = 4
    assert outside.changed() == "default argument `power` of `f`"
    f.__kwdefaults__ = {"power": 3}
    assert outside.changed() == "the default arguments of `f`"
    outside = watch(f)
    data[0] = 2.0
    assert outside.changed() == "item 0 of `data`"


class Base:
    rate = 0.5

    def step(self, x):
        return x * self.rate


class Model(Base):
    def __init__(self):
        self.W = np.ones(2)

    def loss(self, x):
        return self.step(x) @ self.W

    def __call__(self, x):
        return self.loss(x)


def test_the_self_of_a_bound_method():
    model = Model()
    outside = watch(model.loss)
    assert outside.changed() is None
    model.W = np.ones(2)
    assert outside.changed() == "attribute `W` of `self`"


def test_a_callable_object():
    model = Model()
    outside = watch(model)
    assert outside.changed() is None
    model.W = np.ones(2)
    assert outside.changed() == "attribute `W` of `self`"


@pytest.mark.parametrize("get", [lambda m: m, lambda m: m.loss, lambda m: lambda x: m(x)])
def test_attributes_of_the_class(monkeypatch, get):
    model = Model()
    outside = watch(get(model))
    monkeypatch.setattr(Base, "rate", 0.25)
    assert outside.changed() == "attribute `rate` of `Base`"
    monkeypatch.setattr(Base, "rate", 0.5)
    assert outside.changed() is None
    with monkeypatch.context() as patch:
        patch.setattr(Model, "step", lambda self, x: x, raising=False)
        assert outside.changed() == "attribute `step` of `Model`"
    with monkeypatch.context() as patch:
        patch.setattr(Base, "step", lambda self, x: x)
        assert outside.changed() == "attribute `step` of `Base`"


def test_special_methods_and_the_class_itself(monkeypatch):
    model = Model()
    outside = watch(lambda x: model(x))
    monkeypatch.setattr(Model, "__call__", lambda self, x: x)
    assert outside.changed() == "attribute `__call__` of `Model`"
    monkeypatch.undo()

    class Other(Model):
        pass

    outside = watch(lambda x: model(x))
    model.__class__ = Other
    assert outside.changed() == "the class of `model`"
    model.__class__ = Model
    model.__dict__ = dict(model.__dict__)
    assert outside.changed() == "attribute `__dict__` of `model`"


def test_the_construction_of_objects(monkeypatch):
    outside = watch(lambda x: Model().loss(x))
    monkeypatch.setattr(Model, "__init__", lambda self: None)
    assert outside.changed() == "attribute `__init__` of `Model`"


def test_super_reaches_every_base(monkeypatch):
    class Child(Base):
        def step(self, x):
            return super().step(x)

    outside = watch(Child().step)
    monkeypatch.setattr(Base, "step", lambda self, x: x)
    assert outside.changed() == "attribute `step` of `Base`"


def test_properties_are_looked_through():
    class Lazy:
        @property
        def rate(self):
            return factor

        @functools.cached_property
        def other(self):
            return factor

        @staticmethod
        def still(x):
            return factor

        @classmethod
        def whole(cls, x):
            return factor

    lazy = Lazy()
    for f in (
        lambda x: lazy.rate,
        lambda x: lazy.other,
        lambda x: lazy.still(x),
        lambda x: lazy.whole(x),
    ):
        factor = 1.0
        outside = watch(f)
        assert outside.changed() is None
        factor = 2.0
        assert outside.changed() == "the closure variable `factor`"


def test_slots():
    class Slotted:
        __slots__ = ("W", "unset")

    point = Slotted()
    point.W = 1.0
    outside = watch(lambda x: x * point.W)
    assert outside.changed() is None
    point.W = 2.0
    assert outside.changed() == "attribute `W` of `point`"
    del point.W
    assert outside.changed() == "attribute `W` of `point`"
    point.W = 1.0
    point.unset = 1
    assert outside.changed() == "attribute `unset` of `point`"


@pytest.mark.parametrize("options", [{}, {"slots": True}, {"frozen": True}])
def test_dataclasses(options):
    Settings = dataclasses.make_dataclass("Settings", [("lr", float)], **options)
    settings = Settings(0.1)
    outside = watch(lambda x: x * settings.lr)
    assert outside.changed() is None
    object.__setattr__(settings, "lr", 0.2)
    assert outside.changed() == "attribute `lr` of `settings`"


def test_partial_and_its_keywords():
    table = {"power": 2}

    def f(x, table, scale=1.0):
        return x**offset

    offset = 1.0
    outside = watch(functools.partial(f, table=table, scale=2.0))
    assert outside.changed() is None
    table["power"] = 3
    assert outside.changed() == "item `power` of `self.keywords['table']`"
    table["power"] = 2
    offset = 2.0
    assert outside.changed() == "the closure variable `offset`"


def decorated(f):
    @functools.wraps(f)
    def wrapper(x):
        return f(x)

    return wrapper


@pytest.mark.parametrize(
    "wrap",
    [
        decorated,
        functools.lru_cache,
        functools.singledispatch,
        np.vectorize,
        cr.grad,
        cr.value_and_grad,
        cr.jacobian,
        lambda f: cr.grad(cr.grad(f)),
        lambda f: functools.partial(cr.grad(f)),
        lambda f: [cr.grad(f)].__getitem__,
    ],
)
def test_wrapped_functions_are_followed(wrap):
    lr = 0.1

    def f(x):
        return x * lr

    outside = watch(wrap(f))
    assert outside.changed() is None
    lr = 0.2
    assert outside.changed() == "the closure variable `lr`"


def test_nothing_of_chainrule_is_watched():
    f, _ = function("x * lr", lr=0.1)
    alone = [b.words for b in watch(f)._bindings]
    for transform in (cr.grad, cr.value_and_grad, cr.jacobian, cr.hessian):
        assert [b.words for b in watch(transform(f))._bindings] == alone


def test_attributes_of_a_users_module():
    settings = types.ModuleType("settings")
    settings.lr, settings.unread = 0.1, 1
    f, _ = function("x * settings.lr", settings=settings)
    outside = watch(f)
    settings.unread = 2
    assert outside.changed() is None
    settings.lr = 0.2
    assert outside.changed() == "attribute `lr` of `settings`"
    del settings.lr
    assert outside.changed() == "attribute `lr` of `settings`"


@pytest.mark.parametrize("statement", ["import settings", "from settings import lr"])
def test_a_module_imported_inside(monkeypatch, statement):
    settings = types.ModuleType("settings")
    settings.lr = 0.1
    monkeypatch.setitem(sys.modules, "settings", settings)
    read = "settings.lr" if statement.startswith("import") else "lr"
    f = program(f"def f(x):\n    {statement}\n    return x * {read}")["f"]
    outside = watch(f)
    settings.lr = 0.2
    assert outside.changed() == "attribute `lr` of `settings`"


def test_a_name_given_to_getattr():
    settings = types.ModuleType("settings")
    settings.lr = 0.1
    f, _ = function("x * getattr(settings, 'lr')", settings=settings)
    outside = watch(f)
    assert outside.incomplete == ("names that `f` makes up for `getattr`",)
    settings.lr = 0.2
    assert outside.changed() == "attribute `lr` of `settings`"


def test_attributes_of_libraries_are_not_watched(monkeypatch):
    f, _ = function("np.sin(x) + math.pi + cr.sin(x)", math=math)
    outside = watch(f)
    monkeypatch.setattr(np, "sin", np.cos)
    monkeypatch.setattr(math, "pi", 3)
    assert outside.changed() is None


def test_objects_inside_objects():
    class Layer:
        def __init__(self):
            self.W = np.ones(2)

    model = Namespace(layers=[Layer(), Layer()], options={"deep": (Namespace(rate=1),)})
    outside = watch(lambda x: model)
    model.layers[1].W = 0
    assert outside.changed() == "attribute `W` of `model.layers[1]`"
    outside = watch(lambda x: model)
    model.options["deep"][0].rate = 2
    assert outside.changed() == "attribute `rate` of `model.options['deep'][0]`"


def test_other_containers():
    class Key:
        pass

    class Layers(list):
        pass

    for container, change in (
        ({1, 2}, lambda c: c.add(3)),
        (collections.deque([1, 2]), lambda c: c.append(3)),
        (collections.OrderedDict(a=1), lambda c: c.update(a=2)),
        (collections.defaultdict(list, a=1), lambda c: c["b"]),
        ({Key(): 1}, lambda c: c.update({Key(): 1})),
        (Layers([1, 2]), lambda c: c.append(3)),
        (Layers([1, 2]), lambda c: c.pop()),
    ):
        outside = watch(lambda x, container=container: container)
        assert outside.changed() is None
        change(container)
        assert outside.changed() == "an item of `container`"
    layers = Layers()
    outside = watch(lambda x: layers)
    layers.name = "first"
    assert outside.changed() == "a new attribute of `layers`"


def test_function_attributes_and_enums():
    def f(x):
        return x * f.scale

    f.scale = 1.0
    outside = watch(f)
    f.scale = 2.0
    assert outside.changed() == "attribute `scale` of `f`"

    class Mode(enum.Enum):
        FAST = 1

    outside = watch(lambda x: x * Mode.FAST.value)
    assert outside.changed() is None


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


@pytest.mark.parametrize(
    "f",
    [
        len,
        np.sin,
        np.add.reduce,
        math.sin,
        "a".join,
        int,
        Model,
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

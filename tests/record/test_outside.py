"""Rebinding what a function reads from outside is noticed, and said in words."""

import argparse
import collections
import dataclasses
import enum
import functools
import math
import sys
import types

import numpy as np
import pytest
from chainrule.record.outside import LIMIT, watch

import chainrule as cr
from tests.record.user_code import function, program

Namespace = types.SimpleNamespace


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


def test_nothing_that_a_library_keeps_is_watched():
    """A function of a library is followed to the user's, and its own bookkeeping left alone."""

    class Cache:
        pass

    scope = {"__name__": "an_installed_package", "__file__": "/any/site-packages/package.py"}
    text = """
def made(f, cache, held):
    def library(x):
        nonlocal cache
        cache = {}
        return f(x)
    return library
"""
    exec(text, scope)  # noqa: S102
    lr = 0.1
    deep = [[[[[[1]]]]]]
    kept = {"many": list(range(2 * LIMIT)), "buffer": bytearray(3), "deep": deep}
    generated = {"state": 1}
    exec("def step(): return state", generated)  # noqa: S102
    library = scope["made"](lambda x: x * lr, kept, [Cache(), generated["step"]])
    outside = watch(library)
    assert outside.incomplete == ()
    kept["many"].append(1)
    generated["state"] = 2
    library(1.0)
    assert outside.changed() is None
    lr = 0.2
    assert outside.changed() == "the closure variable `lr`"


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


def test_a_long_list():
    held = [float(k) for k in range(100)]
    held[7] = np.zeros(2)
    outside = watch(lambda: held)
    assert outside.changed() is None
    assert any(a is held[7] for a in outside.arrays())
    held[3] = float("3")  # an equal number is no change, once and again
    assert outside.changed() is None
    assert outside.changed() is None
    held[3] = 3  # an integer is not that number
    assert outside.changed() == "an item of `held`"
    held[3] = 3.0
    assert outside.changed() is None
    held.append(1.0)
    assert outside.changed() is not None

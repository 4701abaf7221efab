"""What a call reads outside is bound: rebinding it is noticed and said in words, nothing else."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import functools
import sys
import types

import numpy as np
import pytest

import chainrule as cr
from chainrule.run.bindings import Outside
from chainrule.run.reads.log import Stop
from chainrule.run.reads.watching import Watched
from tests.run.user_code import function, program

Namespace = types.SimpleNamespace


def watch(f, *args):
    """What f(*args) reads outside, on plain values."""
    watched = Watched([f])
    watched.run(functools.partial(f, *(args or (2.0,))))
    return Outside(watched.bindings({}))


def test_a_global():
    f, scope = function("x * lr", lr=0.1)
    outside = watch(f)
    assert outside.changed() is None
    scope["lr"] = 0.2
    assert outside.changed() == "global `lr`"
    scope["lr"] = 0.1
    assert outside.changed() is None


def test_a_global_that_is_deleted_and_one_that_hides_a_builtin():
    f, scope = function("abs(x) * lr", lr=0.1)
    outside = watch(f)
    del scope["lr"]
    assert outside.changed() == "global `lr`"
    scope["lr"] = 0.1
    scope["abs"] = np.abs
    assert outside.changed() == "global `abs`"
    del scope["abs"]
    assert outside.changed() is None


def test_a_global_that_is_missing_and_appears():
    scope = program("def f(x):\n    try: return x * lr\n    except NameError: return x")
    outside = watch(scope["f"])
    assert outside.changed() is None
    scope["lr"] = 2.0
    assert outside.changed() == "global `lr`"


def test_what_is_not_read_is_not_watched():
    f, scope = function("x * lr if x > 0 else other", lr=0.1, other=1, third=1)
    outside = watch(f)
    scope["other"] = scope["third"] = 2
    assert outside.changed() is None
    f, scope = function("[lr := x, sum(y for y in [x]), lr][0]", lr=0.1)
    outside = watch(f)
    scope["lr"] = scope["x"] = scope["y"] = 0.2
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


@pytest.mark.parametrize("make", [Namespace, argparse.Namespace])
def test_an_attribute(make):
    model = make(W=np.ones(3), b=np.zeros(3), other=1)
    f, _ = function("model.W * x + model.b", model=model)
    outside = watch(f)
    assert outside.changed() is None
    model.other, model.new = 2, 3
    assert outside.changed() is None
    model.W = np.ones(3)
    assert "attribute `W`" in outside.changed()
    del model.W
    assert "attribute `W`" in outside.changed()


def test_an_attribute_that_is_missing_and_appears():
    model = Namespace()
    for body in ("getattr(model, 'k', x)", "model.k if hasattr(model, 'k') else x"):
        f, _ = function(body, model=model)
        outside = watch(f)
        assert outside.changed() is None
        model.k = 3.0
        assert outside.changed() is not None
        del model.k


def test_an_item():
    config = {"lr": 0.1, 3: "three"}
    layers = [np.ones(2), np.ones(2)]
    f, _ = function("config['lr'] * layers[0]", config=config, layers=layers)
    outside = watch(f)
    config[3] = "four"
    config["new"] = 1
    layers[1] = layers[0]
    layers.append(1)
    assert outside.changed() is None  # none of these was read
    config["lr"] = 0.3
    assert outside.changed() == "item 'lr' of a dict"
    config["lr"] = 0.1
    layers[0] = np.ones(2)
    assert outside.changed() == "item 0 of a list"
    layers.clear()
    assert outside.changed() == "item 0 of a list"


@pytest.mark.parametrize(
    "body",
    ["x * sum(held)", "[x * k for k in held][-1]", "x * len(held)", "x * max(*held)",
     "x * (1 in held)", "x * sorted(held)[0]", "x * sum(k for k in held)",
     "x * bool(held)", "x * sum(map(abs, held))",
     "x * sum([*held])", "x * sum(held[1:])", "x * len(tuple(held))", "x if held == [1] else 2 * x",
     "x if not held else 2 * x", "x * [k for k, _ in zip(held, held)][0]"],
)  # fmt: skip
@pytest.mark.parametrize("make", [list, collections.deque])
def test_a_whole_container(body, make):
    if make is collections.deque and "[1:]" in body:
        return
    held = make([3.0, 1.0])
    f, _ = function(body, held=held)
    for change in (lambda: held.append(5.0), lambda: held.pop(), lambda: held.reverse()):
        outside = watch(f)
        assert outside.changed() is None
        change()
        if "len" not in body and "bool" not in body and "not" not in body:
            assert outside.changed() is not None
    outside = watch(f)
    held.append(7.0)
    assert outside.changed() is not None or "bool" in body or "not" in body
    outside = watch(f)
    held.clear()
    assert outside.changed() is not None


@pytest.mark.parametrize(
    "body",
    ["x * sum(held.values())", "x * sum(v for _, v in held.items())", "x * len(held)",
     "x * len([*held])",
     "x * sum({**held}.values())", "x * sum(held[k] for k in held)", "x * len(held.keys())",
     "x * sum(dict(held).values())"],
)  # fmt: skip
@pytest.mark.parametrize("make", [dict, collections.OrderedDict])
def test_a_whole_mapping(body, make):
    held = make(a=1.0, b=2.0)
    f, _ = function(body, held=held)
    outside = watch(f)
    assert outside.changed() is None
    held["c"] = 3.0
    assert outside.changed() is not None
    outside = watch(f)
    del held["a"]
    assert outside.changed() is not None
    if "len" not in body:
        outside = watch(f)
        held["b"] = 5.0
        assert outside.changed() is not None


def test_membership():
    for held, add in (({1: 2}, lambda h: h.update({7: 1})), ({1}, lambda h: h.add(7))):
        f, _ = function("x if 7 in held else -x", held=held)
        outside = watch(f)
        assert outside.changed() is None
        add(held)
        assert outside.changed() is not None


def test_a_helper_that_is_redefined_and_what_it_reads():
    scope = program("def helper(x): return x * lr\ndef f(x): return [helper(v) for v in [x]]", lr=1)
    outside = watch(scope["f"])
    scope["lr"] = 2
    assert outside.changed() == "global `lr`"
    outside = watch(scope["f"])
    exec("def helper(x): return x", scope)  # noqa: S102
    assert outside.changed() == "global `helper`"
    outside = watch(scope["f"])
    scope["helper"].__code__ = (lambda x: -x).__code__
    assert outside.changed() is not None


def test_default_arguments():
    data = [1.0]

    def f(x, scale=2.0, data=data, *, power=3):
        return x * scale * power * data[0]

    outside = watch(f)
    f.__defaults__ = (2.0, data)
    assert outside.changed() is None
    f.__defaults__ = (3.0, data)
    assert outside.changed() is not None
    f.__defaults__ = (2.0, data)
    assert outside.changed() is None
    f.__kwdefaults__["power"] = 4
    assert outside.changed() is not None
    f.__kwdefaults__ = {"power": 3}
    assert outside.changed() is not None
    outside = watch(f)
    data[0] = 2.0
    assert outside.changed() == "item 0 of a list"


class Base:
    rate = 0.5

    def step(self, x):
        return x * self.rate


class Model(Base):
    def __init__(self):
        self.W = np.ones(2)

    def loss(self, x):
        return self.step(x) * self.W

    def __call__(self, x):
        return self.loss(x)


@pytest.mark.parametrize(
    "get",
    [lambda m: m.loss, lambda m: m, lambda m: lambda x: m(x), lambda m: lambda x: m.loss(x),
     lambda m: functools.partial(m.loss), lambda m: lambda x, f=m.loss: f(x)],
    ids=["method", "object", "called", "inside", "partial", "default"],
)  # fmt: skip
def test_attributes_of_self_and_of_its_class(monkeypatch, get):
    model = Model()
    f = get(model)
    outside = watch(f)
    assert outside.changed() is None
    model.W = np.ones(2)
    assert outside.changed() == "attribute `W` of a Model"
    outside = watch(f)
    monkeypatch.setattr(Base, "rate", 0.25)
    assert outside.changed() is not None
    monkeypatch.setattr(Base, "rate", 0.5)
    assert outside.changed() is None
    model.rate = 0.75
    assert outside.changed() is not None
    del model.rate
    with monkeypatch.context() as patch:
        patch.setattr(Model, "step", lambda self, x: x, raising=False)
        assert outside.changed() is not None
    with monkeypatch.context() as patch:
        patch.setattr(Base, "step", lambda self, x: x)
        assert outside.changed() is not None
    assert outside.changed() is None


def test_special_methods_and_the_class_itself(monkeypatch):
    model = Model()
    outside = watch(lambda x: model(x))
    monkeypatch.setattr(Model, "__call__", lambda self, x: x)
    assert outside.changed() is not None
    monkeypatch.undo()

    class Other(Model):
        rate = 0.25

    outside = watch(lambda x: model(x))
    model.__class__ = Other
    assert outside.changed() is not None


def test_the_construction_of_objects(monkeypatch):
    outside = watch(lambda x: Model().loss(x))
    assert outside.changed() is None
    monkeypatch.setattr(Model, "__init__", lambda self: None)
    assert outside.changed() is not None


def test_super_reaches_every_base(monkeypatch):
    class Child(Base):
        def step(self, x):
            return super().step(x)

    outside = watch(Child().step)
    assert outside.changed() is None
    monkeypatch.setattr(Base, "step", lambda self, x: x)
    assert outside.changed() == "attribute `step` of `Base`"


def test_properties_are_looked_through():
    class Lazy:
        @property
        def rate(self):
            return factor

        @staticmethod
        def still(x):
            return factor

        @classmethod
        def whole(cls, x):
            return factor

        def __getattr__(self, name):
            return factor

    lazy = Lazy()
    for f in (
        lambda x: lazy.rate,
        lambda x: lazy.still(x),
        lambda x: lazy.whole(x),
        lambda x: lazy.anything,
        lambda x: Lazy().rate,
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
    point.unset = 1
    assert outside.changed() is None
    point.W = 2.0
    assert outside.changed() == "attribute `W` of a Slotted"
    del point.W
    assert outside.changed() == "attribute `W` of a Slotted"


@pytest.mark.parametrize("options", [{}, {"slots": True}, {"frozen": True}])
def test_dataclasses(options):
    Settings = dataclasses.make_dataclass("Settings", [("lr", float)], **options)
    settings = Settings(0.1)
    outside = watch(lambda x: x * settings.lr)
    assert outside.changed() is None
    object.__setattr__(settings, "lr", 0.2)
    assert outside.changed() == "attribute `lr` of a Settings"


def test_a_partial_and_its_keywords():
    table = {"power": 2}
    offset = 1.0

    def f(x, table, scale=1.0):
        return x**offset * table["power"] * scale

    made = functools.partial(f, table=table, scale=2.0)
    for g in (made, lambda x: made(x)):
        outside = watch(g)
        assert outside.changed() is None
        table["power"] = 3
        assert outside.changed() is not None
        table["power"] = 2
        offset = 2.0
        assert outside.changed() == "the closure variable `offset`"
        offset = 1.0
        made.keywords["scale"] = 3.0
        assert outside.changed() is not None
        made.keywords["scale"] = 2.0


def decorated(f):
    @functools.wraps(f)
    def wrapper(x):
        return f(x)

    return wrapper


@pytest.mark.parametrize(
    "wrap",
    [
        decorated,
        cr.grad,
        cr.value_and_grad,
        cr.jacobian,
        lambda f: cr.grad(cr.grad(f)),
        lambda f: functools.partial(cr.grad(f)),
    ],
)
def test_wrapped_functions_are_followed(wrap):
    lr = 0.1

    def f(x):
        return x**3 * lr

    outside = watch(wrap(f))
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
    assert outside.changed() is None
    settings.lr = 0.2
    assert outside.changed() == "attribute `lr` of `settings`"
    other = types.ModuleType("settings")
    other.lr = 0.1
    settings.lr = 0.1
    assert outside.changed() is None
    monkeypatch.setitem(sys.modules, "settings", other)
    assert outside.changed() is not None


def test_a_name_given_to_getattr():
    settings, name = Namespace(lr=0.1, other=0.3), "lr"
    outside = watch(lambda x: x * getattr(settings, name))
    assert outside.changed() is None
    settings.lr = 0.2
    assert outside.changed() is not None
    settings.lr = 0.1
    name = "other"
    assert outside.changed() == "the closure variable `name`"


def test_objects_inside_objects():
    class Layer:
        def __init__(self):
            self.W = np.ones(2)

    model = Namespace(layers=[Layer(), Layer()], options={"deep": (Namespace(rate=1),)})
    outside = watch(lambda x: model.layers[1].W * x * model.options["deep"][0].rate)
    model.layers[0].W = 0
    assert outside.changed() is None
    model.layers[1].W = 0
    assert outside.changed() == "attribute `W` of a Layer"
    outside = watch(lambda x: model.options["deep"][0].rate)
    model.options["deep"][0].rate = 2
    assert outside.changed() == "attribute `rate` of a SimpleNamespace"


def test_function_attributes_and_enums():
    def f(x):
        return x * f.scale

    f.scale = 1.0
    outside = watch(f)
    assert outside.changed() is None
    f.scale = 2.0
    assert outside.changed() is not None

    class Mode(enum.Enum):
        FAST = 1

    outside = watch(lambda x: x * Mode.FAST.value)
    assert outside.changed() is None


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda x, a: x * a.sum(),
        lambda x, a: x * float(a[1]),
        lambda x, a: x * a.tolist()[1],
        lambda x, a: x * np.max(a),
        lambda x, a: x * sum(a),
        lambda x, a: x * (a + 1)[1],
        lambda x, a: x if a[1] > 2 else -x,
        lambda x, a: x * len([v for v in a if v > 2]),
        lambda x, a: x if 9.0 in a else -x,
        lambda x, a: x * np.asarray(a)[1].item(),
        lambda x, a: x * a[:2].sum(),
        lambda x, a: x * a.reshape(3, 1)[1, 0],
        lambda x, a: x * memoryview(a)[1],
    ],
)
def test_numbers_of_an_array(read):
    array = np.arange(3.0)
    watched = Watched([read, array])
    try:
        watched.run(functools.partial(read, 2.0, array))
    except Stop:
        return  # it says that it cannot watch this, and the function runs plain
    outside = Outside(watched.bindings({}))
    assert outside.changed() is None
    array[1] = 9.0
    assert outside.changed() is not None
    array[1] = 1.0
    assert outside.changed() is None


@pytest.mark.parametrize(
    "read", [lambda x, a: x * a.shape[0], lambda x, a: x * len(a), lambda x, a: x * a.size]
)
@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
def test_the_shape_of_an_array(read):
    array = np.zeros((4, 6))
    watched = Watched([read, array])
    watched.run(functools.partial(read, 2.0, array))
    outside = Outside(watched.bindings({}))
    array[1] = 9.0
    assert outside.changed() is None
    array.shape = (6, 4)
    assert outside.changed() is not None


# ---- effects -------------------------------------------------------------------------------------

CALLS: list[int] = []


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("held.append(1)", r"changes a list from outside by \.append\(\)"),
        ("held[0] = 1", "assigns to an item of a list from outside"),
        ("del held[0]", "assigns to an item of a list from outside"),
        ("held += [1]", "changes a list from outside in place|assigns to the global"),
        ("table.update(a=1)", r"changes a dict from outside by \.update\(\)"),
        ("table['a'] = 1", "assigns to an item of a dict from outside"),
        ("owner.k = 2", "assigns to `k` of a SimpleNamespace from outside"),
        ("del owner.k", "assigns to `k` of a SimpleNamespace from outside"),
        ("setattr(owner, 'k', 2)", "assigns to `k` of a SimpleNamespace from outside"),
        ("array[0] = 1", "assigns to an item of a ndarray from outside"),
        ("array += 1", "changes a ndarray from outside in place|assigns to the global"),
        ("array.fill(1)", r"changes an array from outside by \.fill\(\)"),
        ("array.sort()", r"changes an array from outside by \.sort\(\)"),
        ("np.copyto(array, 1)", "writes into an array from outside"),
        ("np.add(array, 1, out=array)", "writes into an array from outside"),
        ("np.add.at(array, 0, 1)", "changes an array from outside by np.add.at"),
        ("view = array[1:]; view[0] = 1", "assigns to an item of a ndarray from outside"),
        ("array.T.flat[0] = 1", ""),
        ("print(x)", "prints"),
        ("next(numbers)", "takes from an iterator from outside"),
        ("list(numbers)", "takes from an iterator from outside"),
        ("[k for k in numbers]", "takes from an iterator from outside"),
        ("a, *b = numbers", "takes from an iterator from outside"),
        ("open('/dev/null')", "calls .*open"),
        ("import random; random.random()", "draws random numbers"),
        ("import time; time.time()", "calls time.time"),
        ("import os; os.getcwd()", "getcwd"),
        ("(lambda: held.append(1))()", r"by \.append"),
        ("sorted(held, key=lambda k: held.append(k))", r"by \.append"),
        ("list(map(held.append, [1]))", ""),
        ("global counter; counter = 1", "assigns to the global `counter`"),
        ("exec('held.append(1)')", "calls .*exec"),
    ],
)
def test_effects_stop_before_they_happen(statement, words, capsys):
    owner, array = Namespace(k=1), np.arange(3.0)
    held, table, numbers = [0, 0], {}, iter([1, 2, 3])
    if "held +=" in statement or "array +=" in statement:
        statement = f"global held, array; {statement}"
    scope = program(
        f"def f(x):\n    {statement}\n    return x",
        held=held, table=table, owner=owner, array=array, numbers=numbers,
    )  # fmt: skip
    watched = Watched([scope["f"]])
    with pytest.raises(Stop, match=words or None):
        watched.run(functools.partial(scope["f"], 2.0))
    assert watched.gave_up is not None
    assert (held, table, vars(owner)) == ([0, 0], {}, {"k": 1})
    np.testing.assert_array_equal(array, [0, 1, 2])
    assert list(numbers) == [1, 2, 3]
    assert "counter" not in scope
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "statement",
    [
        "held = []; held.append(1); held[0] = 2; del held[0]",
        "table = dict(a=1); table['b'] = 2; table.update(c=3)",
        "made = type('Made', (), {})(); made.k = 2; del made.k",
        "array = np.zeros(3); array[0] = 1; array += 1; array.sort(); np.add(array, 1, out=array)",
        "numbers = iter([1, 2]); next(numbers); a, *b = iter([1, 2])",
        "k = 0\n    def g():\n        nonlocal k\n        k += 1\n    g()",
        "copy = list(given); copy.append(1)",
        "copy = {**table}; copy['new'] = 1",
        "text = ''.join(str(k) for k in given)",
    ],
)
def test_what_is_made_inside_may_be_changed(statement):
    scope = program(f"def f(x):\n    {statement}\n    return x", given=[1, 2], table={"a": 1})
    assert watch(scope["f"]).changed() is None
    assert scope["given"] == [1, 2]
    assert scope["table"] == {"a": 1}


# ---- robust --------------------------------------------------------------------------------------


def test_functions_and_objects_in_cycles():
    scope = program(
        "def f(x, n=3): return g(x, n) * a\ndef g(x, n): return f(x, n - 1) * b if n else x",
        a=1,
        b=1,
    )
    outside = watch(scope["f"])
    scope["b"] = 2
    assert outside.changed() == "global `b`"
    loop = []
    loop += [loop, {"loop": loop}, 3.0]
    cyclic = Namespace(k=1)
    cyclic.me = cyclic
    outside = watch(lambda x: x * cyclic.me.me.k * loop[0][0][2] * len([*loop]))
    assert outside.changed() is None
    cyclic.k = 2
    assert outside.changed() is not None


def test_a_long_chain_of_functions():
    lines = [f"def f{k}(x): return f{k + 1}(x)" for k in range(300)]
    scope = program("\n".join(lines) + "\ndef f300(x): return lr", lr=1)
    outside = watch(scope["f0"])
    scope["lr"] = 2
    assert outside.changed() == "global `lr`"


def test_a_list_of_many():
    held = [float(k) for k in range(100_000)]
    outside = watch(lambda x: x * sum(held))
    assert outside.changed() is None
    held[77_777] = 5.0
    assert outside.changed() is not None
    held[77_777] = 77_777.0
    assert outside.changed() is None  # an equal number


def test_a_metaclass_and_operators_of_the_users_are_watched():
    class Meta(type):
        def __getattr__(cls, name):
            return factor

    class Made(metaclass=Meta):
        def __add__(self, other):
            return other * factor

        def __bool__(self):
            return factor > 1

        def __len__(self):
            return int(factor)

        def __getitem__(self, key):
            return factor

        def __contains__(self, key):
            return factor > 1

        def __iter__(self):
            return iter([factor])

    made = Made()
    for f in (
        lambda x: Made.anything * x, lambda x: made + x, lambda x: x if made else -x,
        lambda x: x * len(made), lambda x: x * made[0], lambda x: x * (1 in made),
        lambda x: x * sum(made), lambda x: x * [*made, 0.0][0],
    ):  # fmt: skip
        factor = 1.0
        outside = watch(f)
        assert outside.changed() is None
        factor = 2.0
        assert outside.changed() == "the closure variable `factor`"


def test_what_a_class_has_is_bound_once_however_often_it_is_read():
    class Settings:
        rate = 2.0

    def f(x):
        for _ in range(50):
            x = x * Settings.rate
        return x

    outside = watch(f)
    assert len(outside) < 10
    Settings.rate = 3.0
    assert outside.changed() == "attribute `rate` of `Settings`"


def test_a_class_that_gets_a_special_method():
    class Thing:
        pass

    thing = Thing()
    outside = watch(lambda x: x * 2.0 if thing else x)
    Thing.unrelated = 1.0
    assert outside.changed() == "the attributes of `Thing`"
    del Thing.unrelated
    assert outside.changed() is None
    Thing.__bool__ = lambda self: False
    assert outside.changed() == "the attributes of `Thing`"

"""Classes that hold data: dataclasses, enums, named tuples, namespaces, registries."""

import abc
import dataclasses
import enum
import types
from argparse import Namespace
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from tests.run.outside_kinds.classes import Plain, new_class, setter
from tests.run.outside_kinds.register import V, kind


@kind(grad=True)
def dataclass_field():
    obj = dataclasses.make_dataclass("Point", [("alpha", float)])(0.0)
    return lambda x: x * obj.alpha, setter(obj)


@kind
def dataclass_as_a_dict():
    obj = dataclasses.make_dataclass("Point", [("alpha", float), ("beta", float)])(0.0, 1.0)
    return lambda x: x * sum(dataclasses.asdict(obj).values()), setter(obj)


@kind
def dataclass_fields_by_name():
    obj = dataclasses.make_dataclass("Point", [("alpha", float), ("beta", float)])(0.0, 1.0)

    def f(x):
        for field in dataclasses.fields(obj):
            x = x * getattr(obj, field.name)
        return x

    return f, setter(obj)


@kind
def dataclass_replaced():
    point = dataclasses.make_dataclass("Point", [("alpha", float)], frozen=True)
    holder = [point(0.0)]

    def change(n):
        holder[0] = dataclasses.replace(holder[0], alpha=V[n])

    return lambda x: x * holder[0].alpha, change


@kind
def frozen_dataclass_is_forced():
    obj = dataclasses.make_dataclass("Point", [("alpha", float)], frozen=True)(0.0)
    return lambda x: x * obj.alpha, lambda n: object.__setattr__(obj, "alpha", V[n])


class Mode(enum.Enum):
    SLOW, FAST, WILD = V


@kind
def enum_member():
    obj = Plain()
    return lambda x: x * obj.mode.value, lambda n: setattr(obj, "mode", list(Mode)[n])


@kind
def enum_in_an_if():
    obj = Plain()

    def f(x):
        if obj.mode is Mode.SLOW:
            return x
        return x * 2 if obj.mode == Mode.FAST else x**2

    return f, lambda n: setattr(obj, "mode", list(Mode)[n])


@kind
def namedtuple_is_replaced():
    pair = namedtuple("pair", "alpha beta")
    holder = [pair(0.0, 1.0)]

    def change(n):
        holder[0] = holder[0]._replace(alpha=V[n])

    return lambda x: x * holder[0].alpha + holder[0][1], change


class Settings(NamedTuple):
    alpha: float
    parts: list


@kind
def named_tuple_with_a_list():
    settings = Settings(1.0, [0.0])
    return lambda x: x * settings.parts[0], lambda n: settings.parts.__setitem__(0, V[n])


@kind
def simple_namespace():
    obj = types.SimpleNamespace()
    return lambda x: x * obj.alpha, setter(obj)


@kind
def argparse_namespace():
    obj = Namespace()
    return lambda x: x * obj.alpha, setter(obj)


@kind
def instance_of_an_abstract_class():
    class Shape(abc.ABC):
        @abc.abstractmethod
        def size(self): ...

    class Square(Shape):
        side = 1.0

        def size(self):
            return self.side**2

    obj = Square()
    return lambda x: x * obj.size(), setter(Square, "side")


@kind
def abc_registration():
    class Number(abc.ABC): ...  # noqa: B024 - what counts is who is registered

    classes = [new_class() for _ in V]
    obj = Plain()

    def change(n):
        obj.it = classes[n]()
        if n == 1:
            Number.register(classes[1])

    return lambda x: x * 2 if isinstance(obj.it, Number) else x * 3, change


@kind
def abc_registration_of_one_object():
    class Number(abc.ABC): ...  # noqa: B024 - what counts is who is registered

    cls = new_class()
    obj = cls()

    def change(n):
        if n == 1:
            Number.register(cls)

    return lambda x: x * 2 if isinstance(obj, Number) else x * 3, change


@kind
def subclass_hook():
    class Number(abc.ABC):  # noqa: B024 - what counts is the hook
        wanted = "alpha"

        @classmethod
        def __subclasshook__(cls, other):
            return hasattr(other, cls.wanted)

    classes = [new_class(alpha=1), new_class(beta=1), new_class(alpha=2)]
    obj = Plain()
    change = lambda n: setattr(obj, "it", classes[n]())
    return lambda x: x * 2 if isinstance(obj.it, Number) else x * 3, change


@kind
def isinstance_of_an_outside_class():
    classes = [new_class() for _ in V]
    obj, holder = classes[1](), Plain()
    change = lambda n: setattr(holder, "cls", classes[n])
    return lambda x: x * 2 if isinstance(obj, holder.cls) else np.sin(x), change


@kind
def registry_by_init_subclass():
    class Base:
        known = []  # noqa: RUF012 - this is the kind

        def __init_subclass__(cls):
            Base.known.append(cls)

    def change(n):
        for _ in range(n):
            type("Sub", (Base,), {})

    return lambda x: x * len(Base.known), change


@kind
def subclasses_are_counted():
    base, keep = new_class(), []
    change = lambda n: keep.append(new_class(base))
    return lambda x: x * len(base.__subclasses__()), change

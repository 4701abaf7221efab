"""Attributes that are read: of modules, classes, instances and arrays."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from chainrule.record.variable import Variable
from chainrule.run.bindings import (
    ABSENT,
    PLAIN,
    SCALARS,
    contents,
    item,
    kind,
    method,
    quietly,
    read,
    size,
    unbound,
    value_of,
)
from chainrule.run.reads.log import Log
from chainrule.run.reads.lookup import (
    BUILTIN_METHODS,
    RANDOM,
    ended_parts_of,
    found_in,
    is_computed,
    is_special,
    is_transparent,
    is_written_in_python,
    isa,
    layout_of,
    named,
    own_value,
    parts_of,
    raw_attribute,
)
from chainrule.run.reads.origin import (
    Origin,
    bases_of,
    name_of,
    names_of_module,
    origin_of_class,
    origin_of_module,
    own_names,
)

LAYOUT = frozenset(("shape", "ndim", "size", "dtype", "strides", "nbytes", "itemsize", "flags"))


class Attributes(Log):
    """A log of attributes."""

    def attribute(self, frame: FrameType, owner: Any, name: str) -> None:
        """owner.name is about to be read."""
        cls = type(owner)
        if not isa(name, str):
            return
        if cls is Variable:
            self.variable_attribute(frame, owner, name)
            return
        if issubclass(cls, np.ndarray) and (cls is np.ndarray or hasattr(np.ndarray, name)):
            self.array_attribute(owner, name)
        elif issubclass(cls, ModuleType):
            self.module_attribute(owner, name)
        elif cls is super:
            self.super_attribute(owner, name)
        elif issubclass(cls, type):
            self.class_attribute(owner, name)
        elif id(owner) in self.outside:
            self.looked_into(cls)
            self.instance_attribute(frame, owner, name)
        else:
            self.attribute_inside(owner, name)

    def attribute_inside(self, owner: Any, name: str) -> None:
        """Of an object made inside: its class was there before, and may have a property."""
        cls = type(owner)
        self.looked_into(cls)
        base, raw = found_in(cls, name)
        if base is not None:
            self.class_item(cls, name, base, raw)

    # ---- modules and classes ---------------------------------------------------------------------

    def module_attribute(self, module: ModuleType, name: str) -> None:
        names = names_of_module(module)
        if origin_of_module(names) is Origin.SEALED:
            return
        words = f"attribute `{name}` of `{names.get('__name__')}`"
        if name in names:
            self.bind(item, names, name, names[name], words)
        else:
            get = partial(quietly, attrgetter(name))
            self.bind(read, module, get, get(module), words, name)

    def class_attribute(self, cls: type, name: str) -> None:
        if name == "__dict__":
            self.namespace(cls)
            return
        self.looked_into(type(cls))
        for owner in (cls, type(cls)):  # a property of the metaclass would come before the class
            base, raw = found_in(owner, name)
            self.class_item(owner, name, base, raw)

    def absent_from(self, cls: type, name: str) -> None:
        if origin_of_class(cls) is not Origin.SEALED:
            words = f"attribute `{name}` of `{name_of(cls)}`"
            self.bind(unbound, self.names_in(cls), name, ABSENT, words)

    def class_item(self, cls: type, name: str, base: type | None, raw: Any) -> None:
        """In the class that has it, if one does; and none that is asked before may get it."""
        for owner in bases_of(cls):
            if owner is base:
                break
            self.absent_from(owner, name)
        if base is not None and origin_of_class(base) is not Origin.SEALED:
            words = f"attribute `{name}` of `{name_of(base)}`"
            self.bind(item, self.names_in(base), name, raw, words)
        if isa(raw, (staticmethod, classmethod)):
            self.mark(raw.__func__)

    def namespace(self, cls: type) -> None:
        """All attributes of a class are read, as a mapping."""
        names, words = self.names_in(cls), f"an attribute of `{name_of(cls)}`"
        parts = (*parts_of(names), ABSENT)
        self.bind(contents, names, ended_parts_of, parts, words, "namespace")

    def looked_into(self, cls: type) -> None:
        """The interpreter asks a class for what no code names: special methods and properties.

        One that is run is seen to run, under the name of its code; here are the others, and that
        the class gets no further ones.
        """
        if id(cls) in self.known_classes:
            return
        self.known_classes[id(cls)] = cls
        if origin_of_class(cls) is Origin.USER and len(bases_of(cls)) > 2:  # its own, and object
            words = f"the base classes of `{name_of(cls)}`"
            self.bind(read, cls, bases_of, bases_of(cls), words, "bases")
        for base in (*bases_of(cls), *bases_of(type(cls))):
            if origin_of_class(base) is Origin.USER:
                names, words = self.names_in(base), f"the attributes of `{name_of(base)}`"
                self.bind(size, names, None, len(names), words)
                for name in filter(is_special, list(names)):
                    raw = names[name]
                    if not isa(raw, FunctionType) or raw.__code__.co_name != name:
                        self.class_item(base, name, base, raw)

    def specials(self, cls: type) -> None:
        """The special methods of a class whose objects are handed to code that is not watched."""
        self.looked_into(cls)
        if id(cls) in self.handed_classes or origin_of_class(cls) is Origin.SEALED:
            return
        self.handed_classes[id(cls)] = cls
        for base in bases_of(cls):
            if origin_of_class(base) is not Origin.SEALED:
                for name, raw in list(own_names(base).items()):
                    special = name.startswith("__") and isa(raw, FunctionType)
                    if special and found_in(cls, name)[1] is raw:
                        self.class_item(cls, name, base, raw)

    def super_attribute(self, owner: Any, name: str) -> None:
        held = owner.__self__
        order = list(bases_of(held if isa(held, type) else type(held)))
        for base in order[order.index(owner.__thisclass__) + 1 :]:
            if name in own_names(base):
                self.class_item(base, name, base, own_names(base)[name])
                return
            self.absent_from(base, name)

    # ---- instances -------------------------------------------------------------------------------

    def instance_attribute(self, frame: FrameType, owner: Any, name: str) -> None:
        cls = type(owner)
        if is_written_in_python(cls, "__getattribute__"):
            self.class_attribute(cls, "__getattribute__")
            return
        base, raw = found_in(cls, name)
        if base is not None and is_computed(owner, name, raw):
            self.bind(kind, owner, None, cls, f"the class of a {name_of(cls)}")
            self.class_item(cls, name, base, raw)
        elif isa(owner, RANDOM) or named(cls)[0].startswith("chainrule."):
            return  # what is called of it stops the recording; ours do not change
        elif origin_of_class(cls) is Origin.SEALED and not is_transparent(owner):
            if not isa(quietly(attrgetter(name), owner), BUILTIN_METHODS):
                self.stop(frame, f"reads inside a {name_of(cls)}, which cannot be watched")
        else:
            value = own_value(owner, name) if base is None else quietly(attrgetter(name), owner)
            self.instance_value(frame, owner, name, value)

    def instance_value(self, frame: FrameType, owner: Any, name: str, value: Any) -> None:
        """An attribute that is found without running Python code, or nowhere."""
        cls, get = type(owner), attrgetter(name)
        words = f"attribute `{name}` of a {name_of(cls)}"
        if value is ABSENT and is_written_in_python(cls, "__getattr__"):
            self.class_attribute(cls, "__getattr__")
            self.bind(read, owner, partial(own_value, name=name), ABSENT, words, ("own", name))
        elif value is ABSENT:
            self.bind(read, owner, partial(quietly, get), ABSENT, words, name)
        elif isa(value, MethodType) and found_in(cls, name)[0] is not None:
            self.bind(method, owner, get, value.__func__, words, name)
        elif isa(value, BUILTIN_METHODS) and getattr(value, "__self__", None) is owner:
            return
        elif value is quietly(get, owner) or id(type(value)) in PLAIN | SCALARS:
            self.bind(read, owner, get, value, words, name)
        else:
            self.stop(frame, f"reads {words}, which is made anew each time")

    def own_attribute(self, owner: Any, name: str) -> None:
        """What `object.__getattribute__` gives, asked for by a `__getattribute__` in Python."""
        get = partial(raw_attribute, name=name)
        value = get(owner)
        if isa(value, MethodType):
            self.mark(value.__func__)
        elif not isa(value, BUILTIN_METHODS):
            words = f"attribute `{name}` of a {name_of(type(owner))}"
            self.bind(read, owner, get, value, words, ("raw", name))

    # ---- Variables and arrays --------------------------------------------------------------------

    def variable_attribute(self, frame: FrameType, owner: Variable, name: str) -> None:
        """What is recorded of a Variable is no read; what `backward()` has left on it is one."""
        if name == "grad" and owner.is_leaf:
            self.bind(read, owner, attrgetter(name), owner.grad, "the gradient of a Variable", name)
        elif name == "zero_grad" and owner.is_leaf:
            self.stop(frame, "forgets the gradient of a Variable")

    def array_attribute(self, array: np.ndarray, name: str) -> None:
        if name in LAYOUT and self.holds(array):
            self.layout(array)
        elif name == "flat":
            self.array(array)

    def layout(self, array: np.ndarray) -> None:
        self.bind(value_of, array, layout_of, layout_of(array), "the shape of an array")

    def array(self, array: np.ndarray) -> None:
        """The numbers of an array are about to be read by code that is not recorded."""
        raise NotImplementedError

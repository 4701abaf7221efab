"""Looking at objects without running any of the user's code: attributes, parts, kinds."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import chain
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from chainrule.record.variable import Variable
from chainrule.run.bindings import ABSENT, PLAIN, SCALARS, Absent, quietly
from chainrule.run.reads.origin import bases_of, name_of, own_names

SINGLE = (object, range, slice, type(...), type(NotImplemented), CodeType, Absent)
NOTHING_INSIDE = PLAIN | SCALARS | {id(c) for c in (*SINGLE, np.dtype, np.ufunc, Variable)}
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
MAPPINGS = (dict, MappingProxyType)
CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType, *VIEWS)
BUILTIN_METHODS = (BuiltinFunctionType, MethodWrapperType)
RANDOM = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
# Objects that may be handed to code which is not watched: what they hold is watched, or fixed.
KNOWN = (
    FunctionType, MethodType, type, ModuleType, BaseException, partial, property, staticmethod,
    classmethod, str, bytes, int, float, complex, np.generic, np.dtype, np.ufunc, type(np.sum),
    *BUILTIN_METHODS,
)  # fmt: skip
IMMUTABLE_MODULES = frozenset(
    ("re", "datetime", "fractions", "enum", "operator", "typing", "types", "functools",
     "contextvars", "pathlib", "string", "decimal", "uuid")
)  # fmt: skip
# Methods that change the object they belong to.
CHANGING = frozenset(
    ("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem",
     "add", "discard", "sort", "reverse", "appendleft", "popleft", "extendleft", "rotate", "fill",
     "put", "resize", "itemset", "partition", "setflags", "setfield", "byteswap", "frombytes",
     "difference_update", "intersection_update", "symmetric_difference_update", "move_to_end",
     "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__ior__", "__imul__",
     "fromlist", "release", "cast", "subtract", "send", "throw", "close", "__next__")
)  # fmt: skip
# Attributes of a class that no operation looks for.
DESCRIBING = frozenset(
    ("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__",
     "__slots__", "__firstlineno__", "__static_attributes__", "__orig_bases__", "__parameters__",
     "__abstractmethods__", "__dataclass_fields__", "__dataclass_params__", "__type_params__")
)  # fmt: skip
PURE_MODULES = frozenset(
    ("math", "cmath", "_operator", "itertools", "_functools", "_collections", "_struct", "_bisect",
     "_heapq", "_abc", "_sre", "_json", "_weakref", "_statistics", "_datetime", "binascii", "zlib",
     "unicodedata", "_string", "_typing", "_stat", "_csv")
)  # fmt: skip
# Of the builtins, these depend on more than their arguments.
IMPURE = frozenset(
    ("open", "input", "exec", "eval", "compile", "__import__", "breakpoint", "dir", "id")
)
DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
TRANSPARENT = frozenset(
    (("builtins", "code"), ("builtins", "property"), ("builtins", "type"), ("functools", "partial"),
     ("builtins", "builtin_function_or_method"), ("builtins", "mappingproxy"), ("builtins", "cell"))
)  # fmt: skip


def isa(value: Any, kinds: Any) -> bool:
    """Whether an object is one of these by its type: `isinstance` may run code of the user's."""
    return issubclass(type(value), kinds)


def is_pure(module: str, name: str) -> bool:
    """Whether a function written in C depends on nothing but its arguments."""
    return (module == "builtins" and name not in IMPURE) or module in PURE_MODULES


def is_special(name: Any) -> bool:
    """Whether the interpreter may look for this attribute of a class on its own."""
    return isa(name, str) and name[:2] == name[-2:] == "__" and name not in DESCRIBING


def named(cls: type) -> tuple[str, str]:
    return str(getattr(cls, "__module__", "")), name_of(cls)


def found_in(cls: type, name: str) -> tuple[type | None, Any]:
    """The class of the MRO that has this attribute, and what it holds."""
    for base in bases_of(cls):
        names = own_names(base)
        if name in names:
            return base, names[name]
    return None, ABSENT


def own_value(owner: Any, name: str) -> Any:
    """What an object's own `__dict__` holds under this name."""
    names = quietly(lambda o: object.__getattribute__(o, "__dict__"), owner)
    return names.get(name, ABSENT) if isa(names, dict) else quietly(attrgetter(name), owner)


def is_ours(f: FunctionType) -> bool:
    """Whether the code of a function is ours, as that of `cr.grad(f)` is."""
    return str(f.__globals__.get("__name__")).startswith("chainrule.")


def wrapped_in(value: Any) -> tuple[Any, ...]:
    """What an object only stands for: a method its object, a view its base, ours what they call."""
    if isa(value, np.ndarray):
        return (value.base,)  # a view of it made inside has this base, not the array itself
    if isa(value, MethodType):
        return value.__self__, value.__func__
    if isa(value, BUILTIN_METHODS):
        return () if isa(value.__self__, ModuleType) else (value.__self__,)
    if isa(value, partial):
        return value.func, value.args, value.keywords
    if type(value) in (tuple, frozenset):
        return tuple(value)
    if type(value) is FunctionType and is_ours(value):
        cells = (quietly(attrgetter("cell_contents"), c) for c in value.__closure__ or ())
        return (*cells, *(value.__defaults__ or ()), value.__dict__.get("__wrapped__"))
    if named(type(value))[0].startswith("chainrule.run"):
        return (getattr(value, "f", None),)
    return ()


def is_own(owner: Any, name: str) -> bool:
    names = quietly(lambda o: object.__getattribute__(o, "__dict__"), owner)
    return isa(names, dict) and name in names


def raw_attribute(owner: Any, name: str) -> Any:
    """What `object.__getattribute__` gives."""
    return quietly(lambda o: object.__getattribute__(o, name), owner)


def is_written_in_python(cls: type, name: str) -> bool:
    return type(found_in(cls, name)[1]) is FunctionType


def is_computed(owner: Any, name: str, raw: Any) -> bool:
    """Whether reading an attribute runs Python code, whose own reads are seen."""
    if isa(raw, property):
        return True
    if not is_written_in_python(type(raw), "__get__"):
        return False
    # An object's own attribute comes before what its class computes, unless that can be set.
    data = any(found_in(type(raw), n)[0] is not None for n in ("__set__", "__delete__"))
    return data or not is_own(owner, name)


def is_transparent(owner: Any) -> bool:
    """Whether attributes of this object of the interpreter's or a library's are all there is."""
    kinds = (FunctionType, MethodType, partial, BaseException)
    cls = type(owner)
    if named(cls) in TRANSPARENT or isa(owner, kinds):
        return True
    # A class written in Python hides nothing.
    return all(base is object or "__module__" in own_names(base) for base in bases_of(cls))


def is_iterator(value: Any) -> bool:
    """Whether taking from it changes it."""
    return found_in(type(value), "__next__")[0] is not None


def holds_variable(value: Any) -> bool:
    """Whether this is a Variable, or a list or tuple with one somewhere inside."""
    if isa(value, (list, tuple)):
        return any(map(holds_variable, value))
    return type(value) is Variable


def parts_of(held: Any) -> list[Any]:
    return list(chain(held.keys(), held.values()) if isa(held, MAPPINGS) else held)


def ended_parts_of(held: Any) -> Any:
    """The parts and a mark of the end, so that one that has grown or shrunk differs somewhere."""
    return chain(parts_of(held), (ABSENT,))


def objects_of(array: np.ndarray) -> tuple[Any, ...]:
    return tuple(array.flat)


def layout_of(array: np.ndarray) -> Any:
    return array.shape, array.strides, array.dtype.str, bool(array.flags.writeable)


def label_of(key: Any) -> Any:
    return (type(key), key) if id(type(key)) in PLAIN else (id(key), repr(key))


def is_present(owner: Any, key: Any) -> bool:
    return key in owner


def element_of(owner: Any, key: Any) -> Any:
    return owner[key].tobytes()


def error_state(numpy: Any) -> Any:
    return tuple(numpy.geterr().items())

"""What a method written in C reads or changes of the object it belongs to."""

from __future__ import annotations

import contextvars
import functools
import random
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from chainrule.record.state import current
from chainrule.record.variable import Variable
from chainrule.run.bindings import ABSENT, read
from chainrule.run.reads.contents import Reads
from chainrule.run.reads.lookup import CHANGING, CONTAINERS, is_iterator, isa
from chainrule.run.reads.lookup import RANDOM as NUMPY_RANDOM
from chainrule.run.reads.numpy_calls import array_method, at_or_reduce
from chainrule.run.reads.origin import Origin, named_module_of, origin_of_class

RANDOM = (*NUMPY_RANDOM, random.Random)
SHARED_RANDOM = (np.random.mtrand._rand, random._inst)
PURE_TYPES = frozenset(
    ("builtins", "itertools", "collections", "types", "functools", "operator", "re", "array",
     "datetime", "fractions", "enum", "abc", "typing", "weakref", "struct", "string", "decimal")
)  # fmt: skip
COMPARING = ("index", "count", "__contains__", "__eq__", "__ne__", "__lt__", "__gt__")
OF_OBJECT = ("__eq__", "__ne__", "__hash__", "__repr__", "__init__", "__init_subclass__")
SAFE_OBJECTS = (
    str,
    bytes,
    int,
    float,
    complex,
    range,
    slice,
    np.generic,
    np.dtype,
    type,
    BaseException,
)


def method_call(
    reads: Reads,
    frame: FrameType,
    owner: Any,
    name: str,
    args: list[Any],
    keywords: Sequence[str],
) -> None:
    """A method written in C."""
    cls = type(owner)
    if cls is Variable:
        return
    if isa(owner, RANDOM):
        draw(reads, frame, owner)
    elif isa(owner, np.ufunc):
        at_or_reduce(reads, frame, owner, name, args, keywords)
    elif isa(owner, np.ndarray):
        array_method(reads, frame, owner, name, args, keywords)
    elif isa(owner, type):
        class_method(reads, frame, owner, name, args)
    elif isa(owner, SAFE_OBJECTS) or is_ours(cls):
        safe_method(reads, frame, owner, name, args)
    elif id(owner) in reads.outside:
        outside_method(reads, frame, owner, name, args)
    else:
        own_method(reads, frame, owner, name, args)


def own_method(reads: Reads, frame: FrameType, owner: Any, name: str, args: list[Any]) -> None:
    """A method of an object that was made inside."""
    cls = type(owner)
    for arg in args:
        reads.whole(arg)
    if origin_of_class(cls) is Origin.STANDARD and cls.__module__ not in PURE_TYPES:
        hidden(reads, frame, owner, name)


def draw(reads: Reads, frame: FrameType, owner: Any) -> None:
    """Random numbers of a generator made inside, of a seed, are the same in every call."""
    if id(owner) in reads.outside or owner in SHARED_RANDOM:
        reads.stop(frame, f"draws random numbers from a {type(owner).__name__}")


def class_method(reads: Reads, frame: FrameType, owner: type, name: str, args: list[Any]) -> None:
    if name in ("now", "utcnow", "today"):
        reads.stop(frame, "asks for the time")
        return
    if name in ("__subclasses__", "mro"):
        reads.stop(frame, f"asks a class for its {name.strip('_')}")
        return
    reads.class_attribute(owner, name)
    for arg in args:
        reads.whole(arg)


def safe_method(reads: Reads, frame: FrameType, owner: Any, name: str, args: list[Any]) -> None:
    """A method of a text, a number or an object of ours."""
    formats = isa(owner, str) and name in ("format", "format_map")
    if formats and any(id(a) in reads.outside and not isa(a, CONTAINERS) for a in args):
        reads.stop(frame, "prints an object from outside")
    for arg in args:
        reads.whole(arg)


def outside_method(reads: Reads, frame: FrameType, owner: Any, name: str, args: list[Any]) -> None:
    """A method written in C, of an object from outside."""
    if name in CHANGING:
        reads.stop(frame, f"changes a {type(owner).__name__} from outside by .{name}()")
    elif isa(owner, dict) and name == "get" and args:
        if args[0] in owner:
            reads.mapping_item(frame, owner, args[0])
        else:
            reads.contains(owner, args[0])
    elif owner is current:  # in which we are recording: no part of what is computed
        return
    elif isa(owner, contextvars.ContextVar) and name == "get":
        get = functools.partial(_context_value, default=args[0] if args else ABSENT)
        reads.bind(read, owner, get, get(owner), f"the context variable {owner.name}", "get")
    elif name in ("__getattribute__", "__getattr__") and args:
        reads.own_attribute(owner, args[0])
    elif isa(owner, (dict, list)) and name == "__getitem__" and args:
        reads.item(frame, owner, args[0])
    else:
        reading_method(reads, frame, owner, name, args)


def reading_method(reads: Reads, frame: FrameType, owner: Any, name: str, args: list[Any]) -> None:
    """A method that may read everything in an object from outside."""
    if is_iterator(owner):
        reads.stop(frame, f"takes from a {type(owner).__name__} from outside")
    elif isa(owner, (*CONTAINERS, bytearray)) or type(owner).__name__ == "array":
        reads.whole(owner, frame, numbers=name in COMPARING)
        for arg in args:
            reads.whole(arg)
    elif name not in OF_OBJECT and type(owner).__module__ not in PURE_TYPES:
        hidden(reads, frame, owner, name)


def _context_value(owner: contextvars.ContextVar[Any], default: Any) -> Any:
    return owner.get(default)


def hidden(reads: Reads, frame: FrameType, owner: Any, name: str) -> None:
    cls = type(owner)
    what = f"{cls.__module__}.{cls.__name__}"
    reads.stop(frame, f"calls .{name}() of a {what}, whose inside cannot be watched")


def is_ours(cls: type) -> bool:
    return str(named_module_of(cls)).partition(".")[0] == "chainrule" and (
        origin_of_class(cls) is Origin.SEALED
    )

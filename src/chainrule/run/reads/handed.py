"""Callables that are handed to code which is not watched, as `w.__getitem__` is to `sorted`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from functools import partial
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from chainrule.run.reads.lookup import (
    BUILTIN_METHODS,
    CHANGING,
    DESCRIPTORS,
    RANDOM,
    is_pure,
    isa,
    wrapped_in,
)
from chainrule.run.reads.origin import Origin, name_of, origin_of_module

if TYPE_CHECKING:
    from chainrule.run.reads.contents import Reads

# What these read when they are called cannot be told when they are handed on.
ASKING = (operator.attrgetter, operator.methodcaller, functools._lru_cache_wrapper)
CALLABLES = (*BUILTIN_METHODS, *DESCRIPTORS, *ASKING, MethodType, partial)


def is_opaque(value: Any) -> bool:
    """Whether calling this runs code that is not watched."""
    if type(value) is FunctionType:
        return origin_of_module(value.__globals__) is Origin.SEALED
    return callable(value)


def handed_on(reads: Reads, frame: FrameType | None, f: Any) -> tuple[Any, ...]:
    """f is handed to code that perhaps calls it; what else is handed on with it."""
    for kinds, look in LOOKS:
        if isa(f, kinds):
            return look(reads, frame, f) or ()
    return ()


def _partial(reads: Reads, frame: FrameType | None, f: Any) -> tuple[Any, ...]:
    if id(f) in reads.outside:
        reads.partial(f)
    return wrapped_in(f)


def _method(reads: Reads, frame: FrameType | None, f: Any) -> None:
    """A method of Python's is watched as it runs; NumPy's generators are written in Cython."""
    if isa(f.__self__, RANDOM) and type(f.__func__) is not FunctionType:
        reads.stop(frame, f"hands on .{f.__name__}() of a {name_of(type(f.__self__))}")


def _descriptor(reads: Reads, frame: FrameType | None, f: Any) -> None:
    if f.__name__ in CHANGING:
        reads.stop(frame, f"hands on {name_of(f.__objclass__)}.{f.__name__}, which changes objects")


def _called(f: Any) -> str:
    name = name_of(type(f))
    return f"{f.__name__}() and its cache" if hasattr(f, "cache_info") else f"operator.{name}"


def _asking(reads: Reads, frame: FrameType | None, f: Any) -> None:
    reads.stop(frame, f"hands on {_called(f)}, whose reads cannot be watched")


def _builtin(reads: Reads, frame: FrameType | None, f: Any) -> tuple[Any, ...]:
    owner, name = getattr(f, "__self__", None), getattr(f, "__name__", "")
    if owner is None or isa(owner, ModuleType):
        module = f.__module__ or getattr(owner, "__name__", "")
        arrays = module.partition(".")[0] == "numpy" and not module.startswith("numpy.random")
        if name in READING or not (arrays or is_pure(module, name)):
            reads.stop(frame, f"hands on {module}.{name}, which depends on more than its arguments")
        return ()
    if not reads.is_outside(owner):
        return ()
    if name in CHANGING:
        reads.stop(frame, f"changes a {name_of(type(owner))} from outside")
    return (owner,)


READING = frozenset(
    ("getattr", "hasattr", "setattr", "delattr", "print", "next", "vars", "globals", "locals",
     "fromfile")
)  # fmt: skip
LOOKS: tuple[tuple[Any, Callable[..., tuple[Any, ...] | None]], ...] = (
    (partial, _partial), (MethodType, _method), (DESCRIPTORS, _descriptor), (ASKING, _asking),
    (BUILTIN_METHODS, _builtin),
)  # fmt: skip

"""Builtins that ask in a way of their own: for attributes, types, iterators and namespaces."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from chainrule.record.state import current
from chainrule.record.variable import Variable
from chainrule.run.bindings import read
from chainrule.run.reads.contents import Reads
from chainrule.run.reads.lookup import isa

# What an argument may be that is a Variable while it is recorded.
PASSED = (Variable, np.ndarray, np.generic, float, complex, int)


def _getattr(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if type(args[0]) is Variable:
        asked_of_type(reads, frame, hasattr, args[:2])
    reads.attribute(frame, args[0], args[1])


def _setattr(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if id(args[0]) in reads.outside:
        reads.stop(frame, f"assigns to `{args[1]}` of a {type(args[0]).__name__} from outside")


def _print(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    reads.stop(frame, "prints")


def _next(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if id(args[0]) in reads.outside:
        reads.stop(frame, "takes from an iterator from outside")


def _vars(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if args and isa(args[0], type):
        reads.namespace(args[0])
    elif args and id(args[0]) in reads.outside:
        reads.attribute(frame, args[0], "__dict__")
        reads.mark(getattr(args[0], "__dict__", None))


def _globals(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    reads.mark(frame.f_globals)


def _len(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if not isa(args[0], np.ndarray):
        reads.taken(args[0], frame)
    elif reads.holds(args[0]):
        reads.layout(args[0])


def _iter(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    reads.taken(args[0], frame)


def asked_of_type(reads: Reads, frame: FrameType, f: Any, args: list[Any]) -> None:
    """What the code is told of a Variable's type must be what it is told of the number itself.

    Code of ours asks only to treat both alike.
    """
    if str(frame.f_globals.get("__name__")).startswith("chainrule."):
        return
    for n, arg in enumerate(args):
        if type(arg) is not Variable or is_differentiated(arg):
            continue
        value = arg._value
        likely = [value]
        if arg.node.is_leaf and not arg.shape:
            likely += [np.asarray(value)]
            likely += [value.item()] if arg.dtype in (np.float64, np.complex128) else []
        answers = [f(*args[:n], v, *args[n + 1 :]) for v in (arg, *likely)]
        if any(a is not answers[0] and a != answers[0] for a in answers):
            reads.stop(frame, f"asks for the type of a number by {f.__name__}()")


def is_differentiated(variable: Variable) -> bool:
    """Whether it would be a Variable also if the function were not being compiled."""
    node, tracing = variable.node, current.get().tracing
    return tracing is None or node.first is not None or node in tracing.wanted


def _isinstance(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    asked_of_type(reads, frame, isinstance, args)
    reads.asked_class(args[0])
    for cls in args[1] if isa(args[1], tuple) else (args[1],):
        if type(cls) is not type and isa(cls, type) and type(args[0]) is not Variable:
            again = functools.partial(_is_instance, value=args[0])
            words = f"whether an object is a {cls.__name__}"
            reads.bind(read, cls, again, again(cls), words, ("isinstance", id(args[0])))


def _is_instance(cls: type, value: Any) -> bool:
    return isinstance(value, cls)


def asked_which(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    """`x > 0 is True` asks which object it is, not what is true; so does `x is DEFAULT`."""
    for one, other in (args, args[::-1]):
        truth = type(one) is Variable and type(other) in (bool, np.bool_)
        if truth or (type(one) is Variable and one.node.is_leaf and isa(other, PASSED)):
            reads.stop(frame, "asks whether a number is one and the same object as another")


def _build_class(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    """The body of a class is watched."""


SPECIAL: dict[Any, Callable[[Reads, FrameType, list[Any]], None]] = {
    getattr: _getattr, hasattr: _getattr, setattr: _setattr, delattr: _setattr, print: _print,
    next: _next,
    len: _len, vars: _vars, globals: _globals, isinstance: _isinstance, iter: _iter,
    builtins.__build_class__: _build_class, operator.is_: asked_which, operator.is_not: asked_which,
}  # fmt: skip

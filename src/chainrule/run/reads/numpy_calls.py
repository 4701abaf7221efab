"""What NumPy's functions and methods read or change of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from chainrule.record.variable import Variable
from chainrule.run.bindings import quietly
from chainrule.run.reads.contents import Reads
from chainrule.run.reads.lookup import CHANGING, NOTHING_INSIDE, holds_variable, isa

VIEWING = frozenset(
    ("reshape", "transpose", "view", "swapaxes", "squeeze", "ravel", "diagonal", "__len__",
     "__getitem__", "__array__")
)  # fmt: skip
WRITES_FIRST = frozenset(
    getattr(np, name)
    for name in ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis")
)  # fmt: skip
SETTINGS = frozenset(
    getattr(np, name)
    for name in ("geterr", "geterrcall", "get_printoptions", "getbufsize", "load", "loadtxt",
                 "genfromtxt", "fromfile", "array2string", "array_str", "array_repr", "seterr",
                 "set_printoptions", "setbufsize", "seterrcall", "save", "savez", "savetxt",
                 "memmap", "fromregex")
)  # fmt: skip


def numpy_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    """Arrays beside a Variable are inputs, or settings; without one NumPy reads their numbers."""
    recorded = any(type(a) is Variable for a in args)
    for arg in args:
        if id(type(arg)) in NOTHING_INSIDE:
            continue
        if not isa(arg, np.ndarray):
            recorded = recorded or holds_variable(arg)
            reads.whole(arg)
    for arg in args:
        if isa(arg, np.ndarray):
            if recorded and arg.dtype != object:
                reads.beside[id(arg)] = arg
            else:
                reads.array(arg)
    for array in written_to(f, args, keywords):
        if isa(array, np.ndarray) and reads.holds(array):
            reads.stop(frame, "writes into an array from outside")


def written_to(f: Any, args: list[Any], keywords: Sequence[str]) -> list[Any]:
    named = dict(zip(keywords, args[len(args) - len(keywords) :], strict=True))
    out: Any = named.get("out")
    written = list(out) if isa(out, tuple) else [out]
    if type(f) is np.ufunc:
        written += args[f.nin : len(args) - len(keywords)]
    elif isa(f, FunctionType | type(np.copyto)) and f in WRITES_FIRST:
        written += args[:1]
    return written


def array_method(
    reads: Reads, frame: FrameType, owner: Any, name: str, args: list[Any], keywords: Sequence[str]
) -> None:
    if name in CHANGING and reads.holds(owner):
        reads.stop(frame, f"changes an array from outside by .{name}()")
        return
    if name == "__getitem__" and args:
        reads.item(frame, owner, args[0])
    elif name not in VIEWING or not _gives_view(owner, name, args, keywords):
        numpy_call(reads, frame, None, [owner, *args], keywords)
    else:
        reads.layout(owner)


def _gives_view(owner: Any, name: str, args: list[Any], keywords: Sequence[str]) -> bool:
    """Whether such a method only looks at the same memory in another way."""
    if keywords or any(type(a) is Variable for a in args):
        return False
    result = quietly(lambda a: getattr(a, name)(*args), owner)
    return not isa(result, np.ndarray) or np.may_share_memory(result, owner)


def at_or_reduce(
    reads: Reads, frame: FrameType, ufunc: Any, name: str, args: list[Any], keywords: Sequence[str]
) -> None:
    numpy_call(reads, frame, None, args, keywords)
    if name == "at" and args and isa(args[0], np.ndarray) and reads.holds(args[0]):
        reads.stop(frame, f"changes an array from outside by np.{ufunc.__name__}.at")

"""What a call reads or changes, where the code called is not Python's and so cannot be watched.

Functions of Python's are watched as they run.  Of the others those listed here are known to read
nothing but their arguments; any other stops the recording.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from chainrule.core.op import Op
from chainrule.record.variable import Variable
from chainrule.run.bindings import read
from chainrule.run.reads.asking import SPECIAL, asked_of_type
from chainrule.run.reads.contents import Reads
from chainrule.run.reads.handed import is_opaque
from chainrule.run.reads.lookup import (
    DESCRIPTORS,
    found_in,
    is_iterator,
    is_pure,
    isa,
    label_of,
)
from chainrule.run.reads.methods import (
    PURE_TYPES,
    RANDOM,
    SHARED_RANDOM,
    draw,
    hidden,
    is_ours,
    method_call,
)
from chainrule.run.reads.numpy_calls import SETTINGS, numpy_call
from chainrule.run.reads.origin import Origin, named_module_of, origin_of_class, origin_of_module

DISPATCHER = type(np.sum)  # most of NumPy's functions
BUILTIN = (BuiltinFunctionType, MethodWrapperType)
# These go through the items of their arguments, and read none of the numbers in them.
GOES_THROUGH = frozenset(
    (list, tuple, dict, set, frozenset, zip, enumerate, reversed, map, filter, callable)
)
# Functions that change their first argument.
CHANGES_FIRST = frozenset(
    ("_count_elements", "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort",
     "insort_left", "insort_right", "setitem", "delitem", "iadd", "isub", "imul", "itruediv",
     "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "iconcat", "imatmul", "pack_into")
)  # fmt: skip


def called(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str] = ()
) -> None:
    """f(*args) is about to run; the last arguments have these keywords."""
    cls = type(f)
    if cls is DISPATCHER and f in SETTINGS:
        reads.stop(frame, f"calls np.{f.__name__}, which depends on more than its arguments")
    elif f is np.random.default_rng:
        class_call(reads, frame, np.random.Generator, args)
    elif cls is np.ufunc or cls is Op or cls is DISPATCHER:
        numpy_call(reads, frame, f, args, keywords)
    elif cls is FunctionType:
        function_call(reads, frame, f, args, keywords)
    elif cls is MethodType:
        bound_call(reads, frame, f, args, keywords)
    elif cls in DESCRIPTORS and args:
        method_call(reads, frame, args[0], f.__name__, args[1:], keywords)
    elif cls in BUILTIN:
        builtin_call(reads, frame, f, args, keywords)
    elif issubclass(cls, type):
        class_call(reads, frame, f, args)
    else:
        object_call(reads, frame, f, args, keywords)


def function_call(
    reads: Reads, frame: FrameType, f: FunctionType, args: list[Any], keywords: Sequence[str]
) -> None:
    """A function of Python's: the user's is watched as it runs, NumPy's is not."""
    if origin_of_module(f.__globals__) is not Origin.SEALED:
        if id(f) in reads.outside:
            reads.function(f)
        return
    if f is np.isscalar:
        asked_of_type(reads, frame, f, args)
    if f in SETTINGS:
        reads.stop(frame, f"calls np.{f.__name__}, which depends on more than its arguments")
    elif str(f.__module__).startswith("numpy"):
        numpy_call(reads, frame, f, args, keywords)
    else:  # of ours, or SciPy's
        for arg in args:
            reads.whole(arg)


def bound_call(
    reads: Reads, frame: FrameType, f: MethodType, args: list[Any], keywords: Sequence[str]
) -> None:
    inner = f.__func__
    if id(f) in reads.outside:
        reads.mark(f.__self__)
        reads.mark(inner)
    if type(inner) is not FunctionType:
        called(reads, frame, inner, [f.__self__, *args], keywords)
    elif origin_of_module(inner.__globals__) is not Origin.SEALED:
        if id(inner) in reads.outside:
            reads.function(inner)
    else:
        owner: Any = f.__self__ if isa(f.__self__, type) else type(f.__self__)
        sealed = origin_of_class(owner) is Origin.SEALED and not is_ours(owner)
        if id(f.__self__) in reads.outside and sealed:
            hidden(reads, frame, f.__self__, inner.__name__)
        for arg in args:
            reads.whole(arg)


def builtin_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    """A function or a bound method written in C."""
    owner: Any = getattr(f, "__self__", None)
    name = getattr(f, "__name__", "")
    if owner is not None and not isa(owner, ModuleType):
        method_call(reads, frame, owner, name, args, keywords)
        return
    module = f.__module__ or (owner.__name__ if isa(owner, ModuleType) else "")
    special = SPECIAL.get(f) if f.__hash__ is not None else None
    if special is not None:
        special(reads, frame, args)
    elif module.partition(".")[0] == "numpy":
        if f in SETTINGS or module.startswith("numpy.random"):
            reads.stop(frame, f"calls {module}.{name}, which depends on more than its arguments")
        else:
            numpy_call(reads, frame, f, args, keywords)
    elif name in CHANGES_FIRST and args and reads.is_outside(args[0]):
        reads.stop(frame, f"changes a {type(args[0]).__name__} from outside by {name}()")
    elif is_pure(module, name):
        for arg in args:
            reads.whole(arg, frame)
    else:
        reads.stop(frame, f"calls {module}.{name}, which depends on more than its arguments")


def class_call(reads: Reads, frame: FrameType, f: type, args: list[Any]) -> None:
    """An object is made: of the user's classes by code that is watched."""
    if f is type:
        if len(args) == 1:
            asked_of_type(reads, frame, f, args)
            reads.asked_class(args[0])
        return
    if issubclass(f, RANDOM):
        if not args:
            reads.stop(frame, f"makes a {f.__name__} without a seed")
        return
    what = _unrepeatable(f, args)
    if what:
        reads.stop(frame, what)
    reads.looked_into(f)
    origin, module = origin_of_class(f), str(named_module_of(f))
    top = module.partition(".")[0]
    if origin is Origin.USER or (origin is Origin.STANDARD and is_made_by_python(f)):
        return
    if origin is Origin.STANDARD and top not in PURE_TYPES and module != "_thread":
        reads.stop(
            frame, f"makes a {module}.{f.__name__}, which depends on more than its arguments"
        )
    through = f in GOES_THROUGH or module == "itertools"
    reading = any(arg is None or is_opaque(arg) for arg in args)  # None: `filter` asks for truths
    take = reads.taken if through and not reading else reads.whole
    for arg in args:
        if id(arg) in reads.outside and is_iterator(arg):
            reads.stop(frame, "takes from an iterator from outside")
        take(arg, frame)


def _unrepeatable(f: type, args: list[Any]) -> str:
    """Why an object may be another each time that it is made of these arguments."""
    if f is str and args and isa(args[0], np.ndarray):
        return "prints an array, which depends on np.printoptions"
    if type(found_in(f, "__del__")[1]) is FunctionType:
        return f"makes a {f.__name__}, which does something when it dies"
    if f is np.datetime64 and any(a in ("now", "today") for a in args if type(a) is str):
        return "asks for the time"
    return ""


def is_made_by_python(cls: type) -> bool:
    return any(type(found_in(cls, name)[1]) is FunctionType for name in ("__init__", "__new__"))


def object_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    """Something else that can be called."""
    cls = type(f)
    if cls.__name__ == "cython_function_or_method":  # NumPy's random numbers
        owners = [o for o in (getattr(f, "__self__", None), *args[:1]) if isa(o, RANDOM)]
        draw(reads, frame, owners[0] if owners else SHARED_RANDOM[0])
    elif isa(f, functools.partial):
        reads.partial(f)
        called(reads, frame, f.func, [*f.args, *args], keywords)
    elif isa(f, operator.itemgetter | operator.attrgetter | operator.methodcaller):
        getter_call(reads, frame, f, args)
    elif isa(f, functools._lru_cache_wrapper):
        cached_call(reads, frame, f, args, keywords)
    elif isa(f, weakref.ref):
        reads.stop(frame, "follows a weak reference, which may die")
    elif is_called_by_python(cls):
        reads.specials(cls)  # its code is watched
    elif is_ours(cls):
        numpy_call(reads, frame, f, args, keywords)
    elif id(f) in reads.outside or origin_of_class(cls) is not Origin.SEALED:
        hidden(reads, frame, f, "__call__")
    else:
        numpy_call(reads, frame, f, args, keywords)


def is_called_by_python(cls: type) -> bool:
    python = type(found_in(cls, "__call__")[1]) is FunctionType
    return python and origin_of_class(cls) is not Origin.SEALED


def cached_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    if keywords or any(type(a) is Variable for a in args):
        reads.stop(frame, "asks a cache by a value that is computed")
    else:
        reask(reads, f, args)


def reask(reads: Reads, f: Any, args: list[Any]) -> None:
    """The answer to this call is expected to be the same: it is asked again."""
    again = functools.partial(_call, args=tuple(args))
    words = f"the result of {getattr(f, '__name__', 'a reference')}()"
    label = ("call", *map(label_of, args))
    if (read, id(f), label) not in reads.bindings:
        reads.bind(read, f, again, again(f), words, label)


def _call(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return f(*args)


def getter_call(reads: Reads, frame: FrameType, f: Any, args: list[Any]) -> None:
    names = f.__reduce__()[1]
    for owner in args[:1]:
        if isa(f, operator.attrgetter):
            for name in names:
                dotted_attribute(reads, frame, owner, name)
        elif isa(f, operator.itemgetter):
            for key in names:
                reads.item(frame, owner, key)
        else:
            method = getattr(owner, names[0], None)
            reads.attribute(frame, owner, names[0])
            called(reads, frame, method, list(names[1:]))


def dotted_attribute(reads: Reads, frame: FrameType, owner: Any, dotted: str) -> None:
    for name in dotted.split("."):
        reads.attribute(frame, owner, name)
        owner = getattr(owner, name, None)

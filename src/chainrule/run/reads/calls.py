"""What a call reads or changes, where the code called is not Python's and so cannot be watched.

Functions of Python's are watched as they run.  Of the others those listed here are known to read
nothing but their arguments; any other stops the recording.
"""

from __future__ import annotations

import builtins
import contextvars
import functools
import operator
import random
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from chainrule.core.op import Op
from chainrule.record.state import current
from chainrule.record.variable import Variable
from chainrule.run.bindings import ABSENT, quietly, read
from chainrule.run.reads.log import CHANGING, CONTAINERS, NOTHING_INSIDE, Reads, found_in, label_of
from chainrule.run.reads.origin import Origin, named_module_of, origin_of_class, origin_of_module

DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
DISPATCHER = type(np.sum)  # most of NumPy's functions
BUILTIN = (BuiltinFunctionType, MethodWrapperType)
RANDOM = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
SHARED_RANDOM = (np.random.mtrand._rand, random._inst)  # type: ignore[attr-defined]
PURE_MODULES = frozenset(
    ("math", "cmath", "_operator", "itertools", "_functools", "_collections", "_struct", "_bisect",
     "_heapq", "_abc", "_sre", "_json", "_weakref", "_statistics", "_datetime", "binascii", "zlib",
     "unicodedata", "_string", "_typing", "_stat", "_csv")
)  # fmt: skip
PURE_TYPES = frozenset(
    ("builtins", "itertools", "collections", "types", "functools", "operator", "re", "array",
     "datetime", "fractions", "enum", "abc", "typing", "weakref", "struct", "string", "decimal",
     "_thread")
)  # fmt: skip
# Of the builtins, these depend on more than their arguments.
IMPURE = frozenset(
    ("open", "input", "exec", "eval", "compile", "__import__", "breakpoint", "dir", "id")
)
# Functions that change their first argument.
CHANGES_FIRST = frozenset(
    ("_count_elements", "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort",
     "insort_left", "insort_right", "setitem", "delitem", "iadd", "isub", "imul", "itruediv",
     "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "iconcat", "imatmul", "pack_into")
)  # fmt: skip
VIEWING = frozenset(
    ("reshape", "transpose", "view", "swapaxes", "squeeze", "ravel", "diagonal", "__len__",
     "__getitem__", "__array__")
)  # fmt: skip
WRITES_FIRST = frozenset(
    getattr(np, name) for name in ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis")
)  # fmt: skip
SETTINGS = frozenset(
    getattr(np, name)
    for name in ("geterr", "geterrcall", "get_printoptions", "getbufsize", "load", "loadtxt",
                 "genfromtxt", "fromfile", "array2string", "array_str", "array_repr", "seterr",
                 "set_printoptions", "setbufsize", "seterrcall", "save", "savez", "savetxt",
                 "memmap", "fromregex")
)  # fmt: skip
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


def is_iterator(value: Any) -> bool:
    """Whether taking from it changes it."""
    return hasattr(type(value), "__next__")


def called(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str] = ()
) -> None:
    """f(*args) is about to run; the last arguments have these keywords."""
    cls = type(f)
    if f is np.random.default_rng:
        class_call(reads, frame, np.random.Generator, args)
    elif cls is np.ufunc or cls is Op or (cls is DISPATCHER and f not in SETTINGS):
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
        if id(f.__self__) in reads.outside and not is_ours(type(f.__self__)):
            hidden(reads, frame, f.__self__, inner.__name__)
        for arg in args:
            reads.whole(arg)


def numpy_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    """Arrays beside a Variable are inputs, or settings; without one NumPy reads their numbers."""
    recorded = any(type(a) is Variable for a in args)
    for arg in args:
        if id(type(arg)) in NOTHING_INSIDE:
            continue
        if not isinstance(arg, np.ndarray):
            recorded = recorded or holds_variable(arg)
            reads.whole(arg)
    for arg in args:
        if isinstance(arg, np.ndarray):
            if recorded and arg.dtype != object:
                reads.beside[id(arg)] = arg
            else:
                reads.array(arg)
    for array in written_to(f, args, keywords):
        if isinstance(array, np.ndarray) and reads.holds(array):
            reads.stop(frame, "writes into an array from outside")


def holds_variable(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(type(v) is Variable or holds_variable(v) for v in value)
    return False


def written_to(f: Any, args: list[Any], keywords: Sequence[str]) -> list[Any]:
    named = dict(zip(keywords, args[len(args) - len(keywords) :], strict=True))
    out = named.get("out")
    written = list(out) if isinstance(out, tuple) else [out]
    if type(f) is np.ufunc:
        written += args[f.nin : len(args) - len(keywords)]
    elif isinstance(f, FunctionType | type(np.copyto)) and f in WRITES_FIRST:
        written += args[:1]
    return written


def builtin_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    """A function or a bound method written in C."""
    owner, name = getattr(f, "__self__", None), getattr(f, "__name__", "")
    if owner is not None and not isinstance(owner, ModuleType):
        method_call(reads, frame, owner, name, args, keywords)
        return
    module = f.__module__ or (owner.__name__ if isinstance(owner, ModuleType) else "")
    special = SPECIAL.get(f) if f.__hash__ is not None else None
    if special is not None:
        special(reads, frame, args)
    elif module.partition(".")[0] == "numpy":
        if f in SETTINGS or module.startswith("numpy.random"):
            reads.stop(frame, f"calls {module}.{name}, which depends on more than its arguments")
        else:
            numpy_call(reads, frame, f, args, keywords)
    elif name in CHANGES_FIRST and args and _is_outside(reads, args[0]):
        reads.stop(frame, f"changes a {type(args[0]).__name__} from outside by {name}()")
    elif (module == "builtins" and name not in IMPURE) or module in PURE_MODULES:
        for arg in args:
            reads.whole(arg)
    else:
        reads.stop(frame, f"calls {module}.{name}, which depends on more than its arguments")


def _is_outside(reads: Reads, value: Any) -> bool:
    return reads.holds(value) if isinstance(value, np.ndarray) else id(value) in reads.outside


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
    if isinstance(owner, RANDOM):
        if id(owner) in reads.outside or owner in SHARED_RANDOM:
            reads.stop(frame, f"draws random numbers from a {cls.__name__}")
    elif isinstance(owner, np.ufunc):
        at_or_reduce(reads, frame, owner, name, args, keywords)
    elif isinstance(owner, np.ndarray):
        array_method(reads, frame, owner, name, args, keywords)
    elif isinstance(owner, SAFE_OBJECTS) or is_ours(cls):
        if issubclass(cls, type) and name in ("__subclasses__", "mro"):
            reads.stop(frame, f"asks a class for its {name.strip('_')}")
        elif issubclass(cls, type):
            reads.class_attribute(owner, name)
        elif isinstance(owner, str) and name in ("format", "format_map"):
            if any(id(a) in reads.outside and not isinstance(a, CONTAINERS) for a in args):
                reads.stop(frame, "prints an object from outside")
        for arg in args:
            reads.whole(arg)
    elif id(owner) not in reads.outside:
        for arg in args:
            reads.whole(arg)
        if origin_of_class(cls) is Origin.STANDARD and cls.__module__ not in PURE_TYPES:
            hidden(reads, frame, owner, name)
    else:
        outside_method(reads, frame, owner, name, args)


def outside_method(reads: Reads, frame: FrameType, owner: Any, name: str, args: list[Any]) -> None:
    """A method written in C, of an object from outside."""
    if name in CHANGING:
        reads.stop(frame, f"changes a {type(owner).__name__} from outside by .{name}()")
    elif isinstance(owner, dict) and name == "get" and args:
        if args[0] in owner:
            reads.mapping_item(frame, owner, args[0])
        else:
            reads.contains(owner, args[0])
    elif isinstance(owner, (dict, list)) and name == "__getitem__" and args:
        reads.item(frame, owner, args[0])
    elif isinstance(owner, contextvars.ContextVar) and name == "get":
        get = functools.partial(_context_value, default=args[0] if args else ABSENT)
        reads.bind(read, owner, get, get(owner), f"the context variable {owner.name}", "get")
    elif name in ("__getattribute__", "__getattr__") and args:
        reads.own_attribute(owner, args[0])
    elif is_iterator(owner):
        reads.stop(frame, f"takes from a {type(owner).__name__} from outside")
    elif isinstance(owner, (*CONTAINERS, bytearray)) or type(owner).__name__ == "array":
        for value in (owner, *args):
            reads.whole(value)
    elif name in ("__eq__", "__ne__", "__hash__", "__repr__", "__init__", "__init_subclass__"):
        return
    elif type(owner).__module__ not in PURE_TYPES or isinstance(owner, deque):
        hidden(reads, frame, owner, name)


def _context_value(owner: contextvars.ContextVar[Any], default: Any) -> Any:
    return owner.get(default)


def hidden(reads: Reads, frame: FrameType, owner: Any, name: str) -> None:
    cls = type(owner)
    what = f"{cls.__module__}.{cls.__name__}"
    reads.stop(frame, f"calls .{name}() of a {what}, whose inside cannot be watched")


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
        reads.form(owner)


def _gives_view(owner: Any, name: str, args: list[Any], keywords: Sequence[str]) -> bool:
    """Whether such a method only looks at the same memory in another way."""
    if keywords or any(type(a) is Variable for a in args):
        return False
    result = quietly(lambda a: getattr(a, name)(*args), owner)
    return not isinstance(result, np.ndarray) or np.may_share_memory(result, owner)


def at_or_reduce(
    reads: Reads, frame: FrameType, ufunc: Any, name: str, args: list[Any], keywords: Sequence[str]
) -> None:
    numpy_call(reads, frame, None, args, keywords)
    if name == "at" and args and isinstance(args[0], np.ndarray) and reads.holds(args[0]):
        reads.stop(frame, f"changes an array from outside by np.{ufunc.__name__}.at")


def class_call(reads: Reads, frame: FrameType, f: type, args: list[Any]) -> None:
    """An object is made: of the user's classes by code that is watched."""
    if f is type:
        if len(args) == 1:
            asked_of_type(reads, frame, f, args)
            ask_class(reads, args[0])
        return
    if issubclass(f, RANDOM):
        if not args:
            reads.stop(frame, f"makes a {f.__name__} without a seed")
        return
    if f is str and args and isinstance(args[0], np.ndarray):
        reads.stop(frame, "prints an array, which depends on np.printoptions")
    origin, module = origin_of_class(f), str(named_module_of(f))
    top = module.partition(".")[0]
    if origin is Origin.USER or (origin is Origin.STANDARD and is_made_by_python(f)):
        return
    if origin is Origin.STANDARD and top not in PURE_TYPES:
        reads.stop(
            frame, f"makes a {module}.{f.__name__}, which depends on more than its arguments"
        )
    for arg in args:
        if id(arg) in reads.outside and is_iterator(arg):
            reads.stop(frame, "takes from an iterator from outside")
        reads.whole(arg)


def is_made_by_python(cls: type) -> bool:
    return any(type(found_in(cls, name)[1]) is FunctionType for name in ("__init__", "__new__"))


def object_call(
    reads: Reads, frame: FrameType, f: Any, args: list[Any], keywords: Sequence[str]
) -> None:
    """Something else that can be called."""
    cls = type(f)
    if cls.__name__ == "cython_function_or_method":  # NumPy's random numbers
        owner = getattr(f, "__self__", None)
        method_call(reads, frame, owner, getattr(f, "__name__", ""), args, keywords)
    elif isinstance(f, functools.partial):
        reads.partial(f)
        called(reads, frame, f.func, [*f.args, *args], keywords)
    elif isinstance(f, operator.itemgetter | operator.attrgetter | operator.methodcaller):
        getter_call(reads, frame, f, args)
    elif isinstance(f, functools._lru_cache_wrapper):
        if any(type(a) is Variable for a in args) or keywords:
            reads.stop(frame, "asks a cache by a value that is computed")
        else:
            reask(reads, f, args)
    elif isinstance(f, weakref.ref):
        reads.stop(frame, "follows a weak reference, which may die")
    elif (
        type(found_in(cls, "__call__")[1]) is FunctionType
        and origin_of_class(cls) is not Origin.SEALED
    ):
        reads.specials(cls)  # its code is watched
    elif is_ours(cls) or cls.__module__.partition(".")[0] == "numpy":
        if isinstance(getattr(f, "__self__", None), RANDOM):
            method_call(reads, frame, f.__self__, f.__name__, args, keywords)
        elif id(f) in reads.outside and not is_ours(cls):
            hidden(reads, frame, f, "__call__")
        else:
            numpy_call(reads, frame, f, args, keywords)
    elif id(f) in reads.outside or origin_of_class(cls) is not Origin.SEALED:
        hidden(reads, frame, f, "__call__")


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
        if isinstance(f, operator.attrgetter):
            for name in names:
                dotted_attribute(reads, frame, owner, name)
        elif isinstance(f, operator.itemgetter):
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


# ---- builtins that ask in a way of their own -----------------------------------------------------


def _getattr(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if type(args[0]) is Variable:
        asked_of_type(reads, frame, hasattr, args[:2])
        return
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
    if args and isinstance(args[0], type):
        reads.namespace(args[0])
    elif args and id(args[0]) in reads.outside:
        reads.attribute(frame, args[0], "__dict__")
        reads.mark(getattr(args[0], "__dict__", None))


def _globals(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    reads.mark(frame.f_globals)


def _iter(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    if isinstance(args[0], np.ndarray) and args[0].ndim > 1:
        return
    reads.whole(args[0])


def asked_of_type(reads: Reads, frame: FrameType, f: Any, args: list[Any]) -> None:
    """What the code is told of a Variable's type must be what it is told of the number itself."""
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
    node = variable.node
    return node.first is not None or node in current.get().tracing.wanted


def _isinstance(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    asked_of_type(reads, frame, isinstance, args)
    ask_class(reads, args[0])
    for cls in args[1] if isinstance(args[1], tuple) else (args[1],):
        if type(cls) is not type and isinstance(cls, type) and type(args[0]) is not Variable:
            again = functools.partial(_is_instance, value=args[0])
            words = f"whether an object is a {cls.__name__}"
            reads.bind(read, cls, again, again(cls), words, ("isinstance", id(args[0])))


def _is_instance(cls: type, value: Any) -> bool:
    return isinstance(value, cls)


def ask_class(reads: Reads, value: Any) -> None:
    if id(value) in reads.outside:
        reads.bind(read, value, type, type(value), "the class of an object", "type")


def _build_class(reads: Reads, frame: FrameType, args: list[Any]) -> None:
    """The body of a class is watched."""


SPECIAL: dict[Any, Callable[[Reads, FrameType, list[Any]], None]] = {
    getattr: _getattr, hasattr: _getattr, setattr: _setattr, delattr: _setattr, print: _print,
    next: _next, vars: _vars, globals: _globals, isinstance: _isinstance, iter: _iter,
    builtins.__build_class__: _build_class,
}  # fmt: skip


def is_ours(cls: type) -> bool:
    return str(named_module_of(cls)).partition(".")[0] == "chainrule" and (
        origin_of_class(cls) is Origin.SEALED
    )

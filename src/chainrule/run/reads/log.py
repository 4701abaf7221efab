"""The log of one recording: what the user's code read outside of its arguments, as bindings."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from operator import attrgetter, itemgetter
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from chainrule.core.node import Line
from chainrule.record.variable import Variable
from chainrule.record.watch import fingerprint
from chainrule.run.bindings import (
    ABSENT,
    PLAIN,
    SCALARS,
    Absent,
    Binding,
    cell,
    contents,
    element,
    elements,
    item,
    kind,
    method,
    quietly,
    read,
    size,
    unbound,
    value_of,
)
from chainrule.run.reads.origin import (
    Origin,
    bases_of,
    is_users,
    name_of,
    names_of_module,
    origin_of_class,
    origin_of_module,
    own_names,
    watched,
)
from chainrule.run.reads.unwinding import unwinds_quietly

SINGLE = (
    object,
    range,
    slice,
    type(...),
    type(NotImplemented),
    CodeType,
    Absent,
    np.dtype,
    np.ufunc,
)
NOTHING_INSIDE = PLAIN | SCALARS | {id(cls) for cls in (*SINGLE, Variable)}
MAPPINGS = (dict, MappingProxyType)
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType, *VIEWS)
BUILTIN_METHODS = (BuiltinFunctionType, MethodWrapperType)
HIDDEN_STATE = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
FORM = frozenset(("shape", "ndim", "size", "dtype", "strides", "nbytes", "itemsize", "flags"))
SMALL_BYTES = 4096


class Stop(BaseException):
    """Raised before an instruction that has an effect, or reads what cannot be watched.

    Nothing has happened yet: the function can be run once more, as it is.
    """

    def __init__(self, what: str, line: Line, passing: bool = False):
        super().__init__(what)
        self.what, self.line = what, line
        self.passing = passing  # whether it will not happen again


def running_frame() -> FrameType:
    """The frame of the user's code that is running now."""
    frame = sys._getframe(1)
    while not watched(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def users_frame(frame: FrameType) -> FrameType:
    """The frame of the user's own that called this one of the standard library's."""
    calling: FrameType | None = frame
    while calling is not None and not is_users(calling):
        calling = calling.f_back
    return calling or frame


def form_of(array: np.ndarray) -> Any:
    return array.shape, array.strides, array.dtype.str, bool(array.flags.writeable)


def numbers_of(array: np.ndarray) -> Any:
    """What changes whenever a number of the array does, or its shape."""
    if array.nbytes <= SMALL_BYTES:
        return array.shape, array.tobytes()
    return array.shape, fingerprint(array)


def objects_of(array: np.ndarray) -> tuple[Any, ...]:
    return tuple(array.flat)


class Reads:
    """What one call has read; `outside` holds every object that was there before it, and was met."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.bindings: dict[Any, Binding] = {}
        self.outside: dict[int, Any] = {}
        self.own_cells: dict[int, Any] = {}  # made by this call
        self.beside: dict[int, np.ndarray] = {}  # arrays passed to NumPy together with Variables
        self.known_classes: set[type] = set()
        self.gave_up: Stop | None = None
        self.bottom: FrameType | None = None  # who called the code that is watched
        for root in roots:
            self.mark(root)

    # ---- what is outside -------------------------------------------------------------------------

    def mark(self, value: Any) -> None:
        """This object was there before the call."""
        if id(type(value)) not in NOTHING_INSIDE:
            self.outside.setdefault(id(value), value)
            while isinstance(value, np.ndarray) and value.base is not None:
                value = value.base  # a view of it made inside has this base, not the array itself
                self.outside.setdefault(id(value), value)
            if isinstance(value, (MethodType, *BUILTIN_METHODS)):
                self.mark(getattr(value, "__func__", None))
                if not isinstance(value.__self__, ModuleType):
                    self.mark(value.__self__)

    def is_outside(self, value: Any) -> bool:
        return id(value) in self.outside

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array's memory was there before the call: its own, or that of its base."""
        base: Any = array
        while base is not None:
            if id(base) in self.outside:
                return True
            base = base.base if isinstance(base, np.ndarray) else getattr(base, "obj", None)
        return False

    def bind(
        self, how: Any, owner: Any, key: Any, value: Any, words: str, label: Any = None
    ) -> None:
        """Expect the same when the compiled function is called."""
        name = (how, id(owner), key if label is None else label)
        if name not in self.bindings:
            self.bindings[name] = Binding(how, owner, key, value, words)
        self.mark(value)

    def stop(self, frame: FrameType | None, what: str, passing: bool = False) -> None:
        """Leave the call before this instruction; or, where that would run handlers, let it go on.

        A call that goes on is not compiled, but its result is what it is.
        """
        if self.gave_up is not None:
            return
        frame = frame or running_frame()
        user = users_frame(frame)
        self.gave_up = Stop(what, Line(user.f_code, user.f_lasti), passing)
        if unwinds_quietly(frame, self.bottom):
            raise self.gave_up

    def error_state(self) -> None:
        """Whether NumPy raises for what it computes."""
        self.bind(value_of, np, _error_state, _error_state(np), "np.geterr()")

    def stop_if_raising(self, frame: FrameType, state: Any) -> None:
        """Machine code raises no FloatingPointError."""
        kinds = ("_all", "_divide", "_over", "_under", "_invalid")
        if {"raise", "call"} & {getattr(state, kind, "raise") for kind in kinds}:
            self.stop(frame, "has NumPy raise errors by np.errstate")

    # ---- names -----------------------------------------------------------------------------------

    def global_name(self, frame: FrameType, name: str) -> None:
        scope = frame.f_globals
        if name in scope:
            self.bind(item, scope, name, scope[name], f"global `{name}`")
            return
        self.bind(unbound, scope, name, ABSENT, f"global `{name}`")
        builtin = frame.f_builtins
        if name in builtin:
            self.bind(item, builtin, name, builtin[name], f"builtin `{name}`")
        else:
            self.bind(unbound, builtin, name, ABSENT, f"builtin `{name}`")

    def cell(self, held: Any, name: str) -> None:
        if id(held) in self.own_cells:
            return
        value = quietly(attrgetter("cell_contents"), held)
        if value is not ABSENT:
            self.bind(cell, held, None, value, f"the closure variable `{name}`")

    def function(self, f: FunctionType) -> None:
        """A function is entered: its code and the defaults of its parameters."""
        words = f"the default arguments of `{f.__name__}`"
        self.bind(
            read, f, attrgetter("__code__"), f.__code__, f"the code of `{f.__name__}`", "code"
        )
        self.bind(read, f, attrgetter("__defaults__"), f.__defaults__, words, "defaults")
        for value in f.__defaults__ or ():
            self.mark(value)
        if f.__kwdefaults__ is not None:
            self.mark(f.__kwdefaults__)
            self.whole(f.__kwdefaults__, words)
        self.bind(read, f, attrgetter("__kwdefaults__"), f.__kwdefaults__, words, "kwdefaults")

    # ---- attributes ------------------------------------------------------------------------------

    def attribute(self, frame: FrameType, owner: Any, name: str) -> None:
        """owner.name is about to be read."""
        cls = type(owner)
        if cls is Variable or not isinstance(name, str):
            return
        if issubclass(cls, np.ndarray) and (cls is np.ndarray or hasattr(np.ndarray, name)):
            if name in FORM and self.holds(owner):
                self.form(owner)
            elif name == "flat":
                self.array(owner)
        elif issubclass(cls, ModuleType):
            self.module_attribute(owner, name)
        elif cls is super:
            self.super_attribute(owner, name)
        elif issubclass(cls, type):
            self.class_attribute(owner, name)
        elif id(owner) in self.outside:
            self.instance_attribute(frame, owner, name)
        else:  # an object made inside: its class was there before
            base, raw = found_in(cls, name)
            if base is not None and not is_plainly_own(owner, name):
                self.class_item(cls, name, base, raw)

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
        base, raw = found_in(cls, name)
        if base is not None:
            self.class_item(cls, name, base, raw)
            return
        meta = type(cls)
        base, raw = found_in(meta, name)
        if base is not None and origin_of_class(base) is not Origin.SEALED:
            self.class_item(meta, name, base, raw)
        elif base is None and origin_of_class(cls) is not Origin.SEALED:
            for owner in bases_of(cls):
                if origin_of_class(owner) is not Origin.SEALED:
                    words = f"attribute `{name}` of `{name_of(owner)}`"
                    self.bind(unbound, own_names(owner), name, ABSENT, words, (id(owner), name))

    def namespace(self, cls: type) -> None:
        """All attributes of a class are read, as a mapping."""
        names = own_names(cls)
        self.bind(contents, names, ended_parts_of, (*parts_of(names), ABSENT),
                  f"an attribute of `{name_of(cls)}`", ("namespace", id(cls)))  # fmt: skip

    def specials(self, cls: type) -> None:
        """The special methods of a class, which are called without being named."""
        if cls in self.known_classes or origin_of_class(cls) is Origin.SEALED:
            return
        self.known_classes.add(cls)
        for base in bases_of(cls):
            if origin_of_class(base) is not Origin.SEALED:
                for name, raw in list(own_names(base).items()):
                    if name.startswith("__") and isinstance(raw, FunctionType):
                        self.class_item(cls, name, base, raw)

    def class_item(self, cls: type, name: str, base: type, raw: Any) -> None:
        """In the class that has it; and none that is asked before may get it."""
        for owner in bases_of(cls):
            words = f"attribute `{name}` of `{name_of(owner)}`"
            if owner is base:
                if origin_of_class(base) is not Origin.SEALED:
                    self.bind(item, own_names(owner), name, raw, words, (id(owner), name))
                break
            if origin_of_class(owner) is not Origin.SEALED:
                self.bind(unbound, own_names(owner), name, ABSENT, words, (id(owner), name))
        if isinstance(raw, (staticmethod, classmethod)):
            self.mark(raw.__func__)

    def super_attribute(self, owner: Any, name: str) -> None:
        order = list(
            bases_of(
                type(owner.__self__) if not isinstance(owner.__self__, type) else owner.__self__
            )
        )
        for base in order[order.index(owner.__thisclass__) + 1 :]:
            if name in own_names(base):
                if origin_of_class(base) is not Origin.SEALED:
                    words = f"attribute `{name}` of `{name_of(base)}`"
                    self.bind(
                        item, own_names(base), name, own_names(base)[name], words, (id(base), name)
                    )
                return

    def instance_attribute(self, frame: FrameType, owner: Any, name: str) -> None:
        cls = type(owner)
        words = f"attribute `{name}` of a {name_of(cls)}"
        base, raw = found_in(cls, name)
        if is_written_in_python(cls, "__getattribute__"):
            self.class_attribute(cls, "__getattribute__")
            return
        if base is not None and is_computed(raw) and not hides(owner, name, raw):
            self.bind(kind, owner, None, cls, f"the class of a {name_of(cls)}")
            self.class_item(cls, name, base, raw)
            return
        if isinstance(owner, HIDDEN_STATE) or named(cls)[0].startswith("chainrule."):
            return  # what is called of it stops the recording; ours do not change
        if origin_of_class(cls) is Origin.SEALED and not is_transparent(owner):
            if not isinstance(quietly(attrgetter(name), owner), BUILTIN_METHODS):
                self.stop(frame, f"reads inside a {name_of(cls)}, which cannot be watched")
            return
        value = quietly(attrgetter(name), owner) if base is not None else own_value(owner, name)
        if value is ABSENT and is_written_in_python(cls, "__getattr__"):
            self.class_attribute(cls, "__getattr__")
            self.bind(read, owner, partial(own_value, name=name), ABSENT, words, ("own", name))
        elif isinstance(value, MethodType) and value.__self__ in (owner, cls) and base is not None:
            self.bind(method, owner, attrgetter(name), value.__func__, words, name)
        elif isinstance(value, BUILTIN_METHODS) and getattr(value, "__self__", None) is owner:
            return
        elif value is ABSENT:
            self.bind(read, owner, partial(quietly, attrgetter(name)), ABSENT, words, name)
        elif (
            value is not quietly(attrgetter(name), owner) and id(type(value)) not in PLAIN | SCALARS
        ):
            self.stop(frame, f"{words} is made anew at each read, which cannot be watched")
        else:
            self.bind(read, owner, attrgetter(name), value, words, name)

    def own_attribute(self, owner: Any, name: str) -> None:
        """What `object.__getattribute__` gives, asked for by a `__getattribute__` in Python."""
        get = partial(_raw_attribute, name=name)
        value = get(owner)
        if isinstance(value, MethodType):
            self.mark(value.__func__)
        elif not isinstance(value, BUILTIN_METHODS):
            words = f"attribute `{name}` of a {name_of(type(owner))}"
            self.bind(read, owner, get, value, words, ("raw", name))

    def partial(self, f: partial[Any]) -> None:
        for name in ("func", "args", "keywords"):
            words = f"`{name}` of a partial"
            self.bind(read, f, attrgetter(name), attrgetter(name)(f), words, name)
        for arg in f.args:
            self.mark(arg)
        self.whole(f.keywords)

    # ---- items and whole contents ----------------------------------------------------------------

    def item(self, frame: FrameType, owner: Any, key: Any) -> None:
        """owner[key] is about to be read."""
        cls = type(owner)
        if cls is Variable or id(cls) in NOTHING_INSIDE:
            return
        self.specials(cls)
        if issubclass(cls, np.ndarray):
            self.array_item(owner, key)
        elif id(owner) not in self.outside or is_written_in_python(cls, "__getitem__"):
            return
        elif isinstance(key, slice) or not issubclass(cls, (list, tuple, dict, MappingProxyType)):
            self.whole(owner, frame=frame)
        elif issubclass(cls, MAPPINGS):
            self.mapping_item(frame, owner, key)
        else:
            index = quietly(lambda k: k.__index__(), getattr(key, "_value", key))
            value = quietly(itemgetter(index), owner) if index is not ABSENT else ABSENT
            if value is ABSENT:
                self.bind(size, owner, None, len(owner), "the length of a list")
            elif cls is list:
                self.bind(element, owner, index, value, f"item {index} of a list")
            else:
                self.mark(value)

    def mapping_item(self, frame: FrameType, owner: Any, key: Any) -> None:
        value = quietly(lambda o: o[key] if key in o else ABSENT, owner)
        words = f"item {key!r:.40} of a {name_of(type(owner))}"
        if value is not ABSENT:
            how, get = (
                (item, key) if type(owner) is dict and id(type(key)) in PLAIN else (read, None)
            )
            self.bind(
                how, owner, key if get is not None else itemgetter(key), value, words, label_of(key)
            )
        elif is_written_in_python(type(owner), "__missing__") or not hasattr(
            owner, "default_factory"
        ):
            self.contains(owner, key)
        else:
            self.stop(frame, f"{words} is missing, and filled in")

    def contains(self, owner: Any, key: Any) -> None:
        get = partial(_present, key=key)
        words = f"item {key!r:.40} of a {name_of(type(owner))}"
        self.bind(read, owner, get, get(owner), words, ("present", label_of(key)))

    def array_item(self, array: np.ndarray, key: Any) -> None:
        if not self.holds(array):
            return
        if array.dtype == object or holds_variable(key):
            self.array(array)
            return
        picked = quietly(itemgetter(key), array)
        if isinstance(picked, np.ndarray) and picked.base is not None:
            self.form(array)  # a view: no number is read yet
        if not isinstance(picked, np.ndarray):
            words = f"an element of an array of shape {array.shape}"
            if id(type(picked)) in SCALARS:
                self.bind(
                    value_of,
                    array,
                    partial(_element, key=key),
                    picked.tobytes(),
                    words,
                    label_of(key),
                )
        elif picked.base is None:  # a copy, not a view
            self.array(array)

    def form(self, array: np.ndarray) -> None:
        self.bind(value_of, array, form_of, form_of(array), "the shape of an array")

    def array(self, array: np.ndarray) -> None:
        """The numbers of an array are about to be read by plain code."""
        if array.dtype == object:
            for value in objects_of(array):
                self.mark(value)
            self.bind(contents, array, objects_of, objects_of(array), "an array of objects")
        elif self.holds(array):
            self.bind(
                value_of, array, numbers_of, numbers_of(array), f"an array of shape {array.shape}"
            )

    def whole(self, value: Any, words: str = "", frame: FrameType | None = None) -> None:
        """Code of the interpreter's own may read everything in this."""
        pending = [value]
        while pending:
            held = pending.pop()
            self.specials(type(held))
            if isinstance(held, BUILTIN_METHODS):
                self.unknown(held, frame)
            elif isinstance(held, np.ndarray):
                self.array(held)
                pending += objects_of(held) if held.dtype == object else ()
            elif id(held) not in self.outside:
                if type(held) in (
                    list,
                    tuple,
                    dict,
                    set,
                    frozenset,
                ):  # made inside, of things outside
                    pending += [v for v in parts_of(held) if id(type(v)) not in NOTHING_INSIDE]
            elif isinstance(held, CONTAINERS):
                pending += self._contents(held, words)
            elif isinstance(held, bytearray) or named(type(held)) == ("array", "array"):
                self.bind(
                    value_of, held, bytes, bytes(held), f"the bytes of a {name_of(type(held))}"
                )
            elif isinstance(held, np.void):
                self.bind(value_of, held, np.void.tobytes, held.tobytes(), "a record of an array")
            else:
                self.unknown(held, frame)

    def unknown(self, held: Any, frame: FrameType | None) -> None:
        """An object from outside is handed to code that is not watched."""
        cls = type(held)
        if isinstance(held, BUILTIN_METHODS) and getattr(held, "__name__", "") in CHANGING:
            if not isinstance(held.__self__, ModuleType) and id(held.__self__) in self.outside:
                self.stop(frame, f"changes a {name_of(type(held.__self__))} from outside")
        elif (
            isinstance(held, KNOWN)
            or named(cls)[0] in IMMUTABLE_MODULES
            or named(cls)[0].startswith("chainrule")
        ):
            return
        elif any(origin_of_class(b) is not Origin.USER and b is not object for b in bases_of(cls)):
            self.stop(frame, f"hands on a {'.'.join(named(cls))}, whose inside cannot be watched")

    def _contents(self, held: Any, words: str) -> list[Any]:
        words = words or f"an item of a {name_of(type(held))}"
        parts = parts_of(held)
        label = (contents, id(held), parts_of)
        if label in self.bindings or (elements, id(held), None) in self.bindings:
            return []
        if type(held) is list:
            self.bind(elements, held, None, tuple(parts), words)
        elif type(held) not in (tuple, frozenset):
            self.bind(contents, held, ended_parts_of, (*parts, ABSENT), words, parts_of)
        for part in parts:
            self.mark(part)
        return [p for p in parts if id(type(p)) not in NOTHING_INSIDE]


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
    return names.get(name, ABSENT) if isinstance(names, dict) else quietly(attrgetter(name), owner)


def is_plainly_own(owner: Any, name: str) -> bool:
    names = quietly(lambda o: object.__getattribute__(o, "__dict__"), owner)
    return isinstance(names, dict) and name in names


def is_written_in_python(cls: type, name: str) -> bool:
    return type(found_in(cls, name)[1]) is FunctionType


def is_computed(raw: Any) -> bool:
    """Whether reading an attribute runs Python code, whose own reads are seen."""
    return isinstance(raw, property) or is_written_in_python(type(raw), "__get__")


def hides(owner: Any, name: str, raw: Any) -> bool:
    """Whether an object's own attribute comes before what its class computes."""
    data = any(found_in(type(raw), n)[0] is not None for n in ("__set__", "__delete__"))
    return not data and is_plainly_own(owner, name)


def is_transparent(owner: Any) -> bool:
    """Whether attributes of this object of the interpreter's or a library's are all there is."""
    cls = type(owner)
    return named(cls) in TRANSPARENT or issubclass(
        cls, (FunctionType, MethodType, partial, BaseException)
    )


def named(cls: type) -> tuple[str, str]:
    return str(getattr(cls, "__module__", "")), name_of(cls)


KNOWN = (FunctionType, MethodType, type, ModuleType, BaseException, partial, property, staticmethod,
         classmethod, str, bytes, int, float, complex, np.generic, np.dtype, np.ufunc,
         *BUILTIN_METHODS)  # fmt: skip
IMMUTABLE_MODULES = frozenset(
    (
        "re",
        "datetime",
        "fractions",
        "enum",
        "operator",
        "typing",
        "types",
        "functools",
        "contextvars",
        "pathlib",
        "string",
        "decimal",
        "uuid",
    )
)
CHANGING = frozenset(
    ("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem",
     "add", "discard", "sort", "reverse", "appendleft", "popleft", "extendleft", "rotate", "fill",
     "put", "resize", "itemset", "partition", "setflags", "setfield", "byteswap", "frombytes",
     "difference_update", "intersection_update", "symmetric_difference_update", "move_to_end",
     "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__ior__", "__imul__",
     "fromlist", "release", "cast", "subtract", "send", "throw", "close", "__next__")
)  # fmt: skip
TRANSPARENT = frozenset(
    (("builtins", "code"), ("builtins", "property"), ("builtins", "type"), ("functools", "partial"),
     ("builtins", "builtin_function_or_method"), ("builtins", "mappingproxy"), ("builtins", "cell"))
)  # fmt: skip


def holds_variable(key: Any) -> bool:
    return type(key) is Variable or (type(key) is tuple and any(type(k) is Variable for k in key))


def parts_of(held: Any) -> list[Any]:
    if isinstance(held, MAPPINGS):
        return list(chain(held.keys(), held.values()))
    return list(held)


def ended_parts_of(held: Any) -> Any:
    """The parts and a mark of the end, so that one that has grown or shrunk differs somewhere."""
    return chain(parts_of(held), (ABSENT,))


def label_of(key: Any) -> Any:
    return (type(key), key) if id(type(key)) in PLAIN else (id(key), repr(key))


def _error_state(numpy: Any) -> Any:
    return tuple(numpy.geterr().items())


def _raw_attribute(owner: Any, name: str) -> Any:
    return quietly(lambda o: object.__getattribute__(o, name), owner)


def _present(owner: Any, key: Any) -> bool:
    return key in owner


def _element(owner: Any, key: Any) -> Any:
    picked: Callable[[], bytes] = owner[key].tobytes
    return picked()

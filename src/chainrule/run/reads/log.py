"""The log of one recording: what the user's code read outside of its arguments, as bindings."""

from __future__ import annotations

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
    name_of,
    names_of_module,
    origin_of_class,
    origin_of_module,
    own_names,
)
from chainrule.run.reads.unwinding import unwinds_quietly

SINGLE = (object, range, slice, type(...), type(NotImplemented), CodeType, Absent, np.dtype, np.ufunc)
NOTHING_INSIDE = PLAIN | SCALARS | {id(cls) for cls in (*SINGLE, Variable)}
MAPPINGS = (dict, MappingProxyType)
CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType)
BUILTIN_METHODS = (BuiltinFunctionType, MethodWrapperType)
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


def form_of(array: np.ndarray) -> Any:
    return array.shape, array.dtype.str


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

    def bind(self, how: Any, owner: Any, key: Any, value: Any, words: str, label: Any = None) -> None:
        """Expect the same when the compiled function is called."""
        name = (how, id(owner), key if label is None else label)
        if name not in self.bindings:
            self.bindings[name] = Binding(how, owner, key, value, words)
        self.mark(value)

    def stop(self, frame: FrameType, what: str, passing: bool = False) -> None:
        """Leave the call before this instruction; or, where that would run handlers, let it go on.

        A call that goes on is not compiled, but its result is what it is.
        """
        if self.gave_up is not None:
            return
        self.gave_up = Stop(what, Line(frame.f_code, frame.f_lasti), passing)
        if unwinds_quietly(frame, self.bottom):
            raise self.gave_up

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

    def cell(self, held: Any, name: str) -> None:
        if id(held) in self.own_cells:
            return
        value = quietly(attrgetter("cell_contents"), held)
        if value is not ABSENT:
            self.bind(cell, held, None, value, f"the closure variable `{name}`")

    def function(self, f: FunctionType) -> None:
        """A function is entered: its code and the defaults of its parameters."""
        words = f"the default arguments of `{f.__name__}`"
        self.bind(read, f, attrgetter("__code__"), f.__code__, f"the code of `{f.__name__}`", "code")
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
        if issubclass(cls, np.ndarray):
            if name in FORM and self.holds(owner):
                self.form(owner)
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
        order = list(bases_of(type(owner.__self__) if not isinstance(owner.__self__, type) else owner.__self__))
        for base in order[order.index(owner.__thisclass__) + 1 :]:
            if name in own_names(base):
                if origin_of_class(base) is not Origin.SEALED:
                    words = f"attribute `{name}` of `{name_of(base)}`"
                    self.bind(item, own_names(base), name, own_names(base)[name], words, (id(base), name))
                return

    def instance_attribute(self, frame: FrameType, owner: Any, name: str) -> None:
        cls = type(owner)
        words = f"attribute `{name}` of a {name_of(cls)}"
        base, raw = found_in(cls, name)
        if is_written_in_python(cls, "__getattribute__"):
            self.class_attribute(cls, "__getattribute__")
            return
        if base is not None and is_computed(raw):
            self.bind(kind, owner, None, cls, f"the class of a {name_of(cls)}")
            self.class_item(cls, name, base, raw)
            return
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
        elif value is not quietly(attrgetter(name), owner) and id(type(value)) not in PLAIN | SCALARS:
            self.stop(frame, f"{words} is made anew at each read, which cannot be watched")
        else:
            self.bind(read, owner, attrgetter(name), value, words, name)

    # ---- items and whole contents ----------------------------------------------------------------

    def item(self, frame: FrameType, owner: Any, key: Any) -> None:
        """owner[key] is about to be read."""
        cls = type(owner)
        if cls is Variable or id(cls) in NOTHING_INSIDE:
            return
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
            how, get = (item, key) if type(owner) is dict and id(type(key)) in PLAIN else (read, None)
            self.bind(how, owner, key if get is not None else itemgetter(key), value, words, label_of(key))
        elif is_written_in_python(type(owner), "__missing__") or not hasattr(owner, "default_factory"):
            self.contains(owner, key)
        else:
            self.stop(frame, f"{words} is missing, and filled in")

    def contains(self, owner: Any, key: Any) -> None:
        get = partial(_present, key=key)
        words = f"item {key!r:.40} of a {name_of(type(owner))}"
        self.bind(read, owner, get, get(owner), words, ("present", label_of(key)))

    def array_item(self, array: np.ndarray, key: Any) -> None:
        if not self.holds(array) or holds_variable(key):
            return
        if array.dtype == object:
            self.array(array)
            return
        picked = quietly(itemgetter(key), array)
        if not isinstance(picked, np.ndarray):
            words = f"an element of an array of shape {array.shape}"
            if id(type(picked)) in SCALARS:
                self.bind(value_of, array, partial(_element, key=key), picked.tobytes(), words, label_of(key))
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
            self.bind(value_of, array, numbers_of, numbers_of(array), f"an array of shape {array.shape}")

    def whole(self, value: Any, words: str = "", frame: FrameType | None = None) -> None:
        """Code of the interpreter's own may read everything in this."""
        pending = [value]
        while pending:
            held = pending.pop()
            if isinstance(held, np.ndarray):
                self.array(held)
                pending += objects_of(held) if held.dtype == object else ()
            elif id(held) not in self.outside:
                if type(held) in (list, tuple, dict, set, frozenset):  # made inside, of things outside
                    pending += [v for v in parts_of(held) if id(type(v)) not in NOTHING_INSIDE]
            elif isinstance(held, CONTAINERS):
                pending += self._contents(held, words)
            elif isinstance(held, bytearray) or name_of(type(held)) == "array":
                self.bind(value_of, held, bytes, bytes(held), f"the bytes of a {name_of(type(held))}")

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


def is_transparent(owner: Any) -> bool:
    """Whether attributes of this object of the interpreter's or a library's are all there is."""
    cls = type(owner)
    return named(cls) in TRANSPARENT or issubclass(cls, (FunctionType, MethodType, partial, BaseException))


def named(cls: type) -> tuple[str, str]:
    return str(getattr(cls, "__module__", "")), name_of(cls)


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


def _present(owner: Any, key: Any) -> bool:
    return key in owner


def _element(owner: Any, key: Any) -> Any:
    picked: Callable[[], bytes] = owner[key].tobytes
    return picked()



"""Finding everything that a function's code can reach outside of its arguments."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from chainrule.record.bindings import (
    ABSENT,
    PLAIN,
    SCALARS,
    UNROLLED,
    Absent,
    Binding,
    Outside,
    cell,
    code,
    contents,
    element,
    elements,
    item,
    kind,
    quietly,
    read,
    size,
    unbound,
)
from chainrule.record.names import (
    DYNAMIC,
    Origin,
    bases_of,
    module_of,
    name_of,
    names_of_module,
    origin_of_class,
    origin_of_module,
    own_names,
    reads_of,
)

DEPTH = 4  # how many containers or objects inside one another are looked into
LIMIT = 10_000  # bindings; one costs about 25 ns in every call of a compiled function
NOTES = 100  # lines in `incomplete`

SINGLE = (object, range, slice, type(...), type(NotImplemented), CodeType, Absent)
NOTHING_INSIDE = PLAIN | SCALARS | {id(cls) for cls in SINGLE}
NAMESPACES = {("types", "SimpleNamespace"), ("argparse", "Namespace")}
CONSTRUCTION = frozenset(("__init__", "__new__", "__post_init__"))
PRINTING = frozenset(("__repr__", "__str__", "__format__"))
METHODS = (FunctionType, staticmethod, classmethod, property)
DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)

# What is read of the interpreter's own wrappers; none of it can be assigned to.
HELD: dict[type, tuple[str, ...]] = {
    MethodType: ("__self__", "__func__"),
    BuiltinFunctionType: ("__self__",),
    MethodWrapperType: ("__self__",),
    partial: ("func", "args", "keywords"),
    property: ("fget",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}
# The end is marked, so that a container that has grown or shrunk differs at some place.
ITERATED: dict[type, Callable[[Any], Iterator[Any]]] = {
    dict: lambda c: chain(dict.keys(c), dict.values(c), (ABSENT,)),
    list: lambda c: chain(list.__iter__(c), (ABSENT,)),
    set: lambda c: chain(set.__iter__(c), (ABSENT,)),
    deque: lambda c: chain(deque.__iter__(c), (ABSENT,)),
    tuple: tuple.__iter__,
    frozenset: frozenset.__iter__,
}


def watch(f: object) -> Outside:
    """Note how everything is bound now that f can reach outside of its arguments.

    Best called after f has run once: what f itself assigned or imported is then no change.
    """
    return Walk().run(Found(f, f.__name__ if type(f) is FunctionType else "self"))


class Found(NamedTuple):
    """A value on the way: how to say it, and how deep in data it lies.

    What only a library holds is followed, to functions of the user's, but not watched.
    """

    value: Any
    path: str
    depth: int = 0
    watched: bool = True


class Space(NamedTuple):
    """A module or a class, whose attributes are watched if some code names them."""

    owner: Any
    path: str
    names: Mapping[str, Any]


class Walk:
    """One walk from a function to everything it can reach; what lies nearer comes first."""

    def __init__(self) -> None:
        self.bindings: list[Binding] = []
        self.room = LIMIT
        self.notes: dict[str, None] = {}
        self.seen: dict[tuple[int, bool], Any] = {}
        self.cut: list[Found] = []
        self.waiting: list[deque[Found]] = [deque() for _ in range(DEPTH + 1)]
        self.attributes: dict[str, None] = {}
        self.spaces: dict[int, list[Space]] = {}
        self.bound: set[tuple[int, str]] = set()

    def run(self, start: Found) -> Outside:
        self.meet(start)
        while any(self.waiting):
            self.look(next(w for w in self.waiting if w).popleft())
            if not any(self.waiting):
                for spaces in list(self.spaces.values()):
                    for name in self.attributes:
                        self.bind_attribute(spaces, name)
        for found in self.cut:
            if (id(found.value), True) not in self.seen:
                self.note(f"the inside of `{found.path}`, which lies {DEPTH} steps deep")
        return Outside(self.bindings, self.notes)

    def note(self, words: str) -> None:
        self.notes[words if len(self.notes) < NOTES else "and more"] = None

    def bind(self, how: Any, owner: Any, key: Any, value: Any, words: str, cost: int = 1) -> None:
        if self.room < cost:
            self.note(f"{words}: there are more than {LIMIT} bindings")
            return
        self.room -= cost
        if how is item and value is ABSENT:
            how = unbound
        self.bindings.append(Binding(how, owner, key, value, words))

    def meet(self, found: Found) -> None:
        key = id(found.value), found.watched
        if (
            id(type(found.value)) in NOTHING_INSIDE
            or issubclass(type(found.value), np.ndarray)
            or key in self.seen
        ):
            return
        if len(self.seen) >= 10 * LIMIT:
            self.note(f"what is reached from `{found.path}`")
            return
        self.seen[key] = found.value
        self.waiting[min(found.depth, DEPTH)].append(found)

    def look(self, found: Found) -> None:
        value, cls = found.value, type(found.value)
        held = next((base for base in HELD if issubclass(cls, base)), None)
        if cls is FunctionType:
            self.look_at_function(found)
        elif issubclass(cls, type):
            self.look_at_class(value, PRINTING)
        elif issubclass(cls, ModuleType):
            names = names_of_module(value)
            if origin_of_module(names) is Origin.USER:
                self.spaces[id(value)] = [Space(value, found.path, names)]
        elif held is not None:
            for name in HELD[held]:
                path = "self" if name == "__self__" else f"{found.path}.{name}"
                self.meet(found._replace(value=vars(held)[name].__get__(value), path=path))
        elif found.depth >= DEPTH:
            del self.seen[id(value), found.watched]
            self.cut += [found] if found.watched else []
        else:
            base = next((base for base in ITERATED if issubclass(cls, base)), None)
            if base is not None:
                self.look_at_container(found, base)
            if cls is not base:
                self.look_at_instance(found)

    # ---- functions, classes and modules ----------------------------------------------------------

    def look_at_function(self, found: Found) -> None:
        f = found.value
        names, cells = f.__code__.co_freevars, f.__closure__ or ()
        # A text that a library runs makes functions in a namespace without a name.
        nameless = not found.watched and "__name__" not in f.__globals__
        if nameless or origin_of_module(f.__globals__) is not Origin.USER:
            held = [quietly(attrgetter("cell_contents"), c) for c in cells]
            for value in (*held, f.__dict__.get("__wrapped__")):
                self.meet(Found(value, found.path, found.depth + 1, watched=False))
            return
        self.bind(code, f, None, f.__code__, f"the code of `{f.__name__}`")
        for name, c in zip(names, cells, strict=True):
            self.bind_read(cell, c, attrgetter("cell_contents"), f"the closure variable `{name}`")
            self.meet(Found(quietly(attrgetter("cell_contents"), c), name))
        self.look_at_defaults(f)
        if f.__dict__:
            self.look_at_table(f.__dict__, Found(f, f.__name__), "attribute")
        self.look_at_names(f)

    def look_at_defaults(self, f: FunctionType) -> None:
        """A function that had no defaults was called without: those it is given are no change."""
        words = f"the default arguments of `{f.__name__}`"
        if f.__defaults__ is not None:
            self.bind(read, f, attrgetter("__defaults__"), f.__defaults__, words)
            parameters = f.__code__.co_varnames[: f.__code__.co_argcount]
            for name, value in zip(reversed(parameters), reversed(f.__defaults__), strict=False):
                self.meet(Found(value, name))
        if f.__kwdefaults__ is not None:
            self.bind(read, f, attrgetter("__kwdefaults__"), f.__kwdefaults__, words)
            self.look_at_table(f.__kwdefaults__, Found(f, f.__name__), "default argument")

    def look_at_names(self, f: FunctionType) -> None:
        names, reads = f.__globals__, reads_of(f.__code__)
        for name in reads.names:
            value = names.get(name, ABSENT)
            if value is ABSENT and name in DYNAMIC:
                self.note(f"names that `{f.__name__}` makes up for `{name}`")
            if (id(names), name) not in self.bound:
                self.bound.add((id(names), name))
                self.bind(item, names, name, value, f"global `{name}`")
                self.meet(Found(value, name))
        self.attributes.update(dict.fromkeys(reads.attributes))
        for name in reads.imports:
            for absolute in (name, f"{names.get('__package__')}.{name}".rstrip(".")):
                self.meet(Found(sys.modules.get(absolute), name))

    def look_at_class(self, cls: type, skip: Iterable[str]) -> None:
        """Special methods are called without being named; other attributes wait for their names."""
        users = [c for c in bases_of(cls) if origin_of_class(c) is Origin.USER]
        spaces = [Space(c, name_of(c), own_names(c)) for c in users]
        self.spaces[id(cls)] = spaces
        for space in spaces:
            for name, value in list(space.names.items()):
                special = name.startswith("__") and name not in skip
                if special and issubclass(type(value), METHODS):
                    self.bind_attribute(spaces, name)

    def bind_attribute(self, spaces: list[Space], name: str) -> None:
        """In every class that has it, as `super` may ask any; and none before may get it."""
        last = max((n for n, space in enumerate(spaces) if name in space.names), default=-1)
        for owner, path, names in spaces[: last + 1]:
            value = names.get(name, ABSENT)
            if (id(owner), name) in self.bound or issubclass(type(value), DESCRIPTORS):
                continue
            self.bound.add((id(owner), name))
            self.bind(item, names, name, value, f"attribute `{name}` of `{path}`")
            self.meet(Found(value, f"{path}.{name}"))

    # ---- containers and objects ------------------------------------------------------------------

    def look_at_container(self, found: Found, base: Any) -> None:
        value, path, exact = found.value, found.path, type(found.value) is base
        length = base.__len__(value)
        if length > self.room:
            if found.watched:
                self.note(f"the items of `{path}`, of which there are {length}")
            if found.watched and exact:
                self.bind(size, value, None, length, f"the length of `{path}`")
            return
        if found.watched and base is dict:
            self.look_at_table(value, found, "item")
            return
        if found.watched and type(value) is list and length > UNROLLED:
            self.bind(elements, value, None, tuple(value), f"an item of `{path}`", length)
        elif found.watched and type(value) is list:
            for n, inner in enumerate(list(value)):
                self.bind(element, value, n, inner, f"item {n} of `{path}`")
            self.bind(size, value, None, length, f"a new item of `{path}`")
        elif found.watched and base not in (tuple, frozenset):
            self.bind_contents(value, base, path)
        held = quietly(tuple, ITERATED[base](value))
        for n, inner in enumerate(() if held is ABSENT else held):
            self.meet(found._replace(value=inner, path=f"{path}[{n}]", depth=found.depth + 1))

    def look_at_table(self, table: dict[Any, Any], found: Found, what: str) -> None:
        """A dict of items, of attributes or of defaults; strange keys are not looked up."""
        path = found.path
        if type(table) is not dict or not all(id(type(key)) in PLAIN for key in list(table)):
            self.bind_contents(table, dict, path)
            bound = [(f"{path}[...]", value) for value in list(dict.values(table))]
        else:
            bound = []
            for key, value in list(table.items()):
                self.bind(item, table, key, value, f"{what} `{key}` of `{path}`")
                bound.append((f"{path}[{key!r}]" if what == "item" else f"{path}.{key}", value))
            self.bind(size, table, None, len(bound), f"a new {what} of `{path}`")
        for inner, value in bound:
            self.meet(Found(value, inner, found.depth + 1))

    def look_at_instance(self, found: Found) -> None:
        value, path, cls = found.value, found.path, type(found.value)
        origin = origin_of_class(cls)
        if (module_of(cls), name_of(cls)) in NAMESPACES:
            origin = Origin.USER
        if origin is Origin.SEALED or not (found.watched or origin is Origin.USER):
            self.look_at_sealed(found)
            return
        # A library's object may keep caches further in, and filling one is no rebinding.
        depth = found.depth if origin is Origin.USER else DEPTH - 1
        self.bind(kind, value, None, cls, f"the class of `{path}`")
        for owner, name, get in fields_of(cls):
            if name == "__dict__":
                self.bind_read(read, value, get, f"attribute `__dict__` of `{path}`")
                self.look_at_table(get(value), found._replace(depth=depth), "attribute")
            elif origin_of_class(owner) is not Origin.SEALED:
                self.bind_read(read, value, get, f"attribute `{name}` of `{path}`")
                self.meet(Found(quietly(get, value), f"{path}.{name}", depth + 1))
        if origin is Origin.USER:
            self.look_at_class(cls, PRINTING | CONSTRUCTION)

    def look_at_sealed(self, found: Found) -> None:
        """What calls something may hold a function of the user's; other things are left alone."""
        cls = type(found.value)
        spaces = [own_names(c) for c in bases_of(cls)]
        if any("__call__" in names or "__get__" in names for names in spaces):
            for _, name, get in fields_of(cls):
                held = quietly(get, found.value)
                for value in list(held.values()) if name == "__dict__" else [held]:
                    self.meet(Found(value, found.path, found.depth + 1, watched=False))
            return
        by_value = next(n["__hash__"] for n in spaces if "__hash__" in n)
        ours = module_of(cls).startswith("chainrule.")
        if ours or not found.watched or by_value not in (None, object.__hash__):
            return
        self.note(f"the inside of `{found.path}`, an object of {module_of(cls)}.{name_of(cls)}")

    def bind_contents(self, value: Any, base: Any, path: str) -> None:
        now = quietly(tuple, ITERATED[base](value))
        if now is ABSENT:  # another thread was changing it
            self.note(f"the items of `{path}`")
            return
        self.bind(contents, value, ITERATED[base], now, f"an item of `{path}`", cost=len(now))

    def bind_read(self, how: Any, owner: Any, get: Callable[[Any], Any], words: str) -> None:
        """An empty cell or slot raises when read, which `changed` takes for a change."""
        now = quietly(get, owner)
        if now is ABSENT:
            how, get = read, partial(quietly, get)
        self.bind(how, owner, get, now, words)


def fields_of(cls: type) -> Iterator[tuple[type, str, Callable[[Any], Any]]]:
    """The slots of a class and its `__dict__`, each with a way to read it that runs no code."""
    for owner in bases_of(cls):
        for name, value in list(own_names(owner).items()):
            dictionary = name == "__dict__" and type(value) is GetSetDescriptorType
            if dictionary or type(value) is MemberDescriptorType:
                yield owner, name, value.__get__

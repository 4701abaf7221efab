"""Contents that are read: items of containers, numbers of arrays, and everything inside a value."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from chainrule.record.variable import Variable
from chainrule.record.watch import fingerprint
from chainrule.run.bindings import (
    ABSENT,
    PLAIN,
    SCALARS,
    contents,
    element,
    elements,
    item,
    quietly,
    read,
    size,
    value_of,
)
from chainrule.run.reads.attributes import Attributes
from chainrule.run.reads.handed import CALLABLES, handed_on
from chainrule.run.reads.lookup import (
    CONTAINERS,
    IMMUTABLE_MODULES,
    KNOWN,
    MAPPINGS,
    NOTHING_INSIDE,
    element_of,
    ended_parts_of,
    holds_variable,
    is_ours,
    is_present,
    is_written_in_python,
    isa,
    label_of,
    named,
    objects_of,
    parts_of,
)
from chainrule.run.reads.origin import Origin, bases_of, name_of, origin_of_class

SHORT_LIST = 16  # items that are compared one by one
MADE_INSIDE = (list, tuple, dict, set, frozenset)


class Reads(Attributes):
    """A log of everything that one call reads outside."""

    # ---- items -----------------------------------------------------------------------------------

    def item(self, frame: FrameType, owner: Any, key: Any) -> None:
        """owner[key] is about to be read."""
        cls = type(owner)
        if id(cls) in NOTHING_INSIDE:
            return
        self.specials(cls)
        if issubclass(cls, np.ndarray):
            self.array_item(owner, key)
        elif isa(owner, np.void):  # a record looks into the array it was taken from
            self.whole(owner, frame)
        elif id(owner) not in self.outside or is_written_in_python(cls, "__getitem__"):
            return
        elif isa(key, slice) or not issubclass(cls, (list, tuple, *MAPPINGS)):
            self.whole(owner, frame)
        elif issubclass(cls, MAPPINGS):
            self.mapping_item(frame, owner, key)
        else:
            self.sequence_item(owner, key)

    def sequence_item(self, owner: Any, key: Any) -> None:
        index = quietly(lambda k: k.__index__(), getattr(key, "_value", key))
        value = ABSENT if index is ABSENT else quietly(itemgetter(index), owner)
        if value is ABSENT:
            self.bind(size, owner, None, len(owner), "the length of a list")
        elif type(owner) is list:
            self.bind(element, owner, index, value, f"item {index} of a list")
        else:
            self.mark(value)

    def mapping_item(self, frame: FrameType, owner: Any, key: Any) -> None:
        value = quietly(lambda o: o[key] if key in o else ABSENT, owner)  # noqa: SIM401 - any mapping
        words = f"item {key!r:.40} of a {name_of(type(owner))}"
        if value is ABSENT and hasattr(owner, "default_factory"):
            self.stop(frame, f"fills in {words}")
        elif value is ABSENT:
            self.contains(owner, key)
        elif type(owner) is dict and id(type(key)) in PLAIN:
            self.bind(item, owner, key, value, words, label_of(key))
        else:
            self.bind(read, owner, itemgetter(key), value, words, label_of(key))

    def contains(self, owner: Any, key: Any) -> None:
        get = partial(is_present, key=key)
        words = f"item {key!r:.40} of a {name_of(type(owner))}"
        self.bind(read, owner, get, get(owner), words, ("present", label_of(key)))

    # ---- arrays ----------------------------------------------------------------------------------

    def array_item(self, array: np.ndarray, key: Any) -> None:
        if not self.holds(array):
            return
        simple = array.dtype != object and not holds_variable(key)
        picked: Any = quietly(itemgetter(key), array) if simple else ABSENT
        if isa(picked, np.ndarray) and picked.base is not None:
            self.layout(array)  # a view: no number is read yet
        elif isa(picked, np.void):
            self.mark(picked)
            self.array(array)
        elif id(type(picked)) in SCALARS:
            words = f"an element of an array of shape {array.shape}"
            get = partial(element_of, key=key)
            self.bind(value_of, array, get, get(array), words, label_of(key))
        else:
            self.array(array)

    def array(self, array: np.ndarray) -> None:
        if array.dtype == object:
            held = objects_of(array)
            for value in held:
                self.mark(value)
            self.bind(contents, array, objects_of, held, "an array of objects")
        elif not self.probe and self.holds(array):
            words = f"an array of shape {array.shape}"
            self.bind(value_of, array, fingerprint, fingerprint(array), words)

    # ---- everything inside -----------------------------------------------------------------------

    def taken(self, value: Any, frame: FrameType | None = None) -> None:
        """Code that is not watched goes through the items of this, and no further."""
        if isa(value, np.ndarray):
            if value.ndim < 2:
                self.array(value)
            elif self.holds(value):
                self.layout(value)  # its rows are views
        else:
            self.whole(value, frame, numbers=False)

    def whole(self, value: Any, frame: FrameType | None = None, numbers: bool = True) -> None:
        """Code that is not watched may read everything in this, or everything but numbers."""
        pending, seen = [value], {id(value)}
        while pending:
            held = pending.pop()
            cls = type(held)
            self.specials(cls)
            if isa(held, CALLABLES):
                pending += _unseen(handed_on(self, frame, held), seen)
            elif isa(held, np.ndarray):
                if numbers or held.dtype == object:
                    self.array(held)
                pending += objects_of(held) if held.dtype == object else ()
            elif id(held) not in self.outside:  # made inside, perhaps of things outside
                pending += _unseen(parts_of(held) if cls in MADE_INSIDE else (), seen)
            elif isa(held, CONTAINERS):
                pending += _unseen(self._parts(held), seen)
            else:
                self.bytes_or_hidden(held, frame)

    def _parts(self, held: Any) -> list[Any]:
        parts, words = parts_of(held), f"an item of a {name_of(type(held))}"
        if type(held) is list and len(parts) <= SHORT_LIST:
            self.bind(size, held, None, len(parts), words)
            for n, part in enumerate(parts):
                self.bind(element, held, n, part, f"item {n} of a list")
        elif type(held) is list:
            self.bind(elements, held, None, tuple(parts), words)
        elif type(held) not in (tuple, frozenset):
            self.bind(contents, held, ended_parts_of, (*parts, ABSENT), words, parts_of)
        for part in parts:
            self.mark(part)
        return parts

    def bytes_or_hidden(self, held: Any, frame: FrameType | None) -> None:
        words = f"the bytes of a {name_of(type(held))}"
        if isa(held, bytearray) or named(type(held)) == ("array", "array"):
            self.bind(value_of, held, bytes, bytes(held), words)
        elif isa(held, np.void):
            self.bind(value_of, held, np.void.tobytes, held.tobytes(), words)
        else:
            self.object_handed_on(held, frame)

    def object_handed_on(self, held: Any, frame: FrameType | None) -> None:
        """An object from outside is handed to code that is not watched."""
        cls = type(held)
        module = named(cls)[0]
        if type(held) is FunctionType and not is_ours(held):
            self.function(held)  # which is perhaps called there
        elif isa(held, KNOWN) or module in IMMUTABLE_MODULES or module.startswith("chainrule"):
            return
        elif any(origin_of_class(b) is not Origin.USER and b is not object for b in bases_of(cls)):
            self.stop(frame, f"hands on a {module}.{name_of(cls)}, whose inside cannot be watched")

    def asked_class(self, value: Any) -> None:
        if id(value) in self.outside:
            self.bind(read, value, type, type(value), "the class of an object", "type")

    def beside_variables(self, value: Any) -> None:
        """An operand of an operation that is recorded: an array may be an input of the graph."""
        if isa(value, np.ndarray):
            self.beside[id(value)] = value
        elif type(value) is not Variable:
            self.looked_into(type(value))
            if id(value) in self.outside:
                self.whole(value)


def _unseen(parts: Iterable[Any], seen: set[int]) -> list[Any]:
    """Those that have something inside, each once: containers may hold themselves."""
    fresh = [p for p in parts if id(type(p)) not in NOTHING_INSIDE and id(p) not in seen]
    seen.update(map(id, fresh))
    return fresh

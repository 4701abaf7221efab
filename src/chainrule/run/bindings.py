"""Bindings outside a function: how each is read, and the check of all of them in every call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from chainrule.core.written import written

COMPARED = 10_000  # parts of two tuples; beyond it they count as different
UNROLLED = 32  # bindings of one kind that are checked one by one; more of them in a loop


class Absent:
    """What stands for a value where nothing is bound; also the end of a container's contents."""


ABSENT: Any = Absent()
# Classes are told apart by id: a metaclass may have an equality and a hash of the user's.
PLAIN = frozenset(map(id, (int, float, complex, bool, str, bytes, type(None))))
SCALARS = frozenset(map(id, {*np.sctypeDict.values()} - {np.void, np.object_}))
UNREADABLE = Exception  # a read that raises is a change, whatever it raises


class How(NamedTuple):
    """A way of being bound: the value now, and the text of the check that it is the expected one.

    Neither runs any of the user's code: the owner is exactly a dict or list where it is indexed,
    and a key that is called is a descriptor or an iterator of the interpreter's own.
    """

    value: Callable[[Any, Any], Any]
    check: str


item = How(lambda owner, key: owner[key], "{owner}[{key}] is {expected}")
element = How(lambda owner, key: owner[key], "{owner}[{key}] is {expected}")  # of a list
unbound = How(lambda owner, key: owner.get(key, ABSENT), "{key} not in {owner}")
cell = How(lambda owner, _: owner.cell_contents, "{owner}.cell_contents is {expected}")
code = How(lambda owner, _: owner.__code__, "{owner}.__code__ is {expected}")
kind = How(lambda owner, _: type(owner), "type({owner}) is {expected}")
size = How(lambda owner, _: len(owner), "len({owner}) == {expected}")
read = How(lambda owner, key: key(owner), "{key}({owner}) is {expected}")
method = How(lambda owner, key: key(owner).__func__, "{key}({owner}).__func__ is {expected}")
value_of = How(lambda owner, key: key(owner), "{key}({owner}) == {expected}")  # bytes, shapes
contents = How(lambda owner, key: tuple(key(owner)), "all(map(is_, {key}({owner}), {expected}))")
elements = How(lambda owner, _: tuple(owner), "items_are({owner}, {expected})")  # of a long list
# Dicts apart from lists: the interpreter indexes fastest where it meets one type.
HOWS = (item, unbound, cell, code, element, kind, size, read, method, value_of, contents, elements)


def items_are(held: list[Any], expected: tuple[Any, ...]) -> bool:
    """Whether a list holds these very objects: a thousand of them in a microsecond."""
    count = len(held)
    if count != len(expected):
        return False
    memory = _items_in_memory()
    if memory is None:
        return all(map(is_, held, expected))
    items, wanted = memory(held, expected)
    return bool(items == wanted)


@cache
def _items_in_memory() -> Callable[[list[Any], tuple[Any, ...]], tuple[bytes, bytes]] | None:
    """The pointers of a list and of a tuple as bytes; None where they lie in another way."""
    import ctypes  # only where a long list is watched

    read, word = ctypes.string_at, ctypes.sizeof(ctypes.c_size_t)
    first = tuple.__basicsize__  # behind the head of a tuple; in a list, where they are

    def memory(held: list[Any], expected: tuple[Any, ...]) -> tuple[bytes, bytes]:
        size = word * len(expected)
        at = ctypes.c_size_t.from_address(id(held) + first).value
        return read(at, size), read(id(expected) + first, size)

    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    probe = [object(), object()]
    ids = b"".join(id(o).to_bytes(word, sys.byteorder) for o in probe)
    return memory if memory(probe, tuple(probe)) == (ids, ids) else None


class Binding(NamedTuple):
    """Where a value is bound, and which."""

    how: How
    owner: Any
    key: Any
    expected: Any
    words: str

    def now(self) -> Any:
        return quietly(lambda owner: self.how.value(owner, self.key), self.owner)


def quietly(get: Callable[[Any], Any], owner: Any) -> Any:
    try:
        return get(owner)
    except UNREADABLE:
        return ABSENT


class Outside:
    """What a call read outside of its arguments, as it was bound.

    The values watched are kept alive.
    """

    __slots__ = ("_bindings", "as_before")

    def __init__(self, bindings: Iterable[Binding]):
        self._expect(tuple(bindings))

    def __len__(self) -> int:
        return len(self._bindings)

    def changed(self) -> str | None:
        """None if everything is bound as it was; else words for what was rebound."""
        return None if self.as_before() else self._rebound()

    def condition(self, scope: dict[str, Any]) -> str | None:
        """The check as an expression, whose names are put into `scope`; None where it is long."""
        if len(self._bindings) > UNROLLED:
            return None
        checks = []
        for n, b in enumerate(self._bindings):
            names = {part: f"{part}_{n}" for part in ("owner", "key", "expected")}
            scope.update(
                {names["owner"]: b.owner, names["key"]: b.key, names["expected"]: b.expected}
            )
            checks.append(b.how.check.format(**names))
        scope.update(is_=is_, items_are=items_are)
        return " and ".join(checks)

    def _expect(self, bindings: tuple[Binding, ...]) -> None:
        groups = [tuple(b for b in bindings if b.how is how) for how in HOWS]
        values: list[Any] = []
        for group in groups:
            places = tuple((b.owner, b.key, b.expected) for b in group)
            values += [places] if len(places) > UNROLLED else [v for place in places for v in place]
        self._bindings = bindings
        self.as_before = _maker(tuple(min(len(g), UNROLLED + 1) for g in groups))(*values)

    def _rebound(self) -> str | None:
        """The first binding to another value; an equal number takes the place of the old one."""
        rebound = []
        for binding in self._bindings:
            now = binding.now()
            if not same(now, binding.expected):
                return binding.words
            rebound.append(binding._replace(expected=now))
        self._expect(tuple(rebound))
        return None


CHECK = """
def make({parameters}):
    def as_before():
        try:
            {lines}
        except UNREADABLE:
            return False
        return True
    return as_before
"""
ONE = """if not ({check}): return False"""
SEVERAL = """for owner, key, expected in {name}:
                if not ({check}): return False"""


@lru_cache(maxsize=256)
def _maker(counts: tuple[int, ...]) -> Callable[..., Callable[[], bool]]:
    """What makes the check of so many bindings of each kind; its text depends on nothing else."""
    parameters, lines = [], []
    for h, (how, count) in enumerate(zip(HOWS, counts, strict=True)):
        if count > UNROLLED:
            parameters.append(f"many{h}")
            check = how.check.format(owner="owner", key="key", expected="expected")
            lines.append(SEVERAL.format(name=f"many{h}", check=check))
            continue
        for n in range(count):
            names = {part: f"{part}{h}_{n}" for part in ("owner", "key", "expected")}
            parameters += names.values()
            lines.append(ONE.format(check=how.check.format(**names)))
    indent = "\n" + " " * 12
    text = CHECK.format(parameters=", ".join(parameters), lines=indent.join(lines) or "pass")
    scope: dict[str, Any] = {
        "__name__": __name__, "UNREADABLE": UNREADABLE, "is_": is_, "items_are": items_are,
    }  # fmt: skip
    return written(text, "make", scope)


def same(now: Any, then: Any) -> bool:
    """Whether two values are one object, or equal numbers, strings or tuples of such.

    Only types that cannot be the user's are compared: equality of others would run their code.
    """
    stack = [(now, then)]
    for _ in range(COMPARED):
        if not stack:
            return True
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is tuple and len(a) == len(b):
            stack += [pair for pair in zip(a, b, strict=True) if pair[0] is not pair[1]]
        elif not _equal(a, b):
            return False
    return False


def _equal(a: Any, b: Any) -> bool:
    if type(a) is float or type(a) is complex:
        return repr(a) == repr(b)  # tells 0.0 from -0.0, and a NaN is itself
    if id(type(a)) in SCALARS:
        return bool(a.dtype == b.dtype and a.tobytes() == b.tobytes())
    return id(type(a)) in PLAIN and bool(a == b)

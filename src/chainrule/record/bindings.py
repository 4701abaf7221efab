"""Bindings outside a function: how each is read, and the check of all of them in every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, NamedTuple

import numpy as np

COMPARED = 10_000  # parts of two tuples; beyond it they count as different


class Absent:
    """What stands for a value where nothing is bound; also the end of a container's contents."""


ABSENT: Any = Absent()
PLAIN = (int, float, complex, bool, str, bytes, type(None))
SCALARS = frozenset(np.sctypeDict.values()) - {np.void, np.object_}
UNREADABLE = (KeyError, IndexError, ValueError, AttributeError, RuntimeError)


def item(owner: Any, key: Any) -> Any:
    return owner[key]


def element(owner: Any, key: Any) -> Any:
    return owner[key]


def cell(owner: Any, _: Any) -> Any:
    return owner.cell_contents


def code(owner: Any, _: Any) -> Any:
    return owner.__code__


def kind(owner: Any, _: Any) -> Any:
    return type(owner)


def size(owner: Any, _: Any) -> Any:
    return len(owner)


def read(owner: Any, key: Any) -> Any:
    return key(owner)


def contents(owner: Any, key: Any) -> Any:
    return tuple(key(owner))


def quietly(get: Callable[[Any], Any], owner: Any) -> Any:
    try:
        return get(owner)
    except UNREADABLE:
        return ABSENT


class Binding(NamedTuple):
    """Where a value is bound and which: `how` is one of the functions above.

    They run none of the user's code: dicts and lists are exactly that, and a `key` that is called
    is a descriptor or iterator of the interpreter's own.
    """

    how: Callable[[Any, Any], Any]
    owner: Any
    key: Any
    expected: Any
    words: str

    def now(self) -> Any:
        return quietly(lambda owner: self.how(owner, self.key), self.owner)


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
            stack.extend(zip(a, b, strict=True))
        elif not _equal(a, b):
            return False
    return False


def _equal(a: Any, b: Any) -> bool:
    if type(a) in (float, complex):
        return repr(a) == repr(b)  # tells 0.0 from -0.0, and a NaN is itself
    if type(a) in SCALARS:
        return bool(a.dtype == b.dtype and a.tobytes() == b.tobytes())
    return type(a) in PLAIN and bool(a == b)


# ---- the check in every call ---------------------------------------------------------------------


class Outside:
    """Everything that a function's code can reach outside of its arguments, as it was bound.

    `incomplete` says in words what is not watched.  The values watched are kept alive.
    """

    __slots__ = ("_bindings", "_checks", "incomplete")

    def __init__(self, bindings: Iterable[Binding], incomplete: Iterable[str] = ()):
        self.incomplete = tuple(incomplete)
        self._set(tuple(bindings))

    def _set(self, bindings: tuple[Binding, ...]) -> None:
        """Sorted by how they are read, so that each loop of `changed` meets one kind of object."""

        def those(how: Any) -> list[Binding]:
            return [b for b in bindings if b.how is how]

        self._bindings = bindings
        more = (
            tuple((b.owner, b.key, b.expected) for b in those(element)),
            tuple((b.owner, b.expected) for b in those(kind)),
            tuple((b.owner, b.expected) for b in those(size)),
            tuple((b.key, b.owner, b.expected) for b in those(read)),
            tuple((b.key, b.owner, b.expected) for b in those(contents)),
        )
        items = those(item)
        self._checks = (
            tuple((b.owner, b.key, b.expected) for b in items if b.expected is not ABSENT),
            tuple((b.owner, b.key) for b in items if b.expected is ABSENT),
            tuple((b.owner, b.expected) for b in those(cell)),
            tuple((b.owner, b.expected) for b in those(code)),
            more if any(more) else None,
        )

    def changed(self) -> str | None:
        """None if everything is bound as it was; else words for what was rebound."""
        items, absent, cells, codes, more = self._checks
        try:
            for owner, key, expected in items:
                if owner[key] is not expected:
                    return self._rebound()
            for owner, key in absent:
                if key in owner:
                    return self._rebound()
            for owner, expected in cells:
                if owner.cell_contents is not expected:
                    return self._rebound()
            for owner, expected in codes:
                if owner.__code__ is not expected:
                    return self._rebound()
        except UNREADABLE:
            return self._rebound()
        return None if more is None or _as_before(*more) else self._rebound()

    def _rebound(self) -> str | None:
        """The first binding to another value; an equal number takes the place of the old one."""
        found = []
        for binding in self._bindings:
            now = binding.now()
            if not same(now, binding.expected):
                return binding.words
            found.append(binding._replace(expected=now))
        self._set(tuple(found))
        return None


def _as_before(elements: Any, kinds: Any, sizes: Any, reads: Any, contents: Any) -> bool:
    try:
        for owner, key, expected in elements:
            if owner[key] is not expected:
                return False
        for owner, expected in kinds:
            if type(owner) is not expected:
                return False
        for owner, expected in sizes:
            if len(owner) != expected:
                return False
        for read, owner, expected in reads:
            if read(owner) is not expected:
                return False
        return not contents or all(all(map(is_, parts(c), old)) for parts, c, old in contents)
    except UNREADABLE:
        return False

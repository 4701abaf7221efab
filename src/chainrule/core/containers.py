"""Nested containers: taken apart into a flat list of leaves and put together again.

A container is a tuple, list, dict (OrderedDict, defaultdict), named tuple, dataclass instance or
None, which has no leaves. Everything else is a leaf, subclasses of the built-in ones included:
what such a class adds could not be rebuilt. Leaves come in the order of the container; those of a
dict in the sorted order of its keys where these compare, so that two dicts filled in different
order have the same structure.
"""

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from chainrule.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Opened:
    """A container without its children: its class, and their names in leaf order."""

    cls: type
    names: Sequence[Any]
    # How a dict was filled, and with which default: kept for `unflatten`, not part of equality.
    filled: tuple[Any, ...] = field(default=(), compare=False)
    default: Callable[[], Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Kind:
    """How containers of one kind are opened, rebuilt and written."""

    open: Callable[[Any], tuple[Opened, Iterable[Any]]]
    build: Callable[[Opened, list[Any]], Any]
    step: str  # from a container to its child, as in a path
    label: str  # before a child, as in the repr
    brackets: tuple[str, str]


@dataclass(frozen=True, repr=False)
class Structure:
    """A nested container whose leaves have been taken out; equal where the nesting is equal.

    `entries` lists containers and leaves (None) as they open, outside in and left to right: flat,
    so that comparing, hashing and deleting a structure 10⁶ deep recurse nowhere.
    """

    entries: tuple[Opened | None, ...]

    @property
    def count(self) -> int:
        """The number of leaves."""
        return self.entries.count(None)

    @property
    def paths(self) -> list[str]:
        """Where each leaf stands, written as one would reach it: `['W'][0].bias`."""
        return ["".join(at) for entry, at in self._walk() if entry is None]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The container with these leaves in place."""
        left = list(leaves)
        if len(left) != self.count:
            raise ArgumentError(f"this structure has {self.count} leaves, got {len(left)}")
        # Right to left, the children of a container are complete when it comes up.
        built: list[Any] = []
        for entry in reversed(self.entries):
            if entry is None:
                built.append(left.pop())
                continue
            cut = len(built) - len(entry.names)
            children = built[cut:]
            children.reverse()
            del built[cut:]
            built.append(_rebuild(entry, children))
        return built[0]

    def leaves_of(self, tree: Any, name: str = "the argument") -> list[Any]:
        """The leaves of `tree`, called `name` in the error raised where it is built differently."""
        leaves, other = flatten(tree)
        if other != self:
            raise ArgumentError(self._difference(other, name))
        return leaves

    def _difference(self, other: "Structure", name: str) -> str:
        # Up to the first entry that differs both are alike, so its path is the same in both; and
        # neither ends before it, since the rest would be children that no container has.
        walk = enumerate(self._walk())
        i, (entry, at) = next(pair for pair in walk if pair[1][0] != other.entries[pair[0]])
        return (
            f"{name}{''.join(at)} must be {_described(entry)}, got {_described(other.entries[i])}"
        )

    def _walk(self) -> Iterator[tuple[Opened | None, list[str]]]:
        """Each entry with the steps that lead to it, in one list that changes as the walk goes."""
        at: list[str] = []
        names: list[Iterator[str]] = []
        for entry in self.entries:
            yield entry, at
            if entry is not None:
                names.append(map(_kind_of(entry).step.format, entry.names))
                at.append("")
            while names:
                following = next(names[-1], None)
                if following is not None:
                    at[-1] = following
                    break
                names.pop()
                at.pop()

    def __repr__(self) -> str:
        pieces = ["Structure("]
        still_open: list[tuple[Iterator[str], str]] = []
        for entry in self.entries:
            if entry is None:
                pieces.append("*")
            else:
                before, labels, after = _written(entry)
                pieces.append(before)
                still_open.append((iter(labels), after))
            while still_open:
                following = next(still_open[-1][0], None)
                if following is not None:
                    pieces.append(following)
                    break
                pieces.append(still_open[-1][1])
                still_open.pop()
        return "".join([*pieces, ")"])


_BARE = Structure((None,))


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a nested container, and the structure that puts them back."""
    if _kind(type(tree)) is None:
        return [tree], _BARE
    leaves: list[Any] = []
    entries: list[Opened | None] = []
    pending: list[Iterator[Any]] = [iter((tree,))]
    inside: dict[int, None] = {}
    while pending:
        for child in pending[-1]:
            kind = _kind(type(child))
            if kind is None:
                leaves.append(child)
                entries.append(None)
                continue
            if id(child) in inside:
                raise ArgumentError(f"a {type(child).__name__} contains itself: it has no end")
            entry, children = kind.open(child)
            entries.append(entry)
            inside[id(child)] = None
            pending.append(iter(children))
            break
        else:
            pending.pop()
            if inside:
                inside.popitem()
    return leaves, Structure(tuple(entries))


def opened(tree: Any) -> tuple[Opened, list[Any]] | None:
    """A container without its children, and these; None of a leaf."""
    kind = _kind(type(tree))
    if kind is None:
        return None
    entry, children = kind.open(tree)
    return entry, list(children)


def map_leaves(f: Callable[..., Any], tree: Any, *more: Any) -> Any:
    """`tree` with each leaf replaced by f of it and the leaves in the same place of `more`."""
    leaves, structure = flatten(tree)
    others = [structure.leaves_of(other, f"tree {i}") for i, other in enumerate(more, start=2)]
    return structure.unflatten([f(*column) for column in zip(leaves, *others, strict=True)])


def _find_kind(cls: type) -> Kind | None:
    """How to open instances of this class; None where they are leaves."""
    if cls in _BUILT_IN:
        return _BUILT_IN[cls]
    fields = getattr(cls, "_fields", None)
    if issubclass(cls, tuple) and isinstance(fields, tuple):
        return _with_attributes(cls, fields, _build_named_tuple)
    if dataclasses.is_dataclass(cls):
        names = tuple(f.name for f in dataclasses.fields(cls) if f.init)
        return _with_attributes(cls, names, _build_dataclass)
    return None


_kind: Callable[[type], Kind | None] = lru_cache(maxsize=1024)(_find_kind)


def _kind_of(entry: Opened) -> Kind:
    kind = _kind(entry.cls)
    assert kind is not None
    return kind


def _rebuild(entry: Opened, children: list[Any]) -> Any:
    try:
        return _kind_of(entry).build(entry, children)
    except TypeError as error:
        raise ArgumentError(
            f"{entry.cls.__name__} cannot be rebuilt from {', '.join(entry.names)}: {error}"
        ) from error


def _written(entry: Opened) -> tuple[str, list[str], str]:
    """What the repr of a container puts before, between and after its children."""
    kind = _kind_of(entry)
    name = "" if entry.cls in (tuple, list, dict, type(None)) else entry.cls.__name__
    labels = [kind.label.format(child) for child in entry.names]
    labels[1:] = [f", {label}" for label in labels[1:]]
    before, after = kind.brackets
    if entry.cls is tuple and len(labels) == 1:
        after = "," + after
    return name + before, labels, after


def _described(entry: Opened | None) -> str:
    if entry is None:
        return "a leaf"
    if not entry.names:
        return "None" if entry.cls is type(None) else f"an empty {entry.cls.__name__}"
    if isinstance(entry.names, range):
        return f"a {entry.cls.__name__} of {len(entry.names)}"
    return f"a {entry.cls.__name__} with {', '.join(map(repr, entry.names))}"


def _open_dict(tree: dict[Any, Any]) -> tuple[Opened, Iterable[Any]]:
    filled = tuple(tree)
    try:
        names = tuple(sorted(filled))
    except TypeError:
        names = filled
    default = tree.default_factory if isinstance(tree, defaultdict) else None
    return Opened(type(tree), names, filled, default), [tree[name] for name in names]


def _build_dict(entry: Opened, children: list[Any]) -> Any:
    by_name = dict(zip(entry.names, children, strict=True))
    tree = {name: by_name[name] for name in entry.filled}
    if entry.cls is dict:
        return tree
    return defaultdict(entry.default, tree) if entry.cls is defaultdict else entry.cls(tree)


def _build_dataclass(entry: Opened, children: list[Any]) -> Any:
    return entry.cls(**dict(zip(entry.names, children, strict=True)))


def _build_named_tuple(entry: Opened, children: list[Any]) -> Any:
    # Not the constructor, which a subclass may have given other arguments.
    return tuple.__new__(entry.cls, children)


def _with_attributes(
    cls: type, names: tuple[str, ...], build: Callable[[Opened, list[Any]], Any]
) -> Kind:
    entry = Opened(cls, names)
    return Kind(
        lambda tree: (entry, [getattr(tree, name) for name in names]),
        build,
        ".{}",
        "{}=",
        ("(", ")"),
    )


# Shared, since making one takes 1 µs.
_by_position: Callable[[type, int], Opened] = lru_cache(maxsize=256)(
    lambda cls, length: Opened(cls, range(length))
)


def _sequence(brackets: tuple[str, str]) -> Kind:
    return Kind(
        lambda tree: (_by_position(type(tree), len(tree)), tree),
        lambda entry, children: entry.cls(children),
        "[{}]",
        "",
        brackets,
    )


_DICT = Kind(_open_dict, _build_dict, "[{!r}]", "{!r}: ", ("{", "}"))
_NONE = Kind(lambda _: (_by_position(type(None), 0), ()), lambda *_: None, "", "", ("None", ""))
_BUILT_IN: dict[type, Kind] = {
    tuple: _sequence(("(", ")")),
    list: _sequence(("[", "]")),
    dict: _DICT,
    OrderedDict: _DICT,
    defaultdict: _DICT,
    type(None): _NONE,
}

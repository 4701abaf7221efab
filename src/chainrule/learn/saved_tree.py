"""Nested containers of arrays as bytes of safetensors and a description that JSON can hold.

The description lists containers and leaves as they open, outside in and left to right, so that no
depth of nesting makes the JSON deep.  Of named tuples and dataclasses only the names of the fields
are kept: no class is ever looked up by a name in a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, CheckpointError, UnsupportedError
from chainrule.tree import Opened, Structure, flatten

MAX_AXES = 64  # NumPy's own limit
LONGEST_PATHS = 10**6  # steps in the paths of all leaves: a small hostile file could have 10⁹
DTYPES = frozenset(
    (
        *("bool", "float16", "float32", "float64", "complex64", "complex128"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)


def described(tree: Any) -> tuple[Description, bytes]:
    """A tree of arrays as its description and its data."""
    leaves, structure = flatten(tree)
    arrays = [_saved(leaf, i, structure) for i, leaf in enumerate(leaves)]
    description = Description(
        [_encoded(entry) for entry in structure.entries],
        [[array.dtype.name, list(array.shape)] for array in arrays],
    )
    pairs = zip(description.names, map(_storable, arrays), strict=True)
    return description, _safetensors().numpy.save(dict(pairs))


def rebuilt(description: Description, data: bytes, like: Any = None) -> Any:
    """The tree of these data, in the containers of `like` if it is given."""
    structure = description.tree if like is None else flatten(like)[1]
    return structure.unflatten(_leaves(data, description))


@dataclass(frozen=True)
class Description:
    """The containers of a tree, and the type and shape of each array, as JSON holds them."""

    structure: Any
    arrays: Any

    @cached_property
    def tree(self) -> Structure:
        """The structure, of plain containers."""
        if type(self.structure) is not list:
            raise CheckpointError("its structure is not a list")
        entries = tuple(map(_decoded, self.structure))
        missing = 1  # how many entries the containers opened so far still need
        for entry in entries:
            if missing == 0:
                break
            missing += -1 if entry is None else len(entry.names) - 1
        # Nothing is missing, and nothing is left over: each entry but the first is a child.
        children = sum(len(entry.names) for entry in entries if entry is not None)
        if missing or children != len(entries) - 1:
            raise CheckpointError("its structure has too many or too few entries")
        return Structure(entries)

    @cached_property
    def specs(self) -> list[tuple[np.dtype, tuple[int, ...]]]:
        if type(self.arrays) is not list or len(self.arrays) != self.tree.count:
            raise CheckpointError("its structure and its list of arrays do not agree")
        return [_spec(each) for each in self.arrays]

    @cached_property
    def names(self) -> list[str]:
        """What each array is called in the safetensors: its path, or its number in a deep tree."""
        depth, length, open_counts = 0, 0, []
        for entry in self.tree.entries:
            length += depth if entry is None else 0
            open_counts.append(0 if entry is None else len(entry.names))
            while open_counts and open_counts[-1] == 0:
                open_counts.pop()
                if open_counts:
                    open_counts[-1] -= 1
            depth = len(open_counts)
        if length > LONGEST_PATHS:
            return [f"tree {i}" for i in range(self.tree.count)]
        return [f"tree{path}" for path in self.tree.paths]

    def check(self, like: Any, most: int) -> None:
        """Raise unless the arrays can be in `most` bytes and are those of `like` (if given)."""
        declared = sum(prod(shape) * dtype.itemsize for dtype, shape in self.specs)
        if declared > most:
            raise CheckpointError(f"its arrays would take {declared} bytes; their file has {most}")
        if like is None:
            return
        leaves, structure = flatten(like)
        if Structure(tuple(_decoded(_encoded(entry)) for entry in structure.entries)) != self.tree:
            raise CheckpointError(
                f"it holds {_short(self.tree)}, where {_short(structure)} is expected: another "
                "model?"
            )
        for i, (leaf, (dtype, shape)) in enumerate(zip(leaves, self.specs, strict=True)):
            wanted = np.asarray(leaf)
            if (wanted.dtype, wanted.shape) != (dtype, shape):
                raise CheckpointError(
                    f"{structure.paths[i]} is {dtype} of shape {shape}, where {wanted.dtype} of "
                    f"shape {wanted.shape} is expected: another model?"
                )


def _encoded(entry: Opened | None) -> list[Any]:
    if entry is None:
        return ["leaf"]
    if entry.cls is type(None):
        return ["none"]
    if entry.cls in (tuple, list):
        return [entry.cls.__name__, len(entry.names)]
    if not all(type(name) in (str, int) for name in entry.names):
        raise ArgumentError(
            f"a checkpoint has dicts with strings or whole numbers as keys, got {entry.names!r}"
        )
    return ["dict", list(entry.names)]


def _decoded(held: Any) -> Opened | None:
    match held:
        case ["leaf"]:
            return None
        case ["none"]:
            return Opened(type(None), range(0))
        case ["tuple" | "list" as kind, length] if type(length) is int and 0 <= length < 2**31:
            return Opened(tuple if kind == "tuple" else list, range(length))
        case ["dict", list(names)]:
            if all(type(name) in (str, int) for name in names) and len(set(names)) == len(names):
                return Opened(dict, tuple(names), tuple(names))
    raise CheckpointError(f"its structure holds {repr(held)[:80]}, which is no container")


def _spec(held: Any) -> tuple[np.dtype, tuple[int, ...]]:
    match held:
        case [str(name), list(shape)] if name in DTYPES and len(shape) <= MAX_AXES:
            if all(type(size) is int and 0 <= size < 2**62 for size in shape):
                return np.dtype(name), tuple(shape)
    raise CheckpointError(f"{repr(held)[:80]} is not the type and shape of an array")


def _short(structure: Structure) -> str:
    text = repr(structure)
    return text if len(text) <= 200 else text[:200] + "…"


def _saved(leaf: Any, position: int, structure: Structure) -> np.ndarray:
    array = np.asarray(leaf)
    if array.dtype.name not in DTYPES:
        path = structure.paths[position]
        raise ArgumentError(f"{path or 'the tree'} is {array.dtype}: a checkpoint holds numbers")
    return array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


def _storable(array: np.ndarray) -> np.ndarray:
    """Complex numbers are written as pairs: safetensors has no complex128."""
    if array.dtype.kind != "c":
        return array
    return np.stack([array.real, array.imag], axis=-1)


def _leaves(data: bytes, description: Description) -> list[np.ndarray]:
    library = _safetensors()
    try:
        found = library.numpy.load(data)
    except (library.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"its arrays cannot be read: {error}") from None
    if set(found) != set(description.names):
        raise CheckpointError("the names of its arrays are not those of its structure")
    leaves = []
    for name, (dtype, shape) in zip(description.names, description.specs, strict=True):
        array = np.array(found[name])
        if (
            dtype.kind == "c"
            and array.shape == (*shape, 2)
            and array.dtype == dtype.type().real.dtype
        ):
            array = array.view(dtype).reshape(shape)
        if (array.dtype, array.shape) != (dtype, shape):
            raise CheckpointError(f"{name} is {array.dtype} of {array.shape}, not {dtype} {shape}")
        leaves.append(array)
    return leaves


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise UnsupportedError(
            "checkpoints need safetensors: pip install 'chainrule[learn]'"
        ) from None
    return safetensors

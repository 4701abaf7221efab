"""What a worker does: it loads shards, evaluates the compiled function on each, and adds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import chainrule as cr
from chainrule import tree
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.learn.numeric import numbers
from chainrule.scale.additions import Additions, Part
from chainrule.scale.failing import failure_of
from chainrule.scale.shards import Arrays, Source

Columns: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]  # of each array: type, shape of a row


@dataclass(frozen=True, eq=False)
class Work:
    """What is computed of each shard: `kind` names one of `KINDS`.

    With `keyed`, the last of the arguments is a key that each shard gets one of its own from.
    """

    f: Callable[..., Any]
    kind: str
    mean: bool = False
    has_aux: bool = False
    keyed: bool = False
    compile: bool = True
    dtype: str = "float64"  # in which shards are added

    @cached_property
    def evaluator(self) -> Evaluator:
        """What computes it in this process, compiled once for all passes."""
        return Evaluator(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "evaluator"}


class Layout(NamedTuple):
    """How a vector of numbers becomes the result again."""

    structure: tree.Structure
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


@dataclass
class Share:
    """What a worker has made of its shards."""

    worker: str
    parts: list[Part] = field(default_factory=list)
    rows: int = 0
    layout: Layout | None = None
    columns: Columns | None = None
    seconds: dict[int, float] = field(default_factory=dict)  # of each shard
    compiled: bool = False  # whether a shard was computed by machine code
    gave_up: bool = False  # whether it depends on the shards before whether one is


class Evaluator:
    """One function, compiled once in this process for all passes."""

    def __init__(self, work: Work):
        self.work = work
        function = KINDS[work.kind](work)
        compiled = work.compile and find_spec("llvmlite") is not None
        self.function: Any = cr.compile(function) if compiled else function
        self.compiled = compiled
        self.has_compiled = False  # whether any shard was, so far

    def share(self, args: tuple[Any, ...], source: Source, low: int, high: int, worker: str) -> Any:
        """What becomes of the shards from low to high: a `Share`, or a `Failure`."""
        share, additions = Share(worker), Additions()
        arrays: Arrays = ()
        for shard in range(low, high):
            began = perf_counter()
            try:
                arrays = ()
                arrays = source.load(shard)
                self._check(share, arrays, source, shard)
                vector = self._vector(share, args, arrays, shard)
            except Exception as error:  # noqa: BLE001 - it is told to all workers, with its line
                columns = columns_of(arrays) if arrays else None
                return failure_of(error, shard, source.described(shard), worker, columns)
            additions.push(Part(shard, 1, vector))
            share.rows += len(arrays[0])
            share.seconds[shard] = perf_counter() - began
            self._note_compiled(share)
        share.parts = additions.parts
        return share

    def results(self, args: tuple[Any, ...], source: Source, low: int, high: int) -> list[Any]:
        """The results of the shards themselves, where they are not added."""
        found = []
        for shard in range(low, high):
            arrays = source.load(shard)
            _check_rows(arrays, source, shard)
            result = self._call(args, arrays, shard)
            for leaf in tree.leaves(result):
                _check_result(np.shape(leaf), len(arrays[0]))
            found.append(result)
        return found

    def _call(self, args: tuple[Any, ...], arrays: Arrays, shard: int) -> Any:
        if self.work.keyed:
            arrays = (*arrays, _key_of(args[-1], shard))
            args = args[:-1]
        if self.compiled:
            return self.function(*args, *arrays)
        with one_thread():
            return self.function(*args, *arrays)

    def _vector(self, share: Share, args: Any, arrays: Arrays, shard: int) -> np.ndarray:
        """The numbers of the result, times the rows of the shard where a mean is asked for."""
        leaves, structure = tree.flatten(self._call(args, arrays, shard))
        arrays_of = [np.asarray(leaf) for leaf in leaves]
        for array, path in zip(arrays_of, structure.paths, strict=True):
            if array.dtype.kind not in "biufc":
                raise DTypeError(f"the result{path} is {array.dtype}: only numbers can be added")
        shapes, dtypes = zip(*((a.shape, a.dtype.str) for a in arrays_of), strict=True)
        layout = Layout(structure, shapes, dtypes)
        if share.layout is not None and layout != share.layout:
            raise ShapeError(
                "the results of shards cannot be added: this one has the shapes "
                f"{_listed(shapes)}, those before {_listed(share.layout.shapes)}.  What a loss "
                "returns beside its value must be as large for any rows: return sums over rows"
            )
        share.layout = layout
        vector = np.concatenate([_flat(a, self.work.dtype) for a in arrays_of])
        if self.work.mean:
            vector *= len(arrays[0])
        return vector

    def _check(self, share: Share, arrays: Arrays, source: Source, shard: int) -> None:
        _check_rows(arrays, source, shard)
        columns = columns_of(arrays)
        if share.columns is not None and columns != share.columns:
            raise ShapeError(unlike(columns, share.columns))
        share.columns = columns

    def _note_compiled(self, share: Share) -> None:
        """Whether a shard is machine code may depend on it alone: see `check_compiled`."""
        if not self.compiled:
            return
        f = self.function
        self.has_compiled = self.has_compiled or bool(f.variants)
        share.gave_up = f.interpreted or bool({"branches", "differs"} & f.limits.warned)
        share.compiled = self.has_compiled


def _gradient(work: Work) -> Callable[..., Any]:
    return cr.value_and_grad(work.f, has_aux=work.has_aux)


def _product(work: Work) -> Callable[..., Any]:
    loss = work.f

    def product(params: Any, tangent: Any, *rows: Any) -> Any:
        return cr.hvp(lambda p: loss(p, *rows), (params,), (tangent,))

    return product


def _jacobian(work: Work) -> Callable[..., Any]:
    return cr.jacobian(work.f)


KINDS: dict[str, Callable[[Work], Callable[..., Any]]] = {
    "gradient": _gradient,
    "product": _product,
    "jacobian": _jacobian,
    "value": lambda work: work.f,
}


def own(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments whose leaves are arrays: Python's numbers would be constants of compiled code."""
    leaves, structure = tree.flatten(args)
    named = zip(leaves, structure.paths, strict=True)
    return structure.unflatten(numbers(leaf, _named(path)) for leaf, path in named)


def _named(path: str) -> str:
    """A leaf of (parameters, tangent), by its path."""
    first, _, rest = path.partition("]")
    return f"{'params' if first == '[0' else 'tangent'}{rest}"


def placed(vector: np.ndarray, layout: Layout) -> Any:
    """The result whose numbers these are, in the types that one shard gave."""
    leaves, start = [], 0
    for shape, text in zip(layout.shapes, layout.dtypes, strict=True):
        dtype = np.dtype(text)
        size = int(np.prod(shape)) * (2 if dtype.kind == "c" else 1)
        piece = vector[start : start + size]
        start += size
        if dtype.kind == "c":
            piece = piece.view(np.result_type(piece.dtype, np.complex64))
        wanted = dtype if dtype.kind in "fc" else np.dtype(np.float64)
        leaves.append(np.array(piece.reshape(shape), wanted)[()])
    return layout.structure.unflatten(leaves)


def _flat(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of an array, the parts of complex ones, in the type that is added in."""
    if array.dtype.kind == "c":
        array = np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)
    return array.reshape(-1).astype(dtype)


def _key_of(key: np.ndarray, shard: int) -> np.ndarray:
    high, low = (int(word) for word in key)
    return cr.key(((high << 64 | low) << 64) + shard)


def columns_of(arrays: Arrays) -> Columns:
    return tuple((array.dtype.str, array.shape[1:]) for array in arrays)


def unlike(these: Columns, those: Columns) -> str:
    return (
        f"its arrays have rows of {_columns(these)}, those of other shards rows of "
        f"{_columns(those)}: all shards need the same columns and types"
    )


def _columns(columns: Columns) -> str:
    return _listed(f"{np.dtype(dtype).name}{shape}" for dtype, shape in columns)


def _listed(values: Any) -> str:
    return ", ".join(map(str, values))


def _check_rows(arrays: Arrays, source: Source, shard: int) -> None:
    if not arrays or any(array.ndim == 0 for array in arrays):
        raise ShapeError("load must return arrays with rows, or a tuple of them")
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ShapeError(f"its arrays must have equally many rows, got {_listed(lengths)}")
    if not lengths[0]:
        raise ArgumentError("it has no rows: make fewer shards, so that each has some")


def _check_result(shape: tuple[int, ...], rows: int) -> None:
    if shape[:1] != (rows,):
        raise ShapeError(
            f"the Jacobian has the shape {shape}, where the shard has {rows} rows: return "
            "something for each row, or use scale.value_and_grad for a sum over them"
        )


# ---- BLAS on one thread --------------------------------------------------------------------------


@cache
def _controller() -> Any:
    if find_spec("threadpoolctl") is None:
        return None
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _OneThread:
    """How many are inside; the first sets the limit, and the last takes it back."""

    lock = Lock()
    inside = 0
    limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's BLAS rounds differently for every number of its threads; compiled code does not."""
    controller, state = _controller(), _OneThread
    if controller is None:
        yield
        return
    with state.lock:
        state.inside += 1
        if state.inside == 1:
            state.limit = controller.limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with state.lock:
            state.inside -= 1
            if not state.inside:
                state.limit.restore_original_limits()

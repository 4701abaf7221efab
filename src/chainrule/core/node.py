"""One recorded operation: its rule, its parents, what its derivative reads, and the user's line."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from os.path import basename
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.spec import Shape, Spec

if TYPE_CHECKING:
    from chainrule.core.op import Op
    from chainrule.core.rule import Rule

NO_ATTRS: dict[str, Any] = {}
NOTHING = object()  # saved by a node whose rule would save one value


class Node:
    """An operation that happened.

    `parents` are the inputs through which a derivative flows, `saved` the values its rule reads.
    `args` lists every argument, nodes and constants alike, while a trace is made.  Nothing else
    that the rule does not read is kept: an intermediate array dies as soon as user code drops it.

    Parents and saved values have slots of their own and no tuples around them: Python's garbage
    collector visits every tuple of a large graph again and again.
    """

    __slots__ = (
        "rule", "first", "second", "others", "kept", "attrs", "shape", "dtype", "code", "lasti",
        "args", "watch",
    )  # fmt: skip
    rule: Rule
    first: Any  # the parents: two, or None in their place, and others
    second: Any
    others: tuple[Node, ...]
    kept: Any  # what is saved: the one value where the rule is `bare`, else a tuple
    attrs: dict[str, Any]
    shape: Shape
    dtype: np.dtype[Any]
    code: Any  # the user's code object and the instruction in it; or a StoredLine and 0
    lasti: int
    args: Any  # every argument, as a tuple; None where nothing is traced
    watch: Any

    def __init__(
        self,
        rule: Any,
        parents: tuple[Any, ...],
        saved: tuple[Any, ...],
        attrs: dict[str, Any],
        shape: Shape,
        dtype: np.dtype[Any],
        code: Any = None,
        lasti: int = 0,
        args: tuple[Any, ...] | None = None,
        watch: Any = None,
    ):
        count = len(parents)
        self.rule = rule
        self.first = parents[0] if count else None
        self.second = parents[1] if count > 1 else None
        self.others = parents[2:] if count > 2 else ()
        self.kept = saved
        if rule is not None and rule.bare:
            self.kept = saved[0] if saved else NOTHING
        self.attrs = attrs
        self.shape = shape
        self.dtype = dtype
        self.code = code
        self.lasti = lasti
        self.args = args
        self.watch = watch

    def on(self, args: Sequence[Any], attrs: dict[str, Any] | None = None) -> Node:
        """The same operation on other arguments of the same dtypes, on the same line."""
        parents = tuple([args[i] for i in self.rule.positions])
        attrs = self.attrs if attrs is None else attrs
        line = self.code, self.lasti
        return Node(self.rule, parents, (), attrs, self.shape, self.dtype, *line, tuple(args))

    @property
    def parents(self) -> tuple[Node, ...]:
        """The nodes a derivative flows to."""
        if self.second is not None:
            return (self.first, self.second, *self.others)
        return () if self.first is None else (self.first,)

    @property
    def saved(self) -> tuple[Any, ...]:
        """The values its rule reads, as the rule's `saved_names` name them; () if not there."""
        if self.rule is None or not self.rule.bare:
            return self.kept
        return () if self.kept is NOTHING else (self.kept,)

    name: Any = None
    is_leaf = False

    @property
    def op(self) -> Op:
        return self.rule.op

    @property
    def spec(self) -> Spec:
        return Spec(self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.spec.size

    @property
    def line(self) -> Line | StoredLine | None:
        """Where in the user's code this happened; None when it is not known."""
        return line_at(self.code, self.lasti)

    def with_saved(self, saved: tuple[Any, ...]) -> Node:
        """The same node with other saved values, for a run at another point or on Variables."""
        return Node(
            self.rule, self.parents, saved, self.attrs, self.shape, self.dtype, self.code,
            self.lasti, self.args, self.watch,
        )  # fmt: skip

    def release(self) -> None:
        """Drop what is saved, when a recording ends; a node of a graph refuses."""
        self.kept = NOTHING if self.rule is not None and self.rule.bare else ()

    def __repr__(self) -> str:
        label = f" {self.name!s}" if self.name is not None else ""
        where = f" at {self.line}" if self.line else ""
        what = "leaf" if self.is_leaf else self.op.name
        return f"<node {what}{label} {Spec(self.shape, self.dtype)}{where}>"

    # A node is itself: a copy would be another operation.
    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __copy__(self) -> Node:
        return self


class GraphNode(Node):
    """A node of a Graph: it never changes."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a graph never changes: cannot set {name} of {self!r}")


class Leaf(Node):
    """A node nothing feeds: a variable.  `grad` is filled by `backward()` and by nothing else."""

    is_leaf = True
    open = True  # somebody may still differentiate with respect to it
    name: Any
    grad: Any

    @property
    def op(self) -> Op:
        raise AttributeError("a leaf has no op")


class GraphLeaf(Leaf):
    """A leaf of a Graph: like its other nodes, it never changes."""

    __slots__ = ()
    __setattr__ = GraphNode.__setattr__


def make_leaf(
    shape: Shape, dtype: np.dtype[Any], name: Any, code: Any = None, lasti: int = 0
) -> Leaf:
    leaf = Leaf(None, (), (), NO_ATTRS, shape, dtype, code, lasti, ())
    leaf.name = name
    leaf.grad = None
    return leaf


Span = tuple[int | None, int | None, int | None, int | None]


@lru_cache(maxsize=4096)  # a loop records one line a million times
def span_of(code: CodeType, lasti: int) -> Span:
    return next(
        islice(code.co_positions(), lasti // 2, None), (code.co_firstlineno, None, None, None)
    )


class Line:
    """A place in the user's source; file, number and text are looked up only when asked for."""

    __slots__ = ("code", "lasti")

    def __init__(self, code: CodeType, lasti: int):
        self.code, self.lasti = code, lasti

    @property
    def positions(self) -> Span:
        """First line, last line, first column and end column of the expression."""
        return span_of(self.code, self.lasti)

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def number(self) -> int:
        return self.positions[0] or self.code.co_firstlineno

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        return f"{basename(self.file)}:{self.number}"

    def shown(self) -> str:
        """File, number and the line itself, as error messages print it."""
        text = self.text
        return f"{self}    {text}" if text else str(self)


class StoredLine:
    """A line of source that came with a graph read from a file, or a part of a typed formula."""

    __slots__ = ("file", "number", "text")

    def __init__(self, file: str, number: int, text: str):
        self.file, self.number, self.text = file, number, text

    def __str__(self) -> str:
        return f"{basename(self.file)}:{self.number}"

    def shown(self) -> str:
        return f"{self}    {self.text}"


def line_at(code: Any, lasti: int) -> Any:
    """The line of an instruction; where `code` is a line itself, that one, or None."""
    return Line(code, lasti) if isinstance(code, CodeType) else code

"""One recorded operation: its rule, its parents, what its derivative reads, and the user's line."""

from __future__ import annotations

import linecache
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
_new = object.__new__


class Draft:
    """A node in the making: its fields can be set, until `make_node` turns it into a Node."""

    __slots__ = (
        "rule", "parents", "saved", "attrs", "shape", "dtype", "code", "lasti", "args", "watch",
    )  # fmt: skip
    rule: Rule
    parents: tuple[Node, ...]
    saved: tuple[Any, ...]
    attrs: dict[str, Any]
    shape: Shape
    dtype: np.dtype[Any]
    code: Any  # the user's code object and the instruction in it; or a StoredLine and 0
    lasti: int
    args: tuple[Any, ...] | None
    watch: Any


class Node(Draft):
    """An operation that happened; it never changes.

    `parents` are the inputs through which a derivative flows.  `args` lists every argument, nodes
    and constants alike, and is kept only while tracing; so is nothing else that the rule does not
    read, and an intermediate array dies as soon as user code drops it.
    """

    __slots__ = ()

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
        fields = rule, parents, saved, attrs, shape, dtype, code, lasti, args, watch
        for name, value in zip(Draft.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a recorded node never changes: cannot set {name}")

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
        code = self.code
        return Line(code, self.lasti) if isinstance(code, CodeType) else code

    def with_saved(self, saved: tuple[Any, ...]) -> Node:
        """The same node with other saved values, for a run at another point or on Variables."""
        return make_node(
            self.rule, self.parents, saved, self.attrs, self.shape, self.dtype, self.code,
            self.lasti, self.args, self.watch,
        )  # fmt: skip

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


def make_node(
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
) -> Node:
    """A Node, made in a fifth of the time that setting the fields of an immutable object takes."""
    node: Any = _new(Draft)
    node.rule = rule
    node.parents = parents
    node.saved = saved
    node.attrs = attrs
    node.shape = shape
    node.dtype = dtype
    node.code = code
    node.lasti = lasti
    node.args = args
    node.watch = watch
    node.__class__ = Node
    return node


class Leaf(Node):
    """A node nothing feeds: a variable.  `grad` is filled by `backward()` and by nothing else."""

    is_leaf = True
    live = True  # somebody may still differentiate with respect to it
    name: Any
    grad: Any

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Draft.__slots__:
            super().__setattr__(name, value)
        object.__setattr__(self, name, value)

    @property
    def op(self) -> Op:
        raise AttributeError("a leaf has no op")


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
    """A line of source that came with a graph read from a file."""

    __slots__ = ("file", "number", "text")

    def __init__(self, file: str, number: int, text: str):
        self.file, self.number, self.text = file, number, text

    def __str__(self) -> str:
        return f"{basename(self.file)}:{self.number}"

    def shown(self) -> str:
        return f"{self}    {self.text}"

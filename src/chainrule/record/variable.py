"""Variable: an array whose history is recorded."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from opcode import opmap
from types import FrameType
from typing import Any

import numpy as np

from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import NO_ATTRS, Leaf, Line, Node, line_at, make_leaf
from chainrule.core.op import OPS, Op
from chainrule.core.rule import rule_for
from chainrule.errors import DetachError, DTypeError, UnsupportedError, ViewWriteError
from chainrule.ops import indexing, structure
from chainrule.ops.index import split_index
from chainrule.ops.joining import MASKED
from chainrule.ops.sparse_values import boxed
from chainrule.record.making import item_maker
from chainrule.record.protocol import (
    array_function,
    array_ufunc,
    lost_in_assignment,
    lost_in_conversion,
    ufunc_makers,
    ufunc_ops,
)
from chainrule.record.recorder import FOREIGN, as_operand, call, record, translated
from chainrule.record.state import current, is_constant, may_flow, user_frame, user_line

DOUBLE = np.dtype(np.float64)
CACHE, SWAP = opmap["CACHE"], opmap["SWAP"]
STORE_ITEM = {opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opmap}  # a[i] = v
_frame = sys._getframe


class Variable:
    """An array and the node that produced it: its value is always there, its node its history."""

    __slots__ = ("__weakref__", "_base", "_leaf", "_value", "_views", "node")
    _value: Any
    _base: Variable
    _leaf: Leaf
    _views: list[tuple[weakref.ref[Variable], Op, dict[str, Any]]]
    node: Node

    def __init__(self, value: Any, node: Node):
        self._value = value
        self.node = node

    # -- what it is --------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The number or array itself, read-only: derivatives may still need it as it is."""
        self._note_read()
        value = self._value
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        return value

    def _note_read(self) -> None:
        """Python code is given the number itself, and may act on it: the compiler guards it."""
        tracing = current.get().tracing
        if tracing is not None:
            tracing.read(self)

    def _note_part(self, op: str, *args: Any) -> None:
        """Python code is given what an op makes of the number, and nothing else of it."""
        tracing = current.get().tracing
        if tracing is not None and tracing.guarded:
            tracing.read(OPS[op](self, *args) if self.dtype.kind in "fc" else self)

    def _note_shape(self) -> None:
        """Python code is told the shape; where it depends on values, the compiler guards it."""
        tracing = current.get().tracing
        if tracing is not None:
            tracing.read_shape(self)

    def _note_text(self) -> None:
        """Python code makes a text or a key of the number."""
        tracing = current.get().tracing
        if tracing is not None:
            tracing.text_of(self)

    @property
    def shape(self) -> tuple[int, ...]:
        self._note_shape()
        return self._value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._value.dtype

    @property
    def ndim(self) -> int:
        return self._value.ndim

    @property
    def size(self) -> int:
        self._note_shape()
        return self._value.size

    @property
    def nbytes(self) -> int:
        self._note_shape()
        return self._value.nbytes

    @property
    def name(self) -> Any:
        return self.node.name

    @property
    def line(self) -> Any:
        """The line of user code that made this value."""
        return self.node.line

    # -- its gradient ------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """What `backward()` calls have added up on this leaf; None before the first."""
        leaf: Any = getattr(self, "_leaf", self.node)
        return leaf.grad if self.is_leaf else None

    @property
    def is_leaf(self) -> bool:
        return hasattr(self, "_leaf")

    def zero_grad(self) -> None:
        """Forget the gradient collected so far."""
        if self.is_leaf:
            self._leaf.grad = None

    backward = lazy_method("chainrule.diff.backward", "backward")
    along = lazy_method("chainrule.diff.history", "along")

    # -- recording ---------------------------------------------------------------------------

    @property
    def _plain(self) -> Any:
        """What a derivative rule reads where it wants no history: see `core.masked.plain`."""
        if current.get().tracing is None:
            return self._value
        node = self.node
        constant = node.rule is not None and node.first is None
        if constant or self._value.dtype.kind in "iub":
            return self
        return OPS["stop_gradient"](self)

    def __chainrule_record__(self, op: Op, args: Any, kwargs: Any) -> Any:
        return call(Variable, op, args, kwargs, user_line(3))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        maker = ufunc_makers.get(ufunc)
        if maker is not None and method == "__call__" and not kwargs and current.get().eager:
            node = self.node
            if node.dtype is DOUBLE and (node.first is not None or node.rule is None):
                return maker(self, _frame(1))
        op = ufunc_ops.get(ufunc)
        if op is not None and method == "__call__" and not kwargs:
            return record(Variable, op, inputs, NO_ATTRS)
        return array_ufunc(Variable, ufunc, method, inputs, kwargs, user_line(2))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return array_function(Variable, func, args, kwargs, user_line(2))

    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # above 4000 of a DataFrame, which then leaves operators to us

    # -- indexing ----------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        node = self.node
        try:
            template, arrays = split_index(index)
        except FOREIGN as error:
            raise translated(error, indexing.getitem, [self], NO_ATTRS, user_line(2)) from None
        flows = node.first is not None or node.rule is None
        if flows and node.dtype is DOUBLE and not arrays and current.get().eager:
            try:
                made = _item_of()(self, template, _frame(1))
            except FOREIGN:
                pass  # said properly below
            else:
                if made.node.shape:
                    self.note_view(made, indexing.getitem, made.node.attrs)
                return made
        return record(Variable, indexing.getitem, [self, *arrays], {"template": template})

    def __setitem__(self, index: Any, value: Any) -> None:
        """Recorded as a functional update: this Variable is from now on the changed array."""
        if isinstance(value, Variable) and self.dtype.kind in "iub" and value.dtype.kind in "fc":
            raise DetachError(
                f"a {value.dtype.name} Variable assigned into one of {self.dtype.name} would lose "
                f"its gradient.\n  {line_at(*user_line()).shown()}\n"
                f"  use y = y.astype({'complex' if value.dtype.kind == 'c' else 'float'}) first."
            )
        try:
            template, arrays = split_index(index)
        except FOREIGN as error:
            raise translated(error, indexing.setitem, [self], NO_ATTRS, user_line(2)) from None
        changed = record(Variable, indexing.setitem, [self, value, *arrays], {"template": template})
        self._rebind(changed, "assign to")

    def __len__(self) -> int:
        self._note_shape()
        return len(self._value)

    def __iter__(self) -> Iterator[Variable]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d Variable")
        return (self[i] for i in range(len(self)))

    def note_view(self, view: Variable, op: Op, attrs: dict[str, Any]) -> None:
        """Remember that `view` shares this array's memory, as it would in NumPy."""
        mine, memory = self._value, view._value.base
        strided = memory is not None and not isinstance(memory, np.ndarray)  # by as_strided
        if (
            view._value is mine
            or memory is None
            or not (memory is mine or memory is mine.base or strided)
        ):
            return  # the same array, or a copy
        view._base = self
        views = getattr(self, "_views", None)
        if views is None:
            views = self._views = []
        elif len(views) & (len(views) - 1) == 0:  # at each power of two: drop those that are gone
            views[:] = [v for v in views if v[0]() is not None]
        views.append((weakref.ref(view), op, attrs))

    def _rebind(self, changed: Variable, what: str) -> Variable:
        """Become the changed array; views taken earlier follow, as they would in NumPy."""
        if hasattr(self, "_base"):
            raise ViewWriteError(
                f"cannot {what} a view of a Variable: the array it was taken from would not see "
                "it.\n"
                f"  {line_at(*user_line()).shown()}\n"
                "  write to the whole array (y[1:][0] = v becomes y[1] = v), or take a copy\n"
                "  first: v = v.copy()."
            )
        tracing = current.get().tracing
        if tracing is not None:
            tracing.written(self)
        self._value, self.node = changed._value, changed.node
        pending = [self]
        while pending:
            base = pending.pop()
            for reference, op, attrs in tuple(getattr(base, "_views", ())):
                view = reference()
                if view is not None:
                    again = record(Variable, op, [base], attrs)
                    view._value, view.node = again._value, again.node
                    pending.append(view)
        return self

    # -- conversion --------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """Integers and booleans as they are; else an object array of 0-d Variables.

        NumPy asks for this where it does not dispatch: `np.array([x[0], 2 * x[1]])`.  The object
        array is taken in as a stack when it meets chainrule again, so no gradient is lost.
        """
        if is_constant(self.node):
            self._note_read()
            return np.array(self._value, dtype)
        frame = user_frame()
        if frame.f_globals.get("__name__", "").startswith("scipy.sparse"):
            return boxed(self)
        if frame.f_globals.get("__name__", "").startswith("numpy.ma"):
            raise DTypeError(f"{MASKED}\n  {line_at(*user_line()).shown()}")
        if frame.f_code.co_code[frame.f_lasti] in STORE_ITEM:
            self._refuse_detaching("array")
        if self.dtype.kind == "c":
            while frame.f_globals.get("__name__", "").startswith("numpy") and frame.f_back:
                frame = frame.f_back
            raise DetachError(
                "complex Variables in an array of objects: NumPy would take their imaginary parts "
                "for 0.\n"
                f"  {Line(frame.f_code, frame.f_lasti).shown()}\n"
                "  np.stack([z[0], z[1]]) and chainrule.numpy.array make an array of numbers;\n"
                "  code of another library wants plain ones: wrap its call in a cr.Function."
            )
        boxes = np.empty(self.size, object)
        for i, element in enumerate([self] if self.ndim == 0 else self.flat):  # type: ignore[attr-defined]
            boxes[i] = element
        return boxes.reshape(self.shape)

    def __bool__(self) -> bool:
        self._note_part("not_equal", 0)
        return bool(self._value)

    def __index__(self) -> int:
        if self.dtype.kind in "iu":
            self._note_read()
            return self._value.__index__()
        raise DTypeError(
            f"a {self.dtype.name} Variable cannot be used as an index or a length.\n"
            f"  {line_at(*user_line()).shown()}\n"
            "  a computed number becomes an index as n.astype(int).  Of an argument, cr.trace and\n"
            "  cr.check_grads make a leaf: pass it as a constant, lambda x: f(x, 3)."
        )

    def __float__(self) -> float:
        self._refuse_detaching("float")
        self._note_read()
        return float(self._value)

    def __int__(self) -> int:
        self._refuse_detaching("int")
        self._note_part("trunc")
        return int(self._value)

    def __complex__(self) -> complex:
        self._refuse_detaching("complex")
        self._note_read()
        return complex(self._value)

    def __trunc__(self) -> int:
        return int(self)

    def __floor__(self) -> int:
        self._refuse_detaching("floor")
        self._note_part("floor")
        return math.floor(self._value)

    def __ceil__(self) -> int:
        self._refuse_detaching("ceil")
        self._note_part("ceil")
        return math.ceil(self._value)

    def item(self, *index: Any) -> Any:
        """One element as a Python number, outside differentiated functions."""
        self._refuse_detaching("item")
        self._note_read()
        try:
            return self._value.item(*index)
        except FOREIGN as error:
            raise translated(error, indexing.getitem, [self], NO_ATTRS, user_line()) from None

    def _refuse_detaching(self, conversion: str) -> None:
        """A conversion to a plain number loses the gradient: inside a transform an error."""
        frame = user_frame(2)
        stores = frame.f_code.co_code[frame.f_lasti] in STORE_ITEM
        inside_numpy = frame.f_globals.get("__name__", "").startswith("numpy")
        if not (stores or inside_numpy or current.get().inside):
            return
        if not may_flow(self.node):
            return
        line = line_at(*user_line()).shown()
        if stores:
            raise lost_in_assignment(line)
        raise lost_in_conversion(conversion, "NumPy" if inside_numpy else "differentiated", line)

    def __repr__(self) -> str:
        self._note_text()
        shown = np.array2string(
            np.asarray(self._value), separator=", ", threshold=20, prefix="Variable("
        )
        label = f", name={self.name!r}" if self.name is not None else ""
        made = "" if self.node.is_leaf else f", op={self.node.op.name!r}"
        return f"Variable({shown}{label}{made})"

    def __format__(self, spec: str) -> str:
        self._note_text()
        return format(self._value, spec) if spec else str(self)

    def __copy__(self) -> Variable:
        return structure.copy(self)

    def __deepcopy__(self, memo: object) -> Variable:
        return structure.copy(self)

    def __reduce_ex__(self, protocol: object) -> Any:
        """A leaf is pickled with its name and gradient; a history is bound to this process."""
        if not self.node.is_leaf:
            raise UnsupportedError(
                f"a Variable with a history cannot be pickled (this one comes from "
                f"{self.node.op.name}, {self.line}): pickle x.value, or the graph as text with "
                "cr.trace(f, …).to_json()."
            )
        return _unpickled, (self._value, self.name, self.grad)

    def __getstate__(self) -> Any:
        self._note_read()
        return object.__getstate__(self)

    def __hash__(self) -> int:
        self._note_text()
        return object.__hash__(self)


def stores_item(frame: FrameType) -> bool:
    """Whether the running instruction is the `+=` of `y[index] += v`, and so not of `name += v`."""
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while code[at] in (CACHE, SWAP):
        at += 2
    return code[at] in STORE_ITEM


def members(**members: Any) -> None:
    """Give Variables methods and properties."""
    for name, member in members.items():
        setattr(Variable, name, member)


def variable(value: Any, name: str | None = None) -> Variable:
    """A leaf: a value to differentiate with respect to.  It is copied; integers become float64."""
    if isinstance(value, Variable):
        value = value._value
    array = as_operand(value, Variable)
    if isinstance(array, Variable):
        raise DTypeError("a leaf cannot be made of Variables; np.stack([...]) keeps their gradient")
    array = np.array(array)
    if array.dtype.kind not in "fc":
        if array.dtype.kind not in "iub":
            raise DTypeError(f"a variable holds numbers, not {array.dtype.name}")
        array = array.astype(np.float64)
    return leaf(array[()], name)


@cache
def _item_of() -> Callable[[Variable, Any, FrameType], Variable]:
    return item_maker(Variable, rule_for(indexing.getitem, (True,)))


def _unpickled(value: Any, name: Any, grad: Any) -> Variable:
    made = leaf(value, name)
    made._leaf.grad = grad
    return made


def leaf(value: Any, name: Any = None) -> Variable:
    """A leaf that takes `value` as it is: the caller promises that nobody else writes to it."""
    node = make_leaf(value.shape, value.dtype, name, *user_line())
    made = Variable(value, node)
    made._leaf = node
    return made

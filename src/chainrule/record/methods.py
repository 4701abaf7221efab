"""The methods an ndarray has, on Variables: each is the op of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import NO_ATTRS, line_at
from chainrule.core.op import OPS
from chainrule.errors import ArgumentError, DTypeError, UnsupportedAttributeError
from chainrule.ops import shape, structure
from chainrule.ops.sparse_values import with_sparse
from chainrule.record.operators import is_operand, operated
from chainrule.record.protocol import array_function
from chainrule.record.recorder import record
from chainrule.record.state import current, user_line
from chainrule.record.variable import Variable, members

SAME_NAME = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "cumprod",
    "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat",
    "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip


def method(name: str) -> Any:
    function = getattr(np, name)  # has the method's parameters, in the same order

    def of_ndarray(self: Variable, *args: Any, **kwargs: Any) -> Any:
        return array_function(Variable, function, (self, *args), kwargs, user_line(2))

    of_ndarray.__name__ = name
    of_ndarray.__doc__ = f"As `ndarray.{name}`."
    return of_ndarray


members(**{name: method(name) for name in SAME_NAME})


def _compress(self: Variable, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return np.compress(condition, self, axis, out)


def _conjugate(self: Variable) -> Any:
    return structure.conjugate(self)


def _reshape(self: Variable, *new: Any, order: str = "C") -> Any:
    return shape.reshape(self, new[0] if len(new) == 1 else new, order=order)


def _transpose(self: Variable, *axes: Any) -> Any:
    whole = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list)))
    return shape.transpose(self, axes=axes[0] if whole else axes or None)


def _astype(
    self: Variable,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    wanted = np.dtype(dtype)
    if not np.can_cast(self.dtype, wanted, casting):
        raise DTypeError(
            f"astype: {self.dtype.name} cannot be cast to {wanted.name} with casting={casting!r}.\n"
            f"  {line_at(*user_line()).shown()}"
        )
    return structure.astype(self, dtype=wanted)


def _copy(self: Variable, order: str = "C") -> Variable:
    return OPS["copy"](self)


def _flatten(self: Variable, order: str = "C") -> Any:
    return OPS["copy"](shape.reshape(self, -1, order=order))


def _sort(self: Variable, axis: int = -1, **kwargs: Any) -> None:
    """In place, as NumPy's method; `np.sort` returns a new one."""
    _refuse_flattening("sort", axis)
    self._rebind(OPS["sort"](self, axis=axis, **kwargs), "sort")


def _partition(self: Variable, kth: Any, axis: int = -1, **kwargs: Any) -> None:
    """In place, as NumPy's method; `np.partition` returns a new one."""
    _refuse_flattening("partition", axis)
    self._rebind(OPS["partition"](self, kth, axis=axis, **kwargs), "partition")


def _refuse_flattening(name: str, axis: Any) -> None:
    if axis is None:
        raise ArgumentError(
            f"x.{name}(axis=None) would flatten x in place; np.{name}(x, axis=None) returns the "
            f"flat array.\n  {line_at(*user_line()).shown()}"
        )


def _put(self: Variable, indices: Any, values: Any, mode: str = "raise") -> None:
    self._rebind(OPS["put"](self, indices, values, mode=mode), "put into")


def _fill(self: Variable, value: Any) -> None:
    self[...] = value


def _tolist(self: Variable) -> Any:
    """Nested lists of 0-d Variables, so that no gradient is lost."""
    return self if self.ndim == 0 else [_tolist(row) for row in self]


def _note_layout(self: Variable) -> None:
    """The order of the numbers in memory decides the result, which no graph knows."""
    tracing = current.get().tracing
    if tracing is not None:
        tracing.layout_of(self)


class Flat:
    """x.flat: the elements of a Variable one after the other, which can be read and written."""

    def __init__(self, base: Variable) -> None:
        self.base = base
        self._left = iter(shape.reshape(base, -1))

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Variable:
        return next(self._left)

    def __len__(self) -> int:
        return self.base.size

    def __getitem__(self, key: Any) -> Any:
        return shape.reshape(self.base, -1)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        changed = OPS["copy"](shape.reshape(self.base, -1))
        changed[key] = value
        self.base._rebind(shape.reshape(changed, self.base.shape), "assign to")


members(
    compress=_compress,
    conj=_conjugate,
    conjugate=_conjugate,
    reshape=_reshape,
    transpose=_transpose,
    astype=_astype,
    copy=_copy,
    flatten=_flatten,
    sort=_sort,
    fill=_fill,
    partition=_partition,
    put=_put,
    tolist=_tolist,
    T=property(lambda self: shape.transpose(self)),
    mT=property(lambda self: OPS["matrix_transpose"](self)),
    real=property(lambda self: structure.real(self)),
    imag=property(lambda self: structure.imag(self)),
    flat=property(Flat),
    _note_layout=_note_layout,
)


def _matmul(self: Variable, other: Any) -> Any:
    if not is_operand(other):
        return with_sparse(OPS["matmul"], self, other)
    return record(Variable, OPS["matmul"], [self, other], NO_ATTRS)


def _rmatmul(self: Variable, other: Any) -> Any:
    if not is_operand(other):
        return with_sparse(OPS["matmul"], other, self)
    return record(Variable, OPS["matmul"], [other, self], NO_ATTRS)


def _abs(self: Variable) -> Any:
    return operated(Variable, OPS["absolute"], [self], NO_ATTRS)


def _divmod(self: Variable, other: Any) -> Any:
    return self // other, self % other


def _rdivmod(self: Variable, other: Any) -> Any:
    return other // self, other % self


def _round(self: Variable, digits: int | None = None) -> Any:
    tracing = current.get().tracing
    if tracing is not None and tracing.is_python(self):
        if digits is None:
            self._note_part("rint")
        else:
            self._note_read()
        return round(self._value.item(), digits)  # exact, where NumPy multiplies and divides
    return OPS["round"](self, decimals=digits or 0)


def _unknown(self: Variable, name: str) -> Any:
    """An attribute ndarray has and Variable has not is a gap to be named; a ufunc's name is its op.

    NumPy calls `.sin()` on the elements of an object array, so `np.sin(np.array([x[0], x[1]]))`
    arrives here.
    """
    if name.startswith("_"):
        raise AttributeError(name)  # a slot not set; asked for on every view, so answered first
    op = OPS.get(name)
    if op is not None and isinstance(getattr(np, name, None), np.ufunc):
        return lambda *args: op(self, *args)
    said = f"'Variable' object has no attribute {name!r}"
    if hasattr(np.ndarray, name):
        said = f"ndarray.{name} is not supported on a Variable; x.value.{name} is the plain array's"
    elif name in ELSEWHERE:
        said = f"x.{name} is of another library; {ELSEWHERE[name]}"
    raise UnsupportedAttributeError(f"{said}\n  {line_at(*user_line()).shown()}")


# What other libraries call it, and what it is here.
ELSEWHERE = {
    "detach": "write cr.stop_gradient(x) instead",
    "numpy": "write x.value instead",
    "cpu": "leave it out, a Variable is in the memory of the CPU",
    "cuda": "leave it out, a Variable is in the memory of the CPU",
    "requires_grad_": "write cr.variable(value), or let cr.grad(f) make the leaves",
    "requires_grad": "ask x.is_leaf; every Variable that a leaf leads to has a gradient",
    "grad_fn": "read x.node, the operation that made it",
    "retain_grad": "call cr.trace(f, …), run.adjoint(node) is the gradient of any node",
    "clone": "write x.copy() instead",
    "permute": "write x.transpose(axes) instead",
    "unsqueeze": "write np.expand_dims(x, axis)",
    "block_until_ready": "leave it out, a value is there as soon as it is computed",
    "at": "write y = x.copy(); y[i] = v, which is recorded",
}


members(
    __matmul__=_matmul,
    __rmatmul__=_rmatmul,
    __abs__=_abs,
    __divmod__=_divmod,
    __rdivmod__=_rdivmod,
    __round__=_round,
    __getattr__=_unknown,
)

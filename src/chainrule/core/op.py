"""The op record: everything that is known of one operation, in one place.

An op has *inputs* (arrays, through which derivatives may flow) and *attrs* (static parameters).
Its `derivative` is one of

    Partials       elementwise: one factor per input
    Linear         linear in its differentiable inputs: their transpose
    Multilinear    linear in each input alone: one transpose per input
    Rules          neither: reverse and forward rules per input, proved adjoint by a test
    ZERO           the derivative is zero wherever it exists (floor, sign, comparisons)
    NOT_WRITTEN    nobody has written it yet; asking for it raises

A rule is a plain function whose parameter names say what it reads, and a recorded node keeps that
and nothing else:

    g            the incoming adjoint          t            the incoming tangent
    x, y, …      the value of an input         out          the value of the result
    x_spec, …    shape and dtype of an input   out_spec     shape and dtype of the result
    active       which inputs are differentiated, as a tuple of booleans
    axis, …      an attr

`reach(alive, x_spec, **attrs)` of an op with one input tells which lanes of x some live lane of the
result depends on; elementwise and selecting ops need none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from chainrule.errors import ArgumentError, GraphError

if TYPE_CHECKING:
    from chainrule.core.rule import Rule

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Gate:
    """A partial derivative made of weights whose zeros are structural (max, clip, where)."""

    weights: Function


@dataclass(frozen=True, slots=True)
class Partials:
    """Elementwise: per input a function, a `Gate`, the number 1 or -1, or None (no derivative)."""

    factors: tuple[Function | Gate | int | None, ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear jointly in its differentiable inputs; per input its transpose, or None.

    `selects` tells that every output lane copies or adds input lanes with weight one (indexing,
    reshape, sum …), so a mask of lanes can be pushed through the op itself; `fills` that it also
    leaves lanes which no input reaches (pad, tril).
    """

    transposes: tuple[Function | None, ...]
    selects: bool = True
    fills: bool = False


@dataclass(frozen=True, slots=True)
class Multilinear:
    """Linear in each input while the others are held; per input its transpose, or None."""

    transposes: tuple[Function | None, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """Reverse and forward rules per input; either may be missing, and asking for it raises.

    `elementwise` tells that the op works lane by lane, so that dead lanes stay dead; `selects` and
    `fills` as for `Linear`.
    """

    reverse: tuple[Function | None, ...]
    forward: tuple[Function | None, ...]
    elementwise: bool = False
    selects: bool = False
    fills: bool = False


@dataclass(frozen=True, slots=True)
class _Named:
    name: str

    def __repr__(self) -> str:
        return self.name


ZERO = _Named("ZERO")
NOT_WRITTEN = _Named("NOT_WRITTEN")
Derivative = Partials | Linear | Multilinear | Rules | _Named


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an op, for its tests: positional arguments (arrays) and attrs."""

    args: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def sample(*args: Any, **attrs: Any) -> Sample:
    return Sample(args, attrs)


Samples = Callable[[], Sequence[Sample]]  # a function, so that importing makes no arrays


# Names with a meaning in rules, which an input or attr would hide.
RESERVED = frozenset({"g", "t", "ts", "out", "out_spec", "active", "xs", "fixed"})


class Recorded(Protocol):
    """What an op needs to know of a Variable: it is recognised by `__chainrule_record__`."""

    def __chainrule_record__(self, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> Any: ...


@dataclass(frozen=True, eq=False)
class Op:
    """One operation.  A pass reads a field of this record and never names an op."""

    name: str
    forward: Function
    inputs: tuple[str, ...]
    derivative: Derivative
    spec: Function
    samples: Samples
    edges: Samples | None = None
    bad: Samples | None = None
    kinks: Function | None = None
    numpy: tuple[Any, ...] = ()
    variadic: bool = False
    fixed_from: int | None = None
    outputs: int = 1
    view: bool = False
    expand: Function | None = None
    reference: Function | None = None
    variant: Function | None = None
    reach: Function | None = None
    doc: str = ""
    rules: dict[Any, Rule] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.samples is None:
            raise GraphError(f"op {self.name} has no samples, so nothing would test it")
        for name in self.inputs:
            if name in RESERVED and name != "xs":
                raise GraphError(f"op {self.name}: an input cannot be called {name}")
        object.__setattr__(self, "__doc__", self.doc or f"{self.name}({', '.join(self.inputs)})")
        object.__setattr__(self, "__name__", self.name)

    @cached_property
    def attrs(self) -> dict[str, Any]:
        """The attrs and their defaults: the parameters of `forward` after its inputs."""
        if isinstance(self.forward, np.ufunc) or inspect.isbuiltin(self.forward):
            return {}
        parameters = inspect.signature(self.forward).parameters.values()
        return {
            p.name: p.default
            for p in list(parameters)[0 if self.variadic else len(self.inputs) :]
            if p.kind is p.KEYWORD_ONLY or (p.kind is p.POSITIONAL_OR_KEYWORD and not self.variadic)
        }

    @cached_property
    def optional(self) -> bool:
        """Whether every attr has a default."""
        return inspect.Parameter.empty not in self.attrs.values()

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Split a call into its inputs and its attrs, as the signature of `forward` says."""
        if self.optional and not kwargs and len(args) == len(self.inputs) and not self.variadic:
            return list(args), dict(self.attrs)
        if not self.variadic:
            inputs, rest = list(args[: len(self.inputs)]), tuple(args[len(self.inputs) :])
        elif args and isinstance(args[0], (list, tuple)):
            inputs, rest = list(args[0]), tuple(args[1:])  # concatenate([a, b], axis)
        else:
            inputs, rest = list(args), ()
        if len(rest) > len(self.attrs):
            most = len(self.inputs) + len(self.attrs)
            raise ArgumentError(f"{self.name} takes at most {most} arguments, got {len(args)}")
        attrs = dict(zip(self.attrs, rest, strict=False))
        for key, value in kwargs.items():
            if key in self.attrs and key not in attrs:
                attrs[key] = value
            elif key in self.inputs[len(inputs) :][:1]:
                inputs.append(value)
            else:
                known = ", ".join((*self.inputs, *self.attrs))
                raise ArgumentError(f"{self.name} has no argument {key!r}; it takes {known}")
        return self._completed(inputs, attrs)

    def _completed(
        self, inputs: list[Any], attrs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The call with its defaults filled in, or an error that says what is missing."""
        attrs = {key: attrs.get(key, default) for key, default in self.attrs.items()}
        missing = [key for key, value in attrs.items() if value is inspect.Parameter.empty]
        if missing:
            raise ArgumentError(f"{self.name} needs the argument {missing[0]!r}")
        if not self.variadic and len(inputs) < len(self.inputs):
            listed = ", ".join(self.inputs)
            raise ArgumentError(
                f"{self.name} needs {len(self.inputs)} arrays ({listed}), got {len(inputs)}"
            )
        return inputs, attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply to arrays (computed at once) or to Variables (computed and recorded)."""
        variable = first_recorded(args)
        if variable is not None:
            return variable.__chainrule_record__(self, args, kwargs)
        if self.expand is not None:
            return self.expand(*args, **kwargs)
        inputs, attrs = self.bind(args, kwargs)
        return self.forward(*inputs, **attrs)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join((*self.inputs, *self.attrs))})>"


def first_recorded(args: Sequence[Any]) -> Any:
    """The first Variable among the arguments, or inside a list of them."""
    for value in args:
        if hasattr(value, "__chainrule_record__"):
            return value
        if isinstance(value, (list, tuple)):
            found = first_recorded(value)
            if found is not None:
                return found
    return None


class Table(dict[str, Op]):
    """Every op by name.  A family of ops is imported when one of its names is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: tuple[str, ...] = ()
        self._lock = RLock()

    def complete(self) -> None:
        """Import every family not imported yet."""
        with self._lock:
            for module in self.pending:
                import_module(module)
            self.pending = ()

    def __missing__(self, name: str) -> Op:
        if not self.pending:
            raise KeyError(name)
        self.complete()
        return self[name]

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and self.pending:
            self.complete()
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.complete()
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return super().__iter__()

    def __len__(self) -> int:
        self.complete()
        return super().__len__()

    def keys(self) -> Any:
        self.complete()
        return super().keys()

    def values(self) -> Any:
        self.complete()
        return super().values()

    def items(self) -> Any:
        self.complete()
        return super().items()


OPS = Table()


def register(op: Op) -> Op:
    """Enter an op into the table; two ops of one name are a mistake."""
    if dict.__contains__(OPS, op.name):
        raise GraphError(f"two ops are called {op.name}")
    dict.__setitem__(OPS, op.name, op)
    return op

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

`depends` says which lanes of its inputs a lane of the result depends on (`core.depends`); where it
is not given, an op with partials works lane by lane, and a linear one copies or adds lanes.

`lower` says what machine code computes: the name of a scalar function, or a function of a builder
(`chainrule.lower.build`), the operands and the attrs.  An op without is interpreted.

`commutes` of an op with two inputs: f(x, y) and f(y, x) are the same bits.

`picked` says how the op is written on arrays that a mask has picked (`core.picked`); True of an op
recorded as others: it turns no size into a number unless by `count_of`.

`raises` tells that the op refuses some values of its inputs, as `inv` does a singular matrix; or,
as a function of its inputs, whether it may.

`symbol` is how mathematics writes the op, for pictures: + of add; most ops have only their name.

`by_value` of inputs (whatever has shape and dtype) and attrs: whether the shape of the result
depends on the values of the inputs too.  There `spec` is None, and so it is where a dtype does.
`sizes` gives the numbers that decide the shape, recorded as any others; an op without is run again.

`cure` lists the usual cures of a NaN or an infinity that begins at this op, patterns of several ops
before single ones; the first whose `applies` holds is told (`explain.cures.Case` is what it reads).

`origin` is how such a report writes the op between two operands: - of subtract in "inf - inf".

`batch` says how the op works on many lanes at once (`core.batching`); an op without does so lane by
lane.

`by_arrays` of an op with a basic index, its `template`, names the op that takes arrays in place of
the numbers in it, behind its operands.

`of_rows` of an op that joins any number of operands gives the same of the rows of one array:
`of_rows(make, rows, **attrs)`, where `make(op, args, attrs)` is a node.
`python` of an op that is one of Python's operators: what it is on Python's own numbers
(`core.python_numbers`).

`usually` of an op recorded as others (`expand`): called with so many arguments and no keyword, it
is just the op of that name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from chainrule.core.depends import BY_KIND, COPIES, EVERY, LANES, Depends
from chainrule.core.parts import OBJECT
from chainrule.errors import ArgumentError, DetachError, GraphError

if TYPE_CHECKING:
    from chainrule.core.batching import Batch
    from chainrule.core.cure import Cure
    from chainrule.core.picked import OnPicked
    from chainrule.core.python_numbers import OnPython
    from chainrule.core.rule import Rule

Function = Callable[..., Any]
_MISSING: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Gate:
    """A partial derivative made of weights whose zeros are structural (max, clip, where)."""

    weights: Function


@dataclass(frozen=True, slots=True)
class Partials:
    """Elementwise: one factor per input, None where there is no derivative.

    A factor is a function of what it reads, 1, -1, a `Gate`, or for the commonest of all the text
    "y" or "1 / y", where y is the name of a value.
    """

    factors: tuple[Function | Gate | str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear jointly in its differentiable inputs; per input its transpose, or None."""

    transposes: tuple[Function | None, ...]


@dataclass(frozen=True, slots=True)
class Multilinear:
    """Linear in each input while the others are held; per input its transpose, or None."""

    transposes: tuple[Function | None, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """Reverse and forward rules per input; either may be missing, and asking for it raises."""

    reverse: tuple[Function | None, ...]
    forward: tuple[Function | None, ...]


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


# Of a node, the bytes it reads and those it makes: what its op, and its rule, use beside that.
Scratch = Callable[[Any, int, int], tuple[int, int]]

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
    by_value: Function | None = None
    expand: Function | None = None
    usually: tuple[int, str] | None = None
    reference: Function | None = None
    variant: Function | None = None
    depends: Depends = BY_KIND
    lower: Function | str | None = None
    sizes: Function | None = None
    raises: Function | bool = False
    commutes: bool = False
    picked: OnPicked | bool = False
    batch: Batch | None = None
    by_arrays: str = ""
    of_rows: Function | None = None
    python: OnPython | None = None
    symbol: str = ""
    scratch: Scratch | None = None
    cure: tuple[Cure, ...] = ()
    origin: str = ""
    doc: str = ""
    rules: dict[Any, Rule] = field(init=False, default_factory=dict)
    registered: bool = field(init=False, default=False)  # in the table, and so not a user's own

    def __post_init__(self) -> None:
        if self.depends is BY_KIND:
            kinds = {Partials: LANES, Linear: COPIES}
            object.__setattr__(self, "depends", kinds.get(type(self.derivative), EVERY))
        if self.samples is None:
            raise GraphError(f"op {self.name} has no samples, so nothing would test it")
        for kind, names in (("input", self.inputs), ("attr", self._attr_names())):
            for name in RESERVED.intersection(names) - {"xs"}:
                raise GraphError(f"op {self.name}: an {kind} cannot be called {name}")
        object.__setattr__(self, "__doc__", self.doc or f"{self.name}({', '.join(self.inputs)})")
        object.__setattr__(self, "__name__", self.name)

    def _attr_names(self) -> tuple[str, ...]:
        """The names of `attrs`, without `inspect.signature`: importing asks it of every op."""
        code = getattr(self.forward, "__code__", None)
        if code is None:
            return ()
        first = code.co_argcount if self.variadic else len(self.inputs)
        names: tuple[str, ...] = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]
        return names

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
        return _MISSING not in self.attrs.values()

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Split a call into its inputs and its attrs, as the signature of `forward` says."""
        if self.optional and not kwargs and len(args) == len(self.inputs) and not self.variadic:
            return list(args), dict(self.attrs)
        left = dict(kwargs)
        inputs, rest = (self._sequence if self.variadic else self._named_inputs)(args, left)
        if len(rest) > len(self.attrs):
            most = len(self.inputs) + len(self.attrs)
            raise ArgumentError(f"{self.name} takes at most {most} arguments, got {len(args)}")
        attrs = dict(zip(self.attrs, rest, strict=False))
        for key, value in left.items():
            if key not in self.attrs or key in attrs:
                raise self._misnamed(key)
            attrs[key] = value
        return inputs, self._completed(attrs)

    def _sequence(
        self, args: Sequence[Any], left: dict[str, Any]
    ) -> tuple[list[Any], Sequence[Any]]:
        """The inputs of an op that takes any number, given one by one or as a list."""
        if not args and self.inputs[0] in left:
            args = (left.pop(self.inputs[0]),)
        if args and isinstance(args[0], (list, tuple)):
            return list(args[0]), args[1:]  # concatenate([a, b], axis)
        return list(args), ()

    def _named_inputs(
        self, args: Sequence[Any], left: dict[str, Any]
    ) -> tuple[list[Any], Sequence[Any]]:
        """The inputs given by position, then those given by name, in whatever order."""
        count = len(self.inputs)
        by_name = [name for name in self.inputs[len(args) :] if name in left]
        if len(args) + len(by_name) < count:
            unknown = [key for key in left if key not in by_name and key not in self.attrs]
            if unknown:
                raise self._misnamed(unknown[0])
            listed, got = ", ".join(self.inputs), len(args) + len(by_name)
            raise ArgumentError(f"{self.name} needs {count} arrays ({listed}), got {got}")
        return [*args[:count], *(left.pop(name) for name in by_name)], args[count:]

    def _misnamed(self, key: str) -> ArgumentError:
        if key in self.inputs or key in self.attrs:
            return ArgumentError(f"{self.name} got two values for {key!r}")
        known = ", ".join((*self.inputs, *self.attrs))
        return ArgumentError(f"{self.name} has no argument {key!r}; it takes {known}")

    def _completed(self, given: dict[str, Any]) -> dict[str, Any]:
        """The attrs with their defaults filled in, or an error that says what is wrong."""
        attrs = self.attrs | given
        missing = () if self.optional else [k for k, v in attrs.items() if v is _MISSING]
        if missing:
            raise ArgumentError(f"{self.name} needs the argument {missing[0]!r}")
        if first_recorded(given.values()) is not None:
            refuse_gradients(**given)
        return attrs

    def workspace(self, node: Any, read: int, made: int) -> tuple[int, int]:
        """The bytes that the op, and its reverse rule, use beside what they give.

        `read` are those of its arguments, `made` of its result.
        """
        if self.scratch is not None:
            return self.scratch(node, read, made)
        small = 4096
        if isinstance(self.derivative, Partials):
            return made + small, 2 * made + small
        if isinstance(self.derivative, (Linear, Multilinear)):
            return small, made + small
        return read + made + small, 2 * (read + made) + small

    def value_shaped(self, args: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
        """Whether inputs of the same shapes and dtypes may give a result of another shape."""
        return self.by_value is not None and bool(self.by_value(*args, **attrs))

    def check_names(self, given: Iterable[str]) -> None:
        """Refuse a keyword that is no parameter."""
        for key in given:
            if key not in self.attrs and key not in self.inputs:
                raise self._misnamed(key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply to arrays (computed at once) or to Variables (computed and recorded)."""
        variable = first_recorded(args)
        if variable is None and kwargs:
            variable = first_recorded(kwargs.values())
        if variable is not None:
            return variable.__chainrule_record__(self, args, kwargs)
        if self.expand is not None:
            return self.expand(*args, **kwargs)
        inputs, attrs = self.bind(args, kwargs)
        return self.forward(*inputs, **attrs)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join((*self.inputs, *self.attrs))})>"


def refuse_gradients(**settings: Any) -> None:
    """Refuse a floating Variable given for what no derivative is taken by."""
    for key, value in settings.items():
        found = first_recorded((value,))
        if found is not None and found.dtype.kind in "fc":
            raise DetachError(
                f"{key!r} is a fixed setting, and the gradient of the Variable given for it would "
                f"be lost; pass its number, {key}=v.value, if that is meant, or "
                f"{key}=int(v.value) where a whole number is wanted"
            )


def first_recorded(args: Iterable[Any]) -> Any:
    """The first Variable among the arguments, or inside a list or an object array of them."""
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            if value.dtype is not OBJECT:
                continue
            value = value.ravel().tolist()
        elif hasattr(value, "__chainrule_record__"):
            return value
        elif not issubclass(kind, (list, tuple)):
            continue
        found = first_recorded(value)
        if found is not None:
            return found
    return None


class Table(dict[str, Op]):
    """Every op by name, in alphabetical order.

    `places` says in which module an op is declared; that is imported when the op is first asked
    for, and all of them when the whole table is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, str] = {}
        self._complete = False

    def complete(self) -> None:
        """Import every module that declares ops."""
        if not self._complete:
            for module in dict.fromkeys(self.places.values()):
                import_module(module)
            self._complete = True

    def __missing__(self, name: str) -> Op:
        import_module(self.places[name])  # where another thread imports it, this waits
        found: Op | None = super().get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.places

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return iter(sorted(super().__iter__()))

    def __len__(self) -> int:
        self.complete()
        return super().__len__()

    def keys(self) -> Any:
        return list(self)

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


OPS = Table()


def register(op: Op) -> Op:
    """Enter an op into the table; two ops of one name are a mistake."""
    if dict.__contains__(OPS, op.name):
        raise GraphError(f"two ops are called {op.name}")
    dict.__setitem__(OPS, op.name, op)
    object.__setattr__(op, "registered", True)
    return op

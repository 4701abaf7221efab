"""How a random program grows: values at two nearby points, and the drawing of arguments from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tests.agree.entry import Const, Entry

LARGEST = 4.0  # a value beyond this is scaled or squashed before it is used
SMALLEST = 0.02  # a value below this is scaled up
ZERO = 1e-3  # a value below this may be what cancellation left and stays as it is
STEEPEST = 30.0  # how much faster than the inputs a value may change
NUDGE = 1e-6  # how far the second point lies from the first
MOST_ELEMENTS = 130
MOST_INPUTS = 8
MOST_STEPS = 60
NDIMS = ((0, 0.10), (1, 0.30), (2, 0.34), (3, 0.18), (4, 0.08))


class RejectError(Exception):
    """What was drawn does not fit: too near a kink, too large, no suitable value."""


@dataclass(frozen=True)
class Step:
    """One line of a program: values[first : first + count] = entry(*args, **attrs).

    An argument is the number of an earlier value, a `Const`, or a tuple of these.
    """

    entry: Entry
    way: int
    args: tuple[Any, ...]
    attrs: dict[str, Any]
    first: int
    count: int

    def __str__(self) -> str:
        left = ", ".join(f"v{k}" for k in range(self.first, self.first + self.count))
        words = [_shown(a) for a in self.args] + [
            f"{k}={_shown(Const(v))}" for k, v in self.attrs.items()
        ]
        return f"{left} = {self.entry.name}({', '.join(words)})  # way {self.way}"


def _shown(arg: Any) -> str:
    if isinstance(arg, tuple):
        return f"[{', '.join(map(_shown, arg))}]"
    if isinstance(arg, Const):
        if isinstance(arg.value, np.ndarray):
            return f"np.array({arg.value.tolist()!r})"
        return repr(arg.value)
    return f"v{arg}"


def results(out: Any) -> list[Any]:
    """The arrays a call returned: one, or those of a tuple or a list."""
    return list(out) if isinstance(out, (tuple, list)) else [out]


def resolved(arg: Any, values: Sequence[Any], constant: Callable[[Any], Any] = lambda c: c) -> Any:
    """An argument of a step as what is passed to the function."""
    if isinstance(arg, tuple):
        return [resolved(a, values, constant) for a in arg]
    return constant(arg.value) if isinstance(arg, Const) else values[arg]


class Builder:
    """A program under construction.

    Every value is known at two points that lie `NUDGE` apart, so that a step which would make
    the program too steep, or jump between the points, is noticed and drawn again.
    """

    def __init__(self, rng: np.random.Generator, table: dict[str, Entry], empties: bool = False):
        self.rng = rng
        self.table = table
        self.empties = empties
        self.inputs: list[int] = []
        self.steps: list[Step] = []
        self.values: list[Any] = []
        self.moved: list[Any] = []
        self.used: set[int] = set()

    # -- growing -----------------------------------------------------------------------------

    def state(self) -> tuple[Any, ...]:
        return len(self.inputs), len(self.steps), len(self.values), set(self.used)

    def back_to(self, state: tuple[Any, ...]) -> None:
        inputs, steps, values, self.used = state
        del self.inputs[inputs:], self.steps[steps:], self.values[values:], self.moved[values:]

    def fresh(self, shape: Sequence[int], low: float = -2.0, high: float = 2.0) -> int:
        """A new input of the program."""
        if len(self.inputs) >= MOST_INPUTS or prod(shape) > MOST_ELEMENTS:
            raise RejectError("too many inputs")
        value = np.asarray(np.round(self.rng.uniform(low, high, shape), 6))
        self.inputs.append(len(self.values))
        self.values.append(value)
        signs = self.rng.choice([-1.0, 1.0], shape)
        self.moved.append(np.asarray(value + NUDGE * signs * self.rng.uniform(0.3, 1.0, shape)))
        return len(self.values) - 1

    def step(self, name: str, *args: Any, **attrs: Any) -> int:
        """Append a step with one result, tamed, and return the number of the result."""
        return self.steps_of(self.table[name], args, attrs)[0]

    def steps_of(self, entry: Entry, args: tuple[Any, ...], attrs: dict[str, Any]) -> list[int]:
        way = int(self.rng.integers(len(entry.ways)))
        found = []
        for values in (self.values, self.moved):
            given = [resolved(a, values) for a in args]
            if entry.ok is not None and not entry.ok(*given, **attrs):
                raise RejectError("near a kink")
            try:
                with np.errstate(all="ignore"):
                    out = entry.ways[way](*given, **attrs)
            except np.linalg.LinAlgError:
                raise RejectError("not positive definite, or singular") from None
            found.append([np.asarray(r) for r in results(out)])
        self._check(*found)
        first = len(self.values)
        if len(self.steps) >= MOST_STEPS:
            raise RejectError("too long")
        self.steps.append(Step(entry, way, args, attrs, first, len(found[0])))
        self.values += found[0]
        self.moved += found[1]
        for a in args:
            self.used.update(i for i in (a if isinstance(a, tuple) else (a,)) if isinstance(i, int))
        return [self._tamed(k) for k in range(first, first + len(found[0]))]

    def _check(self, here: list[Any], there: list[Any]) -> None:
        """Refuse what is large, steep, not finite, or not an array of floating-point numbers."""
        for a, b in zip(here, there, strict=True):
            if a.dtype.kind not in "fc" or a.shape != b.shape or a.size > MOST_ELEMENTS:
                raise RejectError("shape or type")
            if not np.all(np.isfinite(a)) or not np.all(np.isfinite(b)):
                raise RejectError("not finite")
            largest = float(np.max(np.abs(a), initial=0.0))
            steep = float(np.max(np.abs(a - b), initial=0.0)) / NUDGE
            if largest > 1e4 or steep > STEEPEST * max(1.0, largest / LARGEST):
                raise RejectError("large or steep")

    def _tamed(self, i: int) -> int:
        """The value, or a scaled or squashed one in its place, of a size that further steps can use."""
        largest = float(np.max(np.abs(self.values[i]), initial=0.0))
        if largest < ZERO or SMALLEST < largest <= LARGEST:
            return i
        factor = float(f"{self.rng.uniform(1, 3) / largest:.3g}")
        real = self.values[i].dtype.kind == "f"
        if largest > LARGEST and largest < 50 and real and self.rng.random() < 0.3:
            return self.step("arcsinh", i)
        scaled = self.step("multiply", i, Const(factor))
        if largest > LARGEST and real and self.rng.random() < 0.4:
            return self.step(str(self.rng.choice(["tanh", "sin", "arctan"])), scaled)
        return scaled

    # -- choosing among what is there --------------------------------------------------------

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def choice(self, options: Sequence[Any]) -> Any:
        if not options:
            raise RejectError("nothing to choose from")
        return options[int(self.rng.integers(len(options)))]

    def number(self, low: float, high: float) -> float:
        return float(f"{self.rng.uniform(low, high):.4g}")

    def integer(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def live(self, test: Callable[[Any], bool]) -> list[int]:
        return [i for i, v in enumerate(self.values) if test(v)]

    def pick(
        self, test: Callable[[Any], bool] | None = None, kind: str = "f", size: int = 0
    ) -> int:
        """A value that passes the test; unused and recent ones are preferred."""

        def passes(v: Any) -> bool:
            return v.dtype.kind in kind and v.size >= size and (test is None or test(v))

        found = self.live(passes)
        unused = [i for i in found if i not in self.used]
        if unused and self.chance(0.5):
            return int(self.choice(unused))
        if len(found) > 6 and self.chance(0.4):
            return int(self.choice(found[-6:]))
        if found:
            return int(self.choice(found))
        raise RejectError("no such value")

    def ranked(self, low: int, high: int, size: int = 1, test: Any = None, kind: str = "f") -> int:
        """A value with low to high axes; if there is none, a new input or a reshaped value."""

        def passes(v: Any) -> bool:
            return low <= v.ndim <= high and v.size >= size and (test is None or test(v))

        if self.live(lambda v: v.dtype.kind in kind and passes(v)):
            return self.pick(passes, kind)
        shape = self.shape(low, high)
        if not passes(np.zeros(shape)) or "f" not in kind:
            raise RejectError("no such value")
        return self.shaped(shape)

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        """A random shape of low to high axes, each of 1 to 5 elements, sometimes of none."""
        ndims = [(n, p) for n, p in NDIMS if low <= n <= high]
        chances = np.array([p for _, p in ndims])
        ndim = int(self.rng.choice([n for n, _ in ndims], p=chances / chances.sum()))
        sizes = [
            int(n)
            for n in self.rng.choice([1, 2, 3, 4, 5], size=ndim, p=[0.15, 0.3, 0.3, 0.15, 0.1])
        ]
        if self.empties and ndim and self.chance(0.3):
            sizes[self.integer(0, ndim - 1)] = 0
        while prod(sizes) > MOST_ELEMENTS:
            sizes[self.integer(0, ndim - 1)] = 2
        return tuple(sizes)

    def shaped(self, shape: Sequence[int]) -> int:
        """A value of this shape: one that is there, a new input, or another one resized."""
        shape = tuple(shape)
        if prod(shape) > MOST_ELEMENTS:
            raise RejectError("too large")
        fitting = self.live(lambda v: v.shape == shape and v.dtype.kind == "f")
        if fitting and self.chance(0.8):
            return int(self.choice(fitting))
        if len(self.inputs) < MOST_INPUTS and self.chance(0.5):
            return self.fresh(shape)
        source = self.pick(size=1)
        if self.values[source].size == prod(shape):
            return self.step("reshape", source, shape=shape)
        return self.step("resize", source, new_shape=shape)

    def broadcastable(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts with the given one."""
        other = [1 if self.chance(0.25) else n for n in shape]
        other = other[self.integer(0, len(other)) :] if self.chance(0.4) else other
        if self.chance(0.1) and prod(shape) < 20 and len(other) < 4:
            other = [self.integer(1, 3), *([1] * (len(shape) - len(other))), *other]
        return tuple(other)

    def partner(self, i: int, constants: bool = True, kind: str = "f") -> Any:
        """Something that broadcasts with value i: another value, a constant, a new input."""
        shape = self.values[i].shape

        def fits(v: Any) -> bool:
            try:
                return prod(np.broadcast_shapes(v.shape, shape)) <= MOST_ELEMENTS
            except ValueError:
                return False

        if constants and self.chance(0.12):
            return Const(self.number(-2, 2))
        if constants and self.chance(0.04):
            return Const(self.rng.integers(-3, 4, self.broadcastable(shape)))
        if constants and self.chance(0.1):
            return Const(np.round(self.rng.uniform(-2, 2, self.broadcastable(shape)), 4))
        if self.chance(0.75):
            return self.pick(fits, kind)
        return self.shaped(self.broadcastable(shape))

    def pair(self, constants: bool = True) -> tuple[Any, Any]:
        """Two operands that broadcast; at most one of them a constant."""
        i = self.pick()
        j = self.partner(i, constants)
        return (i, j) if self.chance(0.5) else (j, i)

    def together(self, *args: Any) -> tuple[Any, ...]:
        """The operands, if all of them broadcast."""
        shapes = [np.shape(a.value) if isinstance(a, Const) else self.values[a].shape for a in args]
        try:
            fits = prod(np.broadcast_shapes(*shapes)) <= MOST_ELEMENTS
        except ValueError:
            fits = False
        if not fits:
            raise RejectError("shapes do not fit")
        return args

    # -- domains -----------------------------------------------------------------------------

    def within(self, arg: Any, low: float | None, high: float | None) -> Any:
        """The argument, with a squashing step where it leaves the interval."""
        if isinstance(arg, Const):
            return self._constant_within(arg, low, high)
        if self._inside(arg, low, high):
            return arg
        squashed = self._squashed(arg, low, high)
        if not self._inside(squashed, low, high):
            raise RejectError("the interval lies too far out")
        return squashed

    def _inside(self, arg: int, low: float | None, high: float | None) -> bool:
        v, margin = self.values[arg], 0.03
        above = low is None or bool(np.all(v > low + margin))
        return above and (high is None or bool(np.all(v < high - margin)))

    def _squashed(self, arg: int, low: float | None, high: float | None) -> int:
        if low is None:
            assert high is not None
            return self.step("negative", self._above(self.step("negative", arg), -high))
        if high is None:
            return self._above(arg, low)
        squash = self.choice(["tanh", "sin", "expit", "arctan"])
        bounds = {
            "tanh": (-1.0, 1.0),
            "sin": (-1.0, 1.0),
            "expit": (0.0, 1.0),
            "arctan": (-1.58, 1.58),
        }
        a, b = bounds[squash]
        scale = 0.9 * (high - low) / (b - a)
        shift = (low + high) / 2 - scale * (a + b) / 2
        return self.step(
            "affine", self.step(squash, arg), a=float(f"{scale:.6g}"), b=float(f"{shift:.6g}")
        )

    def _above(self, arg: int, low: float) -> int:
        way = self.choice(["softplus", "absolute", "square", "exp", "hypot"])
        if way == "exp":
            raised = self.step("exp", self.within(arg, -2.5, 1.2))
        elif way == "hypot":
            raised = self.step("hypot", arg, Const(self.number(0.4, 1)))
        else:
            raised = self.step(way, arg)
        shift = low + self.number(0.15, 0.6)
        return self.step("affine", raised, a=1.0, b=float(f"{shift:.6g}"))

    def _constant_within(self, arg: Const, low: float | None, high: float | None) -> Const:
        a = (high - 3 if high is not None else -2.0) if low is None else low + 0.1
        b = (low + 3 if low is not None else 2.0) if high is None else high - 0.1
        if isinstance(arg.value, np.ndarray):
            return Const(np.round(self.rng.uniform(a, b, arg.value.shape), 4))
        return Const(self.number(a, b))

    # -- axes --------------------------------------------------------------------------------

    def axis(self, ndim: int) -> int:
        """One axis, counted from the front or from the back."""
        if ndim == 0:
            raise RejectError("no axis")
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim: int, some: bool = False) -> Any:
        """None, one axis, or several of them."""
        if ndim == 0 or (not some and self.chance(0.25)):
            return None
        if ndim == 1 or self.chance(0.6):
            return self.axis(ndim)
        several = self.rng.permutation(ndim)[: self.integer(1, ndim)]
        return tuple(int(a) - ndim * self.chance(0.3) for a in several)

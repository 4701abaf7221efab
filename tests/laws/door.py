"""The walk of the one door: what a function hands to Python at several points, and what is guarded.

Each name is called with the same arguments at several points, under the trace that the compiler
records with.  What Python is handed (all but the values of Variables) may differ between points
only where a read was noted: else a compiled function would repeat the first answer for ever.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrule.core.spec import Spec
from chainrule.errors import ChainruleError
from chainrule.record.specialise import GuardedTrace
from chainrule.record.variable import Variable

nan = np.nan
POINTS = [
    np.array([1.5, -2.0, 0.3, 0.0]),
    np.array([0.0, 7.0, 7.0, 2.0]),
    np.array([-3.3, 0.0, nan, 1.0]),
    np.array([2.0, 4.0, 5.0, 3.0]),  # where nothing is out of the ordinary
]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
LONGEST = 12  # of what is taken from an iterator


def reads_noted(trace: GuardedTrace) -> int:
    """How many reads the trace has noted so far: values, counts of picks, and what it refuses."""
    return len(trace.reads) + len(trace.counts) + len(trace.refused)


def watching_trace() -> GuardedTrace:
    """A trace that counts what stops a recording."""
    refused: list[str] = []
    trace = GuardedTrace(refuse=refused.append)
    trace.refused = refused
    return trace


class Named(dict):  # type: ignore[type-arg]
    """The keyword arguments of a template."""


C = [1.5, -2.0, 0.3, 0.0]
TEMPLATES: list[tuple[Any, ...]] = [
    # A letter stands for a Variable: x a vector, m a matrix, s a number, b booleans, i integers,
    # n an integer, z complex numbers.  C stands for a plain vector.
    ("x",), ("x", "x"), ("x", "C"), ("C", "x"), ("x", 1), (1, "x"), ("x", "x", "x"),
    ("x", "C", 1), ("m",), ("m", "m"), ("m", "x"), ("s",), ("s", "s"), ("s", 1.5), (1.5, "s"),
    ("b",), ("b", "x"), ("b", "C"), ("b", "x", "x"), ("b", "b"), ("i",), ("i", "i"), ("x", "i"),
    ("i", 4), (["x", "x"],), (["s", "s"],), (["s", 1.5], "x"), (["x", "C"],), ("x", ["x"], ["x"]),
    ("x", [1, 2]), ("x", "b", 1.0), ("x", "b"), ("x", (0, 1)), ("%g", "x"), ("%g", "s"),
    (["x", "x"], "x"), ("f", 0, "m"), ("f", "x"), ("ij,jk", "m", "m"), ("x", "x", 1.5, "C"),
    ("m", 0, "C"), ("x", None), ("m", 2), ((4,), "s"), ("s", "s", 5), ("x", slice(0, 2)), ("n",),
    ("x", "n"), ("n", "s"), ("s", 1.0, "n"), ("C", "n"), (0, "n"), ("z",), ("z", "z"),
    ("x", Named(axis=0)), ("m", Named(axis="n")), ("x", Named(where="b")), ("x", Named(out="C")),
    ("C", "b", "x"), ("C", "i", "x"), ("C", "i"), ("C", "b"),
]  # fmt: skip


class Outcome(NamedTuple):
    """What one call did: "raises", "raw" or "returns"; what Python could see; reads noted."""

    kind: str
    seen: Any
    reads: int = 0


class Finding(NamedTuple):
    """A call that breaks the law."""

    kind: str
    name: str
    template: tuple[Any, ...]
    detail: str

    def __str__(self) -> str:
        return f"{self.kind:8} {self.name}{self.template}: {self.detail}"


# -- arguments --------------------------------------------------------------------------------


def _letters(x: Any, m: Any) -> dict[str, Callable[[], Any]]:
    """What each letter stands for, of Variables or of arrays; made anew for each call."""
    whole = np.abs(np.nan_to_num(x)).astype(np.int64) % 3
    return {
        "x": lambda: x * 1.0,
        "m": lambda: m * 1.0,
        "s": lambda: x[0] * 1.0,
        "b": lambda: x > 0.2,
        "i": lambda: whole * 1,
        "n": lambda: whole[1] % 2,
        "z": lambda: x * (1 + 0j) + 1j * (x > 0.2),
        "C": lambda: np.array(C),
        "f": lambda: _first,
    }


def _first(*args: Any) -> Any:
    return args[0]


def _filled(template: Any, letters: dict[str, Callable[[], Any]]) -> Any:
    if isinstance(template, str):
        return letters[template]() if template in letters else template
    if isinstance(template, list):
        return [_filled(part, letters) for part in template]
    if isinstance(template, dict):
        return {key: _filled(part, letters) for key, part in template.items()}
    return template


def _call(fn: Callable[..., Any], template: Any, letters: Any) -> Any:
    """The result, drained where it is an iterator, and the arguments as they are afterwards."""
    named = _filled(template[-1], letters) if isinstance(template[-1], Named) else {}
    args = [_filled(part, letters) for part in (template[:-1] if named else template)]
    result = fn(*args, **named)
    if isinstance(result, Iterator) and not isinstance(result, io.IOBase):
        result = [type(result).__name__, *itertools.islice(result, LONGEST)]
    return result, [a for a in (*args, *named.values()) if not isinstance(a, Variable)]


# -- what Python sees -------------------------------------------------------------------------


def seen(value: Any, depth: int = 0) -> Any:
    """All that Python has of a result, but for the values of Variables."""
    if isinstance(value, Variable):
        return "Variable", *Spec.of(value)
    if depth > 5 or value is None or isinstance(value, (type, str, bytes, int, float, complex)):
        return ADDRESS.sub("", repr(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        with np.errstate(all="ignore"):
            return "array", value.shape, str(value.dtype), repr(np.asarray(value).tolist())
    if isinstance(value, dict):
        return [(seen(k, depth + 1), seen(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [seen(v, depth + 1) for v in value]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(str(seen(v, depth + 1)) for v in value)
    if isinstance(value, np.ndarray):
        return "array", value.shape, [seen(v, depth + 1) for v in value.ravel().tolist()]
    return type(value).__name__, _inside(value, depth + 1)


def _inside(value: Any, depth: int) -> Any:
    """What an object of some class holds: its attributes, what it is copied from, or its text."""
    if callable(value) and hasattr(value, "__code__"):
        return "function"
    if getattr(value, "__dict__", None):
        return seen(vars(value), depth)
    with contextlib.suppress(Exception):
        return seen(value.__reduce_ex__(2)[1:3], depth)
    return "object" if " at 0x" in (text := repr(value)) else text


# -- one call at one point --------------------------------------------------------------------


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def silent_lapack() -> Iterator[None]:
    """LAPACK writes its complaints about NaN past Python, into the file of the process."""
    kept = [os.dup(k) for k in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for k in (1, 2):
            os.dup2(nowhere, k)
        yield
    finally:
        for k, old in zip((1, 2), kept, strict=True):
            os.dup2(old, k)
            os.close(old)
        os.close(nowhere)


def _matrix(x: np.ndarray) -> np.ndarray:
    return x[:, None] * np.eye(4) + x


def of_arrays(fn: Callable[..., Any], template: Any, point: int) -> Outcome:
    """What NumPy or Python does with plain arrays."""
    x = POINTS[point].copy()
    with _quiet():
        try:
            return Outcome("returns", seen(_call(fn, template, _letters(x, _matrix(x))))[1])
        except Exception as error:  # noqa: BLE001 - a function may raise whatever it likes
            return Outcome("raises", type(error).__name__)


def of_variables(fn: Callable[..., Any], templates: list[Any], point: int) -> list[Outcome]:
    """What happens with Variables in the place of arrays, for each template."""
    trace, outcomes = watching_trace(), []

    def one(template: Any, letters: Any) -> Outcome:
        # The operands are read by nobody: only what the call itself notes counts.
        before = reads_noted(trace)
        try:
            got = _call(fn, template, letters)
            reads = reads_noted(trace) - before
            return Outcome("returns", seen(got)[1], reads)
        except ChainruleError as error:
            return Outcome("raises", type(error).__name__, reads_noted(trace) - before)
        except Exception as error:  # noqa: BLE001 - a raw error is what is looked for
            return Outcome("raw", type(error).__name__, reads_noted(trace) - before)

    def every(x: Any, m: Any) -> Any:
        letters = _letters(x, m)
        outcomes.extend(one(template, letters) for template in templates)
        return x * 1.0

    with _quiet():
        trace.record(every, (POINTS[point].copy(), _matrix(POINTS[point])), {})
    return outcomes


# -- the law ----------------------------------------------------------------------------------


def findings(name: str, fn: Callable[..., Any], compared: bool = True) -> list[Finding]:
    """Where this name breaks the law; `compared`: NumPy or Python has it too, for arrays."""
    points = range(len(POINTS))
    wanted, plain = TEMPLATES, []
    if compared:
        plain = [[of_arrays(fn, t, k) for k in points] for t in TEMPLATES]
        works = [any(o.kind == "returns" for o in row) for row in plain]
        wanted = [t for t, w in zip(TEMPLATES, works, strict=True) if w]
        plain = [row for row, w in zip(plain, works, strict=True) if w]
    if not wanted:
        return []
    by_point = [of_variables(fn, wanted, k) for k in points]
    found = []
    for j, template in enumerate(wanted):
        row = [outcomes[j] for outcomes in by_point]
        found += _judged(name, template, row, plain[j] if compared else [])
    again = {id(f): of_variables(fn, [f.template], 0)[0] for f in found if f.kind != "raw"}
    first = {str(t): by_point[0][j] for j, t in enumerate(wanted)}
    # What differs between two runs at one point (id, hash, empty) says nothing of the value.
    return [f for f in found if f.kind == "raw" or again[id(f)].seen == first[str(f.template)].seen]


def _judged(name: str, template: Any, row: list[Outcome], plain: list[Outcome]) -> list[Finding]:
    returned = [o for o in row if o.kind == "returns"]
    raised = [o for o in row if o.kind != "returns"]
    found = []
    if len({repr(o.seen) for o in returned}) > 1 and min(o.reads for o in returned) == 0:
        # The result, or where that is one for all, an argument that was written to.
        part = 0 if len({repr(o.seen[0]) for o in returned}) > 1 else 1
        texts = sorted({repr(o.seen[part]) for o in returned})
        kind = "shape" if "('Variable', (" in texts[0] else "value"
        found.append(Finding(kind, name, template, " / ".join(t[:70] for t in texts[:2])))
    if raised and returned and min(o.reads for o in raised) == 0:
        found.append(Finding("raises", name, template, raised[0].seen))
    if len({o.seen for o in raised}) > 1 and min(o.reads for o in raised) == 0:
        found.append(
            Finding("raises", name, template, " / ".join(sorted({o.seen for o in raised})))
        )
    if plain and _is_raw(name, template, row[-1], plain[-1]):
        found.append(Finding("raw", name, template, row[-1].seen))
    return found


def _is_raw(name: str, template: Any, got: Outcome, plain: Outcome) -> bool:
    """Whether an error is NumPy's or Python's, at the last point, where arrays would do."""
    if got.kind != "raw" or plain.kind != "returns" or plain.seen[0] == seen(NotImplemented):
        return False
    # A list is made an array of objects before we are asked: NumPy dispatches on no list.
    if any(isinstance(part, list) for part in template):
        return False
    # A method of a plain array is not ours.  A dunder that is not there is how Python is told so.
    foreign = name.startswith("x.") and template[0] not in OURS
    return not foreign and not (name.startswith("x.__") and got.seen == "AttributeError")


OURS = frozenset("xmsbinz")

"""The register of the small programs that a compiled function is compared with: names, functions, calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Change = Callable[[int], Any]


@dataclass(frozen=True)
class Instance:
    """One program with outside state of its own."""

    f: Callable[..., Any]
    change: Change | None = None  # what happens outside before the k-th call, k = 1, 2, ...
    observed: Callable[[], Any] | None = None  # what the function has done outside so far


@dataclass(frozen=True)
class Call:
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A function as a user would write it, and arguments that lead it through its branches."""

    name: str
    subject: str  # the file it stands in
    make: Callable[[], Instance]
    calls: tuple[Call, ...]
    grad: bool  # whether a gradient of it is of interest
    typed: bool  # whether it asks for types, which are other ones while it is differentiated


PROGRAMS: dict[str, Program] = {}


def kw(*args: Any, **kwargs: Any) -> Call:
    """The arguments of a call with keywords."""
    return Call(tuple(_array(a) for a in args), {k: _array(a) for k, a in kwargs.items()})


def functions(calls: list[Any], *, grad: bool = True, typed: bool = False, **by_name: Any) -> None:
    """Register functions without outside state that are called with the same arguments."""
    for name, f in by_name.items():
        _register(name, f, lambda f=f: Instance(f), calls, grad, typed)


def function(*calls: Any, grad: bool = True, typed: bool = False) -> Callable[[Any], Any]:
    """Register the decorated function, which has no outside state."""

    def decorate(f: Any) -> Any:
        _register(f.__name__, f, lambda: Instance(f), calls, grad, typed)
        return f

    return decorate


def stateful(*calls: Any, grad: bool = True, typed: bool = False) -> Callable[[Any], Any]:
    """Register what the decorated factory makes: (f, change) or (f, change, observed)."""

    def decorate(make: Any) -> Any:
        _register(make.__name__, make, lambda: Instance(*make()), calls, grad, typed)
        return make

    return decorate


# Where `cr.grad` raises an error of NumPy's or of the standard library's own, or hashes a Variable
# by identity: compiled they are the function, interpreted they are not yet.
INTERPRETED_OTHERWISE = {
    "cache_by_value", "fromiter_of", "packed", "testing_assert", "vectorised", "write_flat",
}  # fmt: skip


def _register(name: str, written: Any, make: Any, calls: Any, grad: bool, typed: bool) -> None:
    assert name not in PROGRAMS, f"two programs are called {name}"
    subject = written.__module__.rpartition(".")[2]
    typed = typed or name in INTERPRETED_OTHERWISE
    PROGRAMS[name] = Program(name, subject, make, tuple(_call(c) for c in calls), grad, typed)


def _call(given: Any) -> Call:
    if isinstance(given, Call):
        return given
    return kw(*given) if isinstance(given, tuple) else kw(given)


def _array(given: Any) -> Any:
    """A list of numbers as an array; everything else as it is."""
    if isinstance(given, list) and _numbers(given):
        return np.array(given, dtype=float)
    return given


def _numbers(given: Any) -> bool:
    return all(_numbers(g) if isinstance(g, list) else isinstance(g, (int, float)) for g in given)

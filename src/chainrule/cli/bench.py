"""`chainrule bench`: value and gradient timed, interpreted and compiled, on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import columns, show, show_json, value_json

if TYPE_CHECKING:
    from chainrule.view.styled import Styled

EXAMPLE = 'chainrule bench "sum(tanh(A @ x) ** 2)" A=[[1,2],[3,4]] x=[0.1,0.2] --seconds 0.2'
MIN_ROUNDS = 5  # rounds, however long one takes
BATCH = 1e-3  # seconds one measurement lasts at least


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to measure (1)")


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.mistake import InputError
    from chainrule.cli.subject import subject_of
    from chainrule.diff.gradient import value_and_grad
    from chainrule.run.compiled import compile

    if not 0 < options.seconds <= 3600:
        raise InputError(f"--seconds {options.seconds}: between 0 and 3600")
    with subject_of(options) as subject:
        if not subject.names:
            raise InputError("no argument to differentiate by: give it one, as in x=1.5")
        f = subject.function
        both = value_and_grad(f, tuple(range(len(subject.names))))
        fast = compile(both)
        start = perf_counter()
        fast(*subject.values)
        compiling = perf_counter() - start
        ways: dict[str, Callable[..., Any]] = {"value": f, "value_and_grad": both, "compiled": fast}
        difference = _difference(both(*subject.values), fast(*subject.values))
        calls = {name: _call(way, subject.values) for name, way in ways.items()}
        rounds, times = _measured(calls, options.seconds)
    document = {
        "function": subject.shown,
        "seconds": times,
        "speedup": times["value_and_grad"] / times["compiled"],
        "gradient_over_value": times["value_and_grad"] / times["value"],
        "compile_seconds": compiling,
        "largest_difference": value_json(difference),
        "rounds": rounds,
    }
    if options.json:
        show_json(document)
    else:
        show(options, _lines(document))
    return 0


def _call(function: Callable[..., Any], values: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: function(*values)


def _measured(calls: dict[str, Callable[[], Any]], seconds: float) -> tuple[int, dict[str, float]]:
    """Median seconds of each, measured in turns, so that a slow moment meets all alike."""
    counts = {}
    for name, call in calls.items():
        start = perf_counter()
        call()
        counts[name] = max(1, int(BATCH / max(perf_counter() - start, 1e-9)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    end = perf_counter() + seconds
    while perf_counter() < end or len(found["value"]) < MIN_ROUNDS:
        for name, call in calls.items():
            start = perf_counter()
            for _ in range(counts[name]):
                call()
            found[name].append((perf_counter() - start) / counts[name])
    return len(found["value"]), {name: median(times) for name, times in found.items()}


def _difference(one: Any, other: Any) -> float:
    """The largest difference of two nested results, relative to their size."""
    import numpy as np

    from chainrule.core.containers import flatten

    largest = 0.0
    for a, b in zip(flatten(one)[0], flatten(other)[0], strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.size:
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            off = np.where(same, 0.0, np.abs(a - b) / (1.0 + np.abs(a)))
            largest = max(largest, float(np.max(off)))
    return largest


def _lines(found: dict[str, Any]) -> Iterator[Styled]:
    times = found["seconds"]
    rows = [
        ("value, interpreted", _time(times["value"]), ""),
        ("value and gradient, interpreted", _time(times["value_and_grad"]),
         f"×{found['gradient_over_value']:.3g} the value alone"),
        ("value and gradient, compiled", _time(times["compiled"]),
         f"×{found['speedup']:.3g} as fast"),
    ]  # fmt: skip
    yield []
    yield [(f"  {found['function']}", "heading")]
    yield from columns(rows, ("", "value", "dim"))
    said = (
        f"  first compiled call {_time(found['compile_seconds'])}; medians of {found['rounds']} "
        f"rounds; largest relative difference {float(found['largest_difference']):.0e}"
    )
    yield [(said, "dim")]
    yield []


def _time(seconds: float) -> str:
    for unit, size in (("s ", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"

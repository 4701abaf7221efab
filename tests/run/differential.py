"""Looks for programs that come out otherwise when they are compiled, and makes them small.

    PYTHONPATH=src python -m tests.run.differential --seconds 600 --seed 0 --log build/fuzz.log

Random programs (`random_source`) are called at three points, with outside state altered in between:
the compiled function must do what the plain one does; its compiled gradient, and the gradient of
its gradient, what the interpreted ones do.  The log says what was tried and what came of it.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.core.containers import flatten
from chainrule.optimise import found, iterations, repeats, roll
from tests.run.outcome import DIGITS, Outcome, compiled, difference, outcome, verdict
from tests.run.programs.checker import scalarised
from tests.run.random_source import Writer
from tests.run.shrink import shrunk

ORDERS = ("value", "gradient", "second", "interpreted")


@dataclass(frozen=True)
class Failure:
    """The first call that came out otherwise."""

    kind: str  # different, raw or refused
    what: str  # one of ORDERS
    call: int
    how: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.what}, call {self.call}): {self.how}"


@dataclass
class Tally:
    """What has been run and what came of it."""

    programs: int = 0
    machine_code: int = 0  # programs of which the function, at least, ran as such
    features: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Failure, str]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"programs {self.programs}, machine code {self.machine_code}",
            "features " + _counts(self.features),
        ]
        lines += [f"refused {n}: {why}" for why, n in self.refusals.most_common()]
        lines.append(f"failures {len(self.failures)}")
        for number, failure, text in self.failures:
            lines += [f"\n# program {number}: {failure}", text]
        return "\n".join(lines)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counter.items()))


def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return cr.value_and_grad(scalarised(f))


def second(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a weighted sum of the gradient."""

    def slope(*args: Any, **kwargs: Any) -> Any:
        parts = flatten(cr.grad(scalarised(f))(*args, **kwargs))[0]
        return sum(np.sum(g * np.arange(1.0, 5.0, dtype=g.dtype)) for g in parts)

    return cr.grad(slope)


def outcomes(text: str, way: Callable[..., Any]) -> list[Outcome]:
    """What the program of the text comes to at each of its points, run in this way."""
    space: dict[str, Any] = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an expression made smaller may look odd
        code = compile(text, "<program>", "exec")
    exec(code, space)  # noqa: S102 - text of our own making
    f = way(space["f"])
    result = []
    for k, (args, kwargs) in enumerate(space["POINTS"]):
        if k:
            space["change"](k)
        result.append(outcome(f, args, kwargs))
    return result


def failure_of(text: str, tally: Tally | None = None) -> Failure | None:
    """The worst that happens to a program: a difference before a raw error before a refusal."""
    made: list[Any] = []

    def fast(f: Callable[..., Any]) -> Any:
        made.append(compiled(f))
        return made[-1]

    digits = DIGITS[4 if "float32)" in text else 8]
    failures = _failures("value", outcomes(text, lambda f: f), outcomes(text, fast), digits)
    if tally is not None:
        tally.machine_code += bool(made[0].variants)
    for what, way in (("gradient", gradient), ("second", second)):
        expected = outcomes(text, way)
        found = outcomes(text, lambda f, way=way: compiled(way(f)))
        failures += _failures(what, expected, found, digits)
        if what == "gradient":
            failures += _interpreted(outcomes(text, scalarised), expected, digits)
    worst = ("different", "raw", "refused")
    return min(failures, key=lambda f: worst.index(f.kind)) if failures else None


def _failures(
    what: str, expected: list[Outcome], found: list[Outcome], digits: float
) -> list[Failure]:
    verdicts = [verdict(a, b, digits) for a, b in zip(expected, found, strict=True)]
    return [Failure(kind, what, k, how) for k, (kind, how) in enumerate(verdicts) if kind != "same"]


def _interpreted(plain: list[Outcome], found: list[Outcome], digits: float) -> list[Failure]:
    """Where the engine's value is not the plain one, or it raises an error that is not ours."""
    failures = []
    for k, (a, b) in enumerate(zip(plain, found, strict=True)):
        if a.error is None and b.error is None:
            values = np.asarray(a.value[0]), np.asarray(b.value[0][0])
            dtype = min(v.dtype for v in values)
            how = difference(*(v.astype(dtype) for v in values), digits=digits)
            if how is not None:
                failures.append(Failure("different", "interpreted", k, how))
        elif a.error is None and not isinstance(b.error, cr.ChainruleError):
            failures.append(Failure("raw", "interpreted", k, str(b)))
    return failures


def reason(failure: Failure) -> str:
    """The first line of a refusal without its numbers."""
    return re.sub(r"[-\d.]+", "#", failure.how.splitlines()[0])[:120]


def fuzz(seed: int, numbers: range, seconds: float, shrink: bool = True) -> Tally:
    """Programs of these numbers until the time is over."""
    tally = Tally()
    end = time.monotonic() + seconds
    for number in numbers:
        if time.monotonic() > end:
            break
        writer = Writer(seed, number)
        text = writer.text()
        tally.features.update(writer.features.keys())
        tally.programs += 1
        failure = failure_of(text, tally)
        if failure is not None and failure.kind == "refused":
            tally.refusals[reason(failure)] += 1
        elif failure is not None:
            text = shrunk(text, _fails_as(failure)) if shrink else text
            tally.failures.append((number, failure_of(text) or failure, text))
    return tally


def _fails_as(failure: Failure) -> Callable[[str], bool]:
    def fails(text: str) -> bool:
        try:
            found = failure_of(text)
        except Exception:  # noqa: BLE001 - no program any more
            return False
        return found is not None and _sort(found) == _sort(failure)

    return fails


def _sort(failure: Failure) -> tuple[str, str, bool]:
    """What stays when a program is made small; it must not begin to raise."""
    return failure.kind, failure.what, failure.how.startswith("expected")


def short_loops() -> None:
    """From now on every repetition becomes a loop, be it of two iterations."""
    for module in (repeats, iterations, found, roll):
        for name, least in (("MIN_COUNT", 2), ("MIN_SAVED_NODES", 4)):
            if hasattr(module, name):
                setattr(module, name, least)


def main() -> None:
    """Fuzz as the command line says; the status says whether something came out otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--short-loops", action="store_true", help="compile all loops as loops")
    options = parser.parse_args()
    if options.short_loops:
        short_loops()
    numbers = range(options.first, options.first + options.programs)
    tally = fuzz(options.seed, numbers, options.seconds, not options.no_shrink)
    report = f"seed {options.seed}, programs from {options.first}\n{tally}\n"
    sys.stdout.write(report)
    if options.log is not None:
        options.log.parent.mkdir(parents=True, exist_ok=True)
        options.log.write_text(report)
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()

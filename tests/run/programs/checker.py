"""Runs programs of the corpus plain, interpreted and compiled, and says what came out otherwise.

PYTHONPATH=src python -m tests.run.programs.checker [--reverse] [--verify always] [NAME ...]
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.core.containers import flatten
from tests.run.outcome import Outcome, compiled, difference, outcome, verdict
from tests.run.programs import everything
from tests.run.programs.corpus import Call, Instance, Program
from tests.run.programs.refused import REFUSED

PROGRAMS = everything.PROGRAMS


@dataclass(frozen=True)
class Finding:
    """One program of which one call did not come to the same."""

    name: str
    kind: str  # different, raw or refused
    what: str  # value, gradient, or interpreted
    call: int
    how: str

    def __str__(self) -> str:
        return f"{self.kind:9} {self.name} ({self.what}, call {self.call}): {self.how}"


def scalarised(f: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of all real and complex numbers in the result of f, each with a weight of its own."""

    def total(*args: Any, **kwargs: Any) -> Any:
        result = 0.0
        for k, leaf in enumerate(flatten(f(*args, **kwargs))[0]):
            kind = getattr(getattr(leaf, "dtype", None), "kind", "")
            if kind in ("f", "O") or type(leaf) is float:
                result = result + np.sum(leaf) * (1 + k)
            elif kind == "c":
                result = result + np.sum(np.real(leaf)) * (1 + k) + np.sum(np.imag(leaf)) * 0.5
        return result

    return total


def differentiated(call: Call) -> tuple[int, ...]:
    """The positions of the arguments that have a gradient."""
    return tuple(i for i, a in enumerate(call.args) if any(map(_real, flatten(a)[0])))


def _real(leaf: Any) -> bool:
    return type(leaf) is float or getattr(getattr(leaf, "dtype", None), "kind", "") in ("f", "c")


def called(instance: Instance, f: Callable[..., Any], calls: Iterable[Call]) -> list[Outcome]:
    """The outcomes of calls one after the other, with what is to be seen outside after each."""
    outcomes = []
    for k, call in enumerate(calls):
        if k and instance.change is not None:
            instance.change(k)
        printed = io.StringIO()
        with redirect_stdout(printed):
            came = outcome(f, call.args, call.kwargs)
        if came.error is None:
            seen = instance.observed() if instance.observed is not None else None
            came = Outcome((*came.value, printed.getvalue(), seen))
        outcomes.append(came)
    return outcomes


@dataclass(frozen=True)
class Checked:
    """What came of a program."""

    findings: list[Finding]
    machine_code: bool  # whether a call of it ran as such; else it ran as plain Python


def findings(program: Program, verify: str = "never") -> list[Finding]:
    return checked(program, verify).findings


def checked(program: Program, verify: str = "never") -> Checked:
    """What differs between the plain and the compiled function, and between their gradients."""
    made = []

    def fast(f: Callable[..., Any]) -> Any:
        made.append(compiled(f, verify))
        return made[-1]

    calls = (*program.calls, program.calls[0])
    expected = _called(program, calls, lambda f: f)
    found = _called(program, calls, fast)
    result = _compared(program.name, "value", expected, found)
    by = differentiated(program.calls[0])
    if program.grad and by:
        result += _gradients(program, by, calls, verify)
    return Checked(result, bool(made[0].variants))


def _gradients(program: Program, by: Any, calls: tuple[Call, ...], verify: str) -> list[Finding]:
    def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
        return cr.value_and_grad(scalarised(f), by)

    expected = _called(program, calls, gradient)
    found = _called(program, calls, lambda f: compiled(gradient(f), verify))
    result = _compared(program.name, "gradient", expected, found)
    if not program.typed:
        values = _called(program, calls, scalarised)
        result += _interpreted(program.name, values, expected)
    return result


def _called(program: Program, calls: tuple[Call, ...], way: Callable[..., Any]) -> list[Outcome]:
    """The outcomes for outside state of its own: what a process shares is put back by `make`."""
    instance = program.make()
    return called(instance, way(instance.f), calls)


def _interpreted(name: str, plain: list[Outcome], expected: list[Outcome]) -> list[Finding]:
    """Where the interpreted value is not the plain one, or a raw error came instead of it."""
    for k, (a, b) in enumerate(zip(plain, expected, strict=True)):
        if a.error is None and b.error is None:
            dtype = min(np.asarray(a.value[0]).dtype, np.asarray(b.value[0][0]).dtype)
            gap = difference(*(np.asarray(v).astype(dtype) for v in (a.value[0], b.value[0][0])))
            if gap is not None:
                return [Finding(name, "different", "interpreted", k, gap)]
        elif a.error is None and not isinstance(b.error, cr.ChainruleError):
            return [Finding(name, "raw", "interpreted", k, str(b))]
    return []


def _compared(name: str, what: str, expected: list[Outcome], found: list[Outcome]) -> list[Finding]:
    result = []
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        kind, how = verdict(a, b)
        if kind != "same" and kind not in {f.kind for f in result}:  # the first one of a kind
            result.append(Finding(name, kind, what, k, how))
    return result


def unexpected(finding: Finding) -> bool:
    """Whether it is wrong, or refused without being on the list."""
    return finding.kind != "refused" or finding.name not in REFUSED


def main() -> None:
    """Every finding in a line of its own; the status says whether there is one that must not be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--verify", default="never")
    options = parser.parse_args()
    names = options.names or list(PROGRAMS)
    wrong, plain = 0, []
    for name in names[::-1] if options.reverse else names:
        result = checked(PROGRAMS[name], options.verify)
        if not result.machine_code:
            plain.append(name)
        for finding in result.findings:
            wrong += unexpected(finding)
            sys.stdout.write(f"{finding}\n".replace("\n  ", " | "))
    sys.stdout.write(f"{len(plain)} ran as plain Python: {' '.join(plain)}\n")
    sys.stdout.write(f"{len(names)} programs\n")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

"""Long tables of cases: which of them run by default, and all samples of an op in one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest


def sampled(
    cases: Iterable[Any], every: int, kind: Callable[..., Hashable] | None = None
) -> list[Any]:
    """The cases, of which all are marked slow but every so-many-th and the first of each kind.

    `kind` is asked of the values of a case.  `make test-all` runs all of them.
    """
    result, seen = [], set()
    for n, case in enumerate(cases):
        values = getattr(case, "values", case if isinstance(case, tuple) else (case,))
        key = None if kind is None else kind(*values)
        first = kind is not None and key not in seen
        seen.add(key)
        if first or n % every == 0:
            result.append(case)
        else:
            marks = (*getattr(case, "marks", ()), pytest.mark.slow)
            result.append(pytest.param(*values, id=getattr(case, "id", None), marks=marks))
    return result


def on_every_sample(cases: Iterable[Any]) -> Callable[[Callable[..., Any]], Any]:
    """A test of an op and a sample, run on all samples of an op in turn: tens of thousands of
    tests would take longer to be collected and reported than to run.  An error says which it was.
    `of_one` of the result is the test of one op and one sample.
    """
    groups: dict[tuple[str, bool], list[Any]] = {}
    for case in cases:
        slow = any(mark.name == "slow" for mark in case.marks)
        groups.setdefault((case.values[0].name, slow), []).append(case)
    params = [
        pytest.param(name, slow, id=f"{name}-rest", marks=pytest.mark.slow)
        if slow
        else pytest.param(name, slow, id=name)
        for name, slow in groups
    ]

    def decorate(test: Callable[..., Any]) -> Any:
        fixtures = [p for p in inspect.signature(test).parameters if p not in ("op", "sample")]

        def on_all(name: str, slow: bool, request: pytest.FixtureRequest) -> None:
            given = {fixture: request.getfixturevalue(fixture) for fixture in fixtures}
            skipped = []
            for case in groups[name, slow]:
                op, sample = case.values
                try:
                    test(op=op, sample=sample, **given)
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except Exception as error:
                    error.add_note(f"on the sample {case.id}")
                    raise
            if len(skipped) == len(groups[name, slow]):
                raise skipped[0]

        on_all.__name__, on_all.__doc__ = test.__name__, test.__doc__
        on_all.__module__ = test.__module__
        on_all.of_one = test  # type: ignore[attr-defined]
        return pytest.mark.parametrize(("name", "slow"), params)(on_all)

    return decorate

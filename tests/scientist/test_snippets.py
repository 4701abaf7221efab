"""The snippets of this folder: right with our imports, many unchanged; never raw or wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scientist import algebra, arrays, signals, solvers, statistics
from tests.scientist.snippet import (
    RAW,
    REFUSED,
    RIGHT,
    SNIPPETS,
    WRONG,
    Snippet,
    is_there,
    outcome,
)

SUBJECTS = (algebra, arrays, signals, solvers, statistics)  # each enters its own
TRIED = [s for s in SNIPPETS if not s.needs or is_there(s.needs)]
UNCHANGED, WITH_IMPORT = 45 / 90, 85 / 90  # the least part that is right

# What is refused even with our imports, and why.  This list only shrinks.
NOT_COVERED: dict[str, str] = {}


def counted(changed: bool) -> Counter[str]:
    return Counter(outcome(s, changed)[0] for s in TRIED)


def test_there_are_enough():
    assert len(SNIPPETS) >= 150
    assert len({str(s) for s in SNIPPETS}) == len(SNIPPETS)


@pytest.mark.parametrize("a", TRIED, ids=str)
def test_unchanged_it_is_right_or_refused(a: Snippet):
    found, said = outcome(a, changed=False)
    assert found in (RIGHT, REFUSED), said
    if found == REFUSED:
        assert f"{a.program.__module__.rpartition('.')[2]}.py:" in said  # the user's line


@pytest.mark.parametrize("a", TRIED, ids=str)
def test_with_our_imports_it_is_right(a: Snippet):
    found, said = outcome(a, changed=True)
    assert found == (REFUSED if str(a) in NOT_COVERED else RIGHT), said


def test_the_counts():
    unchanged, changed = counted(changed=False), counted(changed=True)
    assert unchanged[RIGHT] >= UNCHANGED * len(TRIED), unchanged
    assert changed[RIGHT] >= WITH_IMPORT * len(TRIED), changed
    for found in (unchanged, changed):
        assert not found[RAW], found
        assert not found[WRONG], found

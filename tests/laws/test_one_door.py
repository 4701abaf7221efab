"""What Python is told of a Variable, by whatever name, is a Variable, refused, or a read."""

from __future__ import annotations

from functools import cache

import pytest

from tests.laws.door import Finding, findings, silent_lapack
from tests.laws.door_names import MODULES

# Names that NumPy or Python have too: what works there works here or is refused by us.
NUMPYS = [m for m in MODULES if m not in ("Variable", "chainrule", "python", "statements")]


@cache
def walked(module: str) -> list[Finding]:
    with silent_lapack():
        return [
            f
            for name, fn in MODULES[module]().items()
            for f in findings(name, fn, compared=module != "Variable")
        ]


def told(found: list[Finding]) -> str:
    return "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("module", MODULES)
def test_what_differs_between_points_is_a_read(module):
    unguarded = [f for f in walked(module) if f.kind != "raw"]
    assert not unguarded, told(unguarded)


@pytest.mark.parametrize("module", NUMPYS)
def test_what_works_on_arrays_is_refused_in_our_words(module):
    raw = [f for f in walked(module) if f.kind == "raw"]
    assert not raw, told(raw)

"""Tests mirror the folders: `src/chainrule/core/graph.py` is tested in `tests/core/test_graph.py`.

A test file may serve a small group of modules of its folder: its first line names the others in
backticks, as `gap.py` or `estimator_*.py`.
"""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "chainrule", ROOT / "tests"
# Modules without a test file of their own; the list only shrinks.
EXCEPTIONS = Path(__file__).with_name("without_own_tests.txt")
NAMED = re.compile(r"`([\w*]+)\.py`")


def modules(package: Path) -> list[Path]:
    """Paths inside of the package, without those of `__init__` and `__main__`."""
    paths = (path.relative_to(package) for path in package.rglob("*.py"))
    return sorted(path for path in paths if not path.stem.startswith("__"))


def named_beside(tests: Path) -> dict[Path, list[str]]:
    """By folder of tests, the patterns of modules that first lines name."""
    named: dict[Path, list[str]] = {}
    for path in tests.rglob("test_*.py"):
        with path.open(encoding="utf-8") as text:
            patterns = NAMED.findall(text.readline())
        named.setdefault(path.parent.relative_to(tests), []).extend(patterns)
    return named


def without_tests(package: Path, tests: Path) -> set[str]:
    named = named_beside(tests)
    return {
        module.as_posix()
        for module in modules(package)
        if not (tests / module.parent / f"test_{module.stem}.py").exists()
        and not any(fnmatch(module.stem, each) for each in named.get(module.parent, ()))
    }


# ---- the law ------------------------------------------------------------------------------------


def test_every_module_has_its_test_file() -> None:
    excepted = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    missing = without_tests(PACKAGE, TESTS)
    assert excepted == sorted({*excepted})
    new, old = missing.difference(excepted), {*excepted} - missing
    assert not new, f"write tests/…/test_<module>.py for {sorted(new)}"
    assert not old, f"these have tests now, or are gone: delete the lines {sorted(old)}"


# ---- the checker bites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "text", "found"),
    [
        ("core/test_graph.py", '"""Graphs."""', set()),
        ("core/test_other.py", '"""Nodes (`node.py`, `graph.py`)."""', set()),
        ("core/test_other.py", '"""Nodes (`gr*.py`)."""', set()),
        ("core/test_other.py", '"""Nodes.\n\nAlso `graph.py`."""', {"core/graph.py"}),
        ("diff/test_graph.py", '"""Graphs (`graph.py`)."""', {"core/graph.py"}),
        ("core/graph_checks.py", '"""Graphs (`graph.py`)."""', {"core/graph.py"}),
    ],
)
def test_a_module_without_tests_is_found(tmp_path: Path, test: str, text: str, found: set) -> None:
    for path in ("src/core/__init__.py", "src/core/graph.py", f"tests/{test}"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert without_tests(tmp_path / "src", tmp_path / "tests") == found

"""ARCHITECTURE.md and CONTRIBUTING.md name what there is: rooms, files, constants, limits."""

import re
from pathlib import Path

import pytest

from tests.laws.test_file_tail import LONGEST_FILE
from tests.laws.test_import_direction import PACKAGE, PUBLIC, ROOMS

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / name).read_text("utf-8") for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")}
FILE = re.compile(r"(?<![\w./-])[\w.-]+(?:/[\w.-]+)*(?:/(?![\w(])|\.(?:py|md|html|js)\b)")
CONSTANT = re.compile(r"`([A-Z][A-Z_]{2,})`")


def rooms_in_table(page: str) -> list[tuple[str, str]]:
    """Name and description of each room, in the order of the table; the face is one row."""
    table = page.split("## The rooms")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.MULTILINE)
    names = [(re.findall(r"`(.*?)`", first), text) for first, text in rows]
    face = ["__init__.py", *(f"{name}.py" for name in PUBLIC)]
    return [
        ("face" if name == face else name[0].removesuffix("/").removesuffix(".py"), text)
        for name, text in names
    ]


def existing_names(root: Path) -> set[str]:
    """Files and folders, by each end of their path: `learn/step.py` and `step.py`."""
    folders = ("src", "tests", "docs", "benchmarks", "examples")
    paths = [path for folder in folders for path in (root / folder).rglob("*")]
    parts = [path.relative_to(root).parts for path in (*paths, *root.iterdir())]
    return {"/".join(each[start:]) for each in parts for start in range(len(each))}


def not_there(page: str, root: Path) -> list[str]:
    names = existing_names(root)
    return [name for name in FILE.findall(page) if name.rstrip("/") not in names]


# ---- the law ------------------------------------------------------------------------------------


def test_the_table_of_rooms_is_the_folders() -> None:
    named = [room for room, _ in rooms_in_table(PAGES["ARCHITECTURE.md"])]
    assert named == [room for room in ROOMS if room != "__main__"]
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__", *PUBLIC}
    assert {*named} - {"face"} == folders | modules


def test_each_row_names_files_of_its_room() -> None:
    for room, text in rooms_in_table(PAGES["ARCHITECTURE.md"]):
        for name in re.findall(r"`(\w+\.(?:py|html|js)|\w+/)`", text.split("are built from")[0]):
            assert [*(PACKAGE / room).rglob(name.rstrip("/"))], f"{room}: there is no {name}"


def test_contributing_lists_the_rooms() -> None:
    listed = PAGES["CONTRIBUTING.md"].split("**Imports point left** along: ")[1].split(".")[0]
    assert re.split(r",\s+", listed) == [r for r in ROOMS if r not in ("face", "__main__")]


def test_one_limit_for_the_length_of_a_file() -> None:
    limits = {int(n) for page in PAGES.values() for n in re.findall(r"at most (\d+) lines", page)}
    assert limits == {LONGEST_FILE}


@pytest.mark.parametrize("name", PAGES)
def test_files_and_folders_exist(name: str) -> None:
    assert not_there(PAGES[name], ROOT) == []


@pytest.mark.parametrize("name", PAGES)
def test_constants_exist(name: str) -> None:
    source = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    missing = [c for c in CONSTANT.findall(PAGES[name]) if not re.search(rf"\b{c}\b", source)]
    assert missing == []


# ---- the checker bites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "missing"),
    [
        ("`gone/`", ["gone/"]),
        ("`src/chainrule/ops/gone/`,", ["src/chainrule/ops/gone/"]),
        ("(`core/gone.py`)", ["core/gone.py"]),
        ("`core/graph.py` `lower/values/` `graph.py` [A](ARCHITECTURE.md#one) x/2 and/or", []),
    ],
)
def test_what_is_not_there_is_found(page: str, missing: list[str]) -> None:
    assert not_there(page, ROOT) == missing

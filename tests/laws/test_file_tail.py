"""Taste shows in the tail: no file too long, no function too long, no name that says nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage

import chainrule as cr

SOURCE = Path(__file__).parents[2] / "src"
LONGEST_FILE = 450
LONGEST_FUNCTION = 80
# Functions of our own: signatures in ops/ and scipy/ are NumPy's and SciPy's, and the public face
# is fixed.  Their number only shrinks.
MOST_PARAMETERS, MAX_WIDE_FUNCTIONS = 6, 19
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "misc", "manager", "managers"}

# A digit is allowed in a name that is NumPy's or SciPy's own: log2, expm1, i0, interp1d, ...
# So are the norms that mathematics calls so.
SPACES = (np, np.linalg, np.fft, scipy.interpolate, scipy.ndimage)
NUMPY_NAMES = {name for space in SPACES for name in dir(space) if not name.startswith("_")}
NUMPY_NAMES |= {"l1", "l2"}


# ---- the checker --------------------------------------------------------------------------------


def files(source: Path) -> list[Path]:
    return sorted(source.rglob("*.py"))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def long_files(source: Path) -> list[str]:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files(source)}
    return [f"{path}: {count} lines" for path, count in lengths.items() if count > LONGEST_FILE]


def opening_fault(path: Path) -> str | None:
    """What is wrong with the sentence a file begins with, or None."""
    tree = parse(path)
    if not tree.body and path.name == "__init__.py":
        return None
    docstring = ast.get_docstring(tree)
    if not docstring or tree.body[0].lineno != 1:
        return "does not begin with a docstring"
    first, *rest = docstring.splitlines()
    if not first.endswith("."):
        return f"first line does not end with a period: {first!r}"
    if rest and rest[0].strip():
        return "the first line is not a paragraph of its own"
    return None


def without_opening(source: Path) -> list[str]:
    faults = {path: opening_fault(path) for path in files(source)}
    return [f"{path}: {fault}" for path, fault in faults.items() if fault]


def empty_names(source: Path) -> list[str]:
    """Files and folders with a word in their name that could mean anything."""
    return [
        str(path)
        for path in files(source)
        for part in path.relative_to(source).with_suffix("").parts
        if EMPTY_WORDS & set(part.lower().split("_"))
    ]


def long_functions(source: Path) -> list[str]:
    return [
        f"{path}:{node.lineno} {node.name}: {length} lines"
        for path in files(source)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def wide_functions(source: Path) -> list[str]:
    """Functions of more parameters than a reader can hold, `self` not counted."""
    return [
        f"{path}:{node.lineno} {node.name}: {count} parameters"
        for path in files(source)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (count := parameters(node.args)) > MOST_PARAMETERS
    ]


def parameters(args: ast.arguments) -> int:
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions of the module and methods of its classes, but not functions inside functions."""
    stack: list[ast.AST] = [tree]
    while stack:
        for node in ast.iter_child_nodes(stack.pop()):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                stack.append(node)
            elif not node.name.startswith("_"):
                yield node


def has_stray_digit(name: str) -> bool:
    """Whether a digit is our own: `log1p` and `log1p_partials` are NumPy's, `sum2` is not."""
    words = name.split("_")
    prefixes = ("_".join(words[:end]) for end in range(len(words), 0, -1))
    rest = next((name[len(prefix) :] for prefix in prefixes if prefix in NUMPY_NAMES), name)
    return any(letter.isdigit() for letter in rest)


def numbered_functions(source: Path) -> list[str]:
    return [
        f"{path}:{node.lineno} {node.name}"
        for path in files(source)
        for node in public_functions(parse(path))
        if has_stray_digit(node.name)
    ]


CHECKS = [long_files, without_opening, empty_names, long_functions, numbered_functions]


# ---- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS)
def test_source(check) -> None:
    assert files(SOURCE), f"no files under {SOURCE}"
    faults = check(SOURCE)
    assert not faults, "\n" + "\n".join(faults)


def test_wide_functions_only_shrink() -> None:
    package = SOURCE / "chainrule"
    rooms = [path for path in package.iterdir() if path.name not in ("ops", "scipy")]
    wide = [
        each
        for room in rooms
        if room.is_dir()
        for each in wide_functions(room)
        if each.split()[1].rstrip(":") not in cr.__all__
    ]
    assert len(wide) <= MAX_WIDE_FUNCTIONS, "\n" + "\n".join(wide)


# ---- the checker bites --------------------------------------------------------------------------

LONG_BODY = "    pass\n" * LONGEST_FUNCTION


@pytest.mark.parametrize(
    ("check", "name", "text"),
    [
        (long_files, "a.py", "\n" * (LONGEST_FILE + 1)),
        (without_opening, "a.py", ""),
        (without_opening, "a.py", "x = 1\n"),
        (without_opening, "a.py", "# hello\n'''Nodes.'''\n"),
        (without_opening, "a.py", "'''Nodes'''\n"),
        (without_opening, "a.py", "'''Nodes.\nand more.'''\n"),
        (without_opening, "__init__.py", "x = 1\n"),
        (empty_names, "utils.py", ""),
        (empty_names, "_helpers.py", ""),
        (empty_names, "graph_misc.py", ""),
        (empty_names, "manager/a.py", ""),
        (long_functions, "a.py", f"def f():\n{LONG_BODY}"),
        (long_functions, "a.py", f"async def f():\n{LONG_BODY}"),
        (wide_functions, "a.py", "def f(a, b, c, d, *, e, f, g): pass\n"),
        (wide_functions, "a.py", "class A:\n    def f(self, a, b, c, d, e, f, g): pass\n"),
        (numbered_functions, "a.py", "def sum2(): pass\n"),
        (numbered_functions, "a.py", "def log1p_rule2(): pass\n"),
        (numbered_functions, "a.py", "if 1:\n    class A:\n        def step1(self): pass\n"),
    ],
)
def test_fault_is_found(tmp_path: Path, check, name: str, text: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert len(check(tmp_path)) == 1


@pytest.mark.parametrize("name", ["__init__.py", "graph.py"])
def test_sound_file_passes(tmp_path: Path, name: str) -> None:
    (tmp_path / "__init__.py").touch()
    (tmp_path / name).write_text(
        '"""Nodes and edges.\n\nMore of them.\n"""\n'
        "def atleast_2d(x):\n    def inner2(): pass\n"
        "def arctan2_partials(): pass\n"
        "def _second2(): pass\n"
        f"def longest():\n{LONG_BODY[len('    pass') + 1 :]}"
    )
    assert [fault for check in CHECKS for fault in check(tmp_path)] == []


@pytest.mark.parametrize("name", ["log2", "log10", "log1p", "exp2", "expm1", "arctan2", "i0"])
def test_numpy_names_are_allowed(name: str) -> None:
    assert not has_stray_digit(name)

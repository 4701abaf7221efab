"""Imports point left along the list of rooms, and no modules import each other in a circle."""

import ast
import graphlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "chainrule"

# The face is `chainrule` itself and its public modules: the rooms to its right are written on it.
ROOMS = (
    *("errors", "core", "ops", "record", "diff", "explain", "optimise", "lower", "run", "view"),
    *("scipy", "face", "learn", "scale", "interop", "cli", "__main__"),
)
# The order inside a room that has rooms of its own.
INNER_ROOMS = {"lower": ("target", "maths", "values", "build", "tape", "plan", "code", "module")}
PUBLIC = ("numpy", "tree")
FREE = ("face", "__main__")  # these may import anything


@dataclass(frozen=True)
class Import:
    """One import: `kind` is "top" (runs at import), "lazy" (in a function) or "typing"."""

    importer: str
    target: str
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target} ({self.kind})"


@dataclass(frozen=True)
class Lazy:
    """One use of `lazy_method`; module and attribute are None where they are no literal strings."""

    importer: str
    line: int
    module: str | None
    attribute: str | None

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} lazy_method({self.module}, {self.attribute})"


# ---- the checker --------------------------------------------------------------------------------


@cache  # a package has hundreds of files, and every use of `lazy_method` is a test
def read_modules(package: Path) -> dict[str, ast.Module]:
    """Syntax trees by module name; a folder is named by its `__init__.py`."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return modules


def packages_of(package: Path) -> set[str]:
    """Names of the modules that are folders, from which relative imports count differently."""
    return {
        ".".join(path.parent.relative_to(package.parent).parts)
        for path in package.rglob("__init__.py")
    }


def room(module: str) -> str | None:
    """The room a module lives in, or None where it lives in none."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in PUBLIC:
        return "face"
    return parts[1] if parts[1] in ROOMS and parts[1] != "face" else None


def inner_room(module: str) -> str | None:
    """The room inside its room, as `chainrule.lower.plan.fuse` lives in plan."""
    _, outer, inner, *_ = (*module.split("."), "", "")
    return inner if inner in INNER_ROOMS.get(outer, ()) else None


def statements(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Every node of the tree with the kind that an import there would have."""
    stack: list[tuple[ast.AST, str]] = [(tree, "top")]
    while stack:
        node, kind = stack.pop()
        yield node, kind
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and kind == "top":
            kind = "lazy"
        if isinstance(node, ast.If) and is_type_checking(node.test):
            stack += [(child, "typing") for child in node.body]
            stack += [(child, kind) for child in node.orelse]
        else:
            stack += [(child, kind) for child in ast.iter_child_nodes(node)]


def is_type_checking(test: ast.expr) -> bool:
    return called_name(test) == "TYPE_CHECKING"


def called_name(node: ast.expr) -> str | None:
    """`f` for both `f` and `module.f`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def literal(arguments: list[ast.expr], position: int) -> str | None:
    """The literal string at a position of a call, else None."""
    if position >= len(arguments):
        return None
    node = arguments[position]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def targets(node: ast.AST, module: str, is_package: bool, modules: set[str]) -> list[str]:
    """The absolute names of what one statement or call imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            up = module.split(".")[: None if is_package else -1]
            up = up[: len(up) - (node.level - 1)]
            base = ".".join([*up, base] if base else up)
        names = [f"{base}.{alias.name}" for alias in node.names]
        return [name if name in modules else base for name in names]
    if isinstance(node, ast.Call) and called_name(node.func) in ("import_module", "__import__"):
        name = literal(node.args, 0)
        return [name] if name else []
    return []


def find_imports(package: Path) -> list[Import]:
    """Every import of one module of the package by another, also those in functions."""
    trees, packages = read_modules(package), packages_of(package)
    found = {
        Import(module, target, node.lineno, kind)
        for module, tree in trees.items()
        for node, kind in statements(tree)
        for target in targets(node, module, module in packages, set(trees))
        if target.split(".")[0] == package.name and target != module
    }
    return sorted(found, key=lambda each: (each.importer, each.line, each.target))


def find_late(package: Path) -> list[Lazy]:
    """Every call of `lazy_method`."""
    return [
        Lazy(module, node.lineno, literal(node.args, 0), literal(node.args, 1))
        for module, tree in read_modules(package).items()
        for node, _ in statements(tree)
        if isinstance(node, ast.Call) and called_name(node.func) == "lazy_method"
    ]


# The package itself does not change while it is tested: its modules are parsed once.
imports_of_all = cache(lambda: find_imports(PACKAGE))
broken_of_all = cache(lambda: frozenset(broken_late(PACKAGE)))


def homeless(package: Path) -> list[str]:
    """Modules that live in no room of the list."""
    return [module for module in read_modules(package) if room(module) is None]


def pointing_right(imports: list[Import]) -> list[Import]:
    """The imports that run and lead to a room further right than the importer's own."""
    wrong = []
    for each in imports:
        source, target = room(each.importer), room(each.target)
        if each.kind == "typing" or source is None or source in FREE:
            continue
        if target is None or ROOMS.index(target) > ROOMS.index(source):
            wrong.append(each)
    return wrong


def pointing_right_inside(imports: list[Import], outer: str) -> list[Import]:
    """The imports inside a room that lead further right there; one for typing counts, too."""
    order = INNER_ROOMS[outer]
    wrong = []
    for each in imports:
        if room(each.importer) != outer or room(each.target) != outer:
            continue
        source, target = inner_room(each.importer), inner_room(each.target)
        if source is None or target is None or order.index(target) > order.index(source):
            wrong.append(each)
    return wrong


def find_cycle(imports: list[Import]) -> list[str]:
    """The modules of one import cycle, first one repeated at the end; empty if there is none.

    A lazy import counts, but for one in the face: that is how the face loads a room on first use.
    An import for typing counts inside a room that has rooms of its own.
    """
    sorter: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
    for each in imports:
        outer = room(each.importer)
        typed = outer in INNER_ROOMS and room(each.target) == outer
        if each.kind == "top" or typed or (each.kind == "lazy" and outer not in FREE):
            sorter.add(each.importer, each.target)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def names_bound(tree: ast.Module) -> set[str]:
    """The names that a module's top level binds."""
    bound = set()
    for node, kind in statements(tree):
        if kind != "top":
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return bound


def broken_late(package: Path) -> list[Lazy]:
    """The uses of `lazy_method` that name no literal, no module or no name bound in that module."""
    trees = read_modules(package)
    return [
        each
        for each in find_late(package)
        if each.module is None
        or each.attribute is None
        or each.module not in trees
        or each.attribute not in names_bound(trees[each.module])
    ]


def lines(found: list) -> str:
    return "\n".join(map(str, found))


# ---- the law ------------------------------------------------------------------------------------


def test_every_module_lives_in_a_room() -> None:
    assert read_modules(PACKAGE), f"no modules under {PACKAGE}"
    assert homeless(PACKAGE) == []


def test_imports_point_left() -> None:
    imports = imports_of_all()
    wrong = pointing_right(imports)
    typing_only = [each for each in imports if each.kind == "typing"]
    assert not wrong, (
        f"imports that point right:\n{lines(wrong)}\n"
        f"for comparison, allowed as for typing only:\n{lines(typing_only)}"
    )


@pytest.mark.parametrize("outer", INNER_ROOMS)
def test_imports_point_left_inside(outer: str) -> None:
    wrong = pointing_right_inside(imports_of_all(), outer)
    assert not wrong, f"imports that point right inside {outer}:\n{lines(wrong)}"


def test_no_import_cycle() -> None:
    assert find_cycle(imports_of_all()) == []


@pytest.mark.parametrize("each", find_late(PACKAGE), ids=str)
def test_late_resolves(each: Lazy) -> None:
    """One case per use, so that `pytest -v` lists the ways of pointing right."""
    assert each not in broken_of_all()


# ---- the checker bites --------------------------------------------------------------------------


def make_tree(folder: Path, **files: str) -> Path:
    """A package of the given files; `core__graph` is `core/graph.py`."""
    package = folder / "chainrule"
    package.mkdir()
    for name, text in {"__init__": "", **files}.items():
        path = package / (name if name.startswith("__") else name.replace("__", "/", 1))
        path = path.with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    "text",
    [
        "import chainrule.diff.reverse",
        "from chainrule.diff import reverse",
        "from chainrule.diff.reverse import backward",
        "from chainrule import diff",
        "from ..diff import reverse",
        "from .. import diff",
        "def f():\n    from chainrule.diff import reverse",
        "f = lambda: __import__('chainrule.diff.reverse')",
        "def f():\n    return importlib.import_module('chainrule.diff.reverse')",
        "try:\n    import chainrule.diff\nexcept ImportError:\n    pass",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import chainrule.diff",
        "class A:\n    from chainrule.diff import reverse",
        "import chainrule",
        "from chainrule import grad",
        "from chainrule.nowhere import x",
    ],
)
def test_import_to_the_right_is_found(tmp_path: Path, text: str) -> None:
    package = make_tree(tmp_path, core__graph=text, diff__reverse="backward = 1")
    assert [each.importer for each in pointing_right(find_imports(package))] == [
        "chainrule.core.graph"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from chainrule.errors import GraphError",
        "from chainrule.core import graph",
        "from . import forward",
        "from ..core.graph import Graph",
        "import numpy.linalg",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from chainrule.view import page",
        "import typing\nif typing.TYPE_CHECKING:\n    from chainrule.view import page",
    ],
)
def test_import_to_the_left_passes(tmp_path: Path, text: str) -> None:
    files = {"errors": "", "core__graph": "", "diff__forward": "", "view__page": ""}
    package = make_tree(tmp_path, diff__reverse=text, **files)
    assert pointing_right(find_imports(package)) == []
    assert find_cycle(find_imports(package)) == []


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        ("lower__plan", "from chainrule.lower.code import lines"),
        ("lower__plan", "def f():\n    from . import code"),
        ("lower__plan", "if TYPE_CHECKING:\n    from chainrule.lower.code import lines"),
        ("lower__plan", "from chainrule.lower import stray"),
        ("lower__stray", "from chainrule.lower import values"),
    ],
)
def test_import_to_the_right_inside_is_found(tmp_path: Path, importer: str, text: str) -> None:
    files = {"lower__values": "", "lower__code": "lines = 1", "lower__stray": ""}
    package = make_tree(tmp_path, **{**files, importer: text})
    wrong = pointing_right_inside(find_imports(package), "lower")
    assert [each.importer for each in wrong] == [f"chainrule.{importer.replace('__', '.')}"]


def test_import_to_the_left_inside_passes(tmp_path: Path) -> None:
    text = "from chainrule.core import node\nfrom chainrule.lower.values import Value"
    package = make_tree(tmp_path, core__node="", lower__values="Value = 1", lower__code=text)
    assert pointing_right_inside(find_imports(package), "lower") == []


def test_typing_import_makes_a_cycle_inside(tmp_path: Path) -> None:
    back = "if TYPE_CHECKING:\n    from . import a"
    package = make_tree(tmp_path, lower__a="from . import b", lower__b=back)
    assert find_cycle(find_imports(package)) != []


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    text = (
        "import chainrule.errors\n"
        "if TYPE_CHECKING:\n    import chainrule.view\n"
        "def f():\n    import chainrule.core\n"
    )
    package = make_tree(tmp_path, diff__reverse=text)
    assert [each.kind for each in find_imports(package)] == ["top", "typing", "lazy"]


def test_face_may_import_anything_and_right_rooms_import_the_face(tmp_path: Path) -> None:
    package = make_tree(
        tmp_path,
        __init__="from .core import graph\ndef __getattr__(name):\n    import chainrule.learn",
        core__graph="",
        numpy="from chainrule.view import page",
        view__page="",
        learn__layers="import chainrule as cr\nimport chainrule.numpy",
        __main__="from chainrule.cli import command",
        cli__command="from chainrule.learn import layers",
    )
    imports = find_imports(package)
    assert len(imports) == 7
    assert pointing_right(imports) == []
    assert find_cycle(imports) == []


def test_module_outside_the_rooms_is_found(tmp_path: Path) -> None:
    package = make_tree(tmp_path, core__graph="", extras__graph="", stray="", numpy="", face="")
    assert homeless(package) == [
        "chainrule.extras",
        "chainrule.extras.graph",
        "chainrule.face",
        "chainrule.stray",
    ]


@pytest.mark.parametrize("back", ["import chainrule.core.a", "def f():\n    from . import a"])
def test_cycle_is_found(tmp_path: Path, back: str) -> None:
    package = make_tree(
        tmp_path, core__a="from . import b", core__b="from chainrule.core.c import x", core__c=back
    )
    cycle = find_cycle(find_imports(package))
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {"chainrule.core.a", "chainrule.core.b", "chainrule.core.c"}


def test_cycle_through_a_folder_is_found(tmp_path: Path) -> None:
    package = make_tree(tmp_path, core__a="from chainrule.core import Node")
    (package / "core" / "__init__.py").write_text("from .a import Node")
    assert find_cycle(find_imports(package)) != []


def test_typing_import_makes_no_cycle(tmp_path: Path) -> None:
    package = make_tree(
        tmp_path, core__a="from . import b", core__b="if TYPE_CHECKING:\n    from . import a"
    )
    assert find_cycle(find_imports(package)) == []


@pytest.mark.parametrize(
    ("use", "sound"),
    [
        ('lazy_method("chainrule.diff.run", "forward")', True),
        ('lazy_method("chainrule.diff.run", "Run")', True),
        ('lazy_method("chainrule.diff.run", "LIMIT")', True),
        ('lazy_method("chainrule.diff.run", "sqrt")', True),
        ('descriptors.lazy_method("chainrule.diff.run", "forward")', True),
        ('lazy_method("chainrule.diff.run", "backward")', False),
        ('lazy_method("chainrule.diff.run", "inner")', False),
        ('lazy_method("chainrule.diff.gone", "forward")', False),
        ('lazy_method("chainrule.diff.run", NAME)', False),
        ('lazy_method(f"chainrule.diff.{room}", "forward")', False),
        ('lazy_method("chainrule.diff.run")', False),
    ],
)
def test_late_is_checked(tmp_path: Path, use: str, sound: bool) -> None:
    package = make_tree(
        tmp_path,
        core__graph=f"class Graph:\n    forward = {use}",
        diff__run="from math import sqrt\nLIMIT = 1\nclass Run: pass\ndef forward(): inner = 1",
    )
    assert [each.line for each in find_late(package)] == [2]
    assert (broken_late(package) == []) == sound
    assert pointing_right(find_imports(package)) == []

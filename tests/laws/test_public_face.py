"""Rooms that are written on the public face import nothing from behind it."""

import ast
from pathlib import Path

import pytest

import chainrule
from tests.laws.test_import_direction import (
    PACKAGE,
    ROOMS,
    Import,
    called_name,
    find_imports,
    lines,
    make_tree,
    read_modules,
    room,
    statements,
)

ON_THE_FACE = {  # rooms that import nothing but these
    "learn": {"learn", "face", "errors"},
    "scale": {"scale", "learn", "face", "errors"},
}


def behind_the_face(package: Path) -> list[Import]:
    """Imports by rooms written on the face alone of something else, also as `cr.core.graph`."""
    reached = find_imports(package) + [
        Import(module, f"chainrule.{node.attr}", node.lineno, kind)
        for module, tree in read_modules(package).items()
        if room(module) in ON_THE_FACE
        for node, kind in statements(tree)
        if isinstance(node, ast.Attribute) and called_name(node.value) in ("cr", "chainrule")
        if node.attr in ROOMS and node.attr != "explain"  # which is a function as well
    ]
    return [
        each
        for each in reached
        if room(each.target) not in ON_THE_FACE.get(room(each.importer) or "", ROOMS)
    ]


def private_names(package: Path, public: set[str]) -> list[str]:
    """Names that rooms written on the face alone take from `chainrule`, and that are not public."""
    return [
        f"{module}:{node.lineno} {alias.name}"
        for module, tree in read_modules(package).items()
        if room(module) in ON_THE_FACE
        for node, _ in statements(tree)
        if isinstance(node, ast.ImportFrom) and node.module == package.name and not node.level
        for alias in node.names
        if alias.name not in public
    ]


# ---- the law ------------------------------------------------------------------------------------


def test_learn_and_scale_are_written_on_the_public_face() -> None:
    wrong = behind_the_face(PACKAGE)
    assert not wrong, f"imports from behind the public face:\n{lines(wrong)}"
    assert private_names(PACKAGE, {*chainrule.__all__, *chainrule.OPS}) == []


# ---- the checker bites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from chainrule.core.graph import Graph", 1),
        ("def f():\n    import chainrule.core.graph", 1),
        ("from chainrule import core", 1),
        ("import chainrule as cr\ncr.core.graph.Graph", 1),
        ("import chainrule as cr\nfrom chainrule.errors import E\nfrom . import layers", 0),
        ("import chainrule as cr\ncr.tree.map\nimport chainrule.tree\ncr.explain", 0),
    ],
)
def test_import_from_behind_the_face_is_found(tmp_path: Path, text: str, count: int) -> None:
    files = {"errors": "", "core__graph": "", "tree": "", "learn__layers": ""}
    package = make_tree(tmp_path, learn__loss=text, cli__run="import chainrule.core", **files)
    assert [each.importer for each in behind_the_face(package)] == ["chainrule.learn.loss"] * count


def test_private_name_of_the_face_is_found(tmp_path: Path) -> None:
    package = make_tree(tmp_path, learn__loss="from chainrule import grad, _methods")
    assert private_names(package, {"grad"}) == ["chainrule.learn.loss:1 _methods"]

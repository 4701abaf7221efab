"""A pass reads a field of the op record and never names an op, so that one op is one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from chainrule.core.op import OPS

PACKAGE = Path(__file__).parents[2] / "src" / "chainrule"
FACE = {"__init__.py", "numpy.py", "tree.py"}
FACES = ("ops", "scipy")  # folders that give ops their names, and are called by them

# The names that still stand outside ops/.  This list only shrinks.
LISTED = {
    "core/rule.py": {"item"},
    "explain/disagreement.py": {"stop_gradient"},
    "lower/build.py": {"item"},
    # An equation names its ops; these also ask which of them a node is.
    "optimise/algebra.py": {"conjugate", "real"},
    "optimise/layout.py": {"sum", "transpose"},
    "optimise/pieces.py": {"add", "embed"},
    "optimise/reassociate.py": {"divide", "multiply", "negative"},
    # A method of ndarray and a way to make an array call an op.
    "record/creation.py": {"copy", "empty_like", "full_like", "ones_like", "zeros_like"},
    "record/methods.py": {
        *("absolute", "copy", "matmul", "matrix_transpose", "partition", "put", "round", "sort"),
    },
    "record/protocol.py": {"add_at"},
    "record/specialise.py": {"count_nonzero", "stop_gradient"},
    "record/variable.py": {"stop_gradient"},
}


# ---- the checker --------------------------------------------------------------------------------


def strings(tree: ast.AST) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def constants(tree: ast.Module) -> dict[str, set[str]]:
    """The strings that each constant of the module holds."""
    return {
        target.id: strings(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


def speaks_of_an_op(node: ast.AST) -> bool:
    """Whether an expression reads the op of a node, the table of ops, or a variable called `op`."""
    return any(
        (isinstance(part, ast.Attribute) and part.attr == "op")
        or (isinstance(part, ast.Name) and part.id in ("op", "OPS"))
        for part in ast.walk(node)
    )


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The operands of a comparison or a look-up, of which one may be a name and one an op."""
    if isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Subscript):
        yield from (node.value, node.slice)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from (node.func.value, *node.args)  # TABLE.get(node.op.name)


def named(tree: ast.Module) -> set[str]:
    """The ops a module names: strings that are compared with an op, or look one up."""
    held = constants(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        operands = list(parts(node))
        if not any(speaks_of_an_op(part) for part in operands):
            continue
        for part in operands:
            if isinstance(part, ast.Constant | ast.Tuple | ast.List | ast.Set | ast.Dict):
                found |= strings(part)
            elif isinstance(part, ast.Name):
                found |= held.get(part.id, set())
    return {name for name in found if name in OPS}


def passes(package: Path) -> Iterator[Path]:
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        if relative.parts[0] not in FACES and str(relative) not in FACE:
            yield path


def names_of_ops(package: Path) -> dict[str, set[str]]:
    found = {
        path.relative_to(package).as_posix(): named(ast.parse(path.read_text(encoding="utf-8")))
        for path in passes(package)
    }
    return {path: names for path, names in found.items() if names}


# ---- the law ------------------------------------------------------------------------------------


def test_a_pass_names_no_op():
    """Where a name is gone, its entry goes too."""
    assert names_of_ops(PACKAGE) == LISTED


# ---- the checker bites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'if node.op.name == "item": pass',
        'if node.op.name in ("item", "no op"): pass',
        'WORDS = {"item", "no op"}\nif node.op.name in WORDS: pass',
        'SIGNS = {"item": "+"}\nsign = SIGNS.get(node.op.name)',
        'SIGNS = {"item": "+"}\nsign = SIGNS[node.op.name]',
        'sign = {"item": "+"}[node.op.name]',
        'op = OPS["item"]',
        'if op == "item": pass',
        'if "item" == case.op: pass',
    ],
)
def test_a_name_is_found(tmp_path, text):
    (tmp_path / "a.py").write_text(text)
    assert names_of_ops(tmp_path) == {"a.py": {"item"}}


@pytest.mark.parametrize(
    "text",
    ['if role == "constant": pass', 'if node.op.symbol: text = "item"', "x = OPS[name]"],
)
def test_a_word_that_names_no_op_is_free(tmp_path, text):
    (tmp_path / "a.py").write_text(text)
    assert names_of_ops(tmp_path) == {}

"""The reference is complete and true: every public name, signature, error and op, and no other."""

import ast
import importlib.util
import inspect
import re

import pytest

import chainrule as cr
from chainrule import errors
from chainrule.core.op import Op
from tests.docs.pages import ROOT, page_paths

REFERENCE = ROOT / "docs" / "reference"
# An entry begins a line, or a row of a table: `cr.hvp(f, primals, tangents)`.
ENTRY = re.compile(r"^(?:\| )?`(cr|graph|run)\.([\w.]+)(\([^`]*\))`", re.MULTILINE)
OWNERS = {"cr": cr, "graph": cr.Graph, "run": cr.Run}
FUNCTIONS = [name for name in cr.__all__ if inspect.isroutine(getattr(cr, name))]


def entries():
    """Page, owner, name and signature of each entry of the reference."""
    for path in sorted(REFERENCE.glob("*.md")):
        for owner, name, signature in ENTRY.findall(path.read_text(encoding="utf-8")):
            yield pytest.param(owner, name, signature, id=f"{path.stem}: {owner}.{name}")


def parameters(signature):
    """Each parameter as it is shown: `*args`, `order=2`; a star before those that need a name."""
    made = ast.parse(f"lambda {signature[1:-1]}: 0", mode="eval").body.args
    return ast.unparse(made).split(", ")


def true_signature(owner, name):
    """As an entry shows it: without types, and without the object that a method is called on."""
    function = OWNERS[owner]
    for part in name.split("."):
        function = getattr(function, part)
    if isinstance(function, Op):
        return f"({', '.join((*function.inputs, *function.attrs))})"
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    shown = found.replace(parameters=bare[owner != "cr" :], return_annotation=found.empty)
    return str(shown)


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [n for n in cr.__all__ if not hasattr(errors, n)])
def test_public_name_is_in_the_reference(name):
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"\bcr\.{name}\b", text)


@pytest.mark.parametrize(("owner", "name", "signature"), list(entries()))
def test_the_signature_of_an_entry_is_the_true_one(owner, name, signature):
    shown, true = parameters(signature), parameters(true_signature(owner, name))
    if owner == "cr" and name in cr.OPS:  # its record has no defaults
        shown = [each.split("=")[0] for each in shown]
    assert shown == true


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_has_an_entry_with_its_signature(name):
    pages = [path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")]
    assert any(found[:2] == ("cr", name) for page in pages for found in ENTRY.findall(page))


@pytest.mark.parametrize(
    ("shown", "true", "alike"),
    [
        ("(f, order=2)", "(f, order=2)", True),
        ("(f, order=2)", "(f, order=3)", False),
        ("(f, order=2)", "(f, order=2, memory=None)", False),
        ("(f, *, near=1e-6)", "(f, *, near=1e-06)", True),
        ("(f, near=1e-6)", "(f, *, near=1e-06)", False),
        ('(mode="auto")', "(mode='auto')", True),
    ],
)
def test_a_signature_that_is_not_the_true_one_is_found(shown, true, alike):
    assert (parameters(shown) == parameters(true)) is alike


@pytest.mark.parametrize("name", [n for n in cr.__all__ if hasattr(errors, n)])
def test_error_is_in_the_reference(name):
    assert name in (REFERENCE / "errors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["make_ops", "make_learn"])
def test_a_page_that_is_written_by_a_script_is_what_it_writes(name):
    module = script(name)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), f"run: python docs/{name}.py"


def test_the_catalogue_of_ops_is_what_is_written():
    module = script("make_ops")
    found = module.CATALOGUE.read_text(encoding="utf-8")
    assert found == module.catalogue(), "run: python docs/make_ops.py"


def test_every_function_of_learn_says_what_it_is():
    assert list(cr.learn.__all__) == sorted(set(cr.learn.__all__))
    page = (REFERENCE / "learn.md").read_text(encoding="utf-8")
    for name in cr.learn.__all__:
        meaning = script("make_learn").meaning(getattr(cr.learn, name))
        assert len(meaning) > 10, name
        assert not meaning.startswith(f"{name}("), f"{name} has the docstring of a dataclass"
        assert f"`{name}(" in page


@pytest.mark.parametrize("path", page_paths(), ids=lambda path: path.name)
def test_what_is_said_not_to_be_there_is_not(path):
    """`no vmap` would hide what this release has."""
    there = {*cr.__all__, *cr.learn.__all__}
    text = path.read_text(encoding="utf-8")
    denied = re.findall(r"^\| (.*) \| not available|\b[Nn]o (`[\w.]+`)", text, re.MULTILINE)
    assert not there & set(re.findall(r"\w+", " ".join(map(" ".join, denied))))


@pytest.mark.parametrize("path", page_paths(), ids=lambda path: path.name)
def test_every_name_a_page_mentions_exists(path):
    """`cr.compile` in a page would promise what this release does not have."""
    text = path.read_text(encoding="utf-8")
    if path.name == "ARCHITECTURE.md":
        text = text.replace("cr.softsign", "")  # the op this page adds
    missing = [n for n in set(re.findall(r"\bcr\.([A-Za-z_]\w*)", text)) if not hasattr(cr, n)]
    assert missing == []

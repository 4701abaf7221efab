"""The reference is complete: every public name, error and op; no page names what is not there."""

import importlib.util
import re

import pytest

import chainrule as cr
from chainrule import errors
from tests.docs.pages import ROOT, page_paths

REFERENCE = ROOT / "docs" / "reference"


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [n for n in cr.__all__ if not hasattr(errors, n)])
def test_public_name_is_in_the_reference(name):
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"\bcr\.{name}\b", text)


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
def test_every_name_a_page_mentions_exists(path):
    """`cr.compile` in a page would promise what this release does not have."""
    text = path.read_text(encoding="utf-8")
    if path.name == "ARCHITECTURE.md":
        text = text.replace("cr.softsign", "")  # the op this page adds
    missing = [n for n in set(re.findall(r"\bcr\.([A-Za-z_]\w*)", text)) if not hasattr(cr, n)]
    assert missing == []

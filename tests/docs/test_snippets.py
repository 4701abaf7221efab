"""Every snippet of the README and of the documentation runs, and prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page, blocks_of, page_paths, rewrite, same

PAGES = page_paths()
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_the_page_shows_what_its_code_does(path):
    wrong = [
        f"{path.name}:{d.block.first}\n--- shown\n{d.shown}\n--- found\n{d.found}"
        for d in Page(path).differences()
    ]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_languages_are_known_and_make_targets_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for block in Page(path).blocks:
        assert block.language in ("python", "text", "console", "sh", "")
        if block.language == "sh":
            assert set(re.findall(r"^make ([a-z-]+)", block.text, re.M)) <= targets


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not re.match(r"\w+:", target):
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_pages_are_plain_text_of_the_project(path):
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not re.search(r"[ \t]$", text, re.M), "white space at the end of a line"
    found = re.search(r"(?<![\w.])/(home|root|tmp|work|Users)/", text)
    assert not found, "a path of somebody's machine"


# ---- the checker itself: it must fail on a page that lies ---------------------------------------


def page(tmp_path: Path, text: str) -> Page:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return Page(path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```python\nprint(2)\n```\n\n```text\n3\n```\n", "2"),
        ("```python\nprint(2)\n```\n", "2"),
        ("```python\nx = 2\n```\n\n```text\n2\n```\n", ""),
        ("```python\nraise KeyError('k')\n```\n", "KeyError: 'k'"),
        ("```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n", "1"),
    ],
)
def test_a_page_that_shows_something_else_is_caught(tmp_path, text, found):
    (difference,) = page(tmp_path, text).differences()
    assert difference.found == found


def test_a_console_block_is_run(tmp_path):
    text = '```console\n$ chainrule grad "x * x" x=3\n  f = x * x = 8\n```\n'
    (difference,) = page(tmp_path, text).differences()
    assert "f = x * x = 9" in difference.found


def test_a_block_knows_its_lines(tmp_path):
    code = "import chainrule as cr\n\nx = cr.variable(1.0)\nprint((2 * x).line.shown())"
    (difference,) = page(tmp_path, f"```python\n{code}\n```\n").differences()
    assert difference.found == "example.py:4    print((2 * x).line.shown())"


def test_what_needs_a_missing_package_is_left_out(tmp_path):
    text = "<!-- needs no_such_package -->\n```python\nprint(1)\n```\n"
    assert page(tmp_path, text).differences() == []


def test_the_true_output_can_be_written_into_the_page(tmp_path):
    first, second = "```python\nprint(1)\n```\n", "```python\nprint(2)\n```\n"
    wrong = page(tmp_path, f"{first}\ntext\n\n{second}\n```text\n3\n```\n")
    assert rewrite(wrong) == [1, 11]
    right = Page(wrong.path)
    assert right.differences() == []
    assert [b.text for b in right.blocks if b.language == "text"] == ["1", "2"]


@pytest.mark.parametrize("before", ["", "```python\nx = 1\n```\nwords\n"])
def test_output_of_nothing_is_refused(tmp_path, before):
    text = f"{before}```text\n1\n```\n"
    with pytest.raises(AssertionError, match=r"output of nothing|text between"):
        page(tmp_path, text)


def test_an_open_fence_is_refused():
    with pytest.raises(AssertionError, match="has no end"):
        list(blocks_of(["```python", "x = 1"]))


@pytest.mark.parametrize(
    ("shown", "found", "alike"),
    [
        ("largest difference 1e-13", "largest difference 4e-11", True),
        ("0.333333  [1. 2.]", "0.3333333 [1.  2.]", True),
        ("(0.1234567+8j)", "(0.1234568+8.0j)", True),
        ("3 nodes", "4 nodes", False),
        ("0.25", "0.2501", False),
        ("0.5", "nan", False),
        ("x.py:3", "x.py:4", False),
        ("order", "Order", False),
    ],
)
def test_only_the_last_digits_of_numbers_may_differ(shown, found, alike):
    assert same(shown, found) is alike

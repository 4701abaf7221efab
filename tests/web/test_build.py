"""The page that ships is what web/ builds, under a strict policy; its evaluator is checked."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from chainrule.view.theme import DARK, LIGHT
from tests.web import layouts
from tests.web.ops import FILE, WEB, cases, known

PAGE = files("chainrule.view").joinpath("page.html").read_text(encoding="utf-8")


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_page_is_small():
    assert len(PAGE.encode()) < 300_000


def test_the_policy_allows_the_one_script_and_the_one_style():
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', PAGE)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', PAGE, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", PAGE, re.S)
    assert policy == (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    assert PAGE.index("Content-Security-Policy") < PAGE.index("<style>")


def test_the_page_asks_for_nothing():
    asking = PAGE.replace("http://www.w3.org/2000/svg", "")  # the name of a language
    assert not re.search(r"https?:|\bfetch\(|XMLHttpRequest|WebSocket|\beval\(|innerHTML", asking)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_the_colours_are_those_of_pictures(colours):
    style = (WEB / "src" / "style.css").read_text(encoding="utf-8")
    for name, colour in colours.items():
        assert f"--{name}: {colour};" in style


def test_versions_are_exact_and_locked():
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    for name, version in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


@pytest.mark.parametrize("name", [*known(), "graph"])
def test_the_evaluator_is_checked_against_what_python_computes_today(name):
    written = json.loads(FILE.read_text(encoding="utf-8"))
    assert list(written) == [*known(), "graph"]
    today = cases_of(name)
    assert len(today) == len(written[name])
    for a, b in zip(today, written[name], strict=True):
        assert (a["program"], a["at"]) == (b["program"], b["at"])
        for column in ("values", "adjoints"):
            assert [x is None for x in a[column]] == [x is None for x in b[column]]
            np.testing.assert_allclose(numbers(a[column]), numbers(b[column]), rtol=1e-13)


def test_the_layout_is_checked_against_where_python_puts_boxes_today():
    written = json.loads(layouts.FILE.read_text(encoding="utf-8"))
    assert written == json.loads(layouts.text()), "run python -m tests.web.layouts"


def cases_of(name, made={}):  # noqa: B006 - computed once
    if not made:
        made.update(json.loads(json.dumps(cases())))
    return made[name]


def numbers(column):
    return [np.nan if x is None else float(x) for x in column]


needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir(),
    reason="needs Node and `npm install` in web/",
)


def node(*words, **env):
    done = subprocess.run(
        ["npx", "--no-install", *words],
        cwd=WEB,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_node
def test_the_page_is_what_the_source_builds(tmp_path):
    node("vite", "build", OUT=str(tmp_path))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == PAGE, "run `make web`"


@needs_node
def test_the_unit_tests_and_types_of_the_page():
    node("tsc", "--noEmit")
    node("vitest", "run")

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
from tests.web.ops import FILE, WEB, WHOLE, cases, known

PAGE = files("chainrule.view").joinpath("page.html").read_text(encoding="utf-8")
TRAINING = files("chainrule.view").joinpath("training.js").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("built", [PAGE, TRAINING], ids=["page", "training"])
def test_what_is_built_asks_for_nothing(built):
    built = built.replace("http://www.w3.org/2000/svg", "")  # the name of SVG, which nobody opens
    assert not re.search(r"https?:|\bfetch\(|XMLHttpRequest|WebSocket|\beval\(|innerHTML", built)


def test_the_view_of_training_fits_into_a_page_and_is_small():
    assert "</script" not in TRAINING
    assert re.search(r"export\s*\{\s*\w+ as default\s*\};?\s*$", TRAINING)
    assert len(TRAINING.encode()) < 30_000


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("sheet", ["style.css", "training/style.css"])
def test_the_colours_are_those_of_pictures(colours, sheet):
    style = (WEB / "src" / sheet).read_text(encoding="utf-8")
    for name, colour in colours.items():
        assert f"--{name}: {colour};" in style


def test_versions_are_exact_and_locked():
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    for name, version in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


WRITTEN = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_op_the_page_knows_is_checked():
    assert list(WRITTEN) == [*known(), *WHOLE]
    assert all(WRITTEN.values())


@pytest.mark.parametrize("name", WRITTEN)
def test_the_evaluator_is_checked_against_what_python_computes_today(name):
    today = json.loads(json.dumps(cases(name)))
    assert len(today) == len(WRITTEN[name])
    for a, b in zip(today, WRITTEN[name], strict=True):
        assert (a["program"], a["point"]) == (b["program"], b["point"])
        for column in ("status", "flags", "parent", "child", "flow"):
            assert a["shown"][column] == b["shown"][column]
        for column in ("values", "adjoints"):
            for x, y in zip(a[column], b[column], strict=True):
                assert (x is None) == (y is None)
                np.testing.assert_allclose(numbers(x), numbers(y), rtol=1e-12, atol=1e-14)


def test_the_layout_is_checked_against_where_python_puts_boxes_today():
    written = json.loads(layouts.FILE.read_text(encoding="utf-8"))
    assert written == json.loads(layouts.text()), "run python -m tests.web.layouts"


def numbers(column):
    return [] if column is None else [float(x) for x in column]


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
def test_the_view_of_training_is_what_the_source_builds(tmp_path):
    node("vite", "build", "--config", "training.config.js", OUT=str(tmp_path))
    assert (tmp_path / "training.js").read_text(encoding="utf-8") == TRAINING, "run `make web`"


@needs_node
def test_the_unit_tests_and_types_of_the_page():
    node("tsc", "--noEmit")
    node("vitest", "run")

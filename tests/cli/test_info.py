"""`chainrule info`: versions, processor, threads, cache, what is missing."""

import json
import platform
import re
from pathlib import Path

import numpy as np

import chainrule as cr
from chainrule.cli import info

SOURCE = Path(cr.__file__).parent


def test_json(run, monkeypatch, tmp_path):
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "cache" / f"{'a' * 64}.code").write_bytes(bytes(1000))
    (tmp_path / "cache" / "other").write_bytes(bytes(1000))
    status, out, err = run("info", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert (found["chainrule"], found["python"]) == (cr.__version__, platform.python_version())
    assert found["packages"]["numpy"] == np.__version__
    assert found["cache"] == {
        "folder": str(tmp_path / "cache"), "entries": 1, "bytes": 1000, "limit_mb": 256,
    }  # fmt: skip
    assert found["threads"] >= 1
    assert found["cpu"]["cores"] >= 1


def test_what_is_missing_is_said(run, monkeypatch):
    known = info._version
    monkeypatch.setattr(info, "_version", lambda p: None if p == "llvmlite" else known(p))
    out = run("info")[1]
    assert "llvmlite       not installed" in out
    assert "pip install 'llvmlite' would give cr.compile: machine code" in out


def test_a_cache_that_is_off(run, monkeypatch):
    monkeypatch.setenv("CHAINRULE_CACHE", "off")
    assert "off (CHAINRULE_CACHE)" in run("info")[1]


def test_every_extra_is_one_that_some_code_imports():
    source = "".join(p.read_text(encoding="utf-8") for p in SOURCE.rglob("*.py"))
    for package in info.EXTRAS:
        module = "sklearn" if package == "scikit-learn" else package
        assert re.search(rf"^ +(import|from) {module}\b", source, re.M), package

"""`chainrule sort`: text, JSON and Makefiles; both methods; a cycle has status 1."""

import io
import json
import sys

import pytest

from chainrule.cli.sort import dependencies_of

TEXT = "app: db web; web: http; db: log; http: log"


def test_golden(golden):
    golden("sort", "sort", TEXT)
    golden("sort-steps", "sort", TEXT, "--steps", "--method", "kahn")
    golden("sort-cycle", "sort", "a: b; b: c; c: a", "--steps", status=1)


@pytest.mark.parametrize("method", ["dfs", "kahn"])
def test_dependencies_come_first(run, method):
    document = json.loads(run("sort", TEXT, "--method", method, "--json", "--steps")[1])
    order = document["order"]
    assert all(order.index(a) > order.index(b) for a, b in [("app", "web"), ("db", "log")])
    assert document["cycle"] is None
    assert document["steps"][-1]["order"] == order


def test_a_cycle_is_named(run):
    status, out, err = run("sort", "a: b; b: a")
    assert (status, out) == (1, "")
    assert err.startswith("chainrule: the dependencies form a cycle: a → b → a")
    status, out, err = run("sort", "a: b; b: a", "--json")
    assert (status, err) == (1, "")
    assert json.loads(out)["cycle"] == ["a", "b", "a"]


MAKEFILE = """# comment
CC := gcc
OUT = a:b
FLAGS ?= -O2
.PHONY: all clean

all: prog lib.a | out  # both
prog: main.o \\
      lib.a
\t$(CC) -o $@ $^ : not a rule
main.o lib.o: common.h
lib.a:: lib.o ; ar rc $@
"""


def test_files(tmp_path, run, monkeypatch):
    makefile, mapping = tmp_path / "Makefile", tmp_path / "d.json"
    makefile.write_text(MAKEFILE)
    mapping.write_text('{"a": ["b", 3], "b": []}')
    assert dependencies_of(str(makefile)) == {
        "all": ["prog", "lib.a", "out"],
        "prog": ["main.o", "lib.a"],
        "main.o": ["common.h"],
        "lib.o": ["common.h"],
        "lib.a": ["lib.o"],
    }
    assert run("sort", str(mapping))[1] == "b\n3\na\n"
    assert run("sort", '{"a": ["b"]}')[1] == "b\na\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: b\nb: c\n")))
    assert run("sort", "-")[1] == "c\nb\na\n"


def test_a_deep_chain(run, tmp_path):
    path = tmp_path / "deep"
    path.write_text("".join(f"n{i}: n{i + 1}\n" for i in range(20_000)))
    status, out, _ = run("sort", str(path))
    assert status == 0
    assert out.startswith("n20000\nn19999\n")


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("no/such/file", "no/such/file: cannot be read: No such file or directory"),
        (".", ".: a folder, not a file"),
        (": b", "line 1: write a node, a colon and what it depends on"),
        ("a: b; c", "line 2: write a node"),
        ("{", "the text: not readable as JSON"),
        ('{"a": "b"}', "what a depends on must be a list of names"),
        ('{"a": [[1]]}', "what a depends on must be a list of names"),
        (" : ", "line 1"),
        ("#:", "no dependencies in it"),
        ("a\0b", "null byte"),
        ("{" * 10_000, "not readable as JSON"),
    ],
)
def test_refusals(run, what, says):
    status, out, err = run("sort", what)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") in (1, 3)


def test_binary_files_and_odd_names(run, tmp_path):
    (tmp_path / "bin").write_bytes(b"\xff\xfe: a")
    assert "not UTF-8 text (byte 0)" in run("sort", str(tmp_path / "bin"))[2]
    assert run("sort", '{"\\u001b[2J": ["\\ud800"]}')[1] == "�\n�[2J\n"

"""Every command: in the table, with a help whose example runs, and with strict JSON."""

import argparse
import json
import re
import shlex

import pytest

from chainrule.cli.commands import COMMANDS, parser_of
from tests.docs.pages import ROOT

NEEDS = {"compile": "llvmlite", "bench": "llvmlite", "train": "sklearn"}


@pytest.fixture(params=list(COMMANDS))
def command(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write a file
    if request.param in NEEDS:
        pytest.importorskip(NEEDS[request.param])
    return COMMANDS[request.param]


def example_of(command):
    program, name, *words = shlex.split(command.module.EXAMPLE)
    assert (program, name) == ("chainrule", command.name)
    return [name, *words]


def test_the_help_has_an_example_that_runs(run, command):
    status, out, err = run(command.name, "--help")
    assert (status, err) == (0, "")
    assert command.module.EXAMPLE in out
    status, out, err = run(*example_of(command))
    assert (status, err) == (0, "")
    assert out.strip()
    assert "\x1b" not in out


def test_json_is_one_strict_document(run, command):
    status, out, err = run(*example_of(command), "--json")
    assert (status, err, out.count("\n")) == (0, "", 1)

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    assert isinstance(json.loads(out, parse_constant=refuse), dict)


def test_every_command_has_the_same_output_options(command):
    options = [o for a in parser_of(command)._actions for o in a.option_strings]
    assert {"--json", "--no-color", "--help"} <= set(options)
    assert len(options) == len(set(options))


def test_every_option_has_a_help(command):
    for action in parser_of(command)._actions:
        assert action.help, action
        assert action.help is not argparse.SUPPRESS


def test_user_files_are_run_and_the_help_says_so(run):
    assert "imported and run" in " ".join(run("grad", "--help")[1].split())


# ---- the reference page --------------------------------------------------------------------------

PAGE = ROOT / "docs" / "reference" / "command-line.md"


def documented(what):
    """The keys that the page names first in its row for this command or part."""
    rows = PAGE.read_text(encoding="utf-8").partition("## JSON")[2].splitlines()
    row = next(r for r in rows if r.startswith(f"| {what} |"))
    bare = re.sub(r"\([^)]*\)", "", row.split("|")[2])
    return set(re.findall(r"`(\w+)`", bare))


def test_the_page_lists_every_command():
    text = PAGE.read_text(encoding="utf-8")
    for command in COMMANDS.values():
        assert f"| `{command.name}` | {command.does} |" in text


def test_the_page_names_the_keys(run, command):
    document = json.loads(run(*example_of(command), "--json")[1])
    keys = documented(f"`{command.name}`")
    assert set(document) == (keys - {"steps"} if command.name == "sort" else keys)


def test_the_page_names_the_keys_of_the_parts(run):
    grad = json.loads(run("grad", "x * x", "x=1", "--json")[1])
    assert set(grad["nodes"][0]) == documented("a node") - {"grad", "table"}
    explained = json.loads(run("explain", "x * x", "x=1", "--json")[1])
    assert set(explained["explanations"]["x"]) == documented("an explanation")
    ops = json.loads(run("ops", "sin", "--json")[1])
    assert set(ops["ops"][0]) == documented("an op")
    sort = json.loads(run("sort", "a: b", "--steps", "--json")[1])
    assert set(sort["steps"][0]) == documented("a step of `sort`")
    steps = json.loads(run("step", "x * x", "x=1", "--json")[1])["steps"]
    assert set().union(*steps) == documented("a step of `step`")

"""Every command: in the table, with a help whose example runs, and with strict JSON."""

import argparse
import json
import shlex

import pytest

from chainrule.cli.commands import COMMANDS, parser_of

NEEDS_LLVM = ("compile", "bench")


@pytest.fixture(params=list(COMMANDS))
def command(request):
    if request.param in NEEDS_LLVM:
        pytest.importorskip("llvmlite")
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

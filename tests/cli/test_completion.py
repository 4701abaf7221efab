"""Completion scripts: bash completes with its own; all name every command and option."""

import json
import shutil
import subprocess

import pytest

from chainrule.cli.commands import COMMANDS
from chainrule.cli.completion import words_by_command


def completed(script, line):
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    quoted = " ".join(f"'{w}'" for w in words)
    program = (
        f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
        '_chainrule; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("chainrule gr", ["grad"]),
        ("chainrule ", [*COMMANDS, "--help", "--version"]),
        ("chainrule step --order ", ["sorted", "data-driven", "recursive"]),
        ("chainrule step x x=1 --order d", ["data-driven"]),
        ("chainrule compile --ir l", ["loops", "llvm"]),
        ("chainrule grad --no", ["--no-check", "--no-color"]),
        ("chainrule completion ", ["bash", "zsh", "fish"]),
        ("chainrule grad mod", []),
    ],
)
def test_bash_completes(run, line, expected):
    script = run("completion", "bash")[1]
    assert completed(script, line) == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_takes_the_script_as_it_is(run):
    program = run("completion", "bash")[1] + "\ncomplete -p chainrule\n"
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stdout == "complete -o bashdefault -o default -F _chainrule chainrule\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells(run, shell):
    script = run("completion", shell)[1]
    for name, words in words_by_command().items():
        assert name in script
        for option in words.options:
            assert (option.name if shell == "zsh" else f"-l {option.name[2:]}") in script
    if shutil.which(shell):
        done = subprocess.run(
            [shell, "-n", "-c", script], capture_output=True, timeout=20, check=False
        )
        assert done.returncode == 0, done.stderr


def test_json(run):
    found = json.loads(run("completion", "bash", "--json")[1])
    assert found["shell"] == "bash"
    assert "_chainrule()" in found["script"]

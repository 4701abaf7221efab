"""Completion scripts: each shell that is here completes with its own; all name every option."""

import json
import os
import shutil
import subprocess
import sys
import time

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
def test_every_command_and_option_is_named(run, shell):
    script = run("completion", shell)[1]
    for name, words in words_by_command().items():
        assert name in script
        for option in words.options:
            assert (option.name if shell == "zsh" else f"-l {option.name[2:]}") in script


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home and a folder with one file."""
    (tmp_path / "model.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("chainrule gr", ["grad"]),
        ("chainrule ", [*COMMANDS]),
        ("chainrule --v", ["--version"]),
        ("chainrule step --order ", ["sorted", "data-driven", "recursive"]),
        ("chainrule step x x=1 --order d", ["data-driven"]),
        ("chainrule compile --ir l", ["loops", "llvm"]),
        ("chainrule grad --no", ["--no-check", "--no-color"]),
        ("chainrule completion ", ["bash", "zsh", "fish"]),
        ("chainrule grad mod", ["model.py"]),
        ("chainrule train iris --curve mod", ["model.py"]),
    ],
)
def test_fish_completes(run, place, line, expected):
    script = place / "chainrule.fish"
    script.write_text(run("completion", "fish")[1])
    for command in (["-n", str(script)], ["-c", f"source {script}; complete -C '{line}'"]):
        done = subprocess.run(
            ["fish", "--no-config", *command],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert sorted(x.partition("\t")[0] for x in done.stdout.splitlines()) == sorted(expected)


ZSHRC = """
autoload -Uz compinit && compinit -u -D
source ./script
shown() { print -r -- "$BUFFER" > ./found.part; mv ./found.part ./found; zle kill-buffer }
zle -N shown
bindkey '^X' shown
setopt no_auto_menu
PS1='read''y> '
"""


def typed_in_zsh(place, line):
    """What stands on the line of an interactive zsh after a tab."""
    import pty

    (place / ".zshrc").write_text(ZSHRC)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["zsh", "-d", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "ZDOTDIR": str(place), "TERM": "xterm"},
    )
    try:
        said = b""
        while b"ready>" not in said:
            said += os.read(ours, 1000)
        os.write(ours, line.encode() + b"\t\x18")
        for _ in range(400):
            if (place / "found").exists():
                return (place / "found").read_text().removesuffix("\n")
            time.sleep(0.05)
        raise AssertionError(os.read(ours, 10_000))
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of POSIX")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("chainrule gr", "chainrule grad "),
        ("chainrule --v", "chainrule --version "),
        ("chainrule step --order d", "chainrule step --order data-driven "),
        ("chainrule grad --no-ch", "chainrule grad --no-check "),
        ("chainrule grad --no", "chainrule grad --no-c"),
        ("chainrule completion z", "chainrule completion zsh "),
        ("chainrule grad mod", "chainrule grad model.py "),
        ("chainrule train iris --curve mod", "chainrule train iris --curve model.py "),
    ],
)
def test_zsh_completes(run, place, line, expected):
    script = place / "script"
    script.write_text(run("completion", "zsh")[1])
    subprocess.run(["zsh", "-f", "-n", str(script)], timeout=20, check=True)
    assert typed_in_zsh(place, line) == expected


def test_json(run):
    found = json.loads(run("completion", "bash", "--json")[1])
    assert found["shell"] == "bash"
    assert "_chainrule()" in found["script"]

"""The command as a process: usage, start-up, a closed pipe, Ctrl-C."""

import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from chainrule.cli import main
from chainrule.cli.commands import COMMANDS
from tests.laws.test_import_light import packages_loaded

CHAINRULE = [sys.executable, "-m", "chainrule"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["grd", "x"], "chainrule: no command 'grd'; did you mean grad?\n"),
        (["frobnicate"], "chainrule: no command 'frobnicate'; there are grad, table, step"),
        (["--loud"], "chainrule: unrecognized arguments: --loud"),
        (["grad"], "chainrule grad: the following arguments are required: what"),
        (["demo", "--loud"], "chainrule demo: unrecognized arguments: --loud"),
        (["step", "x", "x=1", "--order", "random"], "invalid choice: 'random'"),
        (["grad", "x", "x=1", "--" + "a" * 5000], "…"),
    ],
)
def test_usage_errors_are_one_line_with_status_two(run, words, says):
    status, out, err = run(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert len(err) < 250


def test_help_lists_every_command(run):
    status, out, _ = run("--help")
    assert status == 0
    assert all(f"  {name:<12}{command.does}\n" in out for name, command in COMMANDS.items())


def test_alone_it_helps_with_examples_that_run(run):
    status, out, err = run()
    assert (status, err) == (0, "")
    assert out == run("--help")[1]
    examples = out.partition("examples:\n")[2].split("\n\n")[0]
    first = shlex.split(examples.splitlines()[0])
    assert run(*first[1:])[0] == 0
    assert all(line.split()[:1] == ["chainrule"] for line in examples.splitlines())


def test_version(run):
    import chainrule as cr

    assert run("--version")[:2] == (0, f"chainrule {cr.__version__}\n")


def test_options_and_values_may_be_mixed(run):
    mixed = run("grad", "x * y", "--json", "x=1", "--no-check", "y=2")
    assert mixed == run("grad", "--no-check", "x * y", "x=1", "y=2", "--json")
    assert mixed[0] == 0


def test_start_up_loads_numpy_and_nothing_else():
    help_ = "from contextlib import suppress\nwith suppress(SystemExit):\n    main(['{}'])"
    for words in ("--help", "grad', '--help", "sort', '--help", "explain', '--help"):
        statement = "from chainrule.cli import main\n" + help_.format(words)
        loaded = packages_loaded(
            statement.replace("main(", "import os, sys; sys.stdout = open(os.devnull, 'w'); main(")
            + "\nsys.stdout = sys.__stdout__"
        )
        assert loaded == {"chainrule", "numpy"}


def test_python_dash_m():
    words = [*CHAINRULE, "grad", "x * y", "x=3"]
    good = subprocess.run([*words, "y=4"], capture_output=True, text=True, check=False, timeout=60)
    assert (good.returncode, good.stderr) == (0, "")
    assert "f = x * y = 12" in good.stdout
    bad = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "chainrule: y has no value; give it one: y=1.5\n  x * y\n      ^\n"


def test_a_closed_pipe_ends_quietly():
    """As `chainrule ops | head -1` does."""
    done = subprocess.Popen([*CHAINRULE, "ops"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done.stdout.close()
    assert done.wait(60) == 141
    assert done.stderr.read() == b""
    done.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_ctrl_c_ends_quietly(tmp_path):
    path, started = tmp_path / "slow.py", tmp_path / "started"
    path.write_text(
        f"import time\n\n\ndef f(x):\n    open({str(started)!r}, 'w').close()\n    time.sleep(60)\n"
    )
    words = [*CHAINRULE, "grad", f"{path}:f", "x=1"]
    done = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 30
    while not started.exists() and time.monotonic() < end:
        time.sleep(0.05)
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=30)
    assert (done.returncode, out, err) == (130, b"", b"")


def test_an_interrupt_in_this_process(monkeypatch):
    from chainrule.cli import ops

    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ops, "run", interrupted)
    assert main(["ops"]) == 130

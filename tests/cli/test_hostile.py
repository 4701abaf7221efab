"""Hostile formulas: nothing crashes, nothing is run, nothing is written, nothing takes long."""

import ast
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from chainrule import ops
from tests.cli.hostile import CANARY, hostile

SECONDS = 20.0  # one formula, on a machine that is busy
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
RUNS = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink",
    "os.putenv", "os.truncate", "subprocess.Popen", "shutil.", "socket.", "ctypes.dlopen",
    "pickle.find_class", "marshal.loads", "webbrowser.open", "urllib.Request", "tempfile.",
    "builtins.input", "builtins.breakpoint",
)  # fmt: skip
# Who compiles code of its own: rules made of op records, and Python's own import and dataclasses.
# `ast` makes a tree of a text, and no code: what is run of it raises the event `exec`.
MAKERS = (
    "chainrule.core.written",
    "importlib.",
    "dataclasses",
    "collections",
)
PACKAGES = ("chainrule", "numpy", "scipy", "encodings")


class Guard:
    """An audit hook that notes what a formula must not do; hooks cannot be taken away again."""

    def __init__(self):
        self.on, self.seen, self.installed = False, [], False

    def __call__(self, event, args):
        if self.on and self.is_bad(event, args):
            self.seen.append((event, str(args)[:200]))

    def is_bad(self, event, args):
        if event.startswith(RUNS):
            return True
        if event == "open":
            path, mode, flags = args
            writes = set(str(mode or "")) & set("wax+") or int(flags or 0) & WRITING
            return bool(writes) or CANARY in str(path) or str(path).startswith("/etc")
        if event == "import":
            return not str(args[0]).startswith(PACKAGES)
        if event in ("compile", "exec"):
            maker = sys._getframe(2).f_globals.get("__name__", "")
            if event == "compile" and maker == "ast":
                return False
            return CANARY in str(args[0]) or not maker.startswith(MAKERS)
        return False

    def __enter__(self):
        if not self.installed:
            sys.addaudithook(self)
            self.installed = True
        self.on, self.seen = True, []
        return self

    def __exit__(self, *_):
        self.on = False


GUARD = Guard()


@pytest.fixture
def guard():
    return GUARD


UNUSED = "is given, but the formula does not use it"


def statuses(run, guard, formulas):
    """Run each; the statuses, every one of them checked to be told in four lines at most."""
    # What is imported late is imported now: a NamedTuple compiles its annotations.
    families = [f"chainrule.ops.{module.name}" for module in iter_modules(ops.__path__)]
    scipy = ["scipy.fft", "scipy.linalg", "scipy.signal", "scipy.special"]
    for module in [*scipy, *families, "chainrule.explain.check"]:
        import_module(module)
    for formula in (
        "sum(sin(x) * y)",
        "x +",
        "gamma(sum(x))",
        "norm(eigh(outer(x, x))[0]) * det(y)",
    ):
        run("grad", formula, "x=[1,2]", "y=[[3]]")
    found = []
    for formula in formulas:
        start = time.monotonic()
        with guard:
            status, out, err = run("grad", formula, "x=[1.5,2]", "y=0.5", "z=[[1,2],[3,4]]")
        taken = time.monotonic() - start
        err = "".join(line for line in err.splitlines(keepends=True) if UNUSED not in line)
        assert guard.seen == [], formula
        assert status in (0, 1, 2), (formula, status, out)
        assert status != 1 or "nothing was checked" in out, formula
        assert (out == "") == (status == 2), formula
        assert err.count("\n") <= 4, (formula, err)
        assert (status == 2) == (err != ""), (formula, err)
        assert "Traceback" not in err
        assert "�" not in out
        assert taken < SECONDS, (formula, taken)
        found.append(status)
    assert not Path(CANARY).exists()
    return found


@pytest.mark.timeout(300)
def test_hostile_formulas(run, guard):
    found = statuses(run, guard, hostile(300, seed=1))
    assert found.count(2) > 200
    assert found.count(0) > 3, "some are formulas"


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_two_thousand_hostile_formulas(run, guard):
    assert len(statuses(run, guard, hostile(2000))) == 2000


# ---- the guard bites ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "deed",
    [
        lambda: eval("1 + 1"),  # noqa: S307
        lambda: exec("1"),  # noqa: S102
        lambda: compile("canary_owl", "", "eval"),
        lambda: exec(compile(ast.parse("1"), "", "exec")),  # noqa: S102
        lambda: os.system("true"),
        lambda: open(os.devnull, "w").close(),
        lambda: os.close(os.open(os.devnull, os.O_WRONLY)),
        lambda: np.zeros(1).tofile(os.devnull),
        lambda: open("/etc/hosts").close(),
        lambda: __import__("xmlrpc.client"),
    ],
)
def test_the_guard_sees(guard, deed):
    with guard:
        deed()
    assert guard.seen

"""`chainrule compile`: the report and every stage."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")
WORDS = ("compile", "sum(tanh(x) ** 2)", "x=[0.1,0.2,0.3]")


def test_golden(golden):
    golden("compile-recorded", *WORDS, "--ir", "recorded", "--value")


@pytest.mark.parametrize(
    ("stage", "shows"),
    [
        ("recorded", "tanh"),
        ("graph", "tanh"),
        ("values", "tanh"),
        ("loops", "for i0 in 0 … 3"),
        ("llvm", "define"),
        ("assembly", "step0"),
    ],
)
def test_stages(run, stage, shows):
    status, out, err = run(*WORDS, "--ir", stage, "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert document["stage"] == stage
    assert shows in document["text"]


def test_the_report(run):
    status, out, _ = run(*WORDS)
    assert status == 0
    assert "nodes in 1 steps" in out
    assert "compiled in recording" in out
    assert json.loads(run(*WORDS, "--json")[1])["stage"] == "report"


def test_functions_of_the_user_s(run, model):
    status, out, _ = run(
        "compile", f"{model}:loss", "W=[[1,2],[3,4]]", "x=[0.1,0.2]", "n=2", "--wrt", "W"
    )
    assert status == 0
    assert out.startswith("loss, branch 0: ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("2 * pi",), "no argument to differentiate by"),
        (("x * x", "x=[1,2]"), "scalar"),
        (("x", "x=1", "--ir", "fortran"), "invalid choice: 'fortran'"),
    ],
)
def test_refusals(run, words, says):
    status, out, err = run("compile", *words)
    assert (status, out) == (2, "")
    assert says in err


WITHOUT = """
import sys

sys.modules["llvmlite"] = sys.modules["llvmlite.binding"] = None
from chainrule.cli import main

sys.exit(main(["compile", sys.argv[1], "x=[[1,2],[3,4]]"]))
"""


@pytest.mark.parametrize("formula", ["sum(exp(x))", "sum(x @ x)"])
def test_without_llvmlite_it_says_what_to_install(formula):
    words = [sys.executable, "-c", WITHOUT, formula]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cr.compile needs llvmlite: pip install llvmlite" in done.stderr
    assert done.stderr.count("\n") == 1

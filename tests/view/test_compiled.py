"""What a compiled function prints of itself: golden texts of one small program."""

import numpy as np
import pytest

import chainrule as cr
from tests.view.test_table import assert_golden

pytest.importorskip("llvmlite")


def curve(w, x, y):
    r = np.exp(x * w[0]) - y
    if w[1] > 0:
        r = r * w[1]
    return np.sum(r * r)


@pytest.fixture(scope="module")
def fast():
    compiled = cr.compile(cr.value_and_grad(curve))
    x = np.linspace(0.0, 1.0, 12)
    compiled(np.array([0.5, 2.0]), x, np.cos(x))
    return compiled


def without_times(text):
    """Everything but how long it took."""
    lines = text.splitlines()
    assert any(line.startswith("  compiled in ") for line in lines)
    return "\n".join(line for line in lines if not line.startswith("  compiled in "))


def test_golden_report(fast):
    assert_golden(without_times(fast.report()), "compiled-report.txt")


@pytest.mark.parametrize("stage", ["recorded", "graph", "values", "loops"])
def test_golden_ir(fast, stage):
    assert_golden(fast.ir(stage), f"compiled-{stage}.txt")


def test_llvm_and_assembly_name_every_step(fast):
    code = fast.ir("llvm")
    for k in range(len([line for line in fast.report().splitlines() if line.startswith("  step")])):
        assert f"@step{k}(" in code
    assert "entry" in fast.ir("assembly")


def test_values_are_what_ir_shows_first(fast):
    assert fast.ir() == fast.ir("values")


def test_each_path_and_what_is_interpreted():
    compiled = cr.compile(lambda A: cr.expm(A) if A[0, 0] > 0 else np.sort(A, axis=None))
    compiled(np.eye(2))
    compiled(-np.eye(2))
    text = compiled.report()
    assert text.count(", branch ") == 2
    assert text.count("  guards      1") == 2
    for op in ("expm", "sort"):
        (line,) = [s for s in text.splitlines() if s.startswith(f"  interpreted {op}")]
        assert "test_compiled.py:" in line


def test_the_time_to_record_and_to_compile(fast):
    (line,) = [s for s in fast.report().splitlines() if "compiled in" in s]
    words = line.split()
    assert words[:3] == ["compiled", "in", "recording"]
    assert "compiling" in words

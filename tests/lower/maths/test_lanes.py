"""The bits of a result depend neither on the number of lanes nor on the processor."""

import platform

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the functions are run as machine code")
pytest.importorskip("mpmath", reason="the points are made with it")

import llvmlite.binding as llvm

from chainrule.lower.maths import FUNCTIONS, definitions
from tests.lower.maths.machine import DTYPES, kernel, loop
from tests.lower.maths.points import SPECIAL, points

LANES = (1, 2, 4, 8, 16)


def arguments(name: str, dtype: str) -> list[np.ndarray]:
    found = points(name, dtype, 800, seed=1)
    special = np.array(SPECIAL, DTYPES[dtype])
    return [np.concatenate([values, special]) for values in found]


def bits(values: np.ndarray) -> np.ndarray:
    """Patterns, all NaNs alike: which one an operation hands on is the processor's choice."""
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return values.view(np.int64 if values.dtype == np.float64 else np.int32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number_of_lanes_gives_the_same_bits(name, dtype):
    given = arguments(name, dtype)
    expected = bits(kernel(name, dtype, LANES[0])(*given))
    for lanes in LANES[1:]:
        assert np.array_equal(bits(kernel(name, dtype, lanes)(*given)), expected), lanes


@pytest.mark.parametrize("optimise", [False, True])
def test_passes_do_not_change_bits(optimise):
    given = arguments("tanh", "f64")
    results = kernel("tanh", "f64", 4, optimise=optimise)(*given)
    assert np.array_equal(bits(results), bits(kernel("tanh", "f64")(*given)))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 processors")
@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64"])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "pow", "erf", "cbrt"])
def test_every_processor_gives_the_same_bits(name, processor):
    if processor == "x86-64-v3" and not llvm.get_host_cpu_features().get("fma"):
        pytest.skip("this processor has no fma")
    given = [values[:200] for values in arguments(name, "f64")]
    results = kernel(name, "f64", 4, processor=processor)(*given)
    assert np.array_equal(bits(results), bits(kernel(name, "f64")(*given)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_code_for_aarch64(dtype):
    """Nothing in the text is for x86 alone."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    lanes = {"f64": 2, "f32": 4}[dtype]
    machine = llvm.Target.from_triple("aarch64-linux-gnu").create_target_machine(opt=1)
    for name, function in FUNCTIONS.items():
        found = definitions([(name, dtype, lanes)])
        body = loop(name, dtype, lanes, function.arguments)
        module = llvm.parse_assembly("\n".join([*sorted(found.declares), found.text, body]))
        for cold in found.cold.values():
            module.link_in(llvm.parse_assembly(cold))
        module.verify()
        assert "fmla" in machine.emit_assembly(module)

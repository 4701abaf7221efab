"""What a module gets: each function once, the lines it shares with others apart, stable text."""

import importlib

import pytest

from chainrule.lower.maths import FUNCTIONS, definitions, function_name
from tests.lower.maths import golden


def test_names():
    assert function_name("exp", "f64", 8) == "@cr_exp_f64x8"
    assert function_name("arctan2", "f32", 1) == "@cr_arctan2_f32x1"


def test_golden():
    assert golden.text() == golden.FILE.read_text(encoding="utf-8")


def test_the_same_text_every_time():
    wanted = [(name, "f32", 16) for name in FUNCTIONS]
    assert definitions(wanted) == definitions(wanted)


def test_nothing_is_defined_twice():
    found = definitions(
        [("sin", "f64", 8), ("cos", "f64", 8), ("sin", "f64", 8), ("sin", "f32", 4)]
    )
    heads = [line for line in found.text.splitlines() if line.startswith("define")]
    assert len(heads) == len(set(heads)) == 3


def test_what_is_rare_is_a_module_of_its_own_that_sine_and_cosine_share():
    found = definitions([("sin", "f64", 8), ("cos", "f64", 8), ("sin", "f32", 4)])
    assert sorted(found.cold) == ["@cr_n_r_of_huge_f32x4", "@cr_n_r_of_huge_f64x8"]
    assert "define" in found.text
    assert "two_over_pi" not in found.text
    for symbol, text in found.cold.items():
        (head,) = (line for line in text.splitlines() if line.startswith("define {"))
        assert f" {symbol}(" in head
        assert text.count("@cr_two_over_pi = ") == 1
        assert any(f" {symbol}(" in line for line in found.declares)


def test_declarations_stand_apart():
    found = definitions([("exp", "f64", 8)])
    assert "declare" not in found.text
    assert found.declares == {
        "declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)"
    }


def test_functions_are_inlined_and_have_no_flags():
    found = definitions([(name, "f64", 4) for name in FUNCTIONS])
    for line in found.text.splitlines():
        if line.startswith("define"):
            assert line.startswith("define internal ")
            assert line.endswith("alwaysinline nounwind {")
        for flag in ("fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn"):
            assert f" {flag} " not in line


def test_all_functions_share_one_module():
    llvm = pytest.importorskip("llvmlite.binding", reason="LLVM reads the text")
    wanted = [
        (name, dtype, lanes) for name in FUNCTIONS for dtype in ("f64", "f32") for lanes in (1, 8)
    ]
    found = definitions(wanted)
    module = llvm.parse_assembly("\n".join([*sorted(found.declares), found.text]))
    module.verify()
    names = {function.name for function in module.functions}
    assert {function_name(*one)[1:] for one in wanted} <= names


@pytest.mark.slow
def test_coefficients_are_those_of_the_fits():
    pytest.importorskip("mpmath", reason="the fits have many digits")
    from tests.lower.maths.coefficients import FITS

    for name, fit in FITS.items():
        file, table = name.split(".")
        kept = getattr(importlib.import_module(f"chainrule.lower.maths.{file}"), table)
        for dtype in fit.degree:
            assert fit.coefficients(dtype)[0] == kept[dtype], (name, dtype)

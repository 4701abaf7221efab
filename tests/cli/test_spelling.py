"""The first slips a person makes, each answered with what to type; and what is left alone."""

import random

import pytest

from chainrule.cli.evaluate import function_of
from chainrule.cli.mistake import InputError, lines_of
from chainrule.cli.spelling import meant

SLIPS = [
    ("ln(x)", "log(x)", "ln: write log"),
    ("2x + sinx", "2*x + sin(x)", "2x: write 2*x; sinx: write sin(x)"),
    ("sin x", "sin(x)", "sin x: write sin(x)"),
    ("x²", "x**2", "x²: write x**2"),
    ("x⁻¹ + x¹²", "x**(-1) + x**12", "x⁻¹: write x**(-1)"),
    ("x − y", "x - y", "−: write -"),
    ("x × y ÷ 2", "x * y / 2", "×: write *"),
    ("x^2", "x**2", "^: write **"),
    ("π*x", "pi*x", "π: write pi"),
    ("2πx", "2*pi*x", "write 2*pi"),
    ("√x", "sqrt(x)", "√x: write sqrt(x)"),
    ("√(x + y)", "sqrt(x + y)", "√: write sqrt"),
    ("2(x + 1)", "2*(x + 1)", "2(…): write 2*(…)"),
    ("(x + 1)(x - 1)", "(x + 1)*(x - 1)", "write *(…)"),
    ("xy + 3x²y", "x*y + 3*x**2*y", "xy: write x*y"),
    ("x y", "x*y", "x y: write x*y"),
    ("sin(x)cos(y)", "sin(x)*cos(y)", "cos: write *cos"),
    ("tg(x) + lg(y)", "tan(x) + log10(y)", "tg: write tan; lg: write log10"),
    ("where(x ≤ y, x, y)", "where(x <= y, x, y)", "≤: write <="),
]


@pytest.mark.parametrize(("typed", "right", "says"), SLIPS, ids=[slip[0] for slip in SLIPS])
def test_a_slip_is_answered_with_what_to_type(run, typed, right, says):
    status, out, err = run("grad", typed, "x=2", "y=3", "--no-check")
    assert (status, out) == (2, "")
    first, shown, carets, whole = err.splitlines()
    assert first.startswith("chainrule: ")
    assert says in first
    assert shown == f"  {typed}"
    assert set(carets) == {" ", "^"}
    assert whole == f"  all of it: {right}"
    assert run("grad", right, "x=2", "y=3", "--no-check")[0] == 0


def test_every_slip_is_marked():
    assert lines_of(meant("2x + sinx", ["x"]))[1:3] == ["  2x + sinx", "  ^^   ^^^^"]


@pytest.mark.parametrize("typed", ["foo(x)", "x*", "x + bar", "(x", "2x + foo", "x.y", "$x", ""])
def test_what_is_not_clear_is_left_to_the_error(typed):
    assert meant(typed, ["x", "y"]) is None


def test_names_that_are_given_are_left_alone():
    assert meant("ln * 2", ["ln"]) is None
    assert meant("sinx + y²", ["sinx", "y"]).args[0].startswith("y²: write y**2\n")


def test_whatever_is_proposed_can_be_read():
    rng = random.Random(7)
    parts = ["x", "y", "2", "3.5", "sin", "ln", "²", "−", "^", "π", "(", ")", " ", "√", "+", "×"]
    proposed = 0
    for _ in range(4_000):
        text = "".join(rng.choices(parts, k=rng.randint(1, 9)))
        found = meant(text, ["x", "y"])
        if found is None:
            continue
        proposed += 1
        function_of(str(found).rpartition("all of it: ")[2], ["x", "y"])
        assert all(0 <= a < b <= len(text) for a, b in [(found.start, found.end), *found.also])
        with pytest.raises(InputError):
            function_of(text, ["x", "y"])
    assert proposed > 100

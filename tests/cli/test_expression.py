"""The grammar: formulas are what Python makes of the same text, or an error at its column."""

import random

import numpy as np
import pytest

from chainrule.cli.evaluate import function_of
from chainrule.cli.expression import parsed
from chainrule.cli.mistake import InputError

VALUES = {"x": 1.75, "y": -0.5, "z": 3.0}


def python(text):
    return eval(text, {"sin": np.sin, "maximum": np.maximum}, dict(VALUES))  # noqa: S307


def ours(text):
    return function_of(text, list(VALUES))(*VALUES.values())


@pytest.mark.parametrize(
    "text",
    [
        "x + y * z", "(x + y) * z", "x - y - z", "x / y / z", "x ** y ** 2", "-x ** 2", "2 ** -x",
        "2 ** -x ** 2", "-2 ** 2 ** -1", "--x", "+-+x", "x % 2 // 1", "7 // 2 % 3", "- x * - y",
        "x < y", "x + 1 < y * z", "not x < y", "not not x", "x < y or y < z", "x and y or z",
        "x or y and z", "0 or 0 and x", "0 and x", "x if y else z", "x if 0 else y if 0 else z",
        "x if 0 else (y if 1 else z)", "(x if 1 else y) if 0 else z", "x and (y or z) and 2",
        "not x or y", "x == x", "x != x", "1 if x > 0 and y < 0 else 2", "3 | 4 & 6", "~3 & 7",
        "sin(x) * sin(y)", "maximum(x, sin(y,),)", "(w := x * y) + w * w", "1_000 + .5 + 5. + 1e3",
        "[1, 2, 3][1]", "(x, y, z)[-1]", "(x,)[0]", "2j * 2j",
    ],
)  # fmt: skip
def test_a_formula_is_what_python_makes_of_it(text):
    assert ours(text) == python(text)
    assert type(ours(text)) is not bool or type(python(text)) is bool


OPERATORS = ["+", "-", "*", "/", "**", "<", ">=", "and", "or", "//", "%"]


def random_formula(rng, depth):
    """Operands joined by operators, with few parentheses, so that binding is what is tested."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return rng.choice(["x", "y", "z", "2", "0.5", "3"])
    if kind < 0.35:
        return f"{rng.choice(['-', 'not ', '+'])}{random_formula(rng, depth - 1)}"
    if kind < 0.45:
        parts = [random_formula(rng, depth - 1) for _ in range(3)]
        return f"({parts[0]} if {parts[1]} else {parts[2]})"
    if kind < 0.55:
        return f"sin({random_formula(rng, depth - 1)})"
    left, right = random_formula(rng, depth - 1), random_formula(rng, depth - 1)
    return f"{left} {rng.choice(OPERATORS)} {right}"


def test_random_formulas_are_what_python_makes_of_them():
    """Where Python computes a real number and we do, it is the same one."""
    rng, compared = random.Random(5), 0
    for _ in range(1500):
        text = random_formula(rng, 4)
        try:
            with np.errstate(all="ignore"):
                expected = python(text)
        except (SyntaxError, ArithmeticError, TypeError):
            continue
        try:
            found = ours(text)
        except InputError as error:
            if "chained" not in str(error):  # the one thing we leave out
                raise
            continue
        assert found == expected or (found != found and expected != expected), text
        compared += 1
    assert compared > 900


def test_what_is_read_is_known_by_its_place():
    formula = parsed("sin(x) + (w := y) * w")
    starts = {name: formula.place(node)[0] for name, node in formula.names.items()}
    assert starts == {"x": 4, "y": 15, "w": 20}
    assert list(formula.called) == ["sin"]
    assert list(formula.assigned) == ["w"]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("x[0]", 0), ("x[-1]", -1), ("x[1:]", np.s_[1:]), ("x[:2]", np.s_[:2]), ("x[:]", np.s_[:]),
        ("x[::2]", np.s_[::2]), ("x[1::]", np.s_[1::]), ("x[1:3:2]", np.s_[1:3:2]),
        ("x[...]", ...), ("x[..., 0]", np.s_[..., 0]), ("x[0, 1]", (0, 1)),
        ("x[0, :]", np.s_[0, :]), ("x[None]", None), ("x[[0, 2]]", [0, 2]), ("x[x > 2]", "mask"),
        ("x[1 + 1]", 2), ("x[1 if 1 else 0]", 1), ("x[0,]", (0,)),
    ],
)  # fmt: skip
def test_indices(text, index):
    x = np.arange(12.0).reshape(4, 3)
    expected = x[x > 2] if isinstance(index, str) else x[index]
    np.testing.assert_array_equal(function_of(text, ["x"])(x), expected)


# ---- numbers, and what is refused ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("1_000", 1000), ("2j", 2j), ("0", 0),
        ("007", 7), ("0_7", 7), ("00", 0), ("-1.5e-3", -1.5e-3), ("1if 2else 3", 1),
        ("\t1 +\r\n2\n", 3), (str(2**63 - 1), 2**63 - 1), (str(2**63), 2.0**63),
    ],
)  # fmt: skip
def test_numbers(text, value):
    found = ours(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "says", "start"),
    [
        ("x.y", "attributes", 1),
        ("x $y", "shell variables", 2),
        ("x^2", "write x**2", 1),
        ("!x", "write not", 0),
        ("x # y", "comments", 2),
        ("'a\\n'", "text of several lines, or with a backslash", 0),
        ("'" + "a" * 300 + "'", "text of several lines", 0),
        ("f'{x}'", "stands where an operator", 1),
        ("'\ud800'", "U+D800", 0),
        ("1__0", "invalid decimal literal", 0),
        ("9" * 4300 + "9", "too large for floating point", 0),
        ("x <<1", "shifts", 2),
        ("while x", "a formula has no while", 0),
        ("x not in y", "a formula has no in", 6),
        ("a + _b", "a formula has no _b", 4),
        ("x\u200b", "U+200B", 1),
        ("x + not y", "'not' stands where a number, a name or '(' should be", 4),
        ("  x[1:2:3:4]", "':' stands where an operator", 7),
        ("x if y if z else 1", "'if' stands where 'else' should be", 7),
        ("sin(x y)", "'y' stands where an operator", 6),
        ("0x10", "'x10' stands where an operator", 1),
        ("x)", "unmatched ')'", 1),
        ("(z, ) + (y", "'(' is never closed", 8),
        ("sum(...)", "'...' stands where a number", 4),
        ("[...]", "'...' stands where a number", 1),
        ("sin(*x)", "a formula has no * before an argument", 4),
        ("sin(**x)", "a formula has no * before an argument", 4),
        ("é + foo", "foo has no value", 4),
        ("é + 𝑥", "𝑥 has no value", 4),
    ],
)
def test_what_no_formula_has(text, says, start):
    with pytest.raises(InputError) as caught:
        function_of(parsed(text, 5000).text, ["x", "y", "z", "é"])
    assert says in str(caught.value)
    assert caught.value.start == start

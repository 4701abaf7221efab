"""Numbers, names and signs; what no formula has is refused by name."""

import pytest

from chainrule.cli.mistake import InputError
from chainrule.cli.tokens import tokens_of


def test_the_pieces_of_a_formula():
    found = [(t.kind, t.value) for t in tokens_of("2*x**-1.5e-3 + 'ij->i'")]
    assert found == [
        *(("number", 2), ("sign", "*"), ("name", "x"), ("sign", "**"), ("sign", "-")),
        *(("number", 1.5e-3), ("sign", "+"), ("string", "ij->i"), ("end", "the end")),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("1_000", 1000), ("2j", 2j), ("0", 0)],
)
def test_numbers(text, value):
    (token, _) = tokens_of(text)
    assert token.value == value
    assert type(token.value) is type(value)


def test_a_whole_number_that_is_no_index_is_floating():
    assert type(tokens_of(str(2**63 - 1))[0].value) is int
    assert tokens_of(str(2**63))[0].value == 2.0**63


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
        ("1__0", "1__0 is not a number", 0),
        ("x <<1", "shifts", 2),
        ("while x", "a formula has no while", 0),
        ("a + _b", "a formula has no _b", 4),
        ("x\u200b", "U+200B", 1),
    ],
)
def test_what_no_formula_has(text, says, start):
    with pytest.raises(InputError) as caught:
        tokens_of(text)
    assert says in str(caught.value)
    assert caught.value.start == start

"""Errors in one line or three: nothing in them can control a terminal."""

import pytest

from chainrule.cli.mistake import WIDTH, InputError, lines_of, pointed
from chainrule.errors import ShapeError


def test_carets_stand_below_the_mistake():
    assert pointed("x + foo(y)", 4, 7) == ["  x + foo(y)", "      ^^^"]
    assert pointed("x +", 3, 3) == ["  x +", "     ^"]


@pytest.mark.parametrize("at", [0, 20, 500, 980, 1000])
def test_of_a_long_formula_the_part_around_it_is_shown(at):
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    line, carets = pointed(text, at, at + 1)
    assert len(line) <= WIDTH + 4
    if at < 1000:
        assert line[carets.index("^")] == text[at]
    assert carets.count("^") == 1


def test_nothing_controls_the_terminal():
    error = InputError("bad \x1b[31m", "x\x1b[2J\u202e", 1, 2)
    assert lines_of(error) == ["chainrule: bad �[31m", "  x�[2J�", "   ^"]


def test_only_the_first_line_of_a_foreign_error_and_all_of_ours():
    assert lines_of(TypeError("one\ntwo")) == ["chainrule: one"]
    assert lines_of(ShapeError("one\n  two")) == ["chainrule: one", "  two"]
    assert lines_of(MemoryError()) == ["chainrule: MemoryError"]

"""Formulas as people write them, `2x + sin x²`, and what is to be typed instead."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from chainrule.cli.evaluate import CONSTANTS, function_named, function_of
from chainrule.cli.mistake import InputError

SIGNS = {
    "−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/",
    "^": "**", "≤": "<=", "≥": ">=", "≠": "!=", "π": "pi", "∞": "inf",
}  # fmt: skip
POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
OTHER_NAMES = {
    "ln": "log", "lg": "log10", "tg": "tan", "sen": "sin", "sgn": "sign", "sigmoid": "expit",
    "arctg": "arctan", "cbrt": "cbrt", "abs": "abs", "sqr": "square", "pow": "power",
}  # fmt: skip
APPLIED = ("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "sqrt", "sin", "cos", "tan", "exp",
           "log", "ln", "abs")  # fmt: skip
PIECE = re.compile(
    r"(?P<power>[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<sign>[−–—×·⋅∗÷∕^≤≥≠∞])"
    r"|(?P<root>√\s*(?:[^\W\d]\w*|[0-9.]+)?)"
    r"|(?P<number>(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[jJ]?)"
    r"|(?P<name>π|[^\W\dπ][^\Wπ⁰¹²³⁴⁵⁶⁷⁸⁹]*)"
    r"|(?P<open>\()|(?P<close>[)\]])|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)
MOST_SAID = 4
LONGEST = 80  # characters of a formula that is written again


class Slip(NamedTuple):
    """What stands at these columns, and what is meant."""

    start: int
    end: int
    typed: str
    meant: str


def meant(text: str, names: Collection[str]) -> InputError | None:
    """What to type instead of a formula that cannot be read; None where that is not clear."""
    if len(text) > LONGEST:
        return None
    slips, whole = _slips(text, names)
    if not slips or whole == text:
        return None
    try:
        function_of(whole, list(names))
    except InputError:
        return None
    said = "; ".join(f"{slip.typed}: write {slip.meant}" for slip in slips[:MOST_SAID])
    places = [(slip.start, slip.end) for slip in slips]
    return InputError(f"{said}\n  all of it: {whole}", text, *places[0], also=places[1:])


def _slips(text: str, names: Collection[str]) -> tuple[list[Slip], str]:
    """The slips, and the text without them."""
    slips: list[Slip] = []
    whole = ""
    last: re.Match[str] | None = None  # that is not space
    for piece in PIECE.finditer(text):
        kind, word = str(piece.lastgroup), piece[0]
        called = text[piece.end() :].lstrip().startswith("(")
        found = _written(kind, word, names, called)
        start, typed, shown = piece.start(), word, found
        if last is not None and _is_applied(last, piece, names):
            whole = f"{whole.rstrip()}({found})"
            start, found = last.start(), ""
            typed, shown = text[start : piece.end()], f"{last[0]}({piece[0]})"
        elif last is not None and (times := _beside(last, piece, names)) is not None:
            whole = f"{whole.rstrip()}{times}"
            start, before = last.end(), ""
            if slips and slips[-1].end == last.end():  # one slip with what stands before
                start, _, _, before = slips.pop()
            elif last.lastgroup in ("number", "name"):
                start, before = last.start(), last[0]
            rest = "…)" if kind == "open" else ""
            typed, shown = text[start : piece.end()] + rest, f"{before}{times}{found}{rest}"
        if typed != shown:
            slips.append(Slip(start, piece.end(), typed, shown))
        whole += found
        if kind != "space":
            last = piece
    return slips, whole


def _written(kind: str, word: str, names: Collection[str], called: bool) -> str:
    """One piece as a formula has it."""
    if kind == "power":
        power = word.translate(POWERS)
        return f"**{power}" if power.isdigit() else f"**({power})"
    if kind == "sign":
        return SIGNS[word]
    if kind == "root":
        of = word[1:].strip()
        return f"sqrt({of})" if of else "sqrt"
    return _name(word, names, called) if kind == "name" else word


def _name(word: str, names: Collection[str], called: bool) -> str:
    """A name that is known: `log` for ln(x), `sin(x)` for sinx, `x*y` for xy."""
    if called:
        return OTHER_NAMES.get(word, word) if function_named(word) is None else word
    if word in names or word in CONSTANTS or function_named(word) is not None:
        return word
    if word in SIGNS:
        return SIGNS[word]
    for function in APPLIED:
        rest = word.removeprefix(function)
        if rest != word and (rest in names or rest in CONSTANTS or rest == "π" or rest.isdigit()):
            return f"{OTHER_NAMES.get(function, function)}({SIGNS.get(rest, rest)})"
    if len(word) > 1 and all(letter in names for letter in word):
        return "*".join(word)
    return word


def _is_applied(last: re.Match[str], piece: re.Match[str], names: Collection[str]) -> bool:
    """Whether this is the argument of a function without its brackets: `sin x`."""
    value = piece.lastgroup == "number" or piece[0] in names or piece[0] in CONSTANTS
    return last.lastgroup == "name" and last[0] in APPLIED and value


def _beside(last: re.Match[str], piece: re.Match[str], names: Collection[str]) -> str | None:
    """What joins two pieces: a sign of multiplication, or nothing before a power; None: neither."""
    if piece.lastgroup == "power" and last.lastgroup in ("number", "name", "close"):
        return ""
    return "*" if _multiplied(last, piece, names) else None


def _multiplied(last: re.Match[str], piece: re.Match[str], names: Collection[str]) -> bool:
    """Whether two pieces stand beside each other that can only be meant to be multiplied."""
    kinds = last.lastgroup, piece.lastgroup
    if last.lastgroup == "name" and (last[0] not in names and last[0] not in (*CONSTANTS, "π")):
        return False
    return kinds in {
        ("number", "name"), ("number", "open"), ("number", "root"), ("close", "open"),
        ("close", "name"), ("close", "number"), ("name", "name"), ("power", "name"),
        ("power", "open"), ("name", "root"),
    } and piece[0] not in ("if", "else", "and", "or", "not")  # fmt: skip

"""The text of a formula, cut into numbers, names, strings and signs."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Any, NamedTuple

from chainrule.cli.mistake import InputError

LONGEST = 4096  # characters of a formula
DIGITS = 400  # of a whole number: floating point ends at 309
WORDS = {"True": True, "False": False, "None": None}
OPERATORS = frozenset({"and", "or", "not", "if", "else"})
SIGNS = (
    *("**", "//", "<=", ">=", "==", "!=", ":=", "..."),
    *"+-*/%@()[],:=<>&|~",
)
PATTERN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<shift><<|>>)"
    r"|(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<string>'[^'\\\n]{0,200}'|\"[^\"\\\n]{0,200}\")"
    rf"|(?P<sign>{'|'.join(map(re.escape, SIGNS))})"
)
NOT_HERE = {
    ".": "attributes: apply a function, as in sum(x)",
    "{": "sets or mappings",
    ";": "statements",
    "<<": "shifts",
    ">>": "shifts",
    "'": "text of several lines, or with a backslash",
    '"': "text of several lines, or with a backslash",
    "#": "comments",
    "`": "backquotes",
    "$": "shell variables: put the formula in single quotes",
    "!": "!: write not, or ~ for an array",
    "^": "^: write x**2 for a power",
}


class Token(NamedTuple):
    """A piece of the text: a number, name, string, sign or end, and what it stands for."""

    kind: str
    value: Any
    start: int
    end: int


def tokens_of(text: str, longest: int = LONGEST) -> list[Token]:
    """The pieces of a formula, closed by an end; no piece is run."""
    if len(text) > longest:
        raise InputError(
            f"{len(text):,} characters, of which {longest:,} are read; "
            "write a function in a file, or the numbers (name=@file)"
        )
    found, at = [], 0
    while at < len(text):
        match = PATTERN.match(text, at)
        if match is None or match.lastgroup == "shift":
            raise _unknown(text, at)
        kind, end = match.lastgroup or "", match.end()
        if kind != "space":
            found.append(Token(kind, _value(kind, match[0], text, at, end), at, end))
        at = end
    return [*found, Token("end", "the end", len(text), len(text))]


def _unknown(text: str, at: int) -> InputError:
    double = text[at : at + 2]
    what = NOT_HERE.get(double) or NOT_HERE.get(text[at])
    if what is not None:
        return InputError(f"a formula has no {what}", text, at, at + 1)
    named = repr(text[at]) if text[at].isprintable() else f"U+{ord(text[at]):04X}"
    return InputError(f"a formula has no character {named}", text, at, at + 1)


def _value(kind: str, word: str, text: str, start: int, end: int) -> Any:
    if kind == "number":
        return _number(word, text, start, end)
    if kind == "string":
        return word[1:-1]
    if kind == "name" and (word.startswith("_") or (iskeyword(word) and not _known(word))):
        raise InputError(f"a formula has no {word}", text, start, end)
    return word


def _known(word: str) -> bool:
    return word in WORDS or word in OPERATORS


def _number(word: str, text: str, start: int, end: int) -> Any:
    """A whole number as int, unless it is too large to be an index; else a float or a complex."""
    try:
        if word[-1] in "jJ":
            return complex(word)
        if not word.replace("_", "").isdigit():
            return float(word)
        if len(word) <= DIGITS and (whole := int(word)) < 2**63:
            return whole
        found = float(word)
    except ValueError:
        raise InputError(f"{word} is not a number", text, start, end) from None
    if found == float("inf"):
        raise InputError("a number too large for floating point", text, start, end)
    return found

"""A formula typed on the command line: Python's parser reads it, a whitelist judges its tree.

The tree is never compiled; `evaluate` walks it.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any

from chainrule.cli.mistake import InputError, printable

MAX_CHARACTERS = 4096
MAX_LEVELS = 100  # parentheses, minus signs and powers inside one another
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")
LOOSE = frozenset({*COMPARISONS, *"+-*/%@|&,:", "//", "and", "or"})  # they end a row of powers
OPERATORS = frozenset({"and", "or", "not", "if", "else"})
KEYWORDS = OPERATORS | {"True", "False", "None"}
PATTERN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?[jJ]?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<string>'[^'\\\n]{0,200}'|\"[^\"\\\n]{0,200}\")"
    r"|(?P<sign>\*\*|//|[<>=!:]=|\.\.\.|<(?!<)|>(?!>)|[-+*/%@()\[\],:=&|~])"
    r"|(?P<other>.)",
    re.DOTALL,
)
NOT_HERE = {
    ".": "attributes: apply a function, as in sum(x)",
    "{": "sets or mappings",
    ";": "statements",
    "<": "shifts",
    ">": "shifts",
    "'": "text of several lines, or with a backslash",
    '"': "text of several lines, or with a backslash",
    "#": "comments",
    "`": "backquotes",
    "$": "shell variables: put the formula in single quotes",
    "!": "!: write not, or ~ for an array",
    "^": "^: write x**2 for a power",
}
BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.MatMult: operator.matmul, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip
NODES = frozenset({
    *BINARY, *UNARY, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.IfExp,
    ast.Constant, ast.Name, ast.NamedExpr, ast.Load, ast.Store, ast.List, ast.Tuple, ast.Call,
    ast.keyword, ast.Subscript, ast.Slice,
})  # fmt: skip
NO_OPERATOR = "stands where an operator or the end should be"
NO_OPERAND = "stands where a number, a name or '(' should be"
NAME_IT = "give a part a name, as in (w := x * x) * sin(w)"


@dataclass(frozen=True)
class Formula:
    """A formula as it was typed, its tree, and where each name first stands, by what it is for."""

    text: str
    tree: ast.expr
    names: dict[str, ast.Name] = field(default_factory=dict)
    called: dict[str, ast.Name] = field(default_factory=dict)
    assigned: dict[str, ast.Name] = field(default_factory=dict)

    def place(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """The columns of a node, which Python counts in bytes."""
        start, end = node.col_offset, node.end_col_offset or 0
        if self.text.isascii():
            return start, end
        written = self.text.encode()
        return len(written[:start].decode()), len(written[:end].decode())

    def source(self, node: ast.expr) -> str:
        """The text of a node; of a name as it was typed, where Python normalises letters."""
        start, end = self.place(node)
        return self.text[start:end]

    def mistake(self, message: str, node: ast.expr | ast.keyword) -> InputError:
        return InputError(message, self.text, *self.place(node))


def parsed(text: str, limit: int = MAX_CHARACTERS) -> Formula:
    """The tree of a formula, or an `InputError` that names the column."""
    if len(text) > limit:
        raise InputError(
            f"{len(text):,} characters, of which {limit:,} are read; "
            "write a function in a file, or the numbers (name=@file)"
        )
    text = text.strip(" \t\r\n")
    source = _source(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python asks for a space in 1if x
            tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise _misplaced(text, error) from None
    except (RecursionError, MemoryError):
        raise InputError(f"too many operations in a row; {NAME_IT}") from None
    formula = Formula(text, tree)
    _check_nodes(formula)
    return formula


# -- the pieces ------------------------------------------------------------------------------------


def _pieces(text: str) -> Iterator[re.Match[str]]:
    """Numbers, names, strings and signs; what no formula has is refused by name."""
    for piece in PATTERN.finditer(text):
        word, what = piece[0], ""
        if piece.lastgroup == "other" or not (word.isprintable() or word.isspace()):
            bad = next((c for c in word if not c.isprintable()), word)
            named = repr(bad) if bad.isprintable() else f"U+{ord(bad):04X}"
            what = NOT_HERE.get(bad, f"character {named}")
        elif piece.lastgroup == "name" and word not in KEYWORDS:
            refused = word.startswith("_") or iskeyword(word) or not word.isidentifier()
            what = word if refused else ""
        if what:
            raise InputError(f"a formula has no {what}", text, *piece.span())
        if piece.lastgroup != "space":
            yield piece


def _source(text: str) -> str:
    """The text as Python reads it: on one line, of bounded depth, 007 as 7."""
    source, levels, ended = [" "] * len(text), [0], False
    for piece in _pieces(text):
        word = piece[0]
        if ended and _starts(piece):  # 0x10 and f'{x}' too, which Python would take
            raise InputError(f"{printable(word)!r} {NO_OPERATOR}", text, *piece.span())
        if word in ("(", "["):
            levels.append(levels[-1] + 1)
        elif word in (")", "]"):
            levels = levels[:-1] or levels
        elif word in ("**", "else", "not") or (word in ("-", "+", "~") and not ended):
            levels[-1] += 1
        elif word in LOOSE:
            levels[-1] = levels[-2] + 1 if len(levels) > 1 else 0
        if levels[-1] >= MAX_LEVELS:
            message = f"more than {MAX_LEVELS} levels inside one another; {NAME_IT}"
            raise InputError(message, text, *piece.span())
        if word[0] == "0" and word.replace("_", "").isdigit():
            word = (word.lstrip("0_") or "0").ljust(len(word))
        source[piece.start() : piece.end()] = word
        ended = _ends(piece)
    return "".join(source)


def _starts(piece: re.Match[str]) -> bool:
    """Whether this is a number, a name or a string."""
    return piece.lastgroup != "sign" and piece[0] not in OPERATORS


def _ends(piece: re.Match[str]) -> bool:
    """Whether a number, a name, a string or what stands in brackets may end with this."""
    return piece[0] in (")", "]") or _starts(piece)


def _misplaced(text: str, error: SyntaxError) -> InputError:
    """Python's error, its commonest ones in words that say what to write."""
    said, no_else = error.msg, error.msg.startswith("expected 'else'")
    after = error.end_offset if no_else else error.offset
    at = after - 1 if after else len(text)
    pieces = list(_pieces(text))
    before = [piece for piece in pieces if piece.end() <= at]
    here = pieces[len(before)] if len(before) < len(pieces) else None
    start, end = here.span() if here else (len(text), len(text))
    if said.startswith("positional argument follows"):  # Python points behind it
        message, (start, end) = "a value without a name after one with a name", before[-1].span()
    elif before and here and before[-1][0] + here[0] == "[]":
        message, (start, end) = "an index is missing", before[-1].span()
    elif no_else or said == "invalid syntax":
        wanted = NO_OPERATOR if before and _ends(before[-1]) else NO_OPERAND
        wanted = "stands where 'else' should be" if no_else else wanted
        message = f"{printable(here[0])!r} {wanted}" if here else f"the formula {wanted}"
        message = message.replace("formula stands", "formula ends")
    elif said.startswith("Exceeds the limit"):  # of digits
        message = "a number too large for floating point"
        start, end = max(pieces, key=lambda piece: len(piece[0])).span()
    elif said.startswith("closing parenthesis") and here:
        message = f"'{here[0]}' stands where '{']' if here[0] == ')' else ')'}' should be"
    else:
        message, end = said.replace("was never", "is never"), max(end, (error.end_offset or 0) - 1)
    return InputError(message, text, start, end)


# -- the tree --------------------------------------------------------------------------------------


def _check_nodes(formula: Formula) -> None:
    """Refuse every node that is not allowed; note the names in the order of the text."""
    nodes: list[ast.AST] = [formula.tree]
    called, entries = set(), set()
    for node in nodes:  # the list grows on the way
        if isinstance(node, ast.Starred) or (isinstance(node, ast.keyword) and node.arg is None):
            raise formula.mistake("a formula has no * before an argument", node)
        if type(node) not in NODES:
            raise InputError(f"a formula has no {type(node).__name__}")
        if isinstance(node, ast.Call):
            called.add(_callee(formula, node))
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            _, end = formula.place(node.comparators[0])
            signs = (p for p in _pieces(formula.text) if p.start() >= end and p[0] in COMPARISONS)
            message = "comparisons are not chained; write (a < b) & (b < c)"
            raise InputError(message, formula.text, *next(signs).span())
        elif isinstance(node, ast.Subscript):
            entries |= set(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        elif isinstance(node, ast.Constant) and node.value is ... and node not in entries:
            raise formula.mistake(f"'...' {NO_OPERAND}", node)
        nodes += ast.iter_child_nodes(node)
    for name in sorted((n for n in nodes if isinstance(n, ast.Name)), key=lambda n: n.col_offset):
        used = formula.called if name in called else formula.names
        place = formula.assigned if isinstance(name.ctx, ast.Store) else used
        place.setdefault(formula.source(name), name)


def _callee(formula: Formula, call: ast.Call) -> ast.Name:
    """The name of the function that is called, its arguments' names being different ones."""
    if not isinstance(call.func, ast.Name):
        opened = formula.text.index("(", formula.place(call.func)[1])
        raise InputError("only a function can be called", formula.text, opened, opened + 1)
    names = [keyword.arg for keyword in call.keywords]
    for i, name in enumerate(names):
        if name is not None and name in names[:i]:
            start, _ = formula.place(call.keywords[i])
            raise InputError(f"{name} is given twice", formula.text, start, start + len(name))
    return call.func

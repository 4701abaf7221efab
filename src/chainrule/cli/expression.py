"""A formula typed on the command line, parsed into a list of instructions for a stack.

    choice    = operation ["if" operation "else" choice]
    operation = atoms joined by or, and, not, comparisons, | & + - * / // % @ - + ~ **, the last
                binding most tightly, as in Python
    atom      = number | string | name | name "(" choice, …, name=choice, … ")" | "[" choice, … "]"
                | "(" choice, … ")" | "(" name ":=" choice ")" | atom "[" index, … "]"
    index     = choice | [choice] ":" [choice] [":" [choice]] | "..."

No text is handed to Python: what is not in this grammar has no meaning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrule.cli.mistake import InputError, printable
from chainrule.cli.tokens import LONGEST, OPERATORS, WORDS, Token, tokens_of

DEEPEST = 100  # parentheses, minus signs and powers inside one another
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
# How tightly each binds, as its left neighbour sees it; ** binds to the right.
BINARY = {
    "or": 1, "and": 2, **dict.fromkeys(COMPARISONS, 4), "|": 5, "&": 6, "+": 7, "-": 7,
    "*": 8, "/": 8, "//": 8, "%": 8, "@": 8, "**": 10,
}  # fmt: skip
PREFIXES = {"not": 3, "-": 9, "+": 9, "~": 9}
JUMPS = {"or": "jump_if_or_drop", "and": "jump_unless_or_drop"}


class Instruction(NamedTuple):
    """One step of a formula: what to do, with what, and the columns it stands in.

    `action` names a method of `evaluate.Machine`; jumps are relative, so that code can be moved.
    """

    action: str
    argument: Any
    start: int
    end: int


class Formula(NamedTuple):
    """A formula as it was typed, what to do, and the names that are read and assigned, by place."""

    text: str
    code: tuple[Instruction, ...]
    names: dict[str, Token]
    called: dict[str, Token]
    assigned: dict[str, Token]


def parsed(text: str, longest: int = LONGEST) -> Formula:
    """The instructions of a formula, or a `InputError` that names the column."""
    parser = _Parser(text, tokens_of(text, longest))
    parser.choice()
    if parser.token.kind != "end":
        raise parser.unexpected("an operator or the end")
    return Formula(text, tuple(parser.code), parser.names, parser.called, parser.assigned)


class _Parser:
    """Goes through the tokens once and writes instructions."""

    def __init__(self, text: str, tokens: list[Token]):
        self.text, self.tokens, self.at, self.depth = text, tokens, 0, 0
        self.code: list[Instruction] = []
        self.names: dict[str, Token] = {}
        self.called: dict[str, Token] = {}
        self.assigned: dict[str, Token] = {}

    # -- tokens --------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def sees(self, *values: str) -> bool:
        return self.token.kind in ("sign", "name") and self.token.value in values

    def takes(self, value: str) -> bool:
        if not self.sees(value):
            return False
        self.at += 1
        return True

    def closes(self, value: str, opened: Token) -> None:
        if self.takes(value):
            return
        if self.token.kind == "end":
            raise self.mistake(f"'{opened.value}' is never closed", opened)
        raise self.unexpected(f"'{value}'")

    def unexpected(self, wanted: str) -> InputError:
        token = self.token
        if token.kind == "end":
            return self.mistake(f"the formula ends where {wanted} should be", token)
        word = printable(self.text[token.start : token.end])
        return self.mistake(f"{word!r} stands where {wanted} should be", token)

    def mistake(self, message: str, token: Token) -> InputError:
        return InputError(message, self.text, token.start, token.end)

    def write(self, action: str, argument: Any, start: int) -> None:
        self.code.append(Instruction(action, argument, start, self.tokens[self.at - 1].end))

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.mistake(
                f"more than {DEEPEST} levels inside one another; give a part a name, as in "
                "(w := x * x) * sin(w)",
                self.token,
            )

    # -- the grammar ---------------------------------------------------------------------------

    def choice(self) -> None:
        """`a if condition else b`: the condition is written first, and jumps over one of both."""
        self.deeper()
        first, start = len(self.code), self.token.start
        self.operation()
        if self.takes("if"):
            chosen = self.code[first:]
            del self.code[first:]
            self.operation()
            if not self.takes("else"):
                raise self.unexpected("'else'")
            self.write("jump_unless", len(chosen) + 1, start)
            self.code += chosen
            place = len(self.code)
            self.write("jump", 0, start)
            self.choice()
            self._land(place)
        self.depth -= 1

    def _land(self, place: int) -> None:
        """Let the jump at this place lead to where the code ends now."""
        jump = self.code[place]
        self.code[place] = jump._replace(argument=len(self.code) - place - 1)

    def operation(self, loosest: int = 0) -> None:
        """Operands joined by signs that bind tighter than `loosest`."""
        start = self.token.start
        self.operand()
        while self.token.kind in ("sign", "name") and self._binds() > loosest:
            sign, place = self.next().value, len(self.code)
            if sign in JUMPS:
                self.write(JUMPS[sign], 0, start)
            if sign == "**":  # 2 ** -x ** 3 is 2 ** (-(x ** 3))
                self.deeper()
                self.operation(BINARY[sign] - 1)
                self.depth -= 1
            else:
                self.operation(BINARY[sign])
            if sign in JUMPS:
                self._land(place)
                continue
            self.write("binary", sign, start)
            if sign in COMPARISONS and self.sees(*COMPARISONS):
                raise self.mistake(
                    "comparisons are not chained; write (a < b) & (b < c)", self.token
                )

    def _binds(self) -> int:
        return BINARY.get(self.token.value, 0)

    def operand(self) -> None:
        """An atom, or a sign in front of what binds tighter."""
        if not self.sees(*PREFIXES):
            self.atom()
            return
        self.deeper()
        token = self.next()
        self.operation(PREFIXES[token.value])
        self.write("unary", token.value, token.start)
        self.depth -= 1

    def atom(self) -> None:
        token = self.token
        if token.kind in ("number", "string"):
            self.next()
            self.write("constant", token.value, token.start)
        elif token.kind == "name" and token.value in WORDS:
            self.next()
            self.write("constant", WORDS[token.value], token.start)
        elif token.kind == "name" and token.value not in OPERATORS:
            self.name()
        elif self.sees("("):
            self.parentheses()
        elif self.sees("["):
            self.next()
            count, _ = self.listed("]")
            self.closes("]", token)
            self.write("make_list", count, token.start)
        else:
            raise self.unexpected("a number, a name or '('")
        while self.sees("["):
            self.index(token.start)
        if self.sees("("):
            raise self.mistake("only a function can be called", self.token)

    def name(self) -> None:
        token = self.next()
        if not self.sees("("):
            self.names.setdefault(token.value, token)
            self.write("name", token.value, token.start)
            return
        self.called.setdefault(token.value, token)
        opened = self.next()
        count, keywords = self.listed(")", keywords=True)
        self.closes(")", opened)
        self.write("call", (token.value, count, keywords), token.start)

    def parentheses(self) -> None:
        """Grouping, a tuple, or a part that is given a name."""
        opened = self.next()
        if self.token.kind == "name" and self.tokens[self.at + 1].value == ":=":
            named = self.next()
            self.next()
            self.choice()
            self.closes(")", opened)
            self.assigned.setdefault(named.value, named)
            self.write("assign", named.value, named.start)
            return
        count, commas = 0, 0
        while not self.sees(")"):
            self.choice()
            count += 1
            if not self.takes(","):
                break
            commas += 1
        self.closes(")", opened)
        if commas or not count:
            self.write("make_tuple", count, opened.start)

    def listed(self, closing: str, keywords: bool = False) -> tuple[int, tuple[str, ...]]:
        """Parts between commas; how many have no keyword, and the keywords of those that do."""
        count, names = 0, []
        while not self.sees(closing) and self.token.kind != "end":
            if keywords and self.token.kind == "name" and self.tokens[self.at + 1].value == "=":
                token = self.next()
                self.next()
                if token.value in names:
                    raise self.mistake(f"{token.value} is given twice", token)
                names.append(token.value)
            elif names:
                raise self.mistake("a value without a name after one with a name", self.token)
            else:
                count += 1
            self.choice()
            if not self.takes(","):
                break
        return count, tuple(names)

    # -- indices -------------------------------------------------------------------------------

    def index(self, start: int) -> None:
        opened = self.next()
        count, commas = 0, 0
        while not self.sees("]"):
            self.entry()
            count += 1
            if not self.takes(","):
                break
            commas += 1
        self.closes("]", opened)
        if not count:
            raise self.mistake("an index is missing", opened)
        if commas:
            self.write("make_tuple", count, opened.start)
        self.write("index", None, start)

    def entry(self) -> None:
        """One entry of an index: a number, an array, a slice or `...`."""
        start = self.token.start
        if self.takes("..."):
            self.write("constant", ..., start)
            return
        given = []
        for position in range(3):
            present = not self.sees(":", ",", "]") and self.token.kind != "end"
            if present:
                self.choice()
            given.append(present)
            if position == 2 or not self.takes(":"):
                break
        if given == [True]:
            return
        if len(given) == 1:
            raise self.unexpected("an index")
        self.write("make_slice", tuple((*given, False)[:3]), start)

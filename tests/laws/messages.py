"""Every message of the source that tells the user what to do, found by reading the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import chainrule

SOURCE = Path(chainrule.__file__).parent

# The command line has tests of its own; cures of a NaN have `tests/explain/test_cures.py`.
ELSEWHERE = ("cli/", "explain/cures.py")

# These write text for LLVM ("add i64"), Python code, equations ("reshape(reshape(x))"), pictures,
# or the reason that `run/branches.py` puts before its hint: only what they raise is a message.
WRITES_CODE = (
    "core/rule.py", "lower/", "ops/catalogue.py", "optimise/", "record/making.py",
    "record/operators.py", "run/bindings.py", "run/direct.py", "run/fingerprint.py",
    "run/profile.py", "run/reads/", "run/threads.py", "view/",
)  # fmt: skip

ADVISES = ("view/signs.py",)  # what it says of a training run is advice, not a picture

# A verb that begins a clause: "…; pass x", "take a copy first", "… or write x", "please report".
VERBS = (
    "add|ask|assign|build|call|catch|change|check|choose|clip|compare|compile|compute|convert|copy|"
    "count|define|do|draw|drop|edit|expect|fill|find|give|import|install|keep|leave|let|list|look|"
    "lower|make|multiply|name|number|pass|pickle|pip|put|raise|read|reduce|register|remove|replace|"
    "report|reshape|return|run|save|say|scale|see|select|set|sort|split|square|start|stop|store|sum|"
    "switch|take|train|transpose|trust|try|turn|upgrade|use|wait|wrap|write|yield"
)
BEGINNING = r"(?:^|[.:;,(\n]\s*|\b(?:or|and|please|so)\s+)"
IMPERATIVE = re.compile(rf"{BEGINNING}(?:{VERBS})\b(?= +(?!takes|needs)[\w'`{{(])", re.IGNORECASE)

# Something to type: "np.where has both branches in one", "np.stack([...]) keeps the gradient".
CODE = re.compile(
    r"^np\.\w|(?<=[\s(=])(?:np|cr)\.[\w{]|\bchainrule(?:\.\w+)*\.\w+\(|"
    r"\w\(\)|\w=[\w'\"(]|pip "
)


@dataclass(frozen=True)
class Message:
    where: str  # file and qualified name
    text: str  # with {} for what is filled in, blanks and line ends as one blank each
    line: int

    def __str__(self) -> str:
        return f"{self.where} (line {self.line}): {self.text}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def literal(node: ast.AST) -> str | None:
    """The text of a string, an f-string or a sum with one, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) or "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = literal(node.left), literal(node.right)
        return None if parts == (None, None) else "".join(p or "{}" for p in parts)
    return None


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that are filled into a text."""
    if isinstance(node, ast.JoinedStr):
        yield from (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.BinOp):
        for part in (node.left, node.right):
            yield from inside(part) if literal(part) is not None else (part,)


def is_message(text: str) -> bool:
    return len(text.split()) > 2 and bool(IMPERATIVE.search(text) or CODE.search(text))


def texts(
    node: ast.AST, names: tuple[str, ...], raised: bool
) -> Iterator[tuple[str, str, int, bool]]:
    """(qualified name, text, line, whether it is raised or warned) of all texts below."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    text = literal(node)
    if text is not None:
        yield ".".join(names) or "<module>", text, node.lineno, raised
    raised = raised or isinstance(node, ast.Raise) or is_warning(node)
    for child in ast.iter_child_nodes(node) if text is None else inside(node):
        if not is_description(node, child):
            yield from texts(child, names, raised)


def is_warning(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in (
        "warn",
        "warn_explicit",
    )


def is_description(node: ast.AST, child: ast.AST) -> bool:
    """A docstring, what an op's record says of it for the reference, or a cure of a NaN."""
    if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "Cure":
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    return isinstance(child, ast.keyword) and child.arg == "doc"


def messages_in(source: str, file: str) -> list[Message]:
    """The messages with an instruction in the source of a file."""
    code = file.startswith(WRITES_CODE) and file not in ADVISES
    return [
        Message(f"{file}:{name}", one_line(text), line)
        for name, text, line, raised in texts(ast.parse(source), (), False)
        if is_message(text) and (raised or not code)
    ]


def messages() -> list[Message]:
    """All of the package."""
    paths = {p.relative_to(SOURCE).as_posix(): p for p in sorted(SOURCE.rglob("*.py"))}
    return [
        message
        for file, path in paths.items()
        if not file.startswith(ELSEWHERE)
        for message in messages_in(path.read_text("utf-8"), file)
    ]

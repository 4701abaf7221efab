"""Errors of code that knows no Variables, told as ours: who refused, the user's line, a cure."""

from __future__ import annotations

import ast
import linecache
import sysconfig
from collections.abc import Iterator
from importlib import import_module
from inspect import getattr_static
from opcode import opname
from types import CellType, FrameType, ModuleType, TracebackType
from typing import Any

import numpy as np

from chainrule.core.node import line_at
from chainrule.errors import ChainruleError, UnsupportedError
from chainrule.ops.joining import holds_variable, is_table
from chainrule.record.state import INTERNAL

LIBRARIES = tuple(
    dict.fromkeys(sysconfig.get_path(p) for p in ("stdlib", "platstdlib", "purelib", "platlib"))
)
OWN = ("chainrule", "tests.")  # chainrule.learn and the command line are users of ours
# What the user asked for, or said, and is told as it is.
THE_USERS = (AssertionError, FloatingPointError, Warning, StopIteration)
# How NumPy, SciPy and Python say that they cannot take an array of objects, or a Variable.
SAID_OF_OBJECTS = (
    "not Variable", "type Variable", "type 'Variable'", "dtype('O')", "object arrays",
    "dtype object", "'object'", "has no callable",
    "setting an array element", "not supported for the input types", "with an exception set",
    "unsupported data types",
)  # fmt: skip
INNER_MODULES = (["linalg"], ["distance"], ["transform"], ["csgraph"])  # of SciPy's modules
MAX_EXPRESSION = 60  # characters of an expression that a message repeats
EMPTY = CellType()  # of a variable that is not bound yet
RAISES = "RAISE_VARARGS"
# Errors whose class an error of ours can share, so that `except ValueError` still catches it.
SHARED = (ValueError, RuntimeError, np.linalg.LinAlgError, SystemError)


class told_as_ours:  # noqa: N801 - a `with` statement reads it as a verb
    """A block that calls the user's function: what foreign code in it raises becomes our error."""

    __slots__ = ("on",)

    def __init__(self, on: bool = True):
        self.on = on

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, traceback: Any) -> None:
        if self.on and isinstance(error, Exception) and not isinstance(error, THE_USERS):
            ours = _as_ours(error, traceback)
            if ours is not None:
                raise ours from (None if ours is _own_cause(error) else error)


def _as_ours(error: Exception, traceback: TracebackType | None) -> ChainruleError | None:
    """Our error for this one, or None where no foreign code was given a Variable."""
    steps = list(_steps(traceback))
    late = isinstance(error, SystemError) or (_came_back(steps) and _own_cause(error) is None)
    at = _users_step(steps, first=late)
    if at is None:
        return None
    frame, lasti = steps[at]
    foreign = [f for f, _ in steps[at + 1 :] if not _is_ours(f)]
    if not foreign and len(steps) > at + 1:
        return None  # raised by us
    mine = _own_cause(error)
    if mine is error and not any(not _module(f).startswith("numpy") for f in foreign):
        return None  # it names the user's line and the NumPy function itself
    if mine is None and not _met_variable(error, frame, lasti, foreign):
        return None
    refused = _called(frame, lasti)
    shown = line_at(frame.f_code, lasti).shown()
    if mine is not None and mine is not error and shown in str(mine) and not foreign:
        return mine
    what = refused or "code of another library"
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    if late:
        said = "its C code cannot take a Variable for a number"
    text = (
        f"{what} takes plain numbers only, and was given a Variable: a gradient would be lost.\n"
        f"  {shown}\n  it said: {said}\n  {_cure(what, foreign)}"
    )
    return _class_beside(type(mine or error))(text)


def _steps(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next


def _users_step(steps: list[tuple[FrameType, int]], first: bool) -> int | None:
    """Which step is the user's line: the innermost; or the first that calls a library, where C code
    has gone on calling the user's function after an error."""
    mine = [k for k, (frame, _) in enumerate(steps) if _is_users(frame)]
    if first:
        mine = [k for k in mine if k + 1 < len(steps) and _is_librarys(steps[k + 1][0])][:1] or mine
    return mine[-1] if mine else None


def _came_back(steps: list[tuple[FrameType, int]]) -> bool:
    """Whether a library called back, and code of ours then failed: an error was pending already."""
    called = [k for k, (frame, _) in enumerate(steps) if _is_librarys(frame)]
    return bool(called) and _is_ours(steps[-1][0])


def _is_librarys(frame: FrameType) -> bool:
    return not _is_ours(frame) and not _is_users(frame)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_ours(frame: FrameType) -> bool:
    return _module(frame).startswith(INTERNAL)


def _is_users(frame: FrameType) -> bool:
    if _is_ours(frame):
        return False
    # Of compiled code the frame has a source that is not there, and the module's own file.
    name, file = _module(frame), frame.f_globals.get("__file__") or frame.f_code.co_filename
    return name.startswith(OWN) or not file.startswith((*LIBRARIES, "<frozen"))


def _own_cause(error: BaseException) -> ChainruleError | None:
    """The error of ours that this one is or was raised from: C code replaces it by its own."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, ChainruleError):
        seen = seen.__cause__
    return seen


def _met_variable(error: Exception, frame: FrameType, lasti: int, foreign: list[FrameType]) -> bool:
    """Whether a Variable, or an array of them, was what this error is about."""
    if foreign:
        return any(_holds(v) for f in foreign for v in tuple(f.f_locals.values()))
    raised = _instruction(frame, lasti) == RAISES
    said = any(words in str(error) for words in SAID_OF_OBJECTS)
    return said and not raised and any(_holds(v) for v in tuple(frame.f_locals.values()))


def _instruction(frame: FrameType, lasti: int) -> str:
    return opname[frame.f_code.co_code[lasti]]


def _holds(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    inner = value.to_numpy() if is_table(value) else value
    return holds_variable(inner) or _closes_over(value)


def _closes_over(value: Any) -> bool:
    """Whether a function, which a solver was given, reads a Variable of the one around it."""
    cells = getattr(value, "__closure__", None) or ()
    return any(holds_variable(c.cell_contents) for c in cells if c != EMPTY)


def _called(frame: FrameType, lasti: int) -> str:
    """The function that the user's line was calling at that instruction, or its expression."""
    tree = _expression(frame, lasti)
    if tree is None:
        return ""
    if isinstance(tree, ast.Call):
        return _public_name(_resolved(tree.func, frame)) or f"{ast.unparse(tree.func)}(…)"
    text = ast.unparse(tree)
    return f"`{text}`" if len(text) <= MAX_EXPRESSION else ""


def _expression(frame: FrameType, lasti: int) -> ast.AST | None:
    """The part of the user's line that the instruction belongs to."""
    places = list(frame.f_code.co_positions())
    line, end, column, stop = places[lasti // 2]
    if line is None or end is None or column is None or stop is None:
        return None
    lines = [linecache.getline(frame.f_code.co_filename, n).encode() for n in range(line, end + 1)]
    lines[-1] = lines[-1][:stop]
    lines[0] = lines[0][column:]
    try:
        return ast.parse(f"({b''.join(lines).decode()})", mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return None


def _resolved(tree: ast.expr, frame: FrameType) -> Any:
    """The function that a dotted name stands for; nothing is called to find it."""
    if isinstance(tree, ast.Name):
        names = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
        return names.get(tree.id)
    if isinstance(tree, ast.Attribute):
        owner = _resolved(tree.value, frame)
        if owner is None or holds_variable(owner):
            return None
        code = isinstance(getattr_static(type(owner), tree.attr, None), property)
        return None if code else getattr(owner, tree.attr, None)
    return None


def _public_name(function: Any) -> str:
    """A function's name as its documentation has it: scipy.linalg.solve, not of its file."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, (ModuleType, type)):
        module = type(owner).__module__
        called = getattr(owner, "name", None)  # a distribution of scipy.stats has one
        name = f"{called if isinstance(called, str) else type(owner).__name__}.{name}"
    public = [part for part in module.split(".") if not part.startswith("_")]
    if public[:1] == ["scipy"]:
        public = public[:3] if public[2:3] in INNER_MODULES else public[:2]
    if not name or not public or public[0] in ("builtins", "__main__"):
        return ""
    return ".".join([*public, name]).replace("numpy.", "np.", 1)


def _cure(refused: str, foreign: list[FrameType]) -> str:
    """What to write instead."""
    if foreign and _module(foreign[0]).startswith("pandas"):
        return (
            "compute with NumPy, which a Variable takes part in: df['a'].to_numpy() is a column's\n"
            "  numbers, and `df['a'] * x` works as it is."
        )
    if refused.startswith("scipy.") and _ours_takes(refused):
        return f"write `from chainrule import scipy`, whose {refused} takes Variables."
    if refused.startswith(("np.", "`")):
        return (
            "an array of Variables made by np.array holds objects; made by chainrule.numpy.array\n"
            "  it is a Variable: `import chainrule.numpy as np` in place of `import numpy as np`."
        )
    return (
        "wrap its call in a cr.Function, which says what its derivative is, or write\n"
        "  cr.stop_gradient(x).value for x if the derivative is meant to be dropped."
    )


def _ours_takes(function: str) -> bool:
    """Whether `chainrule.scipy` has written this function of SciPy's on Variables."""
    _, room, name, *rest = function.split(".")
    if [name] in INNER_MODULES and rest:
        room, name = f"{room}.{name}", rest[0]
    try:
        ours = getattr(import_module(f"chainrule.scipy.{room}"), name)
    except (ImportError, AttributeError):
        return False
    code = getattr(ours, "__code__", None)  # `dispatch.guarded` refuses Variables
    refuses = "guarded" in code.co_qualname if code else type(ours).__name__ == "Guarded"
    return not refuses


def _class_beside(kind: type[Exception]) -> type[ChainruleError]:
    """The class of our error: one that is caught by those who catch the original."""
    if issubclass(kind, ChainruleError):
        return kind
    if not issubclass(kind, SHARED):
        return UnsupportedError
    return type("UnsupportedError", (UnsupportedError, kind), {"__module__": "chainrule.errors"})

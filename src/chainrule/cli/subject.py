"""What a command differentiates: a formula, or a function of the user's, and its arguments."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from keyword import iskeyword
from traceback import extract_tb
from typing import Any

import numpy as np

from chainrule.cli.evaluate import function_of, number_of
from chainrule.cli.expression import parsed
from chainrule.cli.files import read_values
from chainrule.cli.limits import bounded_memory
from chainrule.cli.mistake import InputError
from chainrule.cli.spelling import meant
from chainrule.errors import ChainruleError

FILE = re.compile(r"(?P<place>[^\n]+\.py):(?P<name>[^\W\d]\w*)")
MODULE = re.compile(r"(?P<place>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*)")
PART = re.compile(r"\bcolumn (\d+)    (.*)")  # as `evaluate.Part` is shown
LONGEST_VALUE = 10**6  # characters of name=value
WHAT = """a formula, as "(x + y) * z"; or a function of your own, as model.py:loss or
package.module:loss, whose file is then imported and run"""
VALUE = """a number or a nested list; a function's argument may also be text or true/false,
and name=@file reads file.json, file.json:key, file.npy, file.npz:key, file.csv,
file.csv:column, or - (standard input)"""


@dataclass(frozen=True)
class Subject:
    """A function of what is differentiated, named as it was typed, and the point."""

    function: Callable[..., Any]
    shown: str
    names: tuple[str, ...]
    values: tuple[Any, ...]
    is_formula: bool


def add_subject(parser: argparse.ArgumentParser, wrt: bool = True) -> None:
    """The arguments that say what is differentiated, and at which point."""
    parser.add_argument("what", help=WHAT)
    parser.add_argument("values", nargs="*", metavar="name=value", help=VALUE)
    if wrt:
        parser.add_argument(
            "--wrt",
            metavar="name[,name]",
            help="differentiate by these arguments alone; the others are held fixed",
        )


@contextmanager
def subject_of(options: argparse.Namespace) -> Iterator[Subject]:
    """The subject that was typed; a formula runs within bounds, a user's function without."""
    what, wrt = options.what.strip(), getattr(options, "wrt", None)
    pairs = dict(_pairs(options.values))
    match = FILE.fullmatch(what) or MODULE.fullmatch(what)
    if match is None and what.endswith(".py") and os.path.isfile(what):
        raise InputError(_which_function(what))
    try:
        with np.errstate(all="ignore"), nullcontext() if match else bounded_memory():
            if match:
                function = _imported(match["place"], match["name"])
                given = {name: _named(name, text, _argument) for name, text in pairs.items()}
                _check_arguments(function, what, given)
            else:
                given = {name: _named(name, text, value_of) for name, text in pairs.items()}
                function = _read(what, list(given))
            yield _subject(function, what, given, wrt, match is None)
            if match is None:
                _tell_unused(what, list(given))
    except (InputError, OSError):
        raise
    except Exception as error:  # the user's function may raise anything
        if match is None:
            raise _in_formula(error, what) from None
        if isinstance(error, ChainruleError):
            raise
        raise InputError(raised(error)) from None


def _read(formula: str, names: list[str]) -> Callable[..., Any]:
    """The formula as a function; where it cannot be read, what to write instead."""
    try:
        return function_of(formula, names)
    except InputError as error:
        raise meant(formula, names) or error from None


def _tell_unused(formula: str, names: list[str]) -> None:
    """A value that the formula does not read is most likely a slip."""
    read = parsed(formula).names
    for name in names:
        if name not in read:
            listed = ", ".join(n for n in read if n in names) or "none"
            said = f"{name} is given, but the formula does not use it; it uses {listed}"
            sys.stderr.write(f"chainrule: {said}\n")


def _which_function(path: str) -> str:
    """What to type where a file is named without a function; the file is read, not run."""
    try:
        with open(path, encoding="utf-8") as file:
            body = ast.parse(file.read()).body
    except (SyntaxError, ValueError) as error:
        return f"{path}: {error}"
    names = [s.name for s in body if isinstance(s, ast.FunctionDef) and s.name[0] != "_"]
    if not names:
        return f"{path} has no function; write one, and name it as in {path}:loss"
    return f"name a function of the file: {', '.join(f'{path}:{name}' for name in names[:10])}"


def _in_formula(error: Exception, formula: str) -> InputError:
    """The error, pointing at the part of the formula that its text names."""
    said = (str(error) or type(error).__name__).splitlines()
    place = PART.search(str(error))
    if place is None:
        return InputError(said[0])
    start = int(place[1]) - 1
    return InputError(said[0], formula, start, start + len(place[2]))


def _subject(
    function: Callable[..., Any], shown: str, given: dict[str, Any], wrt: str | None, formula: bool
) -> Subject:
    """The function of the arguments that are differentiated, the others filled in."""
    names = tuple(name for name, value in given.items() if _differentiable(value))
    if wrt is not None:
        names = tuple(dict.fromkeys(wrt.replace(" ", "").split(",")))
        for name in names:
            if name not in given or not _differentiable(given[name]):
                known = ", ".join(n for n, v in given.items() if _differentiable(v)) or "none"
                raise InputError(f"--wrt {name}: no such argument with numbers; there are {known}")
    fixed = {name: value for name, value in given.items() if name not in names}

    def at(*values: Any) -> Any:
        every = {**fixed, **dict(zip(names, values, strict=True))}
        return function(*(every[n] for n in given)) if formula else _called(function, every)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    vars(at)["__signature__"] = signature  # names the leaves
    at.__name__ = "f" if formula else getattr(function, "__name__", "f")
    values = tuple(_as_floating(given[name]) for name in names)
    return Subject(at, shown, names, values, formula)


def _called(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call a function of the user's with arguments by name, whichever way it takes them."""
    try:
        bound = inspect.signature(function).bind_partial()
    except (TypeError, ValueError):  # written in C
        return function(*given.values())
    names = bound.signature.parameters
    bound.arguments = {n: given[n] for n in names if n in given}
    rest = {n: v for n, v in given.items() if n not in names}
    return function(*bound.args, **bound.kwargs, **rest)


def _differentiable(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_differentiable, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_differentiable, value))
    return not isinstance(value, bool) and isinstance(value, (int, float, complex, np.ndarray))


def _as_floating(value: Any) -> Any:
    """Whole numbers that are differentiated become floating-point ones, in containers too."""
    if isinstance(value, dict):
        return {k: _as_floating(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_floating(v) for v in value]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iu":
        return value.astype(float)
    return float(value) if type(value) is int else value


# -- values ----------------------------------------------------------------------------------------


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            shown = word if len(word) <= 60 else f"{word[:57]}…"
            raise InputError(f"write a value as name=number, not {shown!r}")
        if name in seen:
            raise InputError(f"{name} is given twice")
        seen.add(name)
        yield name, text


def _named(name: str, text: str, read: Callable[[str], Any]) -> Any:
    """The value of an argument; a mistake in it is told with its name."""
    try:
        return read(text)
    except InputError as error:
        raise InputError(f"{name}: {error}", error.text, error.start, error.end) from None


def value_of(text: str) -> Any:
    """The number or array that an argument of a formula stands for."""
    found = read_values(text[1:]) if text.startswith("@") else _typed(text)
    try:
        array = np.asarray(found)
        return array.astype(complex if array.dtype.kind == "c" else float)[()]
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{_short(text)} is not a number or a list of numbers") from None


def _typed(text: str) -> Any:
    """Numbers, lists of them and arithmetic, as in x=[1, 2*pi]."""
    if not text.strip():
        raise InputError("'' is not a number: write name=1.5")
    found = number_of(text, LONGEST_VALUE)
    try:
        array = np.asarray(found)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fciub" or isinstance(found, (tuple, slice)):
        raise InputError(f"{_short(text)} is not a number or a list of numbers")
    return found


def _argument(text: str) -> Any:
    """The value of a function's argument: numbers as arrays, text and true/false as they are."""
    if text.startswith("@"):
        return read_values(text[1:])
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    found = _typed(text)
    return np.asarray(found) if isinstance(found, list) else found


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


# -- functions of the user's -----------------------------------------------------------------------


def _imported(place: str, name: str) -> Callable[..., Any]:
    """The function of this name in a file or a module, which is imported for it."""
    try:
        module = _module_in(place) if place.endswith(".py") else _module_named(place)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - the user's file may raise anything
        raise InputError(f"importing {place} failed: {raised(error)}") from None
    found = getattr(module, name, None)
    if not callable(found):
        functions = [k for k, v in vars(module).items() if callable(v) and not k.startswith("_")]
        listed = f"; it has {', '.join(functions[:10])}" if functions else ""
        raise InputError(f"{place} has no function {name}{listed}")
    return found


def _module_in(path: str) -> Any:
    if not os.path.isfile(path):
        raise InputError(f"{path}: no such file")
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:  # what lies beside a script can be imported by it
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _module_named(name: str) -> Any:
    if os.getcwd() not in sys.path:  # as python -m does
        sys.path.insert(0, os.getcwd())
    return importlib.import_module(name)


def raised(error: BaseException) -> str:
    """An error of the user's code in one line: where it was raised, its type, what it says."""
    frames = [f for f in extract_tb(error.__traceback__) if f.filename.endswith(".py")]
    ours = (os.path.dirname(os.path.dirname(__file__)), os.path.dirname(os.__file__))
    frames = [f for f in frames if not f.filename.startswith(ours)]
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""
    said = (str(error) or type(error).__name__).splitlines()[0]
    return f"{where}{type(error).__name__}: {said}"


def _check_arguments(function: Callable[..., Any], shown: str, given: dict[str, Any]) -> None:
    """Say which arguments are missing, or are none, by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        named = [n for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL,)]
        for name in given:
            if name not in named:
                raise InputError(f"{shown} has no argument {name}; it takes {', '.join(named)}")
    fixed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [
        n
        for n, p in parameters.items()
        if p.default is p.empty and p.kind not in fixed and n not in given
    ]
    if missing:
        raise InputError(f"{shown} needs {', '.join(missing)}: write {missing[0]}=1.5")

"""What a run computes, told in short texts, so that one that is resumed can say what has changed.

A function is told by its code and by the values and other functions that this reads; an array by
its type, its shape and some of its numbers.  The texts are the same in another process.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
from collections import deque
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

MAX_TEXTS = 500  # texts of one value; a loss has some ten
LONGEST = 80
ROWS, NUMBERS = 64, 1024  # of an array that are looked at: so many rows, so many numbers of each
PYTHON = "Python {}.{}".format(*sys.version_info)
LIBRARIES = tuple(sysconfig.get_paths()[part] for part in ("stdlib", "purelib", "platlib"))


def told(value: Any, name: str) -> dict[str, str]:
    """A value and everything it is made of, as texts by where they stand: `loss.scores.width`.

    Lists and sets are not looked into: a function that is called often adds to them.
    """
    found: dict[str, str] = {}
    seen: dict[int, Any] = {}  # kept, so that no other value gets the id
    waiting = deque([(name, value)])
    while waiting and len(found) < MAX_TEXTS:
        path, value = waiting.popleft()
        if id(value) in seen:
            continue
        text, inside = _opened(value)
        if inside:
            seen[id(value)] = value
        if text:
            found[path] = text
        waiting.extend((path + step, each) for step, each in inside.items())
    return found


def told_array(array: Any) -> str:
    """Type, shape and a hash of up to 64 rows, spread evenly, of a memory-mapped file too."""
    array = np.asanyarray(array)
    if not array.size or array.dtype == object:
        return f"{array.dtype} {array.shape}"
    rows = array if array.ndim else array[None]
    if len(rows) > ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, ROWS).astype(int)]
    flat = np.asarray(rows).reshape(len(rows), -1)
    some = flat[:, :: -(-flat.shape[1] // NUMBERS)]
    return f"{array.dtype} {array.shape} with the numbers {_digest(some.tobytes())}"


def _opened(value: Any) -> tuple[str, dict[str, Any]]:
    """A value as a text, and what it is made of by the step that leads there."""
    match value:
        case bool() | int() | float() | complex() | str() | bytes() | None:
            return _short(repr(value)), {}
        case np.ndarray() | np.generic():
            return told_array(value), {}
        case FunctionType():
            return _function(value)
        case MethodType():
            return "", {"": value.__func__, ".self": value.__self__}
        case partial():
            return "", {"": value.func, ".args": value.args, ".keywords": value.keywords}
        case tuple():
            return "", {f"[{i}]": each for i, each in enumerate(value)}
        case dict():
            named = ((key, each) for key, each in value.items() if type(key) in (str, int))
            return "", {f"[{key!r}]": each for key, each in named}
        case ModuleType() | list() | set():
            return "", {}
    return _object(value)


def _object(value: Any) -> tuple[str, dict[str, Any]]:
    """An object of some class; its attributes where the class is the user's or a dataclass."""
    cls = value if isinstance(value, type) else type(value)
    text = f"{cls.__module__}.{cls.__qualname__}"
    if cls is value:
        return text, {}
    text += f" {value.__name__}" if hasattr(value, "__name__") else ""  # np.sin is a ufunc, as cos
    if hasattr(value, "__wrapped__"):  # a compiled function, among others
        return text, {"": value.__wrapped__}
    if is_dataclass(value):
        return text, {f".{f.name}": getattr(value, f.name, None) for f in fields(value)}
    if not _is_yours(cls.__module__):
        return text, {}
    inside = {f".{key}": each for key, each in getattr(value, "__dict__", {}).items()}
    return text, inside | ({"()": cls.__call__} if callable(value) else {})


def _function(f: FunctionType) -> tuple[str, dict[str, Any]]:
    """The code of a function of the user's, or the name of another, and what it reads."""
    code, inside = f.__code__, dict[str, Any]()
    for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            inside[f".{name}"] = cell.cell_contents
    if not _is_yours(f.__module__):
        return f"{f.__module__}.{f.__qualname__}", inside
    defaults = f.__defaults__ or ()
    optional = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    inside |= {f".{name}": each for name, each in zip(optional, defaults, strict=True)}
    inside |= {f".{name}": each for name, each in (f.__kwdefaults__ or {}).items()}
    codes = _nested(code)
    read = {
        instruction.argval
        for each in codes
        for instruction in dis.get_instructions(each)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    inside |= {f".{name}": f.__globals__[name] for name in sorted(read & f.__globals__.keys())}
    return f"the code {_digest(*(_bytes_of(each, f.__doc__) for each in codes))} ({PYTHON})", inside


def _nested(code: CodeType) -> list[CodeType]:
    """A code and those of the functions inside of it."""
    codes = [code]
    for each in codes:
        codes += [const for const in each.co_consts if isinstance(const, CodeType)]
    return codes


def _bytes_of(code: CodeType, doc: str | None) -> bytes:
    """What a code does, whatever its lines and comments; another docstring makes no difference."""
    constants = [c for c in code.co_consts if not isinstance(c, CodeType) and c != doc]
    texts = [str(sorted(map(repr, c))) if isinstance(c, frozenset) else repr(c) for c in constants]
    return code.co_code + repr((code.co_names, texts)).encode()


def _is_yours(module: str | None) -> bool:
    """Whether what a module defines is the user's, not that of a library."""
    top = (module or "").partition(".")[0]
    if top == "chainrule" or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return not file.startswith(LIBRARIES)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… {_digest(text.encode())}"


def _digest(*parts: bytes) -> str:
    return sha256(b"".join(parts)).hexdigest()[:12]

"""Which names a code object reads, and whether a module or class is the user's or a library's."""

from __future__ import annotations

import dis
import os
import sys
import types
from enum import Enum
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, NamedTuple

# ---- what a code object reads --------------------------------------------------------------------

GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM")
DYNAMIC = ("eval", "exec", "getattr", "globals", "vars", "__import__")


class Reads(NamedTuple):
    names: tuple[str, ...]
    attributes: frozenset[str]
    imports: tuple[str, ...]


@lru_cache(maxsize=1024)
def reads_of(code: CodeType) -> Reads:
    """The names that a code object and those nested in it read.

    A string that could be a name counts as an attribute: it may be for `getattr`.
    """
    names: dict[str, None] = {}
    attributes, imports, stack = set(), [], [code]
    while stack:
        inner = stack.pop()
        stack += [c for c in inner.co_consts if type(c) is CodeType]
        attributes |= {c for c in inner.co_consts if type(c) is str and c.isidentifier()}
        for instruction in dis.get_instructions(inner):
            if instruction.opname in GLOBALS:
                names[instruction.argval] = None
            elif instruction.opname in ATTRIBUTES:
                attributes.add(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                imports.append(instruction.argval)
    return Reads(tuple(names), frozenset(attributes), tuple(imports))


# ---- whose a module or class is ------------------------------------------------------------------


class Origin(Enum):
    USER = "watched"
    INSTALLED = "its instances' attributes are watched, nothing else of it"
    SEALED = "not looked into: chainrule's, NumPy's and the interpreter's own"


# The interpreter's own descriptors: a metaclass or a class may have put others in front of them.
own_names = vars(type)["__dict__"].__get__
bases_of = vars(type)["__mro__"].__get__
name_of = vars(type)["__name__"].__get__
named_module_of = vars(type)["__module__"].__get__
names_of_module = vars(ModuleType)["__dict__"].__get__

STANDARD = os.path.dirname(os.__file__) + os.sep


@lru_cache(maxsize=4096)
def _origin(name: str, file: str) -> Origin:
    top = name.partition(".")[0]
    if top in ("chainrule", "numpy") or (not file and top in sys.stdlib_module_names):
        return Origin.SEALED
    if f"{os.sep}site-packages{os.sep}" in file or f"{os.sep}dist-packages{os.sep}" in file:
        return Origin.INSTALLED
    return Origin.SEALED if file.startswith(STANDARD) else Origin.USER


def origin_of_module(namespace: dict[str, Any]) -> Origin:
    name, file = namespace.get("__name__"), namespace.get("__file__")
    return _origin(name if type(name) is str else "", file if type(file) is str else "")


def module_of(cls: type) -> str:
    name = named_module_of(cls)
    return name if type(name) is str else ""


def origin_of_class(cls: type) -> Origin:
    if module_of(cls) == "types" and name_of(cls) not in vars(types):
        return Origin.USER  # made by make_dataclass or new_class, which sign in this way
    module = sys.modules.get(module_of(cls))
    if module is None or not issubclass(type(module), ModuleType):
        return _origin(module_of(cls), "")
    return origin_of_module(names_of_module(module))

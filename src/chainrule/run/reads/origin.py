"""Whose a module, a class or a frame is: the user's, the standard library's, or sealed."""

from __future__ import annotations

import os
import sys
import types
from enum import Enum
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any


class Origin(Enum):
    USER = "every instruction is watched"
    STANDARD = "watched where the user's code calls it"
    SEALED = "not watched: chainrule, NumPy, SciPy and the interpreter's own types"


# The interpreter's own descriptors: a metaclass or a class may have put others in front of them.
own_names = vars(type)["__dict__"].__get__
bases_of = vars(type)["__mro__"].__get__
name_of = vars(type)["__name__"].__get__
named_module_of = vars(type)["__module__"].__get__
names_of_module = vars(ModuleType)["__dict__"].__get__

STANDARD = os.path.dirname(os.__file__) + os.sep
SHOWING = ("warnings", "linecache", "tokenize", "_py_warnings")  # run where NumPy warns
PACKAGES = ("numpy", "scipy", "llvmlite")
# What is written on the public names alone is watched as the user's own code is.
PUBLIC = ("learn", "interop", "scale")


@lru_cache(maxsize=4096)
def _origin(name: str, file: str) -> Origin:
    top, _, rest = name.partition(".")
    if top == "chainrule":
        return Origin.USER if rest.partition(".")[0] in PUBLIC else Origin.SEALED
    if top in PACKAGES or file.startswith("<frozen importlib"):
        return Origin.SEALED
    if file.startswith("<frozen") or (not file and top in sys.stdlib_module_names):
        return Origin.STANDARD
    installed = f"{os.sep}site-packages{os.sep}" in file or f"{os.sep}dist-packages{os.sep}" in file
    return Origin.STANDARD if file.startswith(STANDARD) and not installed else Origin.USER


def origin_of_module(namespace: dict[str, Any]) -> Origin:
    name, file = namespace.get("__name__"), namespace.get("__file__")
    return _origin(name if type(name) is str else "", file if type(file) is str else "")


def origin_of_class(cls: type) -> Origin:
    """Whose class it is; the interpreter's own types, such as list and function, are sealed."""
    module_name = named_module_of(cls)
    module_name = module_name if type(module_name) is str else ""
    if module_name == "builtins":
        return Origin.SEALED
    if module_name == "types" and name_of(cls) not in vars(types):
        return Origin.USER  # made by make_dataclass or new_class, which sign in this way
    module = sys.modules.get(module_name)
    if module is None or not issubclass(type(module), ModuleType):
        return _origin(module_name, "")
    return origin_of_module(names_of_module(module))


def watched(frame: FrameType) -> bool:
    """Whether a frame runs the user's code, or the standard library's called from there."""
    running: FrameType | None = frame
    if frame.f_code.co_name == "__del__":  # which runs at any time
        return False
    if frame.f_globals.get("__name__") in SHOWING:
        return False
    while running is not None:
        origin = _origin_of_frame(running.f_globals.get("__name__"), running.f_code.co_filename)
        if origin is not Origin.STANDARD:
            return origin is Origin.USER
        running = running.f_back
    return False


def is_below(frame: FrameType, caller: FrameType) -> bool:
    """Whether a frame runs on behalf of another."""
    running: FrameType | None = frame
    while running is not None and running is not caller:
        running = running.f_back
    return running is caller


def is_sealed(frame: FrameType) -> bool:
    origin = _origin_of_frame(frame.f_globals.get("__name__"), frame.f_code.co_filename)
    return origin is Origin.SEALED


def is_users(frame: FrameType) -> bool:
    origin = _origin_of_frame(frame.f_globals.get("__name__"), frame.f_code.co_filename)
    return origin is Origin.USER


def _origin_of_frame(name: Any, file: str) -> Origin:
    return _origin(name if type(name) is str else "", file)

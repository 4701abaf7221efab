"""`scipy.sparse` on Variables: matrices made of them, and `linalg`."""

from importlib import import_module
from typing import Any

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.sparse.matrices import OBJECTS

_find, __dir__ = namespace("scipy.sparse", {}, OBJECTS)


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return import_module("chainrule.scipy.sparse.linalg")
    return _find(name)

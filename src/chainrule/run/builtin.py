"""Machine code as a function that Python calls directly: no conversion, no copy, about 0.1 µs."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from chainrule.lower.code import entry as layout

FASTCALL = 0x80


NAME = ctypes.create_string_buffer(b"compiled")  # lives as long as the process
DEFINITION = 4  # words of a PyMethodDef: name, address, flags, doc


def builtin(address: int, table: np.ndarray) -> Any:
    """A function of Python at an address: `entry(self, args, count)`, with the table as self.

    Its definition stands in the last words of the table: the function keeps the table alive, and
    so its definition, to its own end.
    """
    table[-DEFINITION:] = ctypes.addressof(NAME), address, FASTCALL, 0
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    where = table.ctypes.data + table.itemsize * (len(table) - DEFINITION)
    return make(where, table, None)


def extras(dtypes: list[Any]) -> list[int]:
    """The pointers that `lower.entry` expects behind those of the program."""
    return [id(np.ndarray), id(float), id(np.float64), id(True), id(False), 0, *map(id, dtypes)]


@cache
def layout_is_known() -> bool:
    """Whether arrays and numbers lie in memory as `lower.entry` reads them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False or hasattr(sys, "gettotalrefcount"):
        return False
    array = np.arange(6.0).reshape(2, 3)

    def field(offset: int, kind: Any, owner: int) -> Any:
        return kind.from_address(owner + offset).value

    here, pointer = id(array), ctypes.c_size_t
    shape = field(layout.SHAPE, pointer, here)
    number, double = 0.625, np.float64(0.625)
    return bool(
        field(layout.TYPE, pointer, here) == id(np.ndarray)
        and field(layout.DATA, pointer, here) == array.ctypes.data
        and field(layout.AXES, ctypes.c_int32, here) == 2
        and field(0, ctypes.c_int64, shape) == 2
        and field(8, ctypes.c_int64, shape) == 3
        and field(layout.DTYPE, pointer, here) == id(np.dtype(np.float64))
        and field(layout.FLAGS, ctypes.c_int32, here) == array.flags.num
        and field(layout.FLOAT_VALUE, ctypes.c_double, id(number)) == number
        and field(layout.FLOAT_VALUE, ctypes.c_double, id(double)) == number
    )

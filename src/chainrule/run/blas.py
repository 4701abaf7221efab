"""BLAS and LAPACK as machine code finds them: SciPy exports addresses; each call on one thread.

We hand out chunks to threads ourselves.  Threads of BLAS's own would be too many, and would round
differently for every number of them.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from chainrule.lower.code.products import ONE_THREAD, ROUTINES
from chainrule.lower.code.routines import FACTORING
from chainrule.run.machine import Machine

PREFIXES = ("scipy_openblas", "openblas")
SUFFIXES = ("", "64_")
OF_BLAS = ("gemm", "trsm", "trsv")


@cache
def _exported(library: str) -> Any:
    """The routines of one of SciPy's modules, without the rest of scipy.linalg: 30 ms, not 400."""
    import scipy

    name = f"scipy.linalg.{library}"
    spec = PathFinder.find_spec(name, [str(Path(scipy.__file__).parent / "linalg")])
    if name in sys.modules or spec is None or spec.loader is None:
        return import_module(name).__pyx_capi__
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    # Left there, a later `import scipy.linalg.cython_blas` would not enter it into scipy.linalg.
    sys.modules.pop(name, None)
    return module.__pyx_capi__


@cache
def _address(routine: str) -> int:
    """The address of a routine that SciPy exports."""
    capsule = _exported(_library(routine))[routine]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    assert isinstance(address, int)
    return address


def _library(routine: str) -> str:
    return "cython_blas" if routine[1:] in OF_BLAS else "cython_lapack"


@cache
def exported(routine: str) -> bool:
    """Whether SciPy exports a routine."""
    try:
        return routine in _exported(_library(routine))
    except ImportError:
        return False


@cache
def _thread_count() -> tuple[int, int] | None:
    """Addresses of the functions that read and set how many threads SciPy's BLAS uses."""
    import scipy

    here = Path(scipy.__file__).parent
    for path in (*here.parent.glob("scipy.libs/*openblas*"), *here.glob(".dylibs/*openblas*")):
        library = ctypes.CDLL(str(path))
        for prefix in PREFIXES:
            for suffix in SUFFIXES:
                names = [f"{prefix}_{what}_num_threads{suffix}" for what in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    get, put = (ctypes.cast(library[n], ctypes.c_void_p).value for n in names)
                    return get or 0, put or 0
    return None


@cache
def _on_one_thread() -> Machine:
    """The functions a program calls before and after its products."""
    functions = _thread_count()
    if functions is None:  # another BLAS, with threads of its own or without
        return Machine(ONE_THREAD[False], ["cr_one_thread", "cr_threads_back"])
    imports = dict(zip(("cr_get_threads", "cr_set_threads"), functions, strict=True))
    return Machine(ONE_THREAD[True], ["cr_one_thread", "cr_threads_back"], imports)


def blas_imports(text: str) -> dict[str, int]:
    """The addresses that the text of a module refers to."""
    addresses = {
        name: _address(name[3:]) for name in (*ROUTINES.values(), *FACTORING) if name in text
    }
    if addresses:
        quiet = _on_one_thread()
        addresses |= {name: quiet.address(name) for name in ("cr_one_thread", "cr_threads_back")}
    return addresses

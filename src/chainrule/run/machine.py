"""LLVM: text becomes machine code of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any

from chainrule.errors import UnsupportedError

BLAS = {"cr_dgemm": "dgemm", "cr_sgemm": "sgemm"}
_numbers = count()


@cache
def _llvm() -> Any:
    """llvmlite, set up for this machine."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise UnsupportedError(
            "cr.compile needs llvmlite: pip install 'chainrule[jit]'.  Without it the same "
            "functions run interpreted."
        ) from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _jit() -> Any:
    """The linker of this process."""
    return _llvm().create_lljit_compiler(new_target_machine())


@cache
def _blas(routine: str) -> int:
    """The address of a BLAS routine that SciPy exports."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[routine]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    found = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    assert isinstance(found, int)
    return found


def new_target_machine() -> Any:
    """This machine, with everything its processor can do."""
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small", jit=True
    )


target_machine = cache(new_target_machine)


def optimised(text: str) -> Any:
    """The module of this text, verified, with the maths inlined."""
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.verify()
    builder = llvm.create_pass_builder(
        target_machine(), llvm.create_pipeline_tuning_options(speed_level=1)
    )
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return module


class Machine:
    """Machine code of one module, alive as long as this object is."""

    def __init__(self, text: str, names: Sequence[str]):
        self.text = text
        self.code = target_machine().emit_object(optimised(text))
        library = _llvm().JITLibraryBuilder().add_object_img(self.code).add_current_process()
        for symbol, routine in BLAS.items():
            if symbol in text:
                library.import_symbol(symbol, _blas(routine))
        for name in names:
            library.export_symbol(name)
        self._tracker = library.link(_jit(), f"chainrule{next(_numbers)}")

    def address(self, name: str) -> int:
        found = self._tracker[name]
        assert isinstance(found, int)
        return found

    def assembly(self) -> str:
        return str(target_machine().emit_assembly(optimised(self.text)))

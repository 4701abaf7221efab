"""LLVM: text becomes machine code of this process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

from chainrule.errors import UnsupportedError
from chainrule.lower.code.lines import INLINE
from chainrule.run.cache import code_cache, key_of

TARGET = {"opt": 2, "reloc": "pic", "codemodel": "small", "jit": True}
PASSES = ("always_inliner", "instruction_combine", "simplify_cfg")
# What a short loop carries is taken from the stack into registers.
LOOP_PASSES = (PASSES[0], "sroa", *PASSES[1:], "dead_store_elimination")
NOTHING: Mapping[str, int] = {}
_numbers = count()


@cache
def _llvm() -> Any:
    """llvmlite, set up for this machine."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise UnsupportedError(
            "cr.compile needs llvmlite: pip install llvmlite.  Without it the same "
            "functions run interpreted."
        ) from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _jit() -> Any:
    """The linker of this process.

    It puts all of a module into one stretch of memory.  LLVM's older one asks for code and for
    constants apart, and ends the process where these come to lie more than 2 GB from each other.
    """
    return _llvm().create_lljit_compiler(new_target_machine(), use_jit_link=True)


def new_target_machine() -> Any:
    """This machine, with everything its processor can do."""
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, **TARGET)


target_machine = cache(new_target_machine)


def optimised(text: str) -> Any:
    """The module of this text, verified, with the maths inlined."""
    llvm = _llvm()
    module = llvm.parse_assembly(text, llvm.create_context())  # which goes with the module
    module.verify()
    builder = llvm.create_pass_builder(
        target_machine(), llvm.create_pipeline_tuning_options(speed_level=1)
    )
    passes = llvm.create_new_module_pass_manager()
    for name in LOOP_PASSES if f"){INLINE}\n" in text else PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
    return module


@cache
def _made_with() -> tuple[str, ...]:
    """Everything beside its text that machine code depends on."""
    llvm = _llvm()  # first, as its error says what to install
    import llvmlite

    return (
        sys.modules["chainrule"].__version__,
        llvmlite.__version__,
        repr(llvm.llvm_version_info),
        target_machine().triple,
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        repr((TARGET, PASSES, LOOP_PASSES)),
    )


@cache
def _trim() -> Callable[[int], object]:
    here = ctypes.CDLL(None) if sys.platform == "linux" else None
    return getattr(here, "malloc_trim", lambda keep: None)


def give_memory_back() -> None:
    """Give what was freed back to the system, where the C library can (glibc).

    Of LLVM that is 3 MB; of a recording, as much as the arrays of its call.
    """
    _trim()(0)


def object_code(text: str) -> tuple[bytes, bool]:
    """The machine code of a text, and whether it was there already."""
    kept = code_cache()
    if kept is None:
        return target_machine().emit_object(optimised(text)), False
    key = key_of(text, _made_with())
    code = kept.load(key)
    if code is not None:
        return code, True
    made: bytes = target_machine().emit_object(optimised(text))
    kept.store(key, made)
    return made, False


def assembly(text: str) -> str:
    """What machine code of a text does, for people to read."""
    return str(target_machine().emit_assembly(optimised(text)))


class Machine:
    """Machine code of one module, alive as long as this object is."""

    def __init__(self, text: str, names: Sequence[str], imports: Mapping[str, int] = NOTHING):
        """`names` can be called from outside; `imports` are addresses that the text refers to."""
        code, self.was_kept = object_code(text)
        library = _llvm().JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol, address in imports.items():
            library.import_symbol(symbol, address)
        for name in names:
            library.export_symbol(name)
        self._tracker = library.link(_jit(), f"chainrule{next(_numbers)}")

    def address(self, name: str) -> int:
        address = self._tracker[name]
        assert isinstance(address, int)
        return address

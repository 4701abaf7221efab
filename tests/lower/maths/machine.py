"""The functions as machine code of this computer: arrays in, arrays out."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from time import thread_time
from typing import Any

import numpy as np

from chainrule.lower.maths import FUNCTIONS, definitions, function_name

DTYPES = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}
ELEMENTS = {"f64": "double", "f32": "float"}
# The lanes that fill a register of 512 bits.
USUAL_LANES = {"f64": 8, "f32": 16}


@dataclass
class Kernel:
    """A compiled loop over arrays; `milliseconds` are what each stage of compiling took."""

    engine: Any
    address: int
    dtype: np.dtype
    lanes: int
    arguments: int
    milliseconds: dict[str, float]
    assembly: str = ""

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        shape = arrays[0].shape
        size = arrays[0].size
        padded = -(-size // self.lanes) * self.lanes
        sources = []
        for array in arrays:
            source = np.ones(padded, self.dtype)
            source[:size] = np.asarray(array, self.dtype).ravel()
            sources.append(source)
        out = np.empty(padded, self.dtype)
        self.run(out, *sources)
        return out[:size].reshape(shape)

    def run(self, out: np.ndarray, *sources: np.ndarray) -> None:
        """The loop alone, on arrays whose size is a multiple of the lanes."""
        self.prepared(out, *sources)()

    def prepared(self, out: np.ndarray, *sources: np.ndarray) -> Any:
        count = 1 + len(sources)
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count, ctypes.c_int64)
        function = kind(self.address)
        arguments = [*(a.ctypes.data for a in (out, *sources)), out.size]
        return lambda: function(*arguments)


def loop(name: str, dtype: str, lanes: int, arguments: int) -> str:
    """A function `kernel(out, x, …, count)` that applies one of ours to whole vectors."""
    element = ELEMENTS[dtype]
    kind = element if lanes == 1 else f"<{lanes} x {element}>"
    align = DTYPES[dtype].itemsize
    letters = "xy"[:arguments]
    sources = "".join(f"ptr %{c}, " for c in letters)
    lines = [
        f"define void @kernel(ptr noalias %out, {sources}i64 %n) {{",
        "entry:",
        "  br label %body",
        "body:",
        "  %i = phi i64 [0, %entry], [%next, %body.end]",
    ]
    for c in letters:
        lines += [
            f"  %p{c} = getelementptr {element}, ptr %{c}, i64 %i",
            f"  %v{c} = load {kind}, ptr %p{c}, align {align}",
        ]
    values = ", ".join(f"{kind} %v{c}" for c in letters)
    lines += [
        f"  %r = call {kind} {function_name(name, dtype, lanes)}({values})",
        f"  %pr = getelementptr {element}, ptr %out, i64 %i",
        f"  store {kind} %r, ptr %pr, align {align}",
        "  br label %body.end",
        "body.end:",
        f"  %next = add i64 %i, {lanes}",
        "  %more = icmp slt i64 %next, %n",
        "  br i1 %more, label %body, label %exit",
        "exit:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


@cache
def kernel(
    name: str,
    dtype: str,
    lanes: int = 0,
    optimise: bool = True,
    assembly: bool = False,
    processor: str = "",
) -> Kernel:
    """One function compiled for this computer, or for a simpler `processor`."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    lanes = lanes or USUAL_LANES[dtype]
    arguments = FUNCTIONS[name].arguments
    clock = [thread_time()]
    found = definitions([(name, dtype, lanes)])
    text = "\n".join([*sorted(found.declares), found.text, loop(name, dtype, lanes, arguments)])
    clock.append(thread_time())
    module = llvm.parse_assembly(text)
    for cold in found.cold.values():
        module.link_in(llvm.parse_assembly(cold))
    module.verify()
    clock.append(thread_time())
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=processor or llvm.get_host_cpu_name(),
        features="" if processor else llvm.get_host_cpu_features().flatten(),
        opt=2,
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    if optimise:
        passes.add_instruction_combine_pass()
        passes.add_new_gvn_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    clock.append(thread_time())
    listing = machine.emit_assembly(module) if assembly else ""
    clock.append(thread_time())
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("kernel")
    clock.append(thread_time())
    stages = ("emit", "parse", "passes", "listing", "codegen")
    times = {s: 1e3 * (clock[i + 1] - clock[i]) for i, s in enumerate(stages)}
    return Kernel(engine, address, DTYPES[dtype], lanes, arguments, times, listing)

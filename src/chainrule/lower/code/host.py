"""What is known of the processor before code is written for it."""

from __future__ import annotations

from functools import cache


@cache
def wide_registers() -> int:
    """How many vectors of 64 bytes its registers hold."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return 4  # nothing can be compiled, as `run.machine` will say

    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 32
    return 8 if features.get("avx2") or features.get("neon") or features.get("fp-armv8") else 4

"""What code is written for: how wide and fast a processor is, and what its caches hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Target:
    """A processor.  Speeds are rough: what is near either of them is worth no more precision."""

    registers: int  # of vectors
    vector_bytes: int = 64
    cache_bytes: int = 2**20  # of one core
    shared_cache_bytes: int = 2**23
    colliding_bytes: int = 4096  # so far apart, lines of memory share one small part of a cache
    prefetched_bytes: int = 2**18  # larger operands of a product are asked for ahead of their use
    prefetched_rows_bytes: int = 2**16  # the same, where rows are read in whole vectors
    flops_per_second: float = 16e9  # of one core
    bytes_per_second: float = 10e9
    routine_seconds: float = 0.2e-6  # a call of LAPACK, however small its matrix is
    chunk_seconds: float = 50e-6  # the least work of a chunk: handing one out takes a few µs

    def lanes(self, itemsize: int) -> int:
        """How many numbers of so many bytes a vector holds."""
        return self.vector_bytes // itemsize

    def seconds(self, flops: int, nbytes: int) -> float:
        """How long so many operations, and bytes moved, take one core."""
        return max(flops / self.flops_per_second, nbytes / self.bytes_per_second)


@cache
def host() -> Target:
    """The processor of this machine."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return Target(registers=4)  # nothing can be compiled, as `run.machine` will say

    features: dict[str, Any] = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return Target(registers=32)
    half_as_wide = any(features.get(name) for name in ("avx2", "neon", "fp-armv8"))
    return Target(registers=8 if half_as_wide else 4)

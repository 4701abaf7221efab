"""A hash of a whole array at the speed of memory, in which the place of every word counts.

The array is read in blocks of 32 words of 64 bits.  Each word of a block has an accumulator `a` of
its own, and a word `w` takes it to

    x = a ^ w;   y = x ^ (x >> SHIFT);   a = y * FACTOR   (mod 2**64)

Each of the three is a bijection: `^ w` is its own inverse, x can be read off y from its highest
SHIFT bits downwards, and FACTOR is odd.  So for a fixed word other accumulators stay other ones,
and for a fixed accumulator other words lead to other ones: two arrays that differ in one word never
have one hash, and a difference is not lost by what follows it.  It is only lost if a later word of
the same accumulator differs in the one way that makes up for it, for which there is one chance in
2**64; the shift brings high bits down before the product brings low bits up, so that a change of a
sign or of an exponent spreads as well.  In the end the accumulators, which begin differently, are
taken up one after the other in the same way, so that their order counts too.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from chainrule.errors import UnsupportedError
from chainrule.run.machine import Machine

LANES, VECTORS = 4, 8
BLOCK = 8 * LANES * VECTORS  # bytes
SHIFT = 29
FACTOR = 0x9E3779B97F4A7C15  # odd; 2**64 over the golden ratio
SEED = 0xBF58476D1CE4E5B9
VECTOR = f"<{LANES} x i64>"


def digest(data: np.ndarray) -> Any:
    """What changes when any byte of a flat contiguous array of bytes does."""
    kernel = _kernel()
    if kernel is None:
        return zlib.crc32(data.data)
    whole = data.size // BLOCK
    # Less than a block is left over: it stands for itself.
    return kernel(data.ctypes.data, whole), data[whole * BLOCK :].tobytes()


@cache
def _kernel() -> Callable[[int, int], int] | None:
    """The machine code, kept on disk like any other; None where there is no LLVM."""
    try:
        machine = Machine(text(), ["fingerprint"])
    except UnsupportedError:
        return None
    made = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64)
    kernel = made(machine.address("fingerprint"))
    return lambda address, blocks: kernel(address, blocks) if machine and blocks else 0


def _all(value: int) -> str:
    return "<" + ", ".join([f"i64 {value}"] * LANES) + ">"


def _start(vector: int) -> str:
    first = 1 + vector * LANES
    words = (SEED * (first + lane) % 2**64 for lane in range(LANES))
    return "<" + ", ".join(f"i64 {word}" for word in words) + ">"


def _step(vector: int) -> list[str]:
    """One vector of words into its accumulators."""
    v = vector
    return [
        f"%p{v} = getelementptr {VECTOR}, ptr %block, i64 {v}",
        f"%w{v} = load {VECTOR}, ptr %p{v}, align 1",
        f"%x{v} = xor {VECTOR} %a{v}, %w{v}",
        f"%h{v} = lshr {VECTOR} %x{v}, {_all(SHIFT)}",
        f"%y{v} = xor {VECTOR} %x{v}, %h{v}",
        f"%b{v} = mul {VECTOR} %y{v}, {_all(FACTOR)}",
    ]


def _end() -> list[str]:
    """The accumulators one after the other into one."""
    lines = []
    for n in range(LANES * VECTORS):
        lines += [
            f"%e{n} = extractelement {VECTOR} %b{n // LANES}, i32 {n % LANES}",
            f"%f{n} = xor i64 %s{n}, %e{n}",
            f"%g{n} = lshr i64 %f{n}, {SHIFT}",
            f"%j{n} = xor i64 %f{n}, %g{n}",
            f"%k{n} = mul i64 %j{n}, {FACTOR}",
            f"%l{n} = lshr i64 %k{n}, 32",
            f"%s{n + 1} = xor i64 %k{n}, %l{n}",
        ]
    return lines


def text() -> str:
    """The function as LLVM reads it: (address, number of blocks, at least one) -> hash."""
    loop = ["%block = phi ptr [%data, %entry], [%next, %loop]"]
    loop += ["%left = phi i64 [%blocks, %entry], [%fewer, %loop]"]
    loop += [f"%a{v} = phi {VECTOR} [{_start(v)}, %entry], [%b{v}, %loop]" for v in range(VECTORS)]
    loop += [line for v in range(VECTORS) for line in _step(v)]
    loop += [f"%next = getelementptr i8, ptr %block, i64 {BLOCK}", "%fewer = sub i64 %left, 1"]
    loop += ["%more = icmp ne i64 %fewer, 0", "br i1 %more, label %loop, label %done"]
    done = [f"%s0 = add i64 0, {SEED}", *_end(), f"ret i64 %s{LANES * VECTORS}"]
    return "\n".join(
        [
            "define i64 @fingerprint(ptr %data, i64 %blocks) {",
            "entry:",
            "br label %loop",
            "loop:",
            *loop,
            "done:",
            *done,
            "}",
        ]
    )

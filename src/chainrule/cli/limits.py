"""A bound on memory while a formula runs, since nine characters can ask for a terabyte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# Bytes beyond what is there already; a BLAS that is loaded now takes its share for every core.
HEADROOM = 2**30 + (os.cpu_count() or 1) * 48 * 2**20


@contextmanager
def bounded_memory(headroom: int = HEADROOM) -> Iterator[None]:
    """Let an allocation beyond the bound raise MemoryError; no bound where the system has none."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        bound = used + headroom
        tighter = soft == resource.RLIM_INFINITY or bound < soft
    except (ImportError, OSError, ValueError):
        yield
        return
    if tighter:
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

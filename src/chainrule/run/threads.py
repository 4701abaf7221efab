"""`cr.set_threads`, and the threads that compiled functions share."""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError
from chainrule.lower.code import pool
from chainrule.lower.plan.split import MAX_CHUNKS
from chainrule.run.machine import Machine

PAUSE = {
    "x86_64": "declare void @llvm.x86.sse2.pause()\n"
    "define internal void @pause() alwaysinline { call void @llvm.x86.sse2.pause() ret void }",
    "aarch64": "declare void @llvm.aarch64.hint(i32)\n"
    "define internal void @pause() alwaysinline { call void @llvm.aarch64.hint(i32 1) ret void }",
}
PAUSE |= {"AMD64": PAUSE["x86_64"], "arm64": PAUSE["aarch64"]}
NO_PAUSE = "define internal void @pause() alwaysinline { ret void }"


class Pool:
    """The threads beside the calling one; started when something is compiled that uses them."""

    def __init__(self, system: Any) -> None:
        self.system = system
        self.memory = np.zeros(pool.BYTES // 8 + 8, np.uint64)
        self.address = self.memory.ctypes.data + -self.memory.ctypes.data % 64
        text = pool.pool_text(PAUSE.get(platform.machine(), NO_PAUSE))
        imports = {"cr_pool": self.address}
        self.machine = Machine(text, ["cr_parallel", "cr_worker"], imports)
        self.threads: list[ctypes.c_size_t] = []
        self._locks()

    def _locks(self) -> None:
        for init, at in (
            ("pthread_mutex_init", pool.MUTEX),
            ("pthread_cond_init", pool.WORK),
            ("pthread_cond_init", pool.FINISHED),
        ):
            getattr(self.system, init)(ctypes.c_void_p(self.address + at), None)

    def _field(self, offset: int) -> Any:
        return ctypes.c_int64.from_address(self.address + offset)

    def start(self, count: int) -> None:
        """Let there be so many threads, the calling one included."""
        if len(self.threads) == count - 1:
            return
        self.stop()
        worker = ctypes.c_void_p(self.machine.address("cr_worker"))
        for number in range(1, count):
            thread = ctypes.c_size_t()
            given = ctypes.c_void_p(number)
            if self.system.pthread_create(ctypes.byref(thread), None, worker, given):
                break  # the system gives no more
            self.threads.append(thread)
        self._field(pool.THREADS).value = len(self.threads)

    def stop(self) -> None:
        """End all threads; what they are computing is finished first."""
        self._field(pool.THREADS).value = 0
        mutex = ctypes.c_void_p(self.address + pool.MUTEX)
        self.system.pthread_mutex_lock(mutex)
        self._field(pool.STOP).value = 1
        self.system.pthread_cond_broadcast(ctypes.c_void_p(self.address + pool.WORK))
        self.system.pthread_mutex_unlock(mutex)
        for thread in self.threads:
            self.system.pthread_join(thread, None)
        self.threads = []
        self._field(pool.STOP).value = 0

    def forget(self) -> None:
        """In a forked process there are no threads; what they held is free."""
        self.threads = []
        self.memory[:] = 0
        self._locks()


@cache
def _pool() -> Pool | None:
    """None where the system has no threads of this kind."""
    try:
        system = ctypes.CDLL(None)
        system.pthread_create  # noqa: B018 - is it there?
    except (TypeError, OSError, AttributeError):
        return None
    made = Pool(system)
    atexit.register(made.stop)
    os.register_at_fork(after_in_child=made.forget)
    return made


@cache
def _alone() -> Machine:
    return Machine(pool.ALONE, ["cr_parallel"])


_lock = RLock()
_wanted: list[int] = []  # empty, or what the user has said


def _default() -> int:
    """As the environment says, or one thread per core."""
    for name in ("CHAINRULE_THREADS", "OMP_NUM_THREADS"):
        said = os.environ.get(name, "").split(",")[0]
        if said.isdigit() and int(said) > 0:
            return int(said)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """How many threads compiled functions run on."""
    return min(_wanted[-1] if _wanted else _default(), MAX_CHUNKS)


def set_threads(count: int) -> None:
    """Let compiled functions run on so many threads, from now on and everywhere.

    Results are the same to the last bit whatever the count.  At the start it is CHAINRULE_THREADS,
    else OMP_NUM_THREADS, of the environment, else the number of cores.  More than 32 are not used.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ArgumentError(f"cr.set_threads({count!r}): a number of threads, 1 or more")
    with _lock:
        _wanted[:] = [count]
        if _pool.cache_info().currsize:
            parallel()


def parallel() -> int:
    """The address of `cr_parallel`, with its threads running."""
    with _lock:
        pool = _pool()
        if pool is None:
            return _alone().address("cr_parallel")
        pool.start(threads())
        return pool.machine.address("cr_parallel")

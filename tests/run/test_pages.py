"""The memory of a call: what is not used is not taken, and no process shares it with another."""

import os

import numpy as np
import pytest

from chainrule.run.program import HUGE_PAGE_BYTES, _pages

pytest.importorskip("llvmlite")


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux what is resident")
def test_what_threads_might_need_is_not_taken():
    arena = _pages(2**20, 8 * HUGE_PAGE_BYTES)
    before = resident()
    arena[:: 2**21] = 1  # one byte in each large page
    assert resident() - before < HUGE_PAGE_BYTES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("more", [0, HUGE_PAGE_BYTES])
def test_a_fork_has_its_own(more):
    arena = _pages(4096, more)
    arena[0] = 1
    child = os.fork()
    if child == 0:
        arena[0] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert arena[0] == 1
    assert arena.flags.writeable
    assert arena.dtype == np.uint8

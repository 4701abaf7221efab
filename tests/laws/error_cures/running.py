"""What a compiled function warns of, and what it is told instead: no warning, the same numbers."""

from __future__ import annotations

import os
import sys

import numpy as np

import chainrule as cr
from chainrule.core.op import OPS
from chainrule.run import cache, machine
from chainrule.run.branches import MANY_SIGNATURES, MAX_BRANCHES
from tests.laws.error_cures.entry import entry

X = np.array([1.0, 2.0])
NARROW = np.ones(3, np.float32)
TURNS = range(max(MANY_SIGNATURES, MAX_BRANCHES) + 4)


def last(f, *arguments):
    """The last result of a compiled function that is called with each; a warning is an error."""

    def run():
        fast = cr.compile(f)
        return [fast(*each) for each in arguments][-1]

    return run


# ---- branches ------------------------------------------------------------------------------------

POINTS = [(np.array([float(n), 1.0]),) for n in TURNS]
SIGNS = [(np.where([n >> i & 1 for i in range(5)], 1.0, -2.0),) for n in range(32)]
PARTLY = [(np.where(np.arange(25) < n, 1.0, -1.0),) for n in TURNS]
BRANCHES, TRUTHS = "run/branches.py:<module>", "run/branches.py:Limits.too_many_branches"


def choosing(x):
    total = 0.0
    for i in range(5):
        total = total + (x[i] if x[i] > 0 else -2 * x[i])
    return total


entry(TRUTHS, "np.where has both branches in one", last(choosing, *SIGNS),
      last(lambda x: np.sum(np.where(x > 0, x, -2 * x)), *SIGNS), right=5.0)  # fmt: skip
entry(BRANCHES, "x for float(x)", last(lambda x: x * float(x[0]), *POINTS),
      last(lambda x: x * x[0], *POINTS), right=POINTS[-1][0] * TURNS[-1])  # fmt: skip
entry(BRANCHES, "np.trunc(x) for int(x)", last(lambda x: x * int(x[0]), *POINTS),
      last(lambda x: x * np.trunc(x[0]), *POINTS), right=POINTS[-1][0] * TURNS[-1])  # fmt: skip
entry(BRANCHES, "np.sum(mask) for len(x[mask])", last(lambda x: x * len(x[x > 0]), *PARTLY),
      last(lambda x: x * np.sum(x > 0), *PARTLY), right=PARTLY[-1][0] * TURNS[-1])  # fmt: skip
TABLE = np.zeros(4)


def table_at(call):
    for n in TURNS:
        TABLE[0] = n
        found = call()
    return found


def outside():
    fast = cr.compile(lambda x: x * TABLE.max())
    return table_at(lambda: fast(X))


def as_argument():
    fast = cr.compile(lambda x, table: x * table.max())
    return table_at(lambda: fast(X, TABLE))


entry(TRUTHS, "Pass it as an argument", outside, as_argument, right=X * TURNS[-1])


def noted(x, notes):
    notes.append(1)
    return x**2


def mixed():
    notes = []
    fast = cr.compile(lambda x: np.sum(noted(x, notes)))
    return [fast(X) for _ in range(3)][-1]


def apart():
    notes, fast = [], cr.compile(lambda x: np.sum(x**2))
    for _ in range(3):
        notes.append(1)
        found = fast(X)
    return found


entry("run/branches.py:Limits.stopped",
      "Compile the part that only computes, and pass it what it needs as arguments",
      mixed, apart, right=5.0)  # fmt: skip

# ---- signatures ----------------------------------------------------------------------------------

LENGTHS = "run/branches.py:Limits.many_signatures"
LONGEST = len(TURNS)
entry(
    LENGTHS, "Fill up to a few lengths",
    last(lambda x: np.sum(x**2), *((np.ones(n),) for n in range(1, LONGEST + 1))),
    last(lambda x: np.sum(x**2),
         *((np.pad(np.ones(n), (0, LONGEST - n)),) for n in range(1, LONGEST + 1))),
    right=LONGEST,
)  # fmt: skip
entry(LENGTHS, "Pass the numbers that are computed from it",
      last(lambda x, name: x * len(name), *((X, "a" * n) for n in TURNS)),
      last(lambda x, length: x * length, *((X, float(n)) for n in TURNS)),
      right=X * TURNS[-1])  # fmt: skip
entry(BRANCHES, "Pass a float, if it is computed with",
      last(lambda x, n: x * n, *((X, n) for n in TURNS)),
      last(lambda x, n: x * n, *((X, float(n)) for n in TURNS)), right=X * TURNS[-1])  # fmt: skip


def widening(x, t):
    return np.sum(x) * t, t * t


for kind in (np.float32, np.float64):
    entry(
        BRANCHES, f"{'Pass ' if kind is np.float32 else 'or '}np.{kind.__name__}(t)",
        last(widening, *((NARROW, n + 0.5) for n in TURNS)),
        last(widening, *((NARROW, kind(n + 0.5)) for n in TURNS)),
        right=[3 * (TURNS[-1] + 0.5), (TURNS[-1] + 0.5) ** 2],
    )  # fmt: skip

# ---- machine code, and where it is kept ----------------------------------------------------------


def without_llvmlite(patch):
    patch.setitem(sys.modules, "llvmlite", None)
    patch.setitem(sys.modules, "llvmlite.binding", None)
    machine._llvm.cache_clear()
    try:
        return machine._llvm()
    finally:
        machine._llvm.cache_clear()


def square_sum(x):
    return np.sum(x**2)


entry("run/machine.py:_llvm", "pip install llvmlite", without_llvmlite,
      lambda: [cr.compile(square_sum)(X), machine._llvm().__name__ == "llvmlite.binding"],
      right=[5.0, True])  # fmt: skip
entry("run/machine.py:_llvm", "Without it the same functions run interpreted", without_llvmlite,
      lambda: square_sum(X), right=5.0)  # fmt: skip


def kept(place, patch, value=None):
    """The results of a function that is compiled anew while the cache is in this folder."""
    cache._warn_once.cache_clear()
    cache._cache_in.cache_clear()
    patch.setenv("CHAINRULE_CACHE", str(place if value is None else value))
    return cr.compile(lambda x: np.sum(np.sin(x) + np.cos(3 * x)))(X)


def shared(at, patch):
    place = at / "shared"
    place.mkdir()
    os.chmod(place, 0o777)
    return kept(place, patch)


KEPT = np.sum(np.sin(X) + np.cos(3 * X))
entry("run/cache.py:_warn_once", "Name another folder in CHAINRULE_CACHE", shared,
      lambda at, patch: kept(at / "own", patch), right=KEPT)  # fmt: skip
entry("run/cache.py:_warn_once", "switch it off with CHAINRULE_CACHE=off", shared,
      lambda at, patch: kept(at, patch, "off"), right=KEPT)  # fmt: skip


def sabotaged():
    """A compiled function whose next call is checked against another function."""
    fast = cr.compile(square_sum, verify="always")
    fast(X)
    fast.options.verifier.f = lambda x: np.sum(x**3)
    return fast(X)


entry("run/verify.py:explained", "call the function itself", sabotaged, lambda: square_sum(X),
      right=5.0)  # fmt: skip


def picked(bound):
    """Machine code that rounds otherwise is imitated by another function."""

    def pick(patch):
        patch.setitem(vars(OPS["tanh"]), "lower", OPS["sinh"].lower)
        at = np.array([1.5, 2.0, 0.5])
        return cr.compile(lambda x: np.take(x, bound(np.floor(3 * np.tanh(x)).astype(int))))(at)

    return pick


entry("run/variant.py:Variant.first", "np.clip the index", picked(lambda i: i),
      picked(lambda i: np.clip(i, 0, 2)), right=[0.5, 0.5, 2.0])  # fmt: skip

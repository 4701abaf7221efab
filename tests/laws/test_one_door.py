"""What Python is told of a Variable, by whatever name, is a Variable, refused, or a read."""

from __future__ import annotations

from functools import cache

import pytest

from tests.laws.door import Finding, findings, silent_lapack
from tests.laws.door_names import MODULES

# Where what works on arrays works on Variables, or is refused by us.  The others call C code that
# asks no protocol (np.random), or are made for other things than numbers.
NUMPYS = ("numpy", "ufunc methods", "linalg", "fft", "emath", "ndarray")

# They want memory to read, which a Variable has not got; Python says so in its own words.
OF_MEMORY = {"np.bytes_", "np.from_dlpack", "np.frombuffer", "np.nditer", "np.record", "np.void"}
# Raw errors still to be said in our words: an integer Variable where NumPy wants an int, and
# protocols of Python's own.  This list only shrinks.
STILL_RAW = {
    "np.asarray_chkfinite", "np.fft.fftfreq", "np.fft.rfftfreq", "np.repeat", "np.require",
    "np.resize", "np.timedelta64", "x.__ipow__", "x.__reduce__", "x.conj", "x.conjugate",
}  # fmt: skip

# Seen by others than the trace: an op whose result nobody uses is guarded when the recording ends,
# np.errstate stops it (tests/run/programs has both); `outcome` runs the op that it is told to.
SEEN_ELSEWHERE = {"try inv", "try cholesky", "try index", "errstate", "cr.outcome"}


@cache
def walked(module: str) -> list[Finding]:
    with silent_lapack():
        return [
            f
            for name, fn in MODULES[module]().items()
            for f in findings(name, fn, compared=module != "Variable")
        ]


def told(found: list[Finding]) -> str:
    return "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("module", MODULES)
def test_what_differs_between_points_is_a_read(module):
    unguarded = [f for f in walked(module) if f.kind != "raw" and f.name not in SEEN_ELSEWHERE]
    assert not unguarded, told(unguarded)


@pytest.mark.parametrize("module", NUMPYS)
def test_what_works_on_arrays_is_refused_in_our_words(module):
    raw = [f for f in walked(module) if f.kind == "raw" and f.name not in OF_MEMORY | STILL_RAW]
    assert not raw, told(raw)

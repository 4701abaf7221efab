"""What NumPy makes of a call and what we make of it, held against each other."""

import numpy as np
import pytest

import chainrule as cr


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:  # noqa: BLE001 - which kind it is, is the question
        return error


def plain(out):
    if isinstance(out, (tuple, list)):
        return [plain(o) for o in out]
    return np.asarray(out.value if isinstance(out, cr.Variable) else out)


def alike(a, b):
    if isinstance(a, list) or isinstance(b, list):
        both = isinstance(a, list) and isinstance(b, list) and len(a) == len(b)
        return both and all(map(alike, a, b))
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    return np.allclose(a, b, rtol=1e-12, atol=1e-14, equal_nan=True)


def judge(what, mine, theirs):
    """1 where NumPy raises and we raise ours; 0 where both give the same; else a failure."""
    with np.errstate(all="ignore"):
        found, expected = outcome(mine), outcome(theirs)
    if isinstance(found, Exception):
        assert isinstance(found, cr.ChainruleError), f"{what}: {type(found).__name__}: {found}"
        if isinstance(expected, Exception):
            return 1
        pytest.fail(f"{what}: NumPy gives {expected!r}, we raise {found}")
    assert not isinstance(expected, Exception), f"{what}: NumPy says {expected}; we give {found!r}"
    assert alike(plain(found), plain(expected)), f"{what}: {found!r} is not {expected!r}"
    return 0

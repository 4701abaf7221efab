"""Memory is bounded while a formula runs, and only then."""

import sys

import numpy as np
import pytest

from chainrule.cli.limits import bounded_memory

resource = pytest.importorskip("resource")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems set no such bound")
def test_an_allocation_beyond_it_fails_and_the_bound_goes_away():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with bounded_memory(2**26), pytest.raises(MemoryError):
        np.ones(2**27)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    with pytest.raises(KeyError), bounded_memory():
        raise KeyError
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_tighter_bound_stays():
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    with bounded_memory(2**60):
        assert resource.getrlimit(resource.RLIMIT_AS)[0] in (soft, 2**60) or soft == -1

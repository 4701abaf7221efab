"""Hypothesis settings: the same examples on every run in CI, new ones on a developer's machine.

Compiled code goes into a cache of its own, not into the developer's.
"""

import gc
import os

# One thread per test process: pytest already runs one process per core, and pages show the memory
# of one thread.  Before anything imports NumPy.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# No deadline: the first call of a test pays for imports, which says nothing about the code.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


@pytest.fixture(scope="session", autouse=True)
def code_cache_of_the_tests(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAINRULE_CACHE", str(tmp_path_factory.mktemp("cache") / "code"))
        yield


def pytest_collection_finish():
    """Tests that collect garbage do not go through tens of thousands of collected tests."""
    gc.collect()
    gc.freeze()

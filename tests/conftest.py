"""Hypothesis settings: the same examples on every run in CI, new ones on a developer's machine."""

import os

from hypothesis import settings

# No deadline: the first call of a test pays for imports, which says nothing about the code.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

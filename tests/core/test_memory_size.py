"""Amounts of memory, read and shown."""

import pytest

from chainrule.core.memory_size import bytes_of, shown
from chainrule.errors import ArgumentError


@pytest.mark.parametrize(
    ("memory", "count"),
    [
        (None, None), (1000, 1000), ("200MB", 200 * 10**6), ("1.5 GiB", 3 * 2**29),
        ("12", 12), (" 3 kb ", 3000),
    ],
)  # fmt: skip
def test_what_is_read(memory, count):
    assert bytes_of(memory) == count


@pytest.mark.parametrize(
    "memory", ["3e", "MB", "", "1.2.3MB", ".", "200 MBs", -1, 0, True, 1.5, []]
)
def test_what_is_refused(memory):
    with pytest.raises(ArgumentError, match="memory="):
        bytes_of(memory)


def test_what_is_shown():
    assert [shown(n) for n in (12, 1234, 999_600, 2.5e9)] == ["12 B", "1.23 kB", "1 MB", "2.5 GB"]

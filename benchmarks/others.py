"""How much of the machine others used while a run was measured."""

import os
from pathlib import Path
from time import monotonic
from typing import NamedTuple

STAT = Path("/proc/stat")


class Clock(NamedTuple):
    """Seconds since some moment: on the wall, and of processor time of everybody and of this run.

    Of this run count the processes it has started and waited for.
    """

    wall: float
    everybody: float
    own: float


def now() -> Clock | None:
    """The clocks of this moment, or None where the system does not tell (Linux does)."""
    try:
        user, nice, system = map(int, STAT.read_text().split()[1:4])
    except (OSError, ValueError):
        return None
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return Clock(monotonic(), (user + nice + system) / os.sysconf("SC_CLK_TCK"), own)


def cores_busy(start: Clock | None, end: Clock | None) -> float | None:
    """How many cores others kept busy in the mean between two moments."""
    if start is None or end is None or end.wall <= start.wall:
        return None
    others = (end.everybody - start.everybody) - (end.own - start.own)
    return max(others, 0.0) / (end.wall - start.wall)

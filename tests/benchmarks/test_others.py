"""What others used of the machine while a benchmark ran."""

import subprocess
import sys

import pytest

from benchmarks import others, report
from benchmarks.others import Clock

BURN = "import time\nwhile time.process_time() < 0.6: pass"


def test_the_rest_of_what_everybody_used() -> None:
    assert others.cores_busy(Clock(10.0, 100.0, 5.0), Clock(20.0, 115.0, 15.0)) == 0.5
    assert others.cores_busy(Clock(10.0, 100.0, 5.0), Clock(20.0, 109.9, 15.0)) == 0.0
    assert others.cores_busy(None, Clock(20.0, 109.9, 15.0)) is None


def test_a_process_of_the_run_is_its_own_and_not_that_of_others() -> None:
    start = others.now()
    if start is None:
        pytest.skip("this system does not tell")
    subprocess.run([sys.executable, "-c", BURN], check=True)
    end = others.now()
    assert end is not None
    assert end.own - start.own >= 0.5  # it burns more, since these clocks tick every 10 ms
    assert end.everybody - start.everybody >= 0.5


def test_a_run_after_a_run_is_not_disturbed_by_it() -> None:
    facts = {"load average before": 1.0, "load average at the end": 1.0, "threads": 1}
    assert report.disturbed(facts)  # all that an old result tells
    assert not report.disturbed(facts | {"cores busy with other work": 0.02})
    assert report.disturbed(facts | {"cores busy with other work": 0.3})

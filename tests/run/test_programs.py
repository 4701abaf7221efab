"""A compiled function does what the function does: small programs, their values and gradients."""

import os
import subprocess
import sys

import pytest

from tests.run.outcome import Outcome, verdict
from tests.run.programs.checker import PROGRAMS, checked, findings, unexpected
from tests.run.programs.corpus import Instance, Program, kw
from tests.run.programs.refused import REFUSED

pytest.importorskip("llvmlite")

# The share of programs that may run as plain Python, where it is large.
PLAIN = {
    "effects": 1.0,
    "scalars": 0.55,
    "writes": 0.35,
    "conversions": 0.3,
    "inside": 0.3,
    "layouts": 0.6,
}
SUBJECTS = sorted({p.subject for p in PROGRAMS.values()})


@pytest.mark.parametrize("subject", SUBJECTS)
def test_same_as_plain_python(subject):
    results = {n: checked(p) for n, p in PROGRAMS.items() if p.subject == subject}
    found = [f for result in results.values() for f in result.findings]
    wrong = [str(f) for f in found if unexpected(f)]
    assert not wrong, "\n".join(wrong)
    refused = {f.name for f in found}
    listed = {n for n in REFUSED if PROGRAMS[n].subject == subject}
    assert refused == listed, f"not refused any more: {sorted(listed - refused)}"
    plain = [n for n, result in results.items() if not result.machine_code]
    assert len(plain) <= PLAIN.get(subject, 0.2) * len(results), f"run as plain Python: {plain}"


def test_same_in_another_process_in_another_order_and_verified():
    """What is right in one order may rest on what was called before in the process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.programs.checker", "--reverse", "--verify", "always"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]


def test_few_are_refused():
    assert len(PROGRAMS) >= 300
    assert len(REFUSED) <= len(PROGRAMS) // 20
    assert set(REFUSED) <= set(PROGRAMS)


def program(*instances):
    left = list(instances)
    return Program("p", "test", lambda: Instance(left.pop(0)), (kw(1.0), kw(2.0)), False, False)


def test_the_checker_sees_a_difference():
    (finding,) = findings(program(lambda x: x * 2, lambda x: x * 3))
    assert (finding.kind, finding.what, finding.call) == ("different", "value", 0)


def test_the_checker_sees_a_raw_error():
    def broken(x):
        raise KeyError("raw")

    (finding,) = findings(program(lambda x: x * 2, broken))
    assert finding.kind == "raw"


def test_an_error_must_be_of_the_class_that_is_expected():
    assert verdict(Outcome(error=KeyError()), Outcome(error=KeyError()))[0] == "same"
    assert verdict(Outcome(error=KeyError()), Outcome(error=ValueError()))[0] == "raw"
    assert verdict(Outcome(error=KeyError()), Outcome(1.0))[0] == "different"

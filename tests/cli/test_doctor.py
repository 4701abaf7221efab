"""`chainrule doctor`: all is well here, and what is broken is named with its cure."""

import json

import numpy as np

from chainrule.cli import doctor


def test_all_is_well_here(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    status, out, err = run("doctor", "--json")
    document = json.loads(out)
    assert (status, err) == (0, ""), document
    assert document["well"]
    assert [check["name"] for check in document["checks"]] == list(doctor.CHECKS)
    assert all(set(check) == {"name", "well", "found", "cure"} for check in document["checks"])


def test_what_is_broken_is_told_with_its_cure(run, monkeypatch):
    import chainrule as cr

    monkeypatch.setattr(cr, "grad", lambda f: lambda x: np.float64(0.0))
    monkeypatch.setitem(doctor.CHECKS, "cache", lambda: 1 / 0)
    status, out, _ = run("doctor")
    assert status == 1
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:3] == ["NOT", "WELL", "gradient"]
    assert "install chainrule anew" in out
    assert "ZeroDivisionError: division by zero" in out
    assert "the lines marked need you" in out

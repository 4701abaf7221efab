"""`chainrule ops`: every operation, one a line."""

import json

import chainrule as cr


def test_one_a_line(run):
    status, out, err = run("ops")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == sorted(cr.OPS)


def test_golden(golden):
    golden("ops", "ops", "soft")


def test_json(run):
    found = json.loads(run("ops", "maximum", "--json")[1])["ops"]
    assert found == [
        {"name": "maximum", "says": cr.OPS["maximum"].__doc__, "inputs": ["x", "y"],
         "settings": [], "kinks": True},
    ]  # fmt: skip


def test_none(run):
    assert run("ops", "sofd") == (2, "", "chainrule: no operation has 'sofd' in its name\n")

"""Each message that tells the user what to do is printed, and what it says is done and works.

`messages.py` finds them in the source; `error_cures/` has a program for each.  Cures of a NaN are
tested in `tests/explain/test_cures.py`, and what the command line says in `tests/cli`.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import chainrule as cr
from tests.laws.error_cures import (
    analysis,
    derivatives,
    foreign,
    learning,
    operations,
    programs,
    recording,
    running,
    scaling,
    scipy_arrays,
    scipy_solvers,
)
from tests.laws.error_cures.entry import ENTRIES, Entry
from tests.laws.messages import Message, is_message, messages, messages_in, one_line

ROOMS = (
    analysis,
    derivatives,
    foreign,
    learning,
    operations,
    programs,
    recording,
    running,
    scaling,
    scipy_arrays,
    scipy_solvers,
)  # each enters its own

# Messages without an entry, by a part of their text, and why.  This list only shrinks.
WITHOUT_ENTRY: dict[str, str] = {}
MOST_WITHOUT_ENTRY = 0


def holds(entry: Entry, message: Message) -> bool:
    return entry.where == message.where and one_line(entry.says) in message.text


def is_excepted(message: Message) -> bool:
    return any(part in message.text for part in WITHOUT_ENTRY)


def numbers_in(found: object) -> np.ndarray:
    """All numbers of a result, whatever contains them, one after the other."""
    return np.concatenate([np.ravel(leaf) for leaf in cr.tree.flatten(found)[0]])


def given(program, tmp_path, monkeypatch):
    """The result of a program, with what it asks for."""
    offered = {"at": tmp_path, "patch": monkeypatch}
    wanted = inspect.signature(program).parameters
    return program(**{name: value for name, value in offered.items() if name in wanted})


def said_by(program, tmp_path, monkeypatch) -> str:
    """What a program raises, warns and returns as text, in one line."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            found = given(program, tmp_path, monkeypatch)
            said = found if isinstance(found, str) else ""
        except Exception as error:  # noqa: BLE001 - whatever it is, its text is what is asked for
            said = " ".join(filter(None, (str(error), str(error.__cause__ or ""))))
    return one_line(" ".join([said, *(str(w.message) for w in caught)]))


# ---- the table is complete -----------------------------------------------------------------------


def test_every_message_with_a_cure_has_an_entry():
    missing = [
        m for m in messages() if not is_excepted(m) and not any(holds(e, m) for e in ENTRIES)
    ]
    assert not missing, "\n" + "\n".join(map(str, missing))


def test_every_entry_is_of_a_message():
    known = messages()
    stale = [e for e in ENTRIES if not any(holds(e, m) for m in known)]
    assert not stale, "\n" + "\n".join(map(str, stale))


def test_what_is_left_out_is_there_and_has_no_entry():
    for part in WITHOUT_ENTRY:
        left = [m for m in messages() if part in m.text]
        assert left, part
        assert not [e for e in ENTRIES for m in left if holds(e, m)], part


def test_the_list_of_what_is_left_out_only_shrinks():
    assert len(WITHOUT_ENTRY) <= MOST_WITHOUT_ENTRY


def test_entries_have_names_of_their_own():
    assert max(Counter(map(str, ENTRIES)).values()) == 1


# ---- every message is printed, every cure is applied ---------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_the_message_is_printed(entry, tmp_path, monkeypatch):
    assert one_line(entry.says) in said_by(entry.fails, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("entry", "cured"),
    [pytest.param(e, c, id=f"{e} {i}") for e in ENTRIES for i, c in enumerate(e.cured)],
)
def test_the_cure_works(entry, cured, tmp_path, monkeypatch):
    right = entry.right() if callable(entry.right) else entry.right
    found = given(cured, tmp_path, monkeypatch)
    if isinstance(right, str):
        assert right in str(found)
        return
    np.testing.assert_allclose(numbers_in(found), numbers_in(right), rtol=1e-6, atol=1e-9)


# ---- the finder finds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "an integer array; pass x.astype(float)",
        "it is lost.\n  take a copy first: v = v.copy().",
        "branches of values.  np.where has both in one.",
        "plot needs matplotlib: pip install 'chainrule[learn]'",
        "differs in its shape.  Fill up to a few lengths.",
        "order 'x': choose one of dfs, kahn",
    ],
)
def test_an_instruction_is_found(text):
    assert is_message(text)


@pytest.mark.parametrize(
    "text", ["the inner sizes 2 and 3 differ", "a leaf has no op", "choose takes integers", "x + y"]
)
def test_a_statement_is_none(text):
    assert not is_message(text)


SOURCE = """
class Model:
    def fit(self, x):
        if x.dtype.kind == "i":
            raise TypeError(f"{x.dtype} has no derivative; "
                            "pass x.astype(float)")
        return f"loss of {x:.3g}"

    def hint(self):
        "Pass it as an argument: a docstring is no message."
        return "np.where has both branches in one"
"""


def test_messages_are_found_where_they_are_written():
    found = [(m.where, m.text) for m in messages_in(SOURCE, "learn/model.py")]
    assert found == [
        ("learn/model.py:Model.fit", "{} has no derivative; pass x.astype(float)"),
        ("learn/model.py:Model.hint", "np.where has both branches in one"),
    ]
    raised = [m.where for m in messages_in(SOURCE, "view/model.py")]
    assert raised == ["view/model.py:Model.fit"]


def test_an_entry_is_of_its_message_only():
    (message, _) = messages_in(SOURCE, "learn/model.py")
    known = Entry(message.where, "pass x.astype(float)", lambda: None, (), right=None)
    assert holds(known, message)
    assert not holds(replace(known, says="pass a float"), message)
    assert not holds(replace(known, where="learn/model.py:Model.hint"), message)

"""Outside state of many kinds: a compiled function gives what the function gives at that moment.

A kind may be watched, or run interpreted with a warning, or be refused with an error of ours.  It
may never give what the function gave earlier, and its effects happen once in each call.
"""

import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.errors import ChainruleError
from tests.run.outside_kinds.register import KINDS

pytest.importorskip("llvmlite")

for _file in sorted((Path(__file__).parent / "outside_kinds").glob("*.py")):
    import_module(f"tests.run.outside_kinds.{_file.stem}")

POINTS = {
    "a": np.array([0.5, 1.25, -2.0]),
    "b": np.array([1.5, 0.75, 3.0]),
    "q": np.array([2.0, -0.5]),  # another signature
}
# A letter is a call there, a digit a change.  Each runs on a fresh function.
SCRIPTS = (
    "a b 1 b a 0 a 1 2 b a",  # change, change back, two changes in a row
    "a 1 a 0 b b",  # a change before the second call
    "a q 1 q a 2 0 q 2 a q",  # changes while another signature is used
)
REFUSED = 20  # at most one kind in so many


def gradient_of(f):
    return cr.grad(lambda x: np.sum(f(x)))


def played(kind, script, prepare):
    """What each call of a script gives and has done, and the warnings on the way."""
    results = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with kind.state() as (f, change, log):
            f = prepare(f)
            for step in script.split():
                if step.isdigit():
                    change(int(step))
                else:
                    results.append((step, *outcome(f, POINTS[step].copy()), log()))
    return results, [str(w.message) for w in heard if w.category is RuntimeWarning]


def outcome(f, x):
    """How a call ends: the result as it is now, or the error."""
    try:
        return "returns", np.array(f(x))
    except Exception as error:  # noqa: BLE001 - any error of the user's function is a result
        return "raises", error


def same(ours, plain):
    if ours[0] != plain[0]:
        return False
    if ours[0] == "raises":
        return type(ours[1]) is type(plain[1])
    a, b = np.asarray(ours[1]), np.asarray(plain[1])
    alike = a.shape == b.shape and a.dtype == b.dtype
    return alike and np.allclose(a, b, rtol=1e-12, atol=0, equal_nan=True)


def verdict(kind, script, prepare=lambda f: f, compiled=cr.compile):
    """ "same", "plain" (with a warning) or "refused"; else what went wrong, and in which call."""
    expected, _ = played(kind, script, prepare)
    found, heard = played(kind, script, lambda f: compiled(prepare(f)))
    for n, (plain, ours) in enumerate(zip(expected, found, strict=True)):
        point, how, result, log = ours
        if how == "raises" and isinstance(result, ChainruleError):
            return "refused"
        if how == "raises" and plain[1] != "raises":
            return f"raw: call {n + 1} ({point}) of {script!r} raises {result!r}"
        if not kind.fresh and not same(ours[1:3], plain[1:3]):
            return f"stale: call {n + 1} ({point}) of {script!r}: {result!r}, not {plain[2]!r}"
        if log != plain[3]:
            return f"effects: after call {n + 1} ({point}) of {script!r}: {log!r}, not {plain[3]!r}"
    firsts = [(point, result[0]) for point, _, result, _ in found] if kind.fresh else []
    if len(set(firsts)) < len(firsts):
        return f"stale: {script!r} gives the same twice: {firsts}"
    if len(heard) > 1:
        return f"noisy: {script!r} warns {len(heard)} times: {heard}"
    return "plain" if heard else "same"


GOOD = ("same", "plain", "refused")
NO_STATE = {"effect_object_made_inside_is_none", "process_number"}  # nothing that could be stale


@pytest.mark.parametrize("name", KINDS)
def test_a_compiled_function_follows(name):
    for script in SCRIPTS:
        found = verdict(KINDS[name], script)
        assert found in GOOD, found


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.grad])
def test_a_compiled_gradient_follows(name):
    for script in SCRIPTS:
        found = verdict(KINDS[name], script, gradient_of)
        assert found in GOOD, found


def test_few_kinds_are_refused():
    refused = [name for name, k in KINDS.items() if verdict(k, SCRIPTS[1]) == "refused"]
    assert len(refused) * REFUSED <= len(KINDS), refused


def test_there_are_many_kinds():
    assert len(KINDS) >= 180
    assert sum(kind.grad for kind in KINDS.values()) >= 25


@pytest.mark.parametrize("name", KINDS)
def test_the_checker_lets_the_function_itself_pass(name):
    """A kind repeats itself: what differs is the fault of what is tested."""
    for script in SCRIPTS:
        assert verdict(KINDS[name], script, compiled=lambda f: f) in GOOD


def frozen(f):
    """What a compiled function must not be: it repeats what it first gave at a point."""
    first = {}

    def repeated(x):
        if x.tobytes() not in first:
            first[x.tobytes()] = np.array(f(x))
        return first[x.tobytes()]

    return repeated


@pytest.mark.parametrize("name", sorted(KINDS.keys() - NO_STATE))
def test_the_checker_finds_what_is_stale(name):
    """Every kind matters: a function that does not look outside fails it."""
    assert any(verdict(KINDS[name], s, compiled=frozen) not in GOOD for s in SCRIPTS)

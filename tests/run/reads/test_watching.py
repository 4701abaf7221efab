"""Effects happen exactly once per call, whatever handlers stand around them."""

from __future__ import annotations

import contextlib
import gc
import warnings

import numpy as np
import pytest

import chainrule as cr

pytest.importorskip("llvmlite")

X = np.array([0.5, -1.25, 2.0])
LOG: list[str] = []


def note(text):
    LOG.append(text)


class Manager:
    """Notes how it is entered and left; swallows everything if it is told to."""

    def __init__(self, swallows=False):
        self.swallows = swallows

    def __enter__(self):
        LOG.append("enter")

    def __exit__(self, *error):
        LOG.append(f"exit {error[0] and error[0].__name__}")
        return self.swallows


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@contextlib.contextmanager
def noting():
    LOG.append("begin")
    try:
        yield
    finally:
        LOG.append("end")


def bare(x):
    LOG.append("once")
    return x * 2


def finally_after(x):
    try:
        LOG.append("try")
        return x * 2
    finally:
        LOG.append("finally")


def effect_only_in_finally(x):
    try:
        y = np.sin(x)
    finally:
        LOG.append("finally")
    return y * 2


def bare_except(x):
    try:
        LOG.append("try")
    except:  # noqa: E722 - what the test is about
        LOG.append("handler")
    return x * 2


def except_base(x):
    try:
        LOG.append("try")
    except BaseException:
        LOG.append("handler")
        raise
    return x * 2


def except_base_among_others(x):
    try:
        LOG.append("try")
    except (ValueError, BaseException):  # noqa: BLE001
        LOG.append("handler")
    return x * 2


EVERYTHING = BaseException


def except_base_by_another_name(x):
    try:
        LOG.append("try")
    except EVERYTHING:
        LOG.append("handler")
    return x * 2


def except_exception(x):
    try:
        LOG.append("try")
    except Exception:  # noqa: BLE001
        LOG.append("handler")
    return x * 2


def nested(x):
    try:
        try:
            x = x + 1
            LOG.append("inner")
        except ValueError:
            LOG.append("no")
    finally:
        LOG.append("outer")
    return x * 2


def in_a_helper(x):
    def helper():
        note("helper")
        return 2

    try:
        y = x * helper()
    finally:
        note("finally")
    return y


def effect_in_a_handler(x):
    try:
        raise ValueError("mine")
    except ValueError:
        LOG.append("handler")
    return x * 2


def effect_in_else(x):
    try:
        y = x * 2
    except ValueError:
        LOG.append("no")
    else:
        LOG.append("else")
    return y


def with_a_manager(x):
    with Manager():
        return x * 2


def with_a_manager_that_swallows(x):
    with Manager(swallows=True):
        LOG.append("inside")
    return x * 2


def with_a_quiet_manager(x):
    with Quiet():
        LOG.append("inside")
    return x * 2


def with_a_context_manager(x):
    with noting():
        LOG.append("inside")
        return x * 2


def with_suppress(x):
    with contextlib.suppress(BaseException):
        LOG.append("inside")
    return x * 2


def with_an_exit_stack(x):
    with contextlib.ExitStack() as stack:
        stack.callback(LOG.append, "callback")
        LOG.append("inside")
    return x * 2


def in_a_generator(x):
    def numbers():
        try:
            yield 1
            LOG.append("between")
            yield 2
        finally:
            LOG.append("finally")

    return x * sum(numbers())


def in_a_comprehension(x):
    try:
        return sum([x * k for k in (1, 2) if LOG.append("k") is None])
    finally:
        LOG.append("finally")


def in_a_loop(x):
    for k in range(3):
        try:
            if k == 1:
                continue
            LOG.append(f"turn {k}")
        finally:
            LOG.append(f"end {k}")
    return x * 2


def in_except_star(x):
    try:
        LOG.append("try")
    except* ValueError:
        LOG.append("no")
    finally:
        LOG.append("finally")
    return x * 2


class Adds:
    """An effect inside a special method that C code calls."""

    def __lt__(self, other):
        LOG.append("compared")
        return True

    def __hash__(self):
        LOG.append("hashed")
        return 1


def in_a_key_of_sorted(x):
    return x * sorted([2.0, 1.0], key=lambda k: LOG.append("key") or k)[0]


def in_a_comparison_by_sorted(x):
    a, b = Adds(), Adds()
    first = sorted([a, b])[0]
    return x * (2.0 if first is b else 3.0)


def in_a_hash(x):
    return x * len({Adds(): 1})


def in_a_map(x):
    return x * len(list(map(note, "ab")))


def in_a_property(x):
    class Owner:
        @property
        def k(self):
            LOG.append("read")
            return 2.0

    return x * Owner().k


def in_the_body_of_a_class(x):
    class Owner:
        LOG.append("body")
        k = 2.0

    return x * Owner.k


FUNCTIONS = [
    bare, finally_after, effect_only_in_finally, bare_except, except_base, except_base_among_others,
    except_base_by_another_name, except_exception, nested, in_a_helper, effect_in_a_handler,
    effect_in_else, with_a_manager, with_a_manager_that_swallows, with_a_quiet_manager,
    with_a_context_manager, with_suppress, with_an_exit_stack, in_a_generator, in_a_comprehension,
    in_a_loop, in_except_star, in_a_key_of_sorted, in_a_comparison_by_sorted, in_a_hash, in_a_map,
    in_a_property, in_the_body_of_a_class,
]  # fmt: skip


@pytest.fixture(autouse=True)
def empty():
    LOG.clear()


def logged(f, *args):
    """What a call returns, and the effects that it had."""
    LOG.clear()
    result = f(*args)
    return result, list(LOG)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_effects_once_per_call(f):
    expected = logged(f, X)
    assert expected[1]
    fast = cr.compile(f)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for call in range(6):
            found = logged(fast, X)
            assert found[1] == expected[1], call
            np.testing.assert_array_equal(found[0], expected[0])
    (text,) = [str(w.message) for w in warned]
    assert text.startswith(f"{f.__name__} runs as plain Python: it ")
    assert "test_watching.py:" in text


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.* runs as plain Python:RuntimeWarning")
def test_effects_once_per_call_under_a_gradient(f):
    gradient = cr.grad(lambda x: np.sum(f(x) ** 2))
    expected = logged(gradient, X)
    fast = cr.compile(gradient)
    for call in range(6):
        found = logged(fast, X)
        assert found[1] == expected[1], call
        np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("verify", ["sometimes", "always"])
def test_a_function_without_effects_keeps_its_handlers(verify):
    def f(x):
        try:
            with Quiet():
                return np.sqrt(x) if np.sum(x) > 0 else {}["missing"]
        except KeyError:
            return x * 3
        finally:
            x = None

    fast = cr.compile(f, verify=verify)
    for x in (X + 2, -X, X + 3, -2 * X):
        np.testing.assert_allclose(fast(x), f(x), rtol=1e-15)
    assert fast.recordings == 2
    assert not fast.interpreted


def test_an_error_after_an_effect_is_the_functions_own():
    def f(x):
        try:
            LOG.append("try")
            raise KeyError("mine")
        finally:
            LOG.append("finally")

    fast = cr.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            LOG.clear()
            with pytest.raises(KeyError, match="mine"):
                fast(X)
            assert LOG == ["try", "finally"]


def test_a_result_after_an_effect_is_made_of_arrays():
    """Also where the call went on while it was recorded."""

    def f(x):
        try:
            LOG.append("try")
            return {"a": np.sin(x), "b": [x, 2]}
        finally:
            LOG.append("finally")

    fast = cr.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            found = fast(X)
            assert type(found["a"]) is type(found["b"][0]) is np.ndarray
            assert type(found["b"][1]) is int


def test_what_is_kept_outside_by_an_effect_is_no_variable():
    """A Variable that escapes would be a value of another kind than plain Python's."""
    kept = []

    def f(x):
        try:
            kept.append(x * 2)
        finally:
            note("finally")
        return x * 3

    fast = cr.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            fast(X)
    assert [type(k) for k in kept] == [np.ndarray] * 5


@pytest.mark.filterwarnings("ignore:.* runs as plain Python:RuntimeWarning")
@pytest.mark.parametrize("another", [False, True], ids=["alone", "before another effect"])
def test_an_object_that_has_an_effect_when_it_is_deleted(another):
    deleted, log = [], []

    class Deleted:
        def __del__(self):
            deleted.append(1)

    def f(x):
        held = Deleted()
        if another:
            log.append(1)
        del held
        return x * 2

    fast = cr.compile(f)
    for call in range(1, 6):
        np.testing.assert_array_equal(fast(X), X * 2)
        gc.collect()
        assert len(deleted) == call

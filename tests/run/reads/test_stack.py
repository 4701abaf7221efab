"""Depths computed from the code are those of the running interpreter; the operands are there."""

from __future__ import annotations

import ctypes
import dis
import gc
import sys
import types

import numpy as np
import pytest

from chainrule.run.reads.hook import hooked
from chainrule.run.reads.stack import (
    INNER,
    MISSING,
    SLOTS,
    function_id,
    instructions_of,
    is_readable,
    peek,
    slot_names,
    slots_of,
)

HERE = "tests.run.reads.written"  # the module that the programs below say they are


class Manager:
    """A context manager that swallows what it is told to."""

    def __init__(self, swallows=()):
        self.swallows = swallows

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return kind is not None and issubclass(kind, self.swallows)

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, traceback):
        return self.__exit__(kind, value, traceback)


class Point:
    __match_args__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


def driven(coroutine):
    """What a coroutine returns that waits for nothing."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


PROGRAMS = {
    "arithmetic": "def f(x): return (x + 1) * -x // 2 - [x, x][0] + (not x) + (x < 3 < 5)",
    "calls": """
def g(a, b=1, *c, d=2, **e): return a + b + sum(c) + d + sum(e.values())
def f(x): return g(x) + g(x, b=2) + g(*[x, 1, 2], **{"d": 3, "z": 4}) + g(x, *(1,), d=5, y=2)
""",
    "methods": """
def f(x):
    text = " a b ".strip().split(" ", maxsplit=1)
    return [t.upper() for t in text], "{}-{}".format(x, *text), str.join(",", text)
""",
    "f-strings": "def f(x): return f'{x!r:>10} {x + 1:{x}.{x}f} {[y for y in range(x)]}' + f'{x=}'",
    "comprehensions": """
def f(x):
    return (
        [a * b for a in range(x) if a for b in range(a)],
        {a: [c for c in range(a)] for a in range(x)},
        {a % 2 for a in range(x)},
        sum(a for a in range(x) if a > 1),
    )
""",
    "unpacking": """
def f(x):
    a, (b, *c), d = 1, (2, 3, 4), x
    [a, b], e = (b, a), {**{"k": 1}, "l": 2, **{"m": 3}}
    return [*c, a, b, *range(x)], (*c, d), {*c, a}, e
""",
    "loops": """
def f(x):
    total = 0
    for k in range(10):
        if k == x: continue
        for l in range(k):
            if l > x: break
            total += l
        else:
            total -= 1
        while total > 50:
            total -= 7
    return total and x or -1, total if x else 0
""",
    "try": """
def f(x):
    found = []
    for k in (0, 1, 2, 3):
        try:
            try:
                found.append(10 // k)
                if k == 1: raise KeyError(k)
                if k == 2: continue
            except ZeroDivisionError as error:
                found.append(str(error))
            except (ValueError, KeyError):
                found.append("key")
                raise LookupError from None
            else:
                found.append("else")
            finally:
                found.append("end")
        except LookupError:
            pass
    try:
        return found, [1, x]
    finally:
        found.append("last")
""",
    "except group": """
def f(x):
    found = []
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2), TypeError(3)])
    except* ValueError as group:
        found.append(len(group.exceptions))
    except* (KeyError, TypeError):
        found.append(x)
    return found
""",
    "with": """
def f(x):
    with Manager() as a, Manager(ZeroDivisionError) as b:
        x = x + (a is b)
        1 // 0
    with Manager(ValueError):
        for k in range(3):
            with Manager():
                if k == 1: break
        return x * 2
""",
    "match": """
def f(x):
    found = []
    for subject in (1, "a", [1, 2, 3], {"k": 1, "l": 2}, Point(1, 2), Point(5, 6), None, (1, (2,))):
        match subject:
            case 1 | 2: found.append("number")
            case str(s): found.append(s)
            case [first, *others]: found.append((first, others))
            case {"k": k, **others}: found.append((k, others))
            case Point(1, b=y) if y: found.append(y)
            case Point(): found.append("point")
            case _: found.append(None)
    return found
""",
    "generators": """
def inner(n):
    got = yield n
    try:
        got = yield got
    finally:
        yield from range(2)
    return "end"
def outer(n):
    end = yield from inner(n)
    yield [end, (yield 5)]
def f(x):
    made = outer(x)
    found = [next(made), made.send(7)] + [*made]
    other = outer(x); next(other); next(other)
    try:
        other.throw(ValueError("thrown"))
    except RuntimeError: pass
    found.append(list(other) if x > 100 else other.close())
    return found
""",
    "async": """
async def one(n): return n + 1
async def numbers(n):
    for k in range(n):
        yield await one(k)
async def f_async(x):
    total = [await one(x) + await one(1)]
    async with Manager() as m, Manager(ValueError):
        total.append(m is not None)
        raise ValueError
    async for k in numbers(3):
        total.append(k)
    else:
        total.append("else")
    return total + [k async for k in numbers(2) if k] + [await one(k) for k in range(2)]
def f(x): return driven(f_async(x))
""",
    "classes": """
def f(x):
    k = 3
    class Base:
        value: int = x
        def twice(self): return self.value * 2 + k
        def __init_subclass__(cls, /, flag=None): cls.flag = flag
    class Child(Base, flag=k):
        @property
        def name(self): return __class__.__name__
        def twice(self): return super().twice() + super(Child, self).twice()
        @staticmethod
        def made(*, k=k): return k
    return Child().twice(), Child().name, Child.made(k=4), Child.flag
""",
    "closures": """
def f(x):
    n = 0
    def g(a=x, *, b: int = 2):
        nonlocal n
        n += 1
        return lambda: [n + a + b + k for k in range(2)]
    h = g(b=3)
    del x
    return g()(), h(), n
""",
    "items": """
def f(x):
    held = {"a": [1, 2, 3], "b": Point(1, 2)}
    held["a"][0] += 1
    held["a"][1:] = [x, x]
    held["b"].a -= x
    del held["a"][0], held["b"].b
    assert x > 0, f"no {x}"
    return held["a"][::-1], held["a"][:1], held["b"].a, x in held, x is None, 0 < x <= 3
""",
    "imports": """
def f(x):
    import os.path as p, math
    from math import pi, e
    return p.sep, pi + e, math.tau
""",
    "globals": "n = 1\ndef f(x):\n    global n\n    n = n + x\n    return len(str(n)), n",
    "raises": """
def g(x):
    for k in range(3):
        with Manager():
            [a for a in (1, 2) if 1 // (k - 1)]
def f(x):
    try:
        g(x)
    except ZeroDivisionError as error:
        return error.args
""",
}  # fmt: skip


def written(text, extra=()):
    scope = {
        "__name__": HERE, "Manager": Manager, "Point": Point, "driven": driven, **dict(extra)
    }  # fmt: skip
    exec(compile(text, HERE, "exec"), scope)  # noqa: S102
    return scope["f"]


class Steps:
    """Told of every instruction of the programs: `each` is called before it."""

    sealed = frozenset()

    def __init__(self, each):
        self.each, self.seen = each, set()

    def cannot_watch(self):
        """Another thread is being watched."""

    def watches(self, frame):
        return frame.f_code.co_filename == HERE

    def enter(self, frame, slots):
        pass

    def table(self, code):
        def handler(instruction):
            def before(frame, slots):
                self.seen.add(instruction.name)
                self.each(frame, slots, instruction)

            return before

        return {offset: handler(i) for offset, i in instructions_of(code).items()}


def stack_pointer(frame):
    """How many slots CPython itself says are in use; 3.11 says so before every instruction."""
    inner = ctypes.c_void_p.from_address(id(frame) + INNER).value
    return ctypes.c_int.from_address(inner + SLOTS - 8).value


def same_repr(a, b):
    assert repr(a) == repr(b)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="kept in a register from 3.12 on")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_depth_is_the_interpreters_own(name):
    wrong = []

    def each(frame, slots, i):
        if i.top + 1 != stack_pointer(frame):
            wrong.append((frame.f_code.co_name, frame.f_lasti, i, stack_pointer(frame)))

    steps = Steps(each)
    found = hooked(steps, lambda: written(PROGRAMS[name])(3))
    assert wrong == []
    assert len(steps.seen) > 4
    same_repr(found, written(PROGRAMS[name])(3))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_loaded_lies_on_top(name):
    """In every version: the instruction after a load finds its value where the depth says."""
    loaded, wrong, checked = {}, [], 0

    def each(frame, slots, i):
        nonlocal checked
        if id(frame) in loaded:
            checked += 1
            found, expected = peek(slots, i.top), loaded.pop(id(frame))
            # Equal code objects share their instructions: a constant is equal, not the same.
            if type(found) is not type(expected) or found != expected:
                wrong.append((frame.f_code.co_name, frame.f_lasti, i))
        if i.name == "LOAD_CONST":
            loaded[id(frame)] = i.argument
        elif i.name == "LOAD_FAST":
            loaded[id(frame)] = peek(slots, slot_names(frame.f_code).index(i.argument))

    hooked(Steps(each), lambda: written(PROGRAMS[name])(3))
    assert wrong == []
    assert checked > 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_instruction_that_runs_is_known_and_changes_nothing_when_looked_at(name):
    """What lies on top of the stack is an object; reading every slot leaves its count as it was."""
    unknown = []

    class Looking(Steps):
        def table(self, code):
            known, every = super().table(code), {}

            def missing(frame, slots):
                unknown.append((code.co_name, frame.f_lasti))

            for i in dis.get_instructions(code):
                every[i.offset] = known.get(i.offset, missing)
            return every

    def each(frame, slots, i):
        first = len(slot_names(frame.f_code))
        held = [peek(slots, n) for n in range(first, i.top + 1)]
        assert all(isinstance(type(v), type) for v in held)

    steps = Looking(each)
    found = hooked(steps, lambda: written(PROGRAMS[name])(3))
    assert unknown == []
    same_repr(found, written(PROGRAMS[name])(3))


def operands_seen(text, *names, argument=3):
    """What lies on the stack before each instruction of these names."""
    seen = []

    def each(frame, slots, i):
        if i.name in names:
            first = len(slot_names(frame.f_code))
            seen.append([peek(slots, n) for n in range(first, i.top + 1)])

    hooked(Steps(each), lambda: written(text)(argument))
    return seen


def test_operands_of_an_operator():
    (operands,) = operands_seen("def f(x): return 'left' + (lambda: 'right')()", "BINARY_OP")
    assert operands == ["left", "right"]


def test_operands_below_a_loop_and_a_with():
    text = """
def f(x):
    with Manager():
        for k in [10, 20]:
            if k == 20: return k * x
"""
    (operands,) = operands_seen(text, "BINARY_OP", argument=2.5)
    assert operands[-2:] == [20, 2.5]
    assert isinstance(operands[0], types.MethodType)  # the manager's __exit__


def test_operands_of_a_resumed_generator():
    text = """
def g():
    y = yield 1
    yield y * "z"
def f(x):
    made = g()
    next(made)
    return made.send(x)
"""
    assert operands_seen(text, "BINARY_OP") == [[3, "z"]]


def test_operands_in_a_handler():
    text = """
def f(x):
    try:
        raise ValueError("a")
    except ValueError as error:
        return error.args[0] + "b"
"""
    (operands,) = operands_seen(text, "BINARY_OP")
    assert operands[-2:] == ["a", "b"]


def test_an_empty_slot_is_missing():
    def f(a):
        later = None
        del later
        return peek(slots_of(sys._getframe()), 1)

    assert f(1) is MISSING


def test_the_names_of_slots():
    def outer(argument, cell_argument):
        local = own = 2

        def inner():
            return argument_of_outer, own, cell_argument

        assert local == own

        slots = slots_of(sys._getframe())
        for n, name in enumerate(slot_names(sys._getframe().f_code)):
            held = peek(slots, n)
            held = held.cell_contents if isinstance(held, types.CellType) else held
            if name in ("argument", "cell_argument", "local", "own", "argument_of_outer"):
                assert held == sys._getframe().f_locals[name], name
        return inner

    argument_of_outer = "from outside"
    outer("a", "c")


def test_counts_of_references_stay():
    value = np.ones(3)
    before = sys.getrefcount(value)

    def each(frame, slots, i):
        for n in range(i.top + 1):
            peek(slots, n)

    f = written("def f(x):\n    y = [x, x]\n    return [a * 2 for a in y]")
    for _ in range(50):
        hooked(Steps(each), lambda: f(value))
    gc.collect()
    assert sys.getrefcount(value) == before


def test_this_interpreter_can_be_read():
    """If not, nothing is compiled: then this fails, and the layout is to be described."""
    assert is_readable()


@pytest.mark.parametrize(
    "code", [f.__code__ for f in (written, driven, operands_seen, Point.__init__)]
)
def test_no_depth_is_negative_or_beyond_the_stack(code):
    first = len(slot_names(code))
    for i in instructions_of(code).values():
        assert -1 <= i.top - first < code.co_stacksize


def test_depths_of_the_whole_standard_library_that_is_loaded():
    """Every function that this process knows: depths lie within the code's own bound."""
    seen = 0
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in sys.stdlib_module_names:
            continue
        for value in list(vars(module).values()) if isinstance(module, types.ModuleType) else ():
            if isinstance(value, types.FunctionType):
                first = len(slot_names(value.__code__))
                for i in instructions_of(value.__code__).values():
                    assert -1 <= i.top - first < value.__code__.co_stacksize, (value, i)
                seen += 1
    assert seen > 500


def test_the_function_that_a_frame_is_a_call_of():
    class Base:
        def __init__(self):
            self.id = function_id(sys._getframe())

    def generator():
        yield function_id(sys._getframe())

    assert Base().id == id(Base.__init__)
    assert list(generator()) == [id(generator)]
    assert (lambda: function_id(sys._getframe()))() != id(generator)

"""Effects: what a call does to the world happens in each call, once, with the same values."""

import collections
import io
import logging
import os
import queue
import tempfile
from contextlib import redirect_stdout

import numpy as np

from tests.run.outside_kinds.register import V, kind

COUNT = 0


def still(n):
    """Nothing outside is changed but by the function itself."""


def number(x):
    """The first number of an array or a Variable, as code that logs a loss takes it."""
    return float(getattr(x, "value", x)[0])


@kind(grad=True)
def effect_append():
    log = []

    def f(x):
        log.append(1.0)
        return x * 2

    return f, still, log.copy


@kind
def effect_append_in_a_helper():
    log = []

    def note(text):
        log.append(text)

    def f(x):
        note("called")
        return x * 2

    return f, still, log.copy


@kind
def effect_append_of_the_shape():
    log = []

    def f(x):
        log.append(x.shape)
        return x * 2

    return f, still, log.copy


@kind
def effect_append_of_a_value():
    log = []

    def f(x):
        log.append(number(x))
        return x * 2

    return f, still, log.copy


@kind
def effect_extend_by_an_operator():
    log = []

    def f(x):
        nonlocal log
        log += [1.0]
        return x * len(log)

    return f, still, lambda: list(log)


@kind(grad=True)
def effect_attribute_counter():
    class Model:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * 2

    model = Model()
    return lambda x: model(x), still, lambda: model.calls


@kind
def effect_attribute_counter_is_read():
    class Model:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * self.calls

    model = Model()
    return model, still, lambda: model.calls


@kind
def effect_global_counter():
    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return f, lambda n: globals().update(COUNT=n), lambda: COUNT


@kind
def effect_nonlocal_counter():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * 2

    return f, still, lambda: count


@kind(grad=True)
def effect_dict_counter():
    counts = {"calls": 0}

    def f(x):
        counts["calls"] += 1
        return x * 2

    return f, still, counts.copy


@kind
def effect_default_dict():
    counts = collections.defaultdict(int)

    def f(x):
        counts[len(x)] += 1
        return x * 2

    return f, still, lambda: dict(counts)


@kind
def effect_reading_a_default_dict():
    counts = collections.defaultdict(float)
    return lambda x: x + counts["new"], lambda n: counts.pop("new", None), lambda: dict(counts)


@kind
def effect_counter_object():
    counts = collections.Counter()

    def f(x):
        counts.update(["calls"])
        return x * 2

    return f, still, lambda: dict(counts)


@kind
def effect_setdefault():
    cache = {}
    return lambda x: x * cache.setdefault("a", 2.0), lambda n: cache.clear(), cache.copy


@kind
def effect_cache_is_filled():
    cache = {}

    def f(x):
        if "a" not in cache:
            cache["a"] = 3.0
        return x * cache["a"]

    return f, lambda n: cache.clear(), cache.copy


@kind
def effect_mutable_default():
    def f(x, log=[]):  # noqa: B006 - this is the kind
        log.append(1)
        return x * len(log)

    return f, still, lambda: list(f.__defaults__[0])


@kind
def effect_function_attribute():
    def f(x):
        f.calls += 1
        return x * 2

    f.calls = 0
    return f, still, lambda: f.calls


@kind
def effect_setattr():
    class Model: ...

    model = Model()

    def f(x):
        setattr(model, f"size{len(x)}", getattr(model, f"size{len(x)}", 0) + 1)
        return x * 2

    return f, still, lambda: dict(vars(model))


@kind
def effect_class_attribute():
    class Model:
        calls = 0

    def f(x):
        Model.calls += 1
        return x * 2

    return f, still, lambda: Model.calls


@kind
def effect_pop():
    state = [float(k) for k in range(60)]
    return lambda x: x * state.pop(), still, state.copy


@kind
def effect_popleft():
    state = collections.deque(float(k) for k in range(60))
    return lambda x: x * state.popleft(), still, lambda: list(state)


@kind
def effect_deque_append():
    state = collections.deque(maxlen=3)

    def f(x):
        state.append(len(x))
        return x * len(state)

    return f, still, lambda: list(state)


@kind
def effect_set_add():
    seen = set()

    def f(x):
        seen.add(len(x))
        return x * len(seen)

    return f, lambda n: seen.clear(), lambda: sorted(seen)


@kind
def effect_delete():
    state = {k: 1.0 for k in range(60)}

    def f(x):
        del state[len(state) - 1]
        return x * len(state)

    return f, still, state.copy


@kind
def effect_sort():
    state = [3.0, 1.0, 2.0]

    def f(x):
        state.sort()
        return x * state[0]

    return f, lambda n: state.insert(0, V[n]), state.copy


@kind
def effect_array_counter():
    counts = np.zeros(2)

    def f(x):
        counts[0] += 1
        return x * 2

    return f, still, lambda: counts.tolist()


@kind
def effect_running_mean():
    mean = np.zeros(1)

    def f(x):
        mean[:] = 0.9 * mean + 0.1 * number(x)
        return x * 2 + mean

    return f, still, lambda: mean.round(9).tolist()


@kind
def effect_array_out():
    table = np.ones(1)

    def f(x):
        np.add(table, 1.0, out=table)
        return x * table

    return f, lambda n: table.fill(V[n]), lambda: table.tolist()


@kind
def effect_array_in_place_operator():
    table = np.ones(1)

    def f(x):
        nonlocal table
        table += 1.0
        return x * table

    return f, still, lambda: table.tolist()


@kind
def effect_array_method():
    table = np.ones(3)

    def f(x):
        table.fill(len(x))
        return x * table[0]

    return f, lambda n: table.fill(V[n]), lambda: table.tolist()


@kind
def effect_object_made_inside_is_none():
    """What is made inside may be changed: no effect."""

    def f(x):
        log = []
        for k in range(3):
            log.append(k)  # noqa: PERF402 - a loop that appends
        counts = {"a": 0}
        counts["a"] += len(log)
        return x * counts["a"]

    return f, still, lambda: None


@kind(grad=True)
def effect_print():
    out = io.StringIO()

    def f(x):
        print("called", file=out)
        return x * 2

    return f, still, out.getvalue


@kind
def effect_print_to_stdout():
    out = io.StringIO()

    def f(x):
        print("shape", x.shape)
        return x * 2

    with redirect_stdout(out):
        yield f, still, out.getvalue


@kind
def effect_logging():
    out = io.StringIO()
    log = logging.getLogger("chainrule.test.effect")
    handler = logging.StreamHandler(out)
    log.addHandler(handler)

    def f(x):
        log.warning("called with %s", len(x))
        return x * 2

    yield f, still, out.getvalue
    log.removeHandler(handler)


@kind
def effect_file_write():
    with tempfile.TemporaryFile("w+") as file:

        def f(x):
            file.write("a")
            return x * 2

        yield f, still, file.tell


@kind
def effect_file_append_by_name():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log")

        def f(x):
            with open(path, "a") as file:
                file.write("line\n")
            return x * 2

        yield f, still, lambda: os.path.exists(path) and os.path.getsize(path)


@kind
def effect_generator_send():
    log = []

    def sink():
        while True:
            log.append((yield))

    state = sink()
    next(state)

    def f(x):
        state.send(len(x))
        return x * 2

    return f, still, log.copy


@kind
def effect_queue_put():
    state = queue.Queue()

    def f(x):
        state.put(len(x))
        return x * 2

    return f, still, lambda: list(state.queue)


@kind
def effect_environment():
    name = "CHAINRULE_TEST_EFFECT"

    def f(x):
        os.environ[name] = os.environ.get(name, "") + "a"
        return x * 2

    yield f, lambda n: os.environ.pop(name, None), lambda: os.environ.get(name)
    os.environ.pop(name, None)


@kind
def effect_after_a_branch_on_a_value():
    log = []

    def f(x):
        if number(x) > 1:
            log.append("large")
        return x * 2

    return f, still, log.copy


@kind
def effect_late_in_the_function():
    log = []

    def f(x):
        y = np.sin(x)
        for k in range(3):
            y = y * (k + 1)
        log.append("done")
        return y

    return f, still, log.copy


@kind
def effect_before_an_exception():
    log = []

    def f(x):
        log.append("called")
        if len(x) == 2:
            raise ValueError("two")
        return x

    return f, still, log.copy


@kind
def effect_in_a_property():
    class Model:
        reads = 0

        @property
        def alpha(self):
            self.reads += 1
            return 2.0

    model = Model()
    return lambda x: x * model.alpha, still, lambda: model.reads


@kind
def effect_in_a_context_manager():
    log = []

    class Scope:
        def __enter__(self):
            log.append("in")

        def __exit__(self, *error):
            log.append("out")

    def f(x):
        with Scope():
            return x * 2

    return f, still, log.copy


@kind
def effect_in_a_decorator():
    log = []

    def counted(g):
        def wrapper(x):
            log.append(g.__name__)
            return g(x)

        return wrapper

    @counted
    def f(x):
        return x * 2

    return f, still, log.copy


@kind
def effect_in_a_comprehension():
    log = []

    def f(x):
        return x * len([log.append(k) for k in range(2)])

    return f, still, log.copy


@kind
def effect_through_map():
    log = []

    def f(x):
        list(map(log.append, (1, 2)))
        return x * 2

    return f, still, log.copy


@kind
def effect_through_a_bound_method():
    log = []
    note = log.append

    def f(x):
        note(len(x))
        return x * 2

    return f, still, log.copy


@kind
def effect_in_a_dunder():
    log = []

    class Thing:
        def __len__(self):
            log.append("len")
            return 2

    thing = Thing()
    return lambda x: x * len(thing), still, log.copy

"""Effects on arrays, streams and files, and effects in places that are easily missed."""

import io
import logging
import os
import queue
import tempfile
from contextlib import redirect_stdout

import numpy as np

from tests.run.outside_kinds.effects import number, still
from tests.run.outside_kinds.register import V, kind


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
        table[1:].fill(len(x))
        return x * table[0]

    return f, lambda n: table.fill(V[n]), lambda: table.tolist()


@kind
def effect_object_made_inside_is_none():
    """What is made inside may be changed: no effect."""

    def f(x):
        log = []
        for k in range(3):
            log.append(k)
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

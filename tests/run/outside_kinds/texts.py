"""Texts made of outside objects, and iterators that are consumed."""

import string

import numpy as np

from tests.run.outside_kinds.protocols import State, thing
from tests.run.outside_kinds.register import V, kind


@kind
def format_dunder():
    obj, state = thing(format=lambda s, spec: "a" * int(s.value))
    return lambda x: x * len(f"{obj}"), state.put


@kind
def str_and_repr_dunders():
    obj, state = thing(str=lambda s: str(s.value), repr=lambda s: "r" * int(s.value))
    return lambda x: x * float(str(obj)) + len(repr(obj)), state.put


@kind
def f_string_of_a_number():
    state = State()
    return lambda x: x * float(f"{state.value:.1f}"), state.put


@kind
def f_string_of_a_list():
    state = [0.0]
    return lambda x: x * len(f"{state}"), lambda n: state.append(V[n])


@kind
def f_string_of_an_array():
    table = np.zeros(3)
    return lambda x: x * len(f"{table}"), lambda n: table.fill(10.0**n + 0.5)


@kind
def str_format_with_attributes():
    state = State()
    return lambda x: x * float("{.value}".format(state)), state.put  # noqa: UP032 - the kind


@kind
def str_format_with_items():
    state = [0.0]
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * float("{s[0]}".format(s=state)), change  # noqa: UP032 - the kind


@kind
def percent_format():
    state = State()
    return lambda x: x * float("%.2f" % state.value), state.put  # noqa: UP031 - the kind


@kind
def percent_format_with_a_dict():
    state = {}
    change = lambda n: state.update(alpha=V[n])
    return lambda x: x * float("%(alpha)s" % state), change  # noqa: UP031 - the kind


@kind
def string_template():
    state, template = {}, string.Template("$alpha")
    change = lambda n: state.update(alpha=V[n])
    return lambda x: x * float(template.substitute(state)), change


@kind
def str_join_and_split():
    state = ["1"]
    change = lambda n: state.append(str(n))
    return lambda x: x * float("".join(state)), change


@kind
def string_is_replaced():
    state = State()
    change = lambda n: setattr(state, "value", ("relu", "tanh", "sin")[n])

    def f(x):
        if state.value == "relu":
            return np.maximum(x, 0)
        return np.tanh(x) if state.value.startswith("t") else np.sin(x)

    return f, change


@kind
def iterator_is_consumed():
    state = iter(())

    def change(n):
        nonlocal state
        state = iter([V[n] + k for k in range(20)])

    return lambda x: x * next(state), change


@kind(grad=True)
def generator_is_consumed():
    def count():
        k = 0.0
        while True:
            k += 1
            yield k

    state = count()
    return lambda x: x * next(state), lambda n: next(state)


@kind
def iterator_with_a_default():
    state = iter([1.0, 2.0, 3.0])
    return lambda x: x * next(state, 7.0), lambda n: None


@kind
def iterator_in_a_loop():
    state = iter([1.0, 2.0, 3.0])

    def f(x):
        for a in state:
            x = x * (a + 1)
        return x

    return f, lambda n: None


@kind
def iterator_is_summed():
    state = iter(range(100))
    return lambda x: x * sum(a for a, _ in zip(state, (1, 2), strict=False)), lambda n: None


@kind
def itertools_count():
    from itertools import count

    state = count(1)
    return lambda x: x * next(state), lambda n: None


@kind
def itertools_cycle():
    from itertools import cycle

    state = cycle(V)
    return lambda x: x * next(state), lambda n: None


@kind
def file_like_iterator():
    from io import StringIO

    state = StringIO("\n".join(map(str, range(1, 60))))
    return lambda x: x * float(state.readline()), lambda n: None


@kind
def next_dunder():
    class Thing:
        value = 0.0

        def __iter__(self):
            return self

        def __next__(self):
            self.value += 1
            return self.value

    obj = Thing()
    return lambda x: x * next(obj), lambda n: None


@kind
def attribute_changes_as_it_is_read():
    class Thing:
        reads = 0

        @property
        def alpha(self):
            self.reads += 1
            return self.reads

    obj = Thing()
    return lambda x: x * obj.alpha, lambda n: None

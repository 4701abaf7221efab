"""Functions that are handed outside things: operator, itertools, map, sorted, match."""

import functools
import itertools
import math
import operator

import numpy as np

from tests.run.outside_kinds.calls import Box, fresh
from tests.run.outside_kinds.register import V, kind


@kind
def reduce_over_a_list():
    state = [1.0, 0.0]
    change = lambda n: state.__setitem__(1, V[n])
    return lambda x: functools.reduce(operator.add, state, x), change


@kind
def attrgetter():
    state = Box(Box())
    get = operator.attrgetter("value.value")
    return lambda x: x * get(state), lambda n: setattr(state.value, "value", V[n])


@kind
def attrgetter_made_inside():
    state = Box()
    change = lambda n: setattr(state, "value", V[n])
    return lambda x: x * operator.attrgetter("value")(state), change


@kind
def itemgetter():
    state, get = {}, operator.itemgetter("alpha")
    return lambda x: x * get(state), lambda n: state.update(alpha=V[n])


@kind
def itemgetter_of_a_list():
    state, get = [1.0, 0.0], operator.itemgetter(0, 1)
    return lambda x: x * sum(get(state)), lambda n: state.__setitem__(1, V[n])


@kind
def methodcaller():
    obj = fresh(read=lambda self: self.alpha)()
    call = operator.methodcaller("read")
    return lambda x: x * call(obj), lambda n: setattr(obj, "alpha", V[n])


@kind
def methodcaller_on_a_dict():
    state, call = {}, operator.methodcaller("get", "alpha")
    return lambda x: x * call(state), lambda n: state.update(alpha=V[n])


@kind
def operator_functions():
    state = [1.0, 0.0]
    change = lambda n: state.__setitem__(1, V[n])
    return lambda x: operator.mul(x, operator.getitem(state, 1)), change


@kind
def operator_contains():
    state = [1.0, 0.0]
    change = lambda n: state.__setitem__(1, V[n])
    return lambda x: x * 2 if operator.contains(state, 3.0) else x, change


@kind
def map_over_a_list():
    state = [0.0]
    return lambda x: x * sum(map(math.sqrt, state)), lambda n: state.__setitem__(0, V[n])


@kind
def map_with_a_function_outside():
    state = Box()
    read = lambda a: a * state.value
    return lambda x: x * sum(map(read, (1, 2))), lambda n: setattr(state, "value", V[n])


@kind
def filter_over_a_list():
    state = [0.0, 1.0]
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(filter(lambda a: a < 4, state)), change


@kind
def zip_over_lists():
    one, two = [1.0, 2.0], [0.0, 1.0]

    def f(x):
        for a, b in zip(one, two, strict=True):
            x = x * a + b
        return x

    return f, lambda n: two.__setitem__(0, V[n])


@kind
def itertools_over_a_list():
    state = [1.0, 0.0]
    change = lambda n: state.__setitem__(1, V[n])
    return lambda x: x * sum(a * b for a, b in itertools.product(state, repeat=2)), change


@kind
def accumulate_over_a_list():
    state = [1.0, 0.0]
    change = lambda n: state.__setitem__(1, V[n])
    return lambda x: x * list(itertools.accumulate(state))[-1], change


@kind
def max_with_a_key():
    state = {"a": 0.0, "b": 2.5}
    change = lambda n: state.update(a=V[n])
    return lambda x: x * 2 if max(state, key=state.get) == "a" else x, change


@kind
def sorted_with_a_key():
    boxes = [Box(0.0), Box(2.5)]
    boxes[0].weight, boxes[1].weight = 1.0, 7.0
    change = lambda n: setattr(boxes[0], "value", V[n])
    return lambda x: x * sorted(boxes, key=lambda b: b.value)[0].weight, change


@kind
def any_and_all():
    state = [False, False]

    def change(n):
        state[:] = (n > 0, n > 1)

    return lambda x: x * (1 + any(state)) + all(state), change


@kind
def math_function_of_outside():
    state = Box()
    change = lambda n: setattr(state, "value", V[n])
    return lambda x: x * math.gamma(state.value), change


@kind
def function_in_a_dict():
    state = {}
    change = lambda n: state.update(act=(np.sin, np.tanh, np.exp)[n])
    return lambda x: state["act"](x), change


@kind
def function_as_an_attribute():
    state = Box()
    change = lambda n: setattr(state, "value", (np.sin, np.tanh, np.exp)[n])
    return lambda x: state.value(x), change


@kind
def recursion_to_an_outside_depth():
    state = Box()

    def power(x, k):
        return x if k == 0 else x * power(x, k - 1)

    return lambda x: power(x, state.value), lambda n: setattr(state, "value", n + 1)


@kind
def generator_function_reads_outside():
    state = [0.0, 1.0]

    def parts():
        yield from state

    return lambda x: x * sum(parts()), lambda n: state.__setitem__(0, V[n])


@kind
def context_manager_reads_outside():
    state = Box()

    class Scale:
        def __enter__(self):
            return state.value

        def __exit__(self, *error):
            return None

    def f(x):
        with Scale() as alpha:
            return x * alpha

    return f, lambda n: setattr(state, "value", V[n])


@kind
def exception_with_a_value():
    state = Box()

    def f(x):
        try:
            raise ValueError(state.value)
        except ValueError as error:
            return x * error.args[0]

    return f, lambda n: setattr(state, "value", V[n])


@kind
def match_statement():
    state = Box()

    def f(x):
        match state.value:
            case {"alpha": float(alpha)}:
                return x * alpha
            case [a, b]:
                return x * a + b
            case _:
                return x

    return f, lambda n: setattr(state, "value", ({"alpha": 4.0}, [2.0, 3.0], None)[n])


@kind
def match_of_a_class():
    state = Box(Box())

    def f(x):
        match state:
            case Box(value=Box(value=3.0)):
                return x * 2
            case Box(value=Box(value=alpha)):
                return x * alpha

    return f, lambda n: setattr(state.value, "value", V[n])

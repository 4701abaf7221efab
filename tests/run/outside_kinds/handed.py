"""Callables that are handed to C code, and functions that nobody calls by an instruction."""

import dataclasses
import functools
import itertools
import operator

import numpy as np

import chainrule as cr
from tests.run.outside_kinds.calls import Box
from tests.run.outside_kinds.effects import still
from tests.run.outside_kinds.register import V, kind


class Weighted:
    def __init__(self, k):
        self.k = k

    def twice(self):
        return 2 * self.k


def weighted():
    objects = [Weighted(1.0), Weighted(4.0)]
    return objects, lambda n: setattr(objects[0], "k", V[n])


@kind(grad=True)
def item_of_a_list_as_a_key():
    state = [1.0, 2.5, 4.0]
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x[sorted(range(3), key=state.__getitem__)[0]] * x, change


@kind
def item_of_an_array_mapped():
    state = np.ones(3)
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(map(state.__getitem__, (0, 1))), change


@kind
def membership_of_a_set_filtered():
    state = {1, 2}
    change = lambda n: state.add(3) if n % 2 else state.discard(3)
    return lambda x: x * len(list(filter(state.__contains__, (1, 2, 3)))), change


@kind
def item_of_a_list_through_a_partial():
    state = [1.0, 2.0]
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(map(functools.partial(state.__getitem__), (0, 1))), change


@kind
def partial_of_a_function_mapped():
    state = [1.0]
    scaled = functools.partial(lambda box, v: box[0] * v, state)
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(map(scaled, (1.0, 2.0))), change


@kind
def attrgetter_mapped():
    objects, change = weighted()
    return lambda x: x * sum(map(operator.attrgetter("k"), objects)), change


@kind
def attrgetter_as_a_key():
    objects, change = weighted()
    return lambda x: x * max(objects, key=operator.attrgetter("k")).k, change


@kind
def methodcaller_mapped():
    objects, change = weighted()
    return lambda x: x * sum(map(operator.methodcaller("twice"), objects)), change


@kind
def getattr_mapped():
    objects, change = weighted()
    return lambda x: x * sum(map(getattr, objects, ("k", "k"))), change


@kind
def numpy_function_mapped():
    state = np.ones(3)
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(map(np.max, [state, np.zeros(2)])), change


@kind
def numpy_function_of_linalg_mapped():
    state = np.ones(3)
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(map(np.linalg.norm, [state, np.zeros(2)])), change


@kind
def numpy_function_in_starmap():
    state = np.ones(3)
    change = lambda n: state.__setitem__(0, V[n])
    return lambda x: x * sum(itertools.starmap(np.dot, [(state, np.ones(3))])), change


@kind
def float_mapped():
    state = np.array(1.0)
    change = lambda n: state.fill(V[n])
    return lambda x: x * sum(map(float, [state, np.array(1.0)])), change


@kind
def truths_filtered():
    state = np.array(1.0)
    change = lambda n: state.fill(n % 2)
    return lambda x: x * len(list(filter(None, [state, 1.0]))), change


@kind
def cached_function_mapped():
    state = [1.0]
    cached = functools.lru_cache(lambda q: q * state[0])

    def change(n):
        state[0] = V[n]
        cached.cache_clear()

    return lambda x: x * sum(map(cached, (1.0, 2.0))), change


@kind(fresh=True)
def generator_method_mapped():
    rng = np.random.default_rng(0)
    return lambda x: x * sum(map(rng.normal, (0.0, 1.0))), still


@kind(fresh=True)
def generator_method_in_a_partial_mapped():
    draw = functools.partial(np.random.default_rng(0).normal, 0.0)
    return lambda x: x * sum(map(draw, (1.0, 2.0))), still


@kind
def effect_unbound_append_mapped():
    lists = [[], []]

    def f(x):
        return x * len(list(map(list.append, lists, (1, 2))))

    return f, still, lambda: [len(held) for held in lists]


@kind
def effect_setattr_mapped():
    box = Box()

    def f(x):
        return x * len(list(map(setattr, [box], ["seen"], [True])))

    return f, lambda n: vars(box).pop("seen", None), lambda: hasattr(box, "seen")


@kind
def effect_next_mapped():
    counter = itertools.count()
    return lambda x: x * (1 + sum(map(next, [counter]))), still, lambda: repr(counter)


@kind
def defaults_of_a_constructor():
    """`__init__` is called by the class, not by an instruction."""

    @dataclasses.dataclass
    class Scale:
        k: float = 1.0

    def change(n):
        Scale.__init__.__defaults__ = (V[n],)

    return lambda x: x * Scale().k, change


@kind
def code_of_an_operator():
    class Scale:
        def __mul__(self, other):
            return other * 2.0

    def other(self, other):
        return other * 3.0

    codes = Scale.__mul__.__code__, other.__code__

    def change(n):
        Scale.__mul__.__code__ = codes[n % 2]

    scale = Scale()
    return lambda x: scale * x, change


@kind(grad=True)
def method_between_in_the_order_of_classes():
    """Nothing has it before the first class that `super()` finds it in, until something does."""

    class Base:
        def scaled(self, x):
            return x

    class Left(Base):
        def scaled(self, x):
            return super().scaled(x) * 2

    class Right(Base):
        pass

    class Both(Left, Right):
        pass

    both = Both()

    def change(n):
        if n:
            Right.scaled = lambda self, x: x * V[n]
        elif "scaled" in vars(Right):
            del Right.scaled

    return lambda x: both.scaled(x), change


@kind
def view_of_an_array_is_the_result():
    table = np.arange(6.0)
    return lambda x: table[::2], lambda n: table.__setitem__(2, V[n])


@kind
def column_major_array_is_the_result():
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    return lambda x: table, lambda n: table.__setitem__((0, 1), V[n])


@kind
def gradient_left_on_an_outside_variable():
    y = cr.variable(np.ones(3))

    def change(n):
        y.zero_grad()
        (y * V[n]).backward(np.ones(3))

    return lambda x: x * y.grad, change


@kind
def effect_zero_grad():
    y = cr.variable(np.ones(3))

    def change(n):
        (y * V[n]).backward(np.ones(3))

    def f(x):
        y.zero_grad()
        return x * 2

    return f, change, lambda: y.grad is None

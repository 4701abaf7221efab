"""What Python calls without a name: dunders of outside objects, formatting, iterators."""

import numpy as np

from tests.run.outside_kinds.register import V, kind


class State:
    """Where the value lives that an object's dunders read."""

    def __init__(self):
        self.value = 0.0

    def put(self, n):
        self.value = V[n]


def thing(**dunders):
    """An object whose dunders read the state, and the state."""
    state = State()

    def method(get):
        return lambda self, *args: get(state, *args)

    made = {f"__{name}__": method(get) for name, get in dunders.items()}
    return type("Thing", (), made)(), state


@kind
def float_dunder():
    obj, state = thing(float=lambda s: s.value)
    return lambda x: x * float(obj), state.put


@kind
def int_dunder():
    obj, state = thing(int=lambda s: int(s.value))
    return lambda x: x * int(obj), state.put


@kind
def index_dunder():
    obj, state = thing(index=lambda s: int(s.value))
    return lambda x: x * (1, 2, 3, 4, 5, 6)[obj], state.put


@kind
def index_dunder_on_a_variable():
    obj, state = thing(index=lambda s: int(s.value) % 2)
    return lambda x: x * x[obj], state.put


@kind(grad=True)
def len_dunder():
    obj, state = thing(len=lambda s: int(s.value))
    return lambda x: x * len(obj), state.put


@kind(grad=True)
def bool_dunder():
    obj, state = thing(bool=lambda s: s.value > 2.5)
    return lambda x: x * 2 if obj else x, state.put


@kind
def bool_through_len():
    obj, state = thing(len=lambda s: int(s.value) % 2)
    return lambda x: x * 2 if not obj else x, state.put


@kind
def bool_in_a_while():
    obj, state = thing(bool=lambda s: s.value > 2.5)

    def f(x):
        k = 0
        while obj and k < 3:
            x, k = x * 2, k + 1
        return x

    return f, state.put


@kind
def iter_dunder():
    obj, state = thing(iter=lambda s: iter((1.0, s.value)))

    def f(x):
        for a in obj:
            x = x * a
        return x

    return f, state.put


@kind
def iter_through_getitem():
    def item(s, i):
        if i > 2:
            raise IndexError
        return s.value + i

    obj, state = thing(getitem=item)
    return lambda x: x * sum(obj), state.put


@kind
def contains_dunder():
    obj, state = thing(contains=lambda s, v: v < s.value)
    return lambda x: x * 2 if 2.5 in obj else x, state.put


@kind
def contains_through_iter():
    obj, state = thing(iter=lambda s: iter((1.0, s.value)))
    return lambda x: x * 2 if 3.0 in obj else x, state.put


@kind(grad=True)
def getitem_dunder():
    obj, state = thing(getitem=lambda s, key: s.value * len(key))
    return lambda x: x * obj["ab"], state.put


@kind
def class_getitem():
    state = State()

    class Thing:
        def __class_getitem__(cls, key):
            return state.value * key

    return lambda x: x * Thing[2], state.put


@kind
def eq_dunder():
    obj, state = thing(eq=lambda s, other: s.value == other, hash=lambda s: 1)
    return lambda x: x * 2 if obj == 3.0 else x, state.put


@kind
def eq_dunder_in_a_list():
    obj, state = thing(eq=lambda s, other: s.value == other, hash=lambda s: 1)
    return lambda x: x * 2 if 3.0 in [obj] else x, state.put


@kind
def comparison_dunders():
    obj, state = thing(lt=lambda s, other: s.value < other)
    return lambda x: x * 2 if obj < 2.5 else x, state.put


@kind
def comparison_in_sorted():
    class Thing:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            return self.value < other.value

    things = [Thing(0.0), Thing(2.5)]
    return lambda x: x * min(things).value, lambda n: setattr(things[0], "value", V[n])


@kind
def hash_dunder():
    obj, state = thing(hash=lambda s: int(s.value))
    return lambda x: x * hash(obj), state.put


@kind
def hash_dunder_in_a_dict():
    obj, state = thing(hash=lambda s: int(s.value))
    state.put(0)
    table = {obj: 1.0}

    def f(x):
        return x * table.get(obj, 9.0)

    return f, state.put


@kind(grad=True)
def mul_dunder():
    obj, state = thing(mul=lambda s, other: s.value * other)
    return lambda x: x * (obj * 2.0), state.put


@kind
def radd_dunder_with_a_variable():
    obj, state = thing(radd=lambda s, other: other + s.value)
    obj.__class__.__array_ufunc__ = None
    return lambda x: x + obj, state.put


@kind
def mul_dunder_with_a_variable():
    obj, state = thing(mul=lambda s, other: s.value * other)
    return lambda x: obj * x, state.put


@kind
def matmul_dunder():
    obj, state = thing(matmul=lambda s, other: other * s.value)
    return lambda x: obj @ x, state.put


@kind
def neg_and_abs_dunders():
    obj, state = thing(neg=lambda s: -s.value, abs=lambda s: s.value + 1)
    return lambda x: x * -obj + abs(obj), state.put


@kind
def round_dunder():
    obj, state = thing(round=lambda s, k=0: s.value)
    return lambda x: x * round(obj), state.put


@kind
def array_dunder():
    state = State()

    class Thing:
        def __array__(self, dtype=None, copy=None):
            return np.full(1, state.value)

    obj = Thing()
    return lambda x: x * np.asarray(obj), state.put


@kind
def array_dunder_with_a_variable():
    state = State()

    class Thing:
        def __array__(self, dtype=None, copy=None):
            return np.full(1, state.value)

    obj = Thing()
    return lambda x: np.multiply(x, obj), state.put


@kind
def array_interface():
    class Thing:
        held = np.zeros(1)

        @property
        def __array_interface__(self):
            return self.held.__array_interface__

    obj = Thing()
    return lambda x: x * np.asarray(obj).sum(), lambda n: Thing.held.fill(V[n])


@kind
def array_function():
    state = State()

    class Thing:
        def __array_function__(self, function, types, args, kwargs):
            return state.value

    obj = Thing()
    return lambda x: x * np.sum(obj), state.put

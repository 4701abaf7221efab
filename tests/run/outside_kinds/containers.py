"""Containers: what they hold, how much, in which order, and how deep it lies."""

import collections
import types

import numpy as np

from tests.run.outside_kinds.register import V, kind


class Box:
    """An object with one value."""

    def __init__(self, value=None):
        self.value = value


def put(owner, key=0):
    return lambda n: owner.__setitem__(key, V[n])


def there_or_not(state):
    def change(n):
        state.clear()
        if n:
            state["alpha"] = V[n]

    return change


@kind(grad=True)
def dict_item():
    state = {}
    return lambda x: x * state["alpha"], put(state, "alpha")


@kind
def dict_get():
    state = {}
    return lambda x: x * state.get("alpha", 1.0), put(state, "alpha")


@kind
def dict_get_of_nothing():
    state = {}
    return lambda x: x * state.get("alpha", 11.0), there_or_not(state)


@kind
def dict_item_is_missing_and_caught():
    state = {}

    def f(x):
        try:
            return x * state["alpha"]
        except KeyError:
            return x - 1

    return f, there_or_not(state)


@kind
def dict_membership():
    state = {}
    return lambda x: x * 2 if "alpha" in state else x, there_or_not(state)


@kind(grad=True)
def dict_values():
    state = {"beta": 1.0}
    return lambda x: x * sum(state.values()), put(state, "alpha")


@kind
def dict_order():
    state = {}

    def change(n):
        state.clear()
        state.update([(("a", 1.0), ("b", 2.0)), (("b", 2.0), ("a", 1.0)), (("c", 1.0),)][n])

    def f(x):
        for key, value in state.items():
            x = x * value + ord(key)
        return x

    return f, change


@kind
def dict_keys_as_a_list():
    state = {}
    change = lambda n: state.__setitem__("alpha" * (n + 1), 1)
    return lambda x: x * len(list(state)), change


@kind
def dict_is_unpacked_into_a_call():
    state = {}

    def scaled(x, alpha):
        return x * alpha

    return lambda x: scaled(x, **state), put(state, "alpha")


@kind
def dict_is_merged():
    state = {}
    return lambda x: x * ({"alpha": 1.0} | state)["alpha"], put(state, "alpha")


@kind
def dict_is_merged_by_stars():
    state = {}
    return lambda x: x * {"alpha": 1.0, **state}["alpha"], put(state, "alpha")


@kind
def dict_key_is_outside():
    state, key = {"a": 2.0, "b": 3.0, "c": 5.0}, Box()
    return lambda x: x * state[key.value], lambda n: setattr(key, "value", "abc"[n])


@kind
def dict_with_keys_that_are_tuples():
    state = {}
    return lambda x: x * state["a", 1], put(state, ("a", 1))


@kind
def dict_with_default():
    state = collections.defaultdict(lambda: 4.0)
    change = lambda n: state.pop("alpha", None) if n == 1 else put(state, "alpha")(n)
    return lambda x: x * state["alpha"], change


@kind
def default_factory_is_replaced():
    state = collections.defaultdict(float)

    def change(n):
        state.clear()
        state.default_factory = lambda: V[n]

    return lambda x: x * state.default_factory(), change


@kind
def ordered_dict_moved_to_end():
    state = collections.OrderedDict(a=2.0, b=3.0, c=5.0)
    return lambda x: x * next(iter(state.values())), lambda n: state.move_to_end("abc"[n], False)


@kind
def counter():
    state = collections.Counter()
    return lambda x: x * (1 + state["a"]), lambda n: state.update("a" * n)


@kind
def counter_most_common():
    state = collections.Counter()

    def change(n):
        state.clear()
        state.update({"a": 2 * n, "b": 3})

    return lambda x: x * state.most_common(1)[0][1], change


@kind
def dict_subclass_with_missing():
    class Found(dict):
        extra = 1.0

        def __missing__(self, key):
            return self.extra

    state = Found()
    return lambda x: x * state["alpha"], lambda n: setattr(state, "extra", V[n])


@kind
def user_dict():
    state = collections.UserDict()
    return lambda x: x * state["alpha"], put(state, "alpha")


@kind
def user_list():
    state = collections.UserList([0.0])
    return lambda x: x * state[0], put(state)


@kind
def user_string():
    state = Box()
    change = lambda n: setattr(state, "value", collections.UserString("a" * (n + 1)))
    return lambda x: x * len(state.value), change


@kind
def chain_map():
    first, second = {}, {"alpha": 7.0}
    state = collections.ChainMap(first, second)
    change = lambda n: first.pop("alpha", None) if n == 1 else put(first, "alpha")(n)
    return lambda x: x * state["alpha"], change


@kind
def chain_map_gets_a_child():
    state = collections.ChainMap({"alpha": 2.0})
    change = lambda n: state.maps.insert(0, {"alpha": V[n]})
    return lambda x: x * state["alpha"], change


@kind
def mapping_proxy():
    state = {}
    proxy = types.MappingProxyType(state)
    return lambda x: x * proxy["alpha"], put(state, "alpha")


@kind
def mapping_proxy_values():
    state = {"beta": 1.0}
    proxy = types.MappingProxyType(state)
    return lambda x: x * sum(proxy.values()), put(state, "alpha")


@kind
def view_of_a_dict():
    state = {"beta": 1.0}
    values = state.values()
    return lambda x: x * sum(values), put(state, "alpha")


@kind
def keys_view_membership():
    state = {}
    keys = state.keys()
    return lambda x: x * 2 if "alpha" in keys else x, there_or_not(state)


@kind(grad=True)
def list_item():
    state = [0.0]
    return lambda x: x * state[0], put(state)


@kind
def list_item_from_the_end():
    state = [1.0]
    return lambda x: x * state[-1], lambda n: state.append(V[n])


@kind(grad=True)
def list_in_a_loop():
    state = []

    def f(x):
        for a in state:
            x = x * a
        return x

    return f, lambda n: state.append(V[n])


@kind
def list_slice():
    state = [1.0, 2.0, 3.0]
    return lambda x: x * sum(state[1:]), put(state, 2)


@kind
def list_length():
    state = [1.0]
    return lambda x: x * len(state), lambda n: state.append(V[n])


@kind
def list_truth():
    state = []
    change = lambda n: state.append(1) if n == 1 else state.clear()
    return lambda x: x * 2 if state else x, change


@kind
def list_membership():
    state = [0.0]
    return lambda x: x * 2 if 3.0 in state else x, put(state)


@kind
def list_index():
    state = [1.0, 1.0, 2.0]
    change = lambda n: state.insert(0, 1.0)
    return lambda x: x * state.index(2.0), change


@kind
def list_count():
    state = [1.0]
    return lambda x: x * state.count(1.0), lambda n: state.append(float(n % 2))


@kind
def list_comparison():
    state = [0.0]
    return lambda x: x * 2 if state == [3.0] else x, put(state)


@kind
def list_sorted():
    state = [0.0, 2.5]
    return lambda x: x * sorted(state)[0], put(state)


@kind
def list_reversed():
    state = [1.0]

    def f(x):
        for a in reversed(state):
            x = x * 2 + a
        return x

    return f, lambda n: state.append(V[n])


@kind
def list_enumerated():
    state = [0.0, 1.0]

    def f(x):
        for i, a in enumerate(state):
            x = x + i * a
        return x

    return f, put(state, 1)


@kind
def list_unpacked():
    state = [1.0, 0.0]

    def f(x):
        one, two = state
        return x * one + two

    return f, put(state, 1)


@kind
def list_unpacked_with_a_star():
    state = [1.0, 0.0]

    def f(x):
        first, *rest = state
        return x * first + sum(rest)

    return f, put(state, 1)


@kind
def list_unpacked_into_a_call():
    state = [0.0]
    return lambda x: np.multiply(x, *state), put(state)


@kind
def list_becomes_an_array():
    state = [0.0, 1.0]
    return lambda x: x * np.array(state).sum(), put(state)


@kind
def list_meets_a_variable():
    state = [1.0]

    def change(n):
        state[0] = V[n]

    return lambda x: x + np.asarray(state), change


@kind
def list_concatenated():
    state = [0.0]
    return lambda x: x * sum(state + [1.0]), put(state)  # noqa: RUF005 - this is the kind


@kind
def list_copied():
    state = [0.0]
    return lambda x: x * state.copy()[0], put(state)

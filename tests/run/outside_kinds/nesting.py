"""Containers in containers, sets, deques, weak references, context variables."""

import collections
import weakref
from contextvars import ContextVar
from itertools import chain
from threading import local

from tests.run.outside_kinds.containers import Box, put
from tests.run.outside_kinds.register import V, kind


@kind
def list_comprehension():
    state = [0.0, 1.0]
    return lambda x: x * max([a * 2 for a in state if a > 0.5]), put(state)


@kind
def generator_expression():
    state = [0.0, 1.0]
    return lambda x: x * sum(a * a for a in state), put(state)


@kind
def list_of_lists_of_objects():
    state = [[Box(1.0), Box(0.0)], [Box(2.0)]]

    def f(x):
        for row in state:
            for box in row:
                x = x + box.value
        return x

    return f, lambda n: setattr(state[0][1], "value", V[n])


@kind
def tuple_with_a_list():
    state = (1.0, [0.0])
    return lambda x: x * state[1][0], put(state[1])


@kind
def tuple_with_an_object():
    state = ((Box(),),)
    return lambda x: x * state[0][0].value, lambda n: setattr(state[0][0], "value", V[n])


@kind
def tuple_is_replaced():
    state = Box()
    change = lambda n: setattr(state, "value", (1.0, V[n]))
    return lambda x: x * state.value[1], change


@kind
def set_membership():
    state = set()
    change = lambda n: state.add(3) if n == 1 else state.discard(3)
    return lambda x: x * 2 if 3 in state else x, change


@kind
def set_length():
    state = set()
    return lambda x: x * len(state), lambda n: state.add(n)


@kind
def set_summed():
    state = {1.0}
    return lambda x: x * sum(state), lambda n: state.add(V[n])


@kind
def set_operations():
    state = {1, 2}
    change = lambda n: state.symmetric_difference_update({n + 1})
    return lambda x: x * len(state & {1, 2, 3}) + (2 in state | {7}), change


@kind
def frozenset_is_replaced():
    state = Box()
    change = lambda n: setattr(state, "value", frozenset((V[n],)))
    return lambda x: x * max(state.value), change


@kind
def frozenset_of_objects():
    box = Box()
    state = frozenset((box,))
    change = lambda n: setattr(box, "value", V[n])
    return lambda x: x * next(iter(state)).value, change


@kind
def deque_item():
    state = collections.deque([0.0])
    return lambda x: x * state[0], lambda n: state.appendleft(V[n])


@kind
def deque_in_a_loop():
    state = collections.deque(maxlen=2)
    return lambda x: x * sum(a for a in state), lambda n: state.append(V[n])


@kind
def deque_rotated():
    state = collections.deque(V)
    return lambda x: x * state[1], lambda n: state.rotate(1)


@kind
def chain_of_lists():
    one, two = [1.0], [0.0]
    return lambda x: x * sum(chain(one, two)), put(two)


def nested(depth, wrap):
    """A value at the end of so many containers, and how it is set."""
    holder = last = wrap(None)
    for _ in range(depth - 1):
        inner = wrap(None)
        store(last, inner)
        last = inner
    return holder, lambda n: store(last, V[n])


def store(holder, value):
    if isinstance(holder, Box):
        holder.value = value
    else:
        holder["value" if isinstance(holder, dict) else 0] = value


@kind
def nested_lists_4():
    state, change = nested(4, lambda v: [v])
    return lambda x: x * state[0][0][0][0], change


@kind(grad=True)
def nested_lists_10():
    state, change = nested(10, lambda v: [v])

    def f(x):
        found = state
        for _ in range(10):
            found = found[0]
        return x * found

    return f, change


@kind
def nested_dicts_7():
    state, change = nested(7, lambda v: {"value": v})

    def f(x):
        found = state
        while isinstance(found, dict):
            found = found["value"]
        return x * found

    return f, change


@kind(grad=True)
def nested_objects_6():
    state, change = nested(6, Box)
    return lambda x: x * state.value.value.value.value.value.value, change


@kind
def nested_objects_10():
    state, change = nested(10, Box)

    def f(x):
        found = state
        while isinstance(found, Box):
            found = found.value
        return x * found

    return f, change


@kind
def nested_mixed_9():
    wraps = iter([Box, lambda v: [v], lambda v: {"value": v}] * 3)
    state, change = nested(9, lambda v: next(wraps)(v))
    return lambda x: x * state.value[0]["value"].value[0]["value"].value[0]["value"], change


@kind
def linked_list():
    state = Box(2.0)

    def change(n):
        state.value = V[n]
        state.next = Box(1.0) if n else None
        if n == 2:
            state.next.next = Box(8.0)

    def f(x):
        node = state
        while node is not None:
            x, node = x * node.value, getattr(node, "next", None)
        return x

    return f, change


@kind
def objects_that_refer_to_each_other():
    one, two = Box(), Box()
    one.other, two.other = two, one
    return lambda x: x * one.other.other.other.value, lambda n: setattr(two, "value", V[n])


@kind
def weak_reference():
    box = Box()
    ref = weakref.ref(box)
    return lambda x: x * ref().value, lambda n: setattr(box, "value", V[n])


@kind
def weak_reference_dies():
    state = {}

    def change(n):
        if n == 1:
            state.pop("box", None)
        else:
            state["box"] = Box(V[n])
            state["ref"] = weakref.ref(state["box"])

    def f(x):
        box = state["ref"]()
        return x if box is None else x * box.value

    return f, change


@kind
def weak_proxy():
    box = Box()
    proxy = weakref.proxy(box)
    return lambda x: x * proxy.value, lambda n: setattr(box, "value", V[n])


@kind
def weak_value_dictionary():
    state, boxes = weakref.WeakValueDictionary(), [Box(v) for v in V]
    return lambda x: x * state["alpha"].value, lambda n: state.__setitem__("alpha", boxes[n])


@kind
def weak_key_dictionary():
    box = Box()
    state = weakref.WeakKeyDictionary()
    return lambda x: x * state[box], put(state, box)


@kind
def weak_set_length():
    state, boxes = weakref.WeakSet(), [Box() for _ in V]
    return lambda x: x * len(state), lambda n: state.add(boxes[n])


@kind
def context_variable():
    state = ContextVar("alpha")
    return lambda x: x * state.get(), lambda n: state.set(V[n])


@kind
def context_variable_with_a_default():
    state, tokens = ContextVar("alpha", default=2.0), []

    def change(n):
        if tokens:
            state.reset(tokens.pop())
        if n:
            tokens.append(state.set(V[n]))

    yield lambda x: x * state.get(), change
    change(0)


@kind
def thread_local():
    state = local()
    return lambda x: x * state.alpha, lambda n: setattr(state, "alpha", V[n])

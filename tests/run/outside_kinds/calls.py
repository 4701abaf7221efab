"""Calls: methods that are replaced, functools, operator, iterators, dunders of outside objects."""

import functools
import itertools
import math
import operator
import types

import numpy as np

from tests.run.outside_kinds.register import V, kind


class Model:
    """An object with methods; a class of its own for each kind, by `fresh()`."""


def fresh(**names):
    return type("Model", (), names)


class Box:
    """An object with one value."""

    def __init__(self, value=None):
        self.value = value


@kind(grad=True)
def method_reads_self():
    obj = fresh(scaled=lambda self, x: x * self.alpha)()
    return lambda x: obj.scaled(x), lambda n: setattr(obj, "alpha", V[n])


@kind
def compiled_bound_method():
    obj = fresh(scaled=lambda self, x: x * self.alpha)()
    return obj.scaled, lambda n: setattr(obj, "alpha", V[n])


@kind
def stored_bound_method():
    obj = fresh(scaled=lambda self, x: x * self.alpha)()
    methods = [obj.scaled]
    return lambda x: methods[0](x), lambda n: setattr(obj, "alpha", V[n])


@kind
def method_is_patched_on_the_class():
    cls = fresh(scaled=lambda self, x: x)
    obj = cls()
    return lambda x: obj.scaled(x), lambda n: setattr(cls, "scaled", lambda self, x: x * V[n])


@kind
def method_is_patched_on_the_instance():
    obj = fresh(scaled=lambda self, x: x)()

    def change(n):
        vars(obj).clear()
        if n:
            obj.scaled = lambda x: x * V[n]

    return lambda x: obj.scaled(x), change


@kind
def method_is_patched_with_a_method():
    obj = fresh(scaled=lambda self, x: x, alpha=3.0)()
    change = lambda n: setattr(
        obj, "scaled", types.MethodType(lambda self, x: x * self.alpha * V[n], obj)
    )
    return lambda x: obj.scaled(x), change


@kind
def static_method():
    cls = fresh(scaled=staticmethod(lambda x: x))
    change = lambda n: setattr(cls, "scaled", staticmethod(lambda x: x * V[n]))
    return lambda x: cls.scaled(x), change


@kind
def class_method_reads_the_class():
    cls = fresh(scaled=classmethod(lambda cls, x: x * cls.alpha))
    obj = cls()
    return lambda x: obj.scaled(x), lambda n: setattr(cls, "alpha", V[n])


@kind(grad=True)
def super_call():
    class Base:
        alpha = 1.0

        def scaled(self, x):
            return x * self.alpha

    class Derived(Base):
        def scaled(self, x):
            return super().scaled(x) + 1

    obj = Derived()
    return lambda x: obj.scaled(x), lambda n: setattr(Base, "alpha", V[n])


@kind
def super_method_is_patched():
    class Base:
        def scaled(self, x):
            return x

    class Derived(Base):
        def scaled(self, x):
            return super().scaled(x) + 1

    obj = Derived()
    return lambda x: obj.scaled(x), lambda n: setattr(Base, "scaled", lambda self, x: x * V[n])


@kind(grad=True)
def callable_instance():
    obj = fresh(__call__=lambda self, x: x * self.alpha)()
    return lambda x: obj(x), lambda n: setattr(obj, "alpha", V[n])


@kind
def compiled_callable_instance():
    obj = fresh(__call__=lambda self, x: x * self.alpha)()
    return obj, lambda n: setattr(obj, "alpha", V[n])


@kind
def call_dunder_is_replaced():
    cls = fresh(__call__=lambda self, x: x)
    obj = cls()
    return lambda x: obj(x), lambda n: setattr(cls, "__call__", lambda self, x: x * V[n])


@kind
def object_made_inside():
    class Layer:
        alpha = 1.0

        def __init__(self):
            self.own = self.alpha * 2

    return lambda x: x * Layer().own, lambda n: setattr(Layer, "alpha", V[n])


@kind
def class_made_inside():
    state = Box()

    def f(x):
        class Layer:
            alpha = state.value

        return x * Layer.alpha

    return f, lambda n: setattr(state, "value", V[n])


@kind
def new_dunder():
    state = Box()

    class Layer:
        def __new__(cls):
            made = super().__new__(cls)
            made.alpha = state.value
            return made

    return lambda x: x * Layer().alpha, lambda n: setattr(state, "value", V[n])


@kind
def metaclass_call():
    state = Box()

    class Meta(type):
        def __call__(cls):
            return state.value

    class Layer(metaclass=Meta): ...

    return lambda x: x * Layer(), lambda n: setattr(state, "value", V[n])


@kind
def partial_with_a_list():
    parts = [0.0]
    g = functools.partial(lambda parts, x: x * parts[0], parts)
    return lambda x: g(x), lambda n: parts.__setitem__(0, V[n])


@kind
def partial_keywords_are_changed():
    g = functools.partial(lambda x, alpha: x * alpha, alpha=0.0)
    return lambda x: g(x), lambda n: g.keywords.update(alpha=V[n])


@kind
def compiled_partial():
    g = functools.partial(lambda x, alpha: x * alpha, alpha=0.0)
    return g, lambda n: g.keywords.update(alpha=V[n])


@kind
def partial_is_set_anew():
    g = functools.partial(lambda alpha, x: x * alpha, 0.0)
    change = lambda n: g.__setstate__((g.func, (V[n],), {}, {}))
    return lambda x: g(x), change


@kind
def partial_method():
    state = Box()
    cls = fresh(
        power=lambda self, k, x: x * state.value + k, squared=functools.partialmethod(None, 2)
    )
    cls.squared = functools.partialmethod(cls.power, 2)
    cls.squared.__set_name__ = None
    obj = cls()
    return lambda x: obj.squared(x), lambda n: setattr(state, "value", V[n])


@kind
def cached_function_is_stale_in_python_too():
    state = Box()

    @functools.cache
    def read():
        return state.value

    def change(n):
        state.value = V[n]
        if n == 2:
            read.cache_clear()

    return lambda x: x * read(), change


@kind(grad=True)
def cached_function_is_cleared():
    state = Box()
    read = functools.lru_cache(maxsize=4)(lambda k: state.value * k)

    def change(n):
        state.value = V[n]
        read.cache_clear()

    return lambda x: x * read(3), change


@kind
def cached_function_without_room():
    state = Box()
    read = functools.lru_cache(maxsize=0)(lambda: state.value)
    return lambda x: x * read(), lambda n: setattr(state, "value", V[n])


@kind
def cached_function_with_room_for_one():
    state = Box()
    read = functools.lru_cache(maxsize=1)(lambda k: state.value * k)

    def change(n):
        state.value = V[n]
        if n == 1:
            read(7)  # which drops what was kept of 3

    return lambda x: x * read(3), change


@kind
def cached_method():
    class Layer:
        @functools.lru_cache  # noqa: B019 - this is the kind
        def read(self):
            return self.alpha

    obj = Layer()

    def change(n):
        obj.alpha = V[n]
        Layer.read.cache_clear()

    return lambda x: x * obj.read(), change


@kind
def cache_of_a_users_own():
    state, cache = Box(), {}

    def read(k):
        if k not in cache:
            cache[k] = state.value * k
        return cache[k]

    def change(n):
        state.value = V[n]
        cache.clear()
        read(3)

    return lambda x: x * read(3), change


@kind
def single_dispatch_registration():
    @functools.singledispatch
    def size(value):
        return 1.0

    cls = fresh()
    obj = cls()

    def change(n):
        if n:
            size.register(cls, lambda value: V[n])

    return lambda x: x * size(obj), change


@kind
def single_dispatch_by_the_class_of_an_object():
    @functools.singledispatch
    def size(value):
        return 1.0

    size.register(int, lambda value: 2.0)
    size.register(str, lambda value: 3.0)
    state = Box()
    change = lambda n: setattr(state, "value", (None, 1, "a")[n])
    return lambda x: x * size(state.value), change


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
def numpy_function_is_patched():
    plain = np.hypot

    def change(n):
        np.hypot = plain if n == 0 else lambda a, b: a * b * V[n]

    yield lambda x: np.hypot(x, 2.0), change
    np.hypot = plain


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

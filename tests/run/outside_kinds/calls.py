"""Calls: methods that are replaced, functools, operator, iterators, dunders of outside objects."""

import functools
import types

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

    class Layer:
        def power(self, k, x):
            return x * state.value + k

        squared = functools.partialmethod(power, 2)

    obj = Layer()
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

"""Functions: defaults, code, attributes, wrappers, and types of a name's value."""

import functools
import types

import numpy as np

from tests.run.outside_kinds.register import V, kind

ALPHA = 2.0


@kind(grad=True)
def default_argument_is_replaced():
    def f(x, alpha=1.0):
        return x * alpha

    return f, lambda n: setattr(f, "__defaults__", (V[n],))


@kind
def default_argument_of_a_helper():
    def scaled(x, alpha=1.0):
        return x * alpha

    return lambda x: scaled(x) + 1, lambda n: setattr(scaled, "__defaults__", (V[n],))


@kind
def default_argument_is_mutable():
    state = {"alpha": 1.0}

    def f(x, state=state):
        return x * state["alpha"]

    return f, lambda n: state.update(alpha=V[n])


@kind
def default_argument_is_a_list():
    def f(x, parts=[1.0]):  # noqa: B006 - this is the kind
        return x * parts[-1]

    return f, lambda n: f.__defaults__[0].append(V[n])


@kind
def keyword_default_is_replaced():
    def f(x, *, alpha=1.0):
        return x * alpha

    return f, lambda n: f.__kwdefaults__.__setitem__("alpha", V[n])


@kind
def keyword_defaults_are_replaced():
    def scaled(x, *, alpha=1.0):
        return x * alpha

    return lambda x: scaled(x), lambda n: setattr(scaled, "__kwdefaults__", {"alpha": V[n]})


@kind
def default_is_given_where_there_was_none():
    def scaled(x, *alpha):
        return x * sum(alpha, 1.0)

    def other(x, alpha=4.0):
        return x * alpha

    def change(n):
        scaled.__code__ = other.__code__ if n == 1 else code
        scaled.__defaults__ = (V[n],) if n == 1 else None

    code = scaled.__code__
    return lambda x: scaled(x), change


@kind
def code_is_replaced():
    def f(x):
        return x * 2

    forms = (f, lambda x: x * 3, lambda x: x + 5)
    codes = [g.__code__ for g in forms]
    return f, lambda n: setattr(f, "__code__", codes[n])


@kind(grad=True)
def code_of_a_helper_is_replaced():
    def g(x):
        return x * 2

    codes = [h.__code__ for h in (g, lambda x: x * 3, lambda x: np.exp(x))]
    return lambda x: g(x) + 1, lambda n: setattr(g, "__code__", codes[n])


@kind(grad=True)
def function_attribute():
    def f(x):
        return x * f.alpha

    return f, lambda n: setattr(f, "alpha", V[n])


@kind
def function_attribute_of_a_helper():
    def g(x):
        return x * g.alpha

    return lambda x: g(x), lambda n: g.__dict__.update(alpha=V[n])


@kind
def function_attributes_are_replaced():
    def g(x):
        return x * g.alpha

    return lambda x: g(x), lambda n: setattr(g, "__dict__", {"alpha": V[n]})


@kind(grad=True)
def helper_is_rebound():
    def change(n):
        nonlocal g
        g = (np.sin, np.cos, lambda x: x**2)[n]

    g = np.sin
    return lambda x: g(x) * 2, change


@kind
def decorator_with_wraps():
    def doubled(g):
        @functools.wraps(g)
        def wrapper(x):
            return g(x) * wrapper.factor

        return wrapper

    @doubled
    def f(x):
        return x + 1

    return f, lambda n: setattr(f, "factor", V[n])


@kind
def wrapped_function_is_replaced():
    def through(g):
        @functools.wraps(g)
        def wrapper(x):
            return wrapper.__wrapped__(x)

        return wrapper

    f = through(lambda x: x)
    return lambda x: f(x), lambda n: setattr(f, "__wrapped__", lambda x: x * V[n])


@kind
def function_with_globals_of_its_own():
    scope = {"alpha": 0.0}
    code = (lambda x: x * alpha).__code__  # noqa: F821 - a name of the scope
    return types.FunctionType(code, scope), lambda n: scope.update(alpha=V[n])


@kind
def annotation_and_docstring():
    def f(x):
        return x * len(f.__doc__)

    return f, lambda n: setattr(f, "__doc__", "a" * (n + 2))


@kind
def name_of_a_function():
    def f(x):
        return x * len(f.__name__)

    return f, lambda n: setattr(f, "__name__", "a" * (n + 2))


@kind
def type_becomes_another_number():
    def change(n):
        globals()["ALPHA"] = (2.0, 2, np.float32(2))[n]

    return lambda x: np.float32(1.5) * ALPHA + x * isinstance(ALPHA, float), change


@kind
def zero_becomes_minus_zero():
    def change(n):
        globals()["ALPHA"] = (0.0, -0.0, 1.0)[n]

    return lambda x: x + np.copysign(1.0, ALPHA), change

"""Names: globals, builtins, closure variables, default arguments, functions that are replaced."""

import builtins

import numpy as np

from tests.run.outside_kinds.register import V, kind

ALPHA = 2.0
BETA = 2.0
GONE = 2.0
TABLE = np.ones(3)
SETTINGS = {"alpha": 2.0}


class Config:
    """A class whose attributes are settings."""

    alpha = 2.0


def helper(x):
    return x * BETA


def outer(x):
    return helper(x) + 1


def rebind(name):
    return lambda n: globals().__setitem__(name, V[n])


@kind(grad=True)
def global_number():
    return lambda x: x * ALPHA, rebind("ALPHA")


@kind
def global_in_a_called_function():
    return lambda x: outer(x), rebind("BETA")


@kind
def global_through_globals():
    return lambda x: x * globals()["ALPHA"], rebind("ALPHA")


@kind
def global_through_globals_get():
    return lambda x: x * globals().get("ALPHA", 1.0), rebind("ALPHA")


@kind(grad=True)
def class_attribute_through_globals():
    return lambda x: x * globals()["Config"].alpha, lambda n: setattr(Config, "alpha", V[n])


@kind
def class_attribute_through_vars():
    return lambda x: x * vars(Config)["alpha"], lambda n: setattr(Config, "alpha", V[n])


@kind
def class_attribute_through_dict():
    return lambda x: x * Config.__dict__["alpha"], lambda n: setattr(Config, "alpha", V[n])


@kind
def global_through_eval():
    return lambda x: x * eval("ALPHA"), rebind("ALPHA")


@kind
def global_through_eval_of_the_argument():
    return lambda x: eval("x * ALPHA + 1"), rebind("ALPHA")


@kind
def global_through_exec():
    def f(x):
        scope = {"x": x}
        exec("y = x * ALPHA", globals(), scope)
        return scope["y"]

    return f, rebind("ALPHA")


@kind
def global_through_the_function():
    def f(x):
        return x * f.__globals__["ALPHA"]

    return f, rebind("ALPHA")


@kind
def global_set_by_exec():
    return lambda x: x * ALPHA, lambda n: exec(f"ALPHA = {V[n]}", globals())


@kind
def global_set_by_a_setter():
    def change(n):
        global ALPHA
        ALPHA = V[n]

    return lambda x: np.sin(x) * ALPHA, change


@kind
def global_is_deleted():
    def change(n):
        globals().pop("GONE", None)
        if n != 1:
            globals()["GONE"] = V[n]

    return lambda x: x * GONE, change


@kind(grad=True)
def global_is_deleted_and_caught():
    def f(x):
        try:
            return x * GONE
        except NameError:
            return x - 1

    return f, global_is_deleted()[1]


@kind
def name_in_globals():
    return lambda x: x * 3 if "GONE" in globals() else x, global_is_deleted()[1]


@kind(grad=True)
def builtin_is_shadowed():
    def change(n):
        globals().pop("abs", None)
        if n:
            globals()["abs"] = lambda v: v * V[n]

    yield lambda x: abs(x) + 1, change
    globals().pop("abs", None)


@kind
def builtin_is_patched():
    def change(n):
        builtins.sum = plain if n == 0 else lambda values: plain(values) * V[n]

    plain = sum
    yield lambda x: x * sum([1, 2]), change
    builtins.sum = plain


@kind
def builtin_is_added():
    def change(n):
        vars(builtins).pop("outside_alpha", None)
        if n != 1:
            builtins.outside_alpha = V[n]

    def f(x):
        try:
            return x * outside_alpha
        except NameError:
            return x

    yield f, change
    vars(builtins).pop("outside_alpha", None)


@kind(grad=True)
def closure_variable():
    alpha = 0.0

    def change(n):
        nonlocal alpha
        alpha = V[n]

    return lambda x: x * alpha, change


@kind(grad=True)
def closure_in_closure_in_closure():
    alpha = 0.0

    def change(n):
        nonlocal alpha
        alpha = V[n]

    def one():
        def two():
            def three():
                return alpha

            return three

        return two

    inner = one()
    return lambda x: x * inner()(), change


@kind
def closure_cell_contents():
    alpha = 0.0

    def f(x):
        return x * alpha

    return f, lambda n: setattr(f.__closure__[0], "cell_contents", V[n])


@kind
def closure_read_as_a_cell():
    alpha = 0.0

    def reader():
        return alpha

    def change(n):
        nonlocal alpha
        alpha = V[n]

    return lambda x: x * reader.__closure__[0].cell_contents, change


@kind
def closure_of_a_function_in_a_list():
    makers = [lambda: 0.0]

    def change(n):
        def make(a):
            return lambda: a

        makers[0] = make(V[n])

    return lambda x: x * makers[0](), change


@kind
def counter_made_by_a_closure_is_read():
    def make():
        value = [0.0]
        return lambda: value[0], lambda v: value.__setitem__(0, v)

    get, put = make()
    return lambda x: x * get(), lambda n: put(V[n])

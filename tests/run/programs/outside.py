"""Programs that read outside state of the usual kinds, which changes between calls."""

import os

import numpy as np

from tests.run.programs import settings
from tests.run.programs.corpus import stateful

VECTORS = [[1.0, 2.0], [-1.0, 0.5], [2.0, -2.0], [1.0, 2.0]]
ALPHA = 1.0
WEIGHTS = np.array([1.0, 2.0])


def _global(k):
    globals()["ALPHA"] = float(k)


def _reset():
    globals()["ALPHA"] = 1.0
    settings.SCALE = 2.0
    settings.apply = APPLY
    settings.TABLE[:] = [1.0, 2.0]
    WEIGHTS[:] = [1.0, 2.0]


APPLY = settings.apply


@stateful(*VECTORS)
def global_number():
    _reset()
    return (lambda x: x * ALPHA), _global


@stateful(*VECTORS)
def global_through_globals():
    _reset()
    return (lambda x: x * globals()["ALPHA"]), _global


@stateful(*VECTORS)
def global_array_written():
    _reset()
    return (lambda x: x @ WEIGHTS), lambda k: WEIGHTS.__setitem__(0, 1.0 + k)


@stateful(*VECTORS)
def global_array_reduced():
    _reset()
    return (lambda x: x * WEIGHTS.max()), lambda k: WEIGHTS.__setitem__(0, 1.0 + k)


@stateful(*VECTORS)
def module_attribute():
    _reset()
    return (lambda x: x * settings.SCALE), lambda k: setattr(settings, "SCALE", 1.0 + k)


@stateful(*VECTORS)
def module_attribute_by_name():
    _reset()
    return (lambda x: x * vars(settings)["SCALE"]), lambda k: setattr(settings, "SCALE", 1.0 + k)


@stateful(*VECTORS)
def module_function_reads():
    _reset()
    return (lambda x: settings.apply(x)), lambda k: setattr(settings, "SCALE", 1.0 + k)


@stateful(*VECTORS)
def module_function_replaced():
    _reset()
    return (lambda x: settings.apply(x)), lambda k: setattr(settings, "apply", lambda v: v * k)


@stateful(*VECTORS)
def module_list():
    _reset()
    return (lambda x: x * settings.TABLE), lambda k: settings.TABLE.__setitem__(0, 1.0 + k)


@stateful(*VECTORS)
def closure_number():
    a = 1.0

    def change(k):
        nonlocal a
        a = 1.0 + k

    return (lambda x: x * a), change


@stateful(*VECTORS)
def closure_function():
    def g(x):
        return x * 2

    def change(k):
        nonlocal g
        g = lambda x: x * (3.0 + k)  # noqa: E731 - rebound

    return (lambda x: g(x)), change


@stateful(*VECTORS)
def closure_nested():
    a = 1.0

    def inner(x):
        return x * a

    def change(k):
        nonlocal a
        a = 1.0 + k

    return (lambda x: inner(x) + 1), change


@stateful(*VECTORS)
def defaults_changed():
    def f(x, scale=2.0):
        return x * scale

    def change(k):
        f.__defaults__ = (2.0 + k,)

    return f, change


@stateful(*VECTORS)
def class_attribute():
    class Config:
        alpha = 1.0

    return (lambda x: x * Config.alpha), lambda k: setattr(Config, "alpha", 1.0 + k)


@stateful(*VECTORS)
def class_attribute_by_getattr():
    class Config:
        alpha = 1.0

    name = "alpha"
    return (lambda x: x * getattr(Config, name)), lambda k: setattr(Config, "alpha", 1.0 + k)


@stateful(*VECTORS)
def metaclass_attribute():
    class Meta(type):
        alpha = 1.0

    class Config(metaclass=Meta):
        pass

    return (lambda x: x * Config.alpha), lambda k: setattr(Meta, "alpha", 1.0 + k)


@stateful(*VECTORS)
def inherited_attribute():
    class Base:
        alpha = 1.0

    class Model(Base):
        def __call__(self, x):
            return x * self.alpha

    return Model(), lambda k: setattr(Base, "alpha", 1.0 + k)


@stateful(*VECTORS)
def instance_shadows_class():
    class Model:
        alpha = 1.0

        def __call__(self, x):
            return x * self.alpha

    model = Model()
    return model, lambda k: setattr(model, "alpha", 1.0 + k) if k != 2 else delattr(model, "alpha")


@stateful(*VECTORS)
def method_replaced():
    class Model:
        def scale(self):
            return 2.0

        def __call__(self, x):
            return x * self.scale()

    return Model(), lambda k: setattr(Model, "scale", lambda self: 2.0 + k)


@stateful(*VECTORS)
def property_of_state():
    class Model:
        raw = 1.0

        @property
        def alpha(self):
            return self.raw * 2

        def __call__(self, x):
            return x * self.alpha

    model = Model()
    return model, lambda k: setattr(model, "raw", 1.0 + k)


@stateful(*VECTORS)
def slots_of_state():
    class Model:
        __slots__ = ("alpha",)

        def __init__(self):
            self.alpha = 1.0

    model = Model()
    return (lambda x: x * model.alpha), lambda k: setattr(model, "alpha", 1.0 + k)


@stateful(*VECTORS)
def getattr_hook():
    class Model:
        raw = {"alpha": 1.0}  # noqa: RUF012 - shared on purpose

        def __getattr__(self, name):
            return self.raw[name]

    model = Model()
    return (lambda x: x * model.alpha), lambda k: Model.raw.__setitem__("alpha", 1.0 + k)


@stateful(*VECTORS)
def environment():
    os.environ["CHAINRULE_CORPUS_SCALE"] = "1"

    def change(k):
        os.environ["CHAINRULE_CORPUS_SCALE"] = str(1 + k)

    return (lambda x: x * float(os.environ["CHAINRULE_CORPUS_SCALE"])), change


@stateful(*VECTORS)
def error_state():
    np.geterr()
    return (lambda x: x * (2 if np.geterr()["over"] == "ignore" else 3)), None


@stateful(*VECTORS)
def code_replaced():
    def f(x):
        return x * 2

    def other(x):
        return x * 5

    first, second = f.__code__, other.__code__
    return f, lambda k: setattr(f, "__code__", second if k % 2 else first)

"""Modules: imports inside a function, reloading, sys.modules, attributes of modules."""

import contextlib
import importlib
import sys
import tempfile
import types
from pathlib import Path

from tests.run.outside_kinds.register import V, kind

NAME = "outside_state_module"


@contextlib.contextmanager
def in_sys_modules():
    """A module made by hand that can be imported."""
    module = types.ModuleType(NAME)
    module.inner = types.ModuleType(f"{NAME}.inner")
    module.__path__ = []
    sys.modules[NAME], sys.modules[f"{NAME}.inner"] = module, module.inner
    try:
        yield module
    finally:
        for name in (NAME, f"{NAME}.inner"):
            sys.modules.pop(name, None)


@kind
def import_inside():
    def f(x):
        import outside_state_module

        return x * outside_state_module.alpha

    with in_sys_modules() as module:
        yield f, lambda n: setattr(module, "alpha", V[n])


@kind(grad=True)
def from_import_inside():
    def f(x):
        from outside_state_module import alpha

        return x * alpha

    with in_sys_modules() as module:
        yield f, lambda n: setattr(module, "alpha", V[n])


@kind
def import_of_a_submodule_inside():
    def f(x):
        import outside_state_module.inner as inner

        return x * inner.alpha

    with in_sys_modules() as module:
        yield f, lambda n: setattr(module.inner, "alpha", V[n])


@kind
def import_by_importlib():
    def f(x):
        return x * importlib.import_module(NAME).alpha

    with in_sys_modules() as module:
        yield f, lambda n: setattr(module, "alpha", V[n])


@kind
def import_by_the_builtin():
    def f(x):
        return x * __import__(NAME).alpha

    with in_sys_modules() as module:
        yield f, lambda n: setattr(module, "alpha", V[n])


@kind
def module_in_sys_modules_is_replaced():
    def f(x):
        import outside_state_module

        return x * outside_state_module.alpha

    def change(n):
        sys.modules[NAME] = types.ModuleType(NAME)
        sys.modules[NAME].alpha = V[n]

    with in_sys_modules():
        yield f, change


@kind
def module_through_sys_modules():
    with in_sys_modules() as module:
        yield lambda x: x * sys.modules[NAME].alpha, lambda n: setattr(module, "alpha", V[n])


@kind
def module_is_loaded():
    def change(n):
        sys.modules.pop(NAME, None)
        if n == 1:
            sys.modules[NAME] = types.ModuleType(NAME)

    yield lambda x: x * 2 if NAME in sys.modules else x, change
    sys.modules.pop(NAME, None)


@kind
def import_that_fails():
    def f(x):
        try:
            import outside_state_module  # noqa: F401 - whether it is there
        except ImportError:
            return x
        return x * 2

    def change(n):
        sys.modules.pop(NAME, None)
        if n == 1:
            sys.modules[NAME] = types.ModuleType(NAME)

    yield f, change
    sys.modules.pop(NAME, None)


@kind(grad=True)
def module_made_by_hand():
    module = types.ModuleType("by_hand")
    return lambda x: x * module.alpha, lambda n: setattr(module, "alpha", V[n])


@kind
def module_with_getattr():
    module, state = types.ModuleType("by_hand"), {}
    module.__getattr__ = lambda name: state[name]
    return lambda x: x * module.alpha, lambda n: state.update(alpha=V[n])


@kind
def module_of_another_class():
    class Lazy(types.ModuleType):
        @property
        def alpha(self):
            return self.base * 2

    module = types.ModuleType("by_hand")
    module.__class__ = Lazy
    return lambda x: x * module.alpha, lambda n: setattr(module, "base", V[n])


@kind
def function_of_a_module_made_by_exec():
    module = types.ModuleType("by_hand")
    exec("alpha = 0.0\ndef scaled(x):\n    return x * alpha\n", vars(module))
    return lambda x: module.scaled(x), lambda n: setattr(module, "alpha", V[n])


@kind
def function_of_a_module_is_patched():
    module = types.ModuleType("by_hand")
    change = lambda n: setattr(module, "scaled", lambda x: x * V[n])
    return lambda x: module.scaled(x), change


@kind
def attribute_set_by_exec():
    module = types.ModuleType("by_hand")
    return lambda x: x * module.alpha, lambda n: exec(f"alpha = {V[n]}", vars(module))


@kind
def module_through_vars():
    module = types.ModuleType("by_hand")
    return lambda x: x * vars(module)["alpha"], lambda n: setattr(module, "alpha", V[n])


@contextlib.contextmanager
def on_disk():
    """A module in a file, and what writes it with another number and loads it again."""
    name = "outside_state_on_disk"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")

        def change(n):
            path.write_text(f"alpha = {V[n]}\ndef scaled(x):\n    return x * {V[n]} + alpha\n")
            exec(compile(path.read_text(), path, "exec"), vars(module))

        path.write_text("alpha = 0.0\n")
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            yield module, change
        finally:
            del sys.modules[name]


@kind(grad=True)
def module_is_reloaded():
    with on_disk() as (module, change):
        yield lambda x: x * module.alpha, change


@kind
def function_of_a_reloaded_module():
    with on_disk() as (module, change):
        yield lambda x: module.scaled(x), change


@kind
def function_taken_before_a_reload():
    with on_disk() as (module, change):
        change(0)
        scaled = module.scaled
        yield lambda x: scaled(x), change


@kind
def constant_of_a_library_is_patched():
    import math

    before = math.tau
    change = lambda n: setattr(math, "tau", before + n)
    yield lambda x: x * math.tau, change
    math.tau = before

"""Compiled methods are those of their instance; compiled functions are copied and pickled."""

from __future__ import annotations

import abc
import copy
import dataclasses
import functools
import gc
import pickle  # noqa: TID251 - compiled functions are sent to other processes
import subprocess
import sys
import weakref

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.containers import flatten

pytest.importorskip("llvmlite")

X = np.array([0.5, -1.25, 2.0])


class Layer:
    scale = 1.0

    def __init__(self, w):
        self.w = w

    @cr.compile
    def apply(self, x):
        """The weighted sum."""
        return self.w @ x * self.scale

    @functools.partial(cr.compile, verify="never", donate=0)
    def unchecked(self, x):
        return self.w * x


class Twice(Layer):
    @cr.compile
    def apply(self, x):
        return super().apply(x) * 2


class Inheriting(Layer):
    scale = 3.0


@dataclasses.dataclass
class Data:
    w: np.ndarray
    k: float = 2.0

    @cr.compile
    def apply(self, x):
        return self.w @ x * self.k


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: np.ndarray
    k: float = 2.0

    @cr.compile
    def apply(self, x):
        return self.w @ x * self.k


@dataclasses.dataclass(eq=True, unsafe_hash=True)
class Equal:
    """Every instance is equal to every other: they must not share what was compiled."""

    w: np.ndarray = dataclasses.field(compare=False)

    @cr.compile
    def apply(self, x):
        return self.w @ x


class Slotted:
    __slots__ = ("__weakref__", "w")

    def __init__(self, w):
        self.w = w

    @cr.compile
    def apply(self, x):
        return self.w @ x


class Abstract(abc.ABC):
    @abc.abstractmethod
    def apply(self, x): ...


class Concrete(Abstract):
    def __init__(self, w):
        self.w = w

    @cr.compile
    def apply(self, x):
        return self.w @ x


class Unhashable:
    __hash__ = None

    def __init__(self, w):
        self.w = w

    @cr.compile
    def apply(self, x):
        return self.w @ x


CLASSES = [Layer, Twice, Inheriting, Data, Frozen, Equal, Slotted, Concrete, Unhashable]


def expected_of(instance, x):
    """The method as the class has it, without compiling."""
    return type(instance).apply.f(instance, x)


@pytest.mark.parametrize("cls", CLASSES)
def test_each_instance_by_itself(cls):
    one, other = cls(np.array([1.0, -0.5, 0.25])), cls(np.array([2.0, 3.0, 4.0]))
    for instance in (one, other, one, other):
        for x in (X, X + 1):
            np.testing.assert_allclose(instance.apply(x), expected_of(instance, x), rtol=1e-15)
    assert one.apply(X) != other.apply(X)
    if hasattr(one, "__dict__"):  # else the class holds what is compiled for all of them
        assert not cls.apply.variants


@pytest.mark.parametrize("cls", [c for c in CLASSES if c is not Frozen])
def test_attributes_may_be_rebound(cls):
    layer = cls(np.array([1.0, -0.5, 0.25]))
    first = layer.apply(X)
    layer.w = layer.w * 2
    np.testing.assert_allclose(layer.apply(X), first * 2, rtol=1e-15)
    layer.w[:] = 0.0
    assert layer.apply(X) == 0.0


@pytest.mark.parametrize("cls", CLASSES)
def test_instances_are_garbage_collected(cls):
    layer = cls(np.array([1.0, -0.5, 0.25]))
    for _ in range(3):
        layer.apply(X)
    held = weakref.ref(layer), weakref.ref(layer.w)
    del layer
    gc.collect()
    assert [h() for h in held] == [None, None]


def test_a_compiled_method_is_kept_by_its_instance():
    layer = Layer(X)
    for _ in range(5):
        layer.apply(X)
    assert layer.apply is layer.apply
    assert layer.apply.recordings == 1
    assert layer.apply.__name__ == "apply"
    assert layer.apply.__doc__ == "The weighted sum."
    assert layer.unchecked is not layer.apply


def test_the_options_are_those_of_the_decorator():
    layer = Layer(X.copy())
    for _ in range(3):
        np.testing.assert_array_equal(layer.unchecked(X), X * X)
    assert layer.unchecked.options.verifier.checked == 0
    assert tuple(layer.unchecked.options.donate) == (0,)


def test_a_method_called_on_the_class():
    layer = Layer(X)
    np.testing.assert_allclose(Layer.apply(layer, X), X @ X)


def test_two_compiled_methods_of_one_name_in_a_hierarchy():
    layer = Twice(X)
    for _ in range(3):
        np.testing.assert_allclose(layer.apply(X), X @ X * 2, rtol=1e-15)


def test_an_attribute_of_the_class_may_be_rebound(monkeypatch):
    layer = Layer(X)
    first = layer.apply(X)
    monkeypatch.setattr(Layer, "scale", 5.0)
    np.testing.assert_allclose(layer.apply(X), first * 5, rtol=1e-15)


def test_gradients_of_methods():
    layer = Layer(X)
    for _ in range(3):
        np.testing.assert_allclose(cr.grad(layer.apply)(X), X)
        np.testing.assert_allclose(cr.compile(cr.grad(layer.apply))(X), X)


# ---- copies of instances -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
@pytest.mark.parametrize("cls", CLASSES)
def test_a_copy_of_an_instance_computes_with_its_own_attributes(cls, copied):
    layer = cls(np.array([1.0, -0.5, 0.25]))
    before = layer.apply(X)
    other = copied(layer)
    assert other.apply(X) == before
    object.__setattr__(other, "w", other.w * 3)
    np.testing.assert_allclose(other.apply(X), before * 3, rtol=1e-15)
    assert layer.apply(X) == before


@pytest.mark.parametrize("cls", [Data, Frozen])
def test_a_dataclass_stays_what_it_is(cls):
    layer = cls(X)
    layer.apply(X)
    assert list(dataclasses.asdict(layer)) == ["w", "k"]
    assert [f.name for f in dataclasses.fields(layer)] == ["w", "k"]
    assert "apply" not in repr(layer)
    other = dataclasses.replace(layer, k=4.0)
    np.testing.assert_allclose(other.apply(X), layer.apply(X) * 2, rtol=1e-15)


# ---- copies of compiled functions ----------------------------------------------------------------


@cr.compile
def squared(x):
    return x * x + 1


def cubed(x):
    return x**3


fast_cubed = cr.compile(cubed, donate=0, reassociate=True, verify="always")


def test_a_decorated_function_of_a_module_is_pickled_by_its_name():
    squared(X)
    assert pickle.loads(pickle.dumps(squared)) is squared
    assert b"cubed" not in pickle.dumps(squared)


def test_a_compiled_function_under_another_name_is_made_anew():
    other = pickle.loads(pickle.dumps(fast_cubed))
    assert other is not fast_cubed
    assert other.f is cubed
    assert tuple(other.options.donate) == (0,)
    assert other.options.reassociate
    assert other.options.verifier.mode == "always"
    np.testing.assert_array_equal(other(X), fast_cubed(X))


def test_pickling_into_another_process():
    text = f"""
import pickle, numpy as np
f = pickle.loads({pickle.dumps(squared)!r})
print(f(np.array([1.0, 2.0])).tolist(), type(f).__name__, f.recordings)
"""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd="."
    )
    assert done.stdout.strip() == "[2.0, 5.0] Compiled 1", done.stderr


def test_a_lambda_cannot_be_pickled_and_pickle_says_so():
    fast = cr.compile(lambda x: x * 2)
    fast(X)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(fast)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies(copied):
    k = 2.0
    fast = cr.compile(lambda x: x * k if np.sum(x) > 0 else -x)
    fast(X)
    other = copied(fast)
    assert other is not fast
    assert not other.variants
    for x in (X, -X):
        np.testing.assert_array_equal(other(x), fast(x))
    k = 3.0
    np.testing.assert_array_equal(other(X), X * 3)
    assert (fast.recordings, other.recordings) == (2, 3)


def test_a_structure_that_holds_a_compiled_function_is_copied():
    layer = Layer(X)
    layer.activation = cr.compile(np.tanh)
    layer.activation(X)
    other = copy.deepcopy({"layer": layer, "f": squared, "again": layer})
    assert other["again"] is other["layer"]
    np.testing.assert_allclose(other["layer"].activation(X), np.tanh(X), rtol=1e-15)
    np.testing.assert_array_equal(other["f"](X), squared(X))


# ---- methods by way of something else ------------------------------------------------------------


class Model:
    def __init__(self):
        self.w, self.k = X.copy(), 1.0

    @cr.compile
    def compiled(self, x):
        return self.w @ x * self.k

    def method(self, x):
        return self.w @ x * self.k

    def __call__(self, x):
        return self.w @ x * self.k


WAYS = {
    "a method": lambda m: m.method,
    "an object": lambda m: m,
    "a compiled method": lambda m: m.compiled,
    "a compiled function": lambda m: cr.compile(m.method),
    "a partial": lambda m: functools.partial(m.method),
    "a partial with self": lambda m: functools.partial(Model.method, m),
    "a default argument": lambda m: lambda x, f=m.method: f(x),
    "a list": lambda m: lambda x, f=[m.method]: f[0](x),
    "a dict": lambda m: lambda x, f={"a": m.method}: f["a"](x),
    "a closure": lambda m: (lambda f: lambda x: f(x))(m.method),
    "a wrapper": lambda m: functools.wraps(m.method)(lambda *args: m.method(*args)),
    "map": lambda m: lambda x: next(map(m.method, [x])),
    "a compiled method inside": lambda m: lambda x: m.compiled(x),
}
TRANSFORMS = {
    "value": lambda f: f,
    "grad": cr.grad,
    "value_and_grad": cr.value_and_grad,
    "grad inside": lambda f: lambda x: cr.grad(f)(x),
    "jvp": lambda f: lambda x: cr.jvp(f, (x,), (X,)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("way", WAYS)
def test_attributes_are_seen_whatever_the_way_to_the_method(way, transform):
    model = Model()
    fast = cr.compile(TRANSFORMS[transform](WAYS[way](model)))
    plain = TRANSFORMS[transform](model.method)
    for change in range(4):
        if change == 1:
            model.w = model.w * 3
        elif change == 2:
            model.k = 5.0
        elif change == 3:
            model.w[1] = 7.0
        for _ in range(2):
            for found, wanted in zip(flatten(fast(X))[0], flatten(plain(X))[0], strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert not fast.interpreted

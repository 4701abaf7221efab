"""Many ways to read the same thing: functions that take a list, an array or an object whole."""

import bisect
import collections
import copy
import heapq
import inspect
import itertools
import math
import operator
import random
import sys

import numpy as np

from tests.run.outside_kinds.register import V, kind

ALPHA = 2.0


class Box:
    """An object with one value."""

    value = 0.0


def of_a_list(name, read):
    """A kind that reads a list by one function."""

    def make():
        state = [1.0, 0.0, 2.5]
        return lambda x: x * float(read(state)), lambda n: state.__setitem__(1, V[n])

    make.__name__ = f"list_by_{name}"
    kind(make)


def of_an_array(name, read):
    """A kind that reads an array by one function."""

    def make():
        table = np.array([[1.0, 0.0], [2.5, 4.0]])
        return lambda x: x * float(read(table)), lambda n: table.__setitem__((0, 1), V[n])

    make.__name__ = f"array_by_{name}"
    kind(make)


def of_an_object(name, read):
    """A kind that reads an attribute by one function."""

    def make():
        box = Box()
        return lambda x: x * float(read(box)), lambda n: setattr(box, "value", V[n])

    make.__name__ = f"object_by_{name}"
    kind(make)


def in_a_loop(values):
    total = 0.0
    for value in values:
        total = total * 2 + value
    return total


LISTS = {
    "nsmallest": lambda s: heapq.nsmallest(2, s)[1],
    "bisect": lambda s: 1 + bisect.bisect(sorted(s), 2.7),
    "islice": lambda s: next(itertools.islice(s, 1, 2)),
    "counter": lambda s: max(collections.Counter(s)),
    "dict_zip": lambda s: dict(zip("abc", s, strict=True))["b"],
    "str": lambda s: len(str(s)) + float(str(s).split(",")[1]),
    "fsum": math.fsum,
    "prod": lambda s: math.prod(s) + 1,
    "hypot": lambda s: math.hypot(*s),
    "hash_of_a_tuple": lambda s: 1.0 if hash(tuple(s)) == hash((1.0, 3.0, 2.5)) else 2.0,
    "tuple": lambda s: tuple(s)[1],
    "set": lambda s: sum(set(s)),
    "deque": lambda s: collections.deque(s, maxlen=2)[0],
    "copy": lambda s: copy.copy(s)[1],
    "iter_and_next": lambda s: [*iter(s)][1],
    "getitem": lambda s: s.__getitem__(1),
    "class_getitem": lambda s: list.__getitem__(s, 1),
    "length_hint": lambda s: operator.length_hint(s) + s[1],
    "star": lambda s: max(*s),
    "multiplication": lambda s: (s * 2)[4],
    "order": lambda s: 1.0 if s < [1.0, 2.5] else 2.0,
    "random_with_a_seed": lambda s: random.Random(s[1]).random(),
    "pairwise": lambda s: sum(a * b for a, b in itertools.pairwise(s)),
    "starmap": lambda s: sum(itertools.starmap(pow, zip(s, (1, 2, 3), strict=True))),
    "loop": in_a_loop,
    "slice_object": lambda s: s[slice(1, 2)][0],
    "np_max": np.max,
    "np_asarray": lambda s: np.asarray(s)[1],
    "np_stack": lambda s: np.stack([s, s])[0, 1],
    "np_fromiter": lambda s: np.fromiter(s, float)[1],
    "np_interp": lambda s: np.interp(0.5, [0, 1, 2], s),
}
ARRAYS = {
    "sum": lambda t: sum(t)[1],
    "max": lambda t: max(t[0]),
    "list": lambda t: list(t)[-1][0] + list(t)[-2][1],
    "loop": lambda t: in_a_loop(t)[1],
    "unpacking": lambda t: (lambda a, b: a[1] + b[0])(*t),
    "tobytes": lambda t: t.tobytes()[14],
    "memoryview": lambda t: memoryview(t)[0, 1],
    "view": lambda t: t.view(np.int64)[0, 1] / 2**60,
    "astype": lambda t: t.astype(int)[0, 1],
    "copy": lambda t: t.copy()[0, 1],
    "real": lambda t: t.real[0, 1],
    "transposed": lambda t: t.T[1, 0],
    "ravel": lambda t: t.ravel()[1],
    "ravel_of_a_transposed": lambda t: t.T.ravel()[2],
    "flatten": lambda t: t.flatten()[1],
    "reshape_of_a_transposed": lambda t: t.T.reshape(4)[2],
    "flat_loop": lambda t: in_a_loop(t.flat),
    "nditer": lambda t: in_a_loop(float(a) for a in np.nditer(t)),
    "ndenumerate": lambda t: dict(np.ndenumerate(t))[0, 1],
    "nonzero": lambda t: 1 + len(np.nonzero(t > 2.6)[0]),
    "take": lambda t: np.take(t, 1),
    "take_method": lambda t: t.take(1),
    "diagonal": lambda t: np.diagonal(t[::-1])[1],
    "fancy_index": lambda t: t[[0], [1]][0],
    "mask": lambda t: t[np.array([[False, True], [False, False]])][0],
    "ellipsis": lambda t: t[..., 1][0],
    "newaxis": lambda t: t[None][0, 0, 1],
    "item": lambda t: t.item(1),
    "float_of_an_element": lambda t: float(t[0, 1]),
    "float_of_a_view": lambda t: float(t[0, 1:][0]),
    "comparison": lambda t: 1.0 + (t > 2.6).sum(),
    "any": lambda t: 1.0 + np.any(t == 3.0),
    "argsort": lambda t: 1.0 + np.argsort(t[0] - 2.2)[0] + t.argmax() + t[0, 1],
    "einsum": lambda t: np.einsum("ij->", t),
    "matmul": lambda t: (t @ t)[0, 1],
    "power": lambda t: (t**2)[0, 1],
    "negative": lambda t: (-t)[0, 1],
    "ufunc_method": lambda t: np.add.reduce(t)[1],
    "linalg": lambda t: np.linalg.norm(t),
    "digitize": lambda t: 1.0 + np.digitize(2.6, np.sort(t[0])),
    "array_equal": lambda t: 1.0 + np.array_equal(t[0], [1.0, 3.0]),
    "where": lambda t: np.where(t > 2.6, t, 0.0)[0, 1] + 1,
    "split": lambda t: np.split(t, 2)[0][0, 1],
    "dtype_after_reading": lambda t: t.dtype.type(t[0, 1]),
    "class_sum": np.ndarray.sum,
    "f_string": lambda t: f"{t[0, 1]:.2f}",
    "apply_along_axis": lambda t: np.apply_along_axis(sum, 1, t)[0],
    "vectorize": lambda t: np.vectorize(lambda a: a + 1)(t)[0, 1],
    "random_with_a_seed": lambda t: np.random.default_rng(t[0].astype(int)).random(),
}
OBJECTS = {
    "attribute_of_the_class": lambda b: b.__dict__.get("value", b.__class__.value),
    "dict_item": lambda b: b.__dict__["value"],
    "getmembers": lambda b: dict(inspect.getmembers(b))["value"],
    "getattr_static": lambda b: inspect.getattr_static(b, "value"),
    "reduce": lambda b: b.__reduce_ex__(2)[2]["value"],
    "deepcopy": lambda b: copy.deepcopy(b).value,
    "iteration_of_vars": lambda b: in_a_loop(vars(b).values()),
    "repr_of_vars": lambda b: float(repr(vars(b)).split(":")[1][:-1]),
    "match": lambda b: operator.attrgetter("value")(b),
    "getattribute": lambda b: b.__getattribute__("value"),
    "list_in_an_if": lambda b: 1.0 if b.value in (3.0, 4.0) else 2.0,
    "range": lambda b: in_a_loop(range(int(b.value))),
    "slice": lambda b: len("abcdefgh"[: int(b.value)]),
    "shape": lambda b: np.ones(int(b.value)).sum(),
    "conditional_import": lambda b: getattr(math, ("pi", "tau", "e")[int(b.value) % 3]),
    "format": lambda b: format(b.value, ".3f"),
    "divmod": lambda b: sum(divmod(b.value, 2)),
    "ternary": lambda b: 1.0 if b.value > 2.5 else 3.0,
    "and_or": lambda b: (b.value > 2.5 and 4.0) or 1.0,
    "is_not": lambda b: 1.0 if b.value is not V[1] else 3.0,
    "walrus": lambda b: v if (v := b.value) else 1.0,
    "lambda_default": lambda b: (lambda v=b.value: v)(),
    "nested_function": lambda b: [lambda: b.value][0](),
    "dict_comprehension": lambda b: dict.fromkeys("ab", b.value)["a"],
    "exception_message": lambda b: float(str(ValueError(b.value))),
}
for _name, _read in LISTS.items():
    of_a_list(_name, _read)
for _name, _read in ARRAYS.items():
    of_an_array(_name, _read)
for _name, _read in OBJECTS.items():
    of_an_object(_name, _read)


@kind
def global_through_sys_modules():
    change = lambda n: globals().update(ALPHA=V[n])
    return lambda x: x * sys.modules[__name__].ALPHA, change


@kind
def attribute_is_deleted_inside():
    box = Box()

    def f(x):
        found = x * box.value
        if "value" in vars(box):
            del box.value
        return found

    return f, lambda n: setattr(box, "value", V[n]), lambda: dict(vars(box))

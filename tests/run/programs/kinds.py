"""Programs that read a container, an array or an object outside, which is altered between calls."""

import array
import collections
import contextvars
import functools
import operator
import threading
import types

import numpy as np

from tests.run.programs.corpus import stateful

VECTORS = [[1.0, 2.0], [-1.0, 0.5], [2.0, -2.0], [1.0, 2.0]]


class _Cached:
    def __init__(self):
        self.a = 1.0
        self.scale = functools.lru_cache(lambda: self.a)

    def set(self, a):
        self.a = a
        self.scale.cache_clear()


# How the state is made, what the function does with it, what alters it before the k-th call.
KINDS = {
    "dict_value": (
        lambda: {"alpha": 1.0},
        lambda s, x: x * s["alpha"],
        lambda s, k: s.update(alpha=1.0 + k),
    ),
    "dict_by_get": (
        lambda: {},
        lambda s, x: x * s.get("alpha", 1.0),
        lambda s, k: s.update(alpha=1.0 + k),
    ),
    "dict_membership_outside": (
        lambda: {},
        lambda s, x: x * (2 if "on" in s else 3),
        lambda s, k: s.update(on=1) if k % 2 else s.clear(),
    ),
    "dict_length_outside": (lambda: {}, lambda s, x: x * len(s), lambda s, k: s.update({k: 1})),
    "dict_iterated_outside": (
        lambda: {"a": 1.0},
        lambda s, x: sum((x * v for v in s.values()), 0.0),
        lambda s, k: s.update({str(k): 1.0 + k}),
    ),
    "dict_unpacked": (
        lambda: {"scale": 1.0},
        lambda s, x: (lambda x, scale: x * scale)(x, **s),
        lambda s, k: s.update(scale=1.0 + k),
    ),
    "dict_of_functions": (
        lambda: {"act": np.sin},
        lambda s, x: s["act"](x),
        lambda s, k: s.update(act=np.cos if k % 2 else np.sin),
    ),
    "nested_config": (
        lambda: {"a": {"b": {"c": {"d": {"e": {"f": 1.0}}}}}},
        lambda s, x: x * s["a"]["b"]["c"]["d"]["e"]["f"],
        lambda s, k: s["a"]["b"]["c"]["d"]["e"].update(f=1.0 + k),
    ),
    "list_element": (lambda: [1.0], lambda s, x: x * s[0], lambda s, k: s.__setitem__(0, 1.0 + k)),
    "list_appended": (lambda: [1.0], lambda s, x: x * sum(s), lambda s, k: s.append(k)),
    "list_of_arrays": (
        lambda: [np.ones(2), np.ones(2)],
        lambda s, x: x * s[0] + s[1],
        lambda s, k: s.__setitem__(k % 2, np.full(2, 1.0 + k)),
    ),
    "list_of_arrays_written": (
        lambda: [np.ones(2), np.ones(2)],
        lambda s, x: x * s[0].sum() + s[1],
        lambda s, k: s[k % 2].__setitem__(0, 1.0 + k),
    ),
    "list_length_outside": (lambda: [1.0], lambda s, x: x * len(s), lambda s, k: s.append(k)),
    "list_sorted_outside": (
        lambda: [1.0],
        lambda s, x: x * sorted(s)[0],
        lambda s, k: s.append(-k),
    ),
    "set_membership": (lambda: {1}, lambda s, x: x * (2 if 2 in s else 3), lambda s, k: s.add(k)),
    "deque_read": (
        lambda: collections.deque([1.0]),
        lambda s, x: x * s[-1],
        lambda s, k: s.append(1.0 + k),
    ),
    "user_dict": (
        lambda: collections.UserDict(a=1.0),
        lambda s, x: x * s["a"],
        lambda s, k: s.update(a=1.0 + k),
    ),
    "chain_map": (
        lambda: collections.ChainMap({}, {"a": 1.0}),
        lambda s, x: x * s["a"],
        lambda s, k: s.maps[k % 2].update(a=1.0 + k),
    ),
    "ordered_dict": (
        lambda: collections.OrderedDict(a=1.0, b=2.0),
        lambda s, x: x * next(iter(s.values())),
        lambda s, k: s.move_to_end(next(iter(s))),
    ),
    "default_dict_outside": (
        lambda: collections.defaultdict(lambda: 1.0, a=2.0),
        lambda s, x: x * s["a"],
        lambda s, k: s.update(a=1.0 + k),
    ),
    "namespace": (
        lambda: types.SimpleNamespace(a=1.0),
        lambda s, x: x * s.a,
        lambda s, k: setattr(s, "a", 1.0 + k),
    ),
    "namespace_nested": (
        lambda: types.SimpleNamespace(a=types.SimpleNamespace(b=[1.0])),
        lambda s, x: x * s.a.b[0],
        lambda s, k: s.a.b.__setitem__(0, 1.0 + k),
    ),
    "namespace_flag": (
        lambda: types.SimpleNamespace(training=True),
        lambda s, x: x * 2 if s.training else x * 3,
        lambda s, k: setattr(s, "training", not s.training),
    ),
    "namespace_by_attrgetter": (
        lambda: types.SimpleNamespace(a=1.0),
        lambda s, x: x * operator.attrgetter("a")(s),
        lambda s, k: setattr(s, "a", 1.0 + k),
    ),
    "namespace_by_vars": (
        lambda: types.SimpleNamespace(a=1.0),
        lambda s, x: x * vars(s)["a"],
        lambda s, k: setattr(s, "a", 1.0 + k),
    ),
    "namespace_dict_attribute": (
        lambda: types.SimpleNamespace(a=1.0),
        lambda s, x: x * s.__dict__["a"],
        lambda s, k: s.__dict__.update(a=1.0 + k),
    ),
    "array_written": (
        lambda: np.ones(2),
        lambda s, x: x * s,
        lambda s, k: s.__setitem__(0, 1.0 + k),
    ),
    "array_max": (
        lambda: np.ones(2),
        lambda s, x: x * s.max(),
        lambda s, k: s.__setitem__(0, 1.0 + k),
    ),
    "array_branch": (
        lambda: np.ones(2),
        lambda s, x: x * 2 if s[0] > 2.5 else x * 3,
        lambda s, k: s.__setitem__(0, 1.0 + k),
    ),
    "array_large": (
        lambda: np.ones(10_000),
        lambda s, x: x.sum() * s.max() + np.sum(s[:2] * x),
        lambda s, k: s.__setitem__(5003, 10.0**k),
    ),
    "array_large_shuffled": (
        lambda: np.arange(4096.0).reshape(4, 1024),
        lambda s, x: x * float(s[0, 0] - s[2, 5]),
        lambda s, k: s.__setitem__(slice(None), s[[1, 2, 3, 0]]),
    ),
    "array_mask_outside": (
        lambda: np.array([True, True]),
        lambda s, x: x[s].sum(),
        lambda s, k: s.__setitem__(0, k % 2 == 0),
    ),
    "array_index_outside": (
        lambda: np.array([0, 0]),
        lambda s, x: x[s] * 2,
        lambda s, k: s.__setitem__(0, k % 2),
    ),
    "array_as_loop": (
        lambda: np.array([1, 2]),
        lambda s, x: sum(x * int(n) for n in s),
        lambda s, k: s.__setitem__(0, k),
    ),
    "array_of_python": (
        lambda: array.array("d", [1.0, 2.0]),
        lambda s, x: x * s[0],
        lambda s, k: s.__setitem__(0, 1.0 + k),
    ),
    "bytearray_read": (
        lambda: bytearray(b"ab"),
        lambda s, x: x * s[0],
        lambda s, k: s.__setitem__(0, 60 + k),
    ),
    "memoryview_read": (
        lambda: memoryview(bytearray(b"ab")),
        lambda s, x: x * s[0],
        lambda s, k: s.__setitem__(0, 60 + k),
    ),
    "context_variable": (
        lambda: contextvars.ContextVar("scale", default=1.0),
        lambda s, x: x * s.get(),
        lambda s, k: s.set(1.0 + k),
    ),
    "thread_local": (
        threading.local,
        lambda s, x: x * getattr(s, "a", 1.0),
        lambda s, k: setattr(s, "a", 1.0 + k),
    ),
    "partial_outside": (
        lambda: [functools.partial(np.multiply, 1.0)],
        lambda s, x: s[0](x),
        lambda s, k: s.__setitem__(0, functools.partial(np.multiply, 1.0 + k)),
    ),
    "string_setting": (
        lambda: {"mode": "l1"},
        lambda s, x: np.abs(x).sum() if s["mode"] == "l1" else (x * x).sum(),
        lambda s, k: s.update(mode="l2" if k % 2 else "l1"),
    ),
    "none_setting": (
        lambda: {"clip": None},
        lambda s, x: x if s["clip"] is None else np.clip(x, -s["clip"], s["clip"]),
        lambda s, k: s.update(clip=0.5 * k if k % 2 else None),
    ),
    "cache_of_outside": (
        lambda: _Cached(),
        lambda s, x: x * s.scale(),
        lambda s, k: s.set(1.0 + k),
    ),
}


for _name, (_build, _read, _change) in KINDS.items():

    def _make(build=_build, read=_read, change=_change):
        state = build()
        return (lambda x: read(state, x)), (lambda k: change(state, k))

    _make.__name__ = _name
    stateful(*VECTORS)(_make)

"""Programs of containers, keywords, defaults, and numbers of Python beside arrays."""

import numpy as np

from tests.run.programs.corpus import function, functions, kw

A, B, C = np.array([1.0, 2.0]), np.array([3.0, -4.0]), np.array([[1.0, 2.0], [3.0, 4.0]])


def _weighted(values):
    return sum((np.sum(v) * (k + 1) for k, v in enumerate(values)), 0.0)


functions(
    [kw(a=1.0, b=2.0), kw(b=2.0, a=1.0), kw(a=3.0), kw(c=1.0, a=2.0, b=5.0)],
    grad=False,
    kwargs_order=lambda **p: _weighted(p.values()),
    kwargs_keys=lambda **p: ",".join(p),
    kwargs_items=lambda **p: [v * len(k) for k, v in p.items()],
    kwargs_sorted=lambda **p: _weighted(p[k] for k in sorted(p)),
    kwargs_first=lambda **p: next(iter(p.values())) * 2,
    kwargs_copied=lambda **p: {**p, "z": 1.0},
    kwargs_length=lambda **p: len(p) * p["a"],
)
functions(
    [kw({"a": A, "b": B}), kw({"b": B, "a": A}), kw({"a": B}), kw({"c": A, "a": B, "b": A})],
    dict_order=lambda d: _weighted(d.values()),
    dict_keys=lambda d: (_weighted(d.values()), len("".join(d))),
    dict_returned=lambda d: {k: v * 2 for k, v in d.items()},
    dict_sorted=lambda d: _weighted(d[k] for k in sorted(d)),
    dict_get_default=lambda d: d["a"] + d.get("b", 10.0),
    dict_membership=lambda d: d["a"] * (2 if "b" in d else 3),
    dict_merged=lambda d: {**d, "n": d["a"].sum()},
    dict_popped=lambda d: _popped(dict(d)),
    dict_reversed=lambda d: _weighted(d[k] for k in reversed(d)),
)


def _popped(d):
    _, last = d.popitem()
    return last * len(d)


functions(
    [(A, B), (A,), (A, B, A), ()],
    grad=False,
    varargs=lambda *xs: _weighted(xs),
    varargs_length=lambda *xs: len(xs) * _weighted(xs),
    varargs_last=lambda *xs: xs[-1] * 2,
    varargs_stacked=lambda *xs: np.stack(xs).sum(axis=0),
)
functions(
    [kw([A, B]), kw([A]), kw([B, A, A]), kw([B, A])],
    list_weighted=lambda xs: _weighted(xs),
    list_returned=lambda xs: [x * 2 for x in xs],
    list_reversed=lambda xs: xs[::-1],
    list_first_last=lambda xs: (xs[0], xs[-1]),
    list_length=lambda xs: xs[0] / len(xs),
    list_sorted=lambda xs: _weighted(sorted(xs, key=lambda v: v.sum())),
    list_largest=lambda xs: max(xs, key=np.sum) * 2,
    list_filtered=lambda xs: [x for x in xs if x.sum() > 0],
    list_concatenated=lambda xs: np.concatenate(xs),
    list_as_tuple=lambda xs: tuple(xs),
)
functions(
    [kw(A, None), kw(A, B), kw(B, None), kw(A, 2.0)],
    none_argument=lambda x, y: x if y is None else x * y,
    none_returned=lambda x, y: (x, None if y is None else y),
    none_or=lambda x, y: x * (3.0 if y is None else np.sum(y)),
)
functions(
    [kw(A), kw(A, scale=3.0), kw(A, 4.0), kw(A, scale=2.0, flip=True)],
    grad=False,
    defaults=lambda x, scale=2.0, flip=False: -x * scale if flip else x * scale,
    keyword_only=lambda x, scale=2.0, *, flip=False: x / scale if flip else x + scale,
    kwargs_passed_on=lambda x, *a, **k: (lambda v, scale=1.0, flip=None: (v * scale, flip))(
        x, *a, **k
    ),
)
functions(
    [kw(2), kw(2.0), kw(3), kw(np.float64(2.0)), kw(True)],
    grad=False,
    typed=True,
    int_or_float_half=lambda n: n / 2,
    int_or_float_floor=lambda n: n // 2,
    int_or_float_times=lambda n: n * A,
    int_or_float_power=lambda n: A**n,
    int_or_float_branch=lambda n: A * 2 if isinstance(n, int) else A * 3,
    int_or_float_text=lambda n: len(str(n)) * A,
    int_or_float_type_name=lambda n: type(n).__name__ in ("int", "bool"),
    int_or_float_returned=lambda n: n,
    int_or_float_sum=lambda n: n + 1,
)
functions(
    [kw(5, A), kw(2, A), kw(0, B), kw(5, B)],
    grad=False,
    int_range=lambda n, x: [x * k for k in range(n)],
    int_index=lambda n, x: x[n % 2] * n,
    int_slice=lambda n, x: x[:n] * 2,
    int_shape=lambda n, x: np.ones((n, 2)) * x,
    int_power=lambda n, x: x**n,
    int_repeat=lambda n, x: np.tile(x, n),
    int_comparison=lambda n, x: x if n > 3 else -x,
    int_division=lambda n, x: x * (n // 2) + n % 3,
    int_divided=lambda n, x: x / (n + 1),
)
functions(
    [kw("l1", A), kw("l2", A), kw("l1", B), kw("max", B)],
    grad=False,
    string_option=lambda o, x: {"l1": np.abs(x).sum(), "l2": (x * x).sum(), "max": x.max()}[o],
    string_length=lambda o, x: x * len(o),
    string_returned=lambda o, x: {"option": o, "value": x * 2},
    string_formatted=lambda o, x: f"{o}:{x.sum():.1f}",
)


@function(
    kw({"w": [C, A], "b": (B, {"s": 2.0})}),
    kw({"w": [C, B], "b": (A, {"s": 3.0})}),
    kw({"w": [C * 2, A], "b": (B, {"s": -1.0})}),
)
def nested_containers(p):
    (w, v), (b, rest) = p["w"], p["b"]
    hidden = w @ v + b
    return {"out": [hidden * rest["s"]], "positive": hidden[hidden > 0].sum()}


@function(
    kw([{"w": C, "b": A}, {"w": C.T, "b": B}], A),
    kw([{"w": C, "b": B}], A),
    kw([{"w": C, "b": A}, {"w": C.T, "b": B}], B),
)
def layers(params, x):
    for k, layer in enumerate(params):
        x = layer["w"] @ x + layer["b"]
        if k + 1 < len(params):
            x = np.maximum(x, 0.0)
    return x


@function(kw(A, (1, 2)), kw(A, (2, 1)), kw(B, (1, 2)), grad=False)
def shape_argument(x, shape):
    return x.reshape(shape) * 2


@function(kw(C, 0), kw(C, 1), kw(C, None), kw(C, -1), grad=False)
def axis_argument(x, axis):
    return np.sum(x, axis=axis)


@function(kw(C, slice(0, 1)), kw(C, slice(None)), kw(C, slice(1, 2)), grad=False)
def slice_argument(x, part):
    return x[part].sum()


@function(kw(A, np.sin), kw(A, np.cos), kw(B, np.sin), grad=False)
def function_argument(x, f):
    return f(x) * 2


@function(kw(A, "float32"), kw(A, "float64"), kw(B, "float32"), grad=False)
def dtype_argument(x, dtype):
    return x.astype(dtype) * 2


@function(kw(A, [0, 1]), kw(A, [1, 1, 0]), kw(B, [1]))
def index_array_argument(x, at):
    return x[at.astype(int)] * 2


@function(kw(A, {"a", "b"}), kw(A, {"b"}), kw(B, {"b", "a"}), grad=False)
def set_argument(x, names):
    return x * len(names)


@function(
    kw(A, 1, 2.5, True, None, "s"), kw(A, 1, 2.5, False, None, "s"), kw(B, 2, 0.5, True, 1, "t")
)
def all_kinds(x, n, t, flag, nothing, text):
    y = x * n + t if flag else x
    return (y, flag, text) if nothing is None else [y, len(text)]

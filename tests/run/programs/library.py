"""Programs that hand values to the standard library and to NumPy's helpers."""

import bisect
import copy
import dataclasses
import decimal
import functools
import heapq
import itertools
import json
import math
import operator
import statistics
import struct

import numpy as np

from tests.run.programs.corpus import function, functions, stateful

VECTORS = [[1.0, 2.0, -1.0], [-1.0, 3.0, -2.0], [-3.0, -2.0, -1.0], [2.5, 2.0, 3.0]]
NUMBERS = [1.5, -2.0, 0.25, 30.0]

functions(
    VECTORS,
    statistics_mean=lambda x: statistics.fmean(x) * x,
    statistics_median=lambda x: statistics.median(x) * 2,
    math_prod=lambda x: math.prod(x) * 2,
    sum_builtin=lambda x: sum(x) * 2,
    heap_largest=lambda x: sum(heapq.nlargest(2, x)),
    heap_popped=lambda x: heapq.heappop(_heap(x)) * 2,
    bisect_left=lambda x: bisect.bisect_left([-1.5, 0.0, 1.5], x[0]) * x,
    min_default=lambda x: min((v for v in x if v > 2.2), default=x[0]),
    sorted_by_comparison=lambda x: (
        sorted(x, key=functools.cmp_to_key(lambda a, b: 1 if a > b else -1))[0] * 2
    ),
    zip_transposed=lambda x: [a * b for a, b in zip(*[x, x[::-1]], strict=True)],
    pairwise=lambda x: sum(b - a for a, b in itertools.pairwise(x) if b > a) + x[0],
    chained=lambda x: sum(v for v in itertools.chain(x[:1], x[1:][x[1:] > 0])),
    product_of_signs=lambda x: functools.reduce(operator.mul, (1 if v > 0 else -2 for v in x)) * x,
    copied=lambda x: copy.copy(x) * 2,
    deep_copied=lambda x: copy.deepcopy({"x": x})["x"] * 2,
    json_text=lambda x: x * len(json.dumps([float(v) for v in x])),
    packed=lambda x: x * struct.unpack("d", struct.pack("d", x[0]))[0],
    operator_gt=lambda x: x if operator.gt(x[0], 0) else x * 2,
    dunder_gt=lambda x: x if x[0].__gt__(0) else x * 2,
    dunder_len=lambda x: x[x > 0].__len__() * x,
    method_by_name=lambda x: getattr(x[x > -1.5], "sum" if x[0] > 0 else "prod")(),
    identical=lambda x: x if x is x[:] else x * 2,
    evaluated=lambda x: eval("x * 2 if x[0] > 0 else x * 3", {"x": x}),  # noqa: S307 - a door
    local_names=lambda x: locals()["x"] * (2 if locals()["x"][0] > 0 else 3),
    nd_enumerated=lambda x: sum(i * v for (i,), v in np.ndenumerate(x) if v > 0) + x[0],
    vectorised=lambda x: np.vectorize(lambda v: v**2 if v > 0 else -v, otypes=[float])(x),
    along_axis=lambda x: np.apply_along_axis(lambda r: r[r > 0].sum(), 0, x),
    from_function=lambda x: np.fromfunction(lambda i: i * 2.0, (3,)) * x,
    ediff=lambda x: np.ediff1d(x[x > -1.5]),
    gradient_of=lambda x: np.gradient(x) * 2,
    convolved=lambda x: np.convolve(x, [1.0, 0.5]),
    convolved_picked=lambda x: np.convolve(x[x > -1.5], [1.0, 0.5]),
    cumulated_picked=lambda x: np.cumsum(x[x > -1.5])[-1],
    broadcast_picked=lambda x: np.broadcast_to(x[x > 2.2], (2, int((x > 2.2).sum()))).sum() + x[0],
    meshed_picked=lambda x: np.meshgrid(x[x > 0], x)[0].sum(),
    tensordot_picked=lambda x: np.tensordot(x[x > 0], x[x > 0], axes=1),
    einsum_picked=lambda x: np.einsum("i,i->", x[x > 0], x[x > 0]),
    stacked_picked=lambda x: np.vstack([x[x > 0], x[x > 0] * 2]).T,
    masked_array_mean=lambda x: np.average(x, weights=(x > 0) + 0.5),
    average_picked=lambda x: np.average(x[x > -1.5]),
    logsumexp_picked=lambda x: np.log(np.sum(np.exp(x[x > -1.5]))),
    argmax_picked=lambda x: x[np.flatnonzero(x > -1.5)[np.argmax(x[x > -1.5])]] * 2,
    packed_bits=lambda x: int("".join(str(int(v > 0)) for v in x), 2) * x,
    any_of_array_or=lambda x: x * ((x > 2.2).any() or 5),
    size_of_axis=lambda x: np.size(x[x > 0], 0) * x,
    shape_of_picked=lambda x: np.shape(x[x > 0])[0] * x,
    ndim_of_picked=lambda x: np.ndim(x[x > 0]) * x,
    empty_like_picked=lambda x: np.zeros_like(x[x > 0]) + 1.0,
    ones_by_count=lambda x: np.ones(np.count_nonzero(x > 0)) * x[0],
    arange_of_picked=lambda x: np.arange(x[x > 0].size) * x[0],
    diag_of_picked=lambda x: np.diag(x[x > 0]).sum(axis=0),
    split_in_parts=lambda x: [p.sum() for p in np.array_split(x, 1 + int(x[0] > 0))],
    insert_at=lambda x: np.insert(x, int(np.argmax(x)), 9.0),
    append_picked=lambda x: np.append(x, x[x > 2.2]),
    resize_by_count=lambda x: np.resize(x, 2 + int((x > 0).sum())),
)


def _heap(x):
    heap = list(x)
    heapq.heapify(heap)
    return heap


functions(
    NUMBERS,
    decimal_of=lambda t: float(decimal.Decimal(float(t)).quantize(decimal.Decimal("0.1"))) * t,
    length_of_int=lambda t: len(str(int(t))) * t,
    power_of_two=lambda t: t * 2 ** int(abs(t) > 1),
    nextafter=lambda t: t if math.nextafter(t, 100.0) > t else 0.0,
    frexp=lambda t: math.frexp(t)[1] * t,
    gcd=lambda t: math.gcd(int(t), 6) * t,
    comb=lambda t: math.comb(5, min(5, int(abs(t)))) * t,
    isfinite=lambda t: t if math.isfinite(t) and t > 0 else -t,
    negative_zero=lambda t: math.copysign(1.0, t * 0.0) * 3 + t,
    int_division_loop=lambda t: sum(1 for _ in range(int(abs(t)) // 2)) * t,
    slice_by_value=lambda t: np.arange(10.0)[: int(abs(t))].sum() + t,
    index_by_value=lambda t: np.arange(40.0)[int(abs(t))] * t,
    linspace_count=lambda t: np.linspace(0.0, 1.0, 2 + int(abs(t) > 1)) * t,
    typed_pattern=lambda t: _matched(t),
    dispatched=lambda t: _dispatched(t),
    typed=True,
)


def _matched(t):
    match t:
        case float():
            return t * 2
        case _:
            return t * 3


@functools.singledispatch
def _dispatched(t):
    return t * 3


@_dispatched.register
def _(t: float):
    return t * 2


@dataclasses.dataclass(frozen=True)
class Point:
    a: object
    b: object = 2.0


@function(*NUMBERS)
def replaced_field(t):
    p = dataclasses.replace(Point(t), b=3.0 if t > 0 else 4.0)
    return p.a * p.b


@function(*NUMBERS)
def fields_as_dict(t):
    return sum(dataclasses.asdict(Point(t, t * 2 if t > 1 else 1.0)).values())


@function(*VECTORS)
def memo_by_values(x):
    memo = {}
    for part in (x, x[::-1], x):
        key = tuple(float(v) for v in part)
        memo[key] = memo.get(key, 0) + 1
    return x * len(memo)


@stateful(*VECTORS)
def print_options():
    old = np.get_printoptions()

    def f(x):
        return x * len(np.array2string(x))

    def change(k):
        np.set_printoptions(**{**old, "precision": 1 + k} if k < 4 else old)

    return f, change


@stateful(*VECTORS)
def builtin_shadowed():
    space = {"np": np}
    exec("def f(x):\n    return x * abs(-2)", space)  # noqa: S102 - a module of its own
    return space["f"], lambda k: space.__setitem__("abs", lambda v: v * k)

"""Programs that turn values into text, numbers of Python, keys and lists, and read them."""

import math
from fractions import Fraction

import numpy as np

from tests.run.programs.corpus import function, functions

VECTORS = [[1.26, 2.0, -1.0], [-1.5, 3.1, -1.0], [0.2, -2.0, -3.0], [1.31, 2.0, 3.0]]
NUMBERS = [1.3, -2.5, 0.2, 1.4]

functions(
    VECTORS,
    typed=True,
    text_fixed=lambda x: x.sum() * len(f"{x[0]:.1f}"),
    text_compared=lambda x: x.sum() if f"{x[0]:.1f}" == "1.3" else x.prod(),
    text_of_array=lambda x: x.sum() * len(str(x)),
    text_repr=lambda x: x.sum() * len(repr(x.sum())),
    text_array2string=lambda x: x.sum() * len(np.array2string(x, precision=2)),
    text_array_str=lambda x: x.sum() * len(np.array_str(x)),
    text_array_repr=lambda x: x.sum() * len(np.array_repr(x)),
    text_percent=lambda x: x.sum() if "%.0f" % x[0] == "1" else x.prod(),  # noqa: UP031 - a door
    text_percent_s=lambda x: x.sum() * len("%s" % x[0]),  # noqa: UP031 - a door
    text_percent_d=lambda x: x.sum() * int("%d" % x[1]),  # noqa: UP031 - a door
    text_format_method=lambda x: x.sum() * len("{:.3g}".format(x[0])),  # noqa: UP032 - a door
    text_format_builtin=lambda x: x.sum() * len(format(x[0], "+.2f")),
    text_startswith=lambda x: x.sum() if str(x[0]).startswith("-") else x.prod(),
    text_conversion=lambda x: x.sum() * len(f"{x[1]!s}"),
    text_join=lambda x: x.sum() * len(",".join(str(v) for v in x)),
    text_join_map=lambda x: x.sum() * len(",".join(map(str, x.tolist()))),
    text_split=lambda x: sum(float(t) for t in f"{x[0]:.1f} {x[1]:.1f}".split()) * x,
    text_in=lambda x: x.sum() if "e" in f"{x[0]:.1e}" and "-" in str(x[2]) else x.prod(),
    text_ascii=lambda x: x.sum() * len(ascii(x[0])),
    text_scientific=lambda x: np.format_float_scientific(x[0], precision=1) and x.sum(),
)

functions(
    NUMBERS,
    int_of=lambda t: t * int(t),
    float_of=lambda t: t * float(t),
    bool_of=lambda t: t if bool(t > 0) else t * 2,
    truth_of_number=lambda t: t if t else t * 2,
    not_of=lambda t: t if not t > 1 else t * 2,
    round_of=lambda t: t * round(t),
    round_digits=lambda t: round(t, 1) * 2,
    math_floor=lambda t: t * math.floor(t),
    math_ceil=lambda t: t * math.ceil(t),
    math_trunc=lambda t: t * math.trunc(t),
    math_isclose=lambda t: t if math.isclose(t, 1.3, rel_tol=0.01) else t * 2,
    math_sin=lambda t: t * math.sin(t),
    math_isnan=lambda t: t if not math.isnan(t) else 0.0,
    math_copysign=lambda t: t * math.copysign(1.0, t),
    math_hypot=lambda t: t * math.hypot(t, 3.0),
    math_fsum=lambda t: t * math.fsum([t, 1.0]),
    np_floor_int=lambda t: t * int(np.floor(t)),
    np_round_int=lambda t: t * int(np.round(t)),
    divmod_of=lambda t: divmod(t, 1.0),
    modulo_branch=lambda t: t if t % 1 < 0.35 else t * 2,
    floor_division=lambda t: t * (t // 1),
    abs_of=lambda t: abs(t) * 2,
    pow_of=lambda t: pow(t, 2) + t**3,
    complex_of=lambda t: abs(complex(t, 1.0)) * t,
    range_of=lambda t: sum((t * k for k in range(int(abs(t)) + 1)), 0.0),
    index_list=lambda t: [1.0, 2.0, 3.0, 4.0][int(abs(t))] * t,
    index_string=lambda t: t if "abcd"[int(abs(t))] == "b" else t * 2,
    multiply_list=lambda t: len([1] * (int(abs(t)) + 1)) * t,
    key_of_float=lambda t: {1.3: 10.0, 0.2: 20.0}.get(float(t), 1.0) * t,
    key_of_bool=lambda t: {True: 10.0, False: 20.0}[bool(t > 0)] * t,
    member_of_tuple=lambda t: t if t in (1.3, 0.2) else t * 2,
    sum_of_digits=lambda t: t * sum(int(c) for c in f"{abs(t):.1f}" if c.isdigit()),
    as_integer_ratio=lambda t: t * float(t).as_integer_ratio()[1],
    is_integer=lambda t: t if float(t * 10 // 1).is_integer() else 0.0,
    fraction_of=lambda t: t * Fraction(float(t)).limit_denominator(10).denominator,
    hex_of=lambda t: t * len(float(t).hex()),
    bit_operations=lambda t: t * (int(abs(t)) & 1),
    chained_comparison=lambda t: t if 0 < t < 1.35 else t * 2,
    max_builtin=lambda t: max(t, 1.35) * 2,
    min_builtin=lambda t: min(t, 0.5, t * 2),
    sign_branch=lambda t: t if np.sign(t) == 1 else t * 2,
    identity_of_type=lambda t: t * (2 if float(t) is not None else 3),
)

# A Variable is hashed by what it is, not by its value.
functions(
    NUMBERS,
    typed=True,
    hash_of=lambda t: t if hash(t) == hash(1.3) else t * 2,
    key_of_value=lambda t: {1.3: 10.0, 0.2: 20.0}.get(t, 1.0) * t,
    key_of_rounded=lambda t: {1: 10.0, 0: 20.0}.get(round(t), 1.0) * t,
    member_of_set=lambda t: t if t in {1.3, 0.2} else t * 2,
)

functions(
    VECTORS,
    tolist_sum=lambda x: sum(x.tolist()) * x[0],
    tolist_branch=lambda x: x.sum() if max(x.tolist()) > 2.5 else x.prod(),
    tolist_sorted=lambda x: sorted(x.tolist())[0] * x,
    tolist_index=lambda x: x[x.tolist().index(max(x.tolist()))] * 2,
    item_of=lambda x: x.sum() * x[0].item(),
    item_of_sum=lambda x: x * x.sum().item(),
    item_at=lambda x: x * x.item(1),
    asarray_of=lambda x: np.asarray(x) * 2,
    array_of=lambda x: np.array(x) * 2,
    array_of_list=lambda x: np.array([x[0], x[1] * 2]),
    array_of_floats=lambda x: np.array([float(v) for v in x]) * x,
    asarray_of_list=lambda x: np.asarray([x[2], x[1]]).sum(),
    array_of_tuple=lambda x: np.array((x[0], 1.0, x[1])) * 2,
    array_of_nested=lambda x: np.array([[x[0], 0.0], [0.0, x[1]]]) @ np.array([1.0, 2.0]),
    array_of_ints=lambda x: np.array([int(v) for v in x]) * x,
    array_of_bools=lambda x: np.array([v > 0 for v in x]) * x,
    fromiter_of=lambda x: np.fromiter((v * 2 for v in x), float),
    astype_int=lambda x: x * x.astype(int),
    astype_bool=lambda x: x * (x > 0).astype(float),
    list_of=lambda x: list(x)[0] * 2,
    tuple_of=lambda x: tuple(x),
    len_of=lambda x: x.sum() / len(x),
    star_unpacked=lambda x: (lambda a, *rest: a * sum(rest))(*x),
    unpacked=lambda x: (lambda abc: abc[0] * abc[1] - abc[2])(tuple(x)),
    dict_from_values=lambda x: {k: v * 2 for k, v in zip("abc", x, strict=True)},
    key_from_rounded=lambda x: {int(v): v * 2 for v in x},
    keys_from_values=lambda x: len({round(float(v)) for v in x}) * x.sum(),
    float_of_sum=lambda x: float(x.sum()) * x,
    bool_of_sum=lambda x: x if bool(x.sum() > 2) else -x,
    truth_of_any=lambda x: x if (x > 3).any() else -x,
    ndarray_copy=lambda x: x.copy() * 2,
    iterated_rows=lambda x: [r.sum() for r in x.reshape(3, 1)],
    real_and_imag=lambda x: x.real + x.imag,
    flat_iterated=lambda x: sum(v * k for k, v in enumerate(x.flat)),
    ravel_read=lambda x: x.ravel()[0] * x.reshape(-1)[1],
    number_of_bits=lambda x: x * int(np.abs(x[1])).bit_length(),
)


@function(*VECTORS)
def cache_by_value(x):
    seen = {}
    for v in x:
        seen.setdefault(v > 0, []).append(v)
    return {str(k): sum(vs) for k, vs in sorted(seen.items())}


@function(*VECTORS)
def sign_pattern(x):
    pattern = "".join("+" if v > 0 else "-" for v in x)
    return x.sum() * {"++-": 1.0, "-+-": 2.0, "+--": 3.0}.get(pattern, 4.0)


@function(*VECTORS)
def bucketed(x):
    buckets = [0.0] * 4
    for v in x:
        k = min(3, int(abs(v)))
        buckets[k] = buckets[k] + v
    return buckets


@function(*VECTORS)
def formatted_table(x):
    lines = [f"{i}: {v:+.1f}" for i, v in enumerate(x)]
    width = max(map(len, lines))
    return x * sum(len(line) == width and "+" in line for line in lines)

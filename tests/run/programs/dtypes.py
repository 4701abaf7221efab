"""Programs of every type of number, alone and mixed, beside numbers of Python."""

import math

import numpy as np

from tests.run.programs.corpus import function, functions, kw

BASE = [[1.0, 2.0, -1.5], [-1.0, 3.0, 0.5], [0.25, -2.0, 4.0]]


def _of(dtype):
    return [np.array(v).astype(dtype) for v in BASE]


def _mixed(a, b):
    return [(x, y) for x, y in zip(_of(a), _of(b)[::-1], strict=True)]


def _beside(dtype, *numbers):
    return [(x, n) for x, n in zip(_of(dtype), numbers, strict=True)]


for _name in ("float32", "float16", "complex64", "complex128", "int64", "int32", "uint8", ">f8"):
    _tag = "big_endian" if _name == ">f8" else _name
    functions(
        _of(_name),
        grad=_name in ("float32", "float16", "complex128", ">f8"),
        **{
            f"{_tag}_times_float": lambda x: x * 2.5,
            f"{_tag}_plus_int": lambda x: x + 1,
            f"{_tag}_divided": lambda x: x / 2,
            f"{_tag}_power": lambda x: x**2,
            f"{_tag}_sum": lambda x: np.sum(x) * 1.5,
            f"{_tag}_mean": lambda x: np.mean(x),
            f"{_tag}_mask": lambda x: x[np.real(x) > 0] * 2,
        },
    )
    functions(
        _beside(_name, 2.0, 0.5, -1.0),
        grad=False,
        **{
            f"{_tag}_beside_float": lambda x, t: x * t + 1.0,
            f"{_tag}_beside_float_divided": lambda x, t: x / t,
            f"{_tag}_beside_float_number": lambda x, t: (x[0] * t, x.sum() + t),
        },
    )

for _name in ("float32", "complex64", "float16", ">f4", ">f8", "longdouble"):
    _tag = _name.replace(">", "big_endian_")
    functions(
        _beside(_name, 2, 3, -1),
        grad=False,
        **{
            f"{_tag}_beside_int": lambda x, n: x * n + 1,
            f"{_tag}_beside_int_power": lambda x, n: np.abs(x) ** (n + 1),
        },
    )

# A number of Python's that is the whole result, beside float32 arrays that only decide.
functions(
    _beside("float32", 0.5, -0.25, 0.7),
    grad=False,
    float32_decides_truth=lambda x, t: t if np.sum(x) else -t,
    float32_whole_part=lambda x, t: t + int(np.sum(x)),
    float32_mean_whole_part=lambda x, t: t + int(np.mean(x)),
    float32_product_whole_part=lambda x, t: np.tanh(t) + int(x @ x),
    float32_own_whole_part=lambda x, t: np.tanh(t) + int(np.tanh(t)),
    float32_floor=lambda x, t: t * math.floor(x[0] * 2),
    float32_index_of_part=lambda x, t: t if int(x[0]) < 1 else x[int(np.mean(x))],
)

functions(
    _of("longdouble"),
    grad=False,
    longdouble_halved=lambda x: x / 2,
    longdouble_times=lambda x: x * 2.5,
    longdouble_sum=lambda x: np.sum(x**2),
    longdouble_branch=lambda x: x if x[0] > 0 else -x,
    longdouble_with_float64=lambda x: x + np.float64(1.0),
)
functions(
    _of(bool),
    grad=False,
    bool_times_float=lambda m: m * 2.5,
    bool_sum=lambda m: m.sum(),
    bool_mean=lambda m: m.mean(),
    bool_inverted=lambda m: ~m,
    bool_any_all=lambda m: (m.any(), m.all()),
    bool_and_or=lambda m: (m & m[::-1]) | ~m,
    bool_branch=lambda m: 1.0 if m[0] else 2.0,
    bool_as_index=lambda m: np.array([1.0, 2.0, 3.0])[m],
    bool_plus_bool=lambda m: m + m,
)
functions(
    [[1.0, 2.0, 3.0], [2.0, 2.0, 5.0], [0.0, 1.0, 7.0]],
    grad=False,
    to_float32=lambda x: x.astype(np.float32) * 2,
    to_float16=lambda x: x.astype("f2") * 1.5,
    to_int=lambda x: x.astype(int) // 2,
    to_uint8=lambda x: x.astype(np.uint8) * 200,
    to_complex=lambda x: x.astype(complex) * 1j,
    float32_constant=lambda x: x * np.float32(0.1),
    float32_array_constant=lambda x: x * np.ones(3, np.float32),
    int_constant=lambda x: x * np.arange(3),
    result_dtype=lambda x: np.zeros(3, x.dtype) + x,
    dtype_branch=lambda x: x * 2 if x.dtype == np.float64 else x * 3,
    dtype_kind=lambda x: x * 2 if x.dtype.kind == "f" else x * 3,
    itemsize=lambda x: x * x.dtype.itemsize,
    nbytes=lambda x: x * x.nbytes,
    finfo_eps=lambda x: x + np.finfo(x.dtype).eps,
    sum_as_float32=lambda x: np.sum(x, dtype=np.float32),
    mean_of_ints=lambda x: np.mean(x.astype(int)),
    true_division_of_ints=lambda x: x.astype(int) / 2,
    floor_division_of_ints=lambda x: x.astype(int) // 2 + x.astype(int) % 2,
    compare_ints=lambda x: (x.astype(int) > 1) * x,
    full_like_of=lambda x: np.full_like(x, 2) * x,
    ones_like_int=lambda x: np.ones_like(x, dtype=int) * x,
)
for _a, _b in (
    ("float32", "float64"),
    ("float32", "int64"),
    ("float16", "float32"),
    ("float32", "complex128"),
    ("int32", "int64"),
    ("uint8", "int16"),
    ("float64", "bool"),
    ("complex64", "float64"),
    (">f8", "float32"),
    ("float32", ">f4"),
):
    _tag = f"{_a}_with_{_b}".replace(">", "big_endian_")
    functions(
        _mixed(_a, _b),
        grad=False,
        **{
            f"{_tag}_sum": lambda x, y: x + y,
            f"{_tag}_product": lambda x, y: x * y * 2.0,
            f"{_tag}_where": lambda x, y: np.where(np.real(x) > 0, x, y),
            f"{_tag}_concatenated": lambda x, y: np.concatenate([x, y]),
        },
    )


@function((np.float32([1, 2]), 2.0), (np.float64([1, 2]), 2.0), (np.float32([3, 2]), 1.0))
def dtype_from_call_to_call(x, t):
    return x * t


@function((np.float32([1, 2]), [1.0, 2.0], 2.0), (np.float32([3, 2]), [1.0, 0.5], 3.0))
def python_float_beside_two_types(x, y, t):
    return x * t, y * t


@function((np.float32([1, 2]), np.float64(2.0)), (np.float32([3, 2]), np.float64(1.0)))
def numpy_float_beside_float32(x, t):
    return x * t


@function(kw({"w": np.float32([1, 2]), "lr": 0.1}), kw({"w": np.float32([3, 2]), "lr": 0.5}))
def float_in_dict_beside_float32(p):
    return p["w"] - p["lr"] * p["w"]


@function((np.float32([1, 2]), 2.0), (np.float32([3, 2]), 0.5))
def python_float_alone_beside_float32(x, t):
    return x * 2, t / 3, t * t


@function(([1.0, 2.0], 1 + 2j), ([2.0, 0.5], 0.5j), ([1.0, 1.0], 1 - 1j), grad=False)
def python_complex(x, z):
    return x * z


@function(1 + 2j, -1 + 0.5j, 2 - 3j)
def complex_branch(z):
    return z * 2 if z.real > 0 else z.conjugate()


@function(1 + 2j, -1 + 0.5j, 2 - 3j)
def complex_abs_branch(z):
    return abs(z) if abs(z) > 2 else z * z


@function(*_of("float32"))
def float32_loop(x):
    total = 0.0
    for v in x:
        total = total + v * 0.1
    return total


@function(*_of("float32"))
def float32_softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


# One number as Python's and as NumPy's: beside a narrower one of the function's own they differ.
functions(
    [2.5, np.float64(2.5), np.array(2.5), 2.5],
    grad=False,
    float_beside_a_float32_of_its_own=lambda t: t + np.float32(1),
    float_beside_an_array_of_its_own=lambda t: np.ones(2, np.float32) * t,
    float_beside_a_float16_of_its_own=lambda t: (t * np.float16(3), t * 2),
)
functions(
    [(np.float32(2), 3.0), (2.0, np.float32(3)), (np.float32(2), np.float32(3)), (2.0, 3.0)],
    grad=False,
    root_of_the_first=lambda a, b: np.sqrt(a) * b,
    root_of_the_second=lambda a, b: a * np.sqrt(b),
)

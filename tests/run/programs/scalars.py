"""Programs that ask of what type, rank or shape an argument is."""

import numbers

import numpy as np

from tests.run.programs.corpus import function, functions

NUMBERS = [1.5, -2.0, 0.25]
ARRAYS = [[1.0, 2.0], [-3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]]]

functions(
    NUMBERS,
    typed=True,
    isinstance_float=lambda t: t * 2 if isinstance(t, float) else t * 3,
    isinstance_int_or_float=lambda t: t * 2 if isinstance(t, (int, float)) else t * 3,
    isinstance_number=lambda t: t * 2 if isinstance(t, numbers.Number) else t * 3,
    isinstance_real=lambda t: t * 2 if isinstance(t, numbers.Real) else t * 3,
    is_scalar=lambda t: t * 2 if np.isscalar(t) else t * 3,
    type_is_float=lambda t: t * 2 if type(t) is float else t * 3,
    type_name=lambda t: t * len(type(t).__name__),
    isinstance_ndarray_number=lambda t: t * 2 if isinstance(t, np.ndarray) else t * 3,
    isinstance_generic=lambda t: t * 2 if isinstance(t, np.generic) else t * 3,
    hasattr_len=lambda t: t * 2 if hasattr(t, "__len__") else t * 3,
    hasattr_shape=lambda t: t * 2 if hasattr(t, "shape") else t * 3,
    hasattr_iter=lambda t: t * 2 if hasattr(t, "__iter__") else t * 3,
    getattr_shape=lambda t: t * len(getattr(t, "shape", (1, 2))),
    ndim_of=lambda t: t * (np.ndim(t) + 1),
    shape_of=lambda t: t * (len(np.shape(t)) + 1),
    size_of=lambda t: t * np.size(t),
    atleast_1d=lambda t: np.atleast_1d(t) * 2,
    asarray_shape=lambda t: np.asarray(t).shape == () and t * 2,
    callable_of=lambda t: t * 2 if callable(t) else t * 3,
    is_real_obj=lambda t: t * 2 if np.isrealobj(t) else t * 3,
    is_complex_obj=lambda t: t * 2 if np.iscomplexobj(t) else t * 3,
    result_type_of=lambda t: t * np.result_type(t).itemsize,
    try_len=lambda t: _length(t) * t,
    try_iter=lambda t: _total(t) * 2,
    float_type_call=lambda t: type(t)(2) * t,
    is_none=lambda t: t * 2 if t is None else t * 3,
    is_true=lambda t: t * 2 if (t > 0) is True else t * 3,
    bit_length=lambda t: t * 2 if hasattr(t, "is_integer") else t * 3,
)


def _length(t):
    try:
        return len(t)
    except TypeError:
        return 10


def _total(t):
    try:
        return sum(v for v in t)
    except TypeError:
        return t * 7


functions(
    ARRAYS,
    typed=True,
    isinstance_ndarray=lambda x: x * 2 if isinstance(x, np.ndarray) else x * 3,
    type_is_ndarray=lambda x: x * 2 if type(x) is np.ndarray else x * 3,
    not_a_list=lambda x: x * 2 if isinstance(x, (list, tuple)) else x * 3,
    ndim_branch=lambda x: x.sum() if x.ndim == 1 else np.trace(x),
    shape_branch=lambda x: x.sum() if x.shape == (2,) else x.T * 2,
    size_branch=lambda x: x * x.size,
    len_branch=lambda x: x * len(x),
    dtype_is_float=lambda x: x * 2 if np.issubdtype(x.dtype, np.floating) else x * 3,
    is_float_element=lambda x: x * 2 if isinstance(x.flat[0], float) else x * 3,
    is_np_float64_sum=lambda x: x * 2 if isinstance(x.sum(), np.float64) else x * 3,
    is_scalar_sum=lambda x: x * 2 if np.isscalar(x.sum()) else x * 3,
    is_scalar_array=lambda x: x * 2 if np.isscalar(x) else x * 3,
    contiguous_flag=lambda x: x * 2 if x.flags["C_CONTIGUOUS"] else x * 3,
    strides_of=lambda x: x * x.strides[-1],
    base_of=lambda x: x * 2 if x.base is None else x * 3,
    writeable=lambda x: x * 2 if x.flags.writeable else x * 3,
    shares_memory=lambda x: x * 2 if np.shares_memory(x, x) else x * 3,
    may_share_memory=lambda x: x * 2 if np.may_share_memory(x, x[:1]) else x * 3,
    iterable=lambda x: x * 2 if np.iterable(x) else x * 3,
    is_fortran=lambda x: x * 2 if np.isfortran(x) else x * 3,
    can_cast=lambda x: x * 2 if np.can_cast(x.dtype, np.float32) else x * 3,
    broadcast_shape=lambda x: np.broadcast(x, np.ones((3, 1, 1))).shape[0] * x,
)


@function(
    (2.0, [1.0, 2.0]),
    ([3.0, 1.0], 2.0),
    (1.5, 2.5),
    ([1.0, 2.0], [3.0, 4.0]),
    grad=False,
    typed=True,
)
def number_or_array(a, b):
    a = np.array([a]) if np.ndim(a) == 0 else a
    return a * b


@function(np.array(2.0), np.float64(2.0), 2.0, np.array([2.0]), grad=False, typed=True)
def zero_dimensional(a):
    return a * 3, np.ndim(a)


@function((1.5, 2), (2.5, 3), (1.5, 2.0), grad=False, typed=True)
def power_by_type(t, n):
    return t**n if isinstance(n, int) else np.exp(n * np.log(t))

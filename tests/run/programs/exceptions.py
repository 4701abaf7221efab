"""Programs in which something raises and is caught, or is not."""

import contextlib
import math

import numpy as np

from tests.run.programs.corpus import function, functions, kw

KERNELS = [
    [[2.0, 0.5], [0.5, 1.0]],
    [[1.0, 2.0], [2.0, 1.0]],
    [[3.0, 0.1], [0.1, 2.0]],
    [[1.0, 1.0], [1.0, 1.0]],
]
NUMBERS = [1.5, -2.0, 0.0, 30.0]
VECTORS = [[1.0, 2.0, -1.0], [-1.0, 3.0, -1.0], [0.0, -2.0, -3.0], [1.0, 2.0, 3.0]]


@function(*KERNELS)
def cholesky_with_jitter(K):
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        L = np.linalg.cholesky(K + 3.0 * np.eye(2))
    return np.sum(np.log(np.diag(L)))


@function(*KERNELS)
def cholesky_retried(K):
    jitter = 0.0
    while True:
        try:
            return np.linalg.cholesky(K + jitter * np.eye(2)).sum()
        except np.linalg.LinAlgError:
            jitter = max(10 * jitter, 0.05)


@function(*KERNELS)
def cholesky_for_loop(K):
    for jitter in (0.0, 0.5, 1.5, 5.0):
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.linalg.cholesky(K + jitter * np.eye(2))[1, 1], jitter
    return None


@function(*KERNELS)
def positive_definite(K):
    try:
        np.linalg.cholesky(K)
        good = True
    except np.linalg.LinAlgError:
        good = False
    return K.sum() if good else K[0, 0] * 2


@function(*KERNELS)
def inverse_or_pinv(K):
    try:
        return np.linalg.inv(K)
    except np.linalg.LinAlgError:
        return np.linalg.inv(K + np.eye(2))


@function(*KERNELS)
def solve_or_least_squares(K):
    b = np.array([1.0, 2.0])
    try:
        x = np.linalg.solve(K, b)
    except np.linalg.LinAlgError as error:
        x = np.linalg.solve(K + 0.1 * np.eye(2), b) * len(type(error).__name__ and "ab")
    return x


@function(*KERNELS)
def solve_uncaught(K):
    return np.linalg.solve(K, np.array([1.0, 2.0]))


@function(*KERNELS)
def cholesky_uncaught(K):
    return np.linalg.cholesky(K)


@function(*KERNELS)
def determinant_branch(K):
    return np.linalg.inv(K).sum() if abs(np.linalg.det(K)) > 1e-8 else K.sum()


@function(*KERNELS)
def try_else_finally(K):
    log = []
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        out = K[0, 1] * 5
        log.append("bad")
    else:
        out = L[0, 0]
        log.append("good")
    finally:
        log.append("end")
    return out, log


@function(*KERNELS)
def raised_from(K):
    try:
        try:
            return np.linalg.cholesky(K).sum()
        except np.linalg.LinAlgError as error:
            raise RuntimeError("not positive") from error
    except RuntimeError as error:
        return K.sum() * (2 if error.__cause__ is not None else 3)


@function(*KERNELS)
def raised_again(K):
    try:
        return np.linalg.cholesky(K).sum()
    except np.linalg.LinAlgError:
        raise ValueError("a kernel that is not positive") from None


@function(*KERNELS)
def nested_try(K):
    try:
        return np.linalg.cholesky(K).sum()
    except np.linalg.LinAlgError:
        try:
            return np.linalg.inv(K).sum()
        except np.linalg.LinAlgError:
            return K.sum() * 0.5


@function(*KERNELS)
def bare_except(K):
    try:
        return np.linalg.cholesky(K).sum()
    except Exception:  # noqa: BLE001 - as users write it
        return K[0, 1]


@function(*KERNELS)
def except_tuple(K):
    try:
        return np.linalg.inv(K).sum()
    except (ValueError, np.linalg.LinAlgError):
        return K[0, 1]


@function(*KERNELS)
def eigenvalues_branch(K):
    w = np.linalg.eigvalsh(K)
    return np.sum(np.log(w)) if w.min() > 1e-6 else w.sum()


@function(*KERNELS)
def rank_branch(K):
    return K.sum() * np.linalg.matrix_rank(K)


@function(*KERNELS)
def condition_branch(K):
    return K.sum() if np.linalg.cond(K) < 4 else K[0, 0]


@function(*VECTORS)
def index_error(x):
    try:
        return x[int(x[1])] * 2
    except IndexError:
        return x[0] * 3


@function(*VECTORS)
def index_error_of_picked(x):
    try:
        return x[x > 0][1]
    except IndexError:
        return x[0]


@function(*VECTORS)
def index_error_uncaught(x):
    return x[int(x[1])]


@function(*VECTORS)
def max_of_nothing(x):
    try:
        return x[x > 1.5].max()
    except ValueError:
        return x.sum()


@function(*VECTORS)
def argmin_of_nothing(x):
    try:
        return x[np.argmin(x[x > 0])]
    except ValueError:
        return x.sum()


@function(*VECTORS)
def shapes_of_picked(x):
    try:
        return x[x > 0] + np.array([1.0, 2.0])
    except ValueError:
        return x * 2


@function(*VECTORS)
def unpacked_picked(x):
    try:
        a, b = x[x > 0]
        return a * b
    except ValueError:
        return x.sum()


@function(*VECTORS)
def reshaped_picked(x):
    try:
        return x[x > 0].reshape(2, 1) * 2
    except ValueError:
        return x[:1]


@function(*VECTORS)
def next_of_generator(x):
    try:
        return next(v for v in x if v > 2.5)
    except StopIteration:
        return x[0] * 2


@function(*VECTORS)
def list_index(x):
    values = [0.5, 2.0, 3.0]
    try:
        return x.sum() * values.index(float(x[1]))
    except ValueError:
        return x.sum() * 10


@function(*VECTORS)
def assertion(x):
    try:
        assert np.all(x >= -1), "too small"
        return x.sum()
    except AssertionError as error:
        return x.sum() * len(str(error))


@function(*VECTORS)
def assertion_uncaught(x):
    assert np.all(x >= -1), "too small"
    return x.sum()


@function(*VECTORS)
def raised_by_value(x):
    if np.any(x == 0):
        raise ValueError(f"a zero at {np.argmax(x == 0)}")
    return np.sum(1 / x)


@function(*VECTORS)
def raised_and_caught_by_value(x):
    try:
        for v in x:
            if v > 2.5:
                raise OverflowError("large")
    except OverflowError:
        return x.max()
    return x.min()


@function(*VECTORS)
def early_exit_by_exception(x):
    class Done(Exception):  # noqa: N818 - a signal, not an error
        pass

    total = 0.0
    try:
        for i in range(3):
            if x[i] < 0:
                raise Done
            total = total + x[i]
    except Done:
        total = total * 10
    return total + 0 * x[0]


@function(*VECTORS)
def concatenated_or_not(x):
    with contextlib.suppress(ValueError):
        return np.stack([x[x > 0], x[x < 0]]).sum()
    return x.sum() * 2


@function(*VECTORS)
def matmul_of_picked(x):
    try:
        return x[x > 0] @ np.array([1.0, 2.0])
    except ValueError:
        return x[0]


@function(*VECTORS)
def finally_counts(x):
    n = 0
    for v in x:
        try:
            if v < 0:
                continue
            n += 1
        finally:
            n += 10
    return x.sum() * n


functions(
    NUMBERS,
    zero_division_float=lambda x: _guarded(lambda: 1 / float(x), x),
    zero_division_int=lambda x: _guarded(lambda: x * (7 // int(x)), x),
    math_log=lambda x: _guarded(lambda: math.log(x), x),
    math_sqrt=lambda x: _guarded(lambda: math.sqrt(x), x),
    key_error=lambda x: _guarded(lambda: {1: 5.0, -2: 7.0}[int(x)] * x, x),
    dict_get=lambda x: {1: 5.0, -2: 7.0}.get(int(x), 1.0) * x,
    int_of_text=lambda x: _guarded(lambda: int(f"{x:.1f}") * x, x),
    float_of_nan=lambda x: _guarded(lambda: int(float("nan") if x > 1 else x) * x, x),
    range_step_zero=lambda x: _guarded(lambda: len(range(0, 10, int(x))) * x, x),
    grad=True,
)


def _guarded(attempt, x):
    try:
        return attempt()
    except (ArithmeticError, ValueError, LookupError):
        return x * 100 + 1


@function(*NUMBERS)
def floating_point_error(x):
    with np.errstate(divide="raise"):
        try:
            return np.divide(1.0, x)
        except FloatingPointError:
            return x + 7


@function([1.0, 2.0], [1.0, -2.0], [0.5, 3.0])
def floating_point_error_log(x):
    try:
        with np.errstate(all="raise"):
            return np.log(x).sum()
    except FloatingPointError:
        return x.sum()


@function([1.0, 2.0], [1.0, 1000.0], [0.5, 3.0])
def floating_point_overflow(x):
    try:
        with np.errstate(over="raise"):
            return np.exp(x).sum()
    except FloatingPointError:
        return x.sum()


@function(([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 2.0, 3.0]), ([1.0, 2.0], [3.0]))
def shapes_of_arguments(x, y):
    try:
        return x + y
    except ValueError:
        return x


@function(kw(1.0, mode="a"), kw(2.0, mode="b"), kw(3.0, mode="c"), kw(-1.0, mode="a"))
def unknown_mode(x, mode):
    try:
        scale = {"a": 1.0, "b": 2.0}[mode]
    except KeyError:
        scale = 10.0
    return x * scale


@function((1.0, None), (2.0, 3.0), (3.0, None))
def type_error_of_none(x, y):
    try:
        return x + y
    except TypeError:
        return x * 2

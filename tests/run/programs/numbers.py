"""Programs on Python's own numbers, which raise, turn complex or count where NumPy's do not."""

import math

import numpy as np

from tests.run.programs.corpus import functions, kw

NUMBERS = [1.5, -2.0, 0.0, 30.0, 1e200]
F32 = np.ones(2, np.float32)


def caught(f):
    """f, and other numbers where it raises."""

    def g(t):
        try:
            return f(t)
        except ZeroDivisionError:
            return t * 2 + 7.0
        except OverflowError:
            return t * 0 + 9.0
        except (ValueError, TypeError):
            return 11.0

    return g


def divided_in_place(t):
    s = 1.0
    s /= t
    return s


def divided_in_a_loop(t):
    s = 0.0
    for k in range(4):
        s = s + 1.0 / (t - k)
    return s


functions(
    NUMBERS,
    typed=True,
    number_divided=caught(lambda t: 1.0 / t),
    number_divided_by_another=caught(lambda t: t / (t - 1.5)),
    number_modulo=caught(lambda t: 5.0 % t),
    number_floor_divided=caught(lambda t: 5.0 // t),
    number_divmod=caught(lambda t: divmod(5.0, t)[1]),
    number_squared=caught(lambda t: t**2),
    number_inverted=caught(lambda t: t**-1),
    number_root=caught(lambda t: t**0.5 * 1.0),
    number_exponent=caught(lambda t: 2.0 ** (t * 100)),
    number_divided_by_size=caught(lambda t: 1 / abs(t)),
    number_divided_by_negative=caught(lambda t: 3 / -t),
    number_divided_by_sum=caught(lambda t: sum([t, t, 1.0]) / sum([t, 0.0])),
    number_divided_in_place=caught(divided_in_place),
    number_divided_in_a_loop=caught(divided_in_a_loop),
    number_divided_in_a_call=caught(lambda t: np.sin(1.0 / t)),
    number_divided_by_numpy=lambda t: np.divide(1.0, t),
    number_divided_as_numpy=lambda t: 1.0 / np.float64(t),
    number_dividing_an_array=lambda t: np.ones(2) / t,
    number_divided_by_a_size=lambda t: 1.0 / np.abs(t),
    number_divided_by_larger=caught(lambda t: 1.0 / max(t, 0.0)),
    number_divided_if_not_zero=lambda t: 1.0 / t if t != 0 else 5.0,
    number_divided_by_whole=caught(lambda t: 10 // int(t)),
    number_math=caught(lambda t: math.sqrt(t) / t),
    number_divided_by_complex=caught(lambda t: abs(1 / complex(t, 0.0))),
    number_divided_by_truth=caught(lambda t: 1.0 / (t > 0)),
    number_rounded=lambda t: round(t * 1.2345, 2),
    number_rounded_whole=lambda t: [1.0, 2.0, 3.0][round(t) % 3] * t,
    number_of_rounds=lambda t: sum(t for _ in range(round(abs(t)) % 5)) + t,
    truths_added=lambda t: ((t > 0) + (t > 1)) * t,
    truths_subtracted=lambda t: (t > 0) - (t < 0) + t,
    truths_multiplied=lambda t: (t > 0) * (t > 1) / 2 + t,
    truths_inverted=lambda t: (t > 0) ** 2 + ((t > 0) & (t < 5)) * t,
    truths_summed=lambda t: sum([t > 0, t > 1]) * t,
    truth_selects=lambda t: np.where(t > 0, t, 2.0),
    truth_as_index=lambda t: [5.0, 6.0][t > 0] * t,
)  # fmt: skip


def ratio_or(p, x):
    try:
        ratio = p[0] / p[1]
    except ZeroDivisionError:
        ratio = -1.0
    return x * ratio


def divided_twice(p, x):
    try:
        return x / (p[0] / p[1]) + (p[1] ** -1)
    except ZeroDivisionError:
        return x


PAIRS = [kw((1.0, 2.0), np.ones(2)), kw((1.0, 0.0), np.ones(2)), kw((0.0, 1.0), np.ones(2))]
functions(
    PAIRS,
    typed=True,
    numbers_of_a_tuple=ratio_or,
    numbers_divided_twice=divided_twice,
    numbers_beside_narrow=lambda p, x: ratio_or(p, x.astype(np.float32)),
)


def narrow_divided(t, x):
    try:
        return x * (1.0 / t)
    except ZeroDivisionError:
        return x * 5


def narrow_root(t, x):
    root = t**0.5
    return x * 2 if isinstance(root, complex) else x * root


functions(
    [kw(2.0, F32), kw(0.0, F32), kw(3.0, F32), kw(-8.0, F32)],
    typed=True,
    number_beside_narrow=narrow_divided,
    number_root_beside_narrow=narrow_root,
)
functions(
    [kw(2 + 1j), kw(0j), kw(1j)],
    typed=True,
    complex_divided=caught(lambda z: abs(1 / z)),
    complex_inverted=caught(lambda z: abs(z**-1)),
)

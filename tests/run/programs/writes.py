"""Programs that write: in place, through views, by slices, lists of indices, and add.at."""

import numpy as np

from tests.run.programs.corpus import function, functions, stateful

VECTORS = [[1.0, 2.0, -1.0, 3.0], [-1.0, 3.0, -2.0, 0.5], [-3.0, -2.0, -1.0, -4.0]]


def _writing(write):
    def f(x):
        y = x * 1.0
        write(y, x)
        return y

    return f


def _write_if(y, x):
    if x[0] > 0:
        y[1:] = 0.0
    else:
        y[:2] = x[2:]


def _write_loop(y, x):
    for i in range(4):
        if y[i] < 0:
            y[i] = -y[i] if i else 10.0


def _write_last(y, x):
    for i in range(1, 4):
        y[i] = y[i - 1] * 0.5 + x[i]


def _write_swap(y, x):
    if y[0] > y[1]:
        y[0], y[1] = y[1] * 1, y[0] * 1


def _write_roll(y, x):
    y[1:] = y[:-1] * 1


def _write_iadd(y, x):
    y += x
    y *= 2.0
    y -= 1.0
    y /= 4.0


def _write_at(y, x):
    np.add.at(y, [0, 0, 1], x[:3])


def _write_out(y, x):
    np.multiply(y, 2.0, out=y)


def _write_fill(y, x):
    y.fill(2.0 if x[0] > 0 else 3.0)


def _write_sort(y, x):
    y.sort()


def _write_view(y, x):
    v = y[1:3]
    v[:] = 7.0


def _write_reshaped(y, x):
    y.reshape(2, 2)[0] = x[0] * 2


def _write_flat(y, x):
    y.flat[1] = 5.0


def _write_fill_diagonal(y, x):
    np.fill_diagonal(y.reshape(2, 2), 9.0)


functions(
    VECTORS,
    write_constant=_writing(lambda y, x: y.__setitem__(0, 5.0)),
    write_slice=_writing(lambda y, x: y.__setitem__(slice(1, 3), x[:2] * 2)),
    write_step=_writing(lambda y, x: y.__setitem__(slice(None, None, 2), 0.0)),
    write_list=_writing(lambda y, x: y.__setitem__([0, 2], x[1:3])),
    write_repeated_index=_writing(lambda y, x: y.__setitem__([0, 0], x[1:3])),
    write_argmax=_writing(lambda y, x: y.__setitem__(np.argmax(x), 0.0)),
    write_argsort=_writing(lambda y, x: y.__setitem__(np.argsort(x), np.arange(4.0))),
    write_int_of_value=_writing(lambda y, x: y.__setitem__(int(abs(x[0])), 9.0)),
    write_if=_writing(_write_if),
    write_loop=_writing(_write_loop),
    write_recurrence=_writing(_write_last),
    write_swap=_writing(_write_swap),
    write_roll=_writing(_write_roll),
    write_in_place_operators=_writing(_write_iadd),
    write_add_at=_writing(_write_at),
    write_out=_writing(_write_out),
    write_fill=_writing(_write_fill),
    write_sort=_writing(_write_sort),
    write_view=_writing(_write_view),
    write_reshaped=_writing(_write_reshaped),
    write_flat=_writing(_write_flat),
    write_fill_diagonal=_writing(_write_fill_diagonal),
)


@function(*VECTORS)
def write_into_zeros(x):
    y = np.zeros(4)
    for i in range(4):
        y[i] = x[i] ** 2
    return y.sum()


@function(*VECTORS)
def write_into_empty(x):
    y = np.empty((2, 4))
    y[0] = x
    y[1] = x * 2 if x[0] > 0 else x * 3
    return y.sum(axis=0)


@function(*VECTORS)
def write_into_argument(x):
    x[0] = 7.0
    return x.sum()


@function(*VECTORS)
def write_into_argument_in_place(x):
    x += 1.0
    return x.sum()


@function(*VECTORS)
def write_into_argument_by_mask(x):
    x[x < 0] = 0.0
    return x * 2


@function(*VECTORS)
def write_after_read(x):
    y = x * 2
    s = y.sum()
    y[0] = 100.0
    return s * y


@function(*VECTORS)
def write_alias(x):
    y = x * 2
    z = y
    z[0] = 5.0
    return y


@function(*VECTORS)
def write_copy(x):
    y = x * 2
    z = y.copy()
    z[0] = 5.0
    return y + z


@function(*VECTORS)
def write_list_of_arrays(x):
    rows = [x * 1.0 for _ in range(2)]
    rows[int(x[0] > 0)][0] = 9.0
    return rows[0] + 2 * rows[1]


@function(*VECTORS)
def write_list_elements(x):
    values = [0.0] * 4
    for i in range(4):
        if x[i] > 0:
            values[i] = x[i]
    return np.stack([v + 0 * x[0] for v in values])


@function(*VECTORS)
def augmented_number(x):
    total = 0.0
    for v in x:
        total += v
        if total > 2.5:
            total -= 2.5
    return total


@function(*VECTORS)
def augmented_array(x):
    total = np.zeros(4)
    total = total + x
    total += x if x[0] > 0 else -x
    return total


@function([[1.0, 2.0], [3.0, 4.0]], [[0.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [3.0, 4.0]])
def gaussian_elimination(M):
    M = M * 1.0
    p = int(np.argmax(np.abs(M[:, 0])))
    if p != 0:
        M[[0, p]] = M[[p, 0]]
    M[1] = M[1] - M[1, 0] / M[0, 0] * M[0]
    return M


@stateful(*VECTORS)
def write_into_outside_array():
    table = np.zeros(4)

    def f(x):
        table[0] = 5.0
        return x + table

    return f, lambda k: table.__setitem__(0, float(k)), lambda: table.copy()


@stateful(*VECTORS)
def write_count_into_outside_array():
    table = np.zeros(4)

    def f(x):
        table[1] += 1.0
        return x.sum() * table[1]

    return f, None, lambda: table.copy()

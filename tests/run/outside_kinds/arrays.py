"""NumPy arrays: one number among many, order, shape and type changed in place."""

import numpy as np

from tests.run.outside_kinds.register import V, kind

LARGE = 10**5


def put(array, where=0):
    return lambda n: array.__setitem__(where, V[n])


@kind(grad=True)
def array_meets_a_variable():
    table = np.ones(1)
    return lambda x: x * table, put(table)


@kind(grad=True)
def array_read_by_numpy():
    table = np.ones(4)
    return lambda x: x * table.max(), put(table, 3)


@kind(grad=True)
def array_read_both_ways():
    table = np.ones(1)
    return lambda x: x * table + table.max() * np.sum(table), put(table)


@kind
def large_array_first():
    table = np.zeros(LARGE)
    return lambda x: x * table.sum(), put(table, 0)


@kind
def large_array_middle():
    table = np.zeros(LARGE)
    return lambda x: x * table.max(), put(table, LARGE // 2 + 77)


@kind(grad=True)
def large_array_last():
    table = np.zeros(LARGE)
    return lambda x: x * float(np.sum(table)), put(table, -1)


@kind
def large_array_both_ways_middle():
    table = np.zeros(LARGE)
    return lambda x: np.sum(x) * np.sum(x[0] * table) + table.max() * x, put(table, 50_077)


@kind
def large_array_first_after_sorting():
    table = np.arange(1.0, LARGE)

    def change(n):
        table[:] = (np.arange(1.0, LARGE), np.arange(1.0, LARGE)[::-1], np.roll(table, 7))[n]

    return lambda x: x * table[3], change


@kind
def rows_are_swapped():
    table = np.arange(4 * 1024.0).reshape(4, 1024)

    def change(n):
        if n:
            table[[0, n]] = table[[n, 0]]

    return lambda x: x * table[0].max(), change


@kind
def columns_are_swapped():
    table = np.arange(1024.0 * 4).reshape(1024, 4)

    def change(n):
        if n:
            table[:, [0, n]] = table[:, [n, 0]]

    return lambda x: x * table[:, 0].sum(), change


@kind
def sum_stays_the_same():
    table = np.zeros(8192)

    def change(n):
        table[:] = 0
        table[1024 * n], table[1024 * (n + 1)] = 1.0, 2.0

    return lambda x: x * np.argmax(table), change


@kind
def identity_becomes_a_permutation():
    table = np.eye(64)

    def change(n):
        table[:] = np.roll(np.eye(64), n, axis=0)

    return lambda x: x * np.trace(table), change


@kind
def array_is_transposed_in_place():
    table = np.arange(4096.0).reshape(64, 64)

    def change(n):
        table[:] = table.T.copy()

    return lambda x: x * table[1, 0], change


@kind
def view_of_an_array():
    base = np.ones(10)
    view = base[2:7]
    return lambda x: x * view.sum(), put(base, 4)


@kind
def view_with_a_step():
    base = np.ones(20_000)
    view = base[::2]
    return lambda x: x * view.sum(), put(base, 19_998)


@kind
def view_is_written_to():
    base = np.ones(10)
    view = base[::-1]
    return lambda x: x * base[9], put(view)


@kind
def view_meets_a_variable():
    base = np.ones((4, 1))
    return lambda x: x * base[2], put(base, 2)


@kind
def view_of_a_view_made_inside():
    base = np.ones((4, 4))
    return lambda x: x * base.T[1:].ravel()[:3].sum(), lambda n: base.fill(V[n])


@kind
def reshaped_inside():
    base = np.ones(4)
    return lambda x: x * base.reshape(2, 2)[1, 1], put(base, 3)


@kind
def array_as_an_index():
    index = np.zeros(1, int)
    return lambda x: x[index] * 2, lambda n: index.__setitem__(0, n % 2)


@kind(grad=True)
def array_as_a_mask():
    mask = np.zeros(2, bool)

    def change(n):
        mask[:] = [(True, False), (True, True), (False, True)][n]

    return lambda x: x[:2][mask] * 2, change


@kind
def array_as_a_condition():
    mask = np.zeros(1, bool)
    return lambda x: np.where(mask, x, x * 2), lambda n: mask.fill(n == 1)


@kind
def element_in_an_if():
    table = np.zeros(3)
    return lambda x: x * 2 if table[1] > 2.5 else np.sin(x), put(table, 1)


@kind
def item_of_an_array():
    table = np.zeros((2, 2))
    return lambda x: x * table.item(1, 1), put(table, (1, 1))


@kind
def array_in_a_loop():
    table = np.ones(3)

    def f(x):
        for a in table:
            x = x * a
        return x

    return f, put(table, 2)


@kind
def array_to_a_list():
    table = np.ones((2, 2))
    return lambda x: x * sum(table.tolist()[1]), put(table, (1, 0))


@kind
def shape_is_assigned():
    table = np.arange(6.0)

    def change(n):
        table.resize([(6,), (2, 3), (3, 2)][n], refcheck=False)

    return lambda x: x * table.shape[0] + table[-1].sum(), change


@kind
def shape_of_a_large_array_is_assigned():
    table = np.arange(8192.0)

    def change(n):
        table.shape = [(8192,), (2, 4096), (4096, 2)][n]

    return lambda x: x * table[-1].sum(), change


@kind
def length_after_a_resize():
    table = np.ones(3)
    change = lambda n: table.resize(n + 3, refcheck=False)
    return lambda x: x * len(table) + table.sum(), change


@kind
def size_and_ndim():
    table = np.ones(4)
    change = lambda n: table.resize([(4,), (2, 2), (2, 2, 2)][n], refcheck=False)
    return lambda x: x * table.size + table.ndim, change


@kind
def dtype_by_a_view():
    holder = [np.ones(4)]
    change = lambda n: holder.__setitem__(0, np.ones(4).view((float, np.int64, np.uint8)[n]))
    return lambda x: x * float(holder[0].max()), change


@kind
def dtype_of_an_array_is_asked():
    holder = [np.ones(4)]
    change = lambda n: holder.__setitem__(0, np.ones(4, (float, np.float32, int)[n]))
    return lambda x: x * holder[0].dtype.itemsize + (holder[0].dtype == int), change


@kind
def dtype_of_an_input_changes():
    holder = [np.ones(1)]
    change = lambda n: holder.__setitem__(0, np.ones(1, (float, np.float32, complex)[n]))
    return lambda x: x * holder[0], change


@kind
def writable_flag():
    table = np.ones(3)
    change = lambda n: setattr(table.flags, "writeable", n != 1)
    return lambda x: x * 2 if table.flags.writeable else x, change


@kind
def array_of_objects():
    table = np.array([1.0, None], object)
    return lambda x: x * table[1], put(table, 1)


@kind
def array_of_lists():
    table = np.empty(1, object)
    table[0] = [0.0]
    return lambda x: x * table[0][0], put(table[0])


@kind
def array_of_objects_in_a_loop():
    table = np.array([1.0, None], object)

    def f(x):
        for a in table:
            x = x * a
        return x

    return f, put(table, 1)

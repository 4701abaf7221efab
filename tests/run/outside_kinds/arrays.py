"""NumPy arrays: one number among many, order, shape and type changed in place."""

import os
import tempfile

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
        table.resize([(8192,), (2, 4096), (4096, 2)][n], refcheck=False)

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


@kind
def structured_array():
    table = np.zeros(3, [("alpha", float), ("beta", int)])
    return lambda x: x * table["alpha"][1], lambda n: table["alpha"].__setitem__(1, V[n])


@kind
def structured_scalar():
    table = np.zeros(3, [("alpha", float), ("beta", int)])
    return lambda x: x * table[1]["alpha"], lambda n: table.__setitem__(1, (V[n], n))


@kind
def record_array():
    table = np.zeros(3, [("alpha", float)]).view(np.recarray)
    return lambda x: x * table.alpha[2], lambda n: table.alpha.__setitem__(2, V[n])


@kind
def masked_array():
    table = np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 0])

    def change(n):
        table.mask = [False, n == 1, n == 2]

    return lambda x: x * float(table.sum()), change


@kind
def masked_array_data():
    table = np.ma.array([1.0, 2.0], mask=[0, 0])
    return lambda x: x * float(table.max()), put(table, 1)


@kind
def matrix():
    table = np.ones((2, 2)).view(np.matrix)
    return lambda x: x * float((table * table)[0, 0]), put(table, (0, 1))


@kind
def subclass_of_ndarray():
    class Tagged(np.ndarray):
        factor = 1.0

    table = np.ones(3).view(Tagged)
    return lambda x: x * table.factor * float(table.sum()), lambda n: setattr(table, "factor", V[n])


@kind
def memory_map():
    with tempfile.TemporaryDirectory() as folder:
        table = np.memmap(os.path.join(folder, "a"), float, "w+", shape=(4,))
        yield lambda x: x * float(table.sum()), put(table, 2)
        del table


@kind
def memory_map_written_through_the_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a")
        np.ones(4).tofile(path)
        table = np.memmap(path, float, "r", shape=(4,))

        def change(n):
            with open(path, "r+b") as file:
                file.write(np.full(4, V[n]).tobytes())

        yield lambda x: x * float(table.sum()), change
        del table


@kind
def array_without_axes():
    table = np.array(0.0)
    return lambda x: x * table, put(table, ())


@kind
def array_without_axes_as_a_float():
    table = np.array(0.0)
    return lambda x: x * float(table), put(table, ())


@kind
def numpy_scalar():
    holder = [np.float64(0)]
    return lambda x: x * holder[0], lambda n: holder.__setitem__(0, np.float64(V[n]))


@kind
def numpy_scalar_of_another_type():
    holder = [np.float64(0)]
    types = (np.float64, np.int32, np.complex128)
    return lambda x: x * holder[0], lambda n: holder.__setitem__(0, types[n](2))


@kind
def array_in_a_dict():
    state = {"a": {"b": np.ones(3)}}
    return lambda x: x * state["a"]["b"].sum(), put(state["a"]["b"], 1)


@kind
def array_in_a_dict_is_replaced():
    state = {"a": np.ones(1)}
    return lambda x: x * state["a"], lambda n: state.update(a=np.full(1, V[n]))


@kind
def array_as_an_attribute():
    class Model:
        weights = np.ones((2, 2))

    model = Model()
    model.weights = np.ones((2, 2))
    return lambda x: np.sum(model.weights) * x, put(model.weights, (0, 1))


@kind
def arrays_in_a_list():
    tables = [np.ones(1), np.ones(1)]

    def f(x):
        for table in tables:
            x = x * table
        return x

    return f, lambda n: tables[1].fill(V[n])


@kind
def column_major_array():
    table = np.ones((100, 60), order="F")
    return lambda x: x * table.max(), put(table, (99, 3))


@kind
def column_major_rows_swapped():
    table = np.asfortranarray(np.arange(6000.0).reshape(100, 60))

    def change(n):
        if n:
            table[[0, n]] = table[[n, 0]]

    return lambda x: x * table[0, 1], change


@kind
def array_changed_by_in_place_operators():
    table = np.ones(3)

    def change(n):
        nonlocal table
        table *= V[n]

    return lambda x: x * table.prod(), change


@kind
def array_changed_by_out():
    table = np.ones(3)
    change = lambda n: np.multiply(np.ones(3), V[n], out=table)
    return lambda x: x * table[2], change


@kind
def array_sorted_in_place():
    table = np.array(V)
    change = lambda n: table.__setitem__(slice(None), np.roll(table, 1))
    return lambda x: x * table[0] + np.argmin(table), change


@kind
def array_of_strings():
    table = np.array(["a", "bb", "ccc"])
    change = lambda n: table.__setitem__(0, "a" * (n + 1))
    return lambda x: x * len(table[0]), change


@kind
def array_of_dates():
    table = np.array(["2020-01-01", "2020-01-05"], "datetime64[D]")
    change = lambda n: table.__setitem__(0, np.datetime64(f"2020-01-0{n + 1}"))
    return lambda x: x * (table[1] - table[0]).astype(int), change


@kind
def nan_becomes_a_number():
    table = np.ones(3)
    change = lambda n: table.__setitem__(1, (np.nan, 1.0, np.inf)[n])
    return lambda x: x * 2 if np.isnan(table).any() else x * np.isfinite(table).sum(), change


@kind
def negative_zero_in_an_array():
    table = np.zeros(3)
    change = lambda n: table.__setitem__(1, (0.0, -0.0, 1.0)[n])
    return lambda x: x * np.copysign(1.0, table[1]), change


@kind
def broadcast_view():
    base = np.ones(1)
    table = np.broadcast_to(base, (3,))
    return lambda x: x * table.sum(), put(base)


@kind
def flat_iterator():
    table = np.ones((2, 2))
    return lambda x: x * table.flat[3], put(table, (1, 1))


@kind
def array_indexed_by_a_variable():
    table = np.ones(3)
    return lambda x: x * table[np.argmax(x)], lambda n: table.fill(V[n])


@kind
def array_times_plain_array():
    one, two = np.ones(3), np.ones(3)
    return lambda x: x * (one @ two), put(two, 1)


@kind
def interpolation_table():
    xs, ys = np.arange(3.0), np.ones(3)
    return lambda x: x * np.interp(0.5, xs, ys), put(ys)

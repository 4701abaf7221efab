"""Arrays of special kinds: structured, masked, mapped to a file, without axes, column-major."""

import os
import tempfile

import numpy as np

from tests.run.outside_kinds.arrays import put
from tests.run.outside_kinds.register import V, kind


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

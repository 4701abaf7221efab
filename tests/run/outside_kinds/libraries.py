"""Objects of libraries: buffers, numbers, dates, patterns, SciPy, and chainrule's own Variables."""

import array
import copy
import ctypes
import datetime
import decimal
import fractions
import io
import json
import pathlib
import queue
import re
import statistics
import struct
import threading

import numpy as np

import chainrule as cr
from tests.run.outside_kinds.register import V, kind


class Box:
    """An object with one value."""

    value = None


def boxed(*values):
    box = Box()
    return box, lambda n: setattr(box, "value", values[n])


@kind
def array_array():
    state = array.array("d", [0.0, 1.0])
    return lambda x: x * state[0], lambda n: state.__setitem__(0, V[n])


@kind
def array_array_summed():
    state = array.array("d", [1.0])
    return lambda x: x * sum(state), lambda n: state.append(V[n])


@kind
def array_array_as_numpy():
    state = array.array("d", [0.0])
    return lambda x: x * np.frombuffer(state)[0], lambda n: state.__setitem__(0, V[n])


@kind
def byte_array():
    state = bytearray(4)
    return lambda x: x * state[1], lambda n: state.__setitem__(1, n + 2)


@kind
def byte_array_as_numpy():
    state = bytearray(8)
    change = lambda n: state.__setitem__(slice(None), struct.pack("d", V[n]))
    return lambda x: x * np.frombuffer(state)[0], change


@kind
def memory_view():
    base = bytearray(4)
    view = memoryview(base)[1:]
    return lambda x: x * view[0], lambda n: base.__setitem__(1, n + 2)


@kind
def memory_view_of_an_array():
    base = np.zeros(3)
    view = memoryview(base)
    return lambda x: x * view[2], lambda n: base.__setitem__(2, V[n])


@kind
def struct_buffer():
    state = bytearray(16)
    change = lambda n: struct.pack_into("d", state, 8, V[n])
    return lambda x: x * struct.unpack_from("d", state, 8)[0], change


@kind
def ctypes_number():
    state = ctypes.c_double()
    return lambda x: x * state.value, lambda n: setattr(state, "value", V[n])


@kind
def ctypes_array():
    state = (ctypes.c_double * 3)()
    return lambda x: x * state[1], lambda n: state.__setitem__(1, V[n])


@kind
def ctypes_structure():
    class Pair(ctypes.Structure):
        _fields_ = (("alpha", ctypes.c_double),)

    state = Pair()
    return lambda x: x * state.alpha, lambda n: setattr(state, "alpha", V[n])


@kind
def ctypes_pointer():
    number = ctypes.c_double()
    state = ctypes.pointer(number)
    return lambda x: x * state.contents.value, lambda n: setattr(number, "value", V[n])


@kind
def array_over_a_ctypes_buffer():
    base = (ctypes.c_double * 3)()
    table = np.ctypeslib.as_array(base)
    return lambda x: x * table.sum(), lambda n: base.__setitem__(1, V[n])


@kind
def fraction():
    box, change = boxed(*(fractions.Fraction(n + 1, 3) for n in range(3)))
    return lambda x: x * float(box.value), change


@kind
def decimal_number():
    box, change = boxed(*map(decimal.Decimal, ("1.5", "2.5", "3.5")))
    return lambda x: x * float(box.value), change


@kind
def date():
    box, change = boxed(*(datetime.date(2020, 1, n + 1) for n in range(3)))
    return lambda x: x * box.value.day, change


@kind
def time_delta():
    box, change = boxed(*(datetime.timedelta(seconds=n + 1) for n in range(3)))
    return lambda x: x * box.value.total_seconds(), change


@kind
def path_object():
    box, change = boxed(*(pathlib.PurePosixPath("/a" * (n + 1)) for n in range(3)))
    return lambda x: x * len(box.value.parts), change


@kind
def pattern():
    box, change = boxed(*map(re.compile, ("a", "b", "c")))
    return lambda x: x * 2 if box.value.match("bcd") else x, change


@kind
def pattern_on_an_outside_string():
    box, change = boxed("a1", "a22", "a333")
    find = re.compile(r"\d+")
    return lambda x: x * float(find.search(box.value).group()), change


@kind
def text_buffer():
    state = io.StringIO()

    def change(n):
        state.seek(0)
        state.write(str(V[n]))

    return lambda x: x * float(state.getvalue()), change


@kind
def json_of_a_dict():
    state = {}
    return lambda x: x * json.loads(json.dumps(state))["a"], lambda n: state.update(a=V[n])


@kind
def statistics_of_a_list():
    state = [1.0, 0.0]
    return lambda x: x * statistics.fmean(state), lambda n: state.__setitem__(1, V[n])


@kind
def copy_of_a_dict():
    state = {"a": [0.0]}
    change = lambda n: state["a"].__setitem__(0, V[n])
    return lambda x: x * copy.deepcopy(state)["a"][0], change


@kind
def shallow_copy_of_an_object():
    box, change = boxed(*V)
    return lambda x: x * copy.copy(box).value, change


@kind
def queue_length():
    state = queue.Queue()
    return lambda x: x * state.qsize(), lambda n: state.put(n)


@kind
def event_is_set():
    state = threading.Event()
    change = lambda n: state.set() if n == 1 else state.clear()
    return lambda x: x * 2 if state.is_set() else x, change


@kind
def lock_is_held():
    state = threading.Lock()
    change = lambda n: state.acquire() if n == 1 else state.locked() and state.release()
    return lambda x: x * 2 if state.locked() else x, change


@kind
def state_changed_by_a_thread():
    box, change = boxed(*V)

    def from_a_thread(n):
        thread = threading.Thread(target=change, args=(n,))
        thread.start()
        thread.join()

    return lambda x: x * box.value, from_a_thread


@kind
def array_changed_by_a_thread():
    table = np.zeros(3)

    def change(n):
        thread = threading.Thread(target=table.fill, args=(V[n],))
        thread.start()
        thread.join()

    return lambda x: x * table.max(), change


@kind
def sparse_matrix():
    from scipy import sparse

    state = sparse.csr_matrix(np.eye(3))
    return lambda x: x * float(state.sum()), lambda n: state.data.__setitem__(1, V[n])


@kind
def sparse_matrix_meets_an_array():
    from scipy import sparse

    state, ones = sparse.csr_matrix(np.eye(3)), np.ones(3)
    change = lambda n: state.data.__setitem__(1, V[n])
    return lambda x: x * float((state @ ones).sum()), change


@kind
def interpolator():
    from scipy.interpolate import interp1d

    state = interp1d(np.arange(3.0), np.arange(3.0))
    return lambda x: x * float(state(1.5)), lambda n: setattr(state, "y", np.full(3, V[n]))


@kind
def interpolator_written_to():
    from scipy.interpolate import interp1d

    state = interp1d(np.arange(3.0), np.arange(3.0), copy=False)
    return lambda x: x * float(state(1.5)), lambda n: state.y.__setitem__(2, V[n])


@kind
def spline():
    from scipy.interpolate import CubicSpline

    state = CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)
    return lambda x: x * float(state(1.5)), lambda n: state.c.__setitem__((3, 1), V[n])


@kind
def frozen_distribution():
    from scipy import stats

    state = stats.norm(0.0, 1.0)
    change = lambda n: state.kwds.update(scale=V[n]) or setattr(state, "args", (0.0,))
    return lambda x: x * float(state.std()), change


@kind
def polynomial_object():
    state = np.polynomial.Polynomial([1.0, 0.0])
    return lambda x: x * state(2.0), lambda n: state.coef.__setitem__(1, V[n])


@kind
def poly1d_object():
    state = np.poly1d([1.0, 0.0])
    return lambda x: x * state(2.0), lambda n: state.coeffs.__setitem__(1, V[n])


@kind
def outside_variable():
    box = Box()
    change = lambda n: setattr(box, "value", cr.variable(np.full(1, V[n])))
    return lambda x: x * box.value.value, change


@kind(grad=True)
def outside_variable_is_written_to():
    y = cr.variable(np.zeros(1))

    def change(n):
        y[...] = V[n]

    return lambda x: x * y.value, change


@kind
def outside_variable_meets_another():
    y = cr.variable(np.zeros(1))

    def change(n):
        y[...] = V[n]

    def f(x):
        out = x * y
        return getattr(out, "value", out)

    return f, change


@kind
def outside_variable_is_rebound():
    box = Box()
    change = lambda n: setattr(box, "value", cr.variable(np.full(1, V[n])))

    def f(x):
        out = x * box.value
        return getattr(out, "value", out)

    return f, change


@kind
def outside_variable_as_a_number():
    y = cr.variable(np.array(0.0))

    def change(n):
        y[...] = V[n]

    return lambda x: x * float(y.value), change


@kind
def outside_variable_in_an_if():
    y = cr.variable(np.zeros(1))

    def change(n):
        y[...] = V[n]

    return lambda x: x * 2 if y.value[0] > 2.5 else np.sin(x), change


@kind
def layer_with_a_parameter():
    class Layer:
        def __init__(self):
            self.weight = np.ones(1)

        def __call__(self, x):
            return np.tanh(x * self.weight)

    layers = [Layer(), Layer()]

    def f(x):
        for layer in layers:
            x = layer(x)
        return x

    return f, lambda n: layers[1].weight.fill(V[n])


@kind
def layer_is_appended():
    layers = [np.sin]

    def f(x):
        for layer in layers:
            x = layer(x)
        return x

    return f, lambda n: layers.append((np.sin, np.cos, np.tanh)[n])

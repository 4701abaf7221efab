"""The world outside the process: files, random numbers, clocks, identities."""

import json
import os
import random
import secrets
import tempfile
import time
import uuid
from datetime import datetime
from pathlib import Path

import numpy as np

from tests.run.outside_kinds.register import V, kind


def in_a_file(read):
    """A kind that reads a file whose text is a number."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        yield (lambda x: x * read(path)), (lambda n: path.write_text(str(V[n])) and None)


@kind(grad=True)
def file_by_open():
    def read(path):
        with open(path) as file:
            return float(file.read())

    yield from in_a_file(read)


@kind
def file_by_read_text():
    yield from in_a_file(lambda path: float(path.read_text()))


@kind
def file_by_os_open():
    def read(path):
        number = os.open(path, os.O_RDONLY)
        found = float(os.read(number, 20))
        os.close(number)
        return found

    yield from in_a_file(read)


@kind
def file_by_json():
    yield from in_a_file(lambda path: json.loads(path.read_bytes()))


@kind
def file_by_loadtxt():
    yield from in_a_file(lambda path: float(np.loadtxt(path)))


@kind
def file_by_fromfile():
    yield from in_a_file(lambda path: float(np.fromfile(path, np.uint8).sum()))


@kind
def file_by_np_load():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        yield lambda x: x * np.load(path), lambda n: np.save(path, np.full(1, V[n]))


@kind
def file_held_open():
    with tempfile.TemporaryFile("w+") as file:

        def change(n):
            file.seek(0)
            file.write(str(V[n]))
            file.flush()

        def f(x):
            file.seek(0)
            return x * float(file.read())

        yield f, change


@kind
def file_size():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        change = lambda n: path.write_text("a" * (n + 1)) and None
        yield lambda x: x * os.stat(path).st_size, change


@kind
def file_size_by_path():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        change = lambda n: path.write_text("a" * (n + 1)) and None
        yield lambda x: x * path.stat().st_size + os.path.getsize(path), change


@kind
def file_exists():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        change = lambda n: path.touch() if n == 1 else path.unlink(missing_ok=True)
        yield lambda x: x * 2 if path.exists() else x, change


@kind
def folder_listing():
    with tempfile.TemporaryDirectory() as folder:
        change = lambda n: Path(folder, f"{n}").touch()
        yield lambda x: x * len(os.listdir(folder)), change


@kind
def random_module():
    yield lambda x: x * random.random(), lambda n: random.seed(n)


@kind
def random_object():
    state = random.Random(0)
    return lambda x: x * state.uniform(1, 2), lambda n: state.seed(n)


@kind
def random_choice():
    state = random.Random(0)
    return lambda x: x * state.choice(V), lambda n: None


@kind(grad=True)
def numpy_random_legacy():
    yield lambda x: x * np.random.rand(), lambda n: np.random.seed(n)  # noqa: NPY002 - the kind


@kind
def numpy_random_state():
    state = np.random.RandomState(0)
    return lambda x: x * state.rand(), lambda n: state.seed(n)


@kind(grad=True)
def numpy_random_generator():
    state = np.random.default_rng(0)
    return lambda x: x * state.normal(), lambda n: None


@kind
def numpy_random_array():
    state = np.random.default_rng(0)
    return lambda x: x + state.normal(size=1), lambda n: None


@kind
def numpy_random_into_out():
    state, noise = np.random.default_rng(0), np.zeros(1)

    def f(x):
        state.random(out=noise)
        return x + noise

    return f, lambda n: None


@kind
def numpy_random_generator_is_seeded_inside():
    state = [0]
    change = lambda n: state.__setitem__(0, n)
    return lambda x: x * np.random.default_rng(state[0]).normal(), change


@kind
def numpy_bit_generator_state():
    bits = np.random.PCG64(0)
    start = bits.state
    state = np.random.Generator(bits)
    return lambda x: x * state.random(), lambda n: setattr(bits, "state", start)


@kind
def numpy_shuffle():
    state, table = np.random.default_rng(0), np.arange(9.0)

    def f(x):
        state.shuffle(table)
        return x * table[0]

    return f, lambda n: None


def moved(clock):
    """A clock once it has moved on, so that no two readings are the same."""
    start = now = clock()
    while now == start:
        now = clock()
    return now


@kind(fresh=True)
def clock():
    return lambda x: x * moved(time.perf_counter_ns), lambda n: None


@kind(fresh=True)
def clock_by_time():
    return lambda x: x + moved(time.time_ns) % 10**12, lambda n: None


@kind(fresh=True)
def clock_by_datetime():
    def f(x):
        now = moved(datetime.now)
        return x + (now.second * 10**6 + now.microsecond)

    return f, lambda n: None


@kind(fresh=True)
def uuid_number():
    return lambda x: x * (uuid.uuid4().int % 10**12), lambda n: None


@kind(fresh=True)
def urandom():
    return lambda x: x + int.from_bytes(os.urandom(6), "little"), lambda n: None


@kind(fresh=True)
def secrets_number():
    return lambda x: x + secrets.randbelow(10**12), lambda n: None


@kind(fresh=True)
def random_without_a_seed():
    return lambda x: x * np.random.default_rng().random(), lambda n: None


@kind(fresh=True)
def identity_of_a_new_object():
    keep = []

    def f(x):
        keep.append(object())
        return x + id(keep[-1]) % 10**9

    return f, lambda n: None


@kind
def identity_of_an_outside_object():
    boxes, state = [object(), object()], [None]
    change = lambda n: state.__setitem__(0, boxes[n % 2])
    return lambda x: x * 2 if id(state[0]) == id(boxes[1]) else x, change


@kind
def process_number():
    return lambda x: x * (os.getpid() > 0), lambda n: None

"""The process and the world: settings, environment, files, clocks, random numbers."""

import decimal
import gc
import json
import locale
import logging
import os
import random
import secrets
import signal
import sys
import tempfile
import time
import uuid
import warnings
from datetime import datetime
from pathlib import Path

import numpy as np

from tests.run.outside_kinds.register import V, kind

NAME = "CHAINRULE_TEST_OF_OUTSIDE_STATE"


def env(n):
    os.environ[NAME] = str(V[n])


@kind(grad=True)
def environ_item():
    yield lambda x: x * float(os.environ[NAME]), env
    os.environ.pop(NAME, None)


@kind
def environ_get():
    yield lambda x: x * float(os.environ.get(NAME, "1")), env
    os.environ.pop(NAME, None)


@kind
def getenv():
    yield lambda x: x * float(os.getenv(NAME)), env
    os.environ.pop(NAME, None)


@kind
def environ_membership():
    def change(n):
        env(n)
        if n == 1:
            del os.environ[NAME]

    yield lambda x: x * 2 if NAME in os.environ else x, change
    os.environ.pop(NAME, None)


@kind
def numpy_error_state_is_asked():
    before = np.geterr()
    change = lambda n: np.seterr(divide=("ignore", "raise", "warn")[n])
    yield lambda x: x * len(np.geterr()["divide"]), change
    np.seterr(**before)


@kind
def numpy_error_state_decides():
    def f(x):
        try:
            return x + min(np.divide(np.ones(1), np.zeros(1))[0], 7.0)
        except FloatingPointError:
            return x * 3

    before = np.geterr()
    change = lambda n: np.seterr(divide=("ignore", "raise", "ignore")[n])
    yield f, change
    np.seterr(**before)


@kind
def numpy_print_options():
    third, before = np.array([1 / 3]), np.get_printoptions()
    change = lambda n: np.set_printoptions(precision=n + 2)
    yield lambda x: x * len(str(third)), change
    np.set_printoptions(**before)


@kind
def numpy_print_options_are_asked():
    before = np.get_printoptions()
    change = lambda n: np.set_printoptions(precision=n + 2)
    yield lambda x: x * np.get_printoptions()["precision"], change
    np.set_printoptions(**before)


@kind
def decimal_context_is_asked():
    before = decimal.getcontext().copy()
    change = lambda n: setattr(decimal.getcontext(), "prec", n + 2)
    yield lambda x: x * decimal.getcontext().prec, change
    decimal.setcontext(before)


@kind
def decimal_context_rounds():
    before = decimal.getcontext().copy()
    change = lambda n: setattr(decimal.getcontext(), "prec", n + 2)
    yield lambda x: x * float(decimal.Decimal(2) / decimal.Decimal(3)), change
    decimal.setcontext(before)


@kind
def locale_setting():
    before = locale.setlocale(locale.LC_CTYPE)
    change = lambda n: locale.setlocale(locale.LC_CTYPE, ("C", "C.UTF-8", "POSIX")[n])
    yield lambda x: x * len(locale.setlocale(locale.LC_CTYPE)), change
    locale.setlocale(locale.LC_CTYPE, before)


@kind
def recursion_limit():
    before = sys.getrecursionlimit()
    change = lambda n: sys.setrecursionlimit(before + 100 * n)  # noqa: TID251 - this is the kind
    yield lambda x: x * (sys.getrecursionlimit() - before + 1), change
    sys.setrecursionlimit(before)  # noqa: TID251 - it is put back


@kind
def switch_interval():
    before = sys.getswitchinterval()
    change = lambda n: sys.setswitchinterval((0.005, 0.01, 0.02)[n])
    yield lambda x: x * round(1000 * sys.getswitchinterval()), change
    sys.setswitchinterval(before)


@kind
def sys_argv():
    before = sys.argv
    change = lambda n: setattr(sys, "argv", ["a"] * (n + 1))
    yield lambda x: x * len(sys.argv), change
    sys.argv = before


@kind
def sys_path_length():
    before = list(sys.path)
    change = lambda n: sys.path.append(f"/nowhere/{n}")
    yield lambda x: x * (len(sys.path) - len(before)), change
    sys.path[:] = before


@kind
def warning_filters():
    def f(x):
        try:
            warnings.warn("outside", UserWarning, stacklevel=1)
        except UserWarning:
            return x * 2
        return x

    # The checker puts the filters back.
    return f, lambda n: warnings.simplefilter("error" if n == 1 else "ignore", UserWarning)


@kind
def logging_level():
    log = logging.getLogger("chainrule.test.outside")
    change = lambda n: log.setLevel((logging.DEBUG, logging.INFO, logging.ERROR)[n])
    yield lambda x: x * 2 if log.isEnabledFor(logging.INFO) else x, change
    log.setLevel(logging.NOTSET)


@kind
def logging_level_of_the_parent():
    log, parent = logging.getLogger("chainrule.test.a.b"), logging.getLogger("chainrule.test.a")
    change = lambda n: parent.setLevel((logging.DEBUG, logging.INFO, logging.ERROR)[n])
    yield lambda x: x * log.getEffectiveLevel(), change
    parent.setLevel(logging.NOTSET)


@kind
def garbage_collector_setting():
    before = gc.isenabled()
    change = lambda n: gc.disable() if n == 1 else gc.enable()
    yield lambda x: x * 2 if gc.isenabled() else x, change
    gc.enable() if before else gc.disable()


@kind
def signal_handler():
    before = signal.getsignal(signal.SIGTERM)
    change = lambda n: signal.signal(
        signal.SIGTERM, signal.SIG_IGN if n == 1 else signal.SIG_DFL
    )
    yield lambda x: x * 2 if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN else x, change
    signal.signal(signal.SIGTERM, before)


@kind
def working_directory():
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a", "bb", "ccc"):
            os.mkdir(os.path.join(folder, name))
        change = lambda n: os.chdir(os.path.join(folder, ("a", "bb", "ccc")[n]))
        yield lambda x: x * len(os.path.basename(os.getcwd())), change
        os.chdir(before)


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


@kind(fresh=True)
def clock():
    return lambda x: x * time.perf_counter_ns(), lambda n: None


@kind(fresh=True)
def clock_by_time():
    return lambda x: x + time.time_ns() % 10**12, lambda n: None


@kind(fresh=True)
def clock_by_datetime():
    def f(x):
        now = datetime.now()
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
def reference_count():
    state, more = [0.0], []

    def change(n):
        more[:] = [state] * n

    return lambda x: x * 2 if sys.getrefcount(state) > sys.getrefcount(more) else x * 3, change


@kind
def process_number():
    return lambda x: x * (os.getpid() > 0), lambda n: None

"""The process and the world: settings, environment, files, clocks, random numbers."""

import decimal
import gc
import locale
import logging
import os
import signal
import sys
import tempfile
import warnings

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
    change = lambda n: signal.signal(signal.SIGTERM, signal.SIG_IGN if n == 1 else signal.SIG_DFL)
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

"""Every name the walk of the one door asks: NumPy's, those of arrays and Variables, Python's."""

from __future__ import annotations

import bisect
import builtins
import cmath
import copy
import ctypes
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import pickle  # noqa: TID251 - nothing is loaded; it is asked what dumping gives away
import random
import statistics
import string
import struct
from array import array
from collections import ChainMap, Counter, deque
from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.record.variable import Variable

Names = dict[str, Callable[..., Any]]

# They change settings, wait for the user, touch files, or take long, whatever they are given.
LEFT_OUT = {
    "np": {
        "fromfile", "genfromtxt", "get_include", "info", "load", "loadtxt", "memmap", "save",
        "savetxt", "savez", "savez_compressed", "set_printoptions", "setbufsize", "seterr",
        "seterrcall", "show_config", "show_runtime", "test",
        # Memory as it was found.
        "empty", "empty_like", "ndarray", "recarray", "masked_all", "masked_all_like",
    },
    "testing": {"break_cycles", "check_support_sve", "measure", "rundocs", "runstring", "tempdir",
                "temppath", "run_threaded"},
    "random": {"set_state", "get_state", "seed", "set_bit_generator", "get_bit_generator", "test"},
    "builtins": {
        "breakpoint", "compile", "copyright", "credits", "delattr", "eval", "exec", "exit", "help",
        "input", "license", "open", "quit", "setattr", "__import__", "__build_class__", "locals",
        "globals", "dir", "vars", "super",
    },
    "itertools": {"tee"},
    # Tools: they look at a whole function, and are called beside what is compiled.
    "cr": {
        "animate", "check_grads", "compile", "debug", "diff_runs", "explain", "explore",
        "find_nonfinite", "load", "save", "trace",
    },
}  # fmt: skip
ARRAYS_OWN = {
    "__class__", "__delattr__", "__dir__", "__getattribute__", "__init__", "__init_subclass__",
    "__new__", "__setattr__", "__subclasshook__", "dump", "dumps", "tofile",
    "__class_getitem__",  # of the class, not of an array
    "__hash__",  # None of an array
    *("__array_interface__", "__array_struct__", "ctypes"),  # addresses; asked below of Variables
}  # fmt: skip


# Their third or fourth argument is `out`.  NumPy takes whatever it is for an array, unasked, and
# reads its flags from where they would be, which may end the process.
FILL_OUT = {"random", "standard_exponential", "standard_gamma", "standard_normal"}


def _public(module: Any, prefix: str, left_out: str = "np") -> Names:
    """The callables of a module; its exceptions and modules are none of them."""
    found = {}
    for name in sorted(set(getattr(module, "__all__", dir(module)))):
        member = getattr(module, name, None)
        exception = isinstance(member, type) and issubclass(member, BaseException)
        if name.startswith("_") or exception or isinstance(member, ModuleType):
            continue
        if callable(member) and name not in LEFT_OUT[left_out]:
            found[f"{prefix}.{name}"] = member
    return found


def _attributes(kind: type, prefix: str, without: Any) -> Names:
    """Every attribute, called if it can be."""

    def asked(name: str) -> Callable[..., Any]:
        def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
            attribute = getattr(self, name)
            return attribute(*args, **kwargs) if callable(attribute) else attribute

        return ask

    return {f"{prefix}.{name}": asked(name) for name in sorted(set(dir(kind)) - set(without))}


def _ufunc_methods() -> Names:
    ufuncs = (np.add, np.multiply, np.maximum, np.less, np.logical_and, np.divmod)
    methods = ("reduce", "accumulate", "outer", "at", "reduceat")
    return {
        f"np.{u.__name__}.{m}": functools.partial(
            lambda u, m, *a, **k: getattr(u, m)(*a, **k), u, m
        )
        for u in ufuncs
        for m in methods
    }


def _drawn() -> Names:
    """Random numbers, from one seed each time: what is left depends on the arguments alone."""

    def draw(name: str) -> Callable[..., Any]:
        def drawn(*args: Any, **kwargs: Any) -> Any:
            if name in FILL_OUT and not all(isinstance(a, np.ndarray) for a in args[2:]):
                raise TypeError("out must be an array")
            return getattr(np.random.default_rng(0), name)(*args, **kwargs)

        return drawn

    def draw_legacy(name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: getattr(np.random.RandomState(0), name)(*args, **kwargs)

    without = LEFT_OUT["random"] | {"bit_generator", "spawn"}
    kinds = (np.random.Generator, "rng", draw), (np.random.RandomState, "RandomState", draw_legacy)
    return {
        f"{prefix}.{name}": how(name)
        for kind, prefix, how in kinds
        for name in dir(kind)
        if not name.startswith("_") and name not in without
    }


def _matched(v: Any) -> str:
    match v:
        case 0:
            return "zero"
        case float() | int():
            return "a number"
        case [_, _, *_]:
            return "a sequence"
        case _:
            return "else"


def _counted(n: Any) -> Any:
    total = 0
    while n > total:
        total += 1
    return total


def _grouped(x: Any) -> Any:
    return [(key, len(list(group))) for key, group in itertools.groupby(x, lambda v: v > 0)]


STATEMENTS: Names = {
    "f'{v}'": lambda v: f"{v}",
    "f'{v!r}'": lambda v: f"{v!r}",
    "f'{v!a}'": lambda v: f"{v!a}",
    "f'{v:.1f}'": lambda v: f"{v:.1f}",
    "f'{1.5:.{n}f}'": lambda n: f"{1.5:.{n}f}",
    "'%s' % v": lambda v: "%s" % (v,),  # noqa: UP031 - this is what is asked
    "'%g' % v": lambda v: "%g" % v,  # noqa: UP031
    "'%r' % v": lambda v: "%r" % (v,),  # noqa: UP031
    "'%d' % v": lambda v: "%d" % v,  # noqa: UP031
    "b'%a' % v": lambda v: b"%a" % (v,),
    "'{}'.format(v)": lambda v: "{}".format(v),  # noqa: UP032
    "'{:.2}'.format(v)": lambda v: "{:.2}".format(v),  # noqa: UP032
    "'{0[0]}'.format(v)": lambda v: "{[0]}".format(v),  # noqa: UP032
    "Template.substitute": lambda v: string.Template("$v").substitute(v=v),
    "if v": lambda v: 1 if v else 2,
    "not v": lambda v: not v,
    "v and 1": lambda v: (v and 1) if np.ndim(v) == 0 else None,
    "assert v": lambda v: _asserted(v),
    "7. in v": lambda v: 7.0 in v,
    "s in v": lambda s, v: s in v,
    "s in [..]": lambda s: s in [0.0, 2.0],
    "s in {..}": lambda s: s in {0.0, 2.0},
    "{..}[s]": lambda s: {0.0: 1, 2.0: 2}.get(s),
    "{v: 1}": lambda s: len({s: 1, 2.0: 1}),
    "[..].index(s)": lambda s: [1.5, 0.0, 2.0].index(s),
    "[..].count(s)": lambda s: [1.5, 0.0, 2.0].count(s),
    "v == v": lambda a, b: a == b,
    "0 < v < 2": lambda s: 0 < s < 2,
    "v is w": lambda a, b: a is b,
    "match": _matched,
    "while n > k": _counted,
    "for in range(n)": lambda n: list(range(n)),
    "[..][n]": lambda n: [10, 20, 30][n],
    "'abc'[:n]": lambda n: "abc"[:n],
    "'ab' * n": lambda n: "ab" * n,
    "[0] * n": lambda n: [0] * n,
    "a, b, *c = v": lambda v: [*v],
    "{**d}": lambda v: {**ChainMap({"a": v})},
    "[.. if v > 0]": lambda x: [k for k, v in enumerate(x) if v > 0],
    "sorted(key)": lambda x: sorted(range(4), key=lambda k: x[k]),
    "max(key)": lambda x: max(range(4), key=lambda k: x[k]),
    "list.sort": lambda x: [1.0, *x].sort(),
    "bisect": lambda s: bisect.bisect([-1.0, 0.0, 1.0], s),
    "bisect in": lambda x: bisect.bisect(x, 1.0),
    "insort": lambda s: bisect.insort([-1.0, 0.0, 1.0], s),
    "nsmallest": lambda x: heapq.nsmallest(2, range(4), key=lambda k: x[k]),
    "heapify": lambda x: heapq.heappop([(v, k) for k, v in enumerate(x)])[1],
    "reduce": lambda x: functools.reduce(lambda a, b: a if a > b else b, x),
    "lru_cache": lambda s: functools.lru_cache(lambda v: v > 0)(s),
    "accumulate": lambda x: [v > 1 and 1 for v in itertools.accumulate(x)],
    "takewhile": lambda x: itertools.takewhile(lambda v: v > 0, x),
    "dropwhile": lambda x: itertools.dropwhile(lambda v: v > 0, x),
    "filterfalse": lambda x: itertools.filterfalse(lambda v: v > 0, x),
    "filter": lambda x: filter(lambda v: v > 0, x),
    "itertools.compress": lambda b: itertools.compress(range(4), b),
    "groupby": _grouped,
    "islice": lambda n: itertools.islice(range(9), n),
    "repeat": lambda n: itertools.repeat(1, n),
    "islice(x, n)": lambda x, n: itertools.islice(x, n),
    "combinations": lambda n: itertools.combinations(range(3), n),
    "Counter": lambda i: sorted(Counter(i).values()),
    "deque": lambda n: deque([1, 2, 3], n),
    "ChainMap": lambda s: ChainMap({"a": s})["a"],
    "random.choices": lambda x: random.Random(0).choices(range(4), weights=list(x)),
    "random.gauss": lambda s: random.Random(0).gauss(s, 1.0),
    "random.uniform": lambda s: random.Random(0).uniform(s, 1.0) > 0.5,
    "random.sample": lambda n: random.Random(0).sample(range(9), n),
    "random.Random(v)": lambda s: random.Random(s).random(),
    "default_rng(n)": lambda n: np.random.default_rng(n).random(),
    "Decimal": lambda s: decimal.Decimal(s),
    "Decimal.from_float": lambda s: decimal.Decimal.from_float(s),
    "Fraction": lambda s: fractions.Fraction(s),
    "Fraction(n, 3)": lambda n: fractions.Fraction(n, 3),
    "int.from_bytes": lambda i: int.from_bytes(i, "little"),
    "float.is_integer": lambda s: s.is_integer(),
    "float.hex": lambda s: float(s).hex(),
    "as_integer_ratio": lambda s: s.as_integer_ratio(),
    "bit_length": lambda n: n.bit_length(),
    "timedelta": lambda s: timedelta(seconds=s),
    "array.array": lambda x: array("d", x),
    "array.append": lambda s: array("d", [1.0]).append(s),
    "struct.pack": lambda s: struct.pack("d", s),
    "c_double": lambda s: ctypes.c_double(s),
    "bytearray(n)": lambda n: bytearray(n),
    "memoryview": lambda x: bytes(memoryview(x)),
    "ctypes": lambda x: x.ctypes if isinstance(x, Variable) else None,
    "interface": lambda x: x.__array_interface__ if isinstance(x, Variable) else None,
    "struct": lambda x: x.__array_struct__ if isinstance(x, Variable) else None,
    "from_dlpack": lambda x: np.from_dlpack(x),
    "frombuffer": lambda x: np.frombuffer(x),
    "c[n]": lambda n: np.arange(4.0)[n],
    "c[b]": lambda b: np.arange(4.0)[b],
    "c[i]": lambda i: np.arange(4.0)[i],
    "c[n:]": lambda n: np.arange(4.0)[n:],
    "c[0] = s": lambda s: np.zeros(2).__setitem__(0, s),
    "c[:] = x": lambda x: np.zeros(4).__setitem__(slice(None), x),
    "c[b] = 1": lambda b: np.zeros(4).__setitem__(b, 1.0),
    "c += x": lambda x: operator.iadd(np.zeros(4), x),
    "x[b].shape": lambda x, b: x[b].shape,
    "len(x[b])": lambda x, b: len(x[b]),
    "x[x > 0]": lambda x: x[x > 0],
    "x[n]": lambda x, n: x[n] * 0 + 1,
    "x[:n]": lambda x, n: x[:n],
    "x[[n, 0]]": lambda x, n: x[[n, 0]],
    "x[b] = 0": lambda x, b: x.__setitem__(b, 0.0),
    "del list[n]": lambda n: [1, 2, 3].__delitem__(n),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "json default": lambda v: json.dumps([v], default=repr),
    "str(list)": lambda x: str([x]),
    "str(dict)": lambda x: str({"a": x}),
    "KeyError(v)": lambda s: str(KeyError(s)),
    "isinstance": lambda s: isinstance(s, float),
    "np.vectorize": lambda x: np.vectorize(lambda v: v > 0)(x),
    "np.fromiter": lambda x: np.fromiter(x, float),
    "np.array(list)": lambda x: np.array(list(x), float),
    "np.asarray(float)": lambda x: np.asarray(x, float),
    "np.float64": lambda s: np.float64(s),
    "np.array([s])": lambda s: np.array([s, 1.0]),
    "np.full": lambda s: np.full(3, s),
    "np.nditer": lambda x: [float(v) for v in np.nditer(x)],
    "np.ndenumerate": lambda x: [k for k, v in np.ndenumerate(x) if v > 0],
    "x.flat": lambda x: [k for k, v in enumerate(x.flat) if v > 0],
    "try inv": lambda m: _tried(np.linalg.inv, m),
    "try cholesky": lambda m: _tried(np.linalg.cholesky, m),
    "try index": lambda x, i: _tried(lambda v: v[i + 2], x),
    "errstate": lambda x: _strict(lambda: 1 / x),
}


def _asserted(v: Any) -> bool:
    try:
        assert v
    except AssertionError:
        return False
    return True


def _tried(f: Callable[[Any], Any], v: Any) -> str:
    try:
        f(v)
    except (np.linalg.LinAlgError, IndexError):
        return "raised"
    return "worked"


def _strict(f: Callable[[], Any]) -> str:
    with np.errstate(all="raise"):
        try:
            f()
        except FloatingPointError:
            return "raised"
    return "worked"


def _classes() -> Names:
    kinds = (
        "polynomial.Polynomial chebyshev.Chebyshev legendre.Legendre hermite.Hermite "
        "hermite_e.HermiteE laguerre.Laguerre"
    )
    return {f"np.{kind}": operator.attrgetter(kind)(np.polynomial) for kind in kinds.split()}


def _polynomials() -> Names:
    modules = "polynomial chebyshev legendre hermite hermite_e laguerre polyutils"
    found: Names = {}
    for name in modules.split():
        found |= _public(getattr(np.polynomial, name), f"np.polynomial.{name}")
    return found


def _of_python() -> Names:
    found = _public(builtins, "builtins", "builtins")
    for module in (math, cmath, operator, statistics, copy):
        found |= _public(module, module.__name__, "itertools")
    return found | _public(itertools, "itertools", "itertools")


MODULES: dict[str, Callable[[], Names]] = {
    "numpy": lambda: _public(np, "np"),
    "ufunc methods": _ufunc_methods,
    "linalg": lambda: _public(np.linalg, "np.linalg"),
    "fft": lambda: _public(np.fft, "np.fft"),
    "emath": lambda: _public(np.emath, "np.emath"),
    "strings": lambda: _public(np.strings, "np.strings") | _public(np.char, "np.char"),
    "lib": lambda: (
        _public(np.lib.stride_tricks, "np.lib.stride_tricks")
        | _public(np.lib.array_utils, "np.lib.array_utils")
    ),
    "ma": lambda: _public(np.ma, "np.ma"),
    "polynomial": lambda: _polynomials() | _classes(),
    "testing": lambda: _public(np.testing, "np.testing", "testing"),
    "random": _drawn,
    "ndarray": lambda: _attributes(np.ndarray, "x", ARRAYS_OWN),
    "Variable": lambda: _attributes(Variable, "Variable", {*dir(np.ndarray), *OF_VARIABLE}),
    "chainrule": lambda: _public(cr, "cr", "cr") | {f"cr.{n}": op for n, op in cr.OPS.items()},
    "python": _of_python,
    "statements": lambda: STATEMENTS,
}
# `_value` and `node` are of the engine, which notes no reads of its own; `line` and `name` tell
# where a value came from.
OF_VARIABLE = {"_value", "_plain", "node", "_rebind", "note_view", "__slots__", "__weakref__"}

"""How a function of SciPy and ours of the same name become one: ours runs where a Variable is met.

On anything else the result is what SciPy's own function returns, untouched.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from chainrule.core.node import line_at
from chainrule.core.op import OPS
from chainrule.core.picked import picked_among
from chainrule.errors import (
    ArgumentError,
    ChainruleError,
    LinearAlgebraError,
    UnsupportedAttributeError,
    UnsupportedError,
)
from chainrule.ops.joining import as_array
from chainrule.record.protocol import op_of
from chainrule.record.recorder import FOREIGN
from chainrule.record.state import current, user_line

Function = Callable[..., Any]
NEAR = 0.6  # how much alike the names of two functions are before one is suggested for the other


def meets_variable(*values: Any) -> bool:
    """Whether a Variable is among the values, or inside a list, tuple, dict or array of them."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if hasattr(value, "__chainrule_record__"):
            return True
        if isinstance(value, (list, tuple)):
            pending += value
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, np.ndarray) and value.dtype == object:
            pending += value.ravel().tolist()
    return False


def paired(theirs: Function, ours: Function, name: str) -> Function:
    """SciPy's function, and where an argument holds a Variable ours, with SciPy's signature."""
    signature, accepted = signature_of(theirs), inspect.signature(ours)

    @wraps(theirs, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not meets_variable(args, kwargs):
            return theirs(*args, **kwargs)
        return run_ours(ours, name, *our_call(name, signature, accepted, args, kwargs))

    return call


def run_ours(ours: Function, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of ours: what it records has the user's line, and its errors name SciPy's function."""
    state, line = current.get(), user_line(3)
    if state.tracing is not None and state.tracing.guarded:
        state.tracing.counted(picked_among([*args, *kwargs.values()]))
    token = current.set(state.changed(line=line))
    try:
        with np.errstate(all="ignore"):
            return ours(*args, **kwargs)
    except ChainruleError as error:
        shown = line_at(*line).shown()
        if shown not in str(error):
            what = "" if name in str(error) else f"{name}: "
            error.args = (f"{what}{error}\n  {shown}", *error.args[1:])
        raise
    except np.linalg.LinAlgError as error:
        raise LinearAlgebraError(f"{name}: {error}\n  {line_at(*line).shown()}") from error
    except FOREIGN as error:
        raise ArgumentError(f"{name}: {error}\n  {line_at(*line).shown()}") from error
    finally:
        current.reset(token)


def here() -> str:
    """The user's line, for a message."""
    return line_at(*user_line(3)).shown()


def signature_of(function: Function) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # of some functions in C nothing is told
        return None


def our_call(
    name: str,
    signature: inspect.Signature | None,
    accepted: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call in SciPy's parameters as one of ours, which has fewer: defaults are left out."""
    if signature is None:
        return args, kwargs
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{name}: {error}\n  {here()}") from None
    left = dict(kwargs)
    named = {k: v for k, v in given.arguments.items() if k not in accepted.parameters}
    for key, value in named.items():
        parameter = signature.parameters[key]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # ours takes those too, or its own binding refuses them
        if not is_default(parameter.default, value):
            taken = ", ".join(accepted.parameters)
            raise UnsupportedError(
                f"{name} on a Variable does not take {key}={value!r} (it takes {taken}).\n"
                f"  {here()}"
            )
        left.pop(key, None)
    count = sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in accepted.parameters.values()
    )
    variadic = any(p.kind is p.VAR_POSITIONAL for p in accepted.parameters.values())
    return (args if variadic else args[:count]), left


def is_default(default: Any, value: Any) -> bool:
    return default is value or (isinstance(value, (str, int, float, bool)) and default == value)


def looking_into(ufunc: np.ufunc) -> Function:
    """A ufunc of SciPy's, which NumPy's protocol hands to us, that also finds Variables in lists.

    One that is no op of ours raises there, naming the nearest.
    """

    @wraps(ufunc, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return ufunc(*(as_array(a) if in_container(a) else a for a in args), **kwargs)

    for field in ("nin", "nout", "nargs", "ntypes", "types", "identity", "reduce", "outer"):
        setattr(call, field, getattr(ufunc, field))
    return call


def named(room: str, name: str) -> Any:
    """What a pickled object of one of SciPy's modules is again."""
    return getattr(import_module(f"chainrule.{room}"), name)


def in_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) and meets_variable(value)


def guarded(theirs: Function, name: str, known: Iterable[str]) -> Function:
    """A function of SciPy's without one of ours: it refuses Variables, naming the nearest."""
    known = tuple(known)

    @wraps(theirs, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if meets_variable(args, kwargs):
            raise not_covered(name, known)
        return theirs(*args, **kwargs)

    return call


def not_covered(name: str, known: Iterable[str], reason: str = "") -> UnsupportedError:
    """The error for what is not differentiated: its name, why, and the nearest that is."""
    room, _, last = name.rpartition(".")
    close = get_close_matches(last, sorted(known), n=1, cutoff=NEAR)
    nearest = f"; the nearest that is: {room}.{close[0]}" if close else ""
    because = f" ({reason})" if reason else ""
    return UnsupportedError(
        f"{name} is not differentiated on a Variable{because}{nearest}.\n  {here()}\n"
        "  pass x.value to compute it without a gradient; a cr.Function gives it a derivative."
    )


class Guarded:
    """A class or an object of SciPy's that refuses Variables, and is that object otherwise."""

    def __init__(self, theirs: Any, name: str, known: Iterable[str]):
        self.__wrapped__, self._name, self._known = theirs, name, tuple(known)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if meets_variable(args, kwargs):
            raise not_covered(self._name, self._known)
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        whole = isinstance(self.__wrapped__, type) or name.startswith("_") or not callable(found)
        return found if whole else guarded(found, f"{self._name}.{name}", self._known)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.__wrapped__)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self.__wrapped__)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self.__wrapped__,)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def namespace(
    module: str,
    ours: Mapping[str, Function],
    objects: Mapping[str, Any] | None = None,
    make: Callable[[str, Any], Any] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module that stands for SciPy's of the name `module`.

    `ours` are functions to pair with SciPy's; `objects` are taken as they are, and so is what
    `make` makes of a name and what SciPy has there, unless it is None.
    """
    made: dict[str, Any] = dict(objects or {})

    def find(name: str) -> Any:
        if name in made:
            return made[name]
        scipy = import_module(module)
        if name == "__all__":
            return listed()
        if name.startswith("__") or not hasattr(scipy, name):
            raise UnsupportedAttributeError(f"{module} has no attribute {name!r}")
        theirs = getattr(scipy, name)
        found = None if make is None else make(name, theirs)
        known = [n for n in (*ours, *(objects or {}), *OPS) if hasattr(scipy, n)]
        made[name] = covered(theirs, f"{module}.{name}", ours, known) if found is None else found
        return made[name]

    def listed() -> list[str]:
        scipy = import_module(module)
        return sorted({*getattr(scipy, "__all__", dir(scipy)), *made})

    return find, listed


def covered(theirs: Any, name: str, ours: Mapping[str, Function], known: Iterable[str]) -> Any:
    """What stands in our module for something of SciPy's."""
    last = name.rpartition(".")[2]
    if last in ours:
        return paired(theirs, ours[last], name)
    if isinstance(theirs, np.ufunc):
        return guarded(theirs, name, known) if op_of(theirs) is None else looking_into(theirs)
    if isinstance(theirs, type):
        plain = issubclass(theirs, BaseException)
        return theirs if plain else Guarded(theirs, name, known)
    if isinstance(theirs, ModuleType) or not callable(theirs):
        return theirs
    function = hasattr(theirs, "__name__")  # SciPy's distributions are objects that are called
    return (guarded if function else Guarded)(theirs, name, known)

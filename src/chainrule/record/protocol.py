"""NumPy's own protocols: which op a NumPy function called on a Variable stands for."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.node import line_at
from chainrule.core.op import OPS, Op, Partials
from chainrule.core.rule import rule_for
from chainrule.errors import ChainruleError, DetachError, UnsupportedError
from chainrule.record.making import ufunc_maker
from chainrule.record.recorder import LinePlace, as_operand, call, located, record, translated
from chainrule.record.state import user_line

if TYPE_CHECKING:
    from chainrule.record.variable import Variable

_by_numpy: dict[Any, Op] = {}
_plans: dict[Any, Plan] = {}
SETTINGS = frozenset({int, float, bool, str, type(None)})  # their types
_parameters: dict[Any, dict[str, Any]] = {}
ufunc_makers: dict[np.ufunc, Any] = {}  # of elementwise ops of one input met so far
ufunc_ops: dict[np.ufunc, Op] = {}  # ops met so far that take their inputs and nothing else
REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
    "logical_and": "all", "logical_or": "any", "logaddexp": "logsumexp",
}  # fmt: skip
FOLDS = ("reduce", "accumulate", "reduceat")
WEAK = (int, float, complex)  # Python's numbers take the dtype of what they meet
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}


# Questions about an array whose answer is not an array to differentiate: what is asked for.
INQUIRIES: dict[Any, str] = {
    **dict.fromkeys(
        (np.shape, np.size, np.ndim, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast,
         np.common_type), "_note_shape"),
    **dict.fromkeys((np.array_repr, np.array_str, np.array2string), "_note_text"),
    np.min_scalar_type: "_note_read",
}  # fmt: skip


# Questions about whole arrays with one truth as the answer: the op that records it.
ANSWERS = {np.allclose: "allclose", np.array_equal: "array_equal", np.array_equiv: "array_equiv"}


def values_of(variable: type[Variable], arg: Any) -> Any:
    """An argument with the values in place of its Variables, one list deep."""
    if isinstance(arg, (list, tuple)):
        return type(arg)(values_of(variable, a) for a in arg)
    return arg._value if isinstance(arg, variable) else arg


def op_of(function: Any) -> Op | None:
    """The op that a NumPy (or SciPy) function stands for."""
    match = _by_numpy.get(function)
    if match is not None:
        return match
    name = getattr(function, "__name__", "")
    for likely in (name, f"numpy_{name}"):  # most have NumPy's name
        match = OPS.get(likely)
        if match is not None and function in match.numpy:
            _by_numpy[function] = match
            return match
    for op in OPS.values():  # all are asked; again when an op may have been added
        _by_numpy.update(dict.fromkeys(op.numpy, op))
    if type(function) is np.ufunc and function not in _by_numpy:
        named = OPS.get(function.__name__) or _by_numpy.get(function.__name__)
        if named is not None:  # SciPy's ufuncs are known by name
            _by_numpy[function] = named
    return _by_numpy.get(function)


def array_ufunc(
    variable: type[Variable],
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[Any],
    kwargs: dict[str, Any],
    line: LinePlace,
) -> Any:
    """`np.sin(x)`, `np.add.reduce(x)`, `array + x`: the entry of every ufunc."""
    op = op_of(ufunc)
    if op is None:
        raise unsupported(ufunc.__name__)
    _refuse_destination(ufunc, method, kwargs)
    if method == "__call__":
        if kwargs:
            inputs, kwargs = with_keywords(variable, ufunc, op, inputs, kwargs, line)
        _meet(variable, ufunc, op)
        return call(variable, op, inputs, kwargs, line)
    name = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}.get(method, {}).get(ufunc.__name__)
    if name is not None:
        args, options = without_initial(inputs, {"axis": 0, **kwargs})
        return with_initial(ufunc, call(variable, OPS[name], args, options, line), kwargs)
    if method in FOLDS and len(op.inputs) == 2:
        from chainrule.record.folding import folded

        return folded(ufunc, method, inputs, kwargs)
    if method == "at" and ufunc in (np.add, np.subtract):
        x, indices, values = inputs
        if not isinstance(x, variable):
            raise lost_in_array(f"np.{ufunc.__name__}.at")
        x._rebind(OPS["add_at"](x, indices, values if ufunc is np.add else -values), "add to")
        return None
    if method == "outer":
        x, y = inputs
        wide = np.reshape(x, np.shape(x) + (1,) * np.ndim(y))
        return array_ufunc(variable, ufunc, "__call__", (wide, y), kwargs, line)
    raise unsupported(f"{ufunc.__name__}.{method}")


def _meet(variable: type[Variable], ufunc: np.ufunc, op: Op) -> None:
    """Prepare the fast forms in which further calls of this ufunc are recorded."""
    simple = len(op.inputs) == 1 and type(op.derivative) is Partials and op.variant is None
    # SciPy's log1p is not NumPy's to the last bit, so the op's own function must be the ufunc.
    if simple and op.forward is ufunc and ufunc not in ufunc_makers:
        rule = rule_for(op, (True,), exact=True)
        if rule.positions:  # a rule without a derivative has no parents, and so no fast form
            ufunc_makers[ufunc] = ufunc_maker(variable, ufunc, rule)
    if op.expand is None and not op.variadic and not op.attrs:
        ufunc_ops[ufunc] = op


def _refuse_destination(ufunc: np.ufunc, method: str, kwargs: dict[str, Any]) -> None:
    """A result written into part of an existing array cannot be recorded as a new value."""
    if method != "reduce" and kwargs.pop("where", True) is not True:
        operands = ", ".join("xyzw"[: ufunc.nin])
        raise UnsupportedError(
            f"np.{ufunc.__name__} on a Variable does not take where=…: the other lanes would hold "
            f"nothing.\n  {line_at(*user_line()).shown()}\n"
            f"  use np.where(mask, np.{ufunc.__name__}({operands}), otherwise)."
        )
    if any(o is not None for o in kwargs.pop("out", ())):
        raise lost_in_array(f"np.{ufunc.__name__}")


def lost_in_array(name: str) -> DetachError:
    return DetachError(
        f"{name} cannot write its result into an existing array: a gradient would be lost.\n"
        f"  {line_at(*user_line()).shown()}\n"
        "  assign the result instead: `a += x` on an ndarray becomes `a = a + x`, and\n"
        "  `np.add(x, y, out=a)` becomes `a = np.add(x, y)`.  To write into a part, `a[1:] += x`,\n"
        "  make the array with chainrule.numpy.zeros(n), or with chainrule.numpy.copy(a) of a."
    )


def lost_in_assignment(line: str) -> DetachError:
    return DetachError(
        "a Variable cannot be assigned into a plain ndarray: its gradient would be lost.\n"
        f"  {line}\n"
        "  make the array with chainrule.numpy, `import chainrule.numpy as np`: the results of\n"
        "  np.zeros(n), and of np.copy(a) for an array a, can be assigned to; or build it with\n"
        "  np.stack([...]).  To drop the gradient on purpose, assign cr.stop_gradient(v).value."
    )


def lost_in_conversion(conversion: str, function: str, line: str) -> DetachError:
    return DetachError(
        f"{conversion}() of a Variable inside a {function} function would lose its gradient.\n"
        f"  {line}\n"
        "  write np.sin(x) for math.sin(x), chainrule.numpy.array(x, float) for float(x) and\n"
        "  np.array(x, float); wrap a call of another library in a cr.Function; write\n"
        "  cr.stop_gradient(x).value if the derivative is meant to be dropped."
    )


def with_keywords(
    variable: type[Variable],
    ufunc: np.ufunc,
    op: Op,
    inputs: Sequence[Any],
    kwargs: dict[str, Any],
    line: LinePlace,
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The inputs as dtype=, signature= and casting= want them, and the keywords that are left."""
    left = {k: v for k, v in kwargs.items() if k not in ("order", "subok")}  # change no value
    dtype, casting = left.pop("dtype", None), left.pop("casting", None)
    signature = left.pop("signature", None) or left.pop("sig", None)
    if dtype is not None:
        signature = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    if signature is None and casting is None:
        return inputs, left
    options = {} if signature is None else {"signature": signature}
    try:
        operands = [as_operand(i, variable) for i in inputs]
        given = [type(o) if type(o) in WEAK else o.dtype for o in operands]
        dtypes = ufunc.resolve_dtypes(
            (*given, *(None,) * ufunc.nout), casting=casting or "same_kind", **options
        )
    except ChainruleError as error:
        raise located(error, op, inputs, line) from None
    except (TypeError, ValueError) as error:
        raise translated(error, op, inputs, {}, line) from None
    cast = [
        o.astype(d) if hasattr(o, "dtype") else np.array(o, d)[()]
        for o, d in zip(operands, dtypes, strict=False)
    ]
    return cast, left


def array_function(
    variable: type[Variable],
    func: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    line: LinePlace,
) -> Any:
    """`np.sum(x, axis=0)`, `np.linalg.solve(A, b)`: the entry of every other NumPy function."""
    plan = _plans.get((func, len(args), *kwargs))
    if plan is not None:
        attrs = plan.attrs_of(args, kwargs)
        if attrs is not None:
            return record(variable, plan.op, args[: plan.count], attrs, line)
    answer = ANSWERS.get(func)
    if answer is not None:
        return bool(call(variable, OPS[answer], args, kwargs, line))
    op = op_of(func)
    if op is None:
        if func in INQUIRIES:
            return _answered(variable, func, args, kwargs)
        raise unsupported(_qualified(func))
    _plan(op, func, args, kwargs)
    start = kwargs
    if len(args) > 1 or kwargs:
        args, kwargs = without_initial(*as_our_call(op, func, args, kwargs))
    return with_initial(STARTED.get(op.name), call(variable, op, args, kwargs, line), start)


STARTED = {reduction: getattr(np, name) for name, reduction in REDUCTIONS.items()}


def without_initial(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A reduction's arguments without an `initial` that is a Variable: `with_initial` adds it."""
    if hasattr(kwargs.get("initial"), "__chainrule_record__"):
        kwargs = {k: v for k, v in kwargs.items() if k != "initial"}
    return args, kwargs


def with_initial(ufunc: np.ufunc | None, found: Any, kwargs: dict[str, Any]) -> Any:
    """A reduction's result together with the Variable it starts from."""
    initial = kwargs.get("initial")
    if ufunc is None or not hasattr(initial, "__chainrule_record__"):
        return found
    return ufunc(found, initial)


def _answered(
    variable: type[Variable], func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """NumPy's answer about values, which the compiler is told of."""
    pending = [*args, *kwargs.values()]
    while pending:
        arg = pending.pop()
        if isinstance(arg, variable):
            # A single integer is an axis, whose value counts.
            axis = arg._value.ndim == 0 and arg._value.dtype.kind in "iu"
            getattr(arg, "_note_read" if axis else INQUIRIES[func])()
        elif isinstance(arg, (list, tuple)):
            pending += arg
    named = {key: values_of(variable, value) for key, value in kwargs.items()}
    return func(*(values_of(variable, a) for a in args), **named)


class Plan:
    """How a NumPy function called with so many arguments and these keywords becomes an op.

    Made at the first such call, it spares the others the matching of names; it serves calls whose
    settings are plain numbers, texts and tuples of them.
    """

    __slots__ = ("count", "defaults", "names", "op")

    def __init__(self, op: Op, names: Sequence[str]):
        self.op, self.count, self.names, self.defaults = op, len(op.inputs), names, op.attrs

    def attrs_of(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The op's attrs in this call, or None where one of them needs a closer look."""
        attrs = self.defaults.copy()
        given = args[self.count :]
        for name, value in zip(self.names, (*given, *kwargs.values()) if kwargs else given):  # noqa: B905
            if type(value) is tuple:
                if not all(type(v) in SETTINGS for v in value):
                    return None
            elif type(value) not in SETTINGS:
                return None
            attrs[name] = value
        return attrs


def _plan(op: Op, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Remember how such a call is made, if the op takes its arguments as NumPy does."""
    key = func, len(args), *kwargs
    if op.usually is not None and op.usually[0] == len(args) and not kwargs:
        op = OPS[op.usually[1]]
    names = (*list(_parameters_of(func))[len(op.inputs) : len(args)], *kwargs)
    needed = {name for name, value in op.attrs.items() if value is inspect.Parameter.empty}
    simple = op.expand is None and not op.variadic and "where" not in names
    if simple and len(args) >= len(op.inputs) and needed <= set(names) <= op.attrs.keys():
        _plans[key] = Plan(op, names)


def as_our_call(
    op: Op, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """A call in NumPy's parameter names as a call in the op's; defaults are left out."""
    names = list(_parameters_of(func))
    count = 1 if op.variadic else len(op.inputs)
    if not names or (op.variadic and not isinstance(args[:1][0] if args else None, (list, tuple))):
        return args, kwargs
    inputs: list[Any] = list(args[:count])
    given = dict(zip(names[count:], args[count:], strict=False))
    for name, value in kwargs.items():
        if name in names[:count] and name not in op.inputs:
            inputs.insert(names.index(name), value)  # np.sum(a=x)
        else:
            given[name] = value
    if given.get("out") is not None:
        raise lost_in_array(_qualified(func))
    ours = {k: v for k, v in given.items() if v is not np._NoValue}
    for name in [k for k in ours if k not in op.attrs and k not in op.inputs]:
        value = ours.pop(name)
        if value is not None and not _is_default(func, name, value):
            accepted = ", ".join(sorted(op.attrs)) or "no keyword"
            raise UnsupportedError(
                f"{_qualified(func)} on a Variable does not take {name}={value!r} "
                f"(it takes {accepted}).\n"
                f"  {line_at(*user_line()).shown()}"
            )
    return inputs, ours


def _parameters_of(func: Any) -> dict[str, Any]:
    """Names and defaults of a NumPy function's parameters; none where it takes *args."""
    named = _parameters.get(func)
    if named is None:
        try:
            parameters = list(inspect.signature(func).parameters.values())
        except ValueError:
            parameters = []
        named = {p.name: p.default for p in parameters}
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            named = {}
        _parameters[func] = named
    return named


def _is_default(func: Any, name: str, value: Any) -> bool:
    default = _parameters_of(func).get(name)
    return default is value or (isinstance(value, (str, int, float, bool)) and default == value)


def _qualified(func: Any) -> str:
    module = getattr(func, "__module__", "") or ""
    return (
        f"{module.replace('numpy', 'np')}.{func.__name__}"
        if module.startswith("numpy")
        else func.__name__
    )


def unsupported(name: str) -> UnsupportedError:
    """The error for a function we do not have: its name, the nearest one we have, the line."""
    from difflib import get_close_matches

    known = sorted({op.name for op in OPS.values()} - {"stop_gradient"})  # a cure must not drop it
    close = get_close_matches(name.rsplit(".", 1)[-1], known, n=1, cutoff=0.7)
    nearest = f"; the nearest supported function is {close[0]}" if close else ""
    return UnsupportedError(
        f"{name} is not supported on a Variable{nearest}.\n  {line_at(*user_line()).shown()}\n"
        "  cr.OPS lists every supported function; cr.Function makes your own; x.value computes\n"
        "  without a gradient."
    )

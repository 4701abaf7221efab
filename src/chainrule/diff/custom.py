"""`cr.Function`: an operation of the user's own, with its own backward rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from chainrule.core.op import Op, Rules
from chainrule.core.parts import Parts
from chainrule.core.spec import Spec, is_inexact
from chainrule.diff.gradient import vjp
from chainrule.errors import (
    ArgumentError,
    ChainruleError,
    DerivativeError,
    MutationError,
    ShapeError,
)
from chainrule.record.recorder import record
from chainrule.record.state import current, recording
from chainrule.record.variable import Variable
from chainrule.record.watch import fingerprint

ARRAYS = (Variable, np.ndarray, np.generic, float, int, complex, list)


class Context:
    """What one call of `forward` leaves for `backward`: `saved`, and any attribute you set."""

    saved: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *values: Any) -> None:
        self.saved = values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The name PyTorch gives to `saved`."""
        return self.saved


class Static:
    """The arguments of a call, with holes where its arrays go."""

    def __init__(self, args: Sequence[Any]):
        self.args = tuple(
            None if isinstance(a, ARRAYS) and not isinstance(a, bool) else a for a in args
        )
        self.holes = [
            i for i, a in enumerate(args) if isinstance(a, ARRAYS) and not isinstance(a, bool)
        ]

    def filled(self, arrays: Sequence[Any]) -> list[Any]:
        full = list(self.args)
        for i, array in zip(self.holes, arrays, strict=True):
            full[i] = array
        return full

    def __repr__(self) -> str:
        return (
            f"({', '.join('_' if i in self.holes else repr(a) for i, a in enumerate(self.args))})"
        )


class Function:
    """Subclass with static methods `forward(ctx, *args)` and `backward(ctx, g)`; call `apply`.

    `backward` gets the adjoint of the result (one per result, if there are several) and returns one
    adjoint per argument, None where there is none.  An optional `jvp(ctx, *tangents)` gives the
    forward mode; without it forward mode is derived by transposing `backward`, which must then be
    written in operations chainrule can record.  Second derivatives run `forward` and `backward` on
    Variables, under the same condition.
    """

    _op: ClassVar[Op]

    @staticmethod
    def forward(ctx: Context, *args: Any) -> Any:
        raise NotImplementedError("write forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Context, *gs: Any) -> Any:
        raise NotImplementedError("write backward(ctx, g)")

    jvp: ClassVar[Any] = None

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        cls._op = _op_of(cls)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the operation; Variables among the arguments are recorded and differentiated."""
        static = Static(args)
        arrays = [args[i] for i in static.holes]
        if not any(isinstance(a, Variable) for a in arrays):
            return cls.forward(Context(), *args)
        return record(Variable, cls._op, arrays, {"static": static, "_ran": []})


def _op_of(cls: type[Function]) -> Op:
    """The op record of a Function: not in the table, but like any other to the walks."""

    def forward(*xs: Any, static: Static, _ran: list[Any]) -> Any:
        ctx = Context()
        out = cls.forward(ctx, *static.filled([_read_only(x) for x in xs]))
        _ran[:] = [xs, ctx, _marks(ctx)]
        return tuple(out) if isinstance(out, (tuple, list)) else out

    def context(
        xs: Sequence[Any], static: Static, ran: list[Any], active: tuple[bool, ...]
    ) -> Context:
        """The context of the call on these values; if there was none, of a new call."""
        if ran and all(a is b for a, b in zip(ran[0], xs, strict=True)):
            ctx: Context = ran[1]
            if _marks(ctx) != ran[2]:
                raise MutationError(
                    f"an array that {cls.__name__}.forward saved was changed before backward.\n"
                    "  save a copy of it: ctx.save_for_backward(a.copy())."
                )
        else:
            ctx = Context()
            _guarded(cls, "forward", ctx, *static.filled(xs))
        on = dict(zip(static.holes, active, strict=True))
        ctx.needs_input_grad = tuple(on.get(i, False) for i in range(len(static.args)))
        return ctx

    def pull(
        g: Any, xs: Any, out_spec: Any, active: Any, static: Static, _ran: Any, out: Any
    ) -> list[Any]:
        ctx = context(xs, static, _ran, active)
        given = (
            [_zeros(o) if p is None else p for p, o in zip(g, out, strict=True)]
            if isinstance(g, Parts)
            else [g]
        )
        return _adjoints(cls, ctx, given, static, xs)

    def push(ts: Any, xs: Any, active: Any, static: Static, _ran: Any, out: Any) -> Any:
        ctx = context(xs, static, _ran, active)
        outs = out if isinstance(out, tuple) else (out,)
        if cls.jvp is not None:
            returned = _guarded(cls, "jvp", ctx, *static.filled(ts))
            tangents = list(returned) if isinstance(returned, (tuple, list)) else [returned]
            if len(tangents) != len(outs):
                raise ArgumentError(
                    f"{cls.__name__}.jvp returned {len(tangents)} tangents for {len(outs)} results"
                )
            tangents = [
                _checked(cls, "jvp", k, t, o)
                for k, (t, o) in enumerate(zip(tangents, outs, strict=True))
            ]
        else:
            tangents = _transposed(
                cls, ctx, static, xs, outs, {i: ts[i] for i, on in enumerate(active) if on}
            )
        return Parts(tangents) if isinstance(out, tuple) else tangents[0]

    return private_op(cls.__name__, forward, pull, push, cls.__doc__ or "")


def private_op(name: str, forward: Any, pull: Any, push: Any, doc: str) -> Op:
    """The record of an op that is not in the table: any number of inputs, and rules of a user's."""
    return Op(
        name=name,
        forward=forward,
        inputs=("xs",),
        derivative=Rules((pull,), (push,)),
        spec=lambda *_, **__: None,
        samples=list,
        variadic=True,
        doc=doc,
    )


def _adjoints(
    cls: type[Function], ctx: Context, gs: Sequence[Any], static: Static, xs: Sequence[Any]
) -> list[Any]:
    """What backward returns for the arrays among the arguments, checked."""
    adjoints = _guarded(cls, "backward", ctx, *gs)
    every = tuple(adjoints) if isinstance(adjoints, (tuple, list)) else (adjoints,)
    if len(every) != len(static.args):
        raise ArgumentError(
            f"{cls.__name__}.backward returned {len(every)} adjoints for {len(static.args)} "
            "arguments; return one per argument of forward, None where there is none"
        )
    picked = [every[i] for i in static.holes]
    return [
        _checked(cls, "backward", k, c, x) for k, (c, x) in enumerate(zip(picked, xs, strict=True))
    ]


def _transposed(
    cls: type[Function],
    ctx: Context,
    static: Static,
    xs: Sequence[Any],
    outs: Sequence[Any],
    moving: dict[int, Any],
) -> list[Any]:
    """The tangents of the results, from backward: it is linear in g, and its transpose is J."""
    zeros = [_zeros(o) for o in outs]
    some = [
        i
        for i, c in enumerate(_adjoints(cls, ctx, zeros, static, xs))
        if c is not None and i in moving
    ]
    if not some:
        return zeros
    try:
        _, pullback = vjp(
            lambda *gs: [_adjoints(cls, ctx, gs, static, xs)[i] for i in some], *zeros
        )
        return list(pullback([moving[i] for i in some]))
    except ChainruleError as error:
        raise DerivativeError(
            f"forward mode through {cls.__name__} is not available: its backward cannot be "
            f"recorded and so not transposed ({error}).\n"
            "  give it a static method jvp(ctx, *tangents)."
        ) from error


def _read_only(x: Any) -> Any:
    """What forward gets: the value itself, which it must not change."""
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


def _marks(ctx: Context) -> list[Any]:
    """Fingerprints of the arrays a context holds, to notice a change before they are used."""
    held = [*vars(ctx).values(), *ctx.saved]
    return [fingerprint(v) for v in held if isinstance(v, np.ndarray) and v.dtype != object]


def _zeros(like: Any) -> Any:
    spec = Spec.of(getattr(like, "_value", like))
    return np.zeros(spec.shape, spec.dtype if is_inexact(spec.dtype) else np.float64)


def _guarded(cls: type[Function], method: str, ctx: Context, *args: Any) -> Any:
    """Call a user's method; if it fails on Variables only, say what that means."""
    held = [*vars(ctx).values(), *ctx.saved]
    on_variables = any(isinstance(a, Variable) for a in (*args, *held))
    try:
        with recording(inside=current.get().inside or on_variables):  # float(x) is refused
            return getattr(cls, method)(ctx, *args)
    except NotImplementedError as error:
        raise DerivativeError(f"{cls.__name__} has no {method}: {error}") from None
    except Exception as error:  # the user's method may raise anything
        if not on_variables:
            raise
        raise DerivativeError(
            f"{cls.__name__}.{method} was run on Variables, for forward mode or a higher "
            f"derivative, and failed: {error}"
        ) from error


def _checked(cls: type[Function], method: str, k: int, c: Any, x: Any) -> Any:
    """What a user's method returned for argument or result k, if it has the right shape."""
    if c is None:
        return None
    if not hasattr(c, "dtype"):
        c = np.asarray(c)[()]
    if c.shape != np.shape(x):
        what = "adjoint of argument" if method == "backward" else "tangent of result"
        raise ShapeError(
            f"{cls.__name__}.{method}: the {what} {k} has shape {c.shape}, not {np.shape(x)}"
        )
    return c

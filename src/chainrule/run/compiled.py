"""`cr.compile`: a function that is recorded once and runs as machine code from then on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import partial, update_wrapper, wraps
from operator import attrgetter
from threading import RLock
from time import perf_counter
from types import MethodType
from typing import Any, TypeAlias

from chainrule.core.containers import flatten
from chainrule.core.lazy_method import lazy_method
from chainrule.core.memory_size import bytes_of
from chainrule.errors import ArgumentError, ChainruleError, CompileError
from chainrule.lower.tape.taping import taped
from chainrule.lower.values.array import NotLoweredError
from chainrule.optimise.roll import better_rolled, rolled
from chainrule.record.specialise import GuardedTrace, Recording, same_recording, specialised
from chainrule.record.state import current
from chainrule.run.bindings import Binding, Outside, read
from chainrule.run.branches import Limits
from chainrule.run.direct import DYNAMIC, MISS
from chainrule.run.machine import give_memory_back
from chainrule.run.reads.log import Stop
from chainrule.run.reads.stack import is_readable
from chainrule.run.reads.watching import Watched
from chainrule.run.signature import PYTHON, Signature, signature_of
from chainrule.run.variant import Options, Variant
from chainrule.run.verify import Verifier, detached, owned

Variants: TypeAlias = dict[Any, list[Variant]]


class Compiled:
    """A function compiled for every signature it is called with."""

    def __init__(
        self,
        f: Callable[..., Any],
        donate: Sequence[int] = (),
        reassociate: bool = False,
        verify: str = "sometimes",
        memory: int | None = None,
    ):
        self.f = f
        self.options = Options(donate, reassociate, Verifier(f, verify), memory)
        self.variants: Variants = {}
        self.by_value: set[Any] = set()  # signatures in which Python's floats are constants
        self.direct: Callable[..., Any] | None = None  # the last branch taken
        self.interpreted = not is_readable()  # whether it runs as plain Python
        self.recordings = 0
        self.limits = Limits(getattr(f, "__name__", "the function"))
        self._lock = RLock()
        update_wrapper(self, f, updated=())  # cr.grad(fast) has the attributes of `fast`

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.interpreted or not current.get().plain:  # recorded, or looked at on the way
            return self.f(*args, **kwargs)
        direct = self.direct  # another thread may take it away
        if direct is not None and not kwargs:
            result = direct(args)
            if result is not MISS:
                return result
        return self._by_signature(args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method is compiled for each instance, which holds what was compiled for it."""
        if instance is None:
            return self
        held = getattr(instance, "__dict__", None)
        if held is None:  # with slots alone there is nowhere to hold it, but for ever
            return MethodType(self.f, instance)
        name = f"_compiled_{getattr(self.f, '__name__', 'method')}"
        kept = held.get(name)
        if type(kept) is not Bound or kept.made_by is not self or kept.instance() is not instance:
            kept = held[name] = Bound(self, self._anew(MethodType(self.f, instance)))
        return kept.compiled

    def _anew(self, f: Callable[..., Any]) -> Compiled:
        options = self.options
        return Compiled(
            f, options.donate, options.reassociate, options.verifier.mode, options.memory
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self._anew(copy.deepcopy(self.f, memo))

    def __copy__(self) -> Compiled:
        return self._anew(self.f)

    def __reduce__(self) -> Any:
        """By its name where it has one; else made anew from the function."""
        options = self.options
        given = options.reassociate, options.verifier.mode, options.memory
        made = (self.f, "cpu", tuple(options.donate), *given)
        return _reference(self) or (compile, made)

    def _by_signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call by a branch that is there, or by one recorded now."""
        leaves, signature = signature_of(args, kwargs)
        if leaves is None:  # being differentiated or recorded: what is compiled is what f does
            return self.f(*args, **kwargs)
        if signature in self.by_value:
            leaves, signature = signature_of(args, kwargs, fixed=True)
        result = self._known(signature, leaves, args, kwargs)
        if result is not MISS:
            return result
        with self._lock:  # another thread may have recorded it
            result = self._known(signature, leaves, args, kwargs)
            return self._new(args, kwargs, signature, leaves) if result is MISS else result

    def _known(self, signature: Signature, leaves: Any, args: Any, kwargs: Any) -> Any:
        """The result by a branch that is there, or MISS."""
        for variant in tuple(self.variants.get(signature, ())):
            try:
                variant.scope["left"] -= 1
                if variant.scope["left"] < 0:
                    call = partial(variant, leaves)
                    result = self.options.verifier.run(variant, call, args, kwargs)
                else:
                    result = variant(leaves)
            except CompileError:
                raise
            except ChainruleError:  # it may not be the branch; if it is, recording it raises
                continue
            if result is not MISS:
                self._prefer(variant)
                self.limits.hit()
                return result
        return MISS

    def _new(self, args: Any, kwargs: Any, signature: Signature, leaves: Any) -> Any:
        """The result by a branch recorded on this call, or of plain Python where none can be.

        The call is first made as it is, and watched: it has its effects once, raises its own
        errors, and gives what the recorded branch is compared with.
        """
        known = self.variants.get(signature, [])
        full = not known and self.limits.too_many_signatures(self.variants)
        if self.interpreted or full or self.limits.too_many_branches(known):
            self.direct = None  # so that the next branch that is taken is seen
            return self._plain(args, kwargs)
        probe = Watched([self.f, *containers_in((args, kwargs))], probe=True)
        given, named = owned(args), owned(kwargs)
        try:
            expected = probe.run(lambda: self.f(*args, **kwargs))
        except Exception as error:  # the user's function may raise anything
            if probe.gave_up is None:
                self._say_more(given, named, signature, error)
            raise
        if probe.gave_up is not None and not probe.gave_up.passing:
            self.limits.stopped(probe.gave_up)
            self.interpreted = self.limits.exhausted
            return expected
        return self._recorded_call(given, named, signature, leaves, expected)

    def _say_more(self, args: Any, kwargs: Any, signature: Signature, error: Exception) -> None:
        """Plain Python has raised: where recording raises the same, that says op and line."""
        try:
            self._recorded(args, kwargs, signature)
        except Stop:
            return
        except ChainruleError as ours:
            # A Variable has more attributes than an array: ours says what to do.
            if isinstance(ours, type(error)) or isinstance(error, AttributeError):
                raise ours from None
        except Exception:  # noqa: BLE001 - plain Python's is the one to raise
            return

    def _recorded_call(
        self, args: Any, kwargs: Any, signature: Signature, leaves: Any, expected: Any
    ) -> Any:
        """The result by a new branch, if that is what plain Python has given."""
        start = perf_counter()
        try:
            recording, outside, given = self._recorded(args, kwargs, signature)
        except Stop as stop:
            self.limits.stopped(stop)
        except Exception as error:  # noqa: BLE001 - plain Python has not raised
            self.limits.refused(error)
        else:
            spent = perf_counter() - start
            result = self._compiled(recording, outside, signature, given, leaves)
            variant = self.variants[signature][0]
            variant.seconds = {"recording": spent, **variant.seconds}
            give_memory_back()
            if result is not MISS and self._agrees(variant, expected, result, args, kwargs):
                return result
            self._drop(signature)
        self.interpreted = self.limits.exhausted
        return expected

    def _agrees(self, variant: Variant, expected: Any, result: Any, args: Any, kwargs: Any) -> bool:
        """Whether the first result of a branch is plain Python's, or may not be compared."""
        if not variant.differs(detached(expected), result, args, kwargs, first=True):
            return True
        # Another thread may have changed something in between.
        again = detached(self.f(*owned(args), **owned(kwargs)))
        differs = variant.differs(again, result, args, kwargs, first=True)
        return not differs or variant.outside_changed()

    def _drop(self, signature: Signature) -> None:
        """Compiled, the call gave something else: what Python's floats widen differs, or there is
        something that recording does not see."""
        self.variants.pop(signature)
        self.direct = None
        if signature.has_floats and not signature.fixed:
            self.by_value.add(signature)
        else:
            self.limits.differs()

    def _plain(self, args: Any, kwargs: Any) -> Any:
        """The function as it is, this time; for ever once that is what always happens."""
        self.interpreted = self.limits.exhausted
        if self.interpreted:
            self.variants, self.direct = {}, None
        return self.f(*args, **kwargs)

    def _compiled(
        self, recording: Recording, outside: Outside, signature: Signature, given: Any, leaves: Any
    ) -> Any:
        """The result of the recorded call by a new variant, which is kept."""
        known = self.variants.setdefault(signature, [])
        self.limits.many_signatures(self.variants)
        made = recording, outside, signature, given, self.options
        result = MISS
        if not any(v.program.rare and same_recording(v.recording, recording) for v in known):
            variant = Variant(*made)
            result = variant.first(leaves)
            known.insert(0, variant)
            self._prefer(variant)
        if result is MISS:
            known.append(Variant(*made, usual=False))
            result = known[-1].first(leaves)
        return result

    def _prefer(self, variant: Variant) -> None:
        """Try this branch first; one that is there for what is rare is tried last, being slower."""
        if variant.usual and not self.interpreted:
            self.direct = variant.direct

    def _recorded(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> tuple[Recording, Outside, tuple[Any, ...]]:
        """The function recorded, what it read outside, and all arguments in the leaves' order."""
        order, names = list(kwargs), sorted(kwargs)

        def by_position(*every: Any) -> Any:
            named = dict(zip(names, every[len(args) :], strict=True))
            return self.f(*every[: len(args)], **{name: named[name] for name in order})

        f = by_position if kwargs else self.f
        given = (*args, *(kwargs[name] for name in names))
        values, structure = flatten(given)
        promoted = signature.promoted(values)
        python = {id(p) for p, v in zip(promoted, values, strict=True) if type(v) in PYTHON}
        given = structure.unflatten(list(promoted))
        self.recordings += 1
        try:
            recording, bindings = _watched(self.f, f, given, signature.fixed, python, sweeps=True)
        except NotLoweredError:  # a gradient was to be swept by a tape, and cannot, or should not
            recording, bindings = _watched(self.f, f, given, signature.fixed, python, sweeps=False)
        bindings += [
            Binding(read, variable, attrgetter("node"), node, "a Variable from outside")
            for variable, node in recording.variables
        ]
        return recording, Outside(bindings), given

    report = lazy_method("chainrule.view.compiled", "report_text")
    ir = lazy_method("chainrule.view.compiled", "ir_text")
    profile = lazy_method("chainrule.view.profile", "profile_text")


def containers_in(args: Any) -> Iterator[Any]:
    """The arguments and everything they hold, each of which the caller may look at afterwards."""
    pending = [args]
    while pending:
        held = pending.pop()
        yield held
        if isinstance(held, dict):
            pending += held.values()
        elif isinstance(held, (list, tuple)):
            pending += held
        elif is_dataclass(held) and not isinstance(held, type):
            pending += [getattr(held, field.name, None) for field in fields(held)]


class Bound:
    """A method compiled for one instance, kept in its `__dict__`; a copy of that has none."""

    def __init__(self, made_by: Compiled | None = None, compiled: Any = None):
        self.made_by, self.compiled = made_by, compiled

    def instance(self) -> Any:
        return getattr(getattr(self.compiled, "f", None), "__self__", None)

    def __reduce__(self) -> Any:
        return Bound, ()


def _watched(
    user: Callable[..., Any],
    f: Callable[..., Any],
    given: Any,
    fixed: bool,
    python: set[int],
    sweeps: bool,
) -> tuple[Recording, list[Binding]]:
    """A recording of f, and what the user's code read outside."""
    watched = Watched([user, *(v for v in flatten(given)[0] if not isinstance(v, DYNAMIC))])
    trace = GuardedTrace(watched.holds, watched.refuse, sweeps)
    trace.fixed_floats, trace.python_ids = fixed, python

    @wraps(f)
    def call(*args: Any) -> Any:
        return watched.run(lambda: f(*args))

    recording = specialised(call, given, {}, trace=trace)
    if watched.gave_up is not None:  # and was caught by the user's code
        raise watched.gave_up
    if better_rolled(recording):
        raise NotLoweredError("loops do better than the tape of this gradient")
    return taped(rolled(recording)), watched.bindings(trace.arrays)


def _reference(compiled: Compiled) -> str | None:
    """The name under which a module holds this very object."""
    import sys

    place: Any = sys.modules.get(getattr(compiled, "__module__", ""))
    name = getattr(compiled, "__qualname__", "")
    for part in name.split("."):
        place = getattr(place, part, None)
    return name if place is compiled else None


def compile(
    f: Callable[..., Any],
    target: str = "cpu",
    donate: int | Sequence[int] = (),
    reassociate: bool = False,
    verify: str = "sometimes",
    memory: int | str | None = None,
) -> Compiled:
    """f as a function that runs as machine code.

    It is recorded on its first call's own values, and again for every new signature and for every
    branch that Python code takes on values.  What it reads outside of its arguments is watched; a
    function that has effects, or reads what cannot be watched, runs as plain Python and says so.

    `donate` names arguments whose arrays the caller does not use again: once such an array has been
    passed, its memory may take a result of a later call.  A training step that is given its own
    last parameters then needs no new memory.

    `reassociate` allows rewrites that hold for real numbers and round otherwise, as x / 3 into
    x * (1 / 3); without it every rewrite is exact.  `fast.report()` names those applied.

    `verify` says how often a call is also run as plain Python and compared: "sometimes" (the first
    two calls of every branch, then within 2 % of the time), "always" or "never".  A difference
    beyond rounding raises `CompileDifference`.

    `memory`, in bytes or as "200MB", bounds what a call of the machine code takes beside its
    arguments; where it takes more, `MemoryBudgetError` says how much, before it has run.
    """
    if target != "cpu":
        raise ArgumentError(f'target={target!r}: only "cpu" is there')
    if not callable(f):
        raise ArgumentError(f"cr.compile takes a function, not a {type(f).__name__}")
    donated = (donate,) if isinstance(donate, int) else tuple(donate)
    if not all(isinstance(n, int) and n >= 0 for n in donated):
        raise ArgumentError(f"donate={donate!r}: the positions of arguments, counted from 0")
    return Compiled(f, donated, bool(reassociate), verify, bytes_of(memory))

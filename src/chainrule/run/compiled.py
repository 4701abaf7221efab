"""`cr.compile`: a function that is recorded once and runs as machine code from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from threading import RLock
from time import perf_counter
from types import MethodType
from typing import Any, TypeAlias

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.late import late
from chainrule.errors import ArgumentError, ChainruleError, CompileError
from chainrule.lower.build import Program
from chainrule.lower.tape.taping import taped
from chainrule.lower.values.array import NotLoweredError
from chainrule.optimise.masked import without_counts
from chainrule.optimise.passes import optimised
from chainrule.record.bindings import PLAIN, Outside
from chainrule.record.outside import watch
from chainrule.record.specialise import Recording, same_recording, specialised
from chainrule.record.state import current
from chainrule.record.variable import Variable
from chainrule.run.blas import exported
from chainrule.run.contents import Contents
from chainrule.run.direct import DYNAMIC, MISS, NUMPY, alike, direct_call
from chainrule.run.machine import give_memory_back
from chainrule.run.paths import FORMS, PATHS, Watch
from chainrule.run.program import Executable


class Variant:
    """One path through the function, compiled for one form of its arguments."""

    def __init__(
        self,
        recording: Recording,
        given: Sequence[Any],
        objects: Outside,
        contents: Contents,
        donated: Sequence[int] = (),
        recorded: float = 0.0,
        reassociate: bool = False,
        usual: bool = True,
    ):
        """The `usual` program may miss where something rare is met; the other is slower."""
        start = perf_counter()
        self.recording = recording
        self.objects = objects  # among the arguments, as they were
        self.contents = contents  # of arrays outside
        graph, guards = without_counts(recording.graph, recording.guards)
        nodes = [g.node for g in guards]
        self.optimised = optimised(graph, nodes, recording.constants, reassociate)
        graph = self.optimised.graph
        routines = exported if usual else None
        self.program = Program(graph, self.optimised.constants, usual, routines)
        self.usual = usual
        live = {n: recording.live[n] for n in graph.captured if n in recording.live}
        self.live = list(live.values())
        self.live_forms = [(n.shape, n.dtype) for n in live]
        self.expected = [g.value for g in guards]
        self.expected += [np.array(False) for _ in (*self.program.forbidden, *self.program.rare)]
        self.count = len(recording.graph.outputs)
        self.run = Executable(self.program)
        self.direct = direct_call(self, given, donated) if self.run.entry is not None else None
        self.seconds = {"recording": recorded, "compiling": perf_counter() - start}

    def __call__(self, leaves: list[np.ndarray]) -> Any:
        """The result, or MISS where another path is to be taken."""
        if self.objects.changed() is not None or self.contents.changed():
            return MISS
        if self.live_forms != [(a.shape, a.dtype) for a in self.live]:
            return MISS
        outputs = self._outputs(leaves)
        for expected, found in zip(self.expected, outputs[self.count :], strict=True):
            if not alike(expected, found):
                return MISS
        return self._finished(outputs)

    def first(self, leaves: list[np.ndarray]) -> Any:
        """The result of the call that was recorded: whatever the guards say, this is its path.

        What Python read then was rounded by NumPy; what is compared with it later will be rounded
        as here.  MISS where something rare is met: another program is needed.
        """
        outputs = self._outputs(leaves)
        for expected, found in zip(self.expected, outputs[self.count :], strict=True):
            if expected.dtype.kind in "fc":
                expected[...] = found
        end = len(outputs) - len(self.program.rare)
        if any(map(np.any, outputs[end:])):
            return MISS
        if any(map(np.any, outputs[end - len(self.program.forbidden) : end])):
            raise CompileError(
                "an index depends on how a number is rounded: machine code rounds it out of range."
                "\n  np.clip the index."
            )
        return self._finished(outputs)

    def _outputs(self, leaves: list[np.ndarray]) -> list[np.ndarray]:
        return self.run([*leaves, *(np.ascontiguousarray(a) for a in self.live)])

    def _finished(self, outputs: Sequence[np.ndarray]) -> Any:
        """The outputs as the function returns them."""
        results = [o if o.ndim else o[()] for o in outputs[: self.count]]
        graph = self.recording.graph
        assert graph.result is not None
        return graph.result.unflatten(results)


Variants: TypeAlias = dict[Any, list[Variant]]


class Compiled:
    """A function compiled for every form of arguments it is called with."""

    def __init__(
        self, f: Callable[..., Any], donate: Sequence[int] = (), reassociate: bool = False
    ):
        self.f, self.donate, self.reassociate = f, donate, reassociate
        self.variants: Variants = {}
        self.outside = watch(f)
        self.direct: Callable[..., Any] | None = None  # the last path taken
        self.watch = Watch(getattr(f, "__name__", "the function"))
        self._lock = RLock()
        update_wrapper(self, f, updated=())  # cr.grad(fast) has the attributes of `fast`

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current.get().debug is not None:  # which looks at every gradient on the way
            return self.f(*args, **kwargs)
        rebound = self.outside.changed()
        if rebound is not None:
            with self._lock:
                self.variants, self.direct, self.outside = {}, None, watch(self.f)
                self.watch.once_rebound(rebound)
        direct = self.direct  # another thread may take it away
        if direct is not None and not kwargs:
            found = direct(args)
            if found is not MISS:
                return found
        if len(kwargs) > 1:  # in the order of their leaves
            kwargs = dict(sorted(kwargs.items()))
        leaves, key = leaves_and_key(args, kwargs)
        if leaves is None:  # being differentiated or recorded: what is compiled is what f does
            return self.f(*args, **kwargs)
        variants = self.variants
        found = self._known(variants, key, leaves)
        if found is not MISS:
            return found
        with self._lock:
            found = self._known(variants, key, leaves)  # another thread may have recorded it
            return self._new(args, kwargs, variants, key, leaves) if found is MISS else found

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def _known(self, variants: Variants, key: Any, leaves: list[np.ndarray]) -> Any:
        """The result by a path that is there, or MISS."""
        for variant in tuple(variants.get(key, ())):
            try:
                found = variant(leaves)
            except ChainruleError:  # it may not be the path; if it is, recording it raises
                continue
            if found is not MISS:
                self._prefer(variant, variants)
                return found
        return MISS

    def _new(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        variants: Variants,
        key: Any,
        leaves: list[np.ndarray],
    ) -> Any:
        """The result by a path recorded on this call, or without one where there are too many."""
        if len(variants.get(key, ())) >= PATHS:
            self.watch.many_paths(variants[key])
            return self.f(*args, **kwargs)
        recording, every, spent = self._recorded(args, kwargs)
        if self._forgiven(variants.get(key, ()), recording):
            found = self._known(variants, key, leaves)
            if found is not MISS:
                return found
        objects = watch(tuple(v for v in flatten(every)[0] if not _is_value(v)))
        live = list(recording.live.values())
        contents = Contents(self.outside.arrays(), live, recording.variables)
        made = recording, every, objects, contents, self.donate, spent, self.reassociate
        known = variants.setdefault(key, [])
        if len(variants) > FORMS:
            del variants[next(iter(variants))]
        self.watch.many_forms(variants)
        found = MISS
        if not any(v.program.rare and same_recording(v.recording, recording) for v in known):
            variant = Variant(*made)
            found = variant.first(leaves)
            known.insert(0, variant)
            self._prefer(variant, variants)
        if found is MISS:
            known.append(Variant(*made, usual=False))
            found = known[-1].first(leaves)
        for node in recording.graph.nodes:  # the arrays of this call are as large as its batch
            node.forget()
        give_memory_back()
        return found

    def _prefer(self, variant: Variant, variants: Variants) -> None:
        """Try this path first, unless something outside was rebound meanwhile.

        One that is there for what is rare is tried last, since it is slower.
        """
        with self._lock:
            if variants is self.variants and variant.usual:
                self.direct = variant.direct

    @staticmethod
    def _forgiven(variants: Sequence[Variant], recording: Recording) -> bool:
        """Whether a path only missed because of numbers that it does not rest on."""
        for variant in variants:
            if variant.contents.changed() and same_recording(variant.recording, recording):
                variant.contents.forgive()
                return True
        return False

    def _recorded(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Recording, tuple[Any, ...], float]:
        """The function recorded, all arguments in order, and how long that took."""
        names = list(kwargs)

        def positional(*every: Any) -> Any:
            return self.f(*every[: len(args)], **dict(zip(names, every[len(args) :], strict=True)))

        f = positional if kwargs else self.f
        values, structure = flatten((*args, *kwargs.values()))
        every = structure.unflatten(list(_promoted(values)))
        start = perf_counter()
        try:
            recording = taped(specialised(f, every, {}, sweeps=True))
        except NotLoweredError:  # a gradient was to be swept by a tape, and cannot be
            recording = taped(specialised(f, every, {}))
        return recording, every, perf_counter() - start

    report = late("chainrule.view.compiled", "report_text")
    ir = late("chainrule.view.compiled", "ir_text")
    profile = late("chainrule.view.profile", "profile_text")


def leaves_and_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any] | None, Any]:
    """The arrays among the arguments, and a key of everything else."""
    values, structure = flatten((args, kwargs) if kwargs else args)
    leaves: list[np.ndarray] = []
    static: list[Any] = []
    for value in _promoted(values):
        if isinstance(value, Variable):
            return None, None
        if isinstance(value, DYNAMIC):
            array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
            leaves.append(array)
            static.append((array.shape, array.dtype))
        else:
            static.append((type(value), value))
    # A dict filled in another order is iterated in another order.
    order = tuple(e.filled for e in structure.entries if e is not None and e.filled)
    key = structure, order, tuple(static)
    try:
        hash(key)
    except TypeError:
        odd = next(v for v in values if not isinstance(v, DYNAMIC) and not _hashable(v))
        raise ArgumentError(
            "a compiled function takes numbers, arrays, containers of them, and constants that "
            f"can be hashed; got a {type(odd).__name__}"
        ) from None
    return leaves, key


def _promoted(values: Sequence[Any]) -> Sequence[Any]:
    """Python's numbers among float32 arrays as float32: in NumPy they widen nothing."""
    kinds = {v.dtype for v in values if isinstance(v, NUMPY) and v.dtype.kind == "f"}
    if kinds != {np.dtype(np.float32)}:
        return values
    return [np.float32(v) if type(v) is float else v for v in values]


def _is_value(value: Any) -> bool:
    """Whether nothing about it can change."""
    return isinstance(value, DYNAMIC) or id(type(value)) in PLAIN


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def compile(
    f: Callable[..., Any],
    target: str = "cpu",
    donate: int | Sequence[int] = (),
    reassociate: bool = False,
) -> Compiled:
    """f as a function that runs as machine code.

    It is recorded on its first call's own values, twice, and again for every new form of arguments
    and for every path that Python code takes on values.

    `donate` names arguments whose arrays the caller does not use again: once such an array has been
    passed, its memory may take a result of a later call.  A training step that is given its own
    last parameters then needs no new memory.

    `reassociate` allows rewrites that hold for real numbers and round otherwise, as x / 3 into
    x * (1 / 3); without it every rewrite is exact.  `fast.report()` names those applied.
    """
    if target != "cpu":
        raise ArgumentError(f'target={target!r}: only "cpu" is there')
    if not callable(f):
        raise ArgumentError(f"cr.compile takes a function, not a {type(f).__name__}")
    donated = (donate,) if isinstance(donate, int) else tuple(donate)
    if not all(isinstance(n, int) and n >= 0 for n in donated):
        raise ArgumentError(f"donate={donate!r}: the positions of arguments, counted from 0")
    return Compiled(f, donated, bool(reassociate))

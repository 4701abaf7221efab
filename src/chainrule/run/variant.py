"""One branch of a compiled function: its program, what it rests on, and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from chainrule.errors import ChainruleError, CompileError
from chainrule.lower.build import Program
from chainrule.optimise.masked import without_counts
from chainrule.optimise.passes import optimised
from chainrule.record.specialise import Recording
from chainrule.run.bindings import Outside
from chainrule.run.blas import exported
from chainrule.run.direct import MISS, alike, direct_call
from chainrule.run.program import Executable
from chainrule.run.signature import Signature, signature_of
from chainrule.run.verify import Verifier, replayed, rounding_tolerance, unlike


class Options:
    """How a function is compiled."""

    def __init__(
        self,
        donate: Sequence[int],
        reassociate: bool,
        verifier: Verifier,
        memory: int | None = None,
    ):
        self.donate, self.reassociate, self.verifier = donate, reassociate, verifier
        self.memory = memory  # bytes that a call may take


class Variant:
    """One branch through the function, compiled for one signature."""

    def __init__(
        self,
        recording: Recording,
        outside: Outside,
        signature: Signature,
        given: Sequence[Any],
        options: Options,
        usual: bool = True,
    ):
        """The `usual` program may miss where something rare is met; the other is slower."""
        start = perf_counter()
        self.recording = recording
        self.outside = outside  # what was read beside the arguments
        self.fixed = signature.fixed
        self.wait = options.verifier.wait
        self.scope: dict[str, Any] = {"left": self.wait}
        self.checks = 0  # calls that were compared with plain Python
        graph, self.guards = without_counts(recording.graph, recording.guards)
        nodes = [g.node for g in self.guards]
        self.optimised = optimised(graph, nodes, recording.constants, options.reassociate)
        graph = self.optimised.graph
        self.program = Program(graph, self.optimised.constants, usual, exported if usual else None)
        self.usual = usual
        external = {n: recording.external[n] for n in graph.captured if n in recording.external}
        self.external = list(external.values())
        self.external_specs = [(n.shape, n.dtype) for n in external]
        self.expected = [g.value for g in self.guards]
        self.expected += [np.array(False) for _ in (*self.program.forbidden, *self.program.rare)]
        self.count = len(recording.graph.outputs)
        self.run = Executable(self.program)
        if options.memory is not None:
            self.run.refuse_above(options.memory)
        self.direct: Callable[..., Any] | None = None
        if self.run.entry is not None and not signature.names:
            self.direct = direct_call(self, given, options.donate)
        self.scope["check"] = partial(_checked, options.verifier, self)
        self.seconds = {"compiling": perf_counter() - start}

    def __call__(self, leaves: Sequence[np.ndarray]) -> Any:
        """The result, or MISS where another branch is to be taken."""
        if self.outside_changed():
            return MISS
        if self.external_specs != [(a.shape, a.dtype) for a in self.external]:
            return MISS
        outputs = self._outputs(leaves)
        for expected, output in zip(self.expected, outputs[self.count :], strict=True):
            if not alike(expected, output):
                return MISS
        return self._finished(outputs)

    @property
    def used(self) -> bool:
        """Whether it has served a call since the first."""
        return self.checks > 0 or bool(self.scope["left"] != self.wait)

    def outside_changed(self) -> bool:
        return self.outside.changed() is not None

    def first(self, leaves: Sequence[np.ndarray]) -> Any:
        """The result of the call that was recorded: whatever the guards say, this is its branch.

        What Python read then was rounded by NumPy; what is compared with it later will be rounded
        as here.  MISS where something rare is met: another program is needed; or where an op raises
        that did not: rounding decides.
        """
        try:
            outputs = self._outputs(leaves)
        except CompileError:
            raise
        except ChainruleError:
            return MISS
        for expected, output in zip(self.expected, outputs[self.count :], strict=True):
            if expected.dtype.kind in "fc":
                expected[...] = output
        values = outputs[self.count :]
        if any(g.firm and not alike(g.value, v) for g, v in zip(self.guards, values, strict=False)):
            return MISS
        end = len(outputs) - len(self.program.rare)
        if any(map(np.any, outputs[end:])):
            return MISS
        if any(map(np.any, outputs[end - len(self.program.forbidden) : end])):
            raise CompileError(
                "an index depends on how a number is rounded: machine code rounds it out of range."
                "\n  np.clip the index."
            )
        return self._finished(outputs)

    def leaves_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        return signature_of(args, kwargs, self.fixed)[0] or []

    def differs(
        self, expected: Any, result: Any, args: Any, kwargs: Any, first: bool = False
    ) -> bool:
        """Whether a result is not that of plain Python, by more than rounding explains.

        The `first` call of a branch is plain Python's branch.  In a later one rounding may decide
        between branches, and machine code rounds in its own way.
        """
        if not unlike(expected, result):
            return False
        values = replayed(self.recording, self.leaves_of(args, kwargs))
        if values is None:
            return True
        tolerance = rounding_tolerance(values)
        for guard in () if first else self.guards:
            value = np.asarray(values.get(guard.node, guard.value))
            if unlike(guard.value, value):
                return False  # another branch
            if not alike(guard.value, value):
                tolerance = np.inf  # the same branch with another number, as near as rounding
        return bool(unlike(expected, result, tolerance))

    def _outputs(self, leaves: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self.run([*leaves, *(np.ascontiguousarray(a) for a in self.external)])

    def _finished(self, outputs: Sequence[np.ndarray]) -> Any:
        """The outputs as the function returns them."""
        results = [o if o.ndim else o[()] for o in outputs[: self.count]]
        graph = self.recording.graph
        assert graph.result is not None
        return graph.result.unflatten(results)


def _checked(verifier: Verifier, variant: Variant, args: tuple[Any, ...]) -> Any:
    """The fast entry of a call that is compared with plain Python."""
    assert variant.direct is not None
    return verifier.run(variant, partial(variant.direct, args), args, {})

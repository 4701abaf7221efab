"""Every error chainrule raises, as one tree.

ChainruleError
├── GraphError                 the graph itself is malformed, or a node is not in it
│   ├── CycleError             a dependency cycle; the message prints it
│   └── SerialisationError     a graph that cannot be written, or a text that is not a graph
├── ShapeError                 operands whose shapes do not fit            (also a ValueError)
├── DTypeError                 operands of a type the operation refuses    (also a TypeError)
├── OutOfRangeError            an index outside its axis                   (also an IndexError)
├── LinearAlgebraError         a matrix that is singular or not positive   (also a LinAlgError)
├── ArgumentError              any other bad argument                      (also a ValueError)
├── UnsupportedError           a NumPy function or argument we do not have (also a TypeError)
│   └── UnsupportedAttributeError  an attribute of ndarray we do not have (also an AttributeError)
├── DetachError                a gradient would be lost without a word
├── ViewWriteError             a write through a view of a Variable        (also a ValueError)
├── MemoryBudgetError          memory= is too small for what is to be done   (also a MemoryError)
├── MutationError              a saved array was changed before backward
├── NonFiniteGradient          NaN or infinite, under cr.debug()      (also a FloatingPointError)
├── NonFiniteLoss              NaN or infinite while training         (also a FloatingPointError)
├── CheckpointError            a checkpoint damaged, not fitting or not written
├── DataError                  a data file that is not what it should be   (also a ValueError)
├── ScaleError                 a worker, a rank or a loader failed, or they disagree
├── CompileError               a function that cannot be compiled
│   └── CompileDifference      compiled, it gives something else than plain Python
├── DerivativeError            no derivative exists, or none is written
│   └── DegenerateError        eigenvalues or singular values coincide
│       └── NeedsHistoryError  caught by the engine, which then walks another way
└── GradientCheckError         a derivative disagrees with differences     (also an AssertionError)
"""

from typing import Any

import numpy as np


class ChainruleError(Exception):
    """Base of every error this package raises."""


class GraphError(ChainruleError):
    """The graph is malformed, or a node does not belong to it."""


class CycleError(GraphError):
    """The dependencies form a cycle; `cycle` lists its nodes, first one repeated at the end."""

    def __init__(self, message: str, cycle: list[Any] | None = None):
        super().__init__(message)
        self.cycle = cycle or []


class SerialisationError(GraphError):
    """A graph that cannot be written as text, or a text that is not a graph."""


class ShapeError(ChainruleError, ValueError):
    """Operands whose shapes do not fit together."""


class DTypeError(ChainruleError, TypeError):
    """Operands of a type the operation refuses."""


class OutOfRangeError(ChainruleError, IndexError):
    """An index outside its axis."""


class LinearAlgebraError(ChainruleError, np.linalg.LinAlgError):
    """A matrix for which the operation is not defined."""


class ArgumentError(ChainruleError, ValueError):
    """A bad argument that is neither a shape, a type nor an index."""


class UnsupportedError(ChainruleError, TypeError):
    """A NumPy function, or an argument of one, that chainrule does not record."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """An attribute of ndarray that a Variable has not, so that `hasattr` answers no."""


class DetachError(ChainruleError):
    """A conversion that would lose the gradient without a word.

    Not a TypeError: NumPy replaces those by "setting an array element with a sequence".
    """


class ViewWriteError(ChainruleError, ValueError):
    """A write through a view of a Variable."""


class MemoryBudgetError(ChainruleError, MemoryError):
    """A budget of memory is too small; with `least` bytes it can be done, as far as is known."""

    def __init__(self, message: str, least: int = 0):
        super().__init__(message)
        self.least = least


class MutationError(ChainruleError):
    """An array saved for the backward pass was changed before it was used."""


class NonFiniteGradient(ChainruleError, FloatingPointError):  # noqa: N818 - it says what is
    """A gradient came out NaN or infinite under `cr.debug()`; `report` says where it began."""

    def __init__(self, message: str, report: object = None):
        super().__init__(message)
        self.report = report


class NonFiniteLoss(ChainruleError, FloatingPointError):  # noqa: N818 - it says what is
    """The loss came out NaN or infinite while training, at `parameters` and on `batch`."""

    def __init__(self, message: str, parameters: object = None, batch: tuple[Any, ...] = ()):
        super().__init__(message)
        self.parameters, self.batch = parameters, batch


class CheckpointError(ChainruleError):
    """A checkpoint that is damaged, hostile, of another version, not of this model, or not written.

    `trained` is what `train` would have returned, where only its last checkpoint could not be
    written.
    """

    def __init__(self, message: str, trained: Any = None):
        super().__init__(message)
        self.trained = trained


class DataError(ChainruleError, ValueError):
    """A data file that is not what it says or what was asked for."""


class ScaleError(ChainruleError):
    """Work on many workers failed; `failure` says on which shard, where, and with which traceback.

    `failure` is None where no exception of a worker's lies behind it.
    """

    def __init__(self, message: str, failure: Any = None):
        super().__init__(message)
        self.failure = failure


class CompileError(ChainruleError):
    """A function cannot be compiled."""


class CompileDifference(CompileError):  # noqa: N818 - it says what is
    """A compiled function gave something else than the function itself: see `verify`."""


class DerivativeError(ChainruleError):
    """The derivative asked for does not exist or has not been written."""


class DegenerateError(DerivativeError):
    """Eigenvalues or singular values coincide and the gradient depends on the choice of basis."""


class NeedsHistoryError(DegenerateError):
    """Raised by a rule on arrays that can only be computed from the history of its adjoint."""


class GradientCheckError(ChainruleError, AssertionError):
    """A derivative disagrees with central differences, or is not finite."""

    def __init__(self, message: str, finite: bool = True):
        super().__init__(message)
        self.finite = finite

"""The one context variable: how the current thread (or task) is recording."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainrule.core.node import Node


class State:
    """`tracing` is the Trace that keeps every argument; `line` overrides the user's line; `inside`
    tells that a transform is calling the user's function; `debug` looks at every gradient, and
    while it is there nodes keep their operands; `watched` tells that the compiler looks on.
    `eager` of all this: nodes are made in their fast form; `plain`: nobody looks on either."""

    __slots__ = ("debug", "eager", "inside", "line", "plain", "tracing", "watched")

    def __init__(
        self,
        tracing: Any = None,
        line: tuple[Any, int] | None = None,
        inside: bool = False,
        debug: Any = None,
        watched: bool = False,
    ):
        self.tracing, self.line, self.inside, self.debug = tracing, line, inside, debug
        self.watched = watched
        self.eager = tracing is None and line is None and debug is None
        self.plain = self.eager and not watched

    def changed(self, **fields: Any) -> State:
        get = fields.get
        return State(
            get("tracing", self.tracing),
            get("line", self.line),
            get("inside", self.inside),
            get("debug", self.debug),
            get("watched", self.watched),
        )


PLAIN = State()
current: ContextVar[State] = ContextVar("chainrule_state", default=PLAIN)


class recording:  # noqa: N801 - a `with` statement reads it as a verb
    """Change the state for the length of a `with` block; an exception leaves nothing behind."""

    __slots__ = ("fields", "token")

    def __init__(self, **fields: Any):
        self.fields = fields

    def __enter__(self) -> None:
        self.token = current.set(current.get().changed(**self.fields))

    def __exit__(self, *_: object) -> None:
        current.reset(self.token)


class untraced:  # noqa: N801 - as `recording`
    """Run a block of our own code untraced while the compiler watches the user's.

    Python takes three times as long while it is traced.  Nothing of the user's may run in it.
    """

    __slots__ = ("hook",)

    def __enter__(self) -> None:
        self.hook = sys.gettrace() if current.get().watched else None
        if self.hook is not None:
            sys.settrace(None)

    def __exit__(self, *_: object) -> None:
        if self.hook is not None:
            sys.settrace(self.hook)


def is_constant(node: Node) -> bool:
    """Whether no derivative leads through a node, so that its number may be had as it is.

    To the compiler the numbers of an undifferentiated call are inputs, and no constants.
    """
    if node.dtype.kind in "iub":
        return True
    tracing = current.get().tracing
    guarded = tracing is not None and tracing.guarded
    return not guarded and node.rule is not None and node.first is None


def is_differentiated(node: Node) -> bool:
    """Whether a derivative leads through a node; where nothing is above it, a trace knows."""
    if node.dtype.kind not in "fc":
        return False
    if node.first is not None:
        return True
    tracing = current.get().tracing
    return node.rule is None if tracing is None else bool(tracing.is_active(node))


def may_flow(node: Node) -> bool:
    """As `is_differentiated`; in a trace inside of another, also what is differentiated around."""
    tracing = current.get().tracing
    if tracing is not None and tracing.nested and tracing.inside:
        return node.dtype.kind in "fc" and bool(tracing.carries(node))
    return is_differentiated(node)


# Rooms whose frames are never the user's line.  What is written on the public face (learn, cli)
# counts as user code.
INTERNAL = tuple(
    f"chainrule.{room}"
    for room in (
        *("core", "ops", "record", "diff", "explain", "optimise", "lower", "run", "view", "scipy"),
    )
)


NOT_THE_USER = (*INTERNAL, "numpy.", "scipy.")


def user_frame(depth: int = 1, skip: tuple[str, ...] = INTERNAL) -> FrameType:
    """The innermost frame that is not chainrule's own; it may be one of NumPy's."""
    frame: FrameType = sys._getframe(depth)
    while frame.f_globals.get("__name__", "").startswith(skip) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def user_line(depth: int = 2) -> tuple[Any, int]:
    """Code object and instruction of the user's line that is running now.

    `depth` is how many frames up to start looking: an entry point knows that its caller is most
    likely the user.
    """
    line = current.get().line
    if line is not None:
        return line
    frame = sys._getframe(depth)
    if frame.f_globals.get("__name__", "").startswith(NOT_THE_USER):
        frame = user_frame(depth + 1, NOT_THE_USER)
    return frame.f_code, frame.f_lasti

"""The calls of user code, noted while it is traced."""

from __future__ import annotations

import sys
from collections.abc import Container
from types import CodeType, FrameType

from chainrule.core.calls import Calls
from chainrule.core.node import Node
from chainrule.record.state import NOT_THE_USER


class CallLog:
    """In which call of user code each node is made.

    Frames are held from one node to the next, so that a call is known by its own frame: two calls
    of one function from one line are two.  What holds a frame holds its variables, hence `end`.
    """

    def __init__(self, bottom: FrameType):
        self.nodes: list[Node] = []
        self.call: list[int] = []
        self.parent: list[int] = []
        self.site: list[int] = []
        self.code: list[CodeType] = []
        self.open: list[FrameType] = [bottom]
        self.number: dict[FrameType, int] = {bottom: -1}
        self.depth = 2

    def note(self, node: Node) -> None:
        """A node was just made, two calls above.

        Most often that is in the function that made the last one, as many calls above.  To look
        there first spares the frames in between: each that is looked at costs 0.3 µs.
        """
        try:
            frame = sys._getframe(self.depth)
        except ValueError:  # a thread of its own, which is not called from that far
            frame = self.open[0]
        same = frame.f_lasti == node.lasti and frame.f_code is node.code
        if frame is not self.open[-1] or not same:
            self._enter(sys._getframe(2))
        self.nodes.append(node)
        self.call.append(self.number[self.open[-1]])

    def _enter(self, frame: FrameType | None) -> None:
        fresh: list[FrameType] = []
        self.depth = 2
        while frame is not None and frame not in self.number:
            if not _is_ours(frame):
                fresh.append(frame)
            frame = frame.f_back
            self.depth += not fresh
        if frame is None:  # another thread: who called is not known
            fresh, frame = [], self.open[0]
        while self.open[-1] is not frame:
            del self.number[self.open.pop()]
        for called in reversed(fresh):
            caller = self.open[-1]
            self.parent.append(self.number[caller])
            self.site.append(caller.f_lasti)
            self.code.append(called.f_code)
            self.open.append(called)
            self.number[called] = len(self.code) - 1

    def end(self) -> None:
        """Let go of every frame."""
        self.open.clear()
        self.number.clear()

    def calls(self, kept: Container[Node]) -> Calls:
        """What was noted of these nodes."""
        pairs = [(n, c) for n, c in zip(self.nodes, self.call, strict=True) if n in kept]
        nodes, call = zip(*pairs, strict=True) if pairs else ((), ())
        return Calls(nodes, call, tuple(self.parent), tuple(self.site), tuple(self.code))


def _is_ours(frame: FrameType) -> bool:
    return bool(frame.f_globals.get("__name__", "").startswith(NOT_THE_USER))

"""What went wrong on a worker, as plain text that can travel, and as the error it becomes."""

from __future__ import annotations

import sys
import sysconfig
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from chainrule.errors import ScaleError

HERE = str(Path(__file__).parents[1])
OTHERS = tuple(sysconfig.get_paths()[part] for part in ("stdlib", "purelib", "platlib"))


@dataclass(frozen=True)
class Failure:
    """An exception: where, of what type, with which text, and the user's line it came from."""

    shard: int
    where: str  # "shard 17 of 64, rows 170 to 179"
    worker: str
    kind: str
    text: str
    line: str
    trace: str
    columns: Any = None  # of the shard's arrays, where they were there
    cause: BaseException | None = field(default=None, compare=False)  # in its own process only

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "cause": None}

    def error(self) -> ScaleError:
        at = f"\n  {self.line}" if self.line and self.line.split(" in ")[0] not in self.text else ""
        error = ScaleError(f"{self.where}, on {self.worker}: {self.kind}: {self.text}{at}", self)
        error.__cause__ = self.cause
        return error


def failure_of(
    error: BaseException, shard: int, where: str, worker: str, columns: Any = None
) -> Failure:
    """An exception as a failure; the exception itself need not be one that can travel."""
    trace = "".join(traceback.format_exception(error))
    name = type(error).__name__
    return Failure(shard, where, worker, name, str(error), line_of(error), trace, columns, error)


def line_of(error: BaseException) -> str:
    """The innermost line of the user's that an exception passed: `fit.py:12 in loss: return …`."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [f for f in frames if not f.filename.startswith((HERE, *OTHERS, "<"))]
    return told(users[-1] if users else None)


def line_here() -> traceback.FrameSummary | None:
    """The user's line that is being run, and has called the package; its text is read later."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith((HERE, *OTHERS, "<")):
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    return traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name, lookup_line=False)


def told(line: traceback.FrameSummary | None) -> str:
    """A line as errors name it, or nothing where it is not known."""
    return f"{Path(line.filename).name}:{line.lineno} in {line.name}: {line.line}" if line else ""

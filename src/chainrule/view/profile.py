"""Where the time of a compiled function goes, step by step."""

from __future__ import annotations

from typing import Any

from chainrule.run.compiled import Compiled
from chainrule.run.profile import profile_of
from chainrule.view.compiled import step_text


def profile_text(compiled: Compiled, *args: Any, seconds: float = 0.3, **kwargs: Any) -> str:
    """Call the function on these arguments for some `seconds`, and say which step takes how long.

    What is left over is between the steps: a clock, and where there are threads, waiting for them.
    """
    found = profile_of(compiled, args, kwargs, seconds)
    module = found.variant.run.module
    name = getattr(compiled.f, "__name__", "the function")
    lines = [f"{name}: {duration(found.whole)} a call, the mean of {found.calls:,}"]
    for k, spent in enumerate(found.steps):
        text = step_text(module, k)
        lines.append(f"  {spent / found.whole:4.0%} {duration(spent):>9} {text}")
    left = max(found.whole - sum(found.steps), 0.0)
    lines.append(f"  {left / found.whole:4.0%} {duration(left):>9}   between the steps")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Seconds in three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"

"""Functions written as source text, where a function of functions would take twice as long.

The text can be read: tracebacks, `inspect` and debuggers show it, as long as the function lives.
"""

from __future__ import annotations

import linecache
import weakref
from itertools import count
from typing import Any

_numbers = count()


def written(text: str, name: str, scope: dict[str, Any]) -> Any:
    """What the text defines as `name`, with the names of `scope` as its globals.

    `__name__` in the scope says whose frames these are: ours, not the user's.
    """
    file = f"<chainrule {name} {next(_numbers)}>"
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - templates of our own, with our own names
    made = scope[name]
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    weakref.finalize(made, linecache.cache.pop, file, None).atexit = False
    return made

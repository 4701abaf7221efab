"""What a kind of outside state is: a fresh function that reads it, and how it is changed.

A kind is a function that gives `f, change` or, where f has an effect, `f, change, log`.
`change(n)` puts the state into its n-th form, for n = 0, 1, 2, and is called with 0 before the
first call of f; `log()` is what has happened so far.  A kind that has something to tidy up is a
generator.
"""

from collections.abc import Callable
from contextlib import contextmanager
from inspect import isgeneratorfunction
from typing import Any, NamedTuple

V = (2.0, 3.0, 5.0)  # what most states hold, in their three forms


class Kind(NamedTuple):
    """`grad`: it is tested through cr.grad as well.  `fresh`: no two calls give the same."""

    name: str
    make: Callable[[], Any]
    grad: bool
    fresh: bool

    @contextmanager
    def state(self):
        """A fresh function, its change, and its log."""
        running = self.make() if isgeneratorfunction(self.make) else iter((self.make(),))
        f, change, *log = next(running)
        try:
            change(0)
            yield f, change, log[0] if log else lambda: None
        finally:
            next(running, None)


KINDS: dict[str, Kind] = {}


def kind(make=None, *, grad=False, fresh=False):
    """Enter a kind under the name of its function."""

    def enter(make):
        assert make.__name__ not in KINDS, f"two kinds are called {make.__name__}"
        KINDS[make.__name__] = Kind(make.__name__, make, grad, fresh)
        return make

    return enter if make is None else enter(make)

"""Whether a function under vmap draws random numbers, also where two draws came out alike."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from chainrule.diff.constants import innermost, reachable
from chainrule.errors import ArgumentError


def states(f: Callable[..., Any]) -> list[Any]:
    """How far every generator has come that f can reach: a draw moves it.

    The generators of NumPy and of Python that all code shares count while no other thread may
    draw from them.
    """
    own: tuple[Any, Any] = (np.random.get_state, random.seed)  # methods of what all code shares
    shared = [method.__self__ for method in own]
    sources = [*_generators(f), *(shared if threading.active_count() == 1 else ())]
    return [_state(source) for source in sources]


def _generators(f: Callable[..., Any]) -> Iterator[Any]:
    """Those that f names, or a function that f names, and so on."""
    pending = [innermost(f)]
    seen = {id(pending[0]): pending[0]}  # a callable of the user's may have no hash
    while pending and len(seen) < MAX_FUNCTIONS:
        for value in reachable(pending.pop()):
            if isinstance(value, KINDS):
                yield value
            elif isinstance(value, FunctionType) and id(innermost(value)) not in seen:
                pending.append(innermost(value))
                seen[id(pending[-1])] = pending[-1]


MAX_FUNCTIONS = 100
KINDS = (np.random.Generator, np.random.RandomState, random.Random)


def _state(source: Any) -> Any:
    if isinstance(source, np.random.Generator):
        return source.bit_generator.state
    if isinstance(source, np.random.RandomState):
        keys = source.get_state(legacy=False)
        return {**keys, "state": {**keys["state"], "key": hash(keys["state"]["key"].tobytes())}}
    return hash(source.getstate())


def refuse_draws(before: list[Any], after: list[Any]) -> None:
    """Refuse what was drawn while another lane was recorded; who seeds inside comes to the same."""
    if before != after:
        raise ArgumentError(
            "vmap: random numbers are drawn inside, which would be the same in every lane.\n"
            "  draw random numbers before, for all lanes, and pass them as an argument."
        )

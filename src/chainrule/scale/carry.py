"""How functions and containers travel to other processes: by module and name, or by cloudpickle.

Only messages between the workers of one engine are packed so; nothing is read from a file.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from importlib.util import find_spec
from multiprocessing.reduction import ForkingPickler
from threading import Lock
from typing import Any

from chainrule.errors import ArgumentError

KEPT = 16  # unpacked messages per process: what is compiled of a loss hangs on it


def packed(value: Any, what: str) -> bytes:
    """A value as bytes; where that cannot be, an error that says so of `what`."""
    try:
        if find_spec("cloudpickle") is None:
            return bytes(ForkingPickler.dumps(value))
        import cloudpickle

        return cloudpickle.dumps(value)
    except Exception as error:  # whatever the objects raise when they are taken apart
        raise ArgumentError(
            f"{what} cannot travel to another process: {error}.  Define functions at the top of a "
            "module, and make locks, open files and connections inside of them; or pip install "
            "cloudpickle, for functions inside of functions"
        ) from error


def unpacked(data: bytes) -> Any:
    """What was packed, in a message of this engine's own."""
    return ForkingPickler.loads(data)


_kept: OrderedDict[bytes, Any] = OrderedDict()
_lock = Lock()  # a worker of Dask's may have several threads


def unpacked_once(data: bytes) -> Any:
    """The same object for the same bytes: what it has compiled is there in the next pass."""
    token = blake2b(data, digest_size=16).digest()
    with _lock:
        if token not in _kept:
            _kept[token] = unpacked(data)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(token)
        return _kept[token]

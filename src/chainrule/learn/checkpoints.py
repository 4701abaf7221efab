"""Checkpoints: nested arrays as safetensors and a JSON beside them, whole or not there at all.

A checkpoint is `step-000000120.safetensors` and `step-000000120.json`.  Each is written under
another name, flushed and renamed, the JSON last: a checkpoint exists from then on.  The JSON holds
its own SHA-256 and that of the arrays, which finds damage; and whatever it says is checked before
it is believed, since who writes a hostile file can write its hashes too.  One process writes into a
folder at a time.

    {"chainrule_checkpoint": 1, "step": …, "score": …, "structure": […], "arrays": [[dtype, shape],
     …], "arrays_bytes": …, "arrays_sha256": …, "meta": {…}, "sha256": of all else}
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EACCES
from hashlib import sha256
from math import isfinite
from pathlib import Path
from re import compile as pattern
from typing import Any, TypeVar
from warnings import warn

from chainrule.errors import ArgumentError, CheckpointError
from chainrule.learn.files import flush_folder, read_whole, remove, write_whole
from chainrule.learn.saved_tree import Description, described, rebuilt

FORMAT = 1
NAME = pattern(r"step-(\d{9,18})\.json")
LONGEST_JSON = 2**28  # bytes
KEYS = {  # of the JSON, with the types that their values have
    "chainrule_checkpoint": (int,),
    "step": (int,),
    "score": (int, float, type(None)),
    "structure": (list,),
    "arrays": (list,),
    "arrays_bytes": (int,),
    "arrays_sha256": (str,),
    "meta": (dict,),
    "sha256": (str,),
}
Read = TypeVar("Read")


@dataclass(frozen=True)
class Checkpoint:
    """What was saved: the tree of arrays, and all that was said about it."""

    tree: Any = field(repr=False)
    step: int
    meta: dict[str, Any]
    path: Path


def save_checkpoint(
    folder: str | Path,
    tree: Any,
    *,
    step: int | None = None,
    keep: int | None = None,
    score: float | None = None,
    **meta: Any,
) -> Path:
    """Write a checkpoint and return the path of its JSON; a number one higher unless `step` is set.

    With `keep`, only so many of the newest stay, and the one of the lowest `score`.  `meta` is
    anything that JSON can hold.
    """
    folder = writable(folder)
    if keep is not None and keep < 1:
        raise ArgumentError(f"keep must be at least 1, got {keep}: the newest always stays")
    if step is None:
        step = max(map(_step_of, checkpoints(folder)), default=-1) + 1
    description, data = described(tree)
    body = {
        "chainrule_checkpoint": FORMAT,
        "step": step,
        "score": score if score is not None and isfinite(score) else None,
        "structure": description.structure,
        "arrays": description.arrays,
        "arrays_bytes": len(data),
        "arrays_sha256": sha256(data).hexdigest(),
        "meta": meta,
    }
    text = _signed(body)
    path = folder / f"step-{step:09d}.json"
    arrays = path.with_suffix(".safetensors")
    try:
        remove(path)  # if it is there: it speaks of other arrays
        write_whole(arrays, data)
        write_whole(path, text)
        flush_folder(folder)
    except OSError as error:
        with suppress(OSError):
            if not path.exists():
                remove(arrays)  # nothing speaks of them
        raise _unwritten(path, error) from error
    try:
        _prune(folder, keep)
    except OSError as error:
        raise CheckpointError(f"{path} is written, but an older one stays: {error}") from error
    return path


def writable(folder: str | Path) -> Path:
    """The folder, made if it is not there; raises where no checkpoint can be written into it."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritten(folder, error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritten(folder, PermissionError(EACCES, os.strerror(EACCES)))
    return folder


def _unwritten(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"{path} cannot be written: {error.strerror or error}.  Make room there, or name a folder "
        "on another disk that you may write to; checkpoints written before are as they were"
    )


def load_checkpoint(folder: str | Path, like: Any = None) -> Checkpoint:
    """The newest checkpoint of a folder that is sound, or the one whose JSON is named.

    `like` is a tree as the saved one should be: structure, shapes and types must then agree, and
    named tuples and dataclasses are rebuilt (without it they come back as dicts).  What is refused
    is named in a warning if an older one can be used, else in a `CheckpointError`.
    """
    folder = Path(folder)
    if folder.suffix == ".json":
        return read_checkpoint(folder, like)
    found = newest_sound(folder, lambda path: read_checkpoint(path, like))
    if found is None:
        raise CheckpointError(f"there is no checkpoint in {folder}")
    return found


def checkpoints(folder: str | Path) -> list[Path]:
    """The JSON files of the checkpoints in a folder, oldest first; none if there is no folder."""
    try:
        found = [path for path in Path(folder).iterdir() if NAME.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    canonical = [path for path in found if path.name == f"step-{_step_of(path):09d}.json"]
    return sorted(canonical, key=_step_of)


def newest_sound(folder: Path, read: Callable[[Path], Read]) -> Read | None:
    """What `read` makes of the newest checkpoint that it does not refuse; None if there is none."""
    refused: list[CheckpointError] = []
    for path in reversed(checkpoints(folder)):
        try:
            found = read(path)
        except CheckpointError as error:
            refused.append(error)
            continue
        if refused:
            reasons = "; ".join(map(str, refused))
            warn(f"{reasons}.  {path.name} is used instead.", RuntimeWarning, stacklevel=3)
        return found
    if refused:
        reasons = "\n  ".join(map(str, refused))
        raise CheckpointError(f"no checkpoint in {folder} can be used:\n  {reasons}")
    return None


def read_checkpoint(path: Path, like: Any = None) -> Checkpoint:
    """One checkpoint, or a `CheckpointError` that says what is wrong with it."""
    try:
        return _read(path, like)
    except CheckpointError as error:
        raise CheckpointError(f"{path.name} is refused: {error}") from None
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error}") from None
    except MemoryError:
        raise CheckpointError(f"{path.name} is refused: it does not fit into memory") from None


def _read(path: Path, like: Any) -> Checkpoint:
    body = _verified(read_whole(path, most=LONGEST_JSON))
    if body["step"] != _step_of(path):
        raise CheckpointError(f"it is of step {body['step']}, which is not what its name says")
    description = Description(body["structure"], body["arrays"])
    description.check(like, body["arrays_bytes"])
    data = read_whole(path.with_suffix(".safetensors"), exactly=body["arrays_bytes"])
    if sha256(data).hexdigest() != body["arrays_sha256"]:
        raise CheckpointError("its arrays are not those that were written (SHA-256 differs)")
    return Checkpoint(rebuilt(description, data, like), body["step"], body["meta"], path)


def _step_of(path: Path) -> int:
    found = NAME.fullmatch(path.name)
    if found is None:
        raise CheckpointError(f"{path.name} is no name of a checkpoint, as step-000000120.json is")
    return int(found[1])


def _prune(folder: Path, keep: int | None) -> None:
    """Remove what is not to be kept, and what killed writers have left."""
    found = checkpoints(folder)
    if keep is not None and len(found) > keep:
        best = min(found, key=lambda path: (_score(path), _step_of(path)))
        for path in found[:-keep]:
            if path != best or _score(path) == float("inf"):
                remove(path)  # first, so that it is gone as a whole
                remove(path.with_suffix(".safetensors"))
    kept = {path.stem for path in checkpoints(folder)}
    for path in folder.glob("step-*"):
        stem, _, ending = path.name.partition(".")
        stray = ending == "safetensors" and stem not in kept and NAME.fullmatch(f"{stem}.json")
        if stray or ending in ("json.part", "safetensors.part"):
            remove(path)


def _score(path: Path) -> float:
    with suppress(CheckpointError, OSError):
        score = _verified(read_whole(path, most=LONGEST_JSON))["score"]
        return float("inf") if score is None else score
    return float("inf")


# ---- the JSON -----------------------------------------------------------------------------------


def _canonical(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _signed(body: dict[str, Any]) -> bytes:
    try:
        digest = sha256(_canonical(body).encode()).hexdigest()
        text = json.dumps({**body, "sha256": digest}, allow_nan=False)
        sound = json.loads(text) == {**body, "sha256": digest}
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"what is saved beside the arrays must be JSON: {error}") from None
    if not sound:
        raise ArgumentError(
            "what is saved beside the arrays would come back otherwise: use dicts with strings as "
            "keys, lists, strings, finite numbers, booleans and None"
        )
    return text.encode()


def _verified(text: bytes) -> dict[str, Any]:
    """The content of the JSON, once its version, members and hash are right."""
    body = _parsed(text)
    version = body.get("chainrule_checkpoint") if type(body) is dict else None
    if type(version) is not int or version < 1:
        raise CheckpointError("it is not a checkpoint of chainrule")
    if version > FORMAT:
        raise CheckpointError(
            f"it was written by a newer chainrule (format {version}; this one reads {FORMAT})"
        )
    odd = sorted(set(body) ^ set(KEYS)) or [k for k in body if type(body[k]) not in KEYS[k]]
    if odd:
        raise CheckpointError(f"its members are not those of a checkpoint: {str(odd)[:200]}")
    try:
        digest = sha256(_canonical({k: body[k] for k in body if k != "sha256"}).encode())
    except (ValueError, RecursionError):  # 1e999 is read as inf
        raise CheckpointError("its JSON holds what no checkpoint does") from None
    if digest.hexdigest() != body["sha256"]:
        raise CheckpointError("its JSON is not what was written (SHA-256 differs)")
    return body


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_no_constant)
    except RecursionError:
        raise CheckpointError("its JSON is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are among them
        raise CheckpointError(f"it is not JSON: {str(error)[:200]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")

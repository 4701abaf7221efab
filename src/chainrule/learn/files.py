"""Files written as a whole or not at all, and read only as far as they were expected to go."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from chainrule.errors import CheckpointError, DataError

# A pipe must not keep us waiting, and a link is not followed.
READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name, flush it to the disk and rename it."""
    part = path.with_name(path.name + ".part")
    remove(part)  # a writer that was killed may have left it
    try:
        with open(os.open(part, WRITE, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:  # a full disk, or Ctrl-C
        with suppress(OSError):
            remove(part)
        raise


def flush_folder(folder: Path) -> None:
    """Make renames in the folder survive a power failure, where the system can."""
    if os.name != "posix":
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def read_whole(path: Path, *, most: int | None = None, exactly: int | None = None) -> bytes:
    """The bytes of a plain file, which has at most, or exactly, so many."""
    with open(os.open(path, READ), "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            raise CheckpointError(f"{path.name} is not a plain file")
        if most is not None and seen.st_size > most:
            raise CheckpointError(f"{path.name} has {seen.st_size} bytes, more than {most}")
        if exactly is not None and seen.st_size != exactly:
            raise CheckpointError(f"{path.name} has {seen.st_size} bytes, not {exactly}")
        return file.read(seen.st_size)


def regular(path: str | Path) -> Path:
    """The path of a file with an end: to open a pipe is to wait for whoever writes into it."""
    path = Path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        kind = "a folder" if path.is_dir() else "a pipe or a device"
        raise DataError(f"{path}: expected a file, found {kind}; write what it gives to a file")
    return path


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)

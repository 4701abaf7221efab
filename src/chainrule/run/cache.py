"""Machine code kept on disk, so that a new process need not make it again.

Loading machine code is running it, so an entry is used only if it is ours:

- the folder belongs to the user, is not a link, and nobody else can read or write it (mode 0700);
  where it is not so, the cache is off, and a warning names the folder;
- the entry is a plain file of the user with mode 0600, and every byte of it is accounted for: mark,
  format, key, length, SHA-256 of the code.  The key is a SHA-256 of the text the code was made of
  and of everything else that it depends on.

Anything else under the name of an entry is passed over, removed if it is the user's, and replaced.
So other users, broken disks, interrupted writers, other versions and other processors cannot make
us run what we did not make.  Not guarded against: whoever acts as this user, or as the
administrator, who can replace chainrule itself as well; and on Windows, where there are no modes,
whoever may write into a folder outside the user's own that `CHAINRULE_CACHE` names.

Failing to read or to write is never an error: the code is then made as if there were no cache.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from re import compile as pattern
from struct import Struct
from threading import Lock
from warnings import warn

MARK, FORMAT = b"chainrul", 1
HEADER = Struct("<8sI32sQ32s")  # mark, format, key, length of the code, SHA-256 of the code
ENTRY, PART = pattern(r"[0-9a-f]{64}\.code"), pattern(r"chainrule-\w+\.part")
ABANDONED = 3600.0  # seconds after which nobody writes to a part any more
OFF = ("", "0", "off")
MEGABYTES = 256
ONLY_OURS = 0o077  # what others may do with a file, all of which must be nothing
HAS_MODES = os.name == "posix"
# A pipe or a terminal must not keep us waiting, and a link is not followed.
READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def key_of(text: str, made_with: Iterable[str]) -> bytes:
    """The name of the code of a text, made with these versions and for this processor."""
    digest = sha256(f"{FORMAT}".encode())
    for part in (*made_with, text):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))  # so that no two lists run into the same
        digest.update(data)
    return digest.digest()


def code_cache() -> CodeCache | None:
    """The cache that the environment asks for; None where it is off."""
    place = _place(os.environ)
    return None if place is None else _cache_in(place, os.environ.get("CHAINRULE_CACHE_MB", ""))


@cache
def _cache_in(place: Path, megabytes: str) -> CodeCache:
    try:
        limit = int(1e6 * float(megabytes or MEGABYTES))
    except (ValueError, OverflowError):
        warn(
            f"CHAINRULE_CACHE_MB={megabytes!r} is not a number: {MEGABYTES} is taken",
            RuntimeWarning,
            stacklevel=2,
        )
        limit = MEGABYTES * 10**6
    return CodeCache(place, limit)


def _place(environment: Mapping[str, str]) -> Path | None:
    """The folder the cache is kept in: what the user says, or the platform's folder for caches."""
    named = environment.get("CHAINRULE_CACHE")
    if named is not None:
        return None if named.lower() in OFF else Path(named).absolute()
    if os.name == "nt":
        local = environment.get("LOCALAPPDATA")
        return Path(local, "chainrule", "code") if local else None
    folder = environment.get("XDG_CACHE_HOME", "")
    if sys.platform != "darwin" and Path(folder).is_absolute():
        return Path(folder, "chainrule", "code")
    try:
        home = Path.home()
        if home.stat().st_uid != os.geteuid():  # as under sudo: what we make there is in the way
            return None
    except (OSError, RuntimeError):
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "chainrule/code"


class CodeCache:
    """Machine code by key, in files of one folder; threads and processes may share it.

    The size is looked at once a sixteenth of the limit was written, and at every sixteenth key
    besides, as many processes may write a little each.  What was not used for longest goes first.
    """

    def __init__(self, folder: Path, limit: int):
        self.folder, self.limit = folder, limit
        self._written = 0  # bytes since the size was looked at
        self._lock = Lock()

    def load(self, key: bytes) -> bytes | None:
        """The code of this key, checked; None where there is none."""
        path = self._path(key)
        try:
            if not self._is_ours():
                return None
            code = _checked(path, key)
        except FileNotFoundError:
            return None
        except OSError:
            code = None
        if code is None:
            _remove_if_ours(path)
            return None
        with suppress(OSError):
            os.utime(path)
        return code

    def store(self, key: bytes, code: bytes) -> None:
        """Keep the code of this key, as well as that is possible."""
        data = HEADER.pack(MARK, FORMAT, key, len(code), sha256(code).digest()) + code
        if len(data) > self.limit // 16:
            return
        with suppress(OSError):
            _make_folder(self.folder)
            if self._is_ours():
                _write(self._path(key), data)
                self._bound(key, len(data))

    def _path(self, key: bytes) -> Path:
        return self.folder / f"{key.hex()}.code"

    def _is_ours(self) -> bool:
        reason = _not_private(os.lstat(self.folder))
        if reason is not None:
            _warn_once(self.folder, reason)
        return reason is None

    # -- the size ------------------------------------------------------------------------------

    def _bound(self, key: bytes, written: int) -> None:
        with self._lock:
            self._written += written
            if self._written < self.limit // 16 and key[0] % 16:
                return
            self._written = 0
        self.trim()

    def trim(self) -> None:
        """Remove what was not used for longest until an eighth of the limit is free."""
        entries: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as files:
            for item in files:
                if not (ENTRY.fullmatch(item.name) or PART.fullmatch(item.name)):
                    continue  # not one of our names
                with suppress(OSError):
                    seen = item.stat(follow_symlinks=False)
                    if ENTRY.fullmatch(item.name):
                        entries.append((seen.st_mtime, seen.st_size, item.path))
                    elif seen.st_mtime < time.time() - ABANDONED:
                        os.unlink(item.path)
        excess = sum(size for _, size, _ in entries) - self.limit * 7 // 8
        for _, size, path in sorted(entries):
            if excess <= 0:
                break
            with suppress(OSError):  # on Windows, while another process reads it
                os.unlink(path)
                excess -= size


def _not_private(seen: os.stat_result) -> str | None:
    """Why code in this folder may be another's; None where it cannot."""
    if not stat.S_ISDIR(seen.st_mode):
        return "it is a link" if stat.S_ISLNK(seen.st_mode) else "it is not a folder"
    if HAS_MODES and seen.st_uid != os.geteuid():
        return "it belongs to another user"
    if HAS_MODES and seen.st_mode & ONLY_OURS:
        return f"its mode is {stat.S_IMODE(seen.st_mode):04o}, not 0700"
    return None


@cache
def _warn_once(folder: Path, reason: str) -> None:
    warn(
        f"compiled code is not kept on disk, as others may change it in {folder}: {reason}.  "
        "Name another folder in CHAINRULE_CACHE, or switch it off with CHAINRULE_CACHE=off.",
        RuntimeWarning,
        stacklevel=2,
    )


def _checked(path: Path, key: bytes) -> bytes | None:
    """The code in this file; None unless all of it is as we write it."""
    file = os.open(path, READ)
    with os.fdopen(file, "rb") as opened:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            return None
        if HAS_MODES and (seen.st_uid != os.geteuid() or seen.st_mode & ONLY_OURS):
            return None
        header = opened.read(HEADER.size)
        if len(header) != HEADER.size:
            return None
        mark, number, its_key, length, digest = HEADER.unpack(header)
        if (mark, number, its_key) != (MARK, FORMAT, key) or seen.st_size != HEADER.size + length:
            return None
        code = opened.read(length + 1)
    return code if len(code) == length and sha256(code).digest() == digest else None


def _remove_if_ours(path: Path) -> None:
    with suppress(OSError):
        if not HAS_MODES or os.lstat(path).st_uid == os.geteuid():
            os.unlink(path)  # of a link the link, not what it leads to


def _make_folder(folder: Path) -> None:
    """Make the folder, and those above it, for the user alone; `mkdir(parents=True)` does not."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _write(path: Path, data: bytes) -> None:
    """A file with this content: there is never one with a part of it."""
    part = path.with_name(f"chainrule-{os.urandom(8).hex()}.part")
    try:
        with os.fdopen(os.open(part, WRITE, 0o600), "wb") as opened:
            opened.write(data)
        os.replace(part, path)
    except BaseException:  # a full disk, or Ctrl-C
        with suppress(OSError):
            os.unlink(part)
        raise

"""Numbers from files: JSON, NPY, NPZ and CSV, none of which is trusted."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import stat
import sys
import warnings
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from chainrule.cli.mistake import InputError

MAX_BYTES = 2**30  # of a file, and of what it unpacks to
PLACE = re.compile(r"(?P<path>-|.+?\.(?P<kind>json|npy|npz|csv))(?::(?P<key>.+))?", re.I | re.S)
NUMERIC = "fciub"
BROKEN = (
    *(ValueError, KeyError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError),
    *(RecursionError, NotImplementedError, RuntimeError, csv.Error, zipfile.BadZipFile, zlib.error),
)


def read_values(place: str) -> Any:
    """What `file.json`, `file.npy`, `file.csv:column` or `file.npz:key` holds; `-` is the input."""
    match = PLACE.fullmatch(place)
    if match is None:
        raise InputError(f"{place}: name a .json, .npy, .npz or .csv file, or - for standard input")
    path, key = match["path"], match["key"]
    data = read_bytes(path)
    kind = (match["kind"] or _kind_of(data)).lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, on headers of old versions
            return READERS[kind](data, key)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except BROKEN as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: not readable as {kind.upper()}: {said}") from None


def read_bytes(path: str) -> bytes:
    """The content of a file, or of the standard input for `-`; at most so many bytes."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            if os.path.isdir(path):
                raise InputError(f"{path}: a folder, not a file")
            if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe is to wait for its writer
                raise InputError(f"{path}: a pipe or a device, not a file; - reads standard input")
            with open(path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read: {why}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: more than {MAX_BYTES:,} bytes")
    return data


def read_text(path: str) -> str:
    """The content of a text file."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None


def _kind_of(data: bytes) -> str:
    """What the standard input holds, by how it begins."""
    if data.startswith(np.lib.format.MAGIC_PREFIX):
        return "npy"
    if data.startswith(b"PK"):
        return "npz"
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return "csv"
    return "json"


# -- one reader per kind ---------------------------------------------------------------------------


def _json(data: bytes, key: str | None) -> Any:
    found = json.loads(data)
    if key is not None:
        if not isinstance(found, dict) or key not in found:
            known = found if isinstance(found, dict) else ()
            raise InputError(f"no key {key!r}{_there_are(known)}")
        found = found[key]
    return _arrays_in(found)


def _arrays_in(found: Any) -> Any:
    """Lists of numbers as arrays, inside objects too."""
    if isinstance(found, dict):
        return {str(k): _arrays_in(v) for k, v in found.items()}
    if isinstance(found, list):
        try:
            array = np.asarray(found)
        except ValueError:
            array = np.asarray(None)
        if found and array.dtype.kind not in "fiub":
            if any(isinstance(v, (dict, list)) for v in found):
                return [_arrays_in(v) for v in found]
            raise InputError("a list in it is not of numbers")
        return array
    return found


def _npy(data: bytes, key: str | None) -> Any:
    if key is not None:
        raise InputError(f"a .npy file holds one array and no key {key!r}")
    return _array(io.BytesIO(data), len(data))


def _npz(data: bytes, key: str | None) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = {name.removesuffix(".npy"): name for name in archive.namelist()}
        if key is None and len(names) == 1:
            key = next(iter(names))
        if key not in names:
            missing = "which array? write name=@file.npz:key" if key is None else f"no key {key!r}"
            raise InputError(f"{missing}{_there_are(names)}")
        size = archive.getinfo(names[key]).file_size
        if size > MAX_BYTES:
            raise InputError(f"{key} unpacks to {size:,} bytes; at most {MAX_BYTES:,} are read")
        with archive.open(names[key]) as file:
            return _array(file, size)


def _array(file: IO[bytes], size: int) -> Any:
    """An array in NumPy's format, of the size that it declares, without objects."""
    version = np.lib.format.read_magic(file)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if reader is None:
        raise InputError(f"version {version} of NumPy's format is not known")
    shape, fortran, dtype = reader(file)
    if dtype.kind not in NUMERIC or dtype.hasobject:
        raise InputError(f"an array of {dtype}, not of numbers (pickled objects are never loaded)")
    declared = math.prod(shape) * dtype.itemsize
    if declared > size or any(n < 0 for n in shape):
        raise InputError(f"declares an array of {declared:,} bytes and has {size:,}")
    data = file.read(declared)
    if len(data) < declared:
        raise InputError(f"ends after {len(data):,} of {declared:,} bytes")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C").copy()


def _csv(data: bytes, key: str | None) -> Any:
    """A table of numbers, a first line of names left out; one column as a vector."""
    rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))) if row]
    names = [] if not rows or _is_number(rows[0][0]) else [name.strip() for name in rows.pop(0)]
    if not rows:
        raise InputError("no numbers in it")
    columns = list(range(len(rows[0])))
    if key is not None:
        if key not in names:
            raise InputError(f"no column {key!r}{_there_are(names)}")
        columns = [names.index(key)]
    table = np.empty((len(rows), len(columns)))
    first = 2 if names else 1
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            width = len(rows[0])
            raise InputError(f"row {i + first} has {len(row)} entries, the first has {width}")
        for k, column in enumerate(columns):
            if not _is_number(row[column]):
                where = f"row {i + first}, column {column + 1}"
                raise InputError(f"{where}: {row[column][:40]!r} is no number")
            table[i, k] = float(row[column])
    return table[:, 0] if len(columns) == 1 else table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _there_are(names: Any) -> str:
    listed = ", ".join(map(str, list(names)[:10]))
    return f"; there are {listed}" if listed else ""


READERS = {"json": _json, "npy": _npy, "npz": _npz, "csv": _csv}

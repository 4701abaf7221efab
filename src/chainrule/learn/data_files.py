"""Data files of the user: CSV, IDX (the format of MNIST), NPY and NPZ; nothing in them is run.

What a file says of its size is compared with what is there before memory is taken for it.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from chainrule.errors import DataError
from chainrule.learn.data import Data
from chainrule.learn.files import regular

IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MAX_BYTES = 2**33  # bytes that a compressed file may grow to, unless the caller allows more
CHUNK = 2**20


# ---- IDX ----------------------------------------------------------------------------------------


def load_idx(path: str | Path, most: int = MAX_BYTES) -> np.ndarray:
    """The array of an IDX file, as `train-images-idx3-ubyte`, also compressed as `.gz`."""
    path = regular(path)
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            return _idx(gzip.open(raw) if packed else raw, path, most)
        except (EOFError, OSError, zlib.error) as error:
            raise DataError(f"{path}: cannot be unpacked: {error}") from None


def _idx(file: Any, path: Path, most: int) -> np.ndarray:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in IDX_TYPES:
        raise DataError(
            f"{path}: expected an IDX file, which begins with 00 00 and a type of "
            f"{', '.join(f'{code:02x}' for code in IDX_TYPES)}; found {head.hex(' ') or 'nothing'}"
        )
    dtype, axes = np.dtype(IDX_TYPES[head[2]]), head[3]
    sizes = file.read(4 * axes)
    if len(sizes) < 4 * axes or axes > 64:
        raise DataError(
            f"{path}: expected the sizes of {axes} axes (at most 64), found {len(sizes)} bytes"
        )
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    expected = math.prod(shape) * dtype.itemsize
    if expected > most:
        raise DataError(f"{path}: {shape} of {dtype} take {expected} bytes, more than {most}")
    data = _at_most(file, expected + 1)
    if len(data) != expected:
        found = f"only {len(data)}" if len(data) < expected else "more"
        raise DataError(f"{path}: {shape} of {dtype} take {expected} bytes; the file has {found}")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _at_most(file: Any, count: int) -> bytearray:
    """So many bytes, or all there are; memory grows with what is there, not with `count`."""
    data = bytearray()
    while len(data) < count and (chunk := file.read(min(CHUNK, count - len(data)))):
        data += chunk
    return data


# ---- NPY and NPZ --------------------------------------------------------------------------------


def load_npy(path: str | Path, mapped: bool = False) -> np.ndarray:
    """The array of an NPY file; `mapped` leaves it on the disk, read as far as it is used."""
    path = regular(path)
    with path.open("rb") as file:
        _check_npy(file, path.stat().st_size, str(path))
    return _numpy_load(path, str(path), "r" if mapped else None)


def load_npz(path: str | Path, most: int = MAX_BYTES) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file by name; together they may take at most so many bytes."""
    path = regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            total = sum(entry.file_size for entry in entries)
            if total > most:
                raise DataError(f"{path}: unpacked it has {total} bytes, more than {most}")
            named = {entry.filename.removesuffix(".npy"): entry for entry in entries}
            return {name: _unpacked(archive, named[name], path) for name in named}
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(f"{path}: expected an NPZ file: {error}") from None


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> np.ndarray:
    where = f"{path}, {entry.filename!r}"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(f"{where}: expected what np.savez writes, found another compression")
    with archive.open(entry) as file:
        data = io.BytesIO(_at_most(file, entry.file_size))
    _check_npy(data, len(data.getvalue()), where)
    data.seek(0)
    return _numpy_load(data, where)


def _numpy_load(file: Any, where: str, mmap_mode: Any = None) -> np.ndarray:
    try:
        return np.load(file, mmap_mode=mmap_mode)  # which refuses objects
    except (ValueError, OverflowError, MemoryError) as error:
        raise DataError(f"{where}: cannot be loaded: {error}") from None


def _check_npy(file: IO[bytes], size: int, where: str) -> None:
    """Raise unless what the header declares is what follows it."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    except (ValueError, EOFError, SyntaxError, TypeError) as error:
        raise DataError(f"{where}: expected an NPY file: {error}") from None
    if dtype.hasobject:
        raise DataError(f"{where}: expected numbers, found Python objects, which are not loaded")
    expected, found = math.prod(shape) * dtype.itemsize, size - file.tell()
    if expected != found:
        raise DataError(f"{where}: {shape} of {dtype} take {expected} bytes; there are {found}")


# ---- CSV ----------------------------------------------------------------------------------------


def load_csv(
    path: str | Path,
    label: str | int | None = None,
    header: bool | None = None,
    delimiter: str = ",",
) -> Data:
    """The numbers of a CSV file, one row per line, and the column to be predicted, if named.

    `header`: whether the first line names the columns; None finds out: it does if it holds no
    number where the second line holds one.  `label`: a column, by name or position.  Words in it
    become classes in alphabetical order; whole numbers stay such, other numbers are float64.
    """
    path = regular(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            rows = list(_rows(csv.reader(file, delimiter=delimiter, strict=True), path))
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise DataError(f"{path}: expected text in UTF-8, found byte {byte:#04x}") from None
    if header is None:
        header = len(rows) > 1 and _names_columns(rows[0][1], rows[1][1])
    names = tuple(rows.pop(0)[1]) if header else ()
    if not rows:
        raise DataError(f"{path}: expected rows of data, found none")
    columns = names or tuple(str(i) for i in range(len(rows[0][1])))
    at = None if label is None else _position(label, columns, path)
    kept = [i for i in range(len(columns)) if i != at]
    x = np.array([[_number(cells[i], path, n, columns[i]) for i in kept] for n, cells in rows])
    y: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    if at is not None:
        y, classes = _labels([(n, cells[at]) for n, cells in rows], path, columns[at])
    return Data(x.reshape(len(rows), -1), y, tuple(columns[i] for i in kept), classes, path.stem)


def _rows(reader: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers, all as long as the first."""
    width = None
    try:
        for cells in reader:
            if not cells:
                continue
            width = width or len(cells)
            if len(cells) != width:
                raise DataError(
                    f"{path}, line {reader.line_num}: expected {width} columns, found {len(cells)}"
                )
            yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None


def _parsed(cell: str) -> float | None:
    """The finite number that a cell holds; Python's own 1_000 is none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def _number(cell: str, path: Path, line: int, column: str) -> float:
    value = _parsed(cell)
    if value is None:
        raise DataError(
            f"{path}, line {line}, column {column!r}: expected a number, found {_short(cell)}"
        )
    return value


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")


def _names_columns(first: list[str], second: list[str]) -> bool:
    numbers = [(_parsed(a), _parsed(b)) for a, b in zip(first, second, strict=True)]
    return all(a is None for a, _ in numbers) and any(b is not None for _, b in numbers)


def _position(label: str | int, columns: tuple[str, ...], path: Path) -> int:
    if isinstance(label, int) and -len(columns) <= label < len(columns):
        return label % len(columns)
    if isinstance(label, str) and columns.count(label) == 1:
        return columns.index(label)
    raise DataError(
        f"{path}: expected one column {label!r}, found {', '.join(map(_short, columns[:20]))}"
    )


def _labels(
    cells: Iterable[tuple[int, str]], path: Path, column: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    held = list(cells)
    numbers = [_parsed(cell) for _, cell in held]
    if not any(number is None for number in numbers):
        values = np.array(numbers, float)
        whole = bool((values == np.round(values)).all() and (np.abs(values) < 2**53).all())
        return (values.astype(np.int64) if whole else values), ()
    for line, cell in held:
        if not cell:
            raise DataError(f"{path}, line {line}, column {column!r}: expected a class, found ''")
    classes = tuple(sorted({cell for _, cell in held}))
    where = {name: i for i, name in enumerate(classes)}
    return np.array([where[cell] for _, cell in held]), classes

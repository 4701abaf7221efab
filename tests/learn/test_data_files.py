"""Files of data (`data_files.py`, `files.py`), which may lie about themselves."""

import gzip
import os
import struct
import zipfile

import numpy as np
import pytest

import chainrule as cr
from chainrule.learn import load_csv, load_idx, load_npy, load_npz
from chainrule.learn.data_files import IDX_TYPES

# ---- IDX ----------------------------------------------------------------------------------------


def idx(array, code, shape=None):
    shape = array.shape if shape is None else shape
    head = bytes([0, 0, code, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    return head + array.astype(IDX_TYPES[code]).tobytes()


@pytest.mark.parametrize("code", IDX_TYPES)
@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (0, 4), (2, 3, 2)])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_of_every_type(tmp_path, code, shape, pack):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(IDX_TYPES[code])
    (tmp_path / "a-idx").write_bytes(pack(idx(array, code)))
    found = load_idx(tmp_path / "a-idx")
    assert np.array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.dtype.isnative
    assert found.flags.writeable


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "found nothing"),
        (b"\0\0", "found 00 00"),
        (b"PK\3\4", "found 50 4b 03 04"),
        (b"\0\0\x0a\1", "found 00 00 0a 01"),
        (b"\0\0\x08\x03\0\0", "expected the sizes of 3 axes .*, found 2 bytes"),
        (b"\0\0\x08\xff" + bytes(4 * 255), "expected the sizes of 255 axes"),
        (idx(np.zeros(5), 8, (6,)), "take 6 bytes; the file has only 5"),
        (idx(np.zeros(5), 8, (4,)), "take 4 bytes; the file has more"),
        (idx(np.zeros(5), 8, (2**32 - 1,)), "take 4294967295 bytes; the file has only 5"),
        (idx(np.zeros(5), 14, (2**32 - 1,) * 4), "more than 8589934592"),
    ],
)
def test_an_idx_file_that_lies(tmp_path, data, text, pack):
    (tmp_path / "a").write_bytes(pack(data))
    with pytest.raises(cr.DataError, match=text) as caught:
        load_idx(tmp_path / "a")
    assert str(tmp_path / "a") in str(caught.value)


def test_a_compressed_file_is_not_unpacked_beyond_what_it_declares(tmp_path):
    bomb = gzip.compress(idx(np.zeros(4), 8) + bytes(10**7))
    (tmp_path / "a").write_bytes(bomb)
    with pytest.raises(cr.DataError, match="take 4 bytes; the file has more"):
        load_idx(tmp_path / "a")
    (tmp_path / "a").write_bytes(bomb[:-20])
    with pytest.raises(cr.DataError, match="take 4 bytes; the file has more"):
        load_idx(tmp_path / "a")
    packed = gzip.compress(idx(np.zeros(10**6), 8))
    (tmp_path / "a").write_bytes(packed[:-20])
    with pytest.raises(cr.DataError, match="cannot be unpacked"):
        load_idx(tmp_path / "a")
    (tmp_path / "a").write_bytes(packed)
    with pytest.raises(cr.DataError, match="more than 1000"):
        load_idx(tmp_path / "a", most=1000)


# ---- NPY and NPZ --------------------------------------------------------------------------------


def test_npy_and_npz(tmp_path):
    x, y = np.arange(6.0).reshape(2, 3), np.array([1, 2])
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    np.savez(tmp_path / "a.npz", x=x, y=y)
    np.savez_compressed(tmp_path / "b.npz", x=x, y=y)
    assert np.array_equal(load_npy(tmp_path / "x.npy"), x)
    mapped = load_npy(tmp_path / "x.npy", mapped=True)
    assert isinstance(mapped, np.memmap)
    assert np.array_equal(mapped, x)
    for name in ("a.npz", "b.npz"):
        found = load_npz(tmp_path / name)
        assert list(found) == ["x", "y"]
        assert np.array_equal(found["x"], x)
        assert np.array_equal(found["y"], y)
    with pytest.raises(cr.DataError, match="more than 100"):
        load_npz(tmp_path / "a.npz", most=100)


def test_objects_are_not_loaded(tmp_path):
    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "x.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=trap)
    for read, name in ((load_npy, "x.npy"), (load_npz, "x.npz")):
        with pytest.raises(cr.DataError, match="found Python objects"):
            read(tmp_path / name)
    assert not Trap.sprung


class Trap:
    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("shape", ["(9,)", "(999999999999,)", "(-1, -8)", "(10**3,)", "(0, 9)"])
def test_an_npy_file_that_lies(tmp_path, mapped, shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head = head.ljust(117) + b"\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(64)
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(cr.DataError, match=r"x\.npy"):
        load_npy(tmp_path / "x.npy", mapped=mapped)


def test_damaged_archives_are_refused_whatever_byte_is_changed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.arange(20.0))
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        path.write_bytes(bad[: rng.integers(1, len(bad) + 1)] if rng.random() < 0.3 else bad)
        try:
            found = load_npz(path)
        except cr.DataError:
            continue
        # What is read in spite of it is what was written: a date or a flag was hit.
        assert np.array_equal(next(iter(found.values())), np.arange(20.0))


def test_an_archive_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("../x.npy", b"hello")
    with pytest.raises(cr.DataError, match=r"'../x.npy': expected an NPY file"):
        load_npz(tmp_path / "a.npz")
    (tmp_path / "a.npz").write_bytes(b"hello")
    with pytest.raises(cr.DataError, match="expected an NPZ file"):
        load_npz(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError):
        load_npz(tmp_path / "b.npz")


# ---- CSV ----------------------------------------------------------------------------------------


def csv(tmp_path, text, **options):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_csv(path, **options)


def test_csv_with_header_and_words_as_labels(tmp_path):
    data = csv(tmp_path, "\ufeffage, kind ,size\n1,cat,2.5\n\n3,ant,-4e1\n5,cat,6\n", label="kind")
    assert data.columns == ("age", "size")
    assert data.classes == ("ant", "cat")
    assert data.x.tolist() == [[1, 2.5], [3, -40], [5, 6]]
    assert data.y.tolist() == [1, 0, 1]
    assert data.name == "table"


def test_csv_without_header(tmp_path):
    data = csv(tmp_path, "1;2;0\n3;4;1\n", label=-1, delimiter=";")
    assert data.columns == ("0", "1")
    assert data.classes == ()
    assert data.x.tolist() == [[1, 2], [3, 4]]
    assert data.y.dtype == np.int64
    assert data.y.tolist() == [0, 1]


def test_csv_header_is_what_is_said(tmp_path):
    assert len(csv(tmp_path, "1,2\n3,4\n", header=True)) == 1
    with pytest.raises(cr.DataError, match="line 1, column '0': expected a number, found 'a'"):
        csv(tmp_path, "a,b\n1,2\n", header=False)
    assert csv(tmp_path, "1\n2\n").y is None


def test_csv_numbers_to_predict(tmp_path):
    assert csv(tmp_path, "x,y\n1,0.5\n2,3\n", label="y").y.tolist() == [0.5, 3.0]


def test_csv_quotes(tmp_path):
    data = csv(tmp_path, 'x,"the, kind"\n1,"a ""b"""\n', label="the, kind")
    assert data.classes == ('a "b"',)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3\n", {}, "table.csv, line 3: expected 2 columns, found 1"),
        ("a,b\n1,2\n3,x\n", {}, "line 3, column 'b': expected a number, found 'x'"),
        ("a,b\n1,2\n3,\n", {}, "line 3, column 'b': expected a number, found ''"),
        ("a,b\n1,2\n3,nan\n", {}, "line 3, column 'b': expected a number, found 'nan'"),
        ("a,b\n1,2\n3,1_0\n", {}, "line 3, column 'b': expected a number, found '1_0'"),
        ("a,b\n1,2\n3,1e999\n", {}, "expected a number, found '1e999'"),
        ("1,2\n3," + "9" * 99 + "x\n", {}, "column '1': expected a number, found '9{40}…'"),
        ("a,b\n1,2\n", {"label": "c"}, "expected one column 'c', found 'a', 'b'"),
        ("a,a\n1,2\n", {"label": "a"}, "expected one column 'a', found 'a', 'a'"),
        ("a,b\n1,2\n", {"label": 2}, "expected one column 2, found 'a', 'b'"),
        ("a,b\n1,x\n2,\n", {"label": "b"}, "line 3, column 'b': expected a class, found ''"),
        ("", {}, "expected rows of data, found none"),
        ("a,b\n", {"header": True}, "expected rows of data, found none"),
        ('a,b\n1,"2\n', {}, "line 2: unexpected end of data"),
        (b"a,b\n1,\xff\n", {}, "expected text in UTF-8, found byte 0xff"),
        ("a\n" + "1" * 200000 + "\n", {}, "line 2: field larger than field limit"),
    ],
)
def test_csv_errors_name_line_and_column(tmp_path, text, options, message):
    with pytest.raises(cr.DataError, match=message):
        csv(tmp_path, text, **options)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("load", [load_csv, load_idx, load_npy, load_npz])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, load):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(cr.DataError, match="expected a file, found a pipe"):
        load(tmp_path / "pipe")
    with pytest.raises(cr.DataError, match="expected a file, found a folder"):
        load(tmp_path)

"""Numbers from files: JSON, NPY, NPZ, CSV, and everything that can be wrong with them."""

import io
import json
import os
import sys
import zipfile

import numpy as np
import pytest

from chainrule.cli.files import read_values
from chainrule.cli.mistake import InputError


def npy(array, **options):
    data = io.BytesIO()
    np.lib.format.write_array(data, array, **options)
    return data.getvalue()


def header(shape, descr="<f8"):
    data = io.BytesIO()
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(data, fields)
    return data.getvalue()


def npz(**members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()


A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "data", "key", "expected"),
    [
        ("a.npy", npy(A), "", A),
        ("a.npy", npy(np.asfortranarray(A)), "", A),
        ("a.npy", npy(A.astype(">f4")), "", A),
        ("a.npy", npy(np.array(2.5)), "", 2.5),
        ("a.npz", npz(A=npy(A)), "", A),
        ("a.npz", npz(A=npy(A), b=npy(A[0])), ":b", A[0]),
        ("a.csv", b"0,1,2\n3,4,5\n", "", A),
        ("a.csv", b"\xef\xbb\xbfu,v\r\n1,2\r\n3,4\r\n", "", [[1, 2], [3, 4]]),
        ("a.csv", b"u,v\n1,2\n3,4\n", ":v", [2, 4]),
        ("a.csv", b"1\n2\n\n3", "", [1, 2, 3]),
        ("a.json", b"[[0,1,2],[3,4,5]]", "", A),
        ("a.json", b'{"w": [1, 2.5]}', ":w", [1, 2.5]),
        ("a.json", b"1e3", "", 1000.0),
        ("a:b.JSON", b"[1]", "", [1]),
    ],
)
def test_what_is_read(tmp_path, name, data, key, expected):
    (tmp_path / name).write_bytes(data)
    np.testing.assert_array_equal(read_values(f"{tmp_path / name}{key}"), expected)


def test_objects_keep_their_keys(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"W": [[1, 2]], "deep": {"b": [3]}, "name": "net", "all": [{"b": [1]}, [2]]}')
    found = read_values(str(path))
    np.testing.assert_array_equal(found["deep"]["b"], [3])
    assert found["name"] == "net"
    assert [type(v) for v in found["all"]] == [dict, np.ndarray]


PICKLED = npy(np.array([{"a": 1}], object), allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.npy", b"", "not readable as NPY"),
        ("a.npy", b"garbage", "not readable as NPY"),
        ("a.npy", npy(A)[:-1], "ends after 47 of 48 bytes"),
        ("a.npy", header((10**12,)) + b"12345678", "declares an array of 8,000,000,000,000 bytes"),
        ("a.npy", header((2**62, 8)), "declares an array of"),
        ("a.npy", header((-1,)), "declares an array of"),
        ("a.npy", header((2,), "|O"), "pickled objects are never loaded"),
        ("a.npy", header((2,), [("a", "<f8")]), "not of numbers"),
        ("a.npy", header((2,), "<U4") + bytes(32), "not of numbers"),
        ("a.npy", PICKLED, "pickled objects are never loaded"),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 60000, "not readable as NPY"),
        ("a.npy", b"\x93NUMPY\x09\x00" + bytes(40), "version (9, 0)"),
        ("a.npz", b"PK", "not readable as NPZ"),
        ("a.npz", npz(), "which array?"),
        ("a.npz", npz(a=npy(A), b=npy(A)), "which array? write name=@file.npz:key; there are a, b"),
        ("a.npz", npz(a=PICKLED), "pickled objects are never loaded"),
        ("a.npz", npz(a=header((10**12,)) + b"12345678"), "declares an array of"),
        ("a.npz", npz(a=npy(np.zeros(1000)))[:-200], "not readable as NPZ"),
        ("a.json", b"{", "not readable as JSON"),
        ("a.json", b"[" * 100_000, "not readable as JSON"),
        ("a.json", b"9" * 10_000, "not readable as JSON"),
        ("a.json", b'["a"]', "not of numbers"),
        ("a.json", b"\xff\xfe\xfd", "not readable as JSON"),
        ("a.csv", b"", "no numbers in it"),
        ("a.csv", b"u,v\n", "no numbers in it"),
        ("a.csv", b"1,2\n3\n", "row 2 has 1 entries, the first has 2"),
        ("a.csv", b"u,v\n1,x\n", "row 2, column 2: 'x' is no number"),
        ("a.csv", b"\x00\x00", "no numbers in it"),
        ("a.csv", b"\xff\xff", "not readable as CSV"),
        ("a.txt", b"1", "name a .json, .npy, .npz or .csv file"),
    ],
)
def test_what_is_broken_is_told_in_one_line(tmp_path, run, name, data, says):
    (tmp_path / name).write_bytes(data)
    status, out, err = run("grad", "sum(x)", f"x=@{tmp_path / name}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("chainrule: x: ")
    assert says in err


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    from chainrule.cli import files

    monkeypatch.setattr(files, "MAX_BYTES", 10_000)
    (tmp_path / "a.npz").write_bytes(npz(a=npy(np.zeros(10_000))))
    with pytest.raises(InputError, match=r"unpacks to 80,\d+ bytes; at most 10,000 are read"):
        read_values(str(tmp_path / "a.npz"))
    (tmp_path / "b.npy").write_bytes(npy(np.zeros(10_000)))
    with pytest.raises(InputError, match="more than 10,000 bytes"):
        read_values(str(tmp_path / "b.npy"))


def test_places_that_are_no_files(tmp_path, run):
    (tmp_path / "folder.npy").mkdir()
    for place, says in (
        (tmp_path / "folder.npy", "a folder, not a file"),
        (tmp_path / "missing.npy", "No such file"),
        ("a\0.npy", "null byte"),
        ("", "name a .json"),
    ):
        status, out, err = run("grad", "x", f"x=@{place}")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert says in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(InputError, match="a pipe or a device, not a file; - reads standard input"):
        read_values(str(tmp_path / "pipe.npy"))


def test_keys_that_are_not_there(tmp_path):
    for name, data in (
        ("a.npz", npz(w=npy(A))),
        ("a.csv", b"w,v\n1,2\n"),
        ("a.json", json.dumps({"w": [1]}).encode()),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="'q'; there are w"):
            read_values(f"{tmp_path / name}:q")


@pytest.mark.parametrize("data", [b"[[0,1,2],[3,4,5]]", npy(A), npz(a=npy(A)), b"0,1,2\n3,4,5\n"])
def test_standard_input(monkeypatch, run, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    status, out, err = run("grad", "sum(x ** 2)", "x=@-")
    assert (status, err) == (0, "")
    assert "f = sum(x ** 2) = 55" in out

"""Machine code on disk: used again in a new process, and only if it is what we wrote."""

import os
import random
import subprocess
import sys
import threading
import time
import warnings
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr
from chainrule.run import cache
from chainrule.run.cache import HEADER, CodeCache, code_cache, key_of

pytest.importorskip("llvmlite")

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are of POSIX")
KEY = key_of("text", ["version"])
CODE = bytes(range(256)) * 4

# A new process: compiles a gradient, says whether the code was there, and a digest of the text.
PROGRAM = """
import hashlib, numpy as np, chainrule as cr

def loss(layers, x, y):
    for w, b in layers:
        x = np.tanh(x @ w + b)
    best = np.max(cr.log_softmax(x, axis=1)[:, ::2], axis=0)
    return np.mean((x - y) ** 2) + np.sum(np.where(best > -1, best, np.exp(best))) + y[1, 2]

rows = {rows}
x = np.linspace(-1, 1, rows * 6).reshape(rows, 6)
w = np.cos(np.arange(36.0)).reshape(6, 6)
f = cr.compile(cr.value_and_grad(loss))
value, gradient = f([(w, w[0]), (w.T.copy(), w[1])], x, np.sin(x))
(variants,) = f.variants.values()
run = variants[0].run
print(run.machine.was_kept, hashlib.sha256(run.module.text.encode()).hexdigest())
print(repr(float(value)), repr(float(sum(a.sum() + b.sum() for a, b in gradient))))
"""


def start(folder, seed="0", rows=8, **environment):
    """The process under way, and the lines it prints as a list in the end."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(rows=rows)],
        env={**os.environ, "CHAINRULE_CACHE": str(folder), "PYTHONHASHSEED": seed, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    first, result = out.splitlines()
    kept, digest = first.split()
    return kept == "True", digest, result


def entries(folder):
    return sorted(folder.glob("*.code"))


@pytest.fixture
def kept(tmp_path):
    """A cache with one entry, and the file of it."""
    kept = CodeCache(tmp_path / "code", 10**6)
    kept.store(KEY, CODE)
    (path,) = entries(kept.folder)
    return kept, path


# ---- processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [8, 50_000])
def test_a_new_process_finds_the_code(tmp_path, rows):
    """Also with another order of sets and dicts; with many rows it runs by tiles."""
    first = printed(start(tmp_path / "code", "1", rows))
    kept = entries(tmp_path / "code")  # with many rows, also the code of threads
    second = printed(start(tmp_path / "code", "12345", rows))
    assert not first[0], "there was no code to find"
    assert second[1] == first[1], "the text depends on the order of a set"
    assert second[0], "the code was not found again"
    assert second[2] == first[2]
    assert entries(tmp_path / "code") == kept


def test_processes_at_once(tmp_path):
    running = [start(tmp_path / "code") for _ in range(2)]
    results = {printed(process)[2] for process in running}
    assert len(results) == 1
    assert len(entries(tmp_path / "code")) == 1
    assert printed(start(tmp_path / "code")) == (True, *printed(start("off"))[1:])


def test_threads_at_once(tmp_path):
    kept = CodeCache(tmp_path / "code", 40_000)  # so small that they remove each other's entries
    keys = [key_of(f"{i}", []) for i in range(60)]
    wrong = []

    def work(seed):
        order = random.Random(seed)
        for _ in range(150):
            key = order.choice(keys)
            if order.random() < 0.5:
                kept.store(key, key * 40)
            elif kept.load(key) not in (None, key * 40):
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not list(kept.folder.glob("*.part"))


# ---- what is not ours ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled_entry(tmp_path_factory):
    """A folder with the code of `compiled`, and the bytes of the one entry."""
    folder = tmp_path_factory.mktemp("entry") / "code"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAINRULE_CACHE", str(folder))
        assert not compiled()
        assert compiled()
        (path,) = entries(folder)
        yield path, path.read_bytes()


def compiled():
    """Compile and run; whether the code was there."""
    x = np.arange(5.0)
    f = cr.compile(lambda x: np.sum(x * x + 3))
    assert f(x) == np.sum(x * x + 3)
    ((variant,),) = f.variants.values()
    return variant.run.machine.was_kept


def altered(data, place, kind, byte):
    """The file with a bit flipped, cut off, longer, or filled with something else."""
    at = int(place * (len(data) - 1))
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ byte]) + data[at + 1 :]
    if kind == "cut":
        return data[:at]
    if kind == "longer":
        return data + bytes([byte]) * (1 + at)
    return bytes([byte]) * at


@settings(max_examples=200, deadline=None)
@given(
    place=st.floats(0, 1) | st.floats(0, 0.01),  # as often in the header
    kind=st.sampled_from(["flip", "cut", "longer", "filled"]),
    byte=st.integers(1, 255),
)
def test_altered_entries_are_made_again(compiled_entry, place, kind, byte):
    path, data = compiled_entry
    path.write_bytes(altered(data, place, kind, byte))
    assert not compiled(), "altered code was run"
    assert path.read_bytes() == data


def test_the_code_of_another_key_is_made_again(compiled_entry):
    path, data = compiled_entry
    other = code_cache()
    other.store(KEY, data[HEADER.size :])
    os.replace(other._path(KEY), path)
    assert not compiled()
    assert compiled()


def test_other_versions_and_processors_have_other_keys():
    keys = {key_of(*of) for of in (("a", ["b"]), ("ab", []), ("", ["a", "b"]), ("", ["ab"]))}
    assert len(keys) == 4


def test_what_does_not_check_out_is_removed(kept):
    shelf, path = kept
    path.write_bytes(path.read_bytes()[:-1])
    assert shelf.load(KEY) is None
    assert not path.exists()


def test_an_entry_of_another_format_is_not_read(kept, monkeypatch):
    shelf, _ = kept
    monkeypatch.setattr(cache, "FORMAT", 2)
    assert shelf.load(KEY) is None


@posix
def test_links_are_not_followed(kept, tmp_path):
    shelf, path = kept
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert shelf.load(KEY) is None
    assert not path.is_symlink()
    assert elsewhere.exists(), "the link goes, not what it leads to"


@posix
@pytest.mark.timeout(20)
def test_a_pipe_does_not_keep_us_waiting(kept):
    shelf, path = kept
    path.unlink()
    os.mkfifo(path)
    assert shelf.load(KEY) is None
    shelf.store(KEY, CODE)
    assert shelf.load(KEY) == CODE


def test_a_folder_in_the_place_of_an_entry(kept):
    shelf, path = kept
    path.unlink()
    path.mkdir()
    assert shelf.load(KEY) is None
    shelf.store(KEY, CODE)
    assert not list(shelf.folder.glob("*.part"))


@posix
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o602])
def test_files_that_others_may_touch_are_not_read(kept, mode):
    shelf, path = kept
    path.chmod(mode)
    assert shelf.load(KEY) is None
    assert not path.exists()


@posix
@pytest.mark.parametrize("mode", [0o777, 0o755, 0o770, 0o701])
def test_folders_that_others_may_touch_are_refused(kept, mode):
    shelf, path = kept
    shelf.folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"{shelf.folder}.*0{mode:o}"):
        assert shelf.load(KEY) is None
    with warnings.catch_warnings(action="error"):  # said once
        assert shelf.load(KEY) is None
        shelf.store(key_of("other", []), CODE)
    assert entries(shelf.folder) == [path], "nothing is written or removed there"


@posix
def test_a_read_only_folder_is_read(kept):
    shelf, path = kept
    shelf.folder.chmod(0o500)
    try:
        assert shelf.load(KEY) == CODE
        path.chmod(0o400)
        assert shelf.load(KEY) == CODE
    finally:
        shelf.folder.chmod(0o700)


@posix
def test_a_folder_of_another_user_is_refused(kept, monkeypatch):
    shelf, _ = kept
    monkeypatch.setattr(os, "geteuid", lambda: shelf.folder.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match="another user"):
        assert shelf.load(KEY) is None


@posix
def test_a_folder_that_is_a_link_is_refused(kept, tmp_path):
    shelf, _ = kept
    (tmp_path / "link").symlink_to(shelf.folder)
    with pytest.warns(RuntimeWarning, match="link"):
        assert CodeCache(tmp_path / "link", 10**6).load(KEY) is None


@posix
def test_what_we_make_is_for_us_alone(tmp_path):
    before = os.umask(0)
    try:
        CodeCache(tmp_path / "a" / "b" / "code", 10**6).store(KEY, CODE)
    finally:
        os.umask(before)
    made = [tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/code"]
    (path,) = entries(made[-1])
    assert [oct(p.stat().st_mode & 0o777) for p in made] == ["0o700"] * 3
    assert oct(path.stat().st_mode & 0o777) == "0o600"


# ---- where nothing can be kept ------------------------------------------------------------------


@pytest.mark.parametrize("word", ["", "0", "off", "OFF"])
def test_switched_off(monkeypatch, word):
    monkeypatch.setenv("CHAINRULE_CACHE", word)
    assert code_cache() is None
    assert not compiled()
    assert not compiled()


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "file" / "code"))
    assert not compiled()
    assert not compiled()


def test_a_full_disk(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "code"))
    assert not compiled()


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def refuse(part, path):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(os, "replace", refuse)
    kept = CodeCache(tmp_path / "code", 10**6)
    kept.store(KEY, CODE)
    assert list(kept.folder.iterdir()) == []


@posix
def test_the_place(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache._place({}) == tmp_path / ".cache/chainrule/code"
    assert cache._place({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache/chainrule/code"
    assert cache._place({"XDG_CACHE_HOME": "/x"}) == cache.Path("/x/chainrule/code")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache._place({}) == tmp_path / "Library/Caches/chainrule/code"
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    assert cache._place({}) is None


# ---- the size -----------------------------------------------------------------------------------


def test_the_size_is_bounded(tmp_path):
    limit = 200_000
    kept = CodeCache(tmp_path / "code", limit)
    for i in range(600):
        kept.store(key_of(f"{i}", []), sha256(b"%d" % i).digest() * (i % 97))
        assert sum(p.stat().st_size for p in entries(kept.folder)) <= limit
    assert kept.load(key_of("599", [])) is not None
    assert kept.load(key_of("0", [])) is None


def test_many_processes_that_write_little_keep_the_bound(tmp_path):
    limit = 100_000
    for i in range(600):
        CodeCache(tmp_path / "code", limit).store(key_of(f"{i}", []), CODE)
    assert sum(p.stat().st_size for p in entries(tmp_path / "code")) <= 2 * limit


def test_what_was_used_last_stays(tmp_path):
    kept = CodeCache(tmp_path / "code", 10**6)
    keys = [key_of(f"{i}", []) for i in range(12)]
    for age, key in enumerate(keys):
        kept.store(key, CODE)
        os.utime(kept._path(key), (1e9 + age, 1e9 + age))
    assert kept.load(keys[0]) == CODE
    kept.limit = 8 * (HEADER.size + len(CODE))
    kept.trim()
    left = [key in {bytes.fromhex(p.stem) for p in entries(kept.folder)} for key in keys]
    assert left == [True] + [False] * 5 + [True] * 6


def test_an_entry_too_large_is_not_kept(tmp_path):
    kept = CodeCache(tmp_path / "code", 16 * 1000)
    kept.store(KEY, CODE)
    assert kept.load(KEY) is None


def test_only_our_own_files_are_removed(kept):
    shelf, path = kept
    theirs = [shelf.folder / name for name in ("notes.txt", "a.code", f"{'g' * 64}.code")]
    abandoned, fresh = (shelf.folder / f"chainrule-{i}.part" for i in range(2))
    for each in (*theirs, abandoned, fresh):
        each.write_bytes(CODE)
        os.utime(each, (time.time(), time.time() - 7200 * (each != fresh)))
    shelf.limit = 0
    shelf.trim()
    assert sorted(shelf.folder.iterdir()) == sorted([*theirs, fresh])
    assert not path.exists()


def test_a_limit_that_is_no_number(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path))
    monkeypatch.setenv("CHAINRULE_CACHE_MB", "much")
    with pytest.warns(RuntimeWarning, match="much"):
        assert code_cache().limit == 256_000_000
    monkeypatch.setenv("CHAINRULE_CACHE_MB", "0.5")
    assert code_cache().limit == 500_000

"""Checkpoints (`saved_tree.py`): saved and loaded to the bit, kept, removed, refused if wrong."""

import json
import os
import sys
from collections import OrderedDict
from dataclasses import dataclass
from errno import ENOSPC
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.learn import checkpoints, load_checkpoint, save_checkpoint
from chainrule.learn.checkpoints import _signed as signed

pytest.importorskip("safetensors")


@dataclass
class Layer:
    W: Any
    b: Any


TREE = {
    "layers": [Layer(np.arange(6.0).reshape(2, 3).T, np.float32(2)), None],
    "moments": (np.array(1 + 2j), {3: np.array([True, False])}, ()),
    "empty": np.zeros((0, 4), np.complex64),
    "counts": OrderedDict(z=np.arange(3), a=np.uint8(7)),
}


def leaves(tree):
    found, structure = cr.core.containers.flatten(tree)
    return [(p, np.asarray(x)) for x, p in zip(found, structure.paths, strict=True)]


def same(a, b):
    return len(leaves(a)) == len(leaves(b)) and all(
        (p, x.dtype, x.shape, x.tobytes()) == (q, y.dtype, y.shape, y.tobytes())
        for (p, x), (q, y) in zip(leaves(a), leaves(b), strict=True)
    )


def test_a_tree_comes_back_in_its_containers(tmp_path):
    path = save_checkpoint(tmp_path, TREE, step=7, note="hello", nested={"a": [1, 2.5, None]})
    assert path.name == "step-000000007.json"
    found = load_checkpoint(tmp_path, like=TREE)
    assert same(found.tree, TREE)
    assert isinstance(found.tree["layers"][0], Layer)
    assert (found.step, found.path) == (7, path)
    assert found.meta == {"note": "hello", "nested": {"a": [1, 2.5, None]}}
    assert all(x.flags.writeable for _, x in leaves(found.tree))


def test_without_a_model_fields_come_back_as_dicts(tmp_path):
    save_checkpoint(tmp_path, TREE)
    found = load_checkpoint(tmp_path).tree
    assert np.array_equal(found["layers"][0]["W"], TREE["layers"][0].W)
    assert found["moments"][0] == 1 + 2j
    assert found["moments"][2] == ()
    assert list(found["moments"][1]) == [3]


@pytest.mark.parametrize("tree", [np.arange(3.0), 2.5, [], None, {"a": {}}])
def test_small_trees(tmp_path, tree):
    save_checkpoint(tmp_path, tree)
    assert same(load_checkpoint(tmp_path).tree, tree)


def test_a_tree_may_be_deep(tmp_path):
    tree = [np.ones(2)]
    for _ in range(1_500):
        tree = [tree, np.zeros(1)]
    save_checkpoint(tmp_path, tree)
    found = load_checkpoint(tmp_path, like=tree).tree
    while len(found) > 1:
        found, last = found
        assert last.tolist() == [0]
    assert found[0].tolist() == [1, 1]


def test_the_newest_and_the_best_stay(tmp_path):
    for score in (5, 3, 1, 4, None, 2, float("nan")):
        save_checkpoint(tmp_path, np.zeros(1), keep=2, score=score)
    assert [path.stem for path in checkpoints(tmp_path)] == [
        *("step-000000002", "step-000000005", "step-000000006")
    ]
    assert len(os.listdir(tmp_path)) == 6
    save_checkpoint(tmp_path, np.zeros(1), keep=1, score=0.5)
    assert [path.stem for path in checkpoints(tmp_path)] == ["step-000000007"]


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    for name in ("step-000000003.json.part", "step-000000003.safetensors", "other.part"):
        (tmp_path / name).write_bytes(b"half")
    save_checkpoint(tmp_path, np.zeros(1), step=4)
    assert sorted(os.listdir(tmp_path)) == [
        *("other.part", "step-000000004.json", "step-000000004.safetensors")
    ]


def test_files_are_flushed_before_they_get_their_names(tmp_path, monkeypatch):
    """A power failure leaves the name with the whole content, or without any."""
    done = []

    def fsync(held):
        done.append(("flush", os.fstat(held).st_size))

    def replace(part, path):
        done.append((path.suffix, part.stat().st_size))
        os.rename(part, path)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    path = save_checkpoint(tmp_path, np.zeros(100))
    sizes = arrays(path).stat().st_size, path.stat().st_size
    assert done[:4] == [
        *(("flush", sizes[0]), (".safetensors", sizes[0])),
        *(("flush", sizes[1]), (".json", sizes[1])),
    ]
    assert len(done) == 4 + (os.name == "posix")  # and the folder


def test_a_step_may_be_saved_again(tmp_path):
    for value in (1.0, 2.0):
        save_checkpoint(tmp_path, np.array(value), step=3)
    assert load_checkpoint(tmp_path).tree == 2.0
    assert len(checkpoints(tmp_path)) == 1


@pytest.mark.parametrize(
    ("tree", "options", "text"),
    [
        (np.array(["a"]), {}, "a checkpoint holds numbers"),
        ({"x": object()}, {}, r"\['x'\] is object"),
        ({(1, 2): 1.0}, {}, "strings or whole numbers as keys"),
        (1.0, {"keep": 0}, "keep must be at least 1"),
        (1.0, {"note": np.ones(2)}, "must be JSON"),
        (1.0, {"note": float("nan")}, "must be JSON"),
        (1.0, {"note": {1: 2}}, "would come back otherwise"),
        (1.0, {"note": (1, 2)}, "would come back otherwise"),
    ],
)
def test_what_cannot_be_saved_is_named(tmp_path, tree, options, text):
    with pytest.raises(cr.ArgumentError, match=text):
        save_checkpoint(tmp_path, tree, **options)
    assert checkpoints(tmp_path) == []


def test_without_safetensors_the_extra_is_named(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, 1.0)
    for name in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (lambda: save_checkpoint(tmp_path, 1.0), lambda: load_checkpoint(tmp_path)):
        with pytest.raises(cr.UnsupportedError, match=r"pip install 'chainrule\[learn\]'"):
            call()


# ---- what is refused ----------------------------------------------------------------------------


def rewritten(path, **changed):
    """The JSON with other members, and the hash that belongs to them."""
    body = json.loads(path.read_text())
    del body["sha256"]
    path.write_bytes(signed({**body, **changed}))


def refused(tmp_path, text, like=None):
    """The newest of two checkpoints is refused for this reason, and the older one used."""
    with pytest.warns(RuntimeWarning, match=text) as caught:
        found = load_checkpoint(tmp_path, like)
    assert found.step == 1
    assert str(caught[0].message).startswith("step-000000002.json")
    assert str(caught[0].message).endswith("step-000000001.json is used instead.")
    (tmp_path / "step-000000001.json").unlink()
    with pytest.raises(cr.CheckpointError, match=text):
        load_checkpoint(tmp_path, like)


@pytest.fixture
def newest(tmp_path):
    for step in (1, 2):
        path = save_checkpoint(tmp_path, {"W": np.full((2, 3), float(step))}, step=step)
    return path


def test_an_empty_folder(tmp_path):
    with pytest.raises(cr.CheckpointError, match="there is no checkpoint in"):
        load_checkpoint(tmp_path / "nowhere")


def test_one_checkpoint_by_name(newest):
    assert load_checkpoint(newest).step == 2
    assert load_checkpoint(newest.with_name("step-000000001.json")).step == 1
    with pytest.raises(cr.CheckpointError, match="cannot be read"):
        load_checkpoint(newest.with_name("step-000000003.json"))


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-1]), "it is not JSON"),
        (lambda p: p.write_bytes(b""), "it is not JSON"),
        (lambda p: p.write_bytes(b"\xff\xfe"), "it is not JSON"),
        (lambda p: p.write_text("[" * 200_000), "nested too deeply"),
        (lambda p: p.write_text('{"a":' * 200_000), "nested too deeply"),
        (lambda p: p.write_text("9" * 10_000), "it is not JSON"),
        (lambda p: p.write_text("[]"), "not a checkpoint of chainrule"),
        (lambda p: p.write_text('{"chainrule_checkpoint": true}'), "not a checkpoint of chainrule"),
        (lambda p: p.write_text('{"chainrule_checkpoint": 2}'), "newer chainrule .format 2"),
        (lambda p: p.write_text('{"chainrule_checkpoint": 1}'), "members are not those"),
        (lambda p: edit(p, '"step": 2', '"step": 3'), "SHA-256 differs"),
        (lambda p: edit(p, '"meta": {}', '"meta": {"a": NaN}'), "NaN is not a number of JSON"),
        (lambda p: edit(p, '"meta": {}', '"meta": {"a": 1e999}'), "holds what no checkpoint does"),
        (lambda p: edit(p, '"meta": {}', '"meta": []'), "members are not those"),
        (lambda p: rewritten(p, step=3), "of step 3, which is not what its name says"),
        (lambda p: rewritten(p, structure=[]), "too many or too few entries"),
        (lambda p: rewritten(p, structure=[["leaf"], ["leaf"]]), "too many or too few entries"),
        (lambda p: rewritten(p, structure=[["list", 10**9]]), "too many or too few entries"),
        (lambda p: rewritten(p, structure=[["list", 10**30]]), "which is no container"),
        (lambda p: rewritten(p, structure=[["list", -1]]), "which is no container"),
        (lambda p: rewritten(p, structure=[["os.system", "ls"]]), "which is no container"),
        (lambda p: rewritten(p, structure=[["dict", ["a", "a"]]]), "which is no container"),
        (lambda p: rewritten(p, structure=[["dict", ["V"]], ["leaf"]]), "names of its arrays"),
        (lambda p: rewritten(p, arrays=[]), "list of arrays do not agree"),
        (lambda p: rewritten(p, arrays=[["object", [2]]]), "not the type and shape"),
        (lambda p: rewritten(p, arrays=[["float64", [2] * 65]]), "not the type and shape"),
        (lambda p: rewritten(p, arrays=[["float64", [-1, -6]]]), "not the type and shape"),
        (lambda p: rewritten(p, arrays=[["float64", [True]]]), "not the type and shape"),
        (lambda p: rewritten(p, arrays=[["float64", [2**40] * 9]]), "bytes; their file has"),
        (lambda p: rewritten(p, arrays=[["float64", [3, 2]]]), r"not float64 \(3, 2\)"),
        (lambda p: rewritten(p, arrays=[["float32", [2, 3]]]), "not float32"),
        (lambda p: rewritten(p, arrays=[["complex128", [3]]]), "not complex128"),
        (lambda p: rewritten(p, arrays_bytes=10**15), "bytes, not 10{15}"),
        (lambda p: rewritten(p, arrays_bytes=-1), "their file has -1"),
        (lambda p: rewritten(p, arrays_sha256="../../etc/passwd"), "SHA-256 differs"),
        (lambda p: arrays(p).unlink(), "cannot be read"),
        (lambda p: arrays(p).write_bytes(b""), "has 0 bytes"),
        (lambda p: flip(arrays(p), -1), "arrays are not those that were written"),
        (lambda p: flip(arrays(p), 3), "arrays are not those that were written"),
        (lambda p: os.replace(older(arrays(p)), arrays(p)), "arrays are not those"),
        (lambda p: p.write_bytes(older(p).read_bytes()), "of step 1, which is not what its name"),
        (lambda p: (p.unlink(), p.mkdir()), "cannot be read|not a plain file"),
    ],
)
def test_what_is_wrong_is_named_and_the_one_before_is_used(tmp_path, newest, damage, text):
    spare = older(arrays(newest)).read_bytes()
    damage(newest)
    older(arrays(newest)).write_bytes(spare)
    refused(tmp_path, text)


def arrays(path):
    return path.with_suffix(".safetensors")


def older(path):
    return path.with_name(path.name.replace("2", "1"))


def edit(path, before, after):
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


def flip(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_links_and_pipes_are_not_read(tmp_path, newest):
    secret = tmp_path / "secret"
    os.replace(newest, secret)
    newest.symlink_to(secret)
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert load_checkpoint(tmp_path).step == 1
    newest.unlink()
    os.mkfifo(newest)
    with pytest.warns(RuntimeWarning, match="not a plain file"):
        assert load_checkpoint(tmp_path).step == 1


@pytest.mark.parametrize(
    ("like", "text"),
    [
        ({"W": np.zeros((3, 2))}, r"\['W'\] is float64 of shape \(2, 3\), where .* \(3, 2\)"),
        ({"W": np.zeros((2, 3), np.float32)}, "where float32 of shape"),
        ({"V": np.zeros((2, 3))}, r"holds Structure\({'W': \*}\), where Structure\({'V': \*}\)"),
        ([np.zeros((2, 3))], "another model?"),
    ],
)
def test_a_checkpoint_of_another_model(tmp_path, newest, like, text):
    save_checkpoint(tmp_path, like, step=1)
    refused(tmp_path, text, like)


def test_hostile_arrays_with_the_right_hash(tmp_path, newest):
    """Whoever writes the file can write its hash: the arrays themselves are checked."""
    from hashlib import sha256

    from safetensors.numpy import save

    good = arrays(newest).read_bytes()
    header = (2**62).to_bytes(8, "little")
    for data in (
        b"",
        b"{}",
        header + b"{}",
        good[:-8],
        good + b"x",
        save({"tree['W']": np.zeros((2, 3), np.float32), "x": np.zeros(3)}),
        save({"tree['W']": np.zeros((3, 2))}),
        save({"tree['W']": np.zeros((2, 3)), "../../x": np.zeros(1)}),
    ):
        arrays(newest).write_bytes(data)
        rewritten(newest, arrays_bytes=len(data), arrays_sha256=sha256(data).hexdigest())
        with pytest.warns(RuntimeWarning, match="step-000000002.json is refused"):
            assert load_checkpoint(tmp_path).step == 1


def test_names_in_errors_cannot_control_a_terminal(tmp_path, newest):
    rewritten(newest, structure=[["dict", ["\x1b[2J"]], ["leaf"]])
    with pytest.warns(RuntimeWarning) as caught:
        load_checkpoint(tmp_path, {"W": np.zeros((2, 3))})
    assert "\x1b" not in str(caught[0].message)


def full_disk(monkeypatch, name, writes):
    """Only so many flushes of files whose name ends so succeed."""
    left, flush = [writes], os.fsync

    def fsync(file):
        if os.readlink(f"/proc/self/fd/{file}").endswith(name):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        flush(file)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no names of open files here")
@pytest.mark.parametrize("name", [".safetensors.part", ".json.part"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, name):
    save_checkpoint(tmp_path, {"W": np.ones(3)})
    before = sorted(tmp_path.iterdir())
    full_disk(monkeypatch, name, writes=0)
    with pytest.raises(
        cr.CheckpointError, match=r"step-000000001.json cannot be written: No space"
    ):
        save_checkpoint(tmp_path, {"W": np.zeros(3)})
    assert sorted(tmp_path.iterdir()) == before
    np.testing.assert_array_equal(load_checkpoint(tmp_path).tree["W"], np.ones(3))


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(cr.CheckpointError, match=r"cannot be written: (Not a dir|File exists)"):
        save_checkpoint(tmp_path / "file", {"W": np.ones(3)})


def trained(folder, **options):
    x = np.arange(8.0).reshape(4, 2)
    optimiser = learn.sgd(0.01)
    return learn.train(
        lambda p, x: np.mean((x @ p["w"]) ** 2),
        {"w": np.ones(2)},
        [(x,)],
        optimiser=optimiser,
        epochs=3,
        progress=False,
        checkpoints=folder,
        **options,
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no names of open files here")
def test_a_run_outlasts_a_full_disk(tmp_path, monkeypatch):
    plain = trained(tmp_path / "whole")
    flush = os.fsync
    full_disk(monkeypatch, ".json.part", writes=1)
    with (
        pytest.warns(RuntimeWarning, match="goes on without a checkpoint") as warnings,
        pytest.raises(cr.CheckpointError, match="is in `trained` of this error") as raised,
    ):
        trained(tmp_path / "full")
    assert len(warnings) == 2
    np.testing.assert_array_equal(raised.value.trained.parameters["w"], plain.parameters["w"])
    assert load_checkpoint(tmp_path / "full").step == 1
    monkeypatch.setattr(os, "fsync", flush)  # there is room again: the run goes on
    resumed = trained(tmp_path / "full")
    np.testing.assert_array_equal(resumed.parameters["w"], plain.parameters["w"])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no names of open files here")
def test_a_disk_that_has_room_again_is_no_error(tmp_path, monkeypatch):
    flush, calls = os.fsync, []

    def fsync(file):
        calls.append(file)
        if len(calls) == 1:
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        flush(file)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.warns(RuntimeWarning, match="goes on without"):
        trained(tmp_path)
    assert load_checkpoint(tmp_path).step == 3


def test_a_folder_that_cannot_be_written_is_found_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(cr.CheckpointError, match="cannot be written") as raised:
        trained(tmp_path / "file")
    assert raised.value.trained is None

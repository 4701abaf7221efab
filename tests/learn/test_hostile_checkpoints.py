"""Hundreds of damaged and hostile checkpoints: each is refused, or is what was written."""

import json
import random
import shutil
import tracemalloc
import warnings
from hashlib import sha256

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.core.containers import flatten
from chainrule.learn.checkpoints import _signed as signed
from chainrule.learn.checkpoints import read_checkpoint

pytest.importorskip("safetensors")

X = np.random.default_rng(0).standard_normal((24, 3))
MEMORY = 20e6  # bytes; the checkpoints have some thousand


def train(folder, epochs=3):
    return learn.train(
        lambda p, x: np.mean((x @ p["W"] - 1) ** 2),
        {"W": np.zeros(3)},
        learn.Batches(X, size=8),
        optimiser=learn.momentum(0.05),
        epochs=epochs,
        validation=(X,),
        checkpoints=folder,
        progress=False,
        compile=False,
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder of three checkpoints, and what is in each."""
    folder = tmp_path_factory.mktemp("sound")
    train(folder)
    held = {path.stem: content(read_checkpoint(path)) for path in learn.checkpoints(folder)}
    assert len(held) == 3
    return folder, held


def content(checkpoint):
    leaves, structure = flatten(checkpoint.tree)
    arrays = [(x.dtype.str, x.shape, x.tobytes()) for x in leaves]
    return structure.paths, arrays, checkpoint.meta


# ---- damage: the hashes are as they were --------------------------------------------------------


def flip_bits(data, rng):
    for _ in range(rng.choice([1, 1, 1, 5, 100])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(data, rng):
    del data[rng.randrange(len(data)) :]


def lengthen(data, rng):
    data += rng.randbytes(rng.choice([1, 8, 1000]))


def lose(data, rng):
    at = rng.randrange(len(data))
    del data[at : at + rng.choice([1, 2, 8, 64])]


def blank(data, rng):
    at = rng.randrange(len(data))
    end = min(len(data), at + rng.choice([8, 64, 512]))
    data[at:end] = bytes(end - at)


def swap_parts(data, rng):
    a, b = sorted(rng.sample(range(len(data) + 1), 2))
    data[a:b] = data[a:b][::-1]


DAMAGE = (flip_bits, cut, lengthen, lose, blank, swap_parts)


def damage(folder, rng):
    """Damage one or both files of the newest checkpoint, or mix files of several."""
    newest = learn.checkpoints(folder)[-1]
    if rng.random() < 0.1:
        a, b = rng.sample(sorted(folder.iterdir()), 2)
        data = a.read_bytes(), b.read_bytes()
        a.write_bytes(data[1])
        b.write_bytes(data[0])
        return
    endings = rng.choice([[".json"], [".safetensors"], [".json", ".safetensors"]])
    for path in map(newest.with_suffix, endings):
        data = bytearray(path.read_bytes())
        rng.choice(DAMAGE)(data, rng)
        path.write_bytes(data)


# ---- hostility: the hashes are right, the content is not ----------------------------------------

DEEP = json.loads("[" * 400 + "]" * 400)
ODD = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, -(10**30), 0.5, 1e308, "", "nan", "-inf"),
    *(
        "../../../etc/passwd",
        "\x00",
        "\x1b[2J",
        "os.system",
        "x" * 10_000,
        "💥",
        [],
        {},
        [[]],
        DEEP,
    ),
    *({"__class__": "os.system"}, ["leaf"], ["list", 3], [["dict", ["a"]]], ["float64", [2**40]]),
    *([0] * 1000, {"epoch": 1}, [{"epoch": 1}, {"epoch": 2}, {"epoch": 3}]),
)


def places(value, at=()):
    """Every place in a JSON value, as the steps that lead to it."""
    found = [at] if at else []
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in items:
            found += places(child, (*at, key))
    return found


def put(value, at, new):
    for key in at[:-1]:
        value = value[key]
    value[at[-1]] = new


def remove(value, at):
    for key in at[:-1]:
        value = value[key]
    del value[at[-1]]


def hostile_json(folder, rng):
    """Put odd values into the JSON of the newest checkpoint and sign it."""
    path = learn.checkpoints(folder)[-1]
    body = json.loads(path.read_text())
    del body["sha256"]
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.choice(places(body))
        if rng.random() < 0.2:
            remove(body, at)
        else:
            put(body, at, json.loads(json.dumps(rng.choice(ODD))))
    path.write_bytes(signed(body))


def hostile_text(folder, rng):
    """Text that is JSON for some, or hardly."""
    path = learn.checkpoints(folder)[-1]
    text = path.read_text()
    number = rng.choice(["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[" * 100_000])
    texts = [
        text.replace('"position": 0', f'"position": {number}'),
        text.replace("{", '{"a":' * rng.choice([1, 10**5]), 1),
        "[" * 10**5 + text,
        text[:-1] + ', "step": 0}',
        text.replace('"chainrule_checkpoint": 1', f'"chainrule_checkpoint": {rng.choice([2, 99])}'),
        text.encode("utf-16").decode("latin-1"),
        text.replace("e", "\\ud800"),
        "",
    ]
    path.write_text(rng.choice(texts), encoding="utf-8", errors="surrogatepass")


def hostile_arrays(folder, rng):
    """Damage the arrays, and write the hash and the length that belong to them."""
    path = learn.checkpoints(folder)[-1]
    arrays = path.with_suffix(".safetensors")
    data = bytearray(arrays.read_bytes())
    head = int.from_bytes(data[:8], "little") + 8
    part = data[:head]
    rng.choice(DAMAGE)(part, rng)  # the header alone: of the numbers, any bits are sound
    data[:head] = part
    arrays.write_bytes(data)
    body = json.loads(path.read_text())
    del body["sha256"]
    body.update(arrays_bytes=len(data), arrays_sha256=sha256(data).hexdigest())
    path.write_bytes(signed(body))


def attempt(folder):
    """Load as a user does, and as a run that goes on does; what came of it."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = learn.load_checkpoint(folder)
            said = ""
        except cr.CheckpointError as error:
            found, said = None, str(error)
    warned = [str(warning.message) for warning in warned]
    assert "".join([said, *warned]).replace("\n", "").isprintable()  # no word to a terminal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trained = train(folder)
        except (cr.CheckpointError, cr.ArgumentError):
            trained = None
    return found, warned, trained


@pytest.mark.parametrize(
    "cases", [pytest.param(100, id="100"), pytest.param(500, id="500", marks=pytest.mark.slow)]
)
def test_damaged_and_hostile_checkpoints(sound, tmp_path, cases):
    source, held = sound
    expected = train(tmp_path / "whole")
    outcomes = {"refused": 0, "older": 0, "same": 0}
    tracemalloc.start()
    for case in range(cases):
        rng = random.Random(case)
        folder = tmp_path / str(case)
        shutil.copytree(source, folder)
        attack = (damage, damage, hostile_json, hostile_text, hostile_arrays)[case % 5]
        attack(folder, rng)
        tracemalloc.reset_peak()
        found, warned, trained = attempt(folder)
        assert tracemalloc.get_traced_memory()[1] < MEMORY, case
        newest = max(held)
        if found is None:
            outcomes["refused"] += 1
        elif warned:
            # What is used instead is exactly what was written there.
            outcomes["older"] += 1
            assert found.path.stem != newest
            assert content(found) == held[found.path.stem], case
        else:
            outcomes["same"] += 1
            paths, arrays, meta = content(found)
            if attack in (damage, hostile_text):
                assert (paths, arrays, meta) == held[newest], case
            elif attack is hostile_arrays:
                assert (paths, meta) == (held[newest][0], held[newest][2]), case
        if trained is not None and attack in (damage, hostile_text):
            assert trained.history == expected.history, case
            assert trained.parameters["W"].tobytes() == expected.parameters["W"].tobytes(), case
        shutil.rmtree(folder)
    tracemalloc.stop()
    assert outcomes["older"] > cases / 2, outcomes

"""`chainrule train`: what it learns, from which files, what it writes, and what it refuses."""

import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
KIND = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
X[:, 0] += 2.0 * KIND  # a gap between the two
QUICK = ("--epochs", "8", "--rate", "0.05", "--quiet")


@pytest.fixture
def table(tmp_path):
    """A CSV file: two kinds by name, told by the first two of three columns."""
    path = tmp_path / "kinds.csv"
    rows = [f"{a},{b},{('cat', 'dog')[k]},{c}" for (a, b, c), k in zip(X, KIND, strict=True)]
    path.write_text("\n".join(["height,weight,kind,age", *rows]) + "\n")
    return str(path)


def idx(path, array):
    code = {"uint8": 0x08, "float32": 0x0D}[array.dtype.name]
    head = struct.pack(f">4B{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    path.write_bytes(head + array.astype(array.dtype.newbyteorder(">")).tobytes())
    return str(path)


def trained(run, *words):
    status, out, err = run("train", *words, *QUICK, "--json")
    assert (status, err) == (0, ""), err
    return json.loads(out)


# ---- what it learns -----------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "least"), [("softmax", 0.95), ("mlp", 0.965)])
def test_digits(run, model, least):
    pytest.importorskip("sklearn")
    words = ("train", "digits", "--model", model, "--epochs", "30", "--json")
    status, out, err = run(*words)
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["rows"] == {"training": 1438, "test": 359}
    assert found["classes"] == list("0123456789")
    assert found["test"]["accuracy"] >= least
    assert found["history"][-1]["accuracy"] == found["test"]["accuracy"]
    assert found["parameters"] == (650 if model == "softmax" else 4810)
    again = json.loads(run(*words)[1])
    assert again["history"] == found["history"]
    other = json.loads(run(*words, "--seed", "1")[1])
    assert other["history"] != found["history"]


def test_a_regression(run):
    pytest.importorskip("sklearn")
    status, out, _ = run("train", "diabetes", "--model", "linear", "--quiet")
    assert status == 0
    assert "a number to predict" in out
    score = float(out.split("test R²")[1].split()[0])
    assert 0.45 < score < 0.6
    error = float(out.split("test mean absolute error")[1].split()[0])
    assert 35 < error < 55  # in the units of the data


def test_csv(run, table):
    found = trained(run, table, "--label", "kind")
    assert found["test"]["accuracy"] > 0.9
    assert (found["data"], found["columns"], found["classes"]) == ("kinds", 3, ["cat", "dog"])


def test_npz_and_numbers_that_are_classes_or_not(run, tmp_path):
    path = str(tmp_path / "data.npz")
    np.savez(path, x=X.reshape(120, 3, 1), y=KIND + 5)
    found = trained(run, path)
    assert found["classes"] == ["5", "6"]
    assert found["test"]["accuracy"] > 0.9
    found = trained(run, path, "--regression")
    assert found["classes"] == []
    assert set(found["test"]) == {"r_squared", "mean_absolute_error"}


def test_idx(run, tmp_path):
    images = idx(tmp_path / "images.idx", X.astype(np.float32).reshape(120, 3, 1))
    labels = idx(tmp_path / "labels.idx", KIND.astype(np.uint8))
    found = trained(run, f"{images}:{labels}")
    assert found["data"] == "images"
    assert found["test"]["accuracy"] > 0.9


# ---- what is shown and written ------------------------------------------------------------------


def test_progress_goes_to_the_error_stream(run, table):
    status, out, err = run("train", table, "--label", "kind", "--epochs", "3")
    assert status == 0
    assert [line.split()[1] for line in err.splitlines()] == ["1/3", "2/3", "3/3"]
    assert "accuracy" in err
    assert "96 rows to train on, 24 to test on; 3 columns, 2 classes" in out
    assert "epochs          3, in" in out


@pytest.mark.parametrize(("name", "start"), [("c.svg", b"<?xml"), ("c.csv", b"epoch,step,loss")])
def test_curve(run, table, tmp_path, name, start):
    if name.endswith("svg"):
        pytest.importorskip("matplotlib")
    path = tmp_path / name
    found = trained(run, table, "--label", "kind", "--curve", str(path))
    assert found["curve"] == str(path)
    assert path.read_bytes().startswith(start)


def test_checkpoints_are_gone_on_from_if_asked(run, table, tmp_path):
    pytest.importorskip("safetensors")
    folder = str(tmp_path / "saved")
    words = ("train", table, "--label", "kind", "--checkpoints", folder, "--json", "--epochs")
    assert json.loads(run(*words, "3")[1])["resumed"] is None
    status, out, err = run(*words, "6")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"{folder} holds checkpoints: add --resume, or name another folder" in err
    found = json.loads(run(*words, "6", "--resume")[1])
    assert found["resumed"].startswith("resumed after step 9, in epoch 4")
    whole = json.loads(run("train", table, "--label", "kind", "--json", "--epochs", "6")[1])
    assert found["history"] == whole["history"]
    said = run(*words[:-2], "--resume", "--epochs", "6", "--quiet")[1]
    assert "resumed         after step 18, in epoch 7" in said
    assert f"checkpoints     {folder}" in said

    newest = max((tmp_path / "saved").glob("*.safetensors"))
    newest.write_bytes(b"")
    status, _, err = run(*words, "6", "--resume")
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith(f"chainrule: {newest.stem}.json is refused: ")

    for changed in (("--batch", "16"), ("--hidden", "8"), ("--model", "softmax")):
        status, out, err = run(*words, "6", "--resume", *changed)
        assert (status, out) == (2, ""), changed
        assert "chainrule: " in err
    status, out, err = run(*words, "7", "--resume", "--rate", "0.01")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "rate was 0.005, is 0.01.  Train as then" in err
    status, out, _ = run(*words, "7", "--resume", "--rate", "0.01", "--accept", "optimiser,seed")
    assert (status, json.loads(out)["epochs"]) == (0, 7)
    status, _, err = run(*words, "7", "--resume", "--accept", "rate")
    assert (status, err.count("\n")) == (2, 1)
    assert "what can be accepted is seed, loss, optimiser" in err


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_ctrl_c_saves_and_says_how_to_go_on(run, table, tmp_path):
    pytest.importorskip("safetensors")
    folder = tmp_path / "my run"
    words = [*("train", table, "--label", "kind", "--checkpoints", str(folder), "--seed", "3")]
    process = subprocess.Popen(
        [sys.executable, "-m", "chainrule", *words, "--epochs", "1000000", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not list(folder.glob("*.json")) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert "interrupted, and saved; go on with\n" in out
    command = shlex.split(out.split("go on with\n")[1])
    assert command == ["chainrule", *_in_order(words), "--resume"]

    last = max(int(path.stem[5:]) for path in folder.glob("*.json"))
    epochs = last // 3 + 2
    command[command.index("--epochs") + 1] = str(epochs)
    found = json.loads(run(*command[1:], "--json")[1])
    assert found["resumed"].startswith(f"resumed after step {last}, ")
    assert found["epochs"] == epochs


def _in_order(words):
    """The options as the help lists them."""
    name, table, label, kind, checkpoints, folder, seed, three = words
    return [
        name,
        table,
        label,
        kind,
        "--epochs",
        "1000000",
        seed,
        three,
        checkpoints,
        folder,
        "--quiet",
    ]


def test_ctrl_c_without_checkpoints(run, table, monkeypatch):
    from chainrule.learn import training

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(training._Run, "_one_epoch", interrupted)
    status, out, _ = run("train", table, "--label", "kind", "--curve", "never.svg", "--quiet")
    assert status == 130
    assert "interrupted, and not saved: --checkpoints FOLDER would have" in out
    assert not os.path.exists("never.svg")


# ---- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "nothing: name a data set (breast_cancer, diabetes, digits, iris, wine)"),
        (["no.csv"], "no.csv: cannot be read: No such file"),
        (["no.npz"], "no.npz: cannot be read: No such file"),
        (["a.idx:b.idx"], "a.idx: cannot be read: No such file"),
        (["iris", "--label", "x"], "--label names a column of a CSV file"),
        (["iris", "--model", "tree"], "invalid choice: 'tree'"),
        (["iris", "--model", "linear"], "linear is for numbers; for classes, --model softmax"),
        (["diabetes", "--model", "softmax"], "softmax is for classes; for numbers, --model linear"),
        (["iris", "--regression"], "words or classes, not numbers"),
        (["iris", "--epochs", "0"], "--epochs 0: at least 1"),
        (["iris", "--epochs", "many"], "invalid int value: 'many'"),
        (["iris", "--hidden", "-4"], "--hidden -4: at least 1"),
        (["iris", "--batch", "0"], "--batch 0: at least 1"),
        (["iris", "--seed", "-1"], "--seed -1: at least 0"),
        (["iris", "--rate", "nan"], "--rate nan: a positive number"),
        (["iris", "--rate", "1e200"], "try a --rate smaller than 1e+200"),
        (["iris", "--resume"], "--resume needs the folder"),
        (["iris", "--curve", "c.gif"], "c.gif: a name that ends with .svg, .png, .pdf, .csv"),
        (["iris", "--curve", "no/c.svg"], "--curve no/c.svg: there is no folder no"),
        (["iris", "--checkpoints", __file__], "a file, not a folder"),
    ],
)  # fmt: skip
def test_refusals_are_one_line(run, words, says):
    if words[0] in ("iris", "diabetes"):
        pytest.importorskip("sklearn")
    status, out, err = run("train", *words, "--json")
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert says in err


def test_a_loss_that_grows_stops_with_advice(run):
    pytest.importorskip("sklearn")
    words = ["train", "iris", "--rate", "1e10", "--epochs", "50", "--quiet"]
    status, out, err = run(*words)
    assert status == 2
    assert "the loss has grown to" in err
    assert err.endswith("try --rate 0.005\n")
    assert "epochs          1," in out

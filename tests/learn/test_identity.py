"""A run that is resumed (`store.py`) with another loss or data says so, and asks to be told to."""

import json
import os
import subprocess
import sys
from functools import partial
from types import ModuleType

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.learn import Batches
from chainrule.learn.identity import told, told_array

pytest.importorskip("safetensors")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 5))
Y = (X @ RNG.standard_normal((5, 3))).argmax(axis=1)
START = {"W": np.zeros((5, 3)), "b": np.zeros(3)}

MODEL = '''
import numpy as np
from chainrule import learn

DECAY = 0.01

def scores(p, x):
    return x @ p["W"] + p["b"]

def loss(p, x, y, *key):
    """The loss."""
    return learn.cross_entropy(scores(p, x), y) + DECAY * learn.l2(p["W"])
'''


def module(text=MODEL):
    """A module of the user's, as it would be imported."""
    made = ModuleType("a_model")
    exec(text, vars(made))  # noqa: S102 - the text above
    return made


def run(folder, epochs=2, text=MODEL, **options):
    given = {
        "batches": Batches(X[:60], Y[:60], size=16),
        "optimiser": learn.adam(0.05),
        "validation": (X[60:], Y[60:]),
        **options,
    }
    return learn.train(
        *(module(text).loss, START, given.pop("batches")),
        epochs=epochs,
        checkpoints=folder,
        progress=False,
        compile=given.pop("compile", False),
        **given,
    )


OTHER = X.copy()
OTHER[0] += 1.0
CHANGES = {
    "rate": ({"optimiser": learn.adam(0.04)}, "optimiser.schedule.rate was 0.05, is 0.04"),
    "schedule": (
        {"optimiser": learn.adam(learn.cosine(0.05, steps=10))},
        "schedule was chainrule.learn.schedules.constant.<locals>.<lambda>, is chainrule.learn",
    ),
    "decay": ({"optimiser": learn.adam(0.05, first=0.8)}, "optimiser.rule.first was 0.9, is 0.8"),
    "optimiser": ({"optimiser": learn.sgd(0.05)}, "optimiser.name was 'adam', is 'sgd'"),
    "wrapper": ({"optimiser": learn.clipped(learn.adam(0.05), norm=1.0)}, "optimiser"),
    "code": (
        {"text": MODEL.replace('p["W"] + p["b"]', 'p["W"] - p["b"]')},
        "loss.scores was the code ",
    ),
    "constant": ({"text": MODEL.replace("0.01", "0.02")}, "loss.DECAY was 0.01, is 0.02"),
    "function": ({"text": MODEL.replace("learn.l2", "learn.l1")}, "loss was the code "),
    "numbers": ({"batches": Batches(OTHER[:60], Y[:60], size=16)}, "array 0 was float64 (60, 5)"),
    "rows": ({"batches": Batches(X[:59], Y[:59], size=16)}, "is float64 (59, 5)"),
    "type": ({"batches": Batches(X[:60].astype("f"), Y[:60], size=16)}, "is float32 (60, 5)"),
    "size": ({"batches": Batches(X[:60], Y[:60], size=15)}, "size was 16, is 15"),
    "order": ({"batches": Batches(X[:60], Y[:60], size=16, seed=1)}, "order was 0, is 1"),
    "list": ({"batches": [(X, Y)]}, "length was nothing, is 1"),
    "seed": ({"seed": 1}, "seed was 0, is 1"),
    "validation": ({"validation": (OTHER[60:], OTHER[60:, 0])}, "validation, array 1 was int64"),
}


@pytest.mark.parametrize(("options", "says"), CHANGES.values(), ids=CHANGES)
def test_what_has_changed_is_named(tmp_path, options, says):
    run(tmp_path)
    with pytest.raises(cr.ArgumentError, match="is of another run: ") as caught:
        run(tmp_path, **options)
    text = str(caught.value)
    assert says in text
    assert f"Train as then, or name another folder than {tmp_path}; accept=" in text
    assert "\n" not in text


@pytest.mark.parametrize("options", [{"validation": None}, {"metrics": {"one": lambda p, *_: 1.0}}])
def test_other_columns_of_the_history_cannot_be_accepted(tmp_path, options):
    run(tmp_path)
    with pytest.raises(cr.ArgumentError, match="measured was validation, is ") as caught:
        run(tmp_path, accept="validation", **options)
    assert "accept=" not in str(caught.value)
    with pytest.raises(cr.ArgumentError, match="what can be accepted is seed, loss, "):
        run(tmp_path, accept="measured", **options)


def test_a_new_rate_is_accepted_once(tmp_path):
    whole = run(tmp_path / "whole", 4)
    run(tmp_path, 2)
    resumed = run(tmp_path, 3, optimiser=learn.adam(0.04), accept="optimiser")
    assert resumed.resumed.startswith("resumed after step 8")
    assert resumed.history.records[:2] == whole.history.records[:2]
    assert resumed.history.records[2] != whole.history.records[2]
    again = run(tmp_path, 4, optimiser=learn.adam(0.04))
    assert len(again.history) == 4
    with pytest.raises(cr.ArgumentError, match=r"rate was 0\.04, is 0\.05"):
        run(tmp_path, 5)


def test_everything_that_differs_must_be_accepted(tmp_path):
    run(tmp_path)
    options = {"optimiser": learn.adam(0.04), "seed": 1}
    with pytest.raises(cr.ArgumentError, match="seed was 0, is 1") as caught:
        run(tmp_path, accept=["optimiser"], **options)
    assert "accept=('optimiser', 'seed')" in str(caught.value)
    assert len(run(tmp_path, 3, accept=("optimiser", "seed"), **options).history) == 3


@pytest.mark.parametrize(
    "options",
    [
        {"text": MODEL.replace("The loss.", "What is to be made small.")},
        {"text": MODEL.replace("\ndef", "\n\n# A comment.\ndef")},
        {"text": MODEL.replace("x @ p", "x  @  p")},
        {"patience": 5},
        {"callbacks": [lambda record, p: None]},
        {"batches": Batches(np.array(X[:60]), np.array(Y[:60]), size=16)},
    ],
)
def test_what_makes_no_difference_is_no_change(tmp_path, options):
    whole = run(tmp_path / "whole", 3)
    run(tmp_path)
    resumed = run(tmp_path, 3, **options)
    assert resumed.history == whole.history


def test_a_checkpoint_to_be_compiled_or_not(tmp_path):
    """To look at a loss that is not finite, a run is resumed with compile=False."""
    run(tmp_path, compile=True)
    assert len(run(tmp_path, 3, compile=False).history) == 3


# ---- what is told of a value ---------------------------------------------------------------------


class Model:
    def __init__(self, decay):
        self.decay = decay
        self.seen = []

    def loss(self, p):
        return self.decay * p

    def __call__(self, p):
        return self.loss(p)


def test_methods_objects_and_partials():
    assert told(Model(0.1).loss, "loss")["loss.self.decay"] == "0.1"
    assert told(Model(0.1), "loss")["loss.decay"] == "0.1"
    assert told(Model(0.1), "loss") != told(Model(0.2), "loss")
    assert told(partial(np.power, 2), "loss") == {"loss": "numpy.ufunc power", "loss.args[0]": "2"}
    assert told(partial(max, key=3), "loss")["loss.keywords['key']"] == "3"
    assert told(cr.compile(np.sum), "loss")["loss"].endswith("sum")
    once, again = told(Model(0.1).loss, "loss"), told(Model(0.1).loss, "loss")
    assert once == again


def test_defaults_and_dicts():
    settings = {"decay": 0.1, 3: "not a word"}

    def loss(p, power=2, *, scale=(1.0, "a")):
        return settings["decay"] * scale[0] * p**power

    found = told(loss, "loss")
    assert found["loss.power"] == "2"
    assert found["loss.scale[1]"] == "'a'"
    assert found["loss.settings['decay']"] == "0.1"


def test_a_function_that_calls_itself():
    def falling(n):
        return 1 if n == 0 else n * falling(n - 1)

    assert list(told(falling, "loss")) == ["loss"]


def test_what_is_told_is_bounded():
    words = {str(n): "x" * 10_000 for n in range(3000)}

    def loss(p):
        return p * len(words)

    found = told(loss, "loss")
    assert len(found) == 500
    assert max(map(len, found.values())) < 120


def test_arrays():
    long = np.zeros((10_000, 3))
    assert told_array(long) == told_array(long.copy())
    changed = long.copy()
    changed[-1] = 1.0
    assert told_array(changed) != told_array(long)
    assert told_array(long.astype("f")) != told_array(long)
    assert told_array(np.float64(1.0)) != told_array(np.float64(2.0))
    assert told_array(np.zeros((0, 3))) == "float64 (0, 3)"
    assert told_array(np.asfortranarray(X)) == told_array(X)
    assert told_array(np.zeros((3, 10**6))).startswith("float64 (3, 1000000) with the numbers ")


def test_another_process_tells_the_same(tmp_path):
    (tmp_path / "model.py").write_text(
        MODEL + "\nKNOWN = {'b', 'a'}\ndef f(x):\n    return x in {'u', 'v', 'w'} or loss\n"
    )
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from chainrule.learn.identity import told\n"
        "import model; print(json.dumps(told(model.f, 'loss')))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert {"loss", "loss.loss", "loss.loss.DECAY"} <= set(json.loads(found[0]))

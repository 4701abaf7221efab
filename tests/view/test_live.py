"""A run that is watched (`training.py`): the same bits, little time taken, all of it in data."""

import json
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.view import live as live_module
from chainrule.view import training as training_module
from chainrule.view.live import Live
from tests.learn.test_training import same_bits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 5))
Y = (X @ RNG.normal(size=(5, 3))).argmax(axis=1)
START = {"hidden": learn.init_linear(RNG, 5, 8), "output": learn.init_linear(RNG, 8, 3)}
DATA = re.compile(r'<script type="application/json" id="chainrule-data">(.*?)</script>', re.S)


def scores(params, x):
    return learn.linear(params["output"], np.tanh(learn.linear(params["hidden"], x)))


def loss(params, x, labels):
    return learn.cross_entropy(scores(params, x), labels)


def noisy(params, x, labels, key):
    return learn.cross_entropy(scores(params, learn.dropout(x, 0.3, key)), labels)


def run(progress, function=loss, **options):
    given = {"optimiser": learn.adam(0.02), "epochs": 3, "validation": (X[64:], Y[64:])}
    given["metrics"] = {"accuracy": lambda p, x, y: learn.accuracy(scores(p, x), y)}
    given["compile"] = False
    given.update(options)
    batches = given.pop("batches", learn.Batches(X[:64], Y[:64], size=16, seed=1))
    return learn.train(function, START, batches, progress=progress, **given)


@pytest.fixture
def always(monkeypatch):
    """Every step is looked at."""
    monkeypatch.setattr(live_module, "PAUSE", 0.0)
    monkeypatch.setattr(live_module, "LOOKING", 0)
    monkeypatch.setattr(live_module, "DRAWING", 0)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(live_module, "perf_counter", lambda: now[0])
    return now


# ---- the same run -------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("function", [loss, noisy])
def test_the_same_bits_with_and_without(always, function, compiled):
    options = {"function": function, "keys": function is noisy, "compile": compiled}
    live = Live()
    watched, alone = run(live, **options), run(False, **options)
    assert len(live.to_data()["looks"]) == 12
    assert same_bits(watched.parameters, alone.parameters)
    assert same_bits(watched.state, alone.state)
    assert watched.history == alone.history


def test_batches_and_parameters_can_be_written_to_afterwards(always):
    buffer = np.empty((16, 5))

    def batches():
        for k in range(4):
            buffer[:] = X[16 * k : 16 * k + 16]
            yield buffer, Y[16 * k : 16 * k + 16]

    run(Live(), batches=batches(), steps=4, epochs=1)
    assert buffer.flags.writeable


def test_a_step_may_write_into_the_parameters(always):
    live, parameters = Live(), {"W": np.ones((5, 3))}
    live.watch(lambda p, x: np.sum(np.tanh(x @ p["W"])), 1, None)
    live.before(parameters, (X,))
    parameters["W"] += 0.5
    live.step(96, 1.0, parameters)
    assert live.to_data()["layers"][0]["update"] == [0.5]


# ---- what it shows ------------------------------------------------------------------------------


def test_the_data_of_a_run(always):
    live = Live()
    assert live.to_data()["state"] == "waiting"
    trained = run(live)
    data = json.loads(json.dumps(live.to_data(), allow_nan=False))
    assert (data["name"], data["state"]) == ("loss", "finished")
    assert (data["epoch"], data["epochs"], data["step"], data["steps"]) == (3, 3, 12, 12)
    assert data["measured"]["at"] == [4, 8, 12]
    for column in ("loss", "validation", "accuracy"):
        assert data["measured"]["columns"][column] == trained.history[column].tolist()
    assert data["loss"]["at"] == data["looks"] == list(range(1, 13))
    steps = np.array(data["loss"]["mean"]).reshape(3, 4).mean(axis=1)
    np.testing.assert_allclose(steps, trained.history["loss"])
    assert [layer["name"] for layer in data["layers"]] == ["hidden", "output"]
    assert [layer["count"] for layer in data["layers"]] == [48, 27]
    assert [len(sign["history"]) for sign in data["signs"]] == [12, 12, 12]
    assert [a["op"] for a in data["activations"]] == ["tanh"]
    assert data["activations"][0]["place"].startswith("test_live.py:")
    assert live._embedded().page.count("\\u003csvg") == 1


def test_a_second_run_begins_anew(always):
    live = Live()
    run(live)
    run(live, epochs=1)
    assert live.to_data()["step"] == 4
    assert live.to_data()["measured"]["at"] == [4]


def test_only_curves():
    live = Live(looks=False)
    run(live)
    data = live.to_data()
    assert (data["looks"], data["signs"], data["layers"]) == ([], [], [])
    assert len(data["loss"]["at"]) == 12


def test_what_cannot_be_looked_at_is_trained(always, monkeypatch):
    def failing(*given):
        raise cr.DetachError("no")

    monkeypatch.setattr(live_module, "look", failing)
    live = Live()
    assert same_bits(run(live).parameters, run(False).parameters)
    assert live.to_data()["notes"] == ["it cannot be looked at: no"]


def test_many_looks_are_thinned(always, monkeypatch):
    monkeypatch.setattr(live_module, "MAX_LOOKS", 6)
    live = Live()
    run(live)
    assert live.to_data()["looks"] == [1, 5, 9, 12]


def test_a_resumed_run_shows_what_was(always, tmp_path):
    pytest.importorskip("safetensors")
    run(False, epochs=2, checkpoints=tmp_path)
    live = Live()
    run(live, epochs=3, checkpoints=tmp_path)
    data = live.to_data()
    assert data["measured"]["at"] == [4, 8, 12]
    assert data["loss"]["at"] == [9, 10, 11, 12]
    assert data["notes"][0].startswith("resumed after step 8")


def test_where_a_loss_that_is_not_finite_began(always):
    def risky(params, x):
        return np.mean(np.log(x @ params))

    rows = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 0.0], [2.0, 2.0]])
    live = Live()
    with np.errstate(all="ignore"), pytest.raises(cr.NonFiniteLoss):
        learn.train(
            risky,
            np.ones(2),
            learn.Batches(rows, size=2, shuffle=False),
            optimiser=learn.sgd(0.1),
            epochs=1,
            progress=live,
            compile=False,
        )
    data = live.to_data()
    assert data["state"] == "failed"
    assert data["notes"][0].startswith("the loss is -inf at step 2")
    assert "log gives -inf" in data["report"]
    json.dumps(data, allow_nan=False)


def test_a_run_that_is_interrupted(always):
    def stop(record, parameters):
        raise KeyboardInterrupt

    live = Live()
    assert run(live, callbacks=[stop]).interrupted
    assert live.to_data()["state"] == "interrupted"


# ---- about when it speaks -----------------------------------------------------------------------


@pytest.fixture
def never_again(monkeypatch):
    """A run that is over before the second look is due, as a compiled one may be."""
    monkeypatch.setattr(live_module, "PAUSE", 1e9)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_last_look_is_at_the_end(never_again, compiled):
    live = Live()
    run(live, epochs=25, compile=compiled)
    data = live.to_data()
    first, last = data["looks"]
    assert first == 1
    assert 95 <= last <= data["step"] == 100


def slope(p, x, y):
    return np.mean((x @ p["W"] - y) ** 2)


@pytest.mark.parametrize(
    ("rate", "verdict"), [(0.2, {"hardly moves", "nothing moves"}), (2.2, {"too large"})]
)
def test_a_short_run_is_judged_by_its_end(never_again, rate, verdict):
    """One settles and hardly moves any more; the other explodes from a small beginning."""
    rows = np.eye(2)
    start = {"W": np.array([3.0, 1.0]) if rate < 1 else np.array([0.9999, 2.0001])}
    target = np.array([1.0, 2.0])
    live, optimiser = Live(), learn.sgd(rate)
    options = {"optimiser": optimiser, "epochs": 200, "progress": live, "compile": True}
    learn.train(slope, start, [(rows, target)], **options)
    assert live.to_data()["signs"][0]["verdict"] in verdict


def test_what_is_older_than_the_run_says_its_step(never_again):
    live = Live()
    live.watch(slope, 1, None)
    batch = np.eye(2), np.ones(2)
    for _ in range(100):
        live.before({"W": np.ones(2)}, batch)
        live.step(2, 1.0, {"W": np.ones(2)})
    data = live.to_data()
    assert data["looks"] == [1]
    assert all(sign["where"].endswith(" at step 1") for sign in data["signs"])
    assert live._late[3] >= 95


# ---- how much time it takes ---------------------------------------------------------------------


def test_looking_and_drawing_take_a_twentieth_of_the_time(clock, monkeypatch):
    taken = {"look": 0, "draw": 0}

    def spend(what, seconds, result):
        def spent(*args, **options):
            taken[what] += 1
            clock[0] += seconds
            return result

        return spent

    seen = live_module.Look(1, (), (), ())
    picture = SimpleNamespace(graph=[], to_svg=spend("draw", 0.05, "<svg/>"))
    monkeypatch.setattr(live_module, "look", spend("look", 0.02, (seen, picture)))
    monkeypatch.setattr(live_module, "signs", lambda *given: [])
    monkeypatch.setattr(Live, "_health", lambda live: {})
    live = Live()
    live._cell = SimpleNamespace(send=lambda data, picture: None)
    live.watch(loss, 1, None)
    began = clock[0]
    for _ in range(100_000):
        live.before(START, ())
        clock[0] += 0.001
        live.step(32, 0.5, START)
    steps, all_of_it = 100.0, clock[0] - began
    assert 0.02 * taken["look"] <= all_of_it / 30 + 0.02
    assert 0.05 * taken["draw"] <= all_of_it / 100 + 0.05
    assert all_of_it <= 1.05 * steps
    assert taken["look"] > 150, "but it does look"
    assert taken["draw"] > 15


def test_a_notebook_hears_at_most_four_times_a_second(clock, monkeypatch):
    sent = []
    live = Live(looks=False)
    live.watch(loss, 1, None)
    live._cell = SimpleNamespace(send=lambda data, picture: sent.append((clock[0], data["step"])))
    for _ in range(10_000):
        live.before(START, ())
        clock[0] += 0.001
        live.step(32, 0.5, START)
    times = [at for at, _ in sent]
    assert 38 <= len(sent) <= 41
    assert min(np.diff(times)) >= 0.25 - 1e-9
    assert sent[-1][1] > 9_700


# ---- hosts --------------------------------------------------------------------------------------


def test_the_page(always, tmp_path):
    live = Live()
    run(live)
    path = live.save(tmp_path / "training.html")
    assert path == tmp_path / "training.html"
    page = path.read_text(encoding="utf-8")
    (held,) = DATA.findall(page)
    assert json.loads(held) == json.loads(
        json.dumps({"data": live.to_data(), "picture": live._picture})
    )
    assert "default-src 'none'; script-src 'sha256-" in page
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)
    assert 'sandbox="allow-scripts' in live._repr_html_()
    assert live._run is None, "what was recorded is dropped with the drawing"


def test_nothing_in_a_name_is_markup(always, tmp_path):
    name = "</script><script>alert(1)</script><!--"

    def hostile(params, x):
        return np.sum(np.tanh(x @ params[name]))

    hostile.__name__ = name
    live = Live()
    start, optimiser = {name: np.ones((5, 2))}, learn.sgd(0.01)
    learn.train(hostile, start, [(X,)], optimiser=optimiser, epochs=1, progress=live, compile=False)
    page = live.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    assert "&lt;/script&gt;" in page
    assert live.to_data()["layers"][0]["name"] == name


class Kernel:
    """A notebook with a widget that keeps what it was sent."""

    def __init__(self, monkeypatch):
        self.shown, self.updates, self.closed = [], [], 0
        display = SimpleNamespace(display=self.display)
        shell = SimpleNamespace(kernel=object())
        ipython = SimpleNamespace(get_ipython=lambda: shell, display=display)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, widget, display_id):
        assert display_id is True
        self.shown.append(widget)
        return SimpleNamespace(update=self.updates.append)


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    Kernel(monkeypatch)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(cr.UnsupportedError, match=r"pip install 'chainrule\[view\]'"):
        run(Live())


def test_a_cell_moves_and_then_holds_the_page(always, monkeypatch):
    kernel = Kernel(monkeypatch)
    states = []

    class Widget(SimpleNamespace):
        def hold_sync(self):
            return self

        def __enter__(self):
            return self

        def __exit__(self, *error):
            states.append(self.data["step"])

        def close(self):
            kernel.closed += 1

    monkeypatch.setattr(training_module, "widget", lambda data: Widget(data=data))
    live = Live()
    run(live)
    assert len(kernel.shown) == 1
    assert states == list(range(1, 13))
    (page,) = kernel.updates
    assert json.loads(DATA.findall(page.page)[0])["data"]["state"] == "finished"
    assert kernel.closed == 1


def test_the_widget(always):
    if not os.environ.get("CI"):
        pytest.importorskip("anywidget")
    live = Live()
    run(live)
    widget = training_module.widget(live.to_data())
    assert widget.data["step"] == 12
    assert widget._esm == training_module.script()
    state = widget.get_state()
    json.dumps(state["data"], allow_nan=False)
    widget.picture = "<svg/>"
    assert widget.get_state("picture") == {"picture": "<svg/>"}
    widget.close()

"""The training loop: what it computes, when it stops, and that one seed decides every bit."""

import signal
from collections import namedtuple
from functools import partial
from itertools import count

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.learn import Batches, accuracy, adam, cross_entropy, make_step, sgd, train

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 5))
Y = (X @ RNG.standard_normal((5, 3))).argmax(axis=1)
START = {"W": np.zeros((5, 3)), "b": np.zeros(3), "gain": 1.0}
train = partial(train, progress=False)


def scores(p, x):
    return p["gain"] * (x @ p["W"] + p["b"])


def loss(p, x, y):
    return cross_entropy(scores(p, x), y)


METRICS = {"accuracy": lambda p, x, y: accuracy(scores(p, x), y)}


def same_bits(a, b):
    left, right = cr.core.containers.flatten(a)[0], cr.core.containers.flatten(b)[0]
    return len(left) == len(right) and all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(left, right, strict=True)
    )


def run(**options):
    given = {"optimiser": adam(0.05), "epochs": 4, "validation": (X[60:], Y[60:])}
    given.update(metrics=METRICS, batches=Batches(X[:60], Y[:60], size=16, seed=3))
    given.update(options)
    return train(loss, START, given.pop("batches"), **given)


def test_it_is_the_loop_one_would_write():
    trained = run(validation=None, metrics=None)
    step = make_step(loss, adam(0.05))
    parameters = {name: np.array(value) for name, value in START.items()}
    state = adam(0.05).init(parameters)
    batches, means = Batches(X[:60], Y[:60], size=16, seed=3), []
    for epoch in range(4):
        total = 0.0
        for x, y in batches.epoch(epoch):
            parameters, state, value = step(parameters, state, x, y)
            total += float(value) * len(x)
        means.append(total / 60)
    assert same_bits(trained.parameters, parameters)
    assert same_bits(trained.state, state)
    assert trained.history["loss"].tolist() == means
    assert same_bits(trained.best, parameters)
    assert trained.best_epoch == 0


def test_it_learns_and_records():
    trained = run(epochs=30)
    assert trained.history.columns == ["epoch", "step", "loss", "validation", "accuracy"]
    assert trained.history["step"].tolist() == [4 * e for e in range(1, 31)]
    assert trained.history["accuracy"][-1] > 0.9
    last = trained.history.records[-1]
    assert last["accuracy"] == accuracy(scores(trained.parameters, X[60:]), Y[60:])
    assert last["validation"] == pytest.approx(float(loss(trained.parameters, X[60:], Y[60:])))
    assert (trained.stopped, trained.interrupted, trained.resumed) == ("epochs", False, None)


@pytest.mark.parametrize("compiled", [True, False])
def test_one_seed_decides_every_bit(compiled):
    first, second = run(compile=compiled), run(compile=compiled)
    assert same_bits(first.parameters, second.parameters)
    assert same_bits(first.state, second.state)
    assert first.history == second.history
    other = run(compile=compiled, batches=Batches(X[:60], Y[:60], size=16, seed=4))
    assert not same_bits(first.parameters, other.parameters)


def test_the_seed_orders_a_tuple_of_arrays():
    runs = [run(batches=(X[:60], Y[:60]), seed=seed) for seed in (1, 1, 2)]
    assert same_bits(runs[0].parameters, runs[1].parameters)
    assert not same_bits(runs[0].parameters, runs[2].parameters)


def test_what_is_passed_in_is_not_changed():
    start = {"W": np.ones((5, 3)), "b": np.zeros(3), "gain": np.array(1.0)}
    train(loss, start, Batches(X, Y, size=16), optimiser=sgd(0.1), epochs=3)
    assert start["W"].tolist() == np.ones((5, 3)).tolist()
    assert start["gain"] == 1.0


def test_parameters_may_be_any_container():
    Linear = namedtuple("Linear", "W b")
    trained = train(
        lambda p, x, y: cross_entropy(x @ p.W + p.b, y),
        Linear(np.zeros((5, 3)), [0, 0, 0] and np.zeros(3)),
        Batches(X, Y, size=30),
        optimiser=sgd(0.5),
        epochs=2,
    )
    assert isinstance(trained.parameters, Linear)
    assert trained.parameters.W.any()


@pytest.mark.parametrize(
    "validation",
    [
        (X[60:], Y[60:]),
        Batches(X[60:], Y[60:], size=7),
        [(X[60:70], Y[60:70]), (X[70:], Y[70:])],
    ],
    ids=["arrays", "batches", "list"],
)
def test_validation_is_weighed_by_rows(validation):
    trained = run(validation=validation)
    whole = run()
    assert trained.history["accuracy"].tolist() == pytest.approx(whole.history["accuracy"].tolist())
    assert trained.history["validation"] == pytest.approx(whole.history["validation"], rel=1e-12)


def test_keys_follow_from_the_seed_and_the_step(tmp_path):
    seen = []

    def noisy(p, x, y, key):
        if isinstance(key, np.ndarray):
            seen.append(tuple(key))
        return cross_entropy(scores(p, learn.dropout(x, 0.3, key)), y)

    def go(epochs, **options):
        return train(
            *(noisy, START, Batches(X[:60], Y[:60], size=16)),
            optimiser=adam(0.05),
            epochs=epochs,
            keys=True,
            compile=False,
            **{"validation": (X[60:], Y[60:]), **options},
        )

    whole = go(4)
    assert len(set(seen)) == 16
    go(2, checkpoints=tmp_path)
    resumed = go(4, checkpoints=tmp_path)
    assert same_bits(resumed.parameters, whole.parameters)
    assert seen[16:] == seen[:16]
    assert not same_bits(go(4, seed=1).parameters, whole.parameters)
    # No noise where it is measured.
    expected = float(noisy(whole.parameters, X[60:], Y[60:], None))
    assert whole.history["validation"][-1] == expected


def test_keys_in_a_compiled_step():
    def noisy(p, x, y, key):
        return cross_entropy(scores(p, learn.dropout(x, 0.3, key)), y)

    runs = [
        train(
            *(noisy, START, Batches(X[:60], Y[:60], size=16)),
            optimiser=adam(0.05),
            epochs=3,
            keys=True,
            compile=compiled,
        )
        for compiled in (True, False)
    ]
    assert np.allclose(runs[0].parameters["W"], runs[1].parameters["W"], rtol=1e-9)


# ---- stopping -----------------------------------------------------------------------------------


def test_early_stopping_keeps_the_best():
    seen = []
    trained = run(
        optimiser=sgd(lambda t: 0.05 * 1.12**t),  # better at first, then worse and worse
        epochs=50,
        patience=4,
        batches=Batches(X[:60], Y[:60], size=15),  # of one size: donated memory is used again
        callbacks=[lambda record, p: seen.append((record, {k: np.array(v) for k, v in p.items()}))],
    )
    losses = trained.history["validation"]
    best = int(np.argmin(losses))
    assert trained.stopped == "patience"
    assert best > 3
    assert len(losses) == best + 1 + 4 < 50
    assert trained.best_epoch == best + 1
    assert same_bits(trained.best, seen[best][1])
    assert same_bits(trained.parameters, seen[-1][1])
    assert not same_bits(trained.best, trained.parameters)


def test_a_validation_loss_that_is_nan_is_no_improvement():
    trained = run(validation=[(X[60:] * np.nan, Y[60:])], metrics=None, patience=2)
    assert trained.stopped == "patience"
    assert trained.best_epoch == 0
    assert np.isnan(trained.history["validation"]).all()
    assert same_bits(trained.best, trained.parameters)


def test_a_callback_ends_the_run():
    called = []
    trained = run(
        callbacks=[
            lambda record, p: record["epoch"] == 2,
            lambda record, p: called.append(record["epoch"]),
        ]
    )
    assert trained.stopped == "callback"
    assert len(trained.history) == 2
    assert called == [1, 2]


@pytest.fixture
def interruptible():
    """As at a terminal: a shell that starts the tests in the background turns Ctrl-C off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("with_checkpoints", [True, False])
def test_an_interrupt_returns_what_there_is(tmp_path, with_checkpoints, interruptible):
    def interrupted():
        for i, batch in enumerate(Batches(X[:60], Y[:60], size=16).epoch(0)):
            if i == 2:
                signal.raise_signal(signal.SIGINT)
            yield batch

    class Interrupting(list):
        passes = 0

        def __iter__(self):
            self.passes += 1
            return interrupted() if self.passes > 2 else super().__iter__()

    batches = Interrupting(Batches(X[:60], Y[:60], size=16).epoch(0))
    batches.passes = -1  # asked once whether it is an iterator
    folder = tmp_path / "run" if with_checkpoints else None
    trained = run(batches=batches, checkpoints=folder)
    assert trained.interrupted
    assert trained.stopped == "interrupted"
    whole = run(batches=list(Batches(X[:60], Y[:60], size=16).epoch(0)))
    assert trained.history.records == whole.history.records[: len(trained.history)]
    assert 0 < len(trained.history) < 4
    if with_checkpoints:
        again = run(batches=list(batches.copy()), checkpoints=folder)
        assert "2 batches of this epoch that were seen are passed over" in again.resumed
        assert same_bits(again.parameters, whole.parameters)
        assert again.history == whole.history


# ---- what is not finite -------------------------------------------------------------------------


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    x, position = X[:60].copy(), 3
    batches = Batches(x, Y[:60], size=16, seed=3)
    x[batches.rows(0, position)[5], 2] = np.nan
    with pytest.raises(cr.NonFiniteLoss) as caught, np.errstate(invalid="ignore"):
        run(batches=batches, checkpoints=tmp_path, every=1)
    error, text = caught.value, str(caught.value)
    assert f"the loss is nan at step {position + 1}, epoch 1: rows " in text
    assert ", ".join(map(str, batches.rows(0, position)[:8])) in text
    assert "(12 in all)" in text
    assert "cr.find_nonfinite(loss, error.parameters, *error.batch)" in text
    kept = [int(path.stem[5:]) for path in learn.checkpoints(tmp_path)]
    assert kept == list(range(1, position + 1))[-3:]
    assert f"the last good checkpoint: {learn.checkpoints(tmp_path)[-1]}" in text
    # The parameters are those before the step, although their memory is donated to it.
    last = learn.load_checkpoint(tmp_path, like=None).tree["parameters"]
    assert same_bits(error.parameters, last)
    assert all(np.isfinite(leaf).all() for leaf in error.parameters.values())
    with np.errstate(invalid="ignore"):
        report = cr.find_nonfinite(loss, error.parameters, *error.batch)
    assert report
    assert "[5, 2] = NaN" in str(report)


def test_a_gradient_that_is_not_finite_is_not_saved(tmp_path):
    def sharp(p, x):
        return np.mean(np.sqrt(p * x))  # the slope at 0 is not finite

    batches = [(np.array([1.0, 2.0]),)]
    with (
        pytest.raises(cr.NonFiniteLoss, match="a gradient is not") as caught,
        np.errstate(all="ignore"),
    ):
        train(sharp, 0.0, batches, optimiser=sgd(0.1), epochs=2, checkpoints=tmp_path)
    assert "compile=False under cr.debug()" in str(caught.value)
    assert learn.checkpoints(tmp_path) == []


# ---- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"patience": 0}, "patience must be"),
        ({"every": 1.5}, "every must be"),
        ({"validation": None}, "look at the validation data"),
        ({"validation": None, "metrics": None, "patience": 2}, "look at the validation data"),
        ({"metrics": {"loss": loss}}, "a metric cannot be called loss"),
        ({"validation": iter([])}, "not an iterator"),
        ({"batches": []}, "there is no batch in epoch 1"),
        ({"batches": ((X, Y) for _ in count())}, "an iterator has no epochs"),
    ],
)
def test_bad_arguments_are_named(options, text):
    with pytest.raises(cr.ArgumentError, match=text):
        run(**options)


def test_an_iterator_that_ends():
    with pytest.raises(cr.ArgumentError, match="there is no batch in epoch 3"):
        run(batches=iter([(X, Y)] * 4), steps=2, validation=None, metrics=None)


def test_parameters_must_be_numbers():
    with pytest.raises(cr.DTypeError, match="parameters must be numbers"):
        train(loss, {"W": "x"}, Batches(X, Y, size=3), optimiser=sgd(0.1), epochs=1)


def test_a_plain_line_per_epoch(capsys):
    run(progress=True)
    written = capsys.readouterr()
    assert written.out == ""
    assert len(written.err.splitlines()) == 4
    assert written.err.splitlines()[3].startswith("epoch 4/4   loss 0.")

"""A compiled step updates the parameters in place, and is recorded once per shape of a batch."""

import importlib.util

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn


def loss(parameters, x, labels):
    return learn.cross_entropy(learn.linear(parameters, x), labels)


def data(count=12):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 5)), rng.integers(0, 3, count)


def start():
    return learn.init_linear(np.random.default_rng(1), 5, 3)


def noisy(parameters, x, labels, key):
    return loss(parameters, learn.dropout(x, 0.5, key), labels)


@pytest.mark.parametrize(("loss", "more"), [(loss, ()), (noisy, (cr.key(0),))])
def test_memory_of_parameters_and_state_alternates(loss, more):
    optimiser = learn.adam(0.01)
    step = learn.make_step(loss, optimiser)
    parameters, batch = start(), (*data(), *more)
    state = optimiser.init(parameters)
    seen = []
    for _ in range(12):
        parameters, state, _ = step(parameters, state, *batch)
        arrays = parameters["weights"], state["mean"]["weights"], state["square"]["bias"]
        seen.append([a.ctypes.data for a in arrays])
    assert seen[4:] == seen[2:-2]
    assert len({tuple(s) for s in seen[2:]}) == 2


def test_changing_rate_is_recorded_once_and_a_smaller_batch_once_more():
    optimiser = learn.momentum(learn.cosine(0.1, 40, warmup=5))
    step = learn.make_step(loss, optimiser)
    slow = learn.make_step(loss, optimiser, compile=False)
    one = two = start()
    one = {k: v.copy() for k, v in one.items()}
    first, second = optimiser.init(one), optimiser.init(two)
    x, labels = data()
    for _ in range(4):
        for at in (slice(0, 5), slice(5, 10), slice(10, 12)):
            one, first, value = step(one, first, x[at], labels[at])
            two, second, same = slow(two, second, x[at], labels[at])
            assert value == pytest.approx(same, rel=1e-12)
    assert step.recordings == 2
    assert step.report().count("branch") == 2
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-12)


def test_interpreted_step_changes_no_array():
    optimiser = learn.sgd(0.1)
    step = learn.make_step(loss, optimiser, compile=False)
    parameters = start()
    kept = parameters["weights"].copy()
    following, state = parameters, optimiser.init(parameters)
    for _ in range(3):
        following, state, _ = step(following, state, *data())
    np.testing.assert_array_equal(parameters["weights"], kept)
    assert not np.array_equal(following["weights"], kept)


def test_without_llvmlite_it_is_interpreted(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "chainrule.learn.step.find_spec", lambda n: None if n == "llvmlite" else found(n)
    )
    assert not hasattr(learn.make_step(loss, learn.sgd(0.1)), "report")
    assert hasattr(cr.compile(loss), "report")


def test_read_only_parameters_are_not_written_to():
    parameters = start()
    kept = parameters["weights"].copy()
    parameters["weights"].flags.writeable = False
    original = parameters["weights"]
    optimiser = learn.sgd(0.1)
    step, state = learn.make_step(loss, optimiser), optimiser.init(parameters)
    for _ in range(5):
        parameters, state, _ = step(parameters, state, *data())
    np.testing.assert_array_equal(original, kept)


def test_running_statistics_are_an_auxiliary_result():
    parameters, statistics = learn.init_batch_norm(5)
    last = start()

    def normed(both, x, labels, statistics):
        y, statistics = learn.batch_norm(both["norm"], x, statistics)
        return loss(both["last"], y, labels), statistics

    both = {"norm": parameters, "last": last}
    optimiser = learn.adam(0.01)
    step, state = learn.make_step(normed, optimiser, has_aux=True), optimiser.init(both)
    x, labels = data()
    for _ in range(150):
        both, state, (value, statistics) = step(both, state, x, labels, statistics)
    assert value < 0.9
    np.testing.assert_allclose(statistics["mean"], x.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(statistics["variance"], x.var(axis=0, ddof=1), rtol=1e-6)


def test_new_keys_give_new_numbers_without_recording():
    def noisy(parameters, x, labels, key):
        return loss(parameters, learn.dropout(x, 0.5, key), labels)

    optimiser = learn.sgd(0.0)
    parameters = start()
    step, state = learn.make_step(noisy, optimiser), optimiser.init(parameters)
    values = []
    for key in cr.split_key(cr.key(0), 6):
        expected = noisy(parameters, *data(), key)
        parameters, state, value = step(parameters, state, *data(), key)
        assert value == pytest.approx(expected, rel=1e-12)
        values.append(value)
    assert len(set(values)) == 6
    assert step.recordings == 1


def test_compiled_step_refuses_labels_out_of_range():
    optimiser = learn.sgd(0.1)
    parameters, (x, labels) = start(), data()
    step, state = learn.make_step(loss, optimiser), optimiser.init(parameters)
    parameters, state, _ = step(parameters, state, x, labels)
    for wrong in (labels + 1, labels - 1):
        with pytest.raises(cr.OutOfRangeError, match=r"cross_entropy of \(12, 3\).*0…2"):
            step(parameters, state, x, wrong)
    step(parameters, state, x, labels)


def test_an_optimiser_is_needed():
    with pytest.raises(cr.ArgumentError, match=r"learn\.adam"):
        learn.make_step(loss, 0.1)

"""`learn.train` on engines: one run with the same bits, wherever it computes and resumes."""

import os
import random
import signal

import numpy as np
import pytest

from chainrule import learn, scale
from chainrule.errors import ArgumentError
from tests.scale import losses
from tests.scale.losses import X, Y, trained

CALLS = 7 * 3  # steps of a whole run


def end(found):
    return losses.bits((found.parameters, found.state, found.best))


@pytest.fixture(scope="module")
def whole():
    """The end of a run that was never stopped."""
    with scale.serial() as engine:
        return end(trained(engine, epochs=3))


def test_training_in_shards_is_training():
    with scale.serial() as engine:
        found = trained(engine, compile=False)
    alone = trained(None, compile=False)
    for a, b in zip(found.parameters["W"], alone.parameters["W"], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(found.history["loss"], alone.history["loss"], rtol=1e-12)


def test_a_run_goes_on_with_another_engine(tmp_path, processes, whole):
    pytest.importorskip("safetensors")
    with scale.serial() as engine:
        trained(engine, epochs=1, checkpoints=tmp_path)
    found = trained(processes, epochs=3, checkpoints=tmp_path)
    assert found.resumed
    assert end(found) == whole


def test_a_run_in_shards_does_not_go_on_without(tmp_path):
    pytest.importorskip("safetensors")
    with scale.serial() as engine:
        trained(engine, epochs=1, checkpoints=tmp_path)
    with pytest.raises(ArgumentError, match="scale was in shards, is nothing"):
        trained(None, epochs=2, checkpoints=tmp_path)
    assert trained(None, epochs=2, checkpoints=tmp_path, accept="scale", compile=False).resumed


def test_an_error_says_where_the_run_goes_on(tmp_path):
    pytest.importorskip("safetensors")

    def fails(p, x, y):
        if len(seen) > 200:
            raise ValueError("enough")
        seen.append(1)
        return losses.loss(p, x, y)

    seen = []
    with scale.serial() as engine, pytest.raises(scale.ScaleError, match="enough") as caught:
        trained(engine, loss=fails, checkpoints=tmp_path, every=1, compile=False)
    (note,) = caught.value.__notes__
    newest = learn.checkpoints(tmp_path)[-1]
    assert note == f"Run it again to resume from {newest}"


def test_callbacks_end_a_run(processes):
    found = trained(processes, callbacks=[lambda record, p: True], compile=False)
    assert found.stopped == "callback"


def test_an_optimiser_that_holds_state(processes):
    steps = {"size": 32, "seed": 1}
    ends = [
        learn.train(
            losses.wide,
            np.ones((5, 2)),
            learn.Batches(X, Y, **steps),
            optimiser=learn.accumulated(learn.momentum(0.1), every=2),
            epochs=1,
            progress=False,
            compile=False,
            scale=engine,
        ).parameters
        for engine in (scale.serial(), processes)
    ]
    assert losses.bits(ends[0]) == losses.bits(ends[1])


# ---- on MPI --------------------------------------------------------------------------------------


def test_a_run_goes_on_with_another_number_of_ranks(tmp_path, ranks, whole):
    pytest.importorskip("safetensors")
    with scale.serial() as engine:
        trained(engine, epochs=1, checkpoints=tmp_path)
    said, _ = ranks(3, "training", tmp_path, "")
    assert {rank: found for rank, (found, _) in said.items()} == {0: whole, 1: whole, 2: whole}
    assert all(resumed for _, resumed in said.values())


def killed_and_resumed(ranks, folder, kills, rng):
    """Kill a rank so many times, starting again each time with another number of ranks."""
    for kill in range(kills):
        count = 2 + kill % 3
        rank, step = rng.randrange(count), rng.randint(1, max(1, CALLS // (kills + 1)))
        said, done = ranks(count, "training", folder, f"{rank}:{step}", status=None)
        assert not said
        assert done.returncode != 0
        assert str(int(signal.SIGKILL)) in done.stdout + done.stderr
    return ranks(2, "training", folder, "")[0]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_ranks_killed_and_resumed(tmp_path, ranks, whole):
    pytest.importorskip("safetensors")
    said = killed_and_resumed(ranks, tmp_path, 2, random.Random(0))
    assert [found for found, _ in said.values()] == [whole] * 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_ranks_killed_ten_times_and_resumed(tmp_path, ranks, whole):
    pytest.importorskip("safetensors")
    said = killed_and_resumed(ranks, tmp_path, 10, random.Random(1))
    assert [found for found, _ in said.values()] == [whole] * 2
    assert os.listdir(tmp_path)

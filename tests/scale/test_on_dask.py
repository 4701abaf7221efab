"""Dask workers, as processes: the same bits, also where workers die and join in a pass."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from chainrule import scale
from chainrule.errors import ArgumentError
from tests.scale import losses
from tests.scale.conftest import needs
from tests.scale.losses import PARAMS, X, Y, loss

SECONDS = 0.02  # that a shard takes where workers are to be killed in the middle of a pass


@pytest.fixture
def engine(client):
    with scale.dask(client) as engine:
        yield engine


def slow_load(shard):
    time.sleep(SECONDS)
    return losses.load(shard % 7)


def test_the_same_bits_of_passes(engine, serial):
    names = (
        "mean",
        "two shards",
        "few rows",
        "aux",
        "loader",
        "wide",
        "float32",
        "jacobian",
        "map",
    )
    assert losses.passes(engine, *names) == {name: serial[name] for name in names}


def test_the_same_bits_of_training(engine, serial):
    assert losses.bits(losses.trained(engine, epochs=1).parameters) == serial["trained"]


def test_the_same_bits_from_the_address_of_a_scheduler(cluster, serial):
    with scale.dask(cluster.scheduler_address) as engine:
        assert repr(engine) == "<dask, 2 workers>"
        assert losses.mean(engine) == serial["mean"]
    assert engine.client.status == "closed"


def test_a_client_of_the_users_is_left_open(client):
    scale.dask(client).close()
    assert client.status == "running"


def test_dask_arrays_are_computed_by_the_cluster(engine, client, serial):
    array = needs("dask.array")
    x, y = array.from_array(X, chunks=(50, 2)), array.from_array(Y, chunks=70)
    vg = scale.value_and_grad(loss, engine=engine, shards=13, compile=False)
    assert losses.bits(vg(PARAMS, x, y)) == serial["mean, interpreted"]
    assert losses.bits(vg(PARAMS, client.persist(x), Y)) == serial["mean, interpreted"]


def test_threads_of_one_worker_do_not_get_into_each_others_way(serial):
    distributed = needs("distributed")
    options = {"n_workers": 1, "threads_per_worker": 4, "dashboard_address": ":0"}
    with (
        distributed.Client(processes=False, **options) as client,
        scale.dask(client) as engine,
    ):
        for name in ("mean", "mean, interpreted", "mean"):
            assert losses.passes(engine, name) == {name: serial[name]}


def test_errors_come_with_shard_and_line(engine):
    vg = scale.value_and_grad(losses.raises_on_large, engine=engine, shards=203, compile=False)
    says = r"shard 170 of 203.*on worker (.|\n)*KeyError(.|\n)*losses.py:\d+ in raises_on"
    with pytest.raises(scale.ScaleError, match=says):
        vg(PARAMS, X, Y)
    vg = scale.value_and_grad(loss, engine=engine, compile=False)
    with pytest.raises(scale.ScaleError, match="shard 17 of 20, on worker"):
        vg(PARAMS, scale.Shards(losses.load_but_17, 20))
    with pytest.raises(scale.ScaleError, match=r"shard 5.*float64\(4,\)"):
        vg(PARAMS, scale.Shards(losses.load_other_columns, 20))
    with pytest.raises(scale.ScaleError, match=r"item 3, on worker .* ValueError: three"):
        scale.map(losses.fails_on_three, range(9), engine=engine)
    assert vg(PARAMS, X, Y)


def test_a_report_names_the_workers(engine):
    vg = scale.value_and_grad(loss, engine=engine, shards=13, compile=False)
    vg(PARAMS, X, Y)
    report = vg.report()
    assert sum(worker.shards for worker in report.workers) == 13
    assert report.bytes > X.nbytes
    assert all(worker.worker.startswith("worker ") for worker in report.workers)


@pytest.mark.parametrize("client", [3, "nowhere at all"])
def test_what_is_no_cluster(client):
    needs("distributed")
    with pytest.raises((ArgumentError, OSError, ValueError)):
        scale.dask(client)


# ---- workers die and join ------------------------------------------------------------------------


def passes_with_kills(engine, cluster, kills, rng):
    """Passes, in each of which a worker is killed after a random time: their bits."""
    vg = scale.value_and_grad(loss, engine=engine, compile=False)
    shards, found = scale.Shards(slow_load, 28), []
    for _ in range(kills):
        # A worker that was killed is started again by the process that watches over it.
        engine.client.wait_for_workers(len(cluster.workers))
        pids = [*engine.client.run(os.getpid).values()]
        timer = threading.Timer(
            rng.uniform(0, 28 * SECONDS / len(pids)), os.kill, (rng.choice(pids), signal.SIGKILL)
        )
        timer.start()
        found.append(losses.bits(vg(PARAMS, shards)))
        timer.join()
    return found


def unkilled():
    vg = scale.value_and_grad(loss, compile=False)
    return losses.bits(vg(PARAMS, scale.Shards(lambda shard: losses.load(shard % 7), 28)))


def test_workers_killed_in_the_middle_of_a_pass_change_no_bit(engine, cluster):
    found = passes_with_kills(engine, cluster, 2, random.Random(0))
    assert found == [unkilled()] * 2


@pytest.mark.slow
def test_twenty_kills_change_no_bit(engine, cluster):
    found = passes_with_kills(engine, cluster, 20, random.Random(1))
    assert found == [unkilled()] * 20


def come(engine, cluster, count):
    """Wait for so many workers; one that died while others were asked for is asked for again."""
    for _ in range(4):
        try:
            engine.client.wait_for_workers(count, timeout=60)
            break
        except TimeoutError:
            cluster.scale(count)
    assert engine.workers == count


def test_workers_may_join_and_leave(engine, cluster):
    vg = scale.value_and_grad(loss, engine=engine, compile=False)
    shards = scale.Shards(slow_load, 28)
    timer = threading.Timer(5 * SECONDS, cluster.scale, (3,))
    timer.start()
    assert losses.bits(vg(PARAMS, shards)) == unkilled()
    timer.join()
    come(engine, cluster, 3)
    cluster.scale(2)
    assert losses.bits(vg(PARAMS, shards)) == unkilled()


@pytest.mark.slow
def test_rows_that_the_cluster_holds_are_sent_again_where_they_are_lost(engine, cluster, serial):
    vg = scale.value_and_grad(loss, engine=engine, shards=13)
    assert losses.bits(vg(PARAMS, X, Y)) == serial["mean"]
    pids = [*engine.client.run(os.getpid).values()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert losses.bits(vg(PARAMS, X.copy(), Y)) == serial["mean"]
    assert np.isfinite(vg.report().seconds)

"""What engines, shards and the passes over them say."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np

from chainrule import learn, scale
from chainrule.learn.step import Alone
from chainrule.scale.on_dask import Cluster
from chainrule.scale.on_mpi import Ranks
from tests.laws.error_cures.entry import entry

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
P = np.ones(3)
VALUE = np.mean((X @ P - 1) ** 2)  # of `squares`


def squares(p, x):
    return np.mean((x @ p - 1) ** 2)


def value(*rows, f=squares, p=P, **options):
    return scale.value_and_grad(f, **{"compile": False, **options})(p, *rows)[0]


def raised(program, *args):
    """An engine that is closed whatever comes."""
    with scale.serial() as engine:
        return program(engine, *args)


# ---- rows ----------------------------------------------------------------------------------------

SOURCE, COLUMN = "scale/shards.py:source_of", "scale/shards.py:_column"
THREE = scale.Shards(lambda i: X[8 * i : 8 * i + 8], 3)
entry(
    SOURCE, "leave out shards=", lambda: value(THREE, shards=4), lambda: value(THREE), right=VALUE
)
entry(SOURCE, "pass arrays, or scale.Shards(load, count)", value, lambda: value(X),
      lambda: value(THREE), right=VALUE)  # fmt: skip
entry(SOURCE, "or fewer, or more rows", lambda: value(X[:1], shards=2),
      lambda: value(X[:1], shards=1),
      lambda: value(np.repeat(X[:1], 2, axis=0), shards=2),
      right=np.mean((X[:1] @ P - 1) ** 2))  # fmt: skip


def pair(p, x, y):
    return squares(p, x) + 0.0 * np.mean(y)


entry(COLUMN, "let load(i) return a tuple of them", lambda: value(X, THREE, f=pair),
      lambda: value(scale.Shards(lambda i: (X[8 * i : 8 * i + 8],) * 2, 3), f=pair),
      right=VALUE)  # fmt: skip


def towards(p, x, goal=0.0):
    return np.mean((x @ p - goal) ** 2)


entry(COLUMN, "or bind it by functools.partial", lambda: value(X, 1.0, f=towards),
      lambda: value(X, f=partial(towards, goal=1.0)),
      lambda: value(X, f=lambda p, x: towards(p[0], x, p[1]), p=(P, 1.0)), right=VALUE)  # fmt: skip


def chosen(sized):
    from dask import array

    rows = array.from_array(X, chunks=8)
    rows = rows[rows[:, 0] > -100]
    return value(rows.compute_chunk_sizes() if sized else rows)


entry("scale/shards.py:_blocks", "call x.compute_chunk_sizes() first",
      lambda: chosen(False), lambda: chosen(True), right=VALUE)  # fmt: skip


class Frame:
    """As much of a dask.dataframe, which needs pyarrow, as is asked for."""

    def to_dask_array(self, lengths):
        from dask import array

        return array.from_array(X, chunks=8)


Frame.__module__ = "dask.dataframe"
entry("scale/shards.py:_blocks", "pass x.to_dask_array(lengths=True)",
      lambda: value(Frame()),
      lambda: value(Frame().to_dask_array(lengths=True)), right=VALUE)  # fmt: skip
entry("scale/work.py:_check_rows", "make fewer shards, so that each has some",
      lambda: value(scale.Shards(lambda i: X[12 * i : 12 * i + 12], 3)),
      lambda: value(scale.Shards(lambda i: X[12 * i : 12 * i + 12], 2)), right=VALUE)  # fmt: skip

# ---- functions -----------------------------------------------------------------------------------

entry("scale/gradient.py:_work", ": choose one of", lambda: value(X, how="median"),
      lambda: value(X, how="mean"), right=VALUE)  # fmt: skip
entry("scale/gradient.py:_work", "choose one of float64, float32", lambda: value(X, dtype="int8"),
      lambda: value(X, dtype="float64"), lambda: np.float64(value(X, dtype="float64")),
      right=VALUE)  # fmt: skip
entry("scale/gradient.py:Sharded.__init__", "pass scale.serial(), scale.processes(4), scale.mpi()",
      lambda: value(X, engine="serial"), lambda: value(X, engine=scale.serial()),
      right=VALUE)  # fmt: skip


def beside(p, x, summed=False):
    return squares(p, x), np.sum(x @ p) if summed else x @ p


entry("scale/work.py:Evaluator._vector", "return sums over rows",
      lambda: value(X, f=beside, has_aux=True, shards=5),
      lambda: value(X, f=partial(beside, summed=True), has_aux=True, shards=5)[0],
      right=VALUE)  # fmt: skip
entry("scale/work.py:_check_result", "where the shard has",
      lambda: scale.jacobian(squares, compile=False)(P, X),
      lambda: scale.jacobian(lambda p, x: x @ p, compile=False)(P, X), right=X)  # fmt: skip


def many_branches(p, x):
    total = squares(p, x)
    for k in range(20):
        if x[0, 0] > k:
            total = total + 0.0
    return total


def with_branches(compile=True, f=many_branches):
    rows = np.repeat(np.arange(24.0), 3).reshape(24, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return value(rows, f=f, shards=24, compile=compile)


entry("scale/engine.py:check_compiled", "Pass compile=False, or mend what", with_branches,
      lambda: with_branches(compile=False), lambda: with_branches(f=squares),
      right=np.mean((3 * np.arange(24.0) - 1) ** 2))  # fmt: skip

# ---- engines -------------------------------------------------------------------------------------


def closed():
    engine = scale.serial()
    engine.close()
    return value(X, engine=engine)


def inside(engine, other=None):
    return scale.map(lambda x: value(X, engine=other or engine), [0], engine=engine)[0]


ALONE = "scale/engine.py:Engine._alone"
entry(ALONE, "engine is closed: make another", closed, lambda: value(X, engine=scale.serial()),
      right=VALUE)  # fmt: skip
entry(ALONE, "and in other threads, use scale.serial()", lambda: raised(inside),
      lambda: raised(inside, scale.serial()), right=VALUE)  # fmt: skip


def dies(p, x):
    os._exit(7)


def on_process(f):
    with scale.processes(1) as engine:
        return value(X, f=f, engine=engine)


def again():
    with scale.processes(1) as engine:
        try:
            value(X, f=dies, engine=engine)
        except scale.ScaleError:
            return value(X, engine=engine)


entry("scale/on_processes.py:Processes._called", "in its next pass: call it again",
      lambda: on_process(dies), again, right=VALUE)  # fmt: skip
LOCK = threading.Lock()


def with_lock(lock):
    return lambda p, x: squares(p, x) if lock else 0.0


def without_lock(p, x):
    return squares(p, x) if threading.Lock() else 0.0


entry("scale/carry.py:packed", "make locks, open files and connections inside of them",
      lambda: on_process(with_lock(LOCK)), lambda: on_process(without_lock),
      right=VALUE)  # fmt: skip


def without(program, package):
    def fails(patch):
        patch.setitem(sys.modules, package, None)
        return program()

    return fails


def one_rank(communicator=None):
    with scale.mpi(communicator) as engine:
        return value(X, engine=engine)


entry("scale/on_mpi.py:Ranks.__init__", "pip install 'chainrule[mpi]' brings both",
      without(one_rank, "mpi4py"), one_rank, right=VALUE)  # fmt: skip


def world():
    from mpi4py import MPI

    return MPI.COMM_WORLD


entry("scale/on_mpi.py:Ranks.__init__", "pass a communicator of mpi4py, or nothing",
      lambda: one_rank("world"), one_rank, lambda: one_rank(world()), right=VALUE)  # fmt: skip
entry("scale/on_mpi.py:Ranks._raise_different", "Pass the same on every rank",
      lambda: Ranks.__new__(Ranks)._raise_different(np.array([4, 4, 7]), "rows"),
      lambda: value(THREE, engine=scale.mpi()), right=VALUE)  # fmt: skip


def interrupted(*, again=False):
    """An engine in the middle of its messages; made again, it is as any."""
    with scale.mpi() as engine:
        engine._in_step = again
        return value(X, engine=engine)


entry("scale/on_mpi.py:<module>", "end the job, and start it again", interrupted,
      partial(interrupted, again=True), right=VALUE)  # fmt: skip


def on_dask(*args):
    """On a cluster of one thread, in this process."""
    from distributed import Client

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        Client(processes=False, **options) as client,
        scale.dask(*args or (client,)) as engine,
    ):
        return value(X, engine=engine)


entry("scale/on_dask.py:Cluster.__init__", "pip install 'chainrule[dask]'",
      without(lambda: scale.dask("tcp://127.0.0.1:1"), "distributed"), on_dask,
      right=VALUE)  # fmt: skip
entry("scale/on_dask.py:Cluster.__init__", "pass a distributed.Client, or the address",
      lambda: scale.dask(3), on_dask, right=VALUE)  # fmt: skip


def killed():
    from distributed import KilledWorker

    def gather(futures):
        raise KilledWorker("share-1", SimpleNamespace(address="tcp://10.0.0.2:1"), 3)

    cluster = Cluster.__new__(Cluster)
    cluster.client = SimpleNamespace(gather=gather)
    cluster._result([])


entry("scale/on_dask.py:Cluster._result", "make more shards, or give the workers more", killed,
      lambda: value(X, shards=24), right=VALUE)  # fmt: skip

# ---- training ------------------------------------------------------------------------------------


class Elsewhere(Alone):
    """Where the first process has resumed after step 5."""

    def agreed(self, value):
        return 5 if type(value) is int else value


def trained(at, engine, f=squares, **options):
    return learn.train(
        f,
        P,
        (X,),
        optimiser=learn.sgd(0.0),
        epochs=1,
        progress=False,
        checkpoints=at,
        compile=False,
        scale=engine,
        **options,
    ).parameters


entry("learn/training.py:train", "pass an engine, as chainrule.scale.processes(4)",
      lambda at: trained(at, "mpi"), lambda at: trained(at, scale.serial()),
      lambda at: trained(at, None), right=P)  # fmt: skip
entry("learn/training.py:_Run._check_together", "name a folder of checkpoints that all processes",
      lambda at: trained(at, Elsewhere()), lambda at: trained(at, scale.serial()),
      right=P)  # fmt: skip


def broken_off_and_run_again(at):
    train = partial(trained, at, scale.serial(), every=1)
    try:
        train(callbacks=[lambda record, p: 1 / 0])
    except ZeroDivisionError:
        return train()


def noted(at):
    train = partial(trained, at, scale.serial(), every=1)
    try:
        train(callbacks=[lambda record, p: 1 / 0])
    except ZeroDivisionError as error:
        return " ".join(error.__notes__)


entry("learn/training.py:_Run.to_the_end", "Run it again to resume from",
      noted, broken_off_and_run_again, right=P)  # fmt: skip

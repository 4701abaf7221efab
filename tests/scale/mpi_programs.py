"""Programs that the tests start by mpiexec: `python mpi_programs.py NAME …` on each rank."""

import json
import os
import signal
import sys
import time

import numpy as np

from chainrule import scale
from chainrule.scale import leaving
from tests.scale import losses
from tests.scale.losses import PARAMS, X, Y, loss


def say(engine, said):
    # One write, so that the lines of ranks do not run into each other.
    line = json.dumps({"rank": engine.rank, "said": said})
    os.write(1, f"said {line}\n".encode())


def everything(engine):
    say(engine, losses.computed(engine))


def one_thing(engine):
    say(engine, {"mean": losses.mean(engine)})


def message(run):
    try:
        run()
    except (scale.ScaleError, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def interrupted(p, x, y):
    if x[0, 0] == X[0, 0]:
        raise KeyboardInterrupt
    return loss(p, x, y)


def bad_input(engine):
    """Each kind of bad input, on one rank or on all; the ranks go on together after each."""
    odd = engine.rank == engine.size - 1
    vg = scale.value_and_grad(loss, engine=engine, compile=False)
    of_rows = scale.value_and_grad(loss, engine=engine, shards=20, compile=False)
    other = {**PARAMS, "W": PARAMS["W"] + odd}
    fails = scale.value_and_grad(losses.raises_on_large, engine=engine, shards=203, compile=False)
    stops = scale.value_and_grad(interrupted, engine=engine, shards=20, compile=False)
    per_row = scale.value_and_grad(
        losses.aux_of_rows, engine=engine, shards=20, has_aux=True, compile=False
    )
    said = {
        "parameters": message(lambda: vg(other, X, Y)),
        "rows": message(lambda: vg(PARAMS, X + odd, Y)),
        "fewer rows": message(lambda: vg(PARAMS, X[odd:], Y[odd:])),
        "too few on one": message(lambda: of_rows(PARAMS, X[: 20 - odd], Y[: 20 - odd])),
        "too few": message(lambda: of_rows(PARAMS, X[:19], Y[:19])),
        "loader": message(lambda: vg(PARAMS, scale.Shards(losses.load_but_17, 20))),
        "columns": message(lambda: vg(PARAMS, scale.Shards(losses.load_other_columns, 20))),
        "raises": message(lambda: fails(PARAMS, X, Y)),
        "interrupted": message(lambda: stops(PARAMS, X, Y)),
        "aux": message(lambda: per_row(PARAMS, X[:33], Y[:33])),
        "map": message(lambda: scale.map(losses.fails_on_three, range(9), engine=engine)),
        "shards": message(lambda: vg(PARAMS, scale.Shards(losses.load, 7 - odd))),
        "other calls": message(
            lambda: vg(PARAMS, X, Y) if odd else scale.map(losses.square, [1.0], engine=engine)
        ),
    }
    say(engine, {**said, "after": losses.mean(engine)})


def report(engine):
    vg = scale.value_and_grad(loss, engine=engine, shards=13, compile=False)
    for _ in range(2):
        vg(PARAMS, X, Y)
    found = vg.report()
    say(engine, {"text": str(found), "shards": [w.shards for w in found.workers]})


def raises_alone(engine):
    """An error between passes, on one rank: nobody else is told by a pass."""
    vg = scale.value_and_grad(loss, engine=engine, shards=13, compile=False)
    vg(PARAMS, X, Y)
    if engine.rank == 1:
        raise RuntimeError("this rank alone")
    while True:
        vg(PARAMS, X, Y)


def leaves(engine, how):
    """One rank leaves in the middle: by the end of its program, an exit, closing, or an error."""
    mine = scale.mpi()  # beside the engine of a `with`, and never closed
    vg = scale.value_and_grad(loss, engine=mine, shards=13, compile=False)
    vg(PARAMS, X, Y)
    if engine.rank == 1:
        if how == "exits":
            sys.exit(3)
        if how == "raises SystemExit":
            raise SystemExit("no such file")
        if how == "closes":
            mine.close()
            mine.close()
        return
    if how == "exits while others wait":
        time.sleep(600)
    while True:
        mine.agreed(1) if how == "returns before a question" else vg(PARAMS, X, Y)


def ends(engine, how):
    """All ranks end, one of them much later and without another pass."""
    mine = scale.mpi()
    say(engine, losses.mean(mine))
    if engine.rank == 0:
        time.sleep(2 * leaving.GRACE if how == "returns" else 0)
        os.write(1, b"the last word\n")
    if how == "exits":
        sys.exit(3)
    if how == "exits with 0":
        sys.exit(0)


def exits_alone(engine):
    """Nobody comes to a pass any more, and the others wait for something else."""
    losses.mean(engine)
    if engine.rank == 1:
        sys.exit(3)
    engine.comm.recv(source=1)


def told(engine):
    """A rank fails alone; all of them catch it, and go on with another engine."""
    said = ""
    try:
        with scale.mpi() as first:
            losses.mean(first)
            if engine.rank == 1:
                raise RuntimeError("this rank alone")
            losses.mean(first)
    except (RuntimeError, scale.ScaleError) as error:
        said = str(error)
    with scale.mpi() as second:
        say(engine, [said, losses.mean(second)])


def interrupted_between(engine):
    """An error in the middle of the messages of a pass, on one rank."""
    vg = scale.value_and_grad(loss, engine=engine, shards=13, compile=False)
    if engine.rank == 1:
        engine.all_reduce = lambda *args: sys.exit(0)
    vg(PARAMS, X, Y)


def training(engine, folder, calls):
    """A training run; the rank named in `calls` kills itself in its nth step."""
    rank, _, step = calls.partition(":")
    if rank and engine.rank == int(rank):
        whole = engine.add
        left = [int(step)]

        def add(make):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(make)

        engine.add = add
    found = losses.trained(engine, checkpoints=folder, every=1, epochs=3)
    say(engine, [losses.bits((found.parameters, found.state, found.best)), found.resumed])


def reduced(engine):
    """The sum of vectors by both ways of adding, beside that of one process."""
    rng = np.random.default_rng(0)
    for count in (1, 5, 8, 13):
        for size in (1, 3, 10_001):
            values = rng.normal(size=(count, size)) * 10.0 ** rng.integers(-9, 9, (count, 1))
            low, high = scale.additions.span_of(engine.rank, engine.size, count)
            parts = [scale.additions.Part(i, 1, values[i].copy()) for i in range(count)]
            mine = scale.additions.Additions(parts[low:high]).parts
            mine = [part._replace(vector=part.vector.copy()) for part in mine]
            expected = scale.additions.Additions(
                [p._replace(vector=values[p.low].copy()) for p in parts]
            ).total()
            found, _ = engine.all_reduce(mine, size, count, "float64")
            assert np.array_equal(found, expected), (count, size)
    say(engine, "the same")


if __name__ == "__main__":
    program, *arguments = sys.argv[1:]
    with scale.mpi() as ranks:
        globals()[program](ranks, *arguments)

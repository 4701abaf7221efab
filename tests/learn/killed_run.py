"""A training run that kills itself at a chosen point of writing, or waits to be killed.

    python killed_run.py FOLDER KIND CALL

KIND is where its batches come from; it dies at call number CALL of those that change files, 0 for
never.  It prints "ready" when training begins, and at the end all bits of the result.
"""

import json
import os
import signal
import sys
from hashlib import sha256
from itertools import cycle

import numpy as np

from chainrule import learn
from chainrule.core.containers import flatten
from chainrule.learn import files

RNG = np.random.default_rng(0)
X = RNG.standard_normal((53, 6))
Y = (X @ RNG.standard_normal((6, 3))).argmax(axis=1)


def loss(p, x, y):
    return learn.cross_entropy(p["gain"] * np.tanh(x @ p["W"] + p["b"]), y)


def batches_of(kind):
    batches = learn.Batches(X[:41], Y[:41], size=8, seed=2)
    if kind == "batches":
        return batches, None
    return (list(batches), None) if kind == "list" else (cycle(batches), 4)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """Counts the calls that change files, and dies in the one it was told."""

    def __init__(self, last):
        self.left = last

    def counted(self, function):
        def call(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                die()
            return function(*args, **kwargs)

        return call

    def open(self, *args, **kwargs):
        file = open(*args, **kwargs)  # noqa: SIM115 - whoever called us closes it
        if not file.writable():
            return file
        whole = file.write

        def write(data):
            self.left -= 1
            if self.left == 0:
                whole(data[: len(data) // 2])
                file.flush()
                die()
            return whole(data)

        file.write = write
        return file


def bits(trained):
    found = sha256()
    leaves, structure = flatten((trained.parameters, trained.state, trained.best))
    for leaf, path in zip(leaves, structure.paths, strict=True):
        leaf = np.asarray(leaf)
        found.update(f"{path} {leaf.dtype} {leaf.shape}".encode() + leaf.tobytes())
    return found.hexdigest()


def main(folder, kind, call):
    if call:
        deadly = Deadly(call)
        files.open = deadly.open
        for name in ("open", "fsync", "replace", "unlink"):
            setattr(os, name, deadly.counted(getattr(os, name)))
    batches, steps = batches_of(kind)
    start = {"W": np.zeros((6, 3)), "b": np.zeros(3), "gain": 1.0}
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    trained = learn.train(
        loss,
        start,
        batches,
        steps=steps,
        optimiser=learn.adam(0.02),
        epochs=30,
        validation=(X[41:], Y[41:]),
        metrics={"accuracy": lambda p, x, y: learn.accuracy(x @ p["W"] + p["b"], y)},
        checkpoints=folder,
        every=1,
        progress=False,
    )
    records = json.dumps([trained.best_epoch, trained.stopped, trained.history.records])
    sys.stdout.write(f"{bits(trained)} {records}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

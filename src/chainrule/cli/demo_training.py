"""The second half of `chainrule demo`: a network learns the digits, and shows its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, EPOCHS, BATCH, RATE, DECAY = 256, 20, 64, 0.003, 1e-5
DOTS = 16  # that a pixel has at most
MOVES = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))


def training_parts(folder: Path) -> Iterator[str]:
    """Check, train, measure, explain, draw; what is drawn goes into the folder."""
    import chainrule as cr
    from chainrule import learn

    def scores(p: Any, x: Any) -> Any:
        return learn.linear(p["output"], np.maximum(learn.linear(p["hidden"], x), 0.0))

    def loss(p: Any, x: Any, labels: Any) -> Any:
        return learn.cross_entropy(scores(p, x), labels) + DECAY * learn.l2(p)

    training, test = learn.split(learn.load("digits"))
    x, y = moved(training.x) / DOTS, np.tile(training.y, len(MOVES))
    unseen = test.x / DOTS
    rng = np.random.default_rng(0)
    parameters = {
        "hidden": learn.init_linear(rng, 64, HIDDEN),
        "output": learn.init_linear(rng, HIDDEN, 10),
    }
    few = x[:4], y[:4]
    yield (
        f"\nA network with {HIDDEN} hidden units learns {len(training)} digits, which it also sees "
        "moved by a pixel.\nIts gradient:\n"
    )
    yield f"    {cr.check_grads(lambda p: loss(p, *few), parameters, order=1)}"
    yield "\nTraining; the step, gradient and update in one, is machine code:\n"
    trained = learn.train(
        loss,
        parameters,
        batches := learn.Batches(x, y, size=BATCH),
        optimiser=learn.adam(learn.cosine(RATE, steps=EPOCHS * len(batches))),
        epochs=EPOCHS,
        validation=(unseen, test.y),
        metrics={"accuracy": lambda p, x, y: learn.accuracy(scores(p, x), y)},
    )
    found = learn.accuracy(scores(trained.parameters, unseen), test.y)
    yield f"\n    {found:.1%} of {len(test)} digits that it has not seen are told right"
    yield "\nWhy the gradient of one weight is what it is, for one example of softmax regression:\n"
    yield _why(unseen[0, :20], int(test.y[0]))
    yield from _drawn(folder, trained)


def moved(x: np.ndarray) -> np.ndarray:
    """The images, and the same moved by one pixel in four directions."""
    wide = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    parts = [wide[:, 1 + a : 9 + a, 1 + b : 9 + b] for a, b in MOVES]
    return np.concatenate(parts).reshape(-1, 64)


def _why(x: Any, label: int) -> str:
    """W has two children, the scores and the penalty, and its gradient is the sum of both."""
    import chainrule as cr

    def loss(W: Any, b: Any) -> Any:
        q = cr.log_softmax(W @ x + b)
        r = np.sum(W**2)
        return 0.1 * r - q[label]

    W = np.random.default_rng(1).normal(size=(10, len(x))) / 4
    said = str(cr.explain(loss, W, np.zeros(10), wrt="W"))
    return "\n".join(f"    {line}" for line in said.splitlines())


def _drawn(folder: Path, trained: Any) -> Iterator[str]:
    """The learning curve, and the graph of a gradient."""
    import chainrule as cr

    folder.mkdir(parents=True, exist_ok=True)
    graph = cr.trace(lambda x, y, z: (x + y) * z, -2.0, 5.0, -4.0)
    picture = folder / "graph.svg"
    picture.write_text(graph.forward(-2.0, 5.0, -4.0).backward().to_svg(), encoding="utf-8")
    curve = trained.plot(folder / "curve.svg")
    yield "\nTo look at:\n"
    yield f"    {curve}    the learning curve"
    yield f"    {picture}    a graph with its values and adjoints"

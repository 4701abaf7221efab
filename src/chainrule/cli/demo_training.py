"""The second half of `chainrule demo`: a network learns the digits, and shows its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, EPOCHS, BATCH, RATE, DECAY = 256, 20, 64, 0.003, 1e-5
DOTS = 16  # that a pixel has at most
START = np.random.default_rng(1).normal(size=(10, 8)) / 2, np.zeros(10)
MOVES = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))


def training_parts(folder: Path) -> Iterator[str]:
    """Check, train, measure, explain, draw; what is drawn goes into the folder."""
    import chainrule as cr
    from chainrule import learn
    from chainrule.explain.explanation import explain

    def scores(p: Any, x: Any) -> Any:
        return learn.linear(p["output"], np.maximum(learn.linear(p["hidden"], x), 0.0))

    def loss(p: Any, x: Any, labels: Any) -> Any:
        return learn.cross_entropy(scores(p, x), labels) + DECAY * learn.l2(p)

    training, test = learn.split(learn.load("digits").map(lambda x: x / DOTS))
    x, y = moved(training.x), np.tile(training.y, len(MOVES))
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
        validation=(test.x, test.y),
        metrics={"accuracy": lambda p, x, y: learn.accuracy(scores(p, x), y)},
    )
    found = learn.accuracy(scores(trained.parameters, test.x), test.y)
    yield f"\n    {found:.1%} of {len(test)} digits that it has not seen are classified correctly"
    yield "\nWhy the gradient of one weight is what it is, for one example of softmax regression:\n"
    one = _softmax_loss(test.x[0, 20:28], int(test.y[0]))
    said = str(explain(one, *START, wrt="W"))
    yield "\n".join(f"    {line}" for line in said.splitlines())
    yield from _drawn(folder, trained, one)


def moved(x: np.ndarray) -> np.ndarray:
    """The images, and the same moved by one pixel in four directions."""
    wide = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    parts = [wide[:, 1 + a : 9 + a, 1 + b : 9 + b] for a, b in MOVES]
    return np.concatenate(parts).reshape(-1, 64)


def _softmax_loss(x: Any, label: int) -> Callable[..., Any]:
    """W has two children, the scores and the penalty, and its gradient is the sum of both."""
    import chainrule as cr

    def loss(W: Any, b: Any) -> Any:
        q = cr.log_softmax(W @ x + b)
        r = np.sum(W**2)
        return 0.1 * r - q[label]

    return loss


def _drawn(folder: Path, trained: Any, loss: Callable[..., Any]) -> Iterator[str]:
    """The learning curve, and the page of a gradient."""
    import chainrule as cr

    folder.mkdir(parents=True, exist_ok=True)
    curve = trained.plot(folder / "curve.svg")
    run = cr.trace(loss, *START).forward(*START).backward()
    page = run.explore(folder / "gradient.html")
    yield "\nTo open in a browser:\n"
    yield f"    {page}    that gradient, step by step"
    yield f"    {curve}    the learning curve"

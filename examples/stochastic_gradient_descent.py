"""Stochastic gradient descent, one random example at a time, against mini-batches.

    for t = 1 … T
        select i uniformly at random from 1 … n
        L(θ) = −log p(yᵢ | xᵢ; θ)
        θ ← θ − η_t · dL/dθ

A mini-batch replaces L by its mean over B examples.  Shows what each size of B makes of the same
number of examples: loss, accuracy and time.

    python examples/stochastic_gradient_descent.py
"""

from time import perf_counter

import numpy as np

from chainrule import learn

EXAMPLES = 16_000  # seen in all, whatever the size of a batch


def init(rng):
    """θ of a network with one hidden layer."""
    return [learn.init_linear(rng, 64, 32), learn.init_linear(rng, 32, 10)]


def scores(theta, x):
    first, last = theta
    return learn.linear(last, np.tanh(learn.linear(first, x)))


def L(theta, x, y):
    """−log p(y | x; θ), its mean over the rows of x."""
    return learn.cross_entropy(scores(theta, x), y)


def descend(x, y, size, rate):
    """θ after EXAMPLES / size steps of η_t = rate / (1 + t / T)."""
    T = EXAMPLES // size
    optimiser = learn.sgd(learn.inverse_time(rate, decay=1 / T))
    step = learn.make_step(L, optimiser)  # gradient and update, compiled into one

    rng = np.random.default_rng(0)
    theta = init(rng)
    state = optimiser.init(theta)
    chosen = rng.integers(len(x), size=(T, size))
    step(init(rng), optimiser.init(theta), x[chosen[0]], y[chosen[0]])  # compiles it
    start = perf_counter()
    for i in chosen:
        theta, state, _ = step(theta, state, x[i], y[i])
    return theta, perf_counter() - start


def main():
    digits = learn.load("digits").map(lambda x: x / 16)  # pixels go from 0 to 16
    data, test = learn.split(digits, test=0.2, seed=0)
    print(f"digits, {len(data)} for training, {len(test)} for testing; {EXAMPLES} examples seen\n")
    print("batch   steps      η_1   training loss   test accuracy   seconds")
    found = {}
    # The mean of B gradients is less noisy than one, which allows longer steps: of 0.1, 0.2, 0.5, 1
    # and 2, these give each size its lowest loss.
    for size, rate in ((1, 0.1), (8, 1.0), (32, 1.0), (128, 1.0)):
        theta, seconds = descend(data.x, data.y, size, rate)
        loss = float(L(theta, data.x, data.y))
        accuracy = learn.accuracy(scores(theta, test.x), test.y)
        found[size] = {"loss": loss, "accuracy": accuracy, "seconds": seconds}
        steps = EXAMPLES // size
        print(f"{size:5}   {steps:5}   {rate:6}   {loss:13.4f}   {accuracy:13.1%}   {seconds:7.3f}")
    return found


if __name__ == "__main__":
    main()

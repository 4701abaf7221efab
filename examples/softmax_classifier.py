"""A log-linear classifier of handwritten digits: scores, probabilities, a decision.

Shows the model s = Wx + b, p = softmax(s), the regularised loss

    J = −log(yᵀ softmax(Wx + b)) + λ Σ W²

minimised by mini-batch gradient descent, and why ∂J/∂W is what it is: W has two children in the
graph, the scores and the penalty, and its gradient is the sum of what comes from both.

    python examples/softmax_classifier.py
"""

import numpy as np

import chainrule as cr
from chainrule import learn

LAMBDA = 1e-4


def scores(parameters, x):
    """s = Wx + b for one x; for a batch, whose rows are the x, that is xWᵀ + b."""
    return x @ parameters["W"].T + parameters["b"]


def loss(parameters, x, y):
    """The mean of J over the examples of a batch; cross_entropy is −log(yᵀ softmax(s))."""
    return learn.cross_entropy(scores(parameters, x), y) + LAMBDA * np.sum(parameters["W"] ** 2)


def J(W, b, x, y):
    """The same written out, y 1-hot: the graph whose gradient is explained below."""
    s = x @ W.T + b
    l = -np.mean(np.log(np.sum(y * cr.softmax(s), axis=-1)))  # yᵀ softmax(s), row by row
    r = np.sum(W**2)
    return l + LAMBDA * r


def fit(data, test, epochs=40):
    """Mini-batch gradient descent: 32 examples to a step, steps that become shorter."""
    batches = learn.Batches(data.x, data.y, size=32)
    return learn.train(
        loss,
        {"W": np.zeros((10, 64)), "b": np.zeros(10)},
        batches,
        optimiser=learn.sgd(learn.cosine(2.0, steps=epochs * len(batches))),
        epochs=epochs,
        validation=(test.x, test.y),
        metrics={"accuracy": lambda p, x, y: learn.accuracy(scores(p, x), y)},
        progress=False,
    )


def show_decision(parameters, x, y):
    """The digit, its probabilities p, and the decision arg max p."""
    p = cr.softmax(scores(parameters, x))
    for row in x.reshape(8, 8):
        print("  " + "".join(" .:*#"[int(4 * pixel)] * 2 for pixel in row))
    print("p   " + "  ".join(f"{digit}: {share:.3f}" for digit, share in enumerate(p)))
    print(f"arg max p = {np.argmax(p)}, and it is a {y}\n")


def main():
    digits = learn.load("digits").map(lambda x: x / 16)  # pixels go from 0 to 16
    data, test = learn.split(digits, test=0.2, seed=0)
    trained = fit(data, test)
    print(f"{trained.history}\n")

    parameters = trained.parameters
    accuracy = learn.accuracy(scores(parameters, test.x), test.y)
    print(f"{accuracy:.1%} of {len(test)} digits that it has not seen are told right\n")
    show_decision(parameters, test.x[0], test.y[0])

    # At a minimum of J the gradient is 0: what the examples ask of W, through s, and what the
    # penalty asks, through r, cancel.  So near the end of the descent both are larger than ∂J/∂W.
    W, b, y = parameters["W"], parameters["b"], np.eye(10)[data.y]
    explanation = cr.explain(J, W, b, data.x, y, wrt="W")
    print(explanation)
    return {"accuracy": accuracy, "history": trained.history, "explanation": explanation}


if __name__ == "__main__":
    main()

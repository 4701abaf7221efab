"""A network with one hidden layer, its derivatives as chains of Jacobians, then trained.

    z = Wx + b        in R^m        ∂o/∂W = ∂o/∂q × ∂q/∂l × ∂l/∂h × ∂h/∂z × ∂z/∂W
    h = g(z)          in R^m        ∂o/∂V = ∂o/∂q × ∂q/∂l × ∂l/∂V
    l = Vh + γ        in R^K
    q = LS(l)         in R^K        LS is LOG-SOFTMAX: q = log p(y | x)
    o = −q_y          a number

Shows each factor as a matrix, multiplies them, compares with cr.jacobian and cr.grad, and trains
the network on handwritten digits.

    python examples/single_hidden_layer.py
"""

from functools import reduce

import numpy as np

import chainrule as cr
from chainrule import learn

FACTORS = {
    "W": ["q → o", "l → q", "h → l", "z → h", "W → z"],
    "V": ["q → o", "l → q", "V → l"],
}


def network(W, b, V, gamma, x, y):
    """o for one example (x, y), with the transfer function g = tanh."""
    z = W @ x + b
    h = np.tanh(z)
    l = V @ h + gamma
    q = cr.log_softmax(l)
    return -q[y]


def formal_graph(d, m, K, y):
    """The network as a graph with one vertex for each equation, whose edges carry the factors.

    A matrix is read as a vector of its entries, row after row.
    """
    names = ["W", "b", "V", "γ", "x", "z", "h", "l", "q", "o"]
    number = {name: i for i, name in enumerate(names, start=1)}
    edges = ["W → z", "b → z", "x → z", "z → h", "V → l", "γ → l", "h → l", "l → q", "q → o"]
    functions = {
        "z": lambda W, b, x: W.reshape(m, d) @ x + b,
        "h": np.tanh,
        "l": lambda V, gamma, h: V.reshape(K, m) @ h + gamma,
        "q": cr.log_softmax,
        "o": lambda q: -q[y],
    }
    pairs = {edge: tuple(number[name] for name in edge.split(" → ")) for edge in edges}
    graph = cr.Graph.define(
        dims=[m * d, m, K * m, K, d, m, m, K, K, 1],
        edges=list(pairs.values()),
        functions={number[name]: f for name, f in functions.items()},
    )
    return graph, pairs


def chains(W, b, V, gamma, x, y):
    """The factors of ∂o/∂W and of ∂o/∂V, from the output back to the leaf."""
    graph, pairs = formal_graph(W.shape[1], W.shape[0], V.shape[0], y)
    run = graph.forward(W.ravel(), b, V.ravel(), gamma, x)
    return {
        leaf: [run.local_jacobian(*pairs[edge]) for edge in edges]
        for leaf, edges in FACTORS.items()
    }


def show_chains(found):
    for leaf, factors in found.items():
        print(f"∂o/∂{leaf} is the product of")
        for edge, factor in zip(FACTORS[leaf], factors, strict=True):
            parent, child = edge.split(" → ")
            print(f"∂{child}/∂{parent}, {factor.shape[0]} × {factor.shape[1]}")
            print("  " + str(factor.round(3)).replace("\n", "\n  "))
        print()


def compare(d=3, m=2, K=3, y=1):
    """The largest differences of the products from what chainrule computes by itself."""
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(m, d)), rng.normal(size=m)
    V, gamma = rng.normal(size=(K, m)), rng.normal(size=K)
    x = rng.normal(size=d)
    found = chains(W, b, V, gamma, x, y)
    show_chains(found)

    # From the left each product is a row times a matrix: this is the backward pass.
    dW, dV = (reduce(np.matmul, factors) for factors in found.values())
    point = W, b, V, gamma, x, y
    differences = {}
    for name, of in (("jacobian", cr.jacobian), ("gradient", cr.grad)):
        JW, JV = of(network, (0, 2))(*point)
        differences[name] = max(abs(dW - JW.ravel()).max(), abs(dV - JV.ravel()).max())
        print(f"the products differ from cr's {name} by at most {differences[name]:.0e}")
    return differences


def init(rng, d, m, K):
    """The first parameters: W and V drawn at random, else all hidden units would stay alike."""
    W, V = learn.glorot(rng, (m, d)), learn.glorot(rng, (K, m))
    return {"W": W, "b": np.zeros(m), "V": V, "γ": np.zeros(K)}


def scores(parameters, x):
    """l for a batch, whose rows are the x."""
    h = np.tanh(x @ parameters["W"].T + parameters["b"])
    return h @ parameters["V"].T + parameters["γ"]


def loss(parameters, x, y):
    """The mean of o over a batch."""
    return learn.cross_entropy(scores(parameters, x), y)


def fit(epochs=30, m=64):
    """Train on four fifths of the digits; each epoch is measured on the others."""
    digits = learn.load("digits").map(lambda x: x / 16)  # pixels go from 0 to 16
    data, test = learn.split(digits, test=0.2, seed=0)
    batches = learn.Batches(data.x, data.y, size=32)
    trained = learn.train(
        loss,
        init(np.random.default_rng(0), d=64, m=m, K=10),
        batches,
        optimiser=learn.adam(learn.cosine(0.01, steps=epochs * len(batches))),
        epochs=epochs,
        validation=(test.x, test.y),
        metrics={"accuracy": lambda p, x, y: learn.accuracy(scores(p, x), y)},
        progress=False,
    )
    return trained.history


def main():
    differences = compare()
    history = fit()
    print(f"\ntrained on digits with m = 64 hidden units:\n{history}")
    return {**differences, "history": history}


if __name__ == "__main__":
    main()

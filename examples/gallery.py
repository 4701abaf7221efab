"""Graphs worth looking at: of each a page in which it computes and differentiates.

    python examples/gallery.py [FOLDER]

writes them, and `index.html`, which shows them all; without a FOLDER into build/gallery.
"""

import sys
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import chainrule as cr


def product_of_a_sum(x, y, z):
    q = x + y
    f = q * z
    return f


def shared(x):
    a = x**2
    b = np.exp(a)
    c = a + b
    d = np.sqrt(c)
    e = np.cos(c)
    f = d + e
    return f


def counted_twice(x):
    w = x * x
    u1 = 3.0 * w
    u2 = np.sin(w)
    y = u1 * u2
    return y


def two_ways(x, y):
    f = x * y
    g = x + np.sin(f)
    h = f * y
    T = g * h
    return T


def gates(x, y):
    m = np.maximum(x, y)
    s = m + x
    return s * np.floor(y) + np.maximum(s, 10.0)


def softmax_regression(W, b, x, label):
    z = W @ x + b
    p = cr.log_softmax(z)
    loss = -np.sum(p * label)
    r = np.sum(W**2)
    J = loss + 0.1 * r
    return J


def hidden_layer(W, b, V, c, x):
    z = W @ x + b
    h = np.tanh(z)
    scores = V @ h + c
    q = cr.log_softmax(scores)
    o = -q[1]
    return o


def layer(x, kernel):
    return cr.conv(x, kernel, padding=1) + 0.1


def convolutional(image, K1, K2, K3, K4, V):
    h = cr.relu(layer(image, K1))
    h = cr.relu(layer(h, K2))
    h = cr.avg_pool(h, window=2)
    h = cr.relu(layer(h, K3))
    h = cr.relu(layer(h, K4))
    h = cr.avg_pool(h, window=2)
    scores = V @ np.ravel(h)
    loss = -cr.log_softmax(scores)[0]
    return loss


def mixed(W, b, x, h):
    return W @ np.concatenate([x, h]) + b


def cell(W, b, x, h, c):
    z = mixed(W, b, x, h)
    i = cr.sigmoid(z[0:3])
    f = cr.sigmoid(z[3:6])
    o = cr.sigmoid(z[6:9])
    g = np.tanh(z[9:12])
    c = f * c + i * g
    h = o * np.tanh(c)
    return h, c


def lstm(W, b, xs):
    h, c = np.zeros(3), np.zeros(3)
    for x in xs:
        h, c = cell(W, b, x, h, c)
    return np.sum(h**2)


def normed(x, scale):
    mean = np.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale


def attention(x, Q, K, V):
    q = x @ Q
    k = x @ K
    v = x @ V
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = cr.softmax(scores)
    return weights @ v


def transformer_block(x, p):
    a = x + attention(normed(x, p["s1"]), p["Q"], p["K"], p["V"]) @ p["O"]
    hidden = cr.relu(normed(a, p["s2"]) @ p["W1"])
    y = a + hidden @ p["W2"]
    return np.mean(y**2)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).round(2)


def block() -> dict[str, np.ndarray]:
    shapes = {"Q": (4, 4), "K": (4, 4), "V": (4, 4), "O": (4, 4), "W1": (4, 8), "W2": (8, 4)}
    return {"s1": np.ones(4), "s2": np.ones(4)} | {k: drawn(*s) for k, s in shapes.items()}


def ring() -> np.ndarray:
    """A picture of a nought, 8×8, as one image of one channel."""
    row, column = np.mgrid[-3.5:4.5, -3.5:4.5]
    return np.exp(-((np.hypot(row, column) - 2.5) ** 2)).round(2)[None, None]


class Exhibit(NamedTuple):
    """One page: what it is called, what to look at, and what it shows, from which place on."""

    title: str
    look: str
    function: Any
    arguments: tuple[Any, ...]
    place: str = ""


WEIGHTS = np.array([[0.2, -0.1, 0.4, 0.3], [0.1, 0.6, -0.3, 0.5], [-0.2, 0.3, 0.1, -0.4]])
BIAS, FEATURES, LABEL = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, -1.0, 2.0]), np.eye(3)[1]

GALLERY = {
    "product": Exhibit(
        "(x + y) · z",
        "The page opens where q has its adjoint, −4. Go on with →: add hands it to x and to y as "
        "it is. One step back with ←, multiply has given each of its inputs the other one: −4 to "
        "q, and 3 to z. Click z and move its slider: the sign of two gradients follows it.",
        product_of_a_sum,
        (-2.0, 5.0, -4.0),
        "#step=7",
    ),
    "shared": Exhibit(
        "√(x² + exp x²) + cos(x² + exp x²)",
        "x² and the sum c are computed once and used twice, and the dots mark where. Their "
        "adjoints are sums of two parts: play the backward pass, and see them come in one by one. "
        "Click x: four paths lead to f, and the bar below each is its share.",
        shared,
        (0.8,),
        "#step=10",
    ),
    "counted-twice": Exhibit(
        "A shared node, counted twice",
        "Backpropagation as recursion from the output visits w twice, and the second time it "
        "hands on what it had handed on before: 13.92 in place of 6.177, in red. At the end the "
        "three orders stand beside each other. Choose the sorted order below, and go through it "
        "again: w waits for both of its children.",
        counted_twice,
        (1.3,),
        "#step=99&order=recursive",
    ),
    "two-ways": Exhibit(
        "Two ways to one node",
        "T[g(x, f), h(f, y)] with f(x, y): the adjoint of f is ∂g/∂f times that of g plus ∂h/∂f "
        "times that of h. The page opens at the step that adds the second of them.",
        two_ways,
        (2.0, 3.0),
        "#step=11",
    ),
    "gates": Exhibit(
        "Gates",
        "Round gates hand an adjoint on, add to both sides and multiply times the other factor. "
        "Pointed ones route it: max hands it to the side it chose, and the wire to the other is "
        "dashed. floor is flat, so nothing flows through it, and y has no gradient at all.",
        gates,
        (4.0, 2.5),
    ),
    "softmax": Exhibit(
        "Softmax regression with a regulariser",
        "W is used twice, by the scores and by the penalty Σ W². Click it: the two parts of its "
        "gradient, of norms 1.014 and 0.2289, are listed with their sum, whose norm is smaller: "
        "they pull in different directions. Squares are values, circles adjoints, hollow ones "
        "negative.",
        softmax_regression,
        (WEIGHTS, BIAS, FEATURES, LABEL),
    ),
    "network": Exhibit(
        "A network with one hidden layer",
        "z = Wx + b, h = tanh z, scores Vh + c, and the loss −log softmax of the second class. "
        "Follow the circles from right to left: each is the one before it times a Jacobian, and "
        "at the leaves they have the shape of the parameters.",
        hidden_layer,
        (drawn(4, 3), drawn(4), drawn(2, 4), drawn(2), np.array([1.0, -0.5, 2.0])),
        "#step=19",
    ),
    "convolution": Exhibit(
        "A convolutional network of four layers",
        "A nought of 8×8 dots goes through four convolutions, each with relu, and two poolings "
        "that halve it. Each layer is drawn as one box; “every node” opens them. The adjoint of "
        "the image, on the left, says which dots would have to change.",
        convolutional,
        (ring(), *(0.3 * drawn(*s, 3, 3) for s in ((2, 1), (2, 2), (3, 2), (3, 3))), drawn(2, 12)),
        "#level=group",
    ),
    "lstm": Exhibit(
        "An LSTM, four steps in time",
        "One cell, four times: the wires of W and b run along all of it and are used by every "
        "step, so their gradients are sums of four parts. A step is drawn as one box, which "
        "opens. Click xs[0] and xs[3]: how much of a gradient is left after four steps?",
        lstm,
        (drawn(12, 5), drawn(12), list(drawn(4, 2))),
        "#level=group",
    ),
    "transformer": Exhibit(
        "A transformer block",
        "Attention and a small network, each with a norm before it and a wire that goes around "
        "it: the residual connections are the long straight ones, and they carry most of the "
        "gradient. It opens as norm, attention, norm; “every node” draws all of it.",
        transformer_block,
        (drawn(5, 4), block()),
        "#step=60",
    ),
}

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; max-height: 26rem; }
"""


def ran(exhibit: Exhibit) -> cr.Run:
    """The function recorded at its point, and run forward and backward."""
    graph = cr.trace(exhibit.function, *exhibit.arguments)
    return graph.forward(*exhibit.arguments).backward()


def write(folder: Path) -> Path:
    """Write a page and a picture of each, and the page that shows them all."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = []
    for name, exhibit in GALLERY.items():
        run = ran(exhibit)
        run.explore(folder / f"{name}.html")
        (folder / f"{name}.svg").write_text(run.to_svg(), encoding="utf-8")
        title, link = escape(exhibit.title), escape(f"{name}.html{exhibit.place}")
        shown.append(
            f'<h2><a href="{link}">{title}</a></h2>\n<p>{escape(exhibit.look)}</p>\n'
            f'<a href="{link}"><img src="{name}.svg" alt="The graph: {title}"></a>\n'
        )
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    page = f'<!doctype html><html lang="en"><head>{head}<title>chainrule: gallery</title>'
    page += f"<style>{STYLE}</style></head><body><h1>Gallery</h1>\n{''.join(shown)}</body></html>\n"
    index = folder / "index.html"
    index.write_text(page, encoding="utf-8")
    return index


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "build/gallery"
    print(f"{len(GALLERY)} pages; open {write(folder)}")


if __name__ == "__main__":
    main()

"""Layers, losses and optimisers agree with PyTorch to 12 digits, in value and gradient."""

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.core.containers import flatten, map_leaves
from tests.learn.checks import weighted

torch = pytest.importorskip("torch")
F = torch.nn.functional

RNG = np.random.default_rng(11)


def draw(*shape):
    return RNG.normal(size=shape)


def perturbed(params):
    return map_leaves(lambda p: p + 0.1 * draw(*p.shape), params)


def tensors(tree):
    return map_leaves(lambda a: torch.tensor(a, requires_grad=a.dtype.kind == "f"), tree)


def numbers(tensor):
    return tensor.detach().numpy()


def agree(ours, theirs, *args):
    """Both functions of nested arrays, in value and in every gradient."""
    given = tensors(args)
    expected = theirs(*given)
    value, gradients = cr.value_and_grad(
        lambda *args: weighted(np.reshape(ours(*args), -1)), tuple(floating(args))
    )(*args)
    np.testing.assert_allclose(ours(*args), numbers(expected), rtol=1e-12, atol=1e-13)
    flat = expected.reshape(-1)
    (torch.sin(torch.arange(len(flat), dtype=flat.dtype)) * flat).sum().backward()
    slopes = [t.grad for t in flatten(given)[0] if t.requires_grad]
    found = flatten(gradients)[0]
    scale = max(np.max(np.abs(g)) for g in found)
    for a, b in zip(found, slopes, strict=True):
        np.testing.assert_allclose(a, numbers(b), rtol=1e-12, atol=1e-12 * scale)
    assert np.isfinite(value)


def floating(args):
    """The positions of arguments that are differentiated."""
    return [i for i, a in enumerate(args) if flatten(a)[0][0].dtype.kind == "f"]


def torch_heads(p, x, heads, **masks):
    parts = ("query", "key", "value")
    weights = torch.cat([p[n]["weights"].T for n in parts])
    biases = torch.cat([p[n]["bias"] for n in parts])
    width = x.shape[-1]
    y, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1),) * 3, width, heads, weights, biases, None, None, False, 0.0,
        p["output"]["weights"].T, p["output"]["bias"], need_weights=False, **masks,
    )  # fmt: skip
    return y.transpose(0, 1)


def torch_recurrent(kind):
    def run(p, x, *state):
        biases = p["bias"], p.get("recurrent_bias", torch.zeros_like(p["bias"]))
        weights = [p["input"].T, p["recurrent"].T, *biases]
        step = torch._VF.lstm if kind == "lstm" else torch._VF.gru
        start = [s[None] for s in state]
        start = start if kind == "lstm" else start[0]
        return step(x, start, weights, True, 1, 0.0, False, False, True)[0]

    return run


LABELS, SCORES = RNG.integers(0, 4, 6), draw(6, 4)
CLASS_WEIGHTS = RNG.uniform(0.5, 2, 4)
WEIGHTS = CLASS_WEIGHTS[LABELS]
STATISTICS = {"mean": draw(3), "variance": draw(3) ** 2 + 0.5}
LINEAR = perturbed(learn.init_linear(np.random.default_rng(0), 4, 3))
LSTM = perturbed(learn.init_lstm(np.random.default_rng(0), 3, 4))
GRU = perturbed(learn.init_gru(np.random.default_rng(0), 3, 4))
CONV = perturbed(learn.init_conv(np.random.default_rng(0), 4, 6, 3, groups=2))
ATTENTION = perturbed(learn.init_attention(np.random.default_rng(0), 6))
NORM = perturbed(learn.init_layer_norm(3))
PAST = np.tri(5, dtype=bool)
MASK = PAST | (RNG.uniform(size=(5, 5)) < 0.3)
CASES = {
    "linear": (
        learn.linear, lambda p, x: F.linear(x, p["weights"].T, p["bias"]), LINEAR, draw(5, 4)
    ),
    "conv": (
        lambda p, x: learn.conv(p, x, stride=(2, 1), padding=1, dilation=(1, 2), groups=2),
        lambda p, x: F.conv2d(x, p["weights"], p["bias"], (2, 1), 1, (1, 2), 2),
        CONV, draw(2, 4, 7, 6),
    ),
    "max_pool": (
        lambda x: learn.max_pool(x, 3, stride=2, padding=1),
        lambda x: F.max_pool2d(x, 3, 2, 1), draw(2, 3, 7, 6),
    ),
    "average_pool": (
        lambda x: learn.average_pool(x, 3, stride=2, padding=1),
        lambda x: F.avg_pool2d(x, 3, 2, 1), draw(2, 3, 7, 6),
    ),
    "embedding": (
        lambda p, i: learn.embedding({"table": p}, i), lambda p, i: F.embedding(i, p),
        draw(5, 3), RNG.integers(0, 5, (2, 4)),
    ),
    "lstm": (
        lambda p, x, h, c: learn.lstm(p, x, (h, c))[0], torch_recurrent("lstm"),
        LSTM, draw(2, 5, 3), draw(2, 4), draw(2, 4),
    ),
    "gru": (
        lambda p, x, h: learn.gru(p, x, h)[0], torch_recurrent("gru"),
        GRU, draw(2, 5, 3), draw(2, 4),
    ),
    "attention": (
        lambda p, x: learn.attention(p, x, heads=3), lambda p, x: torch_heads(p, x, 3),
        ATTENTION, draw(2, 5, 6),
    ),
    "attention, causal": (
        lambda p, x: learn.attention(p, x, heads=2, causal=True),
        lambda p, x: torch_heads(p, x, 2, attn_mask=torch.tensor(~PAST)),
        ATTENTION, draw(2, 5, 6),
    ),
    "attention, masked": (
        lambda p, x: learn.attention(p, x, heads=2, mask=MASK),
        lambda p, x: torch_heads(p, x, 2, attn_mask=torch.tensor(~MASK)),
        ATTENTION, draw(2, 5, 6),
    ),
    "layer_norm": (
        learn.layer_norm, lambda p, x: F.layer_norm(x, (3,), p["scale"], p["shift"]),
        NORM, draw(4, 3),
    ),
    "batch_norm": (
        lambda p, x: learn.batch_norm(p, x, STATISTICS)[0],
        lambda p, x: F.batch_norm(x, None, None, p["scale"], p["shift"], True),
        NORM, draw(4, 3, 2, 2),
    ),
    "batch_norm in evaluation": (
        lambda p, x: learn.batch_norm(p, x, STATISTICS, training=False)[0],
        lambda p, x: F.batch_norm(
            x, *map(torch.tensor, STATISTICS.values()), p["scale"], p["shift"], False
        ),
        NORM, draw(4, 3),
    ),
    "cross_entropy": (learn.cross_entropy, F.cross_entropy, SCORES, LABELS),
    "cross_entropy with class weights": (
        lambda s, y: learn.cross_entropy(s, y, WEIGHTS),
        lambda s, y: F.cross_entropy(s, y, torch.tensor(CLASS_WEIGHTS)), SCORES, LABELS,
    ),
    "cross_entropy smoothed": (
        lambda s, y: learn.cross_entropy(s, y, smoothing=0.3),
        lambda s, y: F.cross_entropy(s, y, label_smoothing=0.3), SCORES, LABELS,
    ),
    "cross_entropy smoothed and weighted": (
        lambda s, y: learn.cross_entropy(s, y, WEIGHTS, smoothing=0.3),
        lambda s, y: (
            torch.tensor(WEIGHTS) * F.cross_entropy(s, y, label_smoothing=0.3, reduction="none")
        ).sum() / WEIGHTS.sum(),
        SCORES, LABELS,
    ),
    "nll": (learn.nll, F.nll_loss, SCORES, LABELS),
    "binary_cross_entropy": (
        learn.binary_cross_entropy, F.binary_cross_entropy_with_logits,
        draw(5), RNG.uniform(size=5),
    ),
    "mse": (learn.mse, F.mse_loss, draw(4, 2), draw(4, 2)),
    "huber": (
        lambda a, b: learn.huber(a, b, 0.6), lambda a, b: F.huber_loss(a, b, delta=0.6),
        draw(4, 2), draw(4, 2),
    ),
    "hinge": (learn.hinge, F.multi_margin_loss, SCORES, LABELS),
    "hinge with a margin": (
        lambda s, y: learn.hinge(s, y, 0.4),
        lambda s, y: F.multi_margin_loss(s, y, margin=0.4), SCORES, LABELS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_same(name):
    agree(*CASES[name])


def test_running_statistics():
    x = draw(4, 3, 2, 2)
    mean, variance = (torch.tensor(s.copy()) for s in STATISTICS.values())
    F.batch_norm(torch.tensor(x), mean, variance, training=True, momentum=0.1)
    _, found = learn.batch_norm(NORM, x, STATISTICS)
    np.testing.assert_allclose(found["mean"], numbers(mean), rtol=1e-12)
    np.testing.assert_allclose(found["variance"], numbers(variance), rtol=1e-12)


OPTIMISERS = {
    "sgd": (learn.sgd(0.05), torch.optim.SGD, {"lr": 0.05}),
    "momentum": (learn.momentum(0.05), torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "nesterov": (
        learn.nesterov(0.05), torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}
    ),
    "rmsprop": (learn.rmsprop(0.05), torch.optim.RMSprop, {"lr": 0.05}),
    "adam": (learn.adam(0.05), torch.optim.Adam, {"lr": 0.05}),
    "adamw": (learn.adamw(0.05), torch.optim.AdamW, {"lr": 0.05}),
}  # fmt: skip


@pytest.mark.parametrize("compile", [True, False])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_twenty_steps(name, compile):
    ours, kind, settings = OPTIMISERS[name]
    parameters = {"W": draw(4, 3), "b": draw(3)}
    x, y = draw(8, 4), draw(8, 3)
    theirs = tensors(parameters)
    optimiser = kind(list(theirs.values()), **settings)

    def loss(p, x, y):
        return learn.mse(np.tanh(x @ p["W"] + p["b"]), y)

    step, state = learn.make_step(loss, ours, compile=compile), ours.init(parameters)
    for _ in range(20):
        parameters, state, value = step(parameters, state, x, y)
        optimiser.zero_grad()
        h = torch.tanh(torch.tensor(x) @ theirs["W"] + theirs["b"])
        other = F.mse_loss(h, torch.tensor(y))
        other.backward()
        optimiser.step()
        assert float(value) == pytest.approx(other.item(), rel=1e-12)
        for key, tensor in theirs.items():
            np.testing.assert_allclose(parameters[key], numbers(tensor), rtol=1e-12, atol=1e-13)

"""A look at a step, and the three numbers (`signs.py`) in which one sees what is wrong."""

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.view.look import layer_name, look
from chainrule.view.signs import LOOK, SICK, USUAL, findings, signs, stuck

RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 6))
Y = (X[:, 0] > 0).astype(int)


def network(activation, depth=2, scale=1.0):
    def loss(params, x, labels):
        for k in range(depth):
            x = activation(learn.linear(params[f"layer{k}"], x))
        return learn.cross_entropy(learn.linear(params["out"], x), labels)

    rng = np.random.default_rng(1)
    params = {f"layer{k}": learn.init_linear(rng, 6, 6) for k in range(depth)}
    params["out"] = learn.init_linear(rng, 6, 2)
    return loss, cr.tree.map(lambda p: p * scale, params)


def seen(loss, params, after=None, batch=(X, Y)):
    return look(loss, params, params if after is None else after, batch, 1)[0]


def judged(found):
    active = stuck([found])
    return [s.level for s in signs(found, active)], findings(found, active)


def test_sizes_are_those_of_the_gradient_and_of_the_step():
    loss, params = network(np.tanh)
    after = cr.tree.map(lambda p: p + 0.01, params)
    found = seen(loss, params, after)
    assert [layer.name for layer in found.layers] == ["layer0", "layer1", "out"]
    gradient = cr.grad(loss)(params, X, Y)
    for layer in found.layers:
        weights, bias = gradient[layer.name]["weights"], gradient[layer.name]["bias"]
        assert layer.gradient == pytest.approx(
            np.hypot(np.linalg.norm(weights), np.linalg.norm(bias))
        )
        size = np.linalg.norm(params[layer.name]["weights"])
        assert layer.update == pytest.approx(0.01 * np.sqrt(layer.count) / size)
        assert layer.status == "value"


def test_layers_come_in_the_order_of_the_data_whatever_they_are_called():
    def loss(params, x):
        return np.sum(np.tanh(np.tanh(x @ params["z"]) @ params["a"])) + learn.l2(params)

    found = seen(loss, {"a": np.eye(6), "z": np.eye(6)}, batch=(X,))
    assert [layer.name for layer in found.layers] == ["z", "a"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("['hidden']['W']", "hidden"),
        ("['blocks'][0]['attention']['W']", "blocks[0].attention"),
        ("['W']", "W"),
        ("[3]", "[3]"),
        (".encoder.weights", "encoder"),
        ("", ""),
    ],
)
def test_names_of_layers(path, name):
    assert layer_name(path) == name


def test_one_array_is_one_layer():
    found = seen(lambda w, x: np.sum((x @ w) ** 2), np.ones(6), batch=(X,))
    assert [layer.name for layer in found.layers] == ["w"]
    assert signs(found, [])[1].verdict == "one layer"


# ---- what is wrong ------------------------------------------------------------------------------


def test_a_healthy_step():
    loss, params = network(np.tanh)
    gradient = cr.grad(loss)(params, X, Y)
    after, _ = learn.sgd(0.01).update(params, gradient, learn.sgd(0.01).init(params))
    levels, said = judged(seen(loss, params, after))
    assert levels == [USUAL, USUAL, USUAL]
    assert said == []


def test_a_rate_that_is_too_large():
    loss, params = network(np.tanh)
    after = cr.tree.map(lambda p: 1.5 * p, params)
    levels, said = judged(seen(loss, params, after))
    assert levels[0] == SICK
    assert said[0] == "one step changes layer0 by 50% of its size: lower the rate"


def test_nothing_moves():
    loss, params = network(np.tanh)
    (update, *_) = signs(seen(loss, params), [])
    assert (update.level, update.verdict, update.value) == (SICK, "nothing moves", 0.0)


def test_a_deep_network_of_sigmoids_vanishes():
    loss, params = network(cr.expit, depth=12)
    levels, said = judged(seen(loss, params, cr.tree.map(lambda p: p * 1.001, params)))
    assert levels[1] == SICK
    assert "the gradient vanishes: in the reverse pass it becomes" in said[0]
    assert "most of all by expit, test_look.py:" in said[0]


def test_a_deep_network_with_large_weights_explodes():
    loss, params = network(lambda x: x, depth=12, scale=8.0)
    found = seen(loss, params)
    assert signs(found, [])[1].verdict == "exploding"
    assert "the gradient explodes" in findings(found, [])[-1]
    assert "most of all by matmul" in findings(found, [])[-1]


def test_what_arrives_at_a_layer_is_the_adjoint_of_its_first_result():
    def loss(params, x):
        z = x @ params["W"].T
        return np.sum(np.sin(z)) + learn.l2(params)

    W = np.ones((2, 6))
    (layer,) = seen(loss, {"W": W}, batch=(X,)).layers
    assert layer.arriving == pytest.approx(np.linalg.norm(np.cos(X @ W.T)))


def test_a_regulariser_hides_no_gradient_that_vanishes():
    loss, params = network(cr.expit, depth=12)
    found = seen(lambda p, x, y: loss(p, x, y) + 0.01 * learn.l2(p), params)
    assert signs(found, [])[1].verdict == "vanishing"
    assert "most of all by expit" in found.changes[0]


def test_saturated_units():
    loss, params = network(np.tanh, scale=60.0)
    levels, said = judged(seen(loss, params))
    assert levels[2] == SICK
    assert any("of tanh (test_look.py:" in text and "is saturated" in text for text in said)


def test_dead_units_are_silent_in_every_recent_look():
    loss, params = network(lambda x: np.maximum(x, 0.0), depth=1)
    params["layer0"]["bias"] = np.array([-1e3, -1e3, -1e3, -1e3, 0.0, 0.0])
    one, other = seen(loss, params), seen(loss, params, batch=(-X, Y))
    (found,) = stuck([one, other])
    assert (found.dead, found.units, found.op) == (4, 6, "maximum")
    against = -params["layer0"]["weights"][:, 4]
    chance = seen(loss, params, batch=(np.tile(against, (4, 1)), Y[:4]))
    assert stuck([chance])[0].dead == 5
    assert stuck([one, chance])[0].dead == 4
    levels, said = judged(one)
    assert levels[2] == SICK
    assert said[-1].startswith("4 of 6 units of maximum (test_look.py:")


def test_of_the_activations_that_a_loop_makes_the_worst_is_told():
    loss, params = network(lambda x: np.maximum(x, 0.0), depth=3)
    params["layer1"]["bias"] = np.array([-1e3, -1e3, -1e3, -1e3, 0.0, 0.0])
    (found,) = stuck([seen(loss, params)])
    assert (found.times, found.dead >= 4, found.units) == (3, True, 6)


def test_a_layer_that_nothing_depends_on():
    def loss(params, x):
        return np.sum(np.tanh(x @ params["used"]))

    _, said = judged(seen(loss, {"used": np.eye(6), "idle": np.eye(6)}, batch=(X,)))
    assert "idle has no gradient (no path): it cannot learn" in said


def test_a_gradient_that_is_not_finite():
    def loss(params, x):
        return np.sum(np.sqrt(x @ params["W"] * 0.0)) + np.sum(params["b"])

    levels, said = judged(seen(loss, {"W": np.eye(6), "b": np.ones(2)}, batch=(X,)))
    assert "the gradient of W is not finite" in said
    assert max(levels) == SICK
    assert LOOK < SICK

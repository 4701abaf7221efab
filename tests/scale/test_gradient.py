"""Values, gradients and what is made of them, against those of all rows at once (`work.py`)."""

from dataclasses import dataclass

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn, scale
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from tests.scale import losses
from tests.scale.losses import PARAMS, X, Y, loss, scores, summed


def close(found, expected, rtol=1e-12):
    for a, b in zip(cr.tree.leaves(found), cr.tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("shards", [1, 7, 203, None])
def test_a_mean_of_unequal_shards_is_that_of_all_rows(shards):
    found = scale.value_and_grad(loss, shards=shards, compile=False)(PARAMS, X, Y)
    close(found, cr.value_and_grad(loss)(PARAMS, X, Y))


def test_a_sum(serial):
    found = scale.value_and_grad(summed, how="sum", shards=7, compile=False)(PARAMS, X, Y)
    close(found, cr.value_and_grad(summed)(PARAMS, X, Y))


def test_compiled_is_close_to_interpreted(serial):
    found = scale.value_and_grad(loss, shards=13)
    assert losses.bits(found(PARAMS, X, Y)) == losses.bits(found(PARAMS, X, Y)) == serial["mean"]
    close(found(PARAMS, X, Y), cr.value_and_grad(loss)(PARAMS, X, Y))


def test_what_a_loss_returns_beside_its_value_is_a_mean_too():
    vg = scale.value_and_grad(losses.with_aux, has_aux=True, shards=13, compile=False)
    (value, aux), gradient = vg(PARAMS, X, Y)
    (expected, beside), other = cr.value_and_grad(losses.with_aux, has_aux=True)(PARAMS, X, Y)
    close((value, aux, gradient), (expected, beside, other))


def test_counts_beside_the_value_are_numbers():
    def counted(p, x):
        return np.sum(p * x), np.sum(x > 0)

    vg = scale.value_and_grad(counted, has_aux=True, how="sum", shards=9, compile=False)
    (_, count), _ = vg(1.0, X[:, 0])
    assert count == np.sum(X[:, 0] > 0)


@dataclass
class Line:
    slope: np.ndarray
    shift: float


def test_parameters_in_a_dataclass_of_several_types():
    params = [Line(np.float32([1.0, 2.0]), 0.5), 3.0]

    def line(p, x):
        return np.mean((x @ p[0].slope + p[0].shift * p[1]) ** 2)

    _, found = scale.value_and_grad(line, shards=5, compile=False)(params, X[:, :2])
    assert isinstance(found[0], Line)
    assert found[0].slope.dtype == np.float32
    assert isinstance(found[0].shift, np.float64)
    assert isinstance(found[1], np.float64)
    close(found, cr.grad(line)([Line(params[0].slope, 0.5), 3.0], X[:, :2]), 1e-6)


def test_complex_parameters():
    def power(p, x):
        return np.sum(np.abs(p * x) ** 2)

    found = scale.value_and_grad(power, how="sum", shards=5, compile=False)(1 + 2j, X[:, 0])
    close(found, cr.value_and_grad(power)(1 + 2j, X[:, 0]))


def test_the_gradient_is_of_the_parameters_alone():
    x = X.copy()
    scale.value_and_grad(loss, shards=3, compile=False)(PARAMS, x, Y)
    assert np.array_equal(x, X)


def test_results_are_arrays_of_their_own():
    vg = scale.value_and_grad(loss, shards=3, compile=False)
    _, first = vg(PARAMS, X, Y)
    kept = first["W"].copy()
    first["b"][0][:] = 7.0
    vg(PARAMS, X + 1, Y)
    assert np.array_equal(first["W"], kept)
    assert first["W"].flags.writeable


def test_adding_in_float32_has_the_bits_of_one_tree():
    wide = losses.WIDE.astype(np.float32)
    exact = cr.value_and_grad(losses.wide)(losses.WIDE, X, Y)[1]
    vg = scale.value_and_grad(losses.wide, dtype="float32", shards=5, compile=False)
    _, found = vg(wide, X, Y)
    assert found.dtype == np.float32
    close(found, exact, 1e-3)


def test_hessian_vector_products():
    found = scale.hvp(loss, shards=13, compile=False)(PARAMS, PARAMS, X, Y)
    close(found, cr.hvp(lambda p: loss(p, X, Y), (PARAMS,), (PARAMS,)), 1e-9)
    pair = (PARAMS["W"], PARAMS["b"])
    found = scale.hvp(lambda p, x: scores({"W": p[0], "b": p[1]}, x).mean(), compile=False)
    assert isinstance(found(pair, pair, X), tuple)


def test_jacobians_have_a_row_for_each_row():
    found = scale.jacobian(scores, shards=13, compile=False)(PARAMS, X)
    close(found, cr.jacobian(scores)(PARAMS, X))
    with pytest.raises(ShapeError, match="something for each row"):
        scale.jacobian(lambda p, x: np.sum(scores(p, x), axis=0), compile=False)(PARAMS, X)


def test_minimize_is_minimise_of_all_rows():
    def squares(p, x):
        return np.mean((x[:, :4] @ p["w"] + p["c"] - x[:, 4]) ** 2)

    start = {"w": np.zeros(4), "c": 0.0}
    found = scale.minimize(squares, start, X, shards=6, compile=False)
    assert found.success
    close(found.parameters, learn.minimise(squares, start, X, compile=False).parameters, 1e-4)


def test_map_keeps_the_order():
    assert scale.map(losses.square, [3, 1, 2]) == [9, 1, 4]
    assert scale.map(losses.square, []) == []


def test_a_loss_that_raises_keeps_its_line():
    vg = scale.value_and_grad(losses.raises_on_large, shards=203, compile=False)
    says = r"shard 170 of 203, rows 170 to 170.*KeyError: 'no such row'\n.*losses.py:\d+ in raises"
    with pytest.raises(scale.ScaleError, match=says) as caught:
        vg(PARAMS, X, Y)
    failure = caught.value.failure
    assert (failure.shard, failure.kind) == (170, "KeyError")
    assert "Traceback" in failure.trace
    assert isinstance(caught.value.__cause__, KeyError)


def test_bits_that_would_depend_on_the_workers_are_refused():
    """Above 16 branches the rest runs as plain Python, and which ones are the rest depends."""

    def many(p, x):
        total = np.sum(p * x)
        for k in range(20):
            if x[0] > k:
                total = total * 1.5
        return total

    vg = scale.value_and_grad(many, shards=40)
    with (
        pytest.warns(RuntimeWarning, match="more than 16 branches"),
        pytest.raises(scale.ScaleError, match="Pass compile=False"),
    ):
        vg(1.0, np.arange(40.0))
    found = scale.value_and_grad(many, shards=40, compile=False)(1.0, np.arange(40.0))
    x = np.arange(40.0)
    close(found, (np.mean(x * 1.5 ** np.minimum(x, 20)),) * 2)


def test_what_cannot_be_compiled_at_all_has_the_bits_of_plain_python():
    def with_an_effect(p, x):
        seen.append(len(x))
        return np.sum(p * x)

    seen = []
    vg = scale.value_and_grad(with_an_effect, how="sum", shards=6)
    with pytest.warns(RuntimeWarning, match="runs as plain Python"):
        found = vg(1.0, X[:, 0])
    plain = scale.value_and_grad(with_an_effect, how="sum", shards=6, compile=False)
    assert losses.bits(found) == losses.bits(plain(1.0, X[:, 0]))


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: scale.value_and_grad(loss, how="median"), ArgumentError, "mean, sum"),
        (lambda: scale.value_and_grad(loss, dtype="int8"), ArgumentError, "float64, float32"),
        (lambda: scale.value_and_grad(loss, shards=0), ArgumentError, "at least 1"),
        (lambda: scale.value_and_grad(loss, engine="mpi"), ArgumentError, r"scale.mpi\(\)"),
        (lambda: scale.value_and_grad(3), ArgumentError, "a function of"),
        (lambda: scale.value_and_grad(loss)({"W": "x"}, X, Y), DTypeError, r"params\['W'\] .*text"),
        (
            lambda: scale.value_and_grad(losses.aux_of_rows, has_aux=True, compile=False, shards=4)(
                PARAMS, X, Y
            ),
            scale.ScaleError,
            "return sums over rows",
        ),
        (
            lambda: scale.value_and_grad(scores, compile=False, shards=4)(PARAMS, X),
            scale.ScaleError,
            "one scalar output",
        ),
    ],
)
def test_bad_calls(call, kind, says):
    with pytest.raises(kind, match=says):
        call()

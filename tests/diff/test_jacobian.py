"""jacobian, hessian (`units.py`): shapes, containers, both modes, how many walks they take."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.diff import units
from chainrule.diff.call import Call

Pair = namedtuple("Pair", "a b")
MODES = ["auto", "reverse", "forward"]
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
rng = np.random.default_rng(0)


@given(shapes, shapes, st.sampled_from(MODES))
def test_shape_is_that_of_the_output_and_then_of_the_input(inside, outside, mode):
    """f(x)ᵢ = Σⱼ Wᵢⱼ·sin xⱼ with i and j over any axes: the Jacobian is W·cos x."""
    W = rng.standard_normal((*outside, *inside))
    x = rng.standard_normal(inside)

    def f(x):
        return np.tensordot(W, np.sin(x), axes=len(inside))

    found = cr.jacobian(f, mode=mode)(x)
    assert found.shape == outside + inside
    np.testing.assert_allclose(found, W * np.cos(x), rtol=1e-13)


def several(p, y):
    return {"s": p.a * y[:1], "t": (np.sum(p.a) * p.b, y**2)}


@pytest.mark.parametrize("mode", MODES)
def test_containers_nest_output_first(mode):
    p, y = Pair(np.array([2.0, 3.0]), 5.0), np.array([7.0, 11.0, 13.0])
    found = cr.jacobian(several, (0, 1), mode)(p, y)
    by_p, by_y = found["s"]
    np.testing.assert_array_equal(by_p.a, 7.0 * np.eye(2))
    np.testing.assert_array_equal(by_p.b, [0.0, 0.0])
    np.testing.assert_array_equal(by_y, [[2.0, 0, 0], [3.0, 0, 0]])
    by_p, by_y = found["t"][0]
    np.testing.assert_array_equal(by_p.a, [5.0, 5.0])
    assert by_p.b == 5.0
    np.testing.assert_array_equal(by_y, np.zeros(3))
    by_p, by_y = found["t"][1]
    assert (by_p.a.shape, by_p.b.shape) == ((3, 2), (3,))
    np.testing.assert_array_equal(by_y, np.diag(2 * y))
    np.testing.assert_array_equal(cr.jacobian(several, -1, mode)(p, y)["t"][1], np.diag(2 * y))


@pytest.mark.parametrize("mode", MODES)
def test_scalars_keywords_constants_and_empty_arrays(mode):
    assert cr.jacobian(lambda x, *, k: x**k, mode=mode)(2.0, k=3) == 12.0
    partly = cr.jacobian(lambda x: (x, np.ones(2), 3, np.argmax(x)), mode=mode)(np.zeros(3))
    np.testing.assert_array_equal(partly[0], np.eye(3))
    np.testing.assert_array_equal(partly[1], np.zeros((2, 3)))
    np.testing.assert_array_equal(partly[2:], np.zeros((2, 3)))
    J = cr.jacobian(lambda x: np.sum(x) * np.ones(4), mode=mode)
    assert J(np.zeros((0, 2))).shape == (4, 0, 2)
    assert cr.jacobian(lambda x: x[:0], mode=mode)(np.ones(3)).shape == (0, 3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "n",
    [
        3,
        None,
        np.array([[1, 0]]),
    ],
)
def test_a_leaf_without_derivative_gets_zeros_of_its_own_shape(mode, n):
    found = cr.jacobian(lambda p: p["w"] * 2.0, mode=mode)({"w": np.ones(2), "n": n})
    np.testing.assert_array_equal(found["w"], 2 * np.eye(2))
    if n is None:
        assert found["n"] is None
    else:
        np.testing.assert_array_equal(found["n"], np.zeros((2, *np.shape(n))))


@pytest.mark.parametrize("mode", MODES)
def test_types(mode):
    assert cr.jacobian(np.sin, mode=mode)(np.ones(2, np.float32)).dtype == np.float32
    z = np.array([1 + 2j, 1j])
    found = cr.jacobian(lambda z: np.stack([z[0] * z[1], z[0] ** 2]), mode=mode, holomorphic=True)(
        z
    )
    np.testing.assert_allclose(found, [[z[1], z[0]], [2 * z[0], 0]])
    for f, at in [(np.real, z), (lambda x: x * 1j, np.ones(2))]:
        with pytest.raises(cr.DerivativeError, match=r"split it with np\.real.*holomorphic=True"):
            cr.jacobian(f, mode=mode)(at)


@pytest.mark.parametrize("mode", MODES)
def test_the_result_is_the_caller_s_own(mode):
    x = np.ones(2)
    J = cr.jacobian(lambda x: (x, x[::-1]), mode=mode)
    for block in J(x):
        block[...] = 9.0
    np.testing.assert_array_equal(J(x)[0], np.eye(2))


@pytest.mark.parametrize("mode", MODES)
def test_a_jacobian_can_be_differentiated(mode):
    def total(x):
        return np.sum(cr.jacobian(lambda y: y**2 * x, mode=mode)(x) * np.array([[1.0, 5], [5, 10]]))

    np.testing.assert_allclose(cr.grad(total)(np.array([1.0, 2.0])), [4.0, 80.0])
    v = cr.variable(2.0)
    found = cr.jacobian(lambda y: y * y * v, mode=mode)(np.array([1.0, 3.0]))
    np.sum(found).backward()
    assert v.grad == 8.0


# ---- the number of walks ------------------------------------------------------------------------


@pytest.fixture
def walks(monkeypatch):
    """Counts of reverse and forward walks."""
    counts = {"pull": 0, "push": 0}
    for name in counts:
        walk = getattr(Call, name)

        def counted(*args, name=name, walk=walk):
            counts[name] += 1
            return walk(*args)

        monkeypatch.setattr(Call, name, counted)
    return counts


@pytest.mark.parametrize(
    ("inputs", "outputs", "mode", "pull", "push"),
    [
        (2, 5, "auto", 0, 2),
        (5, 2, "auto", 2, 0),
        (3, 3, "auto", 3, 0),
        (5, 2, "forward", 0, 1),  # more than four are one sweep of lanes
        (2, 5, "reverse", 1, 0),
        (0, 2, "auto", 0, 0),
    ],
)
def test_auto_takes_the_fewer_walks(walks, inputs, outputs, mode, pull, push):
    W = np.ones((outputs, inputs))
    cr.jacobian(lambda x: W @ x, mode=mode)(np.ones(inputs))
    assert walks == {"pull": pull, "push": push}


def test_auto_counts_every_leaf_of_the_containers(walks):
    def f(p):
        return p["x"] * 2.0, np.sum(p["y"]), np.ones(50)  # what does not depend on p costs nothing

    cr.jacobian(f)({"x": 1.0, "y": np.ones(7), "n": np.arange(90)})
    assert walks == {"pull": 2, "push": 0}


def test_the_function_is_called_once():
    calls = []

    def f(x):
        calls.append(1)
        return np.outer(x, x)

    for mode in MODES:
        calls.clear()
        cr.jacobian(f, mode=mode)(np.ones(3))
        assert len(calls) == 1
    calls.clear()
    cr.hessian(lambda x: np.sum(f(x)))(np.ones(3))
    assert len(calls) == 1


# ---- hessian -----------------------------------------------------------------------------------


def test_hessian_of_containers_and_several_arguments():
    def f(p, z):
        return p["a"] ** 2 * np.sum(p["b"] ** 3) * z

    b = np.array([1.0, 2.0])
    H = cr.hessian(f)({"a": 2.0, "b": b}, 1.0)
    assert H["a"]["a"] == 18.0
    np.testing.assert_allclose(H["a"]["b"], 12.0 * b**2)
    np.testing.assert_allclose(H["b"]["a"], 12.0 * b**2)
    np.testing.assert_allclose(H["b"]["b"], np.diag(24.0 * b))
    both = cr.hessian(f, (0, 1))({"a": 2.0, "b": b}, 1.0)
    assert both[1][0]["a"] == both[0]["a"][1] == 36.0
    assert both[1][1] == 0.0
    assert cr.hessian(lambda x, y: x**2 * y**3, -1)(2.0, 3.0) == 72.0


def test_hessian_shapes():
    x = rng.standard_normal((2, 3))
    H = cr.hessian(lambda x: np.sum(x**3))(x)
    assert H.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(H.reshape(6, 6), np.diag(6 * x.ravel()))
    np.testing.assert_array_equal(cr.hessian(np.sum)(np.ones(2)), np.zeros((2, 2)))
    assert cr.hessian(np.sum)(np.zeros(0)).shape == (0, 0)


def test_refusals():
    with pytest.raises(cr.ArgumentError, match="mode 'rev': choose one of auto, reverse, forward"):
        cr.jacobian(np.sin, mode="rev")
    with pytest.raises(cr.ShapeError, match=r"one scalar output.*shape \(2,\)"):
        cr.hessian(np.sin)(np.ones(2))
    with pytest.raises(cr.DerivativeError, match="complex"):
        cr.hessian(lambda z: np.abs(z) ** 2)(1 + 2j)


def test_sparse_is_refused_clearly_until_it_exists():
    for transform in (cr.jacobian, cr.hessian):
        with pytest.raises(cr.ArgumentError, match=r"sparse .* not available"):
            transform(np.sin, sparse=True)


def test_the_report_says_mode_and_chunk_of_the_last_call():
    jacobian = cr.jacobian(lambda x: {"a": np.tanh(x), "b": np.sum(x)})
    assert jacobian.report() == "not called yet"
    jacobian(np.ones((2, 3)))
    assert jacobian.report() == "forward mode, 6 columns at once"
    rows = cr.jacobian(lambda x: (x * 2, np.sum(x)), mode="reverse", chunk=4)
    rows(np.ones(10))
    assert rows.report() == "reverse mode, 10 rows, 4 at a time\nreverse mode, 1 row at once"
    few = cr.hessian(lambda x: np.sum(x**3))
    few(np.ones(3))
    assert few.report() == "forward mode, 3 columns, one at a time"
    diagonal = cr.diag_hessian(lambda x: np.sum(x**3), chunk=2)
    diagonal(np.ones(5))
    assert diagonal.report() == "forward mode, 5 columns, 2 at a time"


def test_the_chunk_is_bounded_by_memory(monkeypatch):
    monkeypatch.setattr(units, "CHUNK_BYTES", 8 * 20)
    monkeypatch.setattr(units, "MEMORY_BYTES", 8 * 50)
    found = {}
    for n in (5, 10, 30, 60):
        jacobian = cr.jacobian(np.tanh)
        jacobian(np.ones(n))
        found[n] = jacobian.report().rpartition(",")[2]
    assert found == {
        5: " 5 rows at once",
        10: " 5 at a time",
        30: " one at a time",
        60: " one at a time",
    }

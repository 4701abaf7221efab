"""One run of a traced graph: values, adjoints, contributions, local Jacobians, statuses, errors."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import ZERO
from tests.ops.table import at_double, case_of

x0 = np.array([0.3, 0.7, 1.1])
A0 = np.arange(6.0).reshape(2, 3) / 5


def network(A, x):
    h = np.tanh(A @ x)
    return np.sum(h**2) + x[0]


def ops_of(graph):
    return {n.op.name: n for n in graph.nodes if not n.is_leaf}


# ---- values ------------------------------------------------------------------------------------


def test_forward_at_another_point_is_the_function_there():
    graph = cr.trace(network, A0, x0)
    for shift in (0.0, 0.5, -2.0):
        run = graph.forward(A0 + shift, x0 - shift)
        np.testing.assert_allclose(run.outputs, network(A0 + shift, x0 - shift), rtol=1e-15)
        tanh = run.value(ops_of(graph)["tanh"])
        np.testing.assert_allclose(tanh, np.tanh((A0 + shift) @ (x0 - shift)), rtol=1e-15)
        found = run.backward().adjoint("A"), run.adjoint("x")
        expected = cr.grad(network, (0, 1))(A0 + shift, x0 - shift)
        for f, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(f, e, rtol=1e-14)


def test_every_adjoint_is_the_derivative_of_the_output_by_that_node():
    graph = cr.trace(network, A0, x0)
    run = graph.forward(A0, x0).backward()
    h = ops_of(graph)["tanh"]
    rest = cr.grad(lambda h: np.sum(h**2))(run.value(h))
    np.testing.assert_allclose(run.adjoint(h), rest, rtol=1e-15)
    assert run.adjoint(graph.outputs[0]) == 1.0
    for node in graph.nodes:
        assert np.shape(run.adjoint(node)) == node.shape
        parts = [np.reshape(run.contribution(node, c), -1) for c in graph.children(node)]
        if parts:
            np.testing.assert_allclose(np.reshape(run.adjoint(node), -1), sum(parts), rtol=1e-14)


def test_contribution_is_adjoint_times_local_jacobian_for_arrays():
    graph = cr.trace(network, A0, x0)
    run = graph.forward(A0, x0).backward()
    for parent, child in graph.edges:
        matrix = run.local_jacobian(parent, child)
        assert matrix.shape == (child.size, parent.size)
        product = np.reshape(run.adjoint(child), -1) @ matrix
        np.testing.assert_allclose(np.reshape(run.contribution(parent, child), -1), product)


def test_a_node_used_twice_by_one_child_is_one_edge():
    graph = cr.trace(lambda x: x * x, 3.0)
    run = graph.forward(3.0).backward()
    (edge,) = graph.edges
    assert run.local_jacobian(*edge) == [[6.0]]
    assert run.contribution(*edge) == 6.0


# ---- one op at a time: the local Jacobian is the op's own ----------------------------------------


def single_array_cases():
    """Real samples of one floating array and one result, for a random choice of sixty ops."""
    found = []
    for op in cr.OPS.values():
        for sample in map(at_double, op.samples()):
            case = case_of(op, sample)
            if op.expand is not None or op.derivative is ZERO or op.outputs != 1 or not case.places:
                continue
            small = max(p.size for p in case.point) <= 12
            if small and {v.dtype.name for v in (*case.point, *case(*case.point))} == {"float64"}:
                found.append((op, case))
                break
    chosen = np.random.default_rng(0).permutation(len(found))[:60]
    return [pytest.param(found[i][1], id=found[i][0].name) for i in chosen]


@pytest.mark.parametrize("case", single_array_cases())
def test_local_jacobian_is_the_jacobian_of_the_op(case):
    graph = cr.trace(lambda *arrays: case(*arrays)[0], *case.point)
    node = graph.outputs[0]
    run = graph.forward(*case.point)
    for i, leaf in enumerate(graph.leaves):
        expected = cr.jacobian(lambda *arrays: case(*arrays)[0], i, "forward")(*case.point)
        if leaf not in graph.parents(node):
            np.testing.assert_array_equal(expected, 0.0)
            continue
        found = run.local_jacobian(leaf, node)
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-10, atol=1e-12)


# ---- inputs and outputs ------------------------------------------------------------------------


def several(p):
    return {"total": p["a"] * np.sum(p["b"]), "shifted": [p["b"] + p["a"]]}


def test_containers_in_and_out_and_a_seed_per_output():
    point = {"a": 2.0, "b": x0}
    graph = cr.trace(several, point)
    assert [leaf.name for leaf in graph.leaves] == ["p['a']", "p['b']"]
    run = graph.forward({"b": x0 + 1, "a": 3.0})
    np.testing.assert_allclose(run.outputs["shifted"][0], x0 + 4)
    np.testing.assert_allclose(run.outputs["total"], 3 * np.sum(x0 + 1))
    np.testing.assert_array_equal(graph.forward(3.0, x0 + 1).outputs["total"], run.outputs["total"])
    seed = {"total": 10.0, "shifted": [np.array([1.0, 0.0, 5.0])]}
    run.backward(seed)
    np.testing.assert_allclose(run.adjoint("p['b']"), [31.0, 30.0, 35.0])
    np.testing.assert_allclose(run.adjoint("p['a']"), 10 * np.sum(x0 + 1) + 6)


def test_outputs_that_are_leaves_constants_or_the_same_node():
    graph = cr.trace(lambda x, y: (x, 3.0, (z := x * x), z, y), 1.0, 2.0)
    run = graph.forward(4.0, 5.0)
    assert run.outputs == (4.0, 3.0, 16.0, 16.0, 5.0)
    run.backward((1.0, 7.0, 10.0, 100.0, 0.5))
    assert run.adjoint("x") == 1.0 + 110.0 * 8.0
    assert run.adjoint("y") == 0.5


def test_captured_variables_are_leaves_with_their_value():
    v = cr.variable(4.0, name="v")
    w = v * 2.0
    graph = cr.trace(lambda x: x * v * v * w, 3.0)
    assert len(graph.leaves) == 1
    run = graph.forward(5.0).backward()
    assert run.outputs == 5.0 * 16.0 * 8.0
    assert run.adjoint("v") == 2 * 5.0 * 4.0 * 8.0, "w was made before: it is captured by itself"
    assert run.adjoint("x") == 128.0
    assert v.grad is None


def test_backward_again_starts_afresh():
    run = cr.trace(lambda x: x * 2.0, x0).forward(x0)
    run.backward(np.ones(3))
    assert run.backward(10 * np.ones(3)) is run
    np.testing.assert_array_equal(run.adjoint("x"), [20.0, 20.0, 20.0])


def test_what_a_run_hands_out_is_its_own():
    graph = cr.trace(lambda x: np.sum(x * x), x0)
    point = x0.copy()
    run = graph.forward(point)
    point[0] = 99.0
    np.testing.assert_array_equal(run.backward().adjoint("x"), 2 * x0)


def test_writing_into_a_result_does_not_change_the_run():
    run = cr.trace(lambda x: np.sum(x * x), x0).forward(x0).backward()
    for result in (run.value("x"), run.adjoint("x")):
        if result.flags.writeable:
            result[0] = 99.0
    np.testing.assert_array_equal(run.backward().adjoint("x"), 2 * x0)
    np.testing.assert_array_equal(run.value("x"), x0)


# ---- statuses ----------------------------------------------------------------------------------


def test_status_of_array_nodes():
    def f(x, y, z, n):
        chosen = np.where(x > 0.5, x, y)
        return np.sum(chosen[n]) + np.sum(np.floor(z))

    n = np.array([1, 2])
    graph = cr.trace(f, x0, x0, x0, n)
    run = graph.forward(x0, x0, x0, n).backward()
    named = ops_of(graph)
    statuses = ["value", "structural zero", "structural zero", "integer"]
    assert [run.status(leaf) for leaf in "xyzn"] == statuses
    assert run.status(named["greater"]) == "integer"
    assert run.status(named["where"]) == run.status(named["add"]) == "value"


def test_kink_depends_on_the_point():
    graph = cr.trace(lambda x: np.sum(np.abs(x)), x0)
    assert graph.forward(x0).backward().status("x") == "value"
    assert graph.forward(np.array([1.0, 0.0, 2.0])).backward().status("x") == "kink"


def test_a_kink_in_a_lane_that_does_not_matter_is_none():
    graph = cr.trace(lambda x: np.abs(x)[1], x0)
    run = graph.forward(np.array([0.0, 1.0, 2.0])).backward()
    assert run.status("x") == "value"


# ---- ops with several results -------------------------------------------------------------------


def eigenvalue(A):
    return np.linalg.eigh(A)[0][0]


def test_the_adjoint_passes_through_an_op_with_several_results():
    S = np.array([[2.0, 1.0], [1.0, 3.0]])
    graph = cr.trace(eigenvalue, S)
    run = graph.forward(S).backward()
    np.testing.assert_allclose(run.adjoint("A"), cr.grad(eigenvalue)(S))
    pair = graph.children("A")[0]
    np.testing.assert_allclose(run.contribution("A", pair), run.adjoint("A"))
    with pytest.raises(cr.DerivativeError, match="several results"):
        run.local_jacobian("A", pair)


def test_a_node_with_several_results_shows_no_internals():
    S = np.array([[2.0, 1.0], [1.0, 3.0]])
    graph = cr.trace(eigenvalue, S)
    run = graph.forward(S).backward()
    pair = graph.children("A")[0]
    assert run.status(pair) == "value"
    assert isinstance(run.adjoint(pair), tuple)
    with pytest.raises(cr.DerivativeError, match="several results"):
        run.local_jacobian(pair, graph.children(pair)[0])


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ((x0,), cr.ArgumentError, "network takes 2 arguments, got 1"),
        ((A0, x0, x0), cr.ArgumentError, "2 arguments, got 3"),
        ((A0, x0[:2]), cr.ShapeError, r"leaf x was recorded with shape \(3,\), got \(2,\)"),
        ((A0, [x0]), cr.ArgumentError, "structure"),
        ((A0, None), cr.ArgumentError, "structure"),
        ((A0, "text"), cr.ArgumentError, "2 leaves, got 1"),
        pytest.param((A0, 1j * x0), cr.DTypeError, "leaf x"),
    ],
)  # fmt: skip
def test_bad_values(values, error, says):
    with pytest.raises(error, match=says):
        cr.trace(network, A0, x0).forward(*values)


def test_an_op_that_fails_at_another_point_is_named_with_its_line():
    graph = cr.trace(lambda A: np.linalg.inv(A), np.eye(2))
    with pytest.raises(cr.ChainruleError, match=r"inv failed: Singular[\s\S]*np\.linalg\.inv\(A\)"):
        graph.forward(np.zeros((2, 2)))


def test_bad_seeds_and_nodes():
    graph = cr.trace(lambda x: (x * 2.0, np.sum(x)), x0)
    run = graph.forward(x0)
    with pytest.raises(cr.GraphError, match=r"run\.backward\(\) first"):
        run.adjoint("x")
    with pytest.raises(cr.ShapeError, match=r"needs a seed: .*\(3,\), \(\)"):
        run.backward()
    with pytest.raises(cr.ArgumentError, match="2 outputs need as many seeds, got 1"):
        run.backward((np.ones(3),))
    with pytest.raises(cr.ShapeError, match=r"seed has shape \(2,\), the output \(3,\)"):
        run.backward((np.ones(2), 1.0))
    with pytest.raises(cr.GraphError, match="there is no edge from"):
        run.backward((np.ones(3), 1.0)).contribution(*graph.outputs)
    with pytest.raises(cr.GraphError, match="'q'; the named ones: x"):
        run.value("q")
    with pytest.raises(cr.GraphError, match="not a node of this graph"):
        run.value(cr.variable(1.0).node)
    index = cr.trace(lambda x: np.argmax(x), x0).forward(x0)
    with pytest.raises(cr.DerivativeError, match="int64 and has no derivative"):
        index.backward()


def test_a_cut_node_has_its_own_adjoint():
    """floor(x) hands nothing on to x, yet the output depends on it."""
    graph = cr.trace(lambda x, y: y * (2.0 * np.floor(x)), 2.5, 3.0)
    run = graph.forward(2.5, 3.0).backward()
    floor, doubled = graph.nodes[2:4]
    assert [n.op.name for n in (floor, doubled)] == ["floor", "multiply"]
    assert (run.adjoint(doubled), run.adjoint(floor), run.adjoint("x")) == (3.0, 6.0, 0.0)
    assert [run.status("x"), run.status(floor)] == ["structural zero", "value"]
    assert run.contribution(doubled, graph.outputs[0]) == 3.0
    np.testing.assert_array_equal(run.local_jacobian(floor, doubled), [[2.0]])


def test_the_numbers_of_a_run_are_read_of_what_it_is_given():
    """A compiled function that runs a graph on its own values gives no first answer for ever."""

    def f(x):
        run = cr.trace(lambda v: np.sum(v**2), x).forward(x)
        return np.sum(x) * float(run.outputs)

    fast = cr.compile(f)
    for x in (np.ones(2), np.array([2.0, -3.0]), np.ones(2)):
        assert fast(x) == f(x)

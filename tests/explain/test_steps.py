"""Stepping (`numbers.py`): each order against the run, the recursion wrong where it says so."""

import json
from collections import deque

import numpy as np
import pytest

import chainrule as cr
from chainrule.explain.numbers import as_json
from chainrule.explain.steps import ORDERS, Step

RIGHT = ("sorted", "data-driven")


def shared(x):
    w = x * x
    u1 = 3.0 * w
    u2 = np.sin(w)
    return u1 * u2


def random_function(rng):
    """A random scalar program of two arguments, with shared nodes."""
    ops = [np.add, np.multiply, np.subtract, np.sin, np.tanh, np.maximum]
    plan = [(ops[rng.integers(len(ops))], *rng.random(2)) for _ in range(rng.integers(1, 12))]

    def f(x, y):
        known = [x, y]
        for op, a, b in plan:
            args = [known[int(a * len(known))], known[int(b * len(known))]][: op.nin]
            known.append(op(*args))
        return known[-1] + known[-2]

    return f


def final_adjoints(steps):
    return {s.node: s.adjoint for s in steps if s.kind == "backward"}


def same(a, b, rtol=1e-12):
    for p, q in zip(*[v if isinstance(v, tuple) else (v,) for v in (a, b)], strict=True):
        np.testing.assert_allclose(p, q, rtol=rtol, atol=1e-13)


def eigen(a):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(w**2) + v[0, 0]


def masked(x):
    return np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)) + np.max(x)


def cut(x, y):
    return np.sum(np.exp(np.floor(x)) * y)


def packed(params, scale):
    return np.sum(params["w"] @ params["b"]) * scale


CASES = {
    "scalars": (shared, (1.3,)),
    "arrays": (lambda W, x: np.sum(np.tanh(W @ x) ** 2), (np.ones((3, 4)) / 3, np.arange(4.0))),
    "broadcast": (lambda x, y: np.sum(x[:, None] * y + x[0]), (np.arange(3.0), np.arange(4.0))),
    "several results": (eigen, (np.array([[2.0, 1.0], [0.5, 3.0]]),)),
    "structural zeros": (masked, (np.array([-1.0, 0.0, 2.0]),)),
    "a cut path": (cut, (np.array([1.5, 2.5]), np.array([1.0, 3.0]))),
    "complex": (lambda z: np.real(np.sum(z * z * 2j)), (np.array([1 + 2j, 3j]),)),
    "float32": (lambda x: np.sum(np.sin(x)), (np.ones(3, np.float32),)),
    "integers": (lambda x, i: np.sum(x[i]) * x[0], (np.arange(4.0), np.array([1, 1, 2]))),
    "containers": (packed, ({"w": np.ones((2, 2)), "b": np.ones(2)}, 2.0)),
    "empty": (lambda x: np.sum(x) + 1.0, (np.zeros(0),)),
    "not finite": (lambda x: np.sum(np.log(x) * 0.0), (np.array([0.0, 1.0]),)),
    "unused": (lambda x, y: x * 2.0, (1.0, 2.0)),
    "the output is the input": (lambda x: x, (1.0,)),
    "one parent twice": (lambda x: np.sin(x) + x * x, (1.7,)),
}


@pytest.mark.parametrize("order", RIGHT)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_each_node_once_each_way_with_the_values_and_adjoints_of_the_run(name, order):
    f, args = CASES[name]
    graph = cr.trace(f, *args)
    run = graph.forward(*args).backward()
    steps = list(graph.steps(*args, order=order))
    assert [s.number for s in steps] == list(range(1, 2 * len(graph) + 1))
    assert graph.steps(*args, order=order).total == len(steps)
    for kind in ("forward", "backward"):
        assert sorted(graph.index[s.node] for s in steps if s.kind == kind) == list(
            range(len(graph))
        )
    for step in steps:
        same(step.value, run.value(step.node))
        if step.kind == "backward":
            same(step.adjoint, run.adjoint(step.node), rtol=1e-6 if name == "float32" else 1e-12)
            assert step.reached or not np.any(step.adjoint)
        assert step.wrong == ""


@pytest.mark.parametrize("order", RIGHT)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nobody_acts_before_it_is_ready(name, order):
    f, args = CASES[name]
    graph = cr.trace(f, *args)
    done = {"forward": set(), "backward": set()}
    for step in graph.steps(*args, order=order):
        needed = graph.parents if step.kind == "forward" else graph.children
        assert set(step.because) == set(needed(step.node)) <= done[step.kind]
        done[step.kind].add(step.node)
        if step.kind == "backward":
            assert len(done["forward"]) == len(graph)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_in_sorted_order_the_adjoints_are_the_runs_to_the_bit():
    for name, (f, args) in CASES.items():
        graph = cr.trace(f, *args)
        run = graph.forward(*args).backward()
        for node, adjoint in final_adjoints(graph.steps(*args)).items():
            assert as_json(adjoint) == as_json(run.adjoint(node)), name


@pytest.mark.parametrize("order", RIGHT)
def test_additions_are_contributions_and_add_up(order):
    rng = np.random.default_rng(3)
    for _ in range(40):
        f, args = random_function(rng), tuple(rng.uniform(0.5, 1.5, 2))
        graph = cr.trace(f, *args)
        run = graph.forward(*args).backward()
        running = {}
        for step in graph.steps(*args, order=order):
            for a in step.additions:
                assert a.child is step.node
                same(a.contribution, run.contribution(a.parent, a.child))
                same(a.contribution, a.child_adjoint * a.local_jacobian[0, 0])
                assert a.local_jacobian == step.local_jacobian(a.parent)
                assert a.before == running.get(a.parent, float(a.parent in graph.outputs))
                assert a.first == (a.parent not in running and a.parent not in graph.outputs)
                same(a.after, a.before + a.contribution)
                running[a.parent] = a.after
        for node, total in running.items():
            same(total, run.adjoint(node))


# ---- the recursion -------------------------------------------------------------------------------


def naive(run):
    """The recursion itself, in five lines."""
    graph, grad, visits = run.graph, dict.fromkeys(run.graph.nodes, 0.0), []
    grad[graph.outputs[0]] = 1.0

    def visit(node):
        visits.append(node)
        for p in graph.parents(node):
            grad[p] += grad[node] * run.local_jacobian(p, node)[0, 0]
        for p in graph.parents(node):
            visit(p)

    visit(graph.outputs[0])
    return grad, visits


def test_row_7_the_recursion_double_counts_and_says_where():
    graph = cr.trace(shared, 1.3)
    run = graph.forward(1.3).backward()
    x, w = graph.nodes[:2]
    back = [s for s in graph.steps(1.3, order="recursive") if s.kind == "backward"]
    assert [s.wrong for s in back if s.node is w] == ["early", "again"]
    assert [s.wrong for s in back if s.node is x] == ["inherited", "inherited"]
    assert not any(s.wrong for s in back if s.node not in (x, w))
    np.testing.assert_allclose(back[-1].adjoint, 13.921672830600306)
    np.testing.assert_allclose(run.adjoint(x), 6.17702435206618)
    assert all(len(s.because) == (s.why == "called") for s in back)


def test_the_recursion_is_the_naive_one_and_wrong_exactly_where_it_is_marked():
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for _ in range(150):
        f, args = random_function(rng), tuple(rng.uniform(0.5, 1.5, 2))
        graph = cr.trace(f, *args)
        run = graph.forward(*args).backward()
        grad, visits = naive(run)
        steps = graph.steps(*args, order="recursive")
        total, steps = steps.total, list(steps)
        back = [s for s in steps if s.kind == "backward"]
        # maximum hands nothing to the branch not taken but a zero, so it is visited all the same
        assert [s.node for s in back] == visits
        assert total == len(steps)
        last = {s.node: s for s in back}
        for node, step in last.items():
            same(step.adjoint, grad[node])
            right = np.isclose(grad[node], run.adjoint(node), rtol=1e-9, atol=1e-12)
            if node.is_leaf and not right:
                assert step.wrong, "a wrong gradient is marked"
            if node.is_leaf and step.wrong == "":
                assert right
            seen[bool(step.wrong)] += 1
        if not any(s.wrong for s in back):
            for node in graph.nodes:
                same(grad[node], run.adjoint(node))
    assert min(seen.values()) > 100


def test_on_a_tree_the_recursion_is_right():
    graph = cr.trace(lambda a, b, c: (a + b**3) * c, 7.0, 3.0, 2.0)
    back = [s for s in graph.steps(7.0, 3.0, 2.0, order="recursive") if s.kind == "backward"]
    assert not any(s.wrong for s in back)
    assert {s.node.name: s.adjoint for s in back if s.node.is_leaf} == {"a": 2, "b": 54, "c": 34}


def test_a_recursion_without_end_is_refused_before_it_starts():
    def doubled(x):
        for _ in range(3000):
            x = np.sin(x) + x
        return x

    graph = cr.trace(doubled, 0.0)
    with pytest.raises(cr.ArgumentError, match=r"more than 1e\+18 times.*sorted' takes 12,002"):
        graph.steps(0.0, order="recursive")
    small = cr.trace(shared, 1.3)
    with pytest.raises(cr.ArgumentError, match=r"visit nodes 7 times.*the limit is 6"):
        small.steps(1.3, order="recursive", limit=6)
    assert small.steps(1.3, order="recursive", limit=7).total == 12


# ---- asking --------------------------------------------------------------------------------------


def test_steps_are_made_as_they_are_asked_for():
    graph = cr.trace(lambda x: np.log(x) * 2.0, 1.0)
    steps = graph.steps(2.0)
    first = next(steps)
    assert isinstance(first, Step)
    assert (first.kind, first.why, first.value) == ("forward", "given", 2.0)
    assert len(list(steps)) == 5
    assert len(list(steps.again())) == 6


@pytest.mark.parametrize("order", ORDERS)
def test_a_long_chain(order):
    def chain(x):
        for _ in range(20_000):
            x = x * 1.0001
        return x

    steps = cr.trace(chain, 1.0).steps(1.0, order=order)
    (last,) = deque(steps, maxlen=1)
    assert last.number == 40_002
    np.testing.assert_allclose(last.adjoint, 1.0001**20_000)


def test_why():
    c = cr.variable(3.0, name="c")
    graph = cr.trace(lambda x, y: x * c + np.float64(2.0), 1.0, 2.0)
    why = {(s.kind, graph.index[s.node]): s.why for s in graph.steps(1.0, 2.0)}
    assert why["forward", 0] == "given"
    assert why["backward", 1] == "no path"
    assert why["forward", 2] == "captured"
    assert why["forward", 3] == "parents"
    assert why["backward", len(graph) - 1] == "seed"
    assert why["backward", 3] == "children"


def test_a_seed():
    graph = cr.trace(lambda x: x * x, np.array([1.0, 2.0]))
    last = list(graph.steps(np.array([1.0, 2.0]), seed=np.array([0.0, 1.0])))[-1]
    np.testing.assert_array_equal(last.adjoint, [0.0, 4.0])


def test_what_is_refused():
    graph = cr.trace(lambda x: x * x, np.array([1.0, 2.0]))
    with pytest.raises(cr.ArgumentError, match="order 'random': choose one of sorted, data-driv"):
        graph.steps(np.ones(2), order="random", seed=np.ones(2))
    with pytest.raises(cr.ShapeError, match="backward needs a seed"):
        graph.steps(np.ones(2))
    with pytest.raises(cr.ShapeError, match="recorded with shape"):
        graph.steps(np.ones(3), seed=np.ones(2))
    integer = cr.trace(lambda x: np.argmax(x), np.ones(2))
    with pytest.raises(cr.DerivativeError, match="has no derivative"):
        integer.steps(np.ones(2))


def test_a_failing_node_is_named_when_its_turn_comes():
    graph = cr.trace(lambda a: np.sum(np.linalg.inv(a)), np.eye(2))
    steps = graph.steps(np.zeros((2, 2)))
    assert next(steps).kind == "forward"
    with pytest.raises(cr.ChainruleError, match=r"Singular[\s\S]*test_steps.py"):
        next(steps)


# ---- as JSON -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_step_is_plain_json(name, order):
    f, args = CASES[name]
    graph = cr.trace(f, *args)
    for step in graph.steps(*args, order=order):
        made = step.to_dict()
        assert json.loads(json.dumps(made, allow_nan=False)) == made
        assert made["node"] == graph.index[step.node]
        if step.kind == "backward":
            assert [a["parent"] for a in made["additions"]] == [
                graph.index[a.parent] for a in step.additions
            ]


def test_the_json_of_a_step():
    graph = cr.trace(shared, 1.5)
    steps = list(graph.steps(1.5))
    assert steps[1].to_dict() == {
        "number": 2, "kind": "forward", "node": 1, "why": "parents", "because": [0], "value": 2.25,
    }  # fmt: skip
    w = steps[8].to_dict()
    assert (w["kind"], w["node"], w["why"], w["because"]) == ("backward", 1, "children", [2, 3])
    (added,) = w["additions"]
    assert (added["parent"], added["before"], added["after"]) == (0, 0.0, added["contribution"])
    assert added["local_jacobian"] == {"shape": [1, 1], "dtype": "float64", "data": [3.0]}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (np.float64(0.1), 0.1),
        (np.float32(0.5), 0.5),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (1 + 2j, {"re": 1.0, "im": 2.0}),
        (None, None),
        ((1.0, np.zeros(0)), {"parts": [1.0, {"shape": [0], "dtype": "float64", "data": []}]}),
        (np.full(65, 1e200), {"shape": [65], "dtype": "float64", "data": None,
                              "norm": 1e200 * np.sqrt(65)}),
    ],
)  # fmt: skip
def test_numbers(value, form):
    found = as_json(value)
    assert found == form
    assert type(found) is type(form)

"""Comparing runs (`gap.py`): the first node that differs, its part in it, how far."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.explain.gap import gap


def f(x, y):
    a = x * 2.0
    b = np.sin(y)
    c = a * b
    return c + np.sum(a)


def runs(f, first, second):
    graph = cr.trace(f, *first)
    return graph.forward(*first).backward(), graph.forward(*second).backward()


def text_of(difference):
    return difference.line.text


# ---- brute force ---------------------------------------------------------------------------------


def random_program(rng, length):
    ops = [np.add, np.multiply, np.subtract, np.sin, np.tanh, np.exp]
    plan = [(ops[rng.integers(len(ops))], *rng.random(2)) for _ in range(length)]

    def f(x, y, z):
        known = [x, y, z]
        for op, a, b in plan:
            args = [known[int(a * len(known))], known[int(b * len(known))]][: op.nin]
            known.append(op(*args))
        return known[-1] + known[0]

    return f


def test_who_differs_and_in_which_role_by_brute_force():
    rng = np.random.default_rng(5)
    for _ in range(60):
        point = rng.uniform(0.2, 0.6, 3)
        moved = point + np.array([0.0, 1e-6, 0.0])[rng.permutation(3)]
        program = random_program(rng, 10)
        a, b = runs(program, tuple(point), tuple(moved))
        diff = cr.diff_runs(a, b)
        graph = a.graph
        expected = [n for n in graph.nodes if a.value(n) != b.value(n)]
        assert [d.node for d in diff.values] == expected
        assert diff.first.node is expected[0]
        assert diff.first.role == "given"
        for d in diff.values:
            differs = any(p in expected for p in graph.parents(d.node))
            assert d.role == ("given" if d.node.is_leaf else "carrier" if differs else "creator")
            assert d.absolute == abs(a.value(d.node) - b.value(d.node))
        back = [n for n in reversed(graph.nodes) if a.adjoint(n) != b.adjoint(n)]
        assert [d.node for d in diff.adjoints] == back
        for d in diff.adjoints:
            differs = any(c in back for c in graph.children(d.node))
            assert d.role == ("carrier" if differs else "creator")


def test_equal_runs():
    a, b = runs(f, (1.0, 2.0), (1.0, 2.0))
    diff = cr.diff_runs(a, b)
    assert not diff
    assert diff.first is None
    assert diff.steepest is None
    assert str(diff).splitlines() == [
        "0 of 7 values differ   (rtol 0, atol 0)",
        "0 of 7 adjoints differ   (rtol 0, atol 0)",
    ]


# ---- other input, other dtype --------------------------------------------------------------------


def cancels(x):
    big = x + 1e4
    d = big - 1e4
    return np.sum(d * d)


def test_float32_against_float64_names_the_subtraction():
    x = np.array([0.1, 0.2, 0.3])
    fine, coarse = cr.trace(cancels, x), cr.trace(cancels, x.astype(np.float32))
    a = fine.forward(x).backward()
    b = coarse.forward(x.astype(np.float32)).backward()
    diff = cr.diff_runs(a, b)
    assert diff.rtol == 16 * np.finfo(np.float32).eps
    assert text_of(diff.first) == "d = big - 1e4"
    assert diff.first.role == "creator"
    assert diff.first.ulps > 100
    assert [text_of(d) for d in diff.values[:2]] == ["d = big - 1e4", "return np.sum(d * d)"]
    assert diff.steepest is diff.first
    swapped = cr.diff_runs(b, a).first
    assert coarse.index[swapped.node] == fine.index[diff.first.node]
    assert swapped.growth == diff.first.growth


def test_a_wider_tolerance_finds_nothing():
    x = np.array([0.1, 0.2, 0.3])
    a = cr.trace(cancels, x).forward(x)
    b = cr.trace(cancels, x.astype(np.float32)).forward(x.astype(np.float32))
    assert not cr.diff_runs(a, b, rtol=0.05)
    assert not cr.diff_runs(a, b, rtol=0.0, atol=0.1)
    assert cr.diff_runs(a, b, rtol=0.0).first.role == "given"


def test_values_agree_and_adjoints_do_not():
    graph = cr.trace(lambda x: x * 3.0, 1.0)
    a, b = graph.forward(2.0).backward(1.0), graph.forward(2.0).backward(1.5)
    diff = cr.diff_runs(a, b)
    assert diff.values == ()
    assert [(d.kind, d.role) for d in diff.adjoints] == [
        ("adjoint", "given"), ("adjoint", "carrier"),
    ]  # fmt: skip
    assert diff.first is diff.adjoints[0]
    assert (diff.first.a, diff.first.b, diff.first.absolute) == (1.0, 1.5, 0.5)


def test_a_constant_that_differs_is_created_at_its_node():
    def make(mask):
        return lambda x: np.sum((x + 1.0) * mask)

    x = np.ones(3)
    a, b = (cr.trace(make(np.array(m)), x).forward(x) for m in ([1.0, 0, 1], [1.0, 1, 1]))
    diff = cr.diff_runs(a, b)
    assert diff.first.role == "creator"
    assert diff.first.node.op.name == "multiply"
    assert diff.first.lane == (1,)
    assert diff.first.relative == 1.0
    assert not diff.compared_adjoints
    assert "adjoints not compared" in str(diff)


@pytest.mark.parametrize(
    ("f", "first", "second"),
    [
        (lambda z: np.abs(z * 1j), 1 + 2j, 1 + 3j),
        (lambda a: np.linalg.eigh(a)[0], np.diag([1.0, 2.0]), np.diag([1.0, 3.0])),
        (lambda x: np.log(x), np.array([0.0, 1.0]), np.array([0.0, 2.0])),
        (lambda x: np.log(x), np.array([-1.0, 1.0]), np.array([1.0, 1.0])),
        (lambda x, i: np.sum(x[i]), (np.arange(3.0), np.array([0, 1])),
         (np.arange(3.0), np.array([0, 2]))),
        (lambda p: p["w"] * p["b"], {"w": 1.0, "b": 2.0}, {"w": 1.0, "b": 3.0}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kinds_of_values(f, first, second):
    first, second = (v if isinstance(v, tuple) else (v,) for v in (first, second))
    graph = cr.trace(f, *first)
    diff = cr.diff_runs(graph.forward(*first), graph.forward(*second))
    assert diff.first.role == "given"
    assert diff.first.absolute > 0
    assert str(diff)


def test_empty_arrays_and_captured_variables():
    c = cr.variable(2.0)
    graph = cr.trace(lambda x: np.sum(x) * c, np.zeros(0))
    assert not cr.diff_runs(graph.forward(np.zeros(0)), graph.forward(np.zeros(0)))


# ---- how far -------------------------------------------------------------------------------------


def test_gap():
    one = 1.0 + np.finfo(float).eps
    assert gap(1.0, 1.0) is None
    assert gap(np.nan, np.nan) is None
    assert gap(np.zeros(0), np.zeros(0)) is None
    assert gap(1.0, one).ulps == 1.0
    assert gap(np.float32(1), np.float64(1 + 2**-23)).ulps == 1.0
    assert gap(np.inf, np.inf) is None
    assert gap(np.inf, 1.0).absolute == np.inf
    assert gap(np.nan, 1.0).relative == np.inf
    assert gap(np.nan, 1.0, rtol=1.0).beyond
    assert gap(np.array([1, 2]), np.array([1, 4])).ulps is None
    assert gap(np.array([0.0, 1.0]), np.array([1e-30, 1.5])).lane == (0,)
    assert gap((1.0, np.array([1.0, 2.0])), (1.0, np.array([1.0, 3.0]))).lane == (1, 1)
    assert not gap(1.0, one, rtol=1e-15).beyond
    assert gap(1.0, one, rtol=1e-17).beyond
    assert gap(1e300, -1e300).relative == 2.0
    assert gap(True, False).absolute == 1.0


# ---- not one graph -------------------------------------------------------------------------------


def branch(x):
    if x > 0:
        return np.sin(x) * 2.0
    return np.cos(x) * 2.0


def test_another_branch_is_named():
    a, b = (cr.trace(branch, x).forward(x) for x in (1.0, -1.0))
    with pytest.raises(cr.GraphError) as caught:
        cr.diff_runs(a, b)
    said = str(caught.value)
    assert "node %1 is\n  sin %0 []    test_compare.py:" in said
    assert "return np.cos(x) * 2.0" in said


@pytest.mark.parametrize(
    ("f", "g", "says"),
    [
        (lambda x: x * 2.0, lambda x: x * 2.0 + 1.0, "they have 2 and 3 nodes"),
        (lambda x: np.sum(x), lambda x: np.sum(x, axis=0), "node %1 is"),
        (lambda x: (x * 1.0, np.sin(x)), lambda x: (np.sin(x), x * 1.0), "node %1 is"),
        (lambda x: x[0] - x[1], lambda x: x[1] - x[0], "node %1 is"),
    ],
)
def test_other_graphs_are_refused(f, g, says):
    x = np.array([1.0, 2.0])
    with pytest.raises(cr.GraphError, match="no two runs of one graph") as caught:
        cr.diff_runs(cr.trace(f, x).forward(x), cr.trace(g, x).forward(x))
    assert says in str(caught.value)


def test_shapes_and_types_that_are_refused():
    a = cr.trace(np.sum, np.ones(2)).forward(np.ones(2))
    b = cr.trace(np.sum, np.ones(3)).forward(np.ones(3))
    with pytest.raises(cr.GraphError, match="node %0"):
        cr.diff_runs(a, b)
    with pytest.raises(cr.ArgumentError, match=r"graph.forward\(\*args\); got Graph"):
        cr.diff_runs(a, a.graph)

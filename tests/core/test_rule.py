"""A rule: a node keeps what its rules read and nothing more; keep, pull, push and lift agree."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.node import Node, make_leaf
from chainrule.core.op import (
    NOT_WRITTEN,
    ZERO,
    Gate,
    Linear,
    Multilinear,
    Op,
    Partials,
    Rules,
    sample,
)
from chainrule.core.rule import parameters_of, rule_for
from chainrule.core.spec import Spec

DOUBLE = np.dtype(np.float64)


def make(name, forward, inputs, derivative, **fields):
    """An op outside the table."""
    return Op(name, forward, inputs, derivative, None, lambda: [sample(1.0)], **fields)


def node_of(op, values, active=None, **attrs):
    """A node of `op` at `values`, as recording makes it, over leaves."""
    active = (True,) * len(values) if active is None else active
    rule = rule_for(op, active)
    leaves = [make_leaf(np.shape(v), DOUBLE, None) for v in values]
    out = op.forward(*values, **attrs)
    saved = rule.keep(*values, out)
    parents = tuple(leaves[i] for i in rule.positions)
    return Node(rule, parents, saved, attrs, np.shape(out), DOUBLE)


# ---- what is kept -------------------------------------------------------------------------------

KEPT = [
    ("add", (True, True), ()),
    ("negative", (True,), ()),
    ("multiply", (True, True), {"x", "y"}),
    ("multiply", (True, False), {"y"}),
    ("multiply", (False, True), {"x"}),
    ("exp", (True,), {"out"}),
    ("sin", (True,), {"x"}),
    ("sum", (True,), ()),
    ("reshape", (True,), ()),
    ("astype", (True,), ()),
    ("matmul", (True, False), {"y"}),
    ("floor", (True,), ()),
    ("greater", (False, False), ()),
]


@pytest.mark.parametrize(("name", "active", "kept"), KEPT)
def test_what_an_op_keeps(name, active, kept):
    assert set(rule_for(cr.OPS[name], active).saved_names) == set(kept)


def test_no_op_keeps_what_its_rules_do_not_read():
    for op in cr.OPS.values():
        derivative = op.derivative
        if op.variadic or op.expand is not None or derivative in (ZERO, NOT_WRITTEN):
            continue
        everything = tuple(True for _ in op.inputs)
        rule = rule_for(op, everything)
        if isinstance(derivative, Partials):
            written = derivative.factors
        elif isinstance(derivative, Rules):
            written = derivative.reverse + derivative.forward
        else:
            written = derivative.transposes
        read = {p for f in written if f is not None for p in parameters_of(f)}
        if isinstance(derivative, Multilinear):
            read |= set(op.inputs)  # forward mode is the op itself on the other inputs
        fixed = {n for n, f in zip(op.inputs, written, strict=False) if f is None}
        assert set(rule.saved_names) <= read | fixed | {f"{n}_spec" for n in op.inputs}, op.name


def lives_on(f):
    """Whether the array of an intermediate outlives its Variable once f has used it."""
    middle = cr.variable(np.linspace(0.1, 0.9, 12).reshape(3, 4)) * 2.0
    array = weakref.ref(middle._value)
    result = f(middle)
    del middle
    gc.collect()
    assert result is not None
    return array() is not None


DROPS = {
    "addition": lambda y: y + 1.0,
    "subtraction of two": lambda y: y - cr.variable(1.0),
    "scaling": lambda y: y * 3.0,
    "division by a constant": lambda y: y / 2.0,
    "exp": np.exp,
    "cbrt": np.cbrt,
    "sqrt": np.sqrt,
    "sum": np.sum,
    "mean over an axis": lambda y: np.mean(y, axis=0),
    "copy": lambda y: y.copy(),
    "astype": lambda y: y.astype(np.float32),
    "concatenate": lambda y: np.concatenate([y, y]),
    "gather": lambda y: y[[0, 1]],
    "matmul by a constant": lambda y: y @ np.ones((4, 2)),
    "comparison": lambda y: y > 1.0,
    "floor": np.floor,
    "stop_gradient of another": lambda y: cr.stop_gradient(y + 1.0),
    "cumsum": lambda y: np.cumsum(y, axis=0),
    "pad": lambda y: np.pad(y, 1),
}
HOLDS = {
    "sin": np.sin,
    "square": lambda y: y * y,
    "product of two": lambda y: y * cr.variable(2.0),
    "log": np.log,
    "view": lambda y: y[1:],
    "reshape": lambda y: np.reshape(y, -1),
}


@pytest.mark.parametrize("name", DROPS)
def test_an_intermediate_no_rule_reads_dies_with_its_variable(name):
    assert not lives_on(DROPS[name])


@pytest.mark.parametrize("name", HOLDS)
def test_an_intermediate_a_rule_reads_lives_on(name):
    """That these live on shows that the test above can fail."""
    assert lives_on(HOLDS[name])


def test_a_long_chain_of_linear_steps_holds_no_arrays():
    x = cr.variable(np.ones(100_000))
    y = x + 1.0
    gc.collect()
    tracemalloc.start()
    for _ in range(50):
        y = y * 1.5 + 1.0
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 3 * x.nbytes
    y.backward(np.ones(100_000))
    assert x.grad[0] == pytest.approx(1.5**50)


# ---- keep, pull, push, lift ---------------------------------------------------------------------

x0, y0, g0 = np.array([2.0, 3.0]), np.array([5.0, 7.0]), np.array([1.0, 10.0])


def test_partials():
    op = make("toy", lambda x, y: x * y + x, ("x", "y"), Partials((lambda y: y + 1, lambda x: x)))
    node = node_of(op, (x0, y0))
    np.testing.assert_array_equal(node.rule.pull(g0, node), [g0 * (y0 + 1), g0 * x0])
    np.testing.assert_array_equal(node.rule.push((g0, None), node), g0 * (y0 + 1))
    both = node.rule.push((g0, np.ones(2)), node)
    np.testing.assert_array_equal(both, g0 * (y0 + 1) + x0)
    assert node.rule.push((None, None), node) is None
    only = node_of(op, (x0, y0), (False, True))
    assert only.rule.positions == (1,)
    np.testing.assert_array_equal(only.rule.pull(g0, only), [g0 * x0])


def test_signs_gates_and_inputs_without_derivative():
    derivative = Partials((1, -1, Gate(lambda z: z > 6), None))
    op = make(
        "toy", lambda x, y, z, w: x - y + np.maximum(z, 6) + w, ("x", "y", "z", "w"), derivative
    )
    node = node_of(op, (x0, x0, y0, y0))
    assert node.rule.positions == (0, 1, 2)
    first, second, third = node.rule.pull(g0, node)
    assert first is g0
    np.testing.assert_array_equal(second, -g0)
    np.testing.assert_array_equal(third.value, [0.0, 10.0])
    np.testing.assert_array_equal(third.alive, [False, True])
    assert node.rule.saved_names == ("z",)


def test_what_a_rule_may_read():
    seen = {}

    def reverse(g, x, out, x_spec, out_spec, y_spec, active, axis):
        seen.update(x=x, out=out, x_spec=x_spec, out_spec=out_spec, y_spec=y_spec, active=active)
        return g * axis

    op = make(
        "toy", lambda x, y, axis: x + y, ("x", "y"), Rules((reverse, None), (lambda t: t, None))
    )
    node = node_of(op, (x0, y0), axis=3)
    np.testing.assert_array_equal(node.rule.pull(g0, node), [3 * g0])
    assert seen["x"] is x0
    np.testing.assert_array_equal(seen["out"], x0 + y0)
    assert seen["x_spec"] is node.parents[0], "a parent stands for its spec"
    assert seen["y_spec"] == Spec((2,), DOUBLE), "a constant's spec is kept, its value is not"
    assert (seen["out_spec"], seen["active"]) == (node, (True, True))
    assert len(node.saved) == 3
    assert node.attrs == {"axis": 3}


def test_linear_and_multilinear_push_the_op_itself():
    twice = make("twice", lambda x, by: x * by, ("x",), Linear((lambda g, by: g * by,)))
    node = node_of(twice, (x0,), by=2.0)
    np.testing.assert_array_equal(node.rule.push((g0,), node), 2 * g0)
    np.testing.assert_array_equal(node.rule.pull(g0, node), [2 * g0])
    dot = make(
        *("dot", lambda x, y: x @ y, ("x", "y")),
        Multilinear((lambda g, y: g * y, lambda g, x: g * x)),
    )
    node = node_of(dot, (x0, y0))
    assert node.rule.push((g0, y0), node) == g0 @ y0 + x0 @ y0
    assert node.shape == ()


@pytest.mark.parametrize(
    "derivative", [NOT_WRITTEN, Rules((None,), (lambda t: t,)), Rules((lambda g: g,), (None,))]
)
def test_a_rule_nobody_wrote_raises_by_name(derivative):
    node = node_of(make("toy", lambda x: x, ("x",), derivative), (x0,))
    for incoming, mode in ((0, "reverse"), (1, "forward")):
        flows = (lambda n=node: n.rule.pull(g0, n), lambda n=node: n.rule.push((g0,), n))
        written = (
            isinstance(derivative, Rules) and (derivative.reverse, derivative.forward)[incoming][0]
        )
        if written:
            np.testing.assert_array_equal(np.reshape(flows[incoming](), -1), g0)
            continue
        with pytest.raises(cr.DerivativeError, match=f"no {mode}-mode derivative of toy"):
            flows[incoming]()


def test_zero_has_no_parents_and_keeps_nothing():
    node = node_of(make("toy", np.floor, ("x",), ZERO), (x0,))
    assert (node.parents, node.saved, node.rule.pull(g0, node)) == ((), (), ())


def test_complex_partials_are_conjugated_in_reverse_only():
    op = make("toy", lambda x: 1j * x, ("x",), Partials((lambda: 1j,)))
    rule = rule_for(op, (True,), True)
    node = Node(rule, (), (), {}, (), np.dtype(complex))
    assert rule.pull(np.complex128(1), node) == (-1j,)
    assert rule.push((np.complex128(1),), node) == 1j
    assert rule_for(op, (True,), False).pull(np.complex128(1), node) == (1j,)


def test_lift_wraps_what_has_a_history_and_nothing_else():
    op = make(
        *("toy", lambda x, y: x * y, ("x", "y")),
        Rules((lambda g, x, y, out: g * y, None), (lambda t, y: t * y, None)),
    )
    node = node_of(op, (x0, y0))
    lifted = node.rule.lift(node, lambda value, of: (value, of))
    known = dict(zip(node.rule.saved_names, lifted.saved, strict=True))
    assert known["x"] == (x0, node.parents[0])
    assert known["out"][1] is node
    assert known["y"] is y0, "no derivative flows through y: it is a constant"
    assert lifted.rule is node.rule
    assert lifted.parents == node.parents
    assert node.saved[0] is x0, "the node itself is unchanged"


def test_rules_are_built_once():
    op = make("toy", np.sin, ("x",), Partials((np.cos,)))
    assert rule_for(op, (True,)) is rule_for(op, (True,))
    keys = [((True,),), ((False,),), ((True,), True), ((True,), False, True)]
    assert len({id(rule_for(op, *key)) for key in keys}) == len(op.rules) == 4
    assert repr(rule_for(op, (True,))) == "<rule of toy, active (True,)>"

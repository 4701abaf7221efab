"""Law 8: every node knows the user's line; every error names op, shapes, line and fix."""

import numpy as np
import pytest

import chainrule as cr


def line_of(node):
    return node.line.text


def test_operators_functions_methods_and_indices_know_their_line():
    x = cr.variable(np.ones(3))
    by_operator = x * 2.0
    by_ufunc = np.sin(x)
    by_function = np.sum(x)
    by_method = x.sum()
    by_index = x[1:]
    by_op = cr.exp(x)
    assert line_of(by_operator.node) == "by_operator = x * 2.0"
    assert line_of(by_ufunc.node) == "by_ufunc = np.sin(x)"
    assert line_of(by_function.node) == "by_function = np.sum(x)"
    assert line_of(by_method.node) == "by_method = x.sum()"
    assert line_of(by_index.node) == "by_index = x[1:]"
    assert line_of(by_op.node) == "by_op = cr.exp(x)"


def test_nodes_of_a_composite_have_the_line_of_the_call():
    graph = cr.trace(lambda x: np.var(x), np.arange(3.0))
    assert {line_of(n) for n in graph.nodes if not n.is_leaf} == {
        "graph = cr.trace(lambda x: np.var(x), np.arange(3.0))"
    }


def test_nodes_of_a_derivative_have_the_line_of_what_they_differentiate():
    def f(x):
        y = np.sin(x)
        return y * x

    graph = cr.trace(cr.grad(f), 1.0)
    lines = {line_of(n) for n in graph.nodes if not n.is_leaf}
    assert lines <= {"y = np.sin(x)", "return y * x", "graph = cr.trace(cr.grad(f), 1.0)"}
    cosine = next(n for n in graph.nodes if not n.is_leaf and n.op.name == "cos")
    assert line_of(cosine) == "y = np.sin(x)"


def test_shape_error():
    inputs, W = cr.variable(np.ones((3, 3)), name="inputs"), cr.variable(np.ones((4, 2)), name="W")
    with pytest.raises(cr.ShapeError) as caught:
        inputs @ W
    text = str(caught.value)
    assert text.startswith("matmul of (3, 3) and (4, 2): the inner sizes 3 and 4 differ")
    assert "inputs @ W" in text
    assert "`inputs` of shape (3, 3)" in text


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: x + np.ones(4), "add"),
        (lambda x: np.reshape(x, (2, 2)), "reshape"),
        (lambda x: np.sum(x, axis=5), "sum"),
        (lambda x: np.concatenate([x, np.ones((2, 2))]), "concatenate"),
        (lambda x: np.linalg.inv(x), "inv"),
        (lambda x: x["a"], "getitem"),
    ],
)
def test_bad_input_names_op_and_line(f, says):
    with pytest.raises(cr.ChainruleError) as caught:
        cr.grad(lambda x: np.sum(f(x)))(np.ones(3))
    assert says in str(caught.value)
    assert "test_law08_lines.py" in str(caught.value)


def test_an_unsupported_function_is_named_with_the_nearest_one():
    with pytest.raises(cr.UnsupportedError, match=r"np\.histogram2d") as caught:
        cr.grad(lambda x: np.sum(np.histogram2d(x, x)[0]))(np.ones(3))
    assert "nearest supported function" in str(caught.value)


@pytest.mark.parametrize("result", [None, "text", [], {"a": None}])
def test_a_function_that_returns_no_number(result):
    with pytest.raises(cr.ChainruleError, match="return"):
        cr.grad(lambda x: result)(1.0)


def test_a_vector_output_is_refused_with_the_alternatives():
    with pytest.raises(cr.ShapeError, match=r"shape \(3,\)[\s\S]*cr\.jacobian"):
        cr.grad(lambda x: x)(np.ones(3))


def test_no_frame_of_ours_below_the_user_s_in_messages():
    with pytest.raises(cr.ShapeError) as caught:
        cr.variable(np.ones(3)) + cr.variable(np.ones(4))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__

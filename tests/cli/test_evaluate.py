"""Formulas: what they come to, what is refused, and at which column."""

import pytest


@pytest.mark.parametrize(
    ("formula", "values", "shows"),
    [
        ("sum(sin(x) * x)", ["x=[1, 2, 3]"], "[ 1.3818  0.077  -2.8289]"),
        ("sum(x @ y)", ["x=[[1,2],[3,4]]", "y=[1,2]"], "[[1. 2.] [1. 2.]]"),
        ("x[0] * x[1]", ["x=[2,3]"], "[3. 2.]"),
        ("sum(x[1:])", ["x=[2,3,4]"], "[0. 1. 1.]"),
        ("sum(array([x, y]) ** 2)", ["x=1", "y=2"], "f = sum(array([x, y]) ** 2) = 5"),
        ("x if x > 0 else -x", ["x=-3"], "f: 1 × -1"),
        ("where(x > 0, x, 0) + pi", ["x=1"], "= 4.14159"),
        ("log_softmax(x, axis=0)[1]", ["x=[0, 0]"], "[-0.5  0.5]"),
        ("max(x)", ["x=[1, 1]"], "[0.5 0.5]"),
        ("x * e", ["e=3", "x=1"], "f = x * e = 3"),  # a given name hides a constant
        ("real(z * z)", ["z=1+2j"], "2-4j"),
        ("x ** 2", ["x=1e-3"], "1e-06"),
    ],
)
def test_formulas(run, formula, values, shows):
    status, out, err = run("grad", formula, *values)
    assert (status, err) == (0, "")
    assert shows in out


@pytest.mark.parametrize(
    ("words", "says", "at"),
    [
        (["x +", "x=1"], "the formula ends where a number, a name or '(' should be", (3, 1)),
        (["", "x=1"], "the formula ends where", (0, 1)),
        (["x; y", "x=1"], "a formula has no statements", (1, 1)),
        (["exp(x", "x=1"], "'(' is never closed", (3, 1)),
        (["(x + [1, 2)", "x=1"], "')' stands where ']' should be", (10, 1)),
        (["x + y", "x=1"], "y has no value; give it one: y=1.5", (4, 1)),
        (["x + alpa", "alpha=1", "x=1"], "alpa has no value; did you mean alpha?", (4, 4)),
        (["2 * snin(x)", "x=1"], "snin is no known function; did you mean sin?", (4, 4)),
        (["sin + x", "x=1"], "sin is a function; write sin(…)", (0, 3)),
        (["x (1)", "x=1"], "x is a value, not a function; write x * (…)", (0, 1)),
        (["sin(x)", "sin=3", "x=1"], "sin is a value, not a function", (0, 3)),
        (["'a'(x)", "x=1"], "only a function can be called", (3, 1)),
        (["x 'x'", "x=1"], "\"'x'\" stands where an operator or the end should be", (2, 3)),
        (["0 < x < 1", "x=1"], "comparisons are not chained", (6, 1)),
        (["x if x", "x=1"], "the formula ends where 'else' should be", (6, 1)),
        (["sum(x * y)", "x=[1,2]", "y=[1,2,3]"], "(2,) and (3,) do not broadcast", (4, 5)),
        (["1 + sin(x, x)", "x=1"], "at most 1 arguments", (4, 9)),
        (["sin(y=x)", "x=1"], "no argument 'y'", (0, 8)),
        (["sum(x, axis=0, axis=0)", "x=1"], "axis is given twice", (15, 4)),
        (["sum(axis=0, x)", "x=1"], "a value without a name after one with a name", (12, 1)),
        (["x[5]", "x=[1,2]"], "5", (0, 4)),
        (["x[]", "x=[1,2]"], "an index is missing", (1, 1)),
        (["x[:", "x=[1,2]"], "'[' is never closed", (1, 1)),
        (["eigh(x)[0][5]", "x=[[2,1],[1,3]]"], "5", (0, 13)),
        (["x * 'a'", "x=1"], "a str is not a number", (0, 7)),
        (["x * (1, 2)", "x=1"], "a tuple is not a number", (0, 10)),
        (["1 / 0 * x", "x=1"], "division by zero", (0, 5)),
        (["w * (w := x)", "x=2"], "w is used before (… := …) gives it a value", (0, 1)),
        (["if x", "x=1"], "'if' stands where", (0, 2)),
        (["1.2.3 * x", "x=1"], "'.3' stands where an operator or the end should be", (3, 2)),
        (["x where x", "x=[1]"], "'where' stands where an operator", (2, 5)),
        (["1 + iv(x, 3)", "x=2"], "iv has no derivative with respect to the order", (4, 8)),
    ],
)
def test_mistakes_point_at_their_columns(run, words, says, at):
    status, out, err = run("grad", *words)
    assert (status, out) == (2, "")
    first, formula, carets = err.splitlines()
    assert first.startswith("chainrule: ")
    assert says in first
    assert formula == f"  {words[0]}"
    assert (len(carets) - len(carets.lstrip()) - 2, carets.count("^")) == at


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sin(x)", "x=[1,2]"], "sin(x) has the shape (2,); a gradient needs one number: take its"),
        (["(x, x)", "x=1"], "(x, x) has 2 results; a gradient needs one number"),
        (["argmax(x)", "x=[1,2]"], "int64 and has no derivative"),
        (["x > 0", "x=1"], "bool"),
        (["z * z", "z=1+2j"], "complex"),
        (["()", "x=1"], "it must return numbers or arrays"),
    ],
)
def test_results_without_a_gradient_are_told_in_one_line(run, words, says):
    status, out, err = run("grad", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (["eigh(x)[0][0]", "x=[[2,1],[1,3]]"], "1.38197"),
        (["abs(x)", "x=-2"], "f = abs(x) = 2"),
        (["log(x)", "x=0.001"], "1000"),
        (["-x", "x=1"], "f = -x = -1"),
        (["sum(relu(x))", "x=[0, 0, 0, 0, 0]"], "f = sum(relu(x)) = 0"),
    ],
)
def test_formulas_that_should_work(run, words, shows):
    status, out, _ = run("grad", *words)
    assert status == 0
    assert shows in out


# ---- hostile formulas ----------------------------------------------------------------------------


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("9**9**9**9", "too large"),
        ("x * (9+0)**(9+0)**(9+0)**(9+0)", "too large"),
        ("-9**9**9 * x", "too large"),
        ("(9**99)**99 * x", "too large"),
        ("1 << 99999999999", "a formula has no shifts"),
        ("x * " + "9" * 4000, "too large"),
        ("x * 1e999 + " + "9" * 310, "too large"),
        ("9" * 5000, "5,000 characters, of which 4,096 are read"),
        ("x" * 10**6, "1,000,000 characters, of which 4,096 are read"),
        ("(" * 10**5 + "x" + ")" * 10**5, "200,001 characters"),
        ("'a' * 999999999", "a str is not a number"),
        ("(" * 300 + "x" + ")" * 300, "more than 100 levels"),
        ("-" * 3000 + "x", "more than 100 levels"),
        ("--(x)" + "-" * 3000, "more than 100 levels"),
        ("x" + "**x" * 1000, "more than 100 levels"),
        ("not " * 1000 + "x", "more than 100 levels"),
        ("sin(" * 500 + "x" + ")" * 500, "more than 100 levels"),
        ("x[" * 500 + "x" + "]" * 500, "more than 100 levels"),
        ("[" * 500 + "x" + "]" * 500, "more than 100 levels"),
        ("x if x else " * 300 + "x", "more than 100 levels"),
        ("x ≤ 1", "≤: write <="),
        ("x + é", "é has no value"),
        ("x + \udcff", "a formula has no character U+DCFF"),
        ("x\0", "a formula has no character U+0000"),
        ("x \x1b[31m", "a formula has no character U+001B"),
        ("x[1.5]", "integers"),
        ("repeat(x, 99999999999999)", "repeat"),
        ("sum(repeat(x, 10**9))", "repeat"),
        ("sum(repeat(repeat(x, 10**6), 10**6))", "llocate"),
        ("sum(tile(x, (1000, 1000, 1000)))", "1,000,000,000 numbers"),
        ("outer(repeat(x, 40000), repeat(x, 40000))", "llocate"),
        ("sum(tile(x, (10, 1000, 1000)))", "10,000,000 numbers, where 1,000,000 may be held"),
    ],
)
def test_a_hostile_formula_ends_soon_with_one_error(run, formula, says):
    status, out, err = run("grad", formula, "x=1")
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") in (1, 3, 4)
    assert max(map(len, err.splitlines())) < 200
    assert all(c.isprintable() for c in err.replace("\n", ""))


def test_a_long_formula_is_no_deep_one(run):
    status, out, _ = run("grad", "+".join(["x"] * 1000), "x=1", "--no-check", "--json")
    assert status == 0
    assert '"gradient": {"x": 1000.0}' in out


def test_a_list_is_an_array(run):
    assert "= 3e+09" in run("grad", "sum([1, 2] * 1000000000) * x", "x=1")[1]


@pytest.mark.parametrize(
    ("formula", "shows"),
    [("x[2**1 - 1]", "= 2"), ("x[1] * 2**3", "= 16"), ("x[1] * 2**70", "= 2.36118e+21")],
)
def test_small_whole_numbers_stay_whole(run, formula, shows):
    status, out, _ = run("grad", formula, "x=[1,2]")
    assert status == 0
    assert shows in out


def test_what_could_not_be_checked_is_said(run):
    assert "a jump" in run("grad", "sign(x)", "x=0")[1]
    status, out, err = run("grad", "log(x)", "x=0")
    assert (status, err) == (1, "")
    assert "nothing was checked" in out


# ---- nothing but formulas is run -----------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os')",
        "__import__('os').system('true')",
        "x.__class__",
        "x.value",
        "sin.forward(x)",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: x)()",
        "[i for i in x]",
        "(i for i in x)",
        "{i: i for i in x}",
        "{1, 2}",
        "{'a': x}",
        "(__builtins__ := x)",
        "(_y := x)",
        "(sin := x)",
        "(array := x)",
        "(x := 2) * x",
        "y := x",
        "range(9)",
        "x.T",
        "array.__globals__",
        "testing.run()",
        "f2py(x)",
        "import os",
        "f'{x}'",
        "sin(*x)",
        "await x",
        "(yield x)",
        "open('/etc/passwd')",
        "eval('x')",
        "exec('x')",
        "print(x)",
        "globals()",
        "__builtins__",
        "getattr(x, 'value')",
    ],
)
def test_anything_but_a_formula_is_refused(run, formula):
    status, out, err = run("grad", formula, "x=[1,2]")
    assert (status, out, err.count("\n")) == (2, "", 3)
    reasons = ("a formula has no ", "is no known function", "stands where", "has a meaning already")
    assert any(reason in err for reason in reasons)


@pytest.mark.parametrize(
    "value", ["__import__('os')", "().__class__", "open('f')", "[x for x in y]", "lambda: 1"]
)
def test_values_are_numbers(run, value):
    status, out, err = run("grad", "x", f"x={value}")
    assert (status, out, err.count("\n")) == (2, "", 3)
    assert err.startswith("chainrule: x: ")

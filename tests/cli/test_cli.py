"""The `chainrule` command: what it prints, what it refuses, and its exit status."""

import subprocess
import sys

import pytest

import chainrule as cr

# ---- grad --------------------------------------------------------------------------------------


def test_a_formula_with_its_table(run):
    status, out, err = run("grad", "(x + y) * z", "x=-2", "y=5", "z=-4")
    assert (status, err) == (0, "")
    assert out.startswith("\n  f = (x + y) * z = -12\n\n  order   node   op ")
    rows = {line.split()[1]: line.split() for line in out.splitlines() if line[2:3].isdigit()}
    assert list(rows) == ["x", "y", "z", "a", "f"]
    assert [rows[name][2:4] for name in "xyz"] == [["-2", "-4"], ["5", "-4"], ["-4", "3"]]
    assert rows["f"] == ["5", "f", "multiply", "a", "z", "-12", "1", "seed", "swaps"]
    assert "checked against central differences: largest difference" in out


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
    ("words", "says"),
    [
        (["x +", "x=1"], "cannot read the formula 'x +'"),
        (["", "x=1"], "cannot read the formula"),
        (["x; y", "x=1"], "cannot read the formula"),
        (["exp(x", "x=1"], "never closed"),
        (["x + y", "x=1"], "y: neither given a value"),
        (["foo(x)", "x=1"], "foo: neither given a value nor a known function"),
        (["x", "x"], "name=number, not 'x'"),
        (["x", "1x=2"], "name=number, not '1x='"),
        (["x", "x=abc"], "'abc' is not a number"),
        (["x", "x="], "is not a number"),
        (["x", "x=[1,[2]]"], "is not a number or a list"),
        (["x", "x={1: 2}"], "is not a number"),
        (["sin(x)", "x=[1,2]"], r"shape (2,); a gradient needs one number, so take its sum"),
        (["(x, x)", "x=1"], "a gradient needs one number"),
        (["argmax(x)", "x=[1,2]"], "int64 and has no derivative"),
        (["sum(x * y)", "x=[1,2]", "y=[1,2,3]"], "(2,) and (3,) do not broadcast"),
        (["sin(x, x)", "x=1"], "at most 1 arguments"),
        (["sin(y=x)", "x=1"], "no argument 'y'"),
        (["x[5]", "x=[1,2]"], "5"),
        (["eigh(x)[0][5]", "x=[[2,1],[1,3]]"], "5"),
        (["'a' * 3", "x=1"], "not a number"),
    ],
)
def test_mistakes_are_told_in_one_sentence_with_status_two(run, words, says):
    status, out, err = run("grad", *words)
    assert (status, out) == (2, "")
    assert err.startswith("chainrule: ")
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x(1)", "x=1"], ""),
        (["sin(x)", "sin=3", "x=1"], "sin"),
        (["x > 0", "x=1"], "bool"),
        (["1 / 0 * x", "x=1"], "zero"),
        (["sin(**x)", "x=1"], "sin"),
        (["x * y", "x=1", "x=2", "y=3"], "x"),
        (["z * z", "z=1+2j"], "complex"),
    ],
)
def test_mistakes_that_are_not_ours_are_told_as_well(run, words, says):
    status, out, err = run("grad", *words)
    assert (status, out) == (2, "")
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
        ("1 << 99999999999", "too large"),
        ("x * " + "9" * 4000, "too large"),
        ("9" * 5000, "4300 digits"),
        ("[0] * 1000000000", "list is not a number"),
        ("'a' * 999999999", "not a number"),
        ("(" * 300 + "x" + ")" * 300, "nested parentheses"),
        ("-" * 50000 + "x", "nested too deeply"),
        ("+".join(["x"] * 20000), "nested too deeply"),
        ("x ≤ 1", "invalid character '≤' (U+2264) (column 3)"),
        ("x + é", "é: neither given a value"),
        ("x + \udcff", "cannot read the formula"),
        ("x\0", "cannot read the formula"),
        ("x[1.5]", "integers"),
        ("repeat(x, 99999999999999)", "column 1"),
        ("sin(x) + cos(x, 3)", "(column 10)"),
    ],
)
def test_a_hostile_formula_ends_soon_with_one_line(run, formula, says):
    status, out, err = run("grad", formula, "x=1")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err


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
    assert (status, err) == (0, "")
    assert "not checked" in out


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
        "y := x",
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
    assert (status, out) == (2, "")
    reasons = (
        *("a formula has no ", "neither given a value", "cannot read the formula"),
        "has a meaning already",
    )
    assert err.startswith("chainrule: ")
    assert any(reason in err for reason in reasons)


@pytest.mark.parametrize(
    "value", ["__import__('os')", "().__class__", "open('f')", "[x for x in y]"]
)
def test_values_are_literals(run, value):
    status, _, err = run("grad", "x", f"x={value}")
    assert status == 2
    assert "is not a number" in err


# ---- the other commands --------------------------------------------------------------------------


def test_demo_shows_its_parts(run):
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    parts = [
        "def density(x",
        "cr.grad(density, (1, 2))(1.2, 0.3, 0.8)  =  (1.406250, 0.332031)",
        "order   node",
        "density   subtract",
        "checked against central differences to order 2",
        "Next: chainrule grad",
    ]
    places = [out.index(part) for part in parts]
    assert places == sorted(places)


def test_ops_lists_every_op(run):
    status, out, err = run("ops")
    assert (status, err) == (0, "")
    listed = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert [name for name in listed if name in cr.OPS] == sorted(cr.OPS)


def test_ops_are_listed_one_a_line(run):
    assert len(run("ops")[1].splitlines()) == len(cr.OPS)


@pytest.mark.parametrize("words", [[], ["bogus"], ["grad"], ["grad", "x"], ["demo", "--loud"]])
def test_usage_errors_have_status_two(run, words):
    status, _, err = run(*words)
    assert status == 2
    assert err.startswith("usage: chainrule")


def test_help(run):
    status, out, _ = run("--help")
    assert status == 0
    assert all(command in out for command in ("grad", "demo", "ops"))


def test_python_dash_m():
    words = [sys.executable, "-m", "chainrule", "grad", "x * y", "x=3"]
    good = subprocess.run([*words, "y=4"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert "f = x * y = 12" in good.stdout
    bad = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("chainrule: y: neither")

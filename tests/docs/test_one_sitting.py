"""The engine of one-sitting.md is small, right and not recursive; its page names what exists."""

import ast
import re
from itertools import zip_longest

import numpy as np
import pytest

import chainrule as cr
from tests.docs.pages import ROOT, Page

MAX_LINES = 150
DEPTH = 100_000
SOURCE = ROOT / "src" / "chainrule"
PAGE = Page(ROOT / "docs" / "ground-up" / "one-sitting.md")
TEXT = "\n".join(PAGE.lines)


def engine_text() -> str:
    """The blocks that show no output: the others are examples."""
    pairs = zip_longest(PAGE.blocks, PAGE.blocks[1:])
    return "\n\n\n".join(
        block.text
        for block, after in pairs
        if block.language == "python" and (after is None or after.language != "text")
    )


def defined_in(source: str) -> set[str]:
    """Every function and class of a file, methods too."""
    kinds = ast.FunctionDef, ast.ClassDef
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)}


def missing(file: str, names: set[str]) -> set[str]:
    """Which of these names a file of chainrule does not define; all, where there is no file."""
    path = SOURCE / file
    return names - defined_in(path.read_text("utf-8")) if path.exists() else names


def places() -> dict[str, list[tuple[str, list[str]]]]:
    """By each name in the table at the end: the files it grew into, and the names in each."""
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \|", TEXT.split("## What each part grew into")[1], re.M
    )
    return {
        name: [
            (file, re.findall(r"`(\w+)`", names))
            for file, names in re.findall(r"`([\w/]+\.py)`: ([^;]+)", there)
        ]
        for name, there in rows
    }


@pytest.fixture(scope="module")
def engine():
    scope = {"__name__": "example"}
    exec(compile(engine_text(), "one-sitting", "exec"), scope)  # noqa: S102 - our own page
    return type("Engine", (), {name: staticmethod(v) for name, v in scope.items() if callable(v)})


def test_the_engine_is_small():
    lines = [line for line in engine_text().splitlines() if line.strip()]
    assert len(lines) <= MAX_LINES


def test_the_engine_is_not_chainrule():
    nodes = list(ast.walk(ast.parse(engine_text())))
    assert [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names] == ["numpy"]
    assert not any(isinstance(n, ast.ImportFrom) for n in nodes)


# ---- what it computes ---------------------------------------------------------------------------

SCALARS = {
    "product": lambda x: x * np.sin(x) + np.exp(x),
    "quotient": lambda x: (1 - x) / (2.0 + np.cos(x) ** 2),
    "powers": lambda x: x**3 + 2.0**x - x**x,
    "logarithm": lambda x: np.log(x) * -x,
    "constant": lambda x: np.float64(3.0),
    "linear": lambda x: 3.0 * x - 1.0,
}
ARRAYS = {
    "sum of squares": lambda x: np.sum(x**2),
    "a number meets an array": lambda x: np.sum(np.exp(x / np.sum(x)) * np.sum(x)),
    "a constant array": lambda x: np.sum(np.sin(x * np.arange(3.0)) * x),
    "linear": lambda x: np.sum(x) * 2.0,
}
X, V = np.array([0.5, 1.5, 2.5]), np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize("f", SCALARS.values(), ids=SCALARS)
def test_derivatives_of_numbers_are_chainrule_s(engine, f):
    ours, theirs = f, f
    for _ in range(3):
        ours, theirs = engine.grad(ours), cr.grad(theirs)
        np.testing.assert_allclose(ours(1.3), theirs(1.3), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", ARRAYS.values(), ids=ARRAYS)
def test_derivatives_of_arrays_are_chainrule_s(engine, f):
    np.testing.assert_allclose(engine.grad(f)(X), cr.grad(f)(X), rtol=1e-12)
    second = cr.jvp(cr.grad(f), (X,), (V,))[1]
    routes = (
        engine.grad(lambda x: np.sum(engine.grad(f)(x) * V))(X),
        engine.grad(lambda x: engine.jvp(f, (x,), (V,))[1])(X),
        engine.jvp(engine.grad(f), (X,), (V,))[1],
        engine.jvp(lambda x: engine.jvp(f, (x,), (V,))[1], (X,), (V,))[1],
    )
    for route in routes[:3]:
        np.testing.assert_allclose(route, second, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(routes[3], second @ V, rtol=1e-12, atol=1e-12)


def test_each_argument_has_its_derivative(engine):
    def f(x, y):
        return x**2 * np.sin(y)

    for n in range(2):
        assert engine.grad(f, n)(2.0, 3.0) == pytest.approx(cr.grad(f, n)(2.0, 3.0), rel=1e-14)
    value, tangent = engine.jvp(f, (2.0, 3.0), (1.0, 10.0))
    assert (value, tangent) == pytest.approx(cr.jvp(f, (2.0, 3.0), (1.0, 10.0)), rel=1e-14)


def test_an_inner_derivative_is_not_confused_with_an_outer_one(engine):
    assert engine.grad(lambda x: x * engine.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert engine.grad(lambda x: x * engine.jvp(lambda y: x * y, (1.0,), (1.0,))[1])(3.0) == 6.0
    assert engine.grad(lambda x: engine.grad(lambda y: x * x * y)(x))(3.0) == 6.0


def test_a_result_is_a_number_again(engine):
    for result in (engine.grad(np.sin)(1.0), *engine.jvp(np.sin, (1.0,), (1.0,))):
        assert type(result) is np.float64


def test_what_does_not_depend_on_the_input_has_derivative_zero(engine):
    assert engine.grad(engine.grad(lambda x: 3.0))(1.0) == 0.0
    assert engine.jvp(lambda x: 3.0, (1.0,), (1.0,)) == (3.0, 0.0)
    # The inner function depends on the outer input alone.
    assert engine.grad(lambda x: sum(engine.jvp(lambda y: x * x, (1.0,), (1.0,))))(3.0) == 6.0


def test_what_it_does_not_know_is_refused(engine):
    with pytest.raises(TypeError):
        engine.grad(np.tanh)(1.0)
    with pytest.raises(TypeError):
        engine.grad(lambda x: np.sum(x, axis=0))(X)
    for f in (np.sin, lambda x: X):
        with pytest.raises(ValueError, match="one scalar output"):
            engine.grad(f)(X)


def test_nothing_is_recursive(engine):
    def chain(x, depth=DEPTH):
        for _ in range(depth):
            x = x * 1.00001
        return np.sin(x)

    def shorter(x):
        return chain(x, DEPTH // 5)

    assert engine.grad(chain)(2.0) == pytest.approx(cr.grad(chain)(2.0), rel=1e-12)
    tangent = engine.jvp(chain, (2.0,), (1.0,))[1]
    assert tangent == pytest.approx(cr.grad(chain)(2.0), rel=1e-12)
    second = cr.grad(cr.grad(shorter))(2.0)
    assert engine.grad(engine.grad(shorter))(2.0) == pytest.approx(second, rel=1e-9)


# ---- what it grew into --------------------------------------------------------------------------


def test_each_function_has_its_place():
    public = {
        node.name
        for node in ast.parse(engine_text()).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    assert public == set(places())
    assert all(places().values())


def test_each_place_exists():
    for name, rows in places().items():
        for file, names in rows:
            assert names, f"{name}: nothing is named in {file}"
            assert missing(file, set(names)) == set(), f"{name}: {file}"


def test_each_file_and_name_in_the_text_exists():
    text = re.sub(r"^```.*?^```", "", TEXT, flags=re.M | re.S)
    files = set(re.findall(r"`([\w/]+(?:\.py|/))`", text)) - {"src/chainrule/"}
    assert files
    assert [file for file in files if not (SOURCE / file).exists()] == []
    sentences = re.findall(r"`(\w+)`(?:,? and `(\w+)`)? lives? in `([\w/]+\.py)`", text)
    assert len(sentences) >= 9
    for first, second, file in sentences:
        assert missing(file, {first, second} - {""}) == set(), file


def test_a_name_that_is_gone_is_found():
    assert missing("core/order.py", {"dfs_order", "gone"}) == {"gone"}
    assert missing("core/gone.py", {"dfs_order"}) == {"dfs_order"}

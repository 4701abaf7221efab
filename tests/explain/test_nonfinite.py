"""Where a NaN or an infinity began (`blame.py`, `lanes.py`, `origins.py`), in planted programs."""

import functools

import numpy as np
import pytest

import chainrule as cr
from chainrule.explain.nonfinite import find_nonfinite_in, replay
from tests.explain.planted_nan import BACKWARD, FORWARD, planted
from tests.explain.source_lines import line_of

TRIALS = 200  # in either pass; the slow test makes 500 more


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


# -- random programs -------------------------------------------------------------------------------


def report_on(plant):
    """The report, or None where the plant does not reach a result or the program cannot go on."""
    try:
        return cr.find_nonfinite(plant.function, *plant.arguments)
    except (cr.ChainruleError, ValueError):
        return None


def assert_named(report, plant, when):
    first = report.first
    assert first.line.number == plant.line, f"{plant}\n{report}"
    assert (first.role, first.when, first.index) == ("creator", when, plant.lane)
    if when == "forward":  # an infinity may become finite, and a later op create another
        assert first.how == plant.what
    else:
        assert not np.isfinite(first.local)
        assert all(e.line.number == plant.line for e in report.origins), f"{plant}\n{report}"


@functools.cache
def trials(when, count=TRIALS, start=0):
    """Programs in which the plant reaches a result, each with its report."""
    rng = np.random.default_rng([start, when == "forward"])
    plants = FORWARD if when == "forward" else BACKWARD
    found, number = [], start
    while len(found) < count:
        assert number < start + 2 * count, "too many programs fail"
        plant = planted(number, rng, plants)
        number += 1
        report = plant and report_on(plant)
        if report:
            found.append((plant, report))
    return found


@pytest.mark.parametrize("when", ["forward", "backward"])
def test_a_plant_in_a_random_program_is_named_with_its_line(when):
    for plant, report in trials(when):
        assert_named(report, plant, when)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["forward", "backward"])
def test_a_plant_in_many_random_programs_is_named_with_its_line(when):
    for plant, report in trials(when, 500, 1000):
        assert_named(report, plant, when)


def test_debug_names_the_same_line_without_running_the_program_again():
    seen = 0
    for plant, report in trials("backward")[::5] + trials("forward")[::5]:
        gradients = [r for r in report.results if r.what == "gradient"]
        runs = []

        def counted(*args, plant=plant, runs=runs):
            runs.append(None)
            return plant.function(*args)

        every = tuple(range(len(plant.arguments)))
        with cr.debug():
            if not gradients and not report:
                cr.grad(counted, every)(*plant.arguments)
                continue
            with pytest.raises(cr.NonFiniteGradient) as caught:
                cr.grad(counted, every)(*plant.arguments)
        found = caught.value.report
        assert found.first.line.number == plant.line
        assert found.first.role == "creator"
        assert len(runs) == 1
        seen += 1
    assert seen > 40


# -- who is blamed ---------------------------------------------------------------------------------


def test_the_picture():
    def loss(density, w):
        ll = np.log(density)
        s = w * ll
        return -np.sum(s)

    density = np.array([1.0, 0.0, 2.0])
    report = cr.find_nonfinite(loss, density, np.array([1.0, 0.0, 1.0]))
    first = report.first
    assert (first.node.op.name, first.role, first.when) == ("log", "creator", "forward")
    assert first.line.number == line_of(loss, "np.log")
    assert (first.kind, first.index, first.how) == ("-inf", (1,), "division by zero")
    assert [(o.name, float(o.value)) for o in first.operands] == [("x", 0.0)]
    assert first.places == ((1,),)
    met = next(e for e in report.carriers if e.how)
    assert (met.node.op.name, met.how, met.kind) == ("multiply", "0 × -inf", "NaN")
    back = next(e for e in report.creators if e.when == "backward")
    assert (back.adjoint, back.local, back.how) == (0.0, np.inf, "0 × inf")
    assert [e.node.op.name for e in report.carriers if e.when == "forward"] == [
        "multiply",
        "sum",
        "negative",
    ]
    assert {(r.what, r.name, r.kind) for r in report.results} == {
        ("value", "loss", "NaN"),
        ("gradient", "density", "NaN"),
        ("gradient", "w", "inf"),
    }
    assert report.cure.key == "0 × log 0"


def test_a_legitimate_infinity_is_not_blamed():
    def f(x):
        safe = np.where(x > 0, np.log(x), 0.0)
        return np.sum(safe)

    report = cr.find_nonfinite(f, np.array([0.0, 1.0]))
    assert not report
    assert report.first is None
    assert [n.op.name for n in report.harmless] == ["log"]


def test_a_legitimate_infinity_is_not_blamed_beside_a_real_one():
    def f(x, y):
        safe = np.where(x > 0, np.log(x), 0.0)
        masked = np.exp(np.where(x > 0, x, -np.inf))
        return np.sum(safe + masked + np.sqrt(y))

    report = cr.find_nonfinite(f, np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, -1.0]))
    assert [e.node.op.name for e in report.origins] == ["sqrt"]
    assert report.first.index == (2,)
    assert {n.op.name for n in report.harmless} >= {"log"}


def test_the_branch_not_taken_is_not_blamed_in_the_lane_next_to_it():
    def f(x):
        a = np.log(x)
        b = np.sqrt(x - 2.0)
        return np.sum(np.where(x > 0, b, a * 0))

    report = cr.find_nonfinite(f, np.array([1.0, 3.0]))
    assert [(e.node.op.name, e.index) for e in report.creators if e.when == "forward"] == [
        ("sqrt", (0,))
    ]


def test_an_infinity_that_becomes_finite_again_is_named_if_its_gradient_is_not():
    report = cr.find_nonfinite(lambda x: np.exp(np.log(x)), 0.0)
    assert [r.what for r in report.results] == ["gradient"]
    assert (report.first.node.op.name, report.first.when) == ("log", "forward")
    assert report.carriers == ()


def test_one_node_creates_in_one_lane_and_carries_in_another():
    report = cr.find_nonfinite(lambda x: np.sum(np.log(x)), np.array([np.nan, 0.0]))
    assert [(e.role, e.index) for e in report.origins if e.when == "forward"] == [
        ("input", (0,)),
        ("creator", (1,)),
    ]


def test_an_input_that_is_not_finite():
    report = cr.find_nonfinite(lambda x, y: np.sum(x * y), np.ones(2), np.array([1.0, np.inf]))
    (origin,) = report.origins
    assert (origin.role, origin.node.name, origin.index, origin.kind) == ("input", "y", (1,), "inf")
    assert report.creators == ()
    assert report.cure.key == "an input"


def test_a_constant_array_that_is_not_finite():
    table = np.array([[1.0, 2.0], [np.nan, 4.0]])

    def f(x):
        y = table @ x
        return np.sum(y)

    report = cr.find_nonfinite(f, np.ones(2))
    (origin,) = report.origins
    assert (origin.role, origin.index) == ("constant", (1, 0))
    assert origin.line.number == line_of(f, "table @ x")
    assert report.cure.key == "a constant"
    assert {e.role for e in report.events} == {"constant", "carrier"}


def test_a_bound_of_clip_is_not_to_blame():
    report = cr.find_nonfinite(lambda x: np.clip(np.sqrt(x), 0.0, np.inf), -1.0)
    assert [e.node.op.name for e in report.origins] == ["sqrt"]


def test_overflow_and_invalid_are_told_apart():
    def how(f, *args):
        return cr.find_nonfinite(f, *args).first.how

    assert how(np.exp, 1000.0) == "overflow"
    assert how(lambda x: x * x, 1e200) == "overflow"
    assert how(lambda A: np.sum(A @ A), np.full((2, 2), 1e200)) == "overflow"
    assert how(np.prod, np.array([1e200, 1e200])) == "overflow"
    assert how(np.log, 0.0) == "division by zero"
    assert how(np.log, -1.0) == "invalid"
    assert how(lambda x: x / x, 0.0) == "invalid"
    assert how(np.arccos, 2.0) == "invalid"


def test_a_gradient_that_overflows_by_itself():
    def f(x):
        y = x * 1e-200
        z = y * 1e-200
        return (z * 1e200) * 1e300

    report = cr.find_nonfinite(lambda x: 1e200 * (1e200 * f(x)), 1.0)
    assert report.first.how == "overflow"
    assert report.first.role == "creator"


def test_contributions_that_overflow_when_they_are_added():
    report = cr.find_nonfinite(lambda x: 1.7e308 * x + 1.7e308 * x, 1e-10)
    assert [(e.how, e.role, e.when) for e in report.events] == [("sum", "creator", "backward")]
    assert report.cure.key == "a sum of gradients that overflows"


# -- kinds of functions ----------------------------------------------------------------------------


def test_an_op_that_is_not_lane_by_lane_shows_the_entry_of_its_jacobian():
    def f(x):
        return np.sum(cr.euclidean_norm(np.sqrt(x)))

    report = cr.find_nonfinite(f, np.array([0.0, 4.0]))
    assert (report.first.node.op.name, report.first.index) == ("sqrt", (0,))
    wide = cr.find_nonfinite(lambda x: np.prod(x) * 1e300, np.array([0.0, 1e10, 1e200]))
    assert wide.first.node.op.name == "prod"
    assert wide.first.index == (0,)


def test_several_results_of_one_op():
    def f(A):
        q, r = np.linalg.qr(A)
        return np.sum(np.log(r * 0.0)) + np.sum(q)

    report = cr.find_nonfinite(f, np.array([[2.0, 1.0], [1.0, 3.0]]))
    assert (report.first.node.op.name, report.first.role) == ("log", "creator")


def test_complex_values():
    report = cr.find_nonfinite(lambda z: np.abs(np.log(z * (1 + 1j))), 0.0)
    assert (report.first.node.op.name, report.first.role) == ("log", "creator")


def test_float32():
    x = np.array([1.0, 100.0], np.float32)
    report = cr.find_nonfinite(lambda x: np.sum(np.exp(x)), x)
    assert report.first.how == "overflow"
    assert report.cure.key == "a narrow type"


def test_containers_captured_variables_integers_and_empty_arrays():
    free = cr.variable(np.array([0.0, 1.0]), name="free")

    def f(p, n, empty):
        return np.sum(np.log(free) * p["w"][0]) + np.sum(p["w"][1][n]) + np.sum(empty)

    p = {"w": [np.ones(2), np.ones(3)]}
    report = cr.find_nonfinite(f, p, np.array([0, 1]), np.zeros((0, 3)))
    assert report.first.operands[0].node.name == "free"
    assert "p['w'][0]" in {r.name for r in report.results}


def test_a_composite_op_and_a_custom_function_are_named_with_the_line_of_the_call():
    class Bad(cr.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * np.nan

    def f(x):
        y = Bad.apply(x)
        return np.sum(y)

    report = cr.find_nonfinite(f, np.ones(2))
    assert report.first.line.number == line_of(f, "Bad.apply")
    assert report.cure.key == "a function of your own"

    def g(x):
        return np.corrcoef(x, 2 * x)[0, 1]

    assert cr.find_nonfinite(g, np.ones(3)).first.line.number == line_of(g, "corrcoef")


def test_a_rule_that_refuses_nan_is_a_carrier():
    def f(A):
        B = cr.logm(A @ A.T)
        y = np.sqrt(B - B)
        return np.sum(y)

    report = cr.find_nonfinite(f, np.array([[2.0, 0.5], [0.1, 3.0]]))
    assert (report.first.node.op.name, report.first.role) == ("sqrt", "creator")
    assert "logm" in {e.node.op.name for e in report.carriers}


def test_a_function_that_stops_is_reported_on_until_there():
    def f(A):
        B = np.sqrt(A)
        w, _ = np.linalg.eigh(B)
        return np.sum(np.linalg.svd(np.diag(w))[1])

    report = cr.find_nonfinite(f, np.array([[1.0, 0.0], [0.0, -1.0]]))
    assert isinstance(report.stopped, cr.LinearAlgebraError)
    assert (report.first.node.op.name, report.first.role) == ("sqrt", "creator")
    assert report.first.line.number == line_of(f, "sqrt")
    assert {r.what for r in report.results} == {"value"}
    assert "SVD did not converge" in str(report).splitlines()[0]


def test_a_function_that_stops_for_another_reason_raises_its_own_error():
    def f(x):
        assert np.all(np.log(x) < 0), "not a density"

    with pytest.raises(AssertionError, match="not a density"):
        cr.find_nonfinite(f, np.array([2.0, 0.5]))


def test_several_outputs_of_any_type():
    report = cr.find_nonfinite(lambda x: {"a": np.log(x), "n": x > 0, "b": x}, np.array([0.0, 1.0]))
    assert [r.what for r in report.results] == ["value", "gradient"]


def test_second_derivatives_name_the_line_of_the_function():
    def f(x):
        y = x**1.5
        return np.sum(y)

    report = cr.find_nonfinite(lambda x: cr.grad(f)(x), np.array([0.0, 1.0]))
    assert report.first.line.number == line_of(f, "x**1.5")
    assert report.first.role == "creator"


def test_a_deep_chain():
    def f(x):
        y = np.log(x)
        for _ in range(20_000):
            y = y * 1.0
        return y

    report = cr.find_nonfinite(f, 0.0)
    assert len(report.carriers) == 20_000
    assert report.first.node.op.name == "log"
    assert len(str(report)) < 2000


# -- running again ---------------------------------------------------------------------------------


def test_a_recorded_graph_runs_again_on_other_inputs():
    graph = cr.trace(lambda x: np.sum(np.sqrt(x)), np.array([1.0, 4.0]))
    assert not find_nonfinite_in(graph, np.array([1.0, 9.0]))
    report = find_nonfinite_in(graph, np.array([1.0, 0.0]))
    assert (report.first.node.op.name, report.first.index) == ("sqrt", (1,))
    seeded = find_nonfinite_in(graph, np.array([1.0, 4.0]), seed=[np.nan])
    assert seeded.first.role == "seed"
    saved = cr.Graph.from_json(graph.to_json())
    again = find_nonfinite_in(saved, np.array([1.0, 0.0]))
    assert again.first.line.number == report.first.line.number


def test_a_graph_by_its_formal_definition():
    functions = {3: lambda a, b: np.log(a) * b}
    graph = cr.Graph.define({1: 1, 2: 1, 3: 1}, [(1, 3), (2, 3)], functions)
    report = find_nonfinite_in(graph, 0.0, 1.0)
    assert (report.first.role, report.first.kind) == ("creator", "-inf")
    assert report.cure.key == "a function of your own"
    assert not find_nonfinite_in(graph, 1.0, 1.0)


def test_replay_keeps_every_value():
    run = replay(lambda x: np.log(x) * 2, 0.0)
    assert [float(run.value(n)) for n in run.graph.nodes] == [0.0, -np.inf, -np.inf]
    again = replay(run.graph, 1.0)
    assert float(again.outputs) == 0.0


# -- rules that raise --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "error", "said"),
    [
        (lambda a: np.linalg.slogdet(a)[1], cr.LinearAlgebraError, "slogdet"),
        (lambda a: np.sum(np.linalg.eigh(a * 0)[1]), cr.DegenerateError, "eigh"),
    ],
)
def test_a_rule_that_raises_is_named_with_its_line(f, error, said):
    with pytest.raises(error) as caught:
        cr.find_nonfinite(f, np.ones((2, 2)))
    text = str(caught.value)
    assert f"in the derivative of {said}" in text
    assert "test_nonfinite.py:" in text
    assert f"np.linalg.{said}" in text


def test_a_derivative_that_needs_another_walk_is_found_by_it():
    """Of V f(W) Vᴴ the derivative exists where eigenvalues coincide."""

    def logarithm(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v * np.log(w)) @ v.T)

    assert np.isfinite(cr.grad(logarithm)(np.eye(2))).all()
    assert not cr.find_nonfinite(logarithm, np.eye(2))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: np.sum(x * HOLES), "HOLES[1]"),
        (lambda x: np.sum(HOLES - x), "HOLES[1]"),
        (lambda x: np.sum(np.multiply(x, HOLES[::1])), "HOLES[::1][1]"),
        (lambda x: np.sum(x * (2 * HOLES + 1)), "(2 * HOLES + 1)[1]"),
        (lambda x: np.sum(x * np.log(HOLES)), "np.log(HOLES)[1]"),
        (lambda x: np.sum(x + np.nan), "np.nan"),
    ],
)
def test_a_constant_has_the_name_the_user_gave_it(f, name):
    with np.errstate(all="ignore"):
        assert f"the constant {name} = NaN" in str(cr.find_nonfinite(f, np.ones(2)))


HOLES = np.array([1.0, np.nan])

"""cr.debug(): every gradient that is not finite raises and says why; off, nothing changes."""

import asyncio
import inspect
import threading

import numpy as np
import pytest

import chainrule as cr
from chainrule.record.state import PLAIN, current
from chainrule.record.watch import Kept
from tests.explain.planted_nan import BACKWARD, FORWARD, planted


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield
    assert current.get() is PLAIN, "no state is left behind"


def root(x):
    y = np.sqrt(x)
    return np.sum(y)


ROOT = inspect.getsourcelines(root)[1] + 1
BAD = np.array([0.0, 1.0])


def raised(compute, line=ROOT):
    with cr.debug(), pytest.raises(cr.NonFiniteGradient) as caught:
        compute()
    assert caught.value.report.first.line.number == line
    assert caught.value.report.first.role == "creator"
    return caught.value


@pytest.mark.parametrize(
    "compute",
    [
        lambda: cr.grad(root)(BAD),
        lambda: cr.value_and_grad(root)(BAD),
        lambda: cr.vjp(root, BAD)[1](1.0),
        lambda: cr.jacobian(root, mode="reverse")(BAD),
        lambda: cr.jacobian(root, mode="forward")(BAD),
        lambda: cr.jvp(root, (BAD,), (np.ones(2),)),
        lambda: cr.jvp(root, (BAD,), (np.zeros(2),)),
        lambda: cr.hessian(root)(BAD),
        lambda: cr.hvp(root, (BAD,), (np.ones(2),)),
        lambda: cr.grad(lambda x: np.sum(cr.grad(root)(x)))(BAD),
        lambda: root(cr.variable(BAD)).backward(),
    ],
    ids=["grad", "value_and_grad", "vjp", "jacobian", "forward", "jvp", "jvp of 0", "hessian",
         "hvp", "nested", "backward"],
)  # fmt: skip
def test_every_gradient_raises(compute):
    raised(compute)


def test_nothing_is_raised_when_it_is_off():
    assert np.isinf(cr.grad(root)(BAD)[0])
    x = cr.variable(BAD)
    root(x).backward()
    assert np.isinf(x.grad[0])


def test_a_finite_gradient_is_the_same():
    x = np.array([1.0, 2.0, 3.0])

    def f(x):
        return np.sum(np.where(x > 1, np.log(x - 1), 0.0) * np.exp(x) / (1 + x @ x))

    plain = cr.value_and_grad(f)(x), cr.hessian(f)(x)
    with cr.debug():
        debugged = cr.value_and_grad(f)(x), cr.hessian(f)(x)
    for a, b in zip(plain, debugged, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])
        assert type(a[1]) is type(b[1])


def test_a_loss_that_is_not_finite_is_told_although_its_gradient_is():
    def infinite(x):
        return np.sum(x) + np.inf

    for compute in (
        lambda: cr.grad(lambda x: np.log(x) * 0 + 3 * x)(-1.0),
        lambda: cr.value_and_grad(lambda x: x + np.nan)(1.0),
        lambda: cr.grad(infinite)(np.ones(2)),
        lambda: (cr.variable(1.0) + np.inf).backward(),
    ):
        with cr.debug(), pytest.raises(cr.NonFiniteGradient) as caught:
            compute()
        error = caught.value
        assert "the value of" in str(error)
        assert "the gradient" not in str(error)
        assert "test_debug.py:" in str(error)


def test_a_lane_that_is_not_finite_is_no_loss():
    with cr.debug():
        found = cr.jacobian(lambda x: np.where(x > 0, x, -np.inf))(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(found, [[1.0, 0.0], [0.0, 0.0]])


def test_the_error_names_the_argument():
    error = raised(lambda: cr.grad(lambda p: root(p["a"][1]))({"a": [1.0, BAD]}))
    assert "with respect to `p['a'][1]` is inf in 1 of 2 lanes, first [0]" in str(error)
    assert isinstance(error, (cr.ChainruleError, FloatingPointError))


def test_only_what_is_differentiated_counts():
    free = cr.variable(BAD, name="free")
    with cr.debug():
        found = cr.grad(lambda x: np.sum(np.sqrt(free)) * x)(2.0)
        assert float(getattr(found, "value", found)) == 1.0


def test_backward_leaves_the_leaves_alone():
    x = cr.variable(BAD, name="x")
    with cr.debug():
        y = root(x)
        with pytest.raises(cr.NonFiniteGradient, match="`x`"):
            y.backward()
    assert x.grad is None


def test_the_history_of_a_variable_that_was_rebound():
    x = cr.variable(np.array([1.0, 2.0]), name="x")
    with cr.debug():
        y = x * 1.0
        y[0] = 0.0
        z = np.sqrt(y)
        y[0] = 5.0
        y[1] = 7.0
        with pytest.raises(cr.NonFiniteGradient) as caught:
            np.sum(np.sqrt(z * 0.0 * y)).backward()
    assert caught.value.report.first.node.op.name == "sqrt"


@pytest.mark.parametrize("kind", ["backward", "pullback"])
def test_what_was_recorded_before_is_told_from_what_its_rules_keep(kind):
    def f(x):
        h = np.sum(x * x) + 1e-320 * 0
        return 3 * np.sqrt(h)

    line = inspect.getsourcelines(f)[1] + 2
    x = cr.variable(np.zeros(3), name="x")
    y = f(x)
    back = cr.vjp(f, np.zeros(3))[1]
    error = raised(y.backward if kind == "backward" else lambda: back(1.0), line)
    assert error.report.first.node.op.name == "sqrt"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("plants", [FORWARD, BACKWARD], ids=["forward", "backward"])
def test_plants_in_random_programs_recorded_before(plants):
    rng, seen = np.random.default_rng(3), 0
    for number in range(0, 60, 2):
        plant = planted(number, rng, plants)
        try:
            pullback = plant and cr.vjp(plant.function, *plant.arguments)[1]
        except (cr.ChainruleError, ValueError):
            continue
        with cr.debug():
            try:
                if pullback:
                    pullback(1.0)
            except cr.NonFiniteGradient as error:
                first = error.report.first
                assert (first.line.number, first.role) == (plant.line, "creator")
                seen += 1
    assert seen > 15


def test_an_overflow_recorded_before_is_not_blamed_on_what_is_not_known():
    x = cr.variable(0.0, name="x")
    y = np.exp(x * 1000 + 2000) * 2.0
    with cr.debug(), pytest.raises(cr.NonFiniteGradient) as caught:
        y.backward()
    assert caught.value.report.first.node.op.name == "exp"
    assert "= ?" in str(caught.value)
    assert "not kept" in str(caught.value)


def test_only_forward_mode_overflows():
    def f(x):
        return x * 1e200

    with cr.debug(), pytest.raises(cr.NonFiniteGradient, match="tangent of `f` is inf") as caught:
        cr.jvp(f, (1.0,), (1e200,))
    assert caught.value.report.first.node.op.name == "multiply"


@pytest.mark.parametrize("kind", ["grad", "backward"])
def test_a_rule_that_refuses_a_nan_is_not_to_blame(kind):
    def f(A):
        B = cr.logm(A @ A.T)
        y = np.sqrt(B - B)
        return np.sum(y)

    A = np.array([[2.0, 0.5], [0.1, 3.0]])
    line = inspect.getsourcelines(f)[1] + 2
    raised((lambda: cr.grad(f)(A)) if kind == "grad" else f(cr.variable(A)).backward, line)


def test_a_random_function_is_told_of_the_run_that_failed():
    rng = np.random.default_rng(0)

    def f(x):
        noise = rng.integers(0, 2)
        return np.sqrt(x * noise)

    seen = set()
    for _ in range(20):
        with cr.debug():
            try:
                cr.grad(f)(1.0)
            except cr.NonFiniteGradient as error:
                seen.add(error.report.first.node.op.name)
    assert seen == {"sqrt"}


# -- the switch ------------------------------------------------------------------------------------


def test_the_switch():
    cr.debug()
    try:
        with pytest.raises(cr.NonFiniteGradient):
            cr.grad(root)(BAD)
        with cr.debug(False):
            assert np.isinf(cr.grad(root)(BAD)[0])
        with pytest.raises(cr.NonFiniteGradient):
            cr.grad(root)(BAD)
    finally:
        cr.debug(False)
    assert np.isinf(cr.grad(root)(BAD)[0])
    current.set(PLAIN)


def test_nodes_keep_nothing_more_when_it_is_off():
    x = cr.variable(2.0)
    assert (x * x).node.watch is None
    with cr.debug():
        assert isinstance((x * x).node.watch, Kept)
    assert (x * x).node.watch is None


def test_an_exception_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), cr.debug():
        cr.grad(lambda x: x / (1 // 0))(1.0)
    assert current.get() is PLAIN


def test_a_write_to_a_constant_is_still_noticed():
    scale = np.ones(3)
    x = cr.variable(np.ones(3))
    with cr.debug():
        y = np.sum(x * scale)
        scale[0] = 2.0
        with pytest.raises(cr.MutationError):
            y.backward()


def test_other_threads_are_not_affected():
    found = []
    with cr.debug():
        thread = threading.Thread(target=lambda: found.append(_quiet_grad()))
        thread.start()
        thread.join()
    assert np.isinf(found[0][0])


def _quiet_grad():
    with np.errstate(all="ignore"):
        return cr.grad(root)(BAD)


def test_tasks_have_their_own_switch():
    async def one(on):
        with cr.debug(on):
            await asyncio.sleep(0)
            try:
                return cr.grad(root)(BAD)
            except cr.NonFiniteGradient:
                return "raised"
            finally:
                await asyncio.sleep(0)

    async def both():
        return await asyncio.gather(one(True), one(False), one(True))

    found = asyncio.run(both())
    assert found[0] == found[2] == "raised"
    assert np.isinf(found[1][0])


def test_find_nonfinite_reports_under_debug_too():
    with cr.debug():
        report = cr.find_nonfinite(lambda x: np.sum(cr.grad(root)(x)), BAD)
    assert report.first.line.number == ROOT


def test_tracing_under_debug():
    with cr.debug():
        y = cr.variable(3.0, name="y") * 2.0
        graph = cr.trace(lambda x: x * y, 2.0)
    assert float(graph.forward(2.0).outputs) == 12.0

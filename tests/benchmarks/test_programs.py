"""What the compiled benchmarks ask of chainrule has the derivatives that are written by hand."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import chainrule as cr
from benchmarks import (
    bandwidth,
    compiled,
    compiled_scalar_graphs,
    factorisations,
    gmm,
    networks,
    training_steps,
)
from benchmarks.case import PRIMAL, Case
from benchmarks.harness import GATE, distance
from benchmarks.peers import NotBuiltError
from benchmarks.worker import Worker, _run_ring

# gmm/test.txt of ADBench (MIT), and the values its unit tests expect.
ADBENCH = (
    np.array([-0.649014, 1.181166, -0.758453]),
    np.array([[0.092339, 0.186260], [0.345561, 0.396767], [0.538817, 0.419195]]),
    np.array(
        [
            [0.586443, -0.851887, 0.800321],
            [-1.509405, 0.875874, -0.242790],
            [0.166813, -1.965419, -1.270071],
        ]
    ),
    np.array([[1.175171, 2.029160]]),
    1.0,
    0,
)
GOLDEN_VALUE = 8.073804080049758
GOLDEN_ALPHAS = [0.10866285550865246, -0.7412700395238985, 0.6326071840152461]
GOLDEN_MEANS = [
    [1.1169257653278701, 0.16333301355145527],
    [-0.021998982407119314, 0.2277782922542361],
    [1.2096302561283219, -0.060637592073395634],
]
GOLDEN_ICF = [
    [2.5852999405116224, 0.11263269452421379, 0.3857443098496118],
    [0.07351805731823055, 5.418363627155952, -0.32149440967744647],
    [1.7189230977500494, 0.8600910907908669, -0.9946409304663228],
]


def by_hand(*inputs: object) -> tuple:
    value, *gradients = gmm.by_hand(*inputs)
    return value, gradients


@pytest.mark.parametrize(
    "gradient", [cr.value_and_grad(gmm.gmm_objective, gmm.ARGNUMS), by_hand], ids=["ours", "hand"]
)
def test_gmm_has_the_values_of_adbench(gradient) -> None:
    value, (alphas, means, icf) = gradient(*ADBENCH)
    assert value == pytest.approx(GOLDEN_VALUE, rel=1e-12)
    np.testing.assert_allclose(alphas, GOLDEN_ALPHAS, rtol=1e-10)
    np.testing.assert_allclose(means, GOLDEN_MEANS, rtol=1e-10)
    np.testing.assert_allclose(icf, GOLDEN_ICF, rtol=1e-10)


SMALL = [
    gmm.CASES[gmm.SIZES[1].name],
    bandwidth.CASES["log-sum-exp, n=2,500"],
    bandwidth.CASES["k-means, k=10, n=1,000, d=8"],
    bandwidth.CASES["logistic gradient, n=10,000, d=100"],
    bandwidth.CASES["logistic Hessian·vector, n=10,000, d=100"],
    factorisations.CASES["Gaussian process, n=50"],
    factorisations.CASES["1000 systems 4×4"],
    training_steps.CASES["MLP 784-256-10, batch 32"],
]


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler is tested elsewhere: here, only what the benchmarks ask of it."""
    monkeypatch.setitem(cr.__dict__, "compile", lambda f: f)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_ours_agrees_with_the_derivative_by_hand(case: Case) -> None:
    assert _first_difference(case, "chainrule.compile", "numpy.hand") <= GATE[case.dtype]


def _first_difference(case: Case, ours: str, theirs: str) -> float:
    results = []
    for variant in (ours, theirs):
        bound = case.ways[variant]()
        ring = [bound.prepare(case.inputs(slot)) for slot in range(2)]
        results.append([array for slot in _run_ring(bound, ring) for array in slot])
    return distance(*results)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", ["CNN, batch 8", "attention block, batch 8"])
def test_networks_have_the_slope_of_a_difference(name: str) -> None:
    case = networks.CASES[name]
    parameters, *data = case.inputs(0)
    precise = [p.astype(np.float64) for p in parameters]
    f = {"C": networks.cnn, "a": networks.attention}[name[0]]
    _, gradients = cr.value_and_grad(f)(precise, *data)
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=p.shape) for p in precise]
    step = 1e-5
    ahead = f([p + step * d for p, d in zip(precise, direction, strict=True)], *data)
    behind = f([p - step * d for p, d in zip(precise, direction, strict=True)], *data)
    slope = sum(np.vdot(g, d) for g, d in zip(gradients, direction, strict=True))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)


def test_an_absent_compiler_is_not_built_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chainrule", ModuleType("chainrule"))
    with pytest.raises(NotBuiltError, match="not built yet"):
        compiled.compiled(abs)


@pytest.mark.usefixtures("interpreted")
def test_an_option_that_is_not_built_is_left_out() -> None:
    assert compiled.compiled(abs, donate=0) is abs


@pytest.mark.usefixtures("interpreted")
def test_a_worker_times_steps_from_the_same_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCHMARK_SCRATCH", str(tmp_path))
    case = "softmax regression, batch 32"
    worker = Worker("training_steps", "chainrule.compile")
    assert "error" not in worker.setup(case)
    reply = worker.sample(case, 2)
    assert len(reply["ns"]) == 2
    # A state that the reset does not restore is noticed.
    prepared = worker.prepared[case]
    prepared.outputs[-1][1] = prepared.outputs[-1][1] + 1e-3
    assert "another result" in worker.sample(case, 1)["error"]


def test_every_case_has_our_variants_and_one_peer() -> None:
    workloads = gmm, bandwidth, factorisations, training_steps, networks, compiled_scalar_graphs
    for workload in workloads:
        for case in workload.CASES.values():
            assert "chainrule.compile" in case.ways
            assert next(iter(case.ways)) not in (PRIMAL, "chainrule.compile") or case.ops > 10**6

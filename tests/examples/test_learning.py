"""What the examples of learning find: run as scripts are, in this process."""

import runpy

import numpy as np
import pytest

import chainrule as cr
from tests.examples.test_scripts import ROOT


def script(name):
    """The names that a script binds."""
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def test_softmax_classifier(capsys):
    pytest.importorskip("sklearn")
    names = script("softmax_classifier")
    found = names["main"]()
    history, explanation = found["history"], found["explanation"]
    assert found["accuracy"] >= 0.95
    assert history["loss"][-1] < history["loss"][0] / 5

    # W has two children, and ∂J/∂W is the sum of what comes through both.
    scored, penalty = explanation.contributions.lines
    assert scored.line.text.startswith("s = ")
    assert penalty.line.text.startswith("r = ")
    np.testing.assert_allclose(scored.value + penalty.value, explanation.total, atol=1e-15)
    W, b, x, y = (explanation.run.value(name) for name in "Wbxy")
    np.testing.assert_allclose(penalty.value, 2 * names["LAMBDA"] * W, atol=1e-15)
    gradient = cr.grad(names["loss"])({"W": W, "b": b}, x, y.argmax(axis=1))["W"]
    np.testing.assert_allclose(explanation.total, gradient, atol=1e-14)
    assert np.linalg.norm(explanation.total) < min(scored.norm, penalty.norm)

    printed = capsys.readouterr().out
    shares = [float(word) for word in printed.split("\np   ")[1].split("\n")[0].split()[1::2]]
    assert len(shares) == 10
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    assert "they partly cancel" in printed


def test_single_hidden_layer(capsys):
    pytest.importorskip("sklearn")
    found = script("single_hidden_layer")["main"]()
    assert found["jacobian"] < 1e-14
    assert found["gradient"] < 1e-14
    assert found["history"]["accuracy"][-1] >= 0.96
    assert found["history"]["loss"][-1] < 0.01
    printed = capsys.readouterr().out
    sizes = ("∂o/∂q, 1 × 3", "∂q/∂l, 3 × 3", "∂l/∂h, 3 × 2", "∂h/∂z, 2 × 2", "∂z/∂W, 2 × 6")
    assert all(size in printed for size in (*sizes, "∂l/∂V, 3 × 6"))


def test_the_factors_are_those_of_any_network():
    names = script("single_hidden_layer")
    found = names["compare"](d=5, m=4, K=6, y=3)
    assert max(found.values()) < 1e-14


def test_stochastic_gradient_descent(capsys):
    pytest.importorskip("sklearn")
    found = script("stochastic_gradient_descent")["main"]()
    assert list(found) == [1, 8, 32, 128]
    assert min(each["accuracy"] for each in found.values()) >= 0.93
    # Of the same examples, many small steps have learned more than few large ones.
    one, eight, thirty_two, most = (each["loss"] for each in found.values())
    assert max(one, eight) < 0.02 < thirty_two < most
    assert len(capsys.readouterr().out.splitlines()) == 7


def test_character_transformer(capsys):
    pytest.importorskip("llvmlite")
    found = script("character_transformer")["main"]()
    history = found["history"]
    assert (np.diff(history["loss"]) < 0).all()
    assert history["validation"][-1] < found["given"] - 0.2
    assert history["validation"][-1] < found["alone"] - 0.7
    written = capsys.readouterr().out.splitlines()[-1]
    assert written.startswith("the gradient of ")
    assert len(written) == 240


def test_gaussian_mixture(capsys):
    pytest.importorskip("llvmlite")
    names = script("gaussian_mixture")
    found = names["main"]()
    assert found["best"].success
    assert (
        max(map(abs, np.concatenate([g.ravel() for g in found["best"].gradient.values()]))) < 1e-4
    )
    assert found["best"].value < found["truth"] < found["best"].value + 0.01
    for name, off in (("weights", 0.02), ("means", 0.1), ("covariances", 0.1)):
        np.testing.assert_allclose(found["found"][name], names["TRUTH"][name], atol=off)
    printed = capsys.readouterr().out
    assert "the true parameters" in printed

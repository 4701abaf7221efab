"""Matrices factored and solved with: a Gaussian process, and a stack of small linear systems."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.case import FASTEST, Case, Table, Work
from benchmarks.harness import Options, time_cases

TITLE = "Factorisations: a Gaussian process and a stack of linear systems, float64"

POINTS = (5, 50, 500)
SYSTEMS = (1000, 4)  # of so many equations


# -- Gaussian process ------------------------------------------------------------------------------


def process(theta: Any, x: Any, y: Any) -> Any:
    """The log likelihood of y, but for its constant; theta are logarithms."""
    from chainrule import solve_triangular

    apart = x[:, None] - x
    smooth = np.exp(theta[0]) * np.exp(-0.5 * np.exp(theta[1]) * apart * apart)
    factor = np.linalg.cholesky(smooth + np.exp(theta[2]) * np.eye(len(x)))
    white = solve_triangular(factor, y, lower=True)
    return -0.5 * np.sum(white * white) - np.sum(np.log(np.diagonal(factor)))


def process_in_jax(jax: Any) -> Callable:
    """The same for JAX."""
    jnp = jax.numpy

    def likelihood(theta: Any, x: Any, y: Any) -> Any:
        apart = x[:, None] - x
        smooth = jnp.exp(theta[0]) * jnp.exp(-0.5 * jnp.exp(theta[1]) * apart * apart)
        factor = jnp.linalg.cholesky(smooth + jnp.exp(theta[2]) * jnp.eye(len(x)))
        white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return -0.5 * jnp.sum(white * white) - jnp.sum(jnp.log(jnp.diagonal(factor)))

    return likelihood


def process_in_torch(torch: Any) -> Callable:
    """The same for torch."""

    def likelihood(theta: Any, x: Any, y: Any) -> Any:
        apart = x[:, None] - x
        smooth = torch.exp(theta[0]) * torch.exp(-0.5 * torch.exp(theta[1]) * apart * apart)
        noise = torch.exp(theta[2]) * torch.eye(len(x), dtype=x.dtype)
        factor = torch.linalg.cholesky(smooth + noise)
        white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        return -0.5 * torch.sum(white * white) - torch.sum(torch.log(torch.diagonal(factor)))

    return likelihood


def process_by_hand(theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
    """Half the trace of (a aᵀ − K⁻¹) and the change of K, with a = K⁻¹ y."""
    from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

    scaled = x[:, None] - x
    scaled *= scaled
    scaled *= -0.5 * np.exp(theta[1])
    smooth = np.exp(scaled)
    smooth *= np.exp(theta[0])
    covariance = smooth.copy()
    covariance.flat[:: len(x) + 1] += np.exp(theta[2])
    factor, _ = dpotrf(covariance, lower=1)
    solved, _ = dpotrs(factor, y, lower=1)
    value = -0.5 * (y @ solved) - np.sum(np.log(np.diagonal(factor)))
    half, _ = dpotri(factor, lower=1)  # the lower triangle of K⁻¹; `smooth` is symmetric
    weights = np.tril(half, -1)
    weights *= -2.0
    weights.flat[:: len(x) + 1] = -np.diagonal(half)
    noise = 0.5 * np.exp(theta[2]) * (solved @ solved - np.trace(half))
    weights *= smooth
    first = solved @ smooth @ solved + np.sum(weights)
    smooth *= scaled
    weights *= scaled
    second = solved @ smooth @ solved + np.sum(weights)
    return value, np.array([0.5 * first, 0.5 * second, noise])


def process_case(n: int) -> Case:
    """The factor takes n³/3 operations, and the inverse that the gradient needs twice as many."""

    def inputs(slot: int) -> tuple:
        rng = np.random.default_rng(slot)
        x = np.linspace(0.0, 10.0, n)
        return 0.1 * rng.normal(size=3) + [0.0, 0.0, -2.0], x, np.sin(x) + 0.1 * rng.normal(size=n)

    ways = compiled.four_ways(
        process,
        process_in_jax,
        process_in_torch,
        numpy=lambda: compiled.by_hand(process_by_hand),
    )
    limits = {"products": Work(flops=1.0 * n**3, exps=1.0 * n * n)}
    return Case(f"Gaussian process, n={n}", None, inputs, ways=ways, limits=limits)


# -- a stack of systems ----------------------------------------------------------------------------


def systems(a: Any, b: Any) -> Any:
    """The sum of squares of all solutions."""
    x = np.linalg.solve(a, b)
    return np.sum(x * x)


def systems_in(library: Any) -> Callable:
    """The same for jax.numpy or torch."""

    def total(a: Any, b: Any) -> Any:
        x = library.linalg.solve(a, b)
        return library.sum(x * x)

    return total


def systems_by_hand(a: np.ndarray, b: np.ndarray) -> tuple:
    """The adjoint of b is aᵀ⁻¹ 2x, and that of a minus its product with x."""
    x = np.linalg.solve(a, b)
    into = np.linalg.solve(a.transpose(0, 2, 1), 2 * x)
    return np.sum(x * x), -into * x.transpose(0, 2, 1), into


def systems_case(count: int, n: int) -> Case:
    """Each matrix is factored once, in 2n³/3 operations, and read; its adjoint is written."""

    def inputs(slot: int) -> tuple:
        rng = np.random.default_rng(slot)
        return rng.normal(size=(count, n, n)) + 4 * np.eye(n), rng.normal(size=(count, n, 1))

    ways = compiled.four_ways(
        systems,
        lambda jax: systems_in(jax.numpy),
        systems_in,
        (0, 1),
        numpy=lambda: compiled.by_hand(systems_by_hand),
    )
    traffic = 16.0 * count * (n * n + n)
    work = Work(flops=count * (2 / 3 * n**3 + 4 * n * n), bytes=traffic, footprint=traffic)
    return Case(f"{count} systems {n}×{n}", None, inputs, ways=ways, limits={"products": work})


CASES = {case.name: case for case in (*(process_case(n) for n in POINTS), systems_case(*SYSTEMS))}


def run(options: Options) -> list[Table]:
    """Time every program and size."""
    cells = time_cases("factorisations", [[case] for case in CASES.values()], options, 1e3)
    return [Table("Time of value and gradient", "µs", cells, (), FASTEST, ratios=True)]

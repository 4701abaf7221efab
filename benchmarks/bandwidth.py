"""W10, programs bound by memory: log-sum-exp, k-means, logistic regression and its Hessian."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.case import FASTEST, Case, Table, Target, Work
from benchmarks.harness import LIMIT, Options, time_cases

TITLE = "Bound by memory (W10): gradients and a Hessian-vector product, float64"

LSE_SIZES = (2_500, 40_000, 1_280_000)
KMEANS_SIZES = ((10, 1_000, 8), (100, 10_000, 16), (1000, 10_000, 16))  # clusters, points, d
REGRESSION_SIZES = ((10_000, 100), (10_000, 1000))  # points, features
RIDGE = 1e-3
RING = 8


# -- log-sum-exp -----------------------------------------------------------------------------------


def lse(x: Any) -> Any:
    """log Σ exp(x)."""
    from chainrule import logsumexp

    return logsumexp(x)


def lse_by_hand(x: np.ndarray) -> tuple:
    """The gradient is the softmax."""
    top = x.max()
    gradient = np.exp(x - top)
    total = gradient.sum()
    gradient /= total
    return np.log(total) + top, gradient


def lse_for_numba(numba: Any) -> Callable:
    """Two passes: the maximum with its sum, then the softmax."""

    @numba.njit(fastmath=True)
    def gradient(x):
        top = x.max()
        out = np.empty_like(x)
        total = 0.0
        for i in range(x.size):
            out[i] = np.exp(x[i] - top)
            total += out[i]
        for i in range(x.size):
            out[i] /= total
        return np.log(total) + top, out

    return gradient


def lse_case(n: int) -> Case:
    """x is read, then read again for its softmax, which is written; each x of the ring is new."""
    ways = compiled.four_ways(
        lse,
        lambda jax: jax.scipy.special.logsumexp,
        lambda torch: lambda x: torch.logsumexp(x, 0),
        numpy=lambda: compiled.by_hand(lse_by_hand),
        numba=lambda: compiled.numba_by_hand(lse_for_numba),
    )
    return Case(
        f"log-sum-exp, n={n:,}",
        None,
        lambda slot: (np.random.default_rng(slot).normal(size=n),),
        ways=ways,
        limits={"traffic": Work(bytes=24.0 * n, footprint=8.0 * n * (RING + 1))},
    )


# -- k-means ---------------------------------------------------------------------------------------


def kmeans(centres: Any, points: Any) -> Any:
    """Sum over the points of the squared distance to the nearest centre."""
    products = points @ centres.T
    squares = np.sum(points * points, 1)[:, None] + np.sum(centres * centres, 1) - 2 * products
    return np.sum(np.min(squares, 1))


def kmeans_in(library: Any, least: Callable) -> Callable:
    """The same for jax.numpy or torch; the products of points and centres are one large product."""

    def cost(centres: Any, points: Any) -> Any:
        squares = library.sum(points * points, 1)[:, None] + library.sum(centres * centres, 1)
        return library.sum(least(squares - 2 * (points @ centres.T)))

    return cost


def kmeans_by_hand(centres: np.ndarray, points: np.ndarray) -> tuple:
    """Σ over the points nearest to a centre, of twice the difference."""
    distances = points @ centres.T
    distances *= -2
    distances += np.sum(centres * centres, 1)
    nearest = distances.argmin(1)
    cost = np.sum(points * points) + np.sum(distances[np.arange(len(points)), nearest])
    count = np.bincount(nearest, minlength=len(centres))
    sums = np.stack([np.bincount(nearest, column, len(centres)) for column in points.T], 1)
    return cost, 2 * (count[:, None] * centres - sums)


def kmeans_for_numba(numba: Any) -> Callable:
    """Tiles of points, whose distances stay in the cache."""

    @numba.njit(fastmath=True)
    def gradient(centres, points):
        (clusters, d), n = centres.shape, points.shape[0]
        out = np.zeros_like(centres)
        transposed = np.ascontiguousarray(centres.T)
        norms = np.sum(centres * centres, 1)
        rows = min(n, max(16, 65536 // clusters))
        products = np.empty((rows, clusters))
        cost = 0.0
        for start in range(0, n, rows):
            part = points[start : min(n, start + rows)]
            tile = products[: part.shape[0]]
            np.dot(part, transposed, tile)
            for i in range(part.shape[0]):
                least = np.inf
                for k in range(clusters):
                    least = min(least, norms[k] - 2 * tile[i, k])
                nearest = 0
                while norms[nearest] - 2 * tile[i, nearest] > least:
                    nearest += 1
                cost += least
                for j in range(d):
                    cost += part[i, j] * part[i, j]
                    out[nearest, j] += 2 * (centres[nearest, j] - part[i, j])
        return cost, out

    return gradient


@cache
def kmeans_points(n: int, d: int) -> np.ndarray:
    """The points, the same in every slot."""
    return np.random.default_rng(0).normal(size=(n, d))


def kmeans_case(k: int, n: int, d: int) -> Case:
    """The products of all points with all centres; their results need not leave the cache."""
    ways = compiled.four_ways(
        kmeans,
        lambda jax: kmeans_in(jax.numpy, lambda squares: jax.numpy.min(squares, 1)),
        lambda torch: kmeans_in(torch, lambda squares: torch.min(squares, 1).values),
        numpy=lambda: compiled.by_hand(kmeans_by_hand),
        numba=lambda: compiled.numba_by_hand(kmeans_for_numba),
    )
    traffic = 8.0 * n * d + 16.0 * k * d
    return Case(
        f"k-means, k={k}, n={n:,}, d={d}",
        None,
        lambda slot: (np.random.default_rng(slot + 1).normal(size=(k, d)), kmeans_points(n, d)),
        ways=ways,
        limits={"products": Work(flops=2.0 * n * k * d, bytes=traffic, footprint=traffic)},
    )


# -- logistic regression ---------------------------------------------------------------------------


def logistic(weights: Any, points: Any, signs: Any) -> Any:
    """Mean of log(1 + exp(−margin)), with a ridge; labels are ±1."""
    margins = signs * (points @ weights)
    return np.mean(np.logaddexp(0.0, -margins)) + 0.5 * RIDGE * np.sum(weights * weights)


def logistic_in_jax(jax: Any) -> Callable:
    """The same for JAX."""
    jnp = jax.numpy

    def loss(weights: Any, points: Any, signs: Any) -> Any:
        margins = signs * (points @ weights)
        return jnp.mean(jax.nn.softplus(-margins)) + 0.5 * RIDGE * jnp.sum(weights * weights)

    return loss


def logistic_in_torch(torch: Any) -> Callable:
    """The same for torch."""

    def loss(weights: Any, points: Any, signs: Any) -> Any:
        margins = signs * (points @ weights)
        losses = torch.nn.functional.softplus(-margins, threshold=40.0)  # exact in float64
        return torch.mean(losses) + 0.5 * RIDGE * torch.sum(weights * weights)

    return loss


def logistic_by_hand(weights: np.ndarray, points: np.ndarray, signs: np.ndarray) -> tuple:
    """Two passes over the points: margins, then their adjoint."""
    margins = signs * (points @ weights)
    value = np.mean(np.logaddexp(0.0, -margins)) + 0.5 * RIDGE * np.sum(weights * weights)
    adjoint = -signs / (1 + np.exp(margins)) / len(signs)
    return value, adjoint @ points + RIDGE * weights


def logistic_for_numba(numba: Any) -> Callable:
    """One pass: a point is used twice while it is in the cache."""

    @numba.njit(fastmath=True)
    def gradient(weights, points, signs):
        n, d = points.shape
        out = RIDGE * weights
        value = 0.0
        for i in range(n):
            margin = 0.0
            for j in range(d):
                margin += points[i, j] * weights[j]
            margin *= signs[i]
            value += np.log1p(np.exp(-abs(margin))) - min(margin, 0.0)
            adjoint = -signs[i] / (1 + np.exp(margin)) / n
            for j in range(d):
                out[j] += adjoint * points[i, j]
        return value / n + 0.5 * RIDGE * np.sum(weights * weights), out

    return gradient


def hessian_by_hand(
    weights: np.ndarray, vector: np.ndarray, points: np.ndarray, signs: np.ndarray
) -> tuple:
    """Xᵀ diag(σ(1 − σ)) X v: one product with both vectors, one with the result."""
    margins, change = (points @ np.stack([weights, vector], 1)).T
    share = 1 / (1 + np.exp(-signs * margins))
    return ((share * (1 - share) * change / len(signs)) @ points + RIDGE * vector,)


def hessian_for_numba(numba: Any) -> Callable:
    """One pass, as for the gradient."""

    @numba.njit(fastmath=True)
    def product(weights, vector, points, signs):
        n, d = points.shape
        out = RIDGE * vector
        for i in range(n):
            margin, change = 0.0, 0.0
            for j in range(d):
                margin += points[i, j] * weights[j]
                change += points[i, j] * vector[j]
            share = 1 / (1 + np.exp(-signs[i] * margin))
            change *= share * (1 - share) / n
            for j in range(d):
                out[j] += change * points[i, j]
        return out

    return product


@cache
def regression_data(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and signs, the same in every slot."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, -1.0, 1.0)


def gradient_case(n: int, d: int) -> Case:
    """Each point is read once."""
    ways = compiled.four_ways(
        logistic,
        logistic_in_jax,
        logistic_in_torch,
        numpy=lambda: compiled.by_hand(logistic_by_hand),
        numba=lambda: compiled.numba_by_hand(logistic_for_numba),
    )
    return Case(
        f"logistic gradient, n={n:,}, d={d}",
        None,
        lambda slot: (_vector(slot, d), *regression_data(n, d)),
        ways=ways,
        limits={"traffic": Work(bytes=8.0 * n * d, footprint=8.0 * n * d)},
    )


def _vector(seed: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=d) / np.sqrt(d)


def hessian_case(n: int, d: int) -> Case:
    """Forward over reverse in every library; each point is read once.

    No R2: the product needs no value of the loss, so that the primal is not a part of it.
    """

    def in_jax(jax: Any) -> Callable:
        def product(weights: Any, vector: Any, points: Any, signs: Any) -> Any:
            gradient = jax.grad(lambda w: logistic_in_jax(jax)(w, points, signs))
            return jax.jvp(gradient, (weights,), (vector,))[1]

        return product

    def in_torch(torch: Any) -> Callable:
        loss = logistic_in_torch(torch)

        def product(weights: Any, vector: Any, points: Any, signs: Any) -> Any:
            gradient = torch.func.grad(lambda w: loss(w, points, signs))
            return torch.func.jvp(gradient, (weights,), (vector,))[1]

        return product

    def in_ours(cr: Any) -> Callable:
        def product(weights: Any, vector: Any, points: Any, signs: Any) -> Any:
            return cr.hvp(lambda w: logistic(w, points, signs), (weights,), (vector,))

        return product

    ways = {
        "numpy.hand": lambda: compiled.by_hand(hessian_by_hand),
        "numba.hand": lambda: compiled.numba_by_hand(hessian_for_numba),
        "torch.eager": lambda: compiled.torch_function(in_torch),
        "torch.compile": lambda: compiled.torch_compiled(in_torch),
        "jax.jit": lambda: compiled.jax(in_jax),
        "chainrule.compile": lambda: compiled.chainrule(in_ours),
    }
    return Case(
        f"logistic Hessian·vector, n={n:,}, d={d}",
        None,
        lambda slot: (_vector(slot, d), _vector(slot + 100, d), *regression_data(n, d)),
        ways=ways,
        limits={"traffic": Work(bytes=8.0 * n * d, footprint=8.0 * n * d)},
    )


CASES = {
    case.name: case
    for case in (
        *(lse_case(n) for n in LSE_SIZES),
        *(kmeans_case(*size) for size in KMEANS_SIZES),
        *(gradient_case(*size) for size in REGRESSION_SIZES),
        *(hessian_case(*size) for size in REGRESSION_SIZES),
    )
}
TARGETS = (
    *(Target(name, FASTEST, 0.5) for name in CASES),
    *(Target(name, LIMIT, 1.5) for name in CASES),
)


def run(options: Options) -> list[Table]:
    """Time every program and size."""
    cells = time_cases("bandwidth", [[case] for case in CASES.values()], options, 1e3)
    return [Table("Time of a derivative", "µs", cells, TARGETS, FASTEST, ratios=True)]

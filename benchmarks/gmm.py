"""W6, Gaussian mixture: the gradient of ADBench's GMM objective, against every peer and the limit.

The data are drawn as GradBench draws them (seed 31337); the objective, ADBench's own, is

    Σᵢ lseₖ(αₖ + Σqₖ − ½‖Qₖ(xᵢ − μₖ)‖²) − n·lse(α) − ½·n·d·log 2π + Wishart prior(q, l)

with Qₖ lower triangular: exp(qₖ) on the diagonal, lₖ below it, column by column.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import multigammaln

from benchmarks import compiled
from benchmarks.case import FASTEST, Case, Table, Target, Work
from benchmarks.harness import Options, time_cases

TITLE = "Gaussian mixture (W6): objective and gradient, float64"

SEED = 31337
GAMMA, M = 1.0, 0
ARGNUMS = (0, 1, 2)


class Size(NamedTuple):
    """Points, dimensions, components."""

    n: int
    d: int
    K: int

    @property
    def name(self) -> str:
        """As the tables call it."""
        return f"d={self.d}, K={self.K}, n={self.n:,}"


SIZES = (
    Size(1000, 2, 5),
    Size(1000, 10, 25),
    Size(1000, 20, 50),
    Size(1000, 32, 50),
    Size(1000, 64, 100),
    Size(10_000, 10, 25),
)
LARGE = SIZES[4]


# -- ours: NumPy code as a demanding user writes it ------------------------------------------------


def gmm_objective(
    alphas: Any, means: Any, icf: Any, x: Any, wishart_gamma: Any, wishart_m: Any
) -> Any:
    """ADBench's GMM objective. The points meet all components in one matrix product."""
    from chainrule import logsumexp

    n, d = x.shape
    K = alphas.shape[0]
    q, lower = icf[:, :d], icf[:, d:]
    diagonal, log_det = np.exp(q), np.sum(q, 1)
    entries = np.concatenate([diagonal, lower, np.zeros((K, 1))], 1)
    Q = entries[:, triangle(d)]
    z = (x @ Q.reshape(K * d, d).T).reshape(n, K, d) - np.einsum("kij,kj->ki", Q, means)
    beta = alphas + log_det - 0.5 * np.sum(z * z, 2)
    squares = np.sum(diagonal * diagonal) + np.sum(lower * lower)
    prior = 0.5 * wishart_gamma**2 * squares - wishart_m * np.sum(log_det)
    degrees = d + wishart_m + 1
    normal = degrees * d * np.log(wishart_gamma / math.sqrt(2)) - multigammaln(0.5 * degrees, d)
    likelihood = np.sum(logsumexp(beta, 1)) - n * logsumexp(alphas)
    return likelihood - 0.5 * n * d * math.log(2 * math.pi) + prior - K * normal


def triangle(d: int) -> np.ndarray:
    """Where each entry of Q lies in [exp(q), l, 0]: l fills the triangle column by column."""
    columns, rows = np.triu_indices(d, 1)
    place = np.full((d, d), d + len(rows))
    place[rows, columns] = d + np.arange(len(rows))
    place[np.arange(d), np.arange(d)] = np.arange(d)
    return place


places = cache(triangle)  # for those who run their code in every call


def constant(n: int, d: int, K: int) -> float:
    """What does not depend on the parameters; peers get it as a number."""
    degrees = d + M + 1
    normal = degrees * d * math.log(GAMMA / math.sqrt(2)) - float(multigammaln(0.5 * degrees, d))
    return -0.5 * n * d * math.log(2 * math.pi) - K * normal


# -- peers -----------------------------------------------------------------------------------------


def in_jax(jax: Any) -> Callable:
    """The same form: one product was faster than the batched one (164 and 231 ms at d=64)."""
    jnp, lse = jax.numpy, jax.scipy.special.logsumexp

    def objective(alphas: Any, means: Any, icf: Any, x: Any, *_: Any) -> Any:
        (n, d), K = x.shape, alphas.shape[0]
        q, lower = icf[:, :d], icf[:, d:]
        diagonal, log_det = jnp.exp(q), jnp.sum(q, 1)
        Q = jnp.concatenate([diagonal, lower, jnp.zeros((K, 1))], 1)[:, places(d)]
        z = (x @ Q.reshape(K * d, d).T).reshape(n, K, d) - jnp.einsum("kij,kj->ki", Q, means)
        beta = alphas + log_det - 0.5 * jnp.sum(z * z, 2)
        prior = 0.5 * GAMMA**2 * (jnp.sum(diagonal**2) + jnp.sum(lower**2)) - M * jnp.sum(log_det)
        likelihood = jnp.sum(lse(beta, axis=1)) - n * lse(alphas)
        return likelihood + prior + constant(n, d, K)

    return objective


def in_torch(torch: Any) -> Callable:
    """The same form: one product was faster than the batched one (237 and 303 ms at d=64)."""

    def objective(alphas: Any, means: Any, icf: Any, x: Any, *_: Any) -> Any:
        (n, d), K = x.shape, alphas.shape[0]
        q, lower = icf[:, :d], icf[:, d:]
        diagonal, log_det = torch.exp(q), torch.sum(q, 1)
        entries = torch.cat([diagonal, lower, torch.zeros((K, 1), dtype=x.dtype)], 1)
        Q = entries[:, listed[d]]
        z = (x @ Q.reshape(K * d, d).T).reshape(n, K, d) - torch.einsum("kij,kj->ki", Q, means)
        beta = alphas + log_det - 0.5 * torch.sum(z * z, 2)
        squares = torch.sum(diagonal * diagonal) + torch.sum(lower * lower)
        prior = 0.5 * GAMMA**2 * squares - M * torch.sum(log_det)
        likelihood = torch.sum(torch.logsumexp(beta, 1)) - n * torch.logsumexp(alphas, 0)
        return likelihood + prior + constants[n, d, K]

    listed = {size.d: torch.tensor(places(size.d)) for size in SIZES}
    constants = {size: constant(*size) for size in SIZES}  # dynamo does not follow SciPy
    return objective


def by_hand(
    alphas: np.ndarray, means: np.ndarray, icf: np.ndarray, x: np.ndarray, *_: Any
) -> tuple:
    """The adjoint in NumPy: two large matrix products, and nothing computed twice."""
    (n, d), K = x.shape, len(alphas)
    Q, offset, bias = assembled(alphas, means, icf)
    z = (x @ Q.reshape(K * d, d).T).reshape(n, K, d)
    z -= offset
    beta = bias - 0.5 * np.einsum("nki,nki->nk", z, z)
    top = beta.max(1, keepdims=True)
    weights = np.exp(beta - top)
    sums = weights.sum(1, keepdims=True)
    weights /= sums
    z *= -weights[:, :, None]  # now the adjoint of z
    value = float(np.sum(np.log(sums)) + np.sum(top))
    of_Q = (z.reshape(n, K * d).T @ x).reshape(K, d, d)
    return finished(alphas, means, icf, n, Q, value, weights.sum(0), z.sum(0), of_Q)


def assembled(alphas: np.ndarray, means: np.ndarray, icf: np.ndarray) -> tuple:
    """Q, Qμ and α + Σq: all that the points must meet."""
    K, d = means.shape
    q, lower = icf[:, :d], icf[:, d:]
    Q = np.concatenate([np.exp(q), lower, np.zeros((K, 1))], 1)[:, places(d)]
    return Q, np.einsum("kij,kj->ki", Q, means), alphas + q.sum(1)


def finished(
    alphas: np.ndarray,
    means: np.ndarray,
    icf: np.ndarray,
    n: int,
    Q: np.ndarray,
    value: float,  # Σ lse(β)
    column: np.ndarray,  # Σ over the points of the softmax of β
    of_offset: np.ndarray,  # adjoints, summed over the points
    of_Q: np.ndarray,
) -> tuple:
    """Value and gradients, from the sums over all points: work of the size of the parameters."""
    K, d = means.shape
    diagonal, lower, place = np.exp(icf[:, :d]), icf[:, d:], places(d)
    share = np.exp(alphas - alphas.max())
    total = share.sum()
    value -= n * (math.log(total) + alphas.max())
    value += 0.5 * GAMMA**2 * (np.sum(diagonal**2) + np.sum(lower**2)) - M * np.sum(icf[:, :d])
    of_Q = of_Q - of_offset[:, :, None] * means[:, None, :]
    entries = np.empty((K, place.max() + 1))
    entries[:, place.ravel()] = of_Q.reshape(K, d * d)  # those above the diagonal land in the last
    of_icf = entries[:, : icf.shape[1]]
    of_icf[:, :d] = (of_icf[:, :d] + GAMMA**2 * diagonal) * diagonal + column[:, None] - M
    of_icf[:, d:] += GAMMA**2 * lower
    of_means = -np.einsum("kij,ki->kj", Q, of_offset)
    return value + constant(n, d, K), column - n * share / total, of_means, of_icf


def for_numba(numba: Any) -> Callable:
    """The adjoint for numba: the points come in tiles, whose arrays stay in the cache."""

    @numba.njit(fastmath=True)
    def tiles(bias, offset, Q, x, rows, of_offset, of_Q, column):
        n, d = x.shape
        K = bias.shape[0]
        Q_transposed = np.ascontiguousarray(Q.T)
        z = np.empty((rows, K * d))
        beta = np.empty(K)
        value = 0.0
        for start in range(0, n, rows):
            count = min(rows, n - start)
            part = x[start : start + count]
            tile = z[:count]
            np.dot(part, Q_transposed, tile)
            for i in range(count):
                for k in range(K):
                    total = 0.0
                    for j in range(k * d, k * d + d):
                        tile[i, j] -= offset[j]
                        total += tile[i, j] * tile[i, j]
                    beta[k] = bias[k] - 0.5 * total
                top = beta.max()
                total = 0.0
                for k in range(K):
                    beta[k] = math.exp(beta[k] - top)
                    total += beta[k]
                value += math.log(total) + top
                for k in range(K):
                    weight = beta[k] / total
                    column[k] += weight
                    for j in range(k * d, k * d + d):
                        tile[i, j] *= -weight
                        of_offset[j] += tile[i, j]
            of_Q += np.dot(tile.T, part)
        return value

    def gradient(alphas: Any, means: Any, icf: Any, x: Any, *_: Any) -> tuple:
        (n, d), K = x.shape, len(alphas)
        Q, offset, bias = assembled(alphas, means, icf)
        of_offset, of_Q, column = np.zeros(K * d), np.zeros((K * d, d)), np.zeros(K)
        rows = min(n, max(32, TILE // (K * d)))
        flat = Q.reshape(K * d, d)
        value = tiles(bias, offset.ravel(), flat, x, rows, of_offset, of_Q, column)
        adjoints = column, of_offset.reshape(K, d), of_Q.reshape(K, d, d)
        return finished(alphas, means, icf, n, Q, value, *adjoints)

    return gradient


TILE = 1 << 17  # elements of z at a time: a megabyte


# -- the cases -------------------------------------------------------------------------------------


@cache
def data(size: Size) -> tuple[np.ndarray, ...]:
    """x, α, μ, q and l, drawn in GradBench's order; the points are the same in every slot."""
    n, d, K = size
    rng = np.random.default_rng(SEED)
    x, alphas, means = rng.normal(size=(n, d)), rng.normal(size=K), rng.uniform(size=(K, d))
    q, lower = rng.normal(size=(K, d)), rng.normal(size=(K, d * (d - 1) // 2))
    return x, alphas, means, np.concatenate([q, lower], 1)


def inputs(size: Size) -> Callable[[int], tuple]:
    """Slot 0 has the drawn parameters; the others step a little away from them."""

    def slot_inputs(slot: int) -> tuple:
        x, *parameters = data(size)
        rng = np.random.default_rng(slot)
        moved = [p + 0.01 * min(slot, 1) * rng.normal(size=p.shape) for p in parameters]
        return (*moved, x, GAMMA, M)

    return slot_inputs


def case(size: Size) -> Case:
    """All ways of one size; 6·n·K·d² operations if Q is dense, 3·n·K·d² if its zeros are known."""
    n, d, K = size
    ways = compiled.four_ways(
        gmm_objective,
        in_jax,
        in_torch,
        ARGNUMS,
        numpy=lambda: compiled.by_hand(by_hand),
        numba=lambda: compiled.numba_by_hand(for_numba),
    )
    limits = {
        "dense": Work(flops=6.0 * n * K * d * d, exps=2.0 * n * K),
        "triangular": Work(flops=3.0 * n * K * d * d, exps=2.0 * n * K),
    }
    return Case(size.name, None, inputs(size), ways=ways, limits=limits)


CASES = {size.name: case(size) for size in SIZES}
TARGETS = tuple(Target(size.name, FASTEST, 0.33 if size == LARGE else 0.5) for size in SIZES)


def run(options: Options) -> list[Table]:
    """Time every size."""
    cells = time_cases("gmm", [[case] for case in CASES.values()], options, 1e6)
    return [Table("Time of value and gradient", "ms", cells, TARGETS, FASTEST, ratios=True)]

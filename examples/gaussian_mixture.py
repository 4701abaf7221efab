"""A mixture of Gaussians fitted by L-BFGS: the gradient of a density in plain NumPy.

    log p(x) = log Σ_k π_k N(x; μ_k, Σ_k)

L-BFGS searches all numbers, so the parameters are free of constraints: π = softmax(α), and
Σ_k⁻¹ = Q_kᵀ Q_k with Q_k a lower triangle whose diagonal is an exponential.  Compared with the
parameters that the data were drawn from: no parameters explain the sample better than those of
maximum likelihood, not even the true ones.

    python examples/gaussian_mixture.py
"""

from itertools import permutations
from time import perf_counter

import numpy as np

import chainrule as cr
from chainrule import learn

N, D, K = 2000, 2, 3
TRUTH = {
    "weights": np.array([0.5, 0.3, 0.2]),
    "means": np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 3.0]]),
    "covariances": np.array(
        [[[1.0, 0.6], [0.6, 0.8]], [[0.3, 0.0], [0.0, 1.0]], [[0.6, -0.3], [-0.3, 0.4]]]
    ),
}


def draw(rng):
    """N points of the mixture: first which Gaussian, then where."""
    chosen = rng.choice(K, size=N, p=TRUTH["weights"])
    factors = np.linalg.cholesky(TRUTH["covariances"])
    return TRUTH["means"][chosen] + np.einsum(
        "nij,nj->ni", factors[chosen], rng.normal(size=(N, D))
    )


def factor(p):
    """The K triangles Q, of which Σ⁻¹ = QᵀQ."""
    return np.tril(p["below"], -1) + np.exp(p["log diagonal"])[:, :, None] * np.eye(D)


def loss(p, x):
    """−(1/N) Σ log p(x), with log N(x; μ, Σ) = log det Q − |Q(x − μ)|²/2 − (D/2) log 2π."""
    z = np.einsum("kij,nkj->nki", factor(p), x[:, None, :] - p["means"])
    normal = np.sum(p["log diagonal"], axis=1) - 0.5 * np.sum(z**2, axis=2)
    each = cr.logsumexp(cr.log_softmax(p["alpha"]) + normal, axis=1)
    return 0.5 * D * np.log(2 * np.pi) - np.mean(each)


def free(weights, means, covariances):
    """The parameters that L-BFGS sees."""
    Q = np.linalg.inv(np.linalg.cholesky(covariances))
    diagonal = np.diagonal(Q, axis1=1, axis2=2)
    return {"alpha": np.log(weights), "means": means, "log diagonal": np.log(diagonal), "below": Q}


def readable(p):
    """Weights, means and covariances again."""
    Q = factor(p)
    return {
        "weights": cr.softmax(p["alpha"]),
        "means": p["means"],
        "covariances": np.linalg.inv(np.swapaxes(Q, 1, 2) @ Q),
    }


def in_order_of_truth(found):
    """A mixture has no first Gaussian: take the order whose means lie nearest to the true ones."""
    orders = map(list, permutations(range(K)))
    best = min(orders, key=lambda order: np.sum((found["means"][order] - TRUTH["means"]) ** 2))
    return {name: value[best] for name, value in found.items()}


def main():
    rng = np.random.default_rng(1)
    x = draw(rng)
    # It ends in the minimum next to where it starts: start at several places, keep the lowest.
    starts = [
        free(np.full(K, 1 / K), x[rng.choice(N, K, replace=False)], np.stack([np.cov(x.T)] * K))
        for _ in range(3)
    ]
    begun = perf_counter()
    fast = cr.compile(cr.value_and_grad(loss))  # once for all three
    ends = [learn.minimise(fast, start, x, has_gradient=True) for start in starts]
    seconds = perf_counter() - begun
    for end in ends:
        print(f"−log p per point {end.value:.6f} after {end.iterations} iterations: {end.message}")
    best = min(ends, key=lambda end: end.value)
    found, truth = in_order_of_truth(readable(best.parameters)), float(loss(free(**TRUTH), x))
    print(f"the true parameters {truth:.6f}; all {len(ends)} fits took {seconds:.2f} s\n")

    for k in range(K):
        for name, p in (("true", TRUTH), ("found", found)):
            mean, covariance = p["means"][k].round(2), p["covariances"][k].round(2).tolist()
            print(f"{name:6} π {p['weights'][k]:.3f}   μ {mean!s:14}   Σ {covariance}")
    return {"values": [end.value for end in ends], "best": best, "found": found, "truth": truth}


if __name__ == "__main__":
    main()

"""Likelihoods, fits, distances and tables of data."""

from __future__ import annotations

import numpy as plain
import pandas as pd

from tests.scientist.snippet import snippet

X2, X3, X4 = [0.7, 1.3], [0.7, 1.3, 2.1], [0.7, 1.3, 2.1, 0.4]
X6 = [0.3, 1.2, 0.8, 2.0, 1.5, 0.6]
T = plain.linspace(0, 2, 8)
DATA = 1.5 * plain.exp(-0.8 * T) + 0.1 * plain.cos(7 * T)
TABLE = pd.DataFrame(
    {
        "dose": [0.0, 1.0, 2.0, 3.0],
        "weight": [1.0, 0.5, 2.0, 1.5],
        "hit": [True, False, True, True],
    },
    index=list("abcd"),
)


@snippet(X2)
def sum_of_squares(np, scipy, p):
    return np.sum((p[0] * np.exp(-p[1] * T) - DATA) ** 2)


@snippet(X2)
def gaussian_likelihood(np, scipy, p):
    z = (DATA - p[0]) / p[1]
    return np.sum(0.5 * z**2 + np.log(p[1]) + 0.5 * np.log(2 * np.pi))


@snippet(X2)
def logistic_regression(np, scipy, w):
    y = (DATA > 0.6).astype(float)
    logits = w[0] + w[1] * T
    return np.sum(np.logaddexp(0, logits) - y * logits)


@snippet(X3)
def mixture_likelihood(np, scipy, p):
    a = np.log(0.4) - 0.5 * (DATA - p[0]) ** 2
    b = np.log(0.6) - 0.5 * ((DATA - p[1]) / p[2]) ** 2 - np.log(p[2])
    return np.sum(np.logaddexp(a, b))


@snippet(X4)
def robust_loss(np, scipy, p):
    r = np.polyval(p, T) - DATA
    return np.sum(np.where(np.abs(r) < 1, 0.5 * r**2, np.abs(r) - 0.5))


@snippet(X3)
def kernel_density(np, scipy, x):
    d = (x[:, None] - T) / 0.3
    return np.sum(np.log(np.mean(np.exp(-0.5 * d**2), axis=1)))


@snippet(X3)
def gaussian_process(np, scipy, p):
    k = p[0] * np.exp(-0.5 * ((T[:, None] - T) / p[1]) ** 2) + (0.1 + p[2]) * np.eye(8)
    chol = np.linalg.cholesky(k)
    alpha = np.linalg.solve(chol, DATA)
    return 0.5 * alpha @ alpha + np.sum(np.log(np.diag(chol)))


@snippet(X6)
def correlation(np, scipy, x):
    return np.corrcoef(x, np.arange(6.0))[0, 1]


@snippet(X6)
def weighted_mean(np, scipy, w):
    return np.average(np.arange(6.0), weights=w) ** 2


@snippet(X6)
def median_deviation(np, scipy, x):
    return np.median(np.abs(x - np.median(x))) + np.percentile(x, 30)


@snippet(X6)
def third_moment(np, scipy, x):
    return np.mean(((x - x.mean()) / x.std()) ** 3)


@snippet(X6)
def covariance_distance(np, scipy, x):
    points = x.reshape(3, 2)
    cov = np.cov(points.T) + np.eye(2)
    d = points[0] - points.mean(axis=0)
    return d @ np.linalg.solve(cov, d)


@snippet(X6)
def principal_variance(np, scipy, x):
    points = x.reshape(3, 2) - x.reshape(3, 2).mean(axis=0)
    return np.linalg.svd(points, compute_uv=False)[0] ** 2


@snippet(X6)
def k_means_loss(np, scipy, x):
    centres = x[:4].reshape(2, 2)
    points = np.array([[0.0, 0.0], [1.0, 1.2], [2.0, 1.8]])
    return np.sum(np.min(np.sum((points[:, None] - centres) ** 2, axis=-1), axis=1))


@snippet(0.4)
def autoregression(np, scipy, rho):
    e = DATA[1:] - rho * DATA[:-1]
    return np.sum(e**2) - np.log(1 - rho**2)


@snippet(X2)
def poisson_counts(np, scipy, p):
    rate = np.exp(p[0] + p[1] * T)
    return np.sum(rate - np.array([1, 0, 2, 3, 1, 4, 2, 5]) * np.log(rate))


@snippet(X2)
def column_model(np, scipy, p):
    return np.sum((p[0] + p[1] * TABLE["dose"] - TABLE["weight"]) ** 2)


@snippet(X2)
def column_first(np, scipy, p):
    return np.sum((TABLE["dose"] * p[0] - TABLE["weight"] / p[1]) ** 2)


@snippet(X4)
def column_of_parameters(np, scipy, x):
    return (TABLE["dose"] * x).mean() ** 2


@snippet(X2)
def table_times_weights(np, scipy, w):
    return np.sum((TABLE[["dose", "weight"]] @ w) ** 2)


@snippet(X2)
def table_values(np, scipy, w):
    return np.sum(np.tanh(TABLE[["dose", "weight"]].to_numpy() @ w))


@snippet(X4)
def rows_of_a_table(np, scipy, x):
    return np.sum(x[TABLE["hit"]] ** 2) + np.sum(np.where(TABLE["dose"] > 1, x, 0))


@snippet(X4)
def assigned_column(np, scipy, x):
    table = TABLE.assign(effect=x)
    return np.sum(table["effect"] * table["weight"])


@snippet(X4)
def groups_of_a_table(np, scipy, x):
    return (pd.Series(x).groupby([0, 0, 1, 1]).sum() ** 2).sum()


@snippet(X4)
def exponents_of_a_column(np, scipy, x):
    return np.sum(np.exp(-TABLE["dose"] * x[0]) ** 2) + np.dot(TABLE["weight"], x)


@snippet(X3, needs="stats")
def normal_distribution(np, scipy, p):
    return -np.sum(scipy.stats.norm.logpdf(DATA, loc=p[0], scale=p[1]))


@snippet(X3, needs="stats")
def gamma_distribution(np, scipy, p):
    return -np.sum(scipy.stats.gamma.logpdf(T + 0.5, p[0], scale=p[1]))


@snippet(X3, needs="stats")
def student_errors(np, scipy, p):
    return -np.sum(scipy.stats.t.logpdf(DATA - p[0], df=3 + p[1], scale=p[2]))


@snippet(X3, needs="stats")
def survival(np, scipy, p):
    return np.sum(scipy.stats.weibull_min.logsf(T + 0.1, p[0], scale=p[1]))


@snippet(X2, needs="stats")
def beta_prior(np, scipy, p):
    return scipy.stats.beta.logpdf(0.3, p[0], p[1])


@snippet(X2, needs="stats")
def poisson_distribution(np, scipy, p):
    return np.sum(scipy.stats.poisson.logpmf([1, 0, 2, 3], np.exp(p[0]) + p[1]))


@snippet(X2, needs="special")
def beta_binomial(np, scipy, p):
    return scipy.special.betaln(p[0] + 3, p[1] + 2) - scipy.special.betaln(p[0], p[1])


@snippet(X6, needs="special")
def log_sum_of_exponentials(np, scipy, x):
    return scipy.special.logsumexp(x) + np.sum(scipy.special.log_softmax(x)[:2])


@snippet(X3, needs="special")
def probit(np, scipy, p):
    return np.sum(np.log(scipy.special.ndtr(p[0] + p[1] * T)))


@snippet(X3, needs="special")
def error_function(np, scipy, x):
    return np.sum(scipy.special.erf(x) * scipy.special.gammaln(x + 1))


@snippet(X3, needs="special")
def bessel_modes(np, scipy, x):
    return np.sum(scipy.special.j0(x) ** 2 + scipy.special.expit(x))


@snippet(X6, needs="spatial")
def distance_matrix(np, scipy, x):
    p = x.reshape(3, 2)
    return np.sum(scipy.spatial.distance.cdist(p, np.array([[0.0, 0.0], [1.0, 3.0]])))


@snippet(X6, needs="spatial")
def condensed_distances(np, scipy, x):
    return np.sum(scipy.spatial.distance.pdist(x.reshape(3, 2)) ** 2)

"""Distances of vectors (`metrics.py`) and of all pairs of rows (`pairs.py`)."""

import numpy as np
import pytest
import scipy.spatial.distance as theirs

import chainrule as cr
from chainrule.scipy.spatial import distance
from tests.scipy.checks import agrees

RNG = np.random.default_rng(0)
A, B = RNG.uniform(0.5, 2, (4, 3)), RNG.uniform(0.5, 2, (3, 3))
W = np.array([1.0, 2.0, 0.5])
VI = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.5]])
METRICS = [
    ("euclidean", {}), ("euclidean", {"w": W}), ("sqeuclidean", {}), ("cityblock", {}),
    ("cityblock", {"w": W}), ("chebyshev", {}), ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": W}), ("seuclidean", {}), ("seuclidean", {"V": W}),
    ("mahalanobis", {}), ("mahalanobis", {"VI": VI}), ("cosine", {}), ("correlation", {}),
    ("canberra", {}), ("braycurtis", {}), ("jensenshannon", {}), ("hamming", {}), ("e", {}),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "settings"), METRICS)
def test_all_pairs_of_two_sets(metric, settings):
    agrees(
        lambda x, y: distance.cdist(x, y, metric, **settings),
        lambda x, y: theirs.cdist(x, y, metric, **settings),
        *(A, B),
    )


@pytest.mark.parametrize(("metric", "settings"), METRICS[::3])
def test_all_pairs_of_one_set(metric, settings):
    agrees(
        lambda x: distance.pdist(x, metric, **settings),
        lambda x: theirs.pdist(x, metric, **settings),
        A,
    )


@pytest.mark.parametrize(
    ("metric", "settings"),
    [("euclidean", ()), ("minkowski", (3, W)), ("mahalanobis", (VI,)), ("cosine", (W,)),
     ("seuclidean", (W,)), ("jensenshannon", (2,)), ("correlation", ()), ("chebyshev", (W,))],
)  # fmt: skip
def test_two_vectors_to_order_two(metric, settings):
    agrees(
        lambda u, v: getattr(distance, metric)(u, v, *settings),
        lambda u, v: getattr(theirs, metric)(u, v, *settings),
        *(A[0], A[1]),
        order=2,
    )


@pytest.mark.parametrize(
    "metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "canberra"]
)
def test_at_distance_zero_the_gradient_is_zero(metric):
    f = lambda x: np.sum(distance.cdist(x, A, metric)[0, 0])  # noqa: E731
    np.testing.assert_array_equal(cr.grad(f)(A), np.zeros(A.shape))
    h = lambda u: getattr(distance, metric)(u, A[0])  # noqa: E731
    assert np.isfinite(cr.hessian(h)(A[0])).all()


def test_distances_that_are_roots_have_no_gradient_at_zero():
    np.testing.assert_array_equal(
        cr.grad(lambda u: distance.mahalanobis(u, A[0], VI))(A[0]), np.zeros(3)
    )
    p = np.array([0.2, 0.3, 0.5])
    np.testing.assert_array_equal(cr.grad(lambda u: distance.jensenshannon(u, p))(p), np.zeros(3))


def test_a_kernel_matrix_with_its_diagonal():
    """The squared distance of a point to itself is 0 and stays so."""

    def energy(x, scale):
        return np.sum(np.exp(-distance.cdist(x, x, "sqeuclidean") / scale**2))

    cr.check_grads(energy, A, 1.3, order=2)
    k = lambda x: np.sum(np.exp(-distance.squareform(distance.pdist(x))))  # noqa: E731
    cr.check_grads(k, A)


def test_a_metric_of_the_users_own():
    agrees(
        lambda x, y: distance.cdist(x, y, lambda u, v: np.sum(np.abs(u - v) ** 3)),
        lambda x, y: theirs.cdist(x, y, lambda u, v: np.sum(np.abs(u - v) ** 3)),
        *(A, B),
    )


def test_squareform_both_ways():
    v = np.arange(1.0, 7.0)
    agrees(distance.squareform, theirs.squareform, v)
    matrix = theirs.squareform(v)
    found = cr.grad(lambda m: np.sum(distance.squareform(m, checks=False)))(matrix)
    np.testing.assert_array_equal(found, np.triu(np.ones((4, 4)), 1))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: distance.cdist(x, x[:, :2]), "rows of 3 and of 2 entries"),
        (lambda x: distance.pdist(x[0]), "the rows of a matrix"),
        (lambda x: distance.cdist(x, x, "dice"), "'dice' is not differentiated; these are: bray"),
        (lambda x: distance.euclidean(x, x), "takes two vectors"),
        (lambda x: distance.squareform(x), "a vector or a square matrix"),
        (lambda x: distance.squareform(x[0, :2]), "not the number of pairs"),
        (lambda x: distance.jaccard(x[0], x[0]), "jaccard is not differentiated"),
        (lambda x: distance.minkowski(x[0], x[1], p=0), "p must be greater than 0"),
        (lambda x: distance.minkowski(x[0], x[1], p=x[0, 0]), "'p' is a fixed setting"),
    ],
)
def test_errors_name_the_function_and_the_line(call, said):
    with pytest.raises(cr.ChainruleError, match=said) as caught:
        cr.grad(lambda x: np.sum(call(x)))(A)
    assert "test_metrics.py" in str(caught.value)

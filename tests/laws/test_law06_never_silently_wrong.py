"""Law 6: what peers get silently wrong comes out right here, or raises with the fix."""

import numpy as np
import pytest

import chainrule as cr
import chainrule.numpy as cnp

x0 = np.array([0.0, 4.0])

BRANCHES = {
    "where": lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
    "where, log": lambda x: np.sum(np.where(x > 0, np.log(x), x)),
    "where, quotient": lambda x: np.sum(np.where(x > 0, 1 / x, 0.0)),
    "where, nested": lambda x: np.sum(np.where(x > 0, np.where(x > 1, np.sqrt(x), x), 0.0)),
    "where, power": lambda x: np.sum(np.where(x > 0, x**0.5, 0.0)),
    "where, arctan2": lambda x: np.sum(np.where(x > 0, np.arctan2(x, x), 0.0)),
    "boolean factor": lambda x: np.sum((x > 0) * np.sqrt(x)),
    "mask array": lambda x: np.sum(np.array([False, True]) * np.sqrt(x)),
    "boolean index": lambda x: np.sum(np.sqrt(x)[x > 0]),
    "slice": lambda x: np.sum(np.sqrt(x)[1:]),
    "integer index": lambda x: np.sqrt(x)[1] * 2.0,
    "fancy index": lambda x: np.sum(np.sqrt(x)[[1, 1]]),
    "max": lambda x: np.max(np.sqrt(x)),
    "maximum": lambda x: np.sum(np.maximum(np.sqrt(x), 1.0)),
    "minimum": lambda x: np.sum(np.minimum(1 / np.sqrt(x), 2.0)),
    "clip": lambda x: np.sum(np.clip(np.sqrt(x), 1.0, 3.0)),
    "overwritten": lambda x: _overwritten(np.sqrt(x)),
}


def _overwritten(y):
    y[0] = 7.0
    return np.sum(y)


@pytest.mark.parametrize("name", BRANCHES)
def test_the_branch_not_taken_never_reaches_the_gradient(name):
    f = BRANCHES[name]
    with np.errstate(all="ignore"):
        gradient = cr.grad(f)(x0)
        forward = [cr.jvp(f, (x0,), (u,))[1] for u in np.eye(2)]
        hessians = [cr.hessian(f)(x0), cr.jacobian(cr.grad(f), mode="reverse")(x0)]
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(forward, gradient, atol=1e-14)
    for hessian in hessians:
        assert np.isfinite(hessian).all(), "order 2"
        assert hessian[0, 0] == 0.0 or "log" in name
    np.testing.assert_allclose(*hessians, atol=1e-13)


def test_unknown_rows_of_a_product():
    """NaN rows that `where` masks do not reach the weights."""
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.inf]])
    known = np.array([True, False, False])
    gradient = cr.grad(lambda w: np.sum(np.where(known, X @ w, 0.0)))(np.ones(2))
    np.testing.assert_array_equal(gradient, [1.0, 2.0])


def test_a_numeric_zero_times_infinity_stays_visible():
    """Only structure makes a zero safe: this NaN is the honest answer of the chain rule."""
    with np.errstate(all="ignore"):
        assert np.isnan(cr.grad(lambda x: np.sqrt(x * x))(0.0))


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (lambda x: np.linalg.norm(x), np.zeros(3), np.zeros(3)),
        (lambda x: np.linalg.norm(x) ** 2, np.zeros(3), np.zeros(3)),
        (lambda x: np.hypot(x[0], x[1]), np.zeros(2), np.zeros(2)),
        (lambda x: np.sqrt(x) ** 2, 0.0, 1.0),
        (lambda x: np.square(np.sqrt(x)), 0.0, 1.0),
        (lambda x: np.sqrt(x) * np.sqrt(x) if False else (lambda r: r * r)(np.sqrt(x)), 0.0, 1.0),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**0.0, 0.0, 0.0),
        (lambda y: np.float64(0.0) ** y, 2.0, 0.0),
        (lambda x: np.std(x), np.ones(4), np.zeros(4)),
        (lambda x: np.sinc(x), 0.0, 0.0),
        (lambda x: cr.xlogy(x, x), 1.0, 1.0),
        (lambda x: cr.logsumexp(x), np.array([-np.inf, 0.0]), np.array([0.0, 1.0])),
    ],
)
def test_at_zero(f, at, expected):
    np.testing.assert_allclose(cr.grad(f)(at), expected, atol=1e-15)


# -- mutation ------------------------------------------------------------------------------------


def test_a_constant_changed_before_backward_raises_with_both_lines():
    scale = np.array([1.0, 2.0, 3.0])
    x = cr.variable(np.ones(3))
    y = x * scale
    scale[0] = 9.0
    with pytest.raises(cr.MutationError) as caught:
        np.sum(y).backward()
    text = str(caught.value)
    assert "y = x * scale" in text
    assert "float64 (3,), held by you" in text
    assert "pass a copy" in text


@pytest.mark.parametrize("size", [3, 5000])
def test_a_change_through_an_alias_is_found(size):
    scale = np.arange(float(size))
    alias = scale[::-1]
    x = cr.variable(np.ones(size))
    y = np.sum(x * scale)
    alias[0] += 1e-9
    with pytest.raises(cr.MutationError):
        y.backward()


def test_a_permutation_of_a_large_constant_is_found():
    scale = np.random.default_rng(0).standard_normal(20_000)
    x = cr.variable(np.ones(20_000))
    y = np.sum(x * scale)
    scale.sort()
    with pytest.raises(cr.MutationError):
        y.backward()


def test_a_leaf_does_not_follow_the_array_it_was_made_from():
    a = np.array([1.0, 2.0])
    x = cr.variable(a)
    y = np.sum(x * x)
    a[:] = 100.0
    y.backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_values_are_read_only():
    x = cr.variable(np.ones(2))
    for value in (x.value, (x * 2.0).value, x[:1].value):
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 5.0


def test_a_changed_constant_that_no_rule_reads_is_nobody_s_business():
    shift = np.ones(2)
    x = cr.variable(np.ones(2))
    y = np.sum(x + shift)
    shift[:] = 50.0
    y.backward()
    np.testing.assert_array_equal(x.grad, [1.0, 1.0])


# -- writing -------------------------------------------------------------------------------------


def test_item_assignment_is_recorded():
    def f(x):
        y = x * 2.0
        y[1] = x[0] * x[2]
        y[2:] += 1.0
        y *= 3.0
        return np.sum(y)

    np.testing.assert_allclose(cr.grad(f)(np.array([1.0, 5.0, 2.0])), [6.0 + 6.0, 0.0, 6.0 + 3.0])


def test_earlier_readers_keep_the_old_value():
    def f(x):
        y = x * 1.0
        before = y[0] * 10.0
        y[0] = 0.0
        return before + np.sum(y)

    np.testing.assert_array_equal(cr.grad(f)(np.ones(2)), [10.0, 1.0])


def test_views_follow_their_array_as_in_numpy():
    def f(x):
        y = x * 1.0
        row = y[0:2]
        y[0] = x[1] * 5.0
        return np.sum(row * np.array([1.0, 100.0]))

    np.testing.assert_array_equal(cr.grad(f)(np.ones(3)), [0.0, 105.0, 0.0])


@pytest.mark.parametrize(
    "write", ["v[0] = 1.0", "v += 1.0", "v[:] = 0.0", "v *= 2.0", "v.fill(0.0)"]
)
def test_writing_through_a_view_raises(write):
    y = cr.variable(np.arange(4.0)) * 1.0
    scope = {"v": y[1:], "np": np}
    with pytest.raises(cr.ViewWriteError, match="view"):
        exec(write, scope)  # noqa: S102


def test_a_variable_cannot_be_assigned_into_a_plain_array():
    def f(x):
        a = np.zeros(2)
        a[0] = x
        return np.sum(a)

    with pytest.raises(cr.DetachError) as raised:
        cr.grad(f)(1.0)
    ours = raised.value
    for part in ("plain ndarray", "a[0] = x", "chainrule.numpy"):
        assert part in str(ours)
    x = cr.variable(1.0)
    a = np.zeros(2)
    # NumPy raises its own "setting an array element with a sequence" on top of ours.
    with pytest.raises(ValueError, match="sequence") as caught:
        a[0] = x * 2.0
    assert isinstance(caught.value.__cause__, cr.DetachError)
    with pytest.raises(cr.DetachError):
        a += x
    with pytest.raises(cr.DetachError):
        a[:] = cr.variable(np.ones(2))


def test_the_drop_in_zeros_can_be_assigned_to():
    def f(x):
        a = cnp.zeros(3)
        for i in range(3):
            a[i] = x[i] ** 2
        return np.sum(a)

    np.testing.assert_array_equal(cr.grad(f)(np.arange(3.0)), [0.0, 2.0, 4.0])


# -- hidden boxes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        lambda x: np.array([x[0], 2 * x[1]]),
        lambda x: np.stack([x[0], 2 * x[1]]),
        lambda x: np.concatenate([x[:1], 2 * x[1:]]),
        lambda x: np.concatenate([[x[0]], [2 * x[1]]]),
        lambda x: np.hstack([x[0], 2 * x[1]]),
        lambda x: [x[0], 2 * x[1]] * np.ones(2),
        lambda x: cnp.array([x[0], 2 * x[1]]),
        lambda x: np.array([x[0], 2 * x[1]]) + np.zeros(2),
        lambda x: np.exp(np.log(np.array([x[0], 2 * x[1]]))),
    ],
)
def test_values_hidden_in_lists_keep_their_gradient(build):
    found = cr.jacobian(lambda x: build(x) * cr.variable(np.ones(2)).value)(np.array([1.0, 3.0]))
    np.testing.assert_allclose(found, [[1.0, 0.0], [0.0, 2.0]])


@pytest.mark.parametrize("convert", [float, int, complex, lambda v: v.item()])
def test_conversion_inside_a_differentiated_function_raises(convert):
    with pytest.raises(cr.DetachError, match=r"stop_gradient"):
        cr.grad(lambda x: x * convert(x))(2.0)


def test_conversion_outside_is_fine():
    x = cr.variable(2.5)
    assert float(x * 2.0) == 5.0
    assert (x * 2.0).item() == 5.0
    assert int(x) == 2


def test_stop_gradient_is_the_one_way_to_detach():
    assert cr.grad(lambda x: x * cr.stop_gradient(x))(3.0) == 3.0
    assert cr.grad(lambda x: x * cr.stop_gradient(x).value)(3.0) == 3.0


@pytest.mark.parametrize("index", [3, -4, [0, 5], (0, 0)])
def test_out_of_range_index_raises_with_the_line(index):
    with pytest.raises(IndexError) as caught:
        cr.grad(lambda x: np.sum(x[index]))(np.ones(3))
    assert isinstance(caught.value, cr.OutOfRangeError)
    assert "x[index]" in str(caught.value)


# -- degenerate matrices, complex numbers ----------------------------------------------------------


def test_repeated_eigenvalues():
    """Complaint 21: functions that do not depend on the choice of basis have a gradient."""
    S = np.diag([1.0, 1.0, 2.0])
    np.testing.assert_allclose(
        cr.grad(lambda A: np.sum(np.linalg.eigvalsh(A)))(S), np.eye(3), atol=1e-12
    )

    def rebuilt(A):
        w, U = np.linalg.eigh(A)
        return np.sum(((U * w) @ U.T) * np.arange(9.0).reshape(3, 3))

    gradient = cr.grad(rebuilt)(S)
    assert np.isfinite(gradient).all()


def test_repeated_singular_values():
    M = np.arange(9.0).reshape(3, 3)

    def rebuilt(A):
        U, s, Vh = np.linalg.svd(A)
        return np.sum(((U * s) @ Vh) * M)

    np.testing.assert_allclose(cr.grad(rebuilt)(np.eye(3)), M, atol=1e-10)


def test_a_gradient_that_depends_on_the_basis_raises():
    with pytest.raises(cr.DegenerateError, match="eigenvalue"):
        cr.grad(lambda A: np.linalg.eigh(A)[1][0, 1])(np.eye(2))


def test_complex_gradients_point_uphill():
    gradient = cr.grad(lambda z: np.abs(z) ** 2)(3.0 + 4.0j)
    np.testing.assert_allclose(gradient, 6.0 + 8.0j)
    with pytest.raises(cr.DerivativeError, match="holomorphic=True"):
        cr.grad(lambda z: z * z)(3.0 + 4.0j)
    np.testing.assert_allclose(cr.grad(lambda z: z * z, holomorphic=True)(3.0 + 4.0j), 6.0 + 8.0j)


def test_a_rule_that_refuses_nan_never_meets_one_of_a_dead_lane():
    """SciPy's Fréchet derivative raises on NaN, and sqrt at 0 has an infinite slope."""
    taken = np.array([[False, True], [True, True]])

    def f(x):
        logarithm = cr.logm(np.array([[2.0, 0.3], [0.1, 3.0]]) + x * np.eye(2))
        apart = logarithm - np.array([[logarithm.value[0, 0], 0.0], [0.0, 0.0]])
        return np.sum(np.where(taken, np.sqrt(apart), 0.0))

    def without_that_lane(x):
        logarithm = cr.logm(np.array([[2.0, 0.3], [0.1, 3.0]]) + x * np.eye(2))
        return np.sum(np.sqrt(logarithm[taken]))

    np.testing.assert_allclose(cr.grad(f)(0.5), cr.grad(without_that_lane)(0.5), rtol=1e-14)


@pytest.mark.parametrize("transform", [cr.grad, cr.trace, cr.hessian], ids=lambda t: t.__name__)
def test_backward_inside_what_is_recorded(transform):
    """`.grad` is a plain array: a recording of it would repeat the first one for ever."""

    def f(x):
        np.sum(x**2).backward()
        return np.sum(x.grad * x)

    with pytest.raises(cr.DerivativeError, match=r"(?s)backward\(\) inside.*cr\.grad"):
        transform(f, np.ones(2)) if transform is cr.trace else transform(f)(np.ones(2))

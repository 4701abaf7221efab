"""Rotations of Variables (`rotations.py`, `quaternions.py`)."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Theirs

import chainrule as cr
from chainrule.scipy.spatial.transform import Rotation
from tests.scipy.checks import agrees

RNG = np.random.default_rng(0)
Q, W = RNG.normal(size=4), RNG.normal(size=(3, 3))
USES = {
    "as_matrix": lambda R, q: R.from_quat(q).as_matrix(),
    "as_rotvec": lambda R, q: R.from_quat(q).as_rotvec(),
    "as_rotvec in degrees": lambda R, q: R.from_quat(q).as_rotvec(degrees=True),
    "apply": lambda R, q: R.from_quat(q).apply(W),
    "apply inverse": lambda R, q: R.from_quat(q).apply(W[0], inverse=True),
    "scalar first": lambda R, q: R.from_quat(q, scalar_first=True).as_quat(canonical=True),
    "power": lambda R, q: (R.from_quat(q) ** 0.5).as_matrix(),
    "magnitude": lambda R, q: R.from_quat(q).magnitude(),
    "inverse, composed with several": lambda R, q: (
        R.from_quat(q).inv() * R.from_rotvec(W)
    ).as_matrix(),
    "after one of numbers": lambda R, q: (
        R.from_euler("xy", [0.3, 0.4]) * R.from_quat(q)
    ).as_matrix(),
    "picked": lambda R, q: (R.from_rotvec(W) * R.from_quat(q))[1].as_quat(canonical=True),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_of_a_quaternion(use):
    agrees(lambda q: use(Rotation, q), lambda q: use(Theirs, q), Q)


@pytest.mark.parametrize("seq", ["xyz", "ZYX", "XYX", "zxz", "yxz", "z"])
def test_of_euler_angles(seq):
    angles = np.array([0.3, 0.5, -0.7]) if len(seq) == 3 else 0.3
    agrees(
        lambda e: Rotation.from_euler(seq, e).as_matrix(),
        lambda e: Theirs.from_euler(seq, e).as_matrix(),
        angles,
    )


@pytest.mark.parametrize("seq", ["xyz", "ZYX", "XYX", "zxz", "YXZ"])
def test_as_euler_angles(seq):
    agrees(
        lambda q: Rotation.from_quat(q).as_euler(seq, degrees=True),
        lambda q: Theirs.from_quat(q).as_euler(seq, degrees=True),
        Q,
    )


@pytest.mark.parametrize("size", [0.0, 0.02, 2.9])
def test_small_angles_to_order_two(size):
    v = size * np.array([0.6, -0.48, 0.64])
    agrees(
        lambda v: Rotation.from_rotvec(v).apply(W[0])[:1],
        lambda v: Theirs.from_rotvec(v).apply(W[0])[:1],
        v,
        order=2,
    )


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.05, 2.9])
def test_there_and_back_is_the_identity(size):
    v = size * np.array([0.6, -0.48, 0.64])
    back = lambda v: Rotation.from_rotvec(v).as_rotvec()  # noqa: E731
    np.testing.assert_allclose(cr.jacobian(back)(v), np.eye(3), atol=1e-13)
    turned = cr.jacobian(lambda v: cr.jacobian(back)(v))(v)
    np.testing.assert_allclose(turned, np.zeros((3, 3, 3)), atol=1e-10)


@pytest.mark.parametrize("turn", [[0.3, 0.4, 2.5], [3.0, 0.1, 0.2], [0.1, -3.0, 0.2], [0.1, 0, 0]])
def test_of_a_matrix(turn):
    """Also off the rotations, where SciPy takes the nearest one."""
    matrix = Theirs.from_rotvec(turn).as_matrix()
    ours = lambda m: Rotation.from_matrix(m).as_matrix()  # noqa: E731
    agrees(ours, lambda m: Theirs.from_matrix(m).as_matrix(), matrix)
    agrees(ours, lambda m: Theirs.from_matrix(m).as_matrix(), matrix + 0.02 * W)


def test_of_a_matrix_to_order_two():
    bent = np.eye(3) + 0.02 * W
    agrees(
        lambda m: Rotation.from_matrix(m).as_quat()[0],
        lambda m: Theirs.from_matrix(m).as_quat()[0],
        bent,
        order=2,
    )


def test_one_of_numbers_is_scipys_and_turns_variables():
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])
    assert isinstance(turn, Theirs)
    assert turn.single
    np.testing.assert_array_equal(
        turn.as_quat(), Theirs.from_euler("xyz", [0.1, 0.2, 0.3]).as_quat()
    )
    agrees(turn.apply, Theirs.from_euler("xyz", [0.1, 0.2, 0.3]).apply, W)
    assert len(Rotation.from_rotvec(cr.variable(W))) == 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: Rotation.from_rotvec(x).mean().as_quat(), "Rotation.mean is not differentiated"),
        (lambda x: Rotation.from_mrp(x).as_quat(), "from_mrp is not differentiated"),
        (lambda x: Rotation.from_quat(x).as_quat(), r"shape \(…, 4,\), not \(3,\)"),
        (lambda x: Rotation.from_quat(0 * np.append(x, 0.0)).as_quat(), "norm 0"),
        (lambda x: Rotation.from_euler("xxz", x).as_quat(), "'xxz' is no sequence"),
        (lambda x: Rotation.from_euler("xy", x).as_quat(), "2 axes for 3 angles"),
        (lambda x: Rotation.from_matrix(-np.eye(3) * x).as_quat(), "determinant"),
    ],
)
def test_errors(call, said):
    with pytest.raises(cr.ChainruleError, match=said) as caught:
        cr.grad(lambda x: np.sum(call(x)))(np.array([1.0, 2.0, 3.0]))
    assert "test_rotations.py" in str(caught.value)


def test_gimbal_lock_is_refused():
    def lost(x):
        return Rotation.from_euler("xyz", np.stack([x, x * 0 + np.pi / 2, x])).as_euler("xyz")[0]

    with pytest.raises(cr.DerivativeError, match="gimbal lock"):
        cr.grad(lost)(0.3)

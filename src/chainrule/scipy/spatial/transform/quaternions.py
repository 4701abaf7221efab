"""Unit quaternions (x, y, z, w) along the last axis: made of and turned into other forms.

What depends on an angle near 0 is a power series in its square, so that all derivatives are right.
"""

from __future__ import annotations

from itertools import pairwise
from math import factorial, pi
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, DerivativeError, LinearAlgebraError
from chainrule.ops.special import polynomial

MIN_SQUARE = 1e-3  # of an angle; below it series of five terms are exact to the last bit
GIMBAL = 1e-7  # SciPy's: how near the middle Euler angle may come to the pole
HALF_SINE = [(-1) ** k / (2 ** (2 * k + 1) * factorial(2 * k + 1)) for k in range(5)]
HALF_COSINE = [(-1) ** k / (2 ** (2 * k) * factorial(2 * k)) for k in range(5)]
ARC_SINE = [1.0, 1 / 6, 3 / 40, 15 / 336, 105 / 3456]


def parts(q: Any) -> tuple[Any, Any, Any, Any]:
    return q[..., 0], q[..., 1], q[..., 2], q[..., 3]


def joined(*entries: Any) -> Any:
    return np.stack(np.broadcast_arrays(*entries), axis=-1)


def normalised(q: Any) -> Any:
    length = np.sum(q * q, axis=-1, keepdims=True)
    if np.any(np.equal(length, 0)):
        raise ArgumentError("Rotation: a quaternion of norm 0 is no rotation")
    return q / np.sqrt(length)


def product(p: Any, q: Any) -> Any:
    """The rotation q first, then p."""
    px, py, pz, pw = parts(p)
    qx, qy, qz, qw = parts(q)
    return joined(
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def matrix(q: Any) -> Any:
    x, y, z, w = parts(q)
    rows = (
        joined(x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
        joined(2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)),
        joined(2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w),
    )
    return np.stack(rows, axis=-2)


def by_square(square: Any, series: list[float], far: Any) -> Any:
    """`far` of a squared angle, by its power series where that is small."""
    small = np.less(square, MIN_SQUARE)
    near = polynomial(series, np.where(small, square, 0.0))
    return np.where(small, near, far(np.where(small, 1.0, square)))


def of_rotvec(v: Any) -> Any:
    square = np.sum(v * v, axis=-1, keepdims=True)
    sine = by_square(square, HALF_SINE, lambda s: np.sin(0.5 * np.sqrt(s)) / np.sqrt(s))
    cosine = by_square(square, HALF_COSINE, lambda s: np.cos(0.5 * np.sqrt(s)))
    return np.concatenate([sine * v, cosine], axis=-1)


def rotvec(q: Any) -> Any:
    """The shorter of the two turns."""
    q = np.where(np.less(q[..., 3:], 0), -q, q)
    axis, w = q[..., :3], q[..., 3:]
    square = np.sum(axis * axis, axis=-1, keepdims=True)
    small = np.less(square, MIN_SQUARE)
    scale = by_square(
        square,
        ARC_SINE,
        lambda s: np.arctan2(np.sqrt(s), np.where(small, 1.0, w)) / np.sqrt(s),
    )
    return 2 * scale * axis


def magnitude(q: Any) -> Any:
    """The angle; at 0 it has a kink, and the derivative 0."""
    return 2 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), np.abs(q[..., 3]))


def of_matrix(m: Any) -> Any:
    """The quaternion of the nearest rotation, by its largest entry so that nothing cancels."""
    m = _orthogonal(m)
    diagonal = [m[..., i, i] for i in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        entries: list[Any] = [None] * 4
        entries[i] = 1 - trace + 2 * diagonal[i]
        entries[j] = m[..., j, i] + m[..., i, j]
        entries[k] = m[..., k, i] + m[..., i, k]
        entries[3] = m[..., k, j] - m[..., j, k]
        candidates.append(joined(*entries))
    candidates.append(
        joined(
            m[..., 2, 1] - m[..., 1, 2],
            m[..., 0, 2] - m[..., 2, 0],
            m[..., 1, 0] - m[..., 0, 1],
            1 + trace,
        )
    )
    largest = np.argmax(np.stack([*diagonal, trace], axis=-1), axis=-1)[..., None]
    q = candidates[3]
    for i in range(3):
        q = np.where(np.equal(largest, i), candidates[i], q)
    return normalised(q)


def _orthogonal(m: Any) -> Any:
    """The polar factor by Newton's iteration, whose last two steps carry derivatives to order 3."""
    if np.any(np.less_equal(np.linalg.det(m), 0)):
        raise LinearAlgebraError("Rotation.from_matrix: a matrix has a determinant that is not > 0")
    left = 2
    for _ in range(40):
        following = 0.5 * (m + np.swapaxes(np.linalg.inv(m), -1, -2))
        settled = np.all(np.less(np.abs(following - m), 1e-12))
        m, left = following, left - 1 if settled else 2
        if left <= 0:
            break
    return m


# ---- Euler angles -------------------------------------------------------------------------------


def elementary(axis: str, angle: Any) -> Any:
    entries = [0.0 * angle] * 3
    entries["xyz".index(axis)] = np.sin(0.5 * angle)
    return joined(*entries, np.cos(0.5 * angle))


def checked_sequence(seq: str) -> tuple[str, bool]:
    """The axes in lower case, and whether they turn with the body."""
    intrinsic = seq.isupper()
    axes = seq.lower()
    repeated = any(a == b for a, b in pairwise(axes))
    wrong = not 1 <= len(seq) <= 3 or not (intrinsic or seq.islower()) or set(axes) - set("xyz")
    if wrong or repeated:
        raise ArgumentError(
            f"Rotation: {seq!r} is no sequence of 1 to 3 axes, of xyz or of XYZ, each unlike the "
            "one before"
        )
    return axes, intrinsic


def of_euler(seq: str, angles: Any) -> Any:
    axes, intrinsic = checked_sequence(seq)
    if len(axes) == 1 and angles.ndim and (angles.ndim > 1 and angles.shape[-1] == 1):
        angles = angles[..., 0]
    columns = [angles] if len(axes) == 1 else [angles[..., i] for i in range(angles.shape[-1])]
    if len(columns) != len(axes):
        raise ArgumentError(f"Rotation: {len(axes)} axes for {len(columns)} angles")
    q = elementary(axes[0], columns[0])
    for axis, angle in zip(axes[1:], columns[1:], strict=True):
        turn = elementary(axis, angle)
        q = product(q, turn) if intrinsic else product(turn, q)
    return q


def euler(q: Any, seq: str) -> Any:
    """After Bernardes and Viollet: the half sum and half difference of the outer angles."""
    axes, intrinsic = checked_sequence(seq)
    if len(axes) != 3:
        raise ArgumentError(f"Rotation.as_euler takes three axes, not {seq!r}")
    i, j, k = ("xyz".index(a) for a in (axes[::-1] if intrinsic else axes))
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    if np.any(np.less_equal(middle, GIMBAL)) or np.any(np.less_equal(pi - middle, GIMBAL)):
        raise DerivativeError(
            "Rotation.as_euler in gimbal lock: the outer angles have no derivative where the "
            "middle one is at its pole; choose another sequence of axes, or as_rotvec()"
        )
    total, difference = np.arctan2(b, a), np.arctan2(d, c)
    first, third = total - difference, total + difference
    if not symmetric:
        third, middle = third * sign, middle - pi / 2
    angles = (third, middle, first) if intrinsic else (first, middle, third)
    out = np.stack(angles, axis=-1)
    return out - 2 * pi * np.round(out / (2 * pi))

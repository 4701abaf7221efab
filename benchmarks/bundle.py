"""Bundle adjustment as in ADBench: the residual of one observation, and its Jacobian for each.

An observation sees a point by a camera: rotation (3), centre (3), focal length, principal point
(2), radial distortion (2). Its residual has two entries.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

CAMERA_NUMBERS, POINTS_PER_OBSERVATION = 11, 4


def rotated(to: Any, r: Any, x: Any) -> Any:
    """Rodrigues' formula, with its limit where nothing rotates."""
    xp = to.xp

    def crossed(a: Any, b: Any) -> Any:
        parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        return xp.stack(parts)

    def turned(r: Any, square: Any) -> Any:
        angle = xp.sqrt(square)
        cosine, axis = xp.cos(angle), r / angle
        along = xp.sum(axis * x) * (1 - cosine)
        return x * cosine + crossed(axis, x) * xp.sin(angle) + axis * along

    square = xp.sum(r * r)
    if to.name == "chainrule":
        return turned(r, square) if square > 0 else x + crossed(r, x)
    safe = xp.where(square > 0, square, 1.0)  # or the unused branch makes NaN of the gradient
    return xp.where(square > 0, turned(r, safe), x + crossed(r, x))


def residual(to: Any) -> Callable:
    def one(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        x = rotated(to, camera[0:3], point - camera[3:6])
        p = x[0:2] / x[2]
        square = to.xp.sum(p * p)
        p = p * (1 + camera[9] * square + camera[10] * square * square)
        return weight * (camera[6] * p + camera[7:9] - feature)

    return one


def jacobians(to: Any) -> Callable:
    """Of every observation: by camera, by point, by weight."""
    return to.vmap(to.jacobian(residual(to), (0, 1, 2)))


def inputs(count: int, rng: np.random.Generator) -> tuple:
    """Cameras and points as the observations pick them."""
    cameras = 0.1 * rng.normal(size=(49, CAMERA_NUMBERS))
    cameras[:, 6] += 500.0
    points = rng.normal(size=(count // POINTS_PER_OBSERVATION, 3))
    points[:, 2] += 10.0
    return (
        cameras[rng.integers(len(cameras), size=count)],
        points[rng.integers(len(points), size=count)],
        rng.random(count) + 0.5,
        rng.normal(size=(count, 2)),
    )

"""Hand tracking as in ADBench: 26 parameters pose a mesh of 544 vertices on 22 bones.

The simple form compares given vertices with observed points; the complicated one compares points
on triangles, which have two parameters each. The mesh is drawn at random, of the sizes of ADBench's
small model.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

BONES, VERTICES, OBSERVED = 22, 544, 100
PARENTS = (-1, 0, *(p for finger in range(5) for p in (0, *range(2 + 4 * finger, 5 + 4 * finger))))
JOINTS = 4  # numbers of a finger: two at its root, one at each of two others


def turn(to: Any, angles: Any) -> Any:
    """The rotation by three Euler angles, z after y after x."""
    xp = to.xp
    c, s = xp.cos(angles), xp.sin(angles)
    entries = [
        c[1] * c[2], s[0] * s[1] * c[2] - c[0] * s[2], c[0] * s[1] * c[2] + s[0] * s[2],
        c[1] * s[2], s[0] * s[1] * s[2] + c[0] * c[2], c[0] * s[1] * s[2] - s[0] * c[2],
        -s[1], s[0] * c[1], c[0] * c[1],
    ]  # fmt: skip
    return xp.stack(entries).reshape(3, 3)


def about(to: Any, r: Any) -> Any:
    """The rotation about an axis by its length; no observed hand is unturned."""
    xp = to.xp
    angle = xp.sqrt(xp.sum(r * r))
    x, y, z = r[0] / angle, r[1] / angle, r[2] / angle
    s, c = xp.sin(angle), xp.cos(angle)
    d = 1 - c
    entries = [
        x * x * d + c, x * y * d - z * s, x * z * d + y * s,
        x * y * d + z * s, y * y * d + c, y * z * d - x * s,
        x * z * d - y * s, y * z * d + x * s, z * z * d + c,
    ]  # fmt: skip
    return xp.stack(entries).reshape(3, 3)


def joint_angles(to: Any, theta: Any) -> Any:
    """Three Euler angles for each bone: most are zero."""
    zero = 0.0 * theta[0]
    rows = [[zero] * 3, [zero] * 3]
    for finger in range(5):
        at = 6 + JOINTS * finger
        bends = theta[at], theta[at + 2], theta[at + 3]
        rows += [[bends[0], theta[at + 1], zero]]
        rows += [[bend, zero, zero] for bend in bends[1:]] + [[zero] * 3]
    return to.xp.stack([number for row in rows for number in row]).reshape(BONES, 3)


def posed(to: Any) -> Callable:
    """The vertices, by the parameters."""
    xp = to.xp

    def vertices(theta: Any, relative: Any, inverse: Any, rest: Any, weights: Any) -> Any:
        turns = to.vmap(lambda angles: turn(to, angles))(joint_angles(to, theta))
        moves = xp.concatenate([relative[:, :, :3] @ turns, relative[:, :, 3:]], 2)
        absolute: list = []
        for bone, parent in enumerate(PARENTS):
            own = moves[bone]
            if parent >= 0:
                above = absolute[parent]
                own = above[:, :3] @ own
                own = xp.concatenate([own[:, :3], (own[:, 3] + above[:, 3])[:, None]], 1)
            absolute.append(own)
        whole = xp.stack(absolute)
        skinning = xp.concatenate([
            whole[:, :, :3] @ inverse[:, :, :3],
            (whole[:, :, :3] @ inverse[:, :, 3:]) + whole[:, :, 3:],
        ], 2)  # fmt: skip
        spin, shift = about(to, theta[0:3]), theta[3:6]

        def one(vertex: Any, weight: Any) -> Any:
            """A vertex moves as its bones do, by weight."""
            moved = skinning[:, :, :3] @ vertex + skinning[:, :, 3]
            return spin @ (weight @ moved) + shift

        return to.vmap(one)(rest, weights)

    return vertices


def simple(to: Any) -> Callable:
    """300 × 26: what is observed, less the vertices that stand for it."""
    vertices = posed(to)

    def errors(theta: Any, seen: Any, places: Any, *mesh: Any) -> Any:
        return (seen - vertices(theta, *mesh)[places]).reshape(-1)

    return to.jacobian(errors, 0, True)


def complicated(to: Any) -> Callable:
    """300 × 28: also by the two numbers of each observation, whose columns share no row."""
    vertices, xp = posed(to), to.xp

    def run(theta: Any, places: Any, seen: Any, corners: Any, *mesh: Any) -> Any:
        def errors(theta: Any, places: Any) -> Any:
            found = vertices(theta, *mesh)[corners]

            def one(point: Any, u: Any, triangle: Any) -> Any:
                return point - (
                    u[0] * triangle[0] + u[1] * triangle[1] + (1 - u[0] - u[1]) * triangle[2]
                )

            return to.vmap(one)(seen, places, found).reshape(-1)

        still, one = 0.0 * theta, xp.ones_like(places[:, 0])
        by_place = [
            to.jvp(errors, (theta, places), (still, xp.stack(pair, 1)))[1]
            for pair in ([one, 0 * one], [0 * one, one])
        ]
        by_theta = to.jacobian(lambda theta: errors(theta, places), 0, True)(theta)
        return xp.concatenate([xp.stack(by_place, 1), by_theta], 1)

    return run


def mesh(rng: np.random.Generator) -> tuple:
    """Bones relative to their parents, from rest to bones, vertices at rest, and weights."""
    move = rng.normal(size=(2, BONES, 3, 4))
    move[..., :3] = np.linalg.qr(move[..., :3])[0]
    weights = rng.random((VERTICES, BONES)) ** 8
    weights /= weights.sum(1, keepdims=True)
    return move[0], move[1], rng.normal(size=(VERTICES, 3)), weights


def simple_inputs(rng: np.random.Generator) -> tuple:
    theta, seen = 0.5 * rng.normal(size=26), rng.normal(size=(OBSERVED, 3))
    return theta, seen, rng.integers(VERTICES, size=OBSERVED), *mesh(rng)


def complicated_inputs(rng: np.random.Generator) -> tuple:
    theta, seen = 0.5 * rng.normal(size=26), rng.normal(size=(OBSERVED, 3))
    corners = rng.integers(VERTICES, size=(OBSERVED, 3))
    return theta, 0.5 * rng.random((OBSERVED, 2)), seen, corners, *mesh(rng)

"""`Rotation` of Variables: SciPy's class, with a recorded quaternion in place of its own."""

from __future__ import annotations

from functools import wraps
from math import pi
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation as Theirs

from chainrule.errors import ShapeError
from chainrule.ops.joining import as_array
from chainrule.scipy.dispatch import meets_variable, not_covered, run_ours
from chainrule.scipy.spatial.transform import quaternions

NAME = "scipy.spatial.transform.Rotation"
DEGREE = pi / 180


def _recorded(rotation: Any) -> Any:
    """The quaternion of a rotation: a Variable of one of ours, or SciPy's numbers."""
    own = getattr(rotation, "_own", None)
    return Theirs.as_quat(rotation) if own is None else own


def _of(quaternion: Any) -> Rotation:
    """The rotation of a unit quaternion."""
    made = Rotation.__new__(Rotation)
    made._own = quaternion
    return made


def _adopted(result: Any) -> Any:
    """A rotation that SciPy returns as one of ours, so that it can be applied to Variables."""
    if isinstance(result, Theirs) and not isinstance(result, Rotation):
        return Rotation(Theirs.as_quat(result), normalize=False)
    return result


def _checked(name: str, a: Any, tail: tuple[int, ...]) -> Any:
    a = as_array(a)
    if a.shape[-len(tail) :] != tail:
        raise ShapeError(
            f"Rotation.{name} takes an array of shape (…, {str(tail)[1:]}, not {a.shape}"
        )
    return a


# ---- ours ---------------------------------------------------------------------------------------


def from_quat(quat: Any, *, scalar_first: bool = False) -> Any:
    quat = _checked("from_quat", quat, (4,))
    quat = np.roll(quat, -1, axis=-1) if scalar_first else quat
    return _of(quaternions.normalised(quat))


def from_matrix(matrix: Any) -> Any:
    return _of(quaternions.of_matrix(_checked("from_matrix", matrix, (3, 3))))


def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    rotvec = _checked("from_rotvec", rotvec, (3,))
    return _of(quaternions.of_rotvec(rotvec * DEGREE if degrees else rotvec))


def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
    angles = as_array(angles)
    return _of(quaternions.of_euler(seq, angles * DEGREE if degrees else angles))


def as_quat(self: Any, canonical: bool = False, *, scalar_first: bool = False) -> Any:
    q = _recorded(self)
    if canonical:
        q = np.where(np.less(q[..., 3:], 0), -q, q)
    return np.roll(q, 1, axis=-1) if scalar_first else q


def as_matrix(self: Any) -> Any:
    return quaternions.matrix(_recorded(self))


def as_rotvec(self: Any, degrees: bool = False) -> Any:
    out = quaternions.rotvec(_recorded(self))
    return out / DEGREE if degrees else out


def as_euler(self: Any, seq: str, degrees: bool = False) -> Any:
    out = quaternions.euler(_recorded(self), seq)
    return out / DEGREE if degrees else out


def magnitude(self: Any) -> Any:
    return quaternions.magnitude(_recorded(self))


def apply(self: Any, vectors: Any, inverse: bool = False) -> Any:
    vectors = _checked("apply", vectors, (3,))
    m = quaternions.matrix(_recorded(self))
    m = np.swapaxes(m, -1, -2) if inverse else m
    return np.sum(m * vectors[..., None, :], axis=-1)


def inv(self: Any) -> Any:
    return _of(_recorded(self) * np.array([-1.0, -1.0, -1.0, 1.0]))


def multiply(self: Any, other: Any) -> Any:
    if not isinstance(other, Theirs):
        return NotImplemented
    return _of(quaternions.product(_recorded(self), _recorded(other)))


def power(self: Any, n: Any, modulus: None = None) -> Any:
    return _of(quaternions.of_rotvec(n * quaternions.rotvec(_recorded(self))))


def getitem(self: Any, indexer: Any) -> Any:
    return _of(_recorded(self)[indexer])


def length(self: Any) -> int:
    shape = _recorded(self).shape
    if len(shape) < 2:
        raise TypeError("a single rotation has no length")
    return int(shape[0])


OURS: dict[str, Any] = {
    "__getitem__": getitem,
    "__len__": length,
    "__mul__": multiply,
    "__pow__": power,
    "apply": apply,
    "as_euler": as_euler,
    "as_matrix": as_matrix,
    "as_quat": as_quat,
    "as_rotvec": as_rotvec,
    "inv": inv,
    "magnitude": magnitude,
}
MAKERS: dict[str, Any] = {
    "from_euler": from_euler,
    "from_matrix": from_matrix,
    "from_quat": from_quat,
    "from_rotvec": from_rotvec,
}


def _holds(*values: Any) -> bool:
    """Whether a Variable is among the values, or in a rotation of ours."""
    return meets_variable(*values, *(getattr(v, "_own", None) for v in values))


def _method(name: str) -> Any:
    theirs, ours = getattr(Theirs, name), OURS.get(name)

    @wraps(theirs)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _holds(self, *args, *kwargs.values()):
            return _adopted(theirs(self, *args, **kwargs))
        if ours is None:
            raise not_covered(f"{NAME}.{name}", OURS)
        return run_ours(ours, f"{NAME}.{name}", (self, *args), kwargs)

    return call


def _maker(name: str) -> Any:
    theirs, ours = getattr(Theirs, name), MAKERS.get(name)

    @wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _holds(*args, *kwargs.values()):
            return _adopted(theirs(*args, **kwargs))
        if ours is None:
            raise not_covered(f"{NAME}.{name}", MAKERS)
        return run_ours(ours, f"{NAME}.{name}", args, kwargs)

    return staticmethod(call)


class Rotation(Theirs):  # type: ignore[misc]
    """Rotations in three dimensions, as SciPy's; made of Variables they are differentiable."""

    _own: Any = None

    @property
    def single(self) -> bool:
        return Theirs.single.__get__(self) if self._own is None else self._own.ndim == 1

    def __repr__(self) -> str:
        return Theirs.__repr__(self) if self._own is None else f"Rotation({self._own!r})"


for _name in dir(Theirs):
    if _name in OURS or (not _name.startswith("_") and callable(getattr(Theirs, _name))):
        _static = isinstance(
            Theirs.__dict__.get(_name), (staticmethod, classmethod)
        ) or _name.startswith("from_")
        setattr(Rotation, _name, (_maker if _static else _method)(_name))

"""`Op.batch`: an op on many lanes at once is the op lane by lane, whichever operands differ."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.batching import BatchCall, Lanes, batched
from chainrule.core.op import OPS, Op, Sample

COUNT = 3

# Ops that work lane by lane, and why.  This list only shrinks.
LOOPED: dict[str, str] = {
    "all_pole": "SciPy's filter takes one set of coefficients; signals through one do not loop",
    "krylov_solve": "SciPy's solvers take one matrix; right sides of one matrix do not loop",
    "least_squares": "NumPy's lstsq takes one matrix; right sides of one matrix do not loop",
    "alive_operand": "it asks another op which entries are read; where all lanes agree it does not",
    "lu_packed": "SciPy's lu_factor takes one matrix",
    "outcome": "it runs an op to see what comes of it, and one lane may fail alone",
    "random_bits": "NumPy's generator takes one key",
    "random_uniform": "NumPy's generator takes one key",
    "sparse_matmul": "SciPy's product takes one sparse matrix; operands of one do not loop",
    "sparse_solve": "SciPy's splu takes one matrix; right sides of one matrix do not loop",
    "split_key": "NumPy's generator takes one key",
    "unique_labels": "how many values are distinct is found lane by lane",
}

OPS.complete()
PRIMITIVE = {name: op for name, op in OPS.items() if op.expand is None}


def lanes_of(x: Any) -> Any:
    """Three arrays like x, in its domain: floats scaled, whole numbers and truths rolled."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        return np.stack([x, (x * 0.97).astype(x.dtype), (x * 0.99).astype(x.dtype)])
    return np.stack([np.roll(x, k) for k in range(COUNT)])


def choices(sample: Sample) -> list[tuple[int, ...]]:
    """Every set of operands that may differ by lane: arrays and numbers, at most three."""
    places = [
        i for i, a in enumerate(sample.args) if isinstance(a, (np.ndarray, np.generic, float))
    ]
    return [c for n in (1, 2, 3) for c in combinations(places[:4], n)]


def applied(op: Op, args: Any, attrs: Any) -> Any:
    out = op.forward(*args, **attrs)
    return out if isinstance(out, tuple) or hasattr(out, "dtype") else np.asarray(out)[()]


def one_lane(op: Op, args: Any, attrs: Any, k: int) -> Any:
    return applied(op, [a.value[k] if isinstance(a, Lanes) else a for a in args], attrs)


def cases(op: Op) -> Any:
    for number, sample in enumerate(op.samples()):
        args, attrs = op.bind(sample.args, dict(sample.attrs))
        if attrs.get("where", True) is True:
            for choice in choices(Sample(tuple(args))):
                yield number, args, attrs, choice


@pytest.mark.parametrize("name", PRIMITIVE)
@pytest.mark.filterwarnings("ignore")
def test_lanes_at_once_are_the_lanes_alone(name: str) -> None:
    op = PRIMITIVE[name]
    looped = False
    for number, args, attrs, choice in cases(op):
        given = [Lanes(lanes_of(a)) if i in choice else a for i, a in enumerate(args)]
        try:
            alone = [one_lane(op, given, attrs, k) for k in range(COUNT)]
        except Exception:  # noqa: BLE001 - not every roll of an index is one
            continue
        parts = [a if isinstance(a, tuple) else (a,) for a in alone]
        if len({tuple(p.shape for p in lane) for lane in parts}) > 1:
            continue  # a shape that depends on values is a guard of each lane
        shape = () if isinstance(alone[0], tuple) else alone[0].shape
        out, by_lane = batched(BatchCall(op, given, attrs, COUNT, shape, applied))
        looped |= by_lane
        whole = out if isinstance(out, tuple) else (out,)
        assert len(whole) == len(parts[0])
        for j, got in enumerate(whole):
            wanted = np.stack([lane[j] for lane in parts])
            message = f"sample {number} {op}, operands {choice} by lane"
            assert got.shape == wanted.shape, message
            assert got.dtype == wanted.dtype, message
            tolerance = 64 * np.finfo(wanted.dtype).eps if wanted.dtype.kind in "fc" else 0
            scale = np.max(np.abs(wanted), initial=1.0, where=np.isfinite(wanted))
            np.testing.assert_allclose(
                got, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=message
            )
    assert looped == (name in LOOPED), f"{name} {'loops' if looped else 'does not loop'}"


def test_few_ops_work_lane_by_lane() -> None:
    assert len(LOOPED) <= 20


def test_lanes_with_real_and_with_complex_eigenvalues() -> None:
    """The dtype of eigenvalues depends on the values: lanes go on in two groups."""
    real, turning = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([[0.0, -1.0], [1.0, 0.3]])

    def size(a: Any) -> Any:
        w = np.linalg.eigvals(a)
        return np.sum(np.abs(w)) if w.dtype.kind == "c" else np.prod(w)

    for lanes in (np.stack([real, 2 * real]), np.stack([turning, 2 * turning, real])):
        slopes = cr.vmap(cr.grad(size))(lanes)
        np.testing.assert_allclose(slopes, np.stack([cr.grad(size)(a) for a in lanes]), atol=1e-12)
    compiled = cr.compile(size)
    for a in (real, turning, real, turning):
        np.testing.assert_allclose(compiled(a), size(a))

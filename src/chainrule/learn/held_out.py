"""Rows held out of a fit to judge it by, chosen by what they hold and not by where they stand."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from chainrule.learn.estimator_network import Examples

CHUNK = 200  # rows that are dense at a time
FEWEST = 2  # different rows, below which a judgement is worth nothing


def held_out(
    examples: Examples, share: float, strata: np.ndarray, seed: int
) -> tuple[Examples, Examples] | None:
    """The rows to judge by and the others, in both of which each stratum has its share of weight.

    Equal rows go together, and what counts is their weight: a row of weight 2 is the same as two
    rows.  Of each stratum one row at least stays.  None where too few would be held out.
    """
    chosen, keys = np.zeros(len(examples.weights), bool), _keys(examples, seed)
    goal, held, different = 0.0, 0.0, 0
    for stratum in np.unique(strata):
        members = np.flatnonzero((strata == stratum) & (examples.weights > 0))
        _, group = np.unique(keys[members], return_inverse=True)
        mass = np.bincount(group, examples.weights[members].astype(np.float64))
        if len(mass) == 0:
            continue
        # In units of a mean row.  What rounding leaves over is carried to the next stratum.
        ends = held + np.cumsum(mass * (len(mass) / mass.sum()))
        middles = (ends + np.append(held, ends[:-1])) / 2
        goal += share * len(mass)
        count = min(int(np.searchsorted(middles, goal + 1e-6)), len(mass) - 1)
        held = ends[count - 1] if count else held
        different += count
        chosen[members] = group < count
    if different < FEWEST:
        return None
    return _of_mean_one(examples.take(chosen)), _of_mean_one(examples.take(~chosen))


def _of_mean_one(examples: Examples) -> Examples:
    weights = examples.weights
    return examples._replace(weights=weights * weights.dtype.type(len(weights) / weights.sum()))


def _keys(examples: Examples, seed: int) -> np.ndarray:
    """A random number for each row, which its numbers, its target and the seed decide."""
    salt, found = seed.to_bytes(8, "little"), []
    for start in range(0, len(examples.weights), CHUNK):
        x, targets, _ = examples.take(slice(start, start + CHUNK))
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        rows = np.column_stack([dense, targets]).astype(np.float64, order="C")
        rows += 0.0  # -0.0 is 0.0
        found += [blake2b(row, digest_size=8, key=salt).digest() for row in rows]
    return np.frombuffer(b"".join(found), "<u8")

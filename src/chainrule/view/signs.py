"""Three numbers that show that training is unhealthy, and what is wrong, in words.

update / parameter    how far a step moves a layer, by the size of its parameters; the largest
first / last layer    the gradient that arrives at the first layer by that at the last; not those of
                      their parameters, in which the sizes of what comes in would stand, too
no gradient           the share of an activation's units that pass none, dead or saturated
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainrule.explain.depth import FACTOR
from chainrule.explain.numbers import as_json
from chainrule.view.look import Look

USUAL, LOOK, SICK = 0, 1, 2  # levels of a verdict


@dataclass(frozen=True)
class Sign:
    """One of the numbers; `band` is where it usually lies, `where` what it was found in."""

    name: str
    value: float | None
    level: int
    verdict: str
    where: str
    band: tuple[float, float]
    log: bool

    def to_data(self) -> dict[str, Any]:
        return {**vars(self), "value": as_json(self.value)}


@dataclass(frozen=True)
class Stuck:
    """How many units of an activation pass no gradient; the worst of `times`, made by one line."""

    op: str
    text: str
    place: str
    times: int
    units: int
    dead: int
    saturated: float

    @property
    def share(self) -> float:
        return max(self.dead / self.units, self.saturated)

    @property
    def kind(self) -> str:
        return "dead" if self.dead / self.units >= self.saturated else "saturated"


def stuck(recent: Sequence[Look]) -> list[Stuck]:
    """The activations of the last look, line by line.

    A unit is dead that was silent in all of the recent looks: in one batch a unit of relu may well
    be so by chance.
    """
    found: dict[tuple[str, str], Stuck] = {}
    for k, last in enumerate(recent[-1].activations):
        same = [x.activations[k].silent for x in recent if k < len(x.activations)]
        silent = [s for s in same if s.shape == last.silent.shape]
        dead = int(np.count_nonzero(np.logical_and.reduce(silent)))
        key = last.op, last.place
        times = found[key].times + 1 if key in found else 1
        made = Stuck(last.op, last.text, last.place, times, last.silent.size, dead, last.saturated)
        worst = made if times == 1 else max(found[key], made, key=lambda each: each.share)
        found[key] = replace(worst, times=times)
    return list(found.values())


def signs(look: Look, active: Sequence[Stuck]) -> list[Sign]:
    """The three numbers of a look."""
    return [_update(look), _across(look), _blocked(active)]


def _update(look: Look) -> Sign:
    moved = [(layer.update, layer.name) for layer in look.layers if layer.update is not None]
    size, name = max(moved, default=(None, ""))
    level, verdict = USUAL, "usual"
    if size is None:
        verdict = "parameters are 0"
    elif not size <= 0.1:  # also NaN
        level, verdict = SICK, "too large"
    elif size > 0.01:
        level, verdict = LOOK, "large"
    elif size == 0:
        level, verdict = SICK, "nothing moves"
    elif size < 1e-5:
        level, verdict = LOOK, "hardly moves"
    return Sign("update / parameter", size, level, verdict, name, (1e-4, 1e-2), True)


def _across(look: Look) -> Sign:
    first, last = look.layers[0], look.layers[-1]
    band = (1e-2, 1e2)
    name = "gradient, first / last layer"
    if first is last:
        return Sign(name, None, USUAL, "one layer", first.name, band, True)
    ratio = first.arriving / last.arriving if last.arriving else math.nan
    level, verdict = USUAL, "usual"
    if not math.isfinite(ratio):
        level, verdict = SICK, "no gradient" if last.arriving == 0 else "not finite"
    elif ratio * FACTOR < 1:
        level, verdict = SICK, "vanishing"
    elif ratio > FACTOR:
        level, verdict = SICK, "exploding"
    elif not band[0] <= ratio <= band[1]:
        level, verdict = LOOK, "small" if ratio < 1 else "large"
    return Sign(name, ratio, level, verdict, f"{first.name} / {last.name}", band, True)


def _blocked(active: Sequence[Stuck]) -> Sign:
    band = (0.0, 0.1)
    if not active:
        return Sign("units without gradient", None, USUAL, "no activation", "", band, False)
    worst = max(active, key=lambda a: a.share)
    level = USUAL if worst.share <= 0.1 else LOOK if worst.share <= 0.5 else SICK
    verdict = ("few", f"some {worst.kind}", f"most {worst.kind}")[level]
    where = " ".join(filter(None, (worst.op, worst.place)))
    return Sign("units without gradient", worst.share, level, verdict, where, band, False)


def findings(look: Look, active: Sequence[Stuck]) -> list[str]:
    """What is wrong, a sentence each; empty if nothing is."""
    said = []
    for layer in look.layers:
        if not math.isfinite(layer.gradient):
            said.append(f"the gradient of {layer.name} is not finite")
        elif layer.status != "value":
            said.append(f"{layer.name} has no gradient ({layer.status}): it cannot learn")
        elif layer.update is not None and layer.update > 0.1:
            share = f"{layer.update:.0%}" if layer.update < 10 else f"{layer.update:.2g} times"
            said.append(f"one step changes {layer.name} by {share} of its size: lower the rate")
    if _across(look).level != USUAL:  # else it is the size of the batch, which a mean divides by
        said += look.changes
    said += [_stopped(each) for each in active if each.share > 0.5]
    return said


def _stopped(each: Stuck) -> str:
    name = f"{each.op} ({each.place})" if each.place else each.op
    if each.kind == "dead":
        return f"{each.dead} of {each.units} units of {name} are dead: no gradient passes them"
    return f"{each.saturated:.0%} of {name} is saturated: hardly any gradient passes it"

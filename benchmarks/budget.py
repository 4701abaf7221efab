"""Budgets of memory: gradients of six models in 100 % … 20 % of their natural peak.

    python -m benchmarks.budget "LSTM, 1,000 steps"

measures one of them, in this process, and prints it as JSON.
"""

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.case import Cell, Table
from benchmarks.harness import Options, environment, say
from benchmarks.peers import version
from benchmarks.worker import _forget_peak, _status_bytes

TITLE = "Budgets: gradients in a share of their natural peak, beside torch's checkpoint"

SHARES = (100, 80, 60, 40, 30, 20)  # percent
WARM_UP = 40_000_000  # bytes: enough for all that is imported on the way
Block = Callable[[Any, Any], Any]  # of the parameters and a state, the next state


# -- models, as blocks one after the other, for any library that spells NumPy's names --------------


@dataclass(frozen=True)
class Model:
    """`blocks(xp, data)` are run one after the other; the loss is the sum of the last squares."""

    blocks: Callable[[Any, Sequence[Any]], Sequence[Block]]
    inputs: Callable[[np.random.Generator], tuple[list[Any], Any, list[Any]]]  # θ, state, data


def mlp(xp: Any, data: Any) -> list[Block]:
    return [lambda p, x, k=k: xp.tanh(x @ p[k]) for k in range(20)]


def cnn(xp: Any, data: Any) -> list[Block]:
    """Convolutions of 3×3 as nine products; the channels come last."""

    def layer(k: int, p: Any, x: Any) -> Any:
        high, wide = x.shape[1] - 2, x.shape[2] - 2
        y = 0.0
        for i in range(3):
            for j in range(3):
                y = y + x[:, i : i + high, j : j + wide] @ p[k][i, j]
        return xp.tanh(y)

    return [partial(layer, k) for k in range(6)]


def transformer(xp: Any, data: Any) -> list[Block]:
    def block(k: int, p: Any, x: Any) -> Any:
        q, kk, v, up, down = p[5 * k : 5 * k + 5]
        s = xp.exp((x @ q) @ (x @ kk).T * 0.1)
        x = x + (s / xp.sum(s, axis=1, keepdims=True)) @ (x @ v)
        x = x / xp.sqrt(xp.mean(x * x, axis=1, keepdims=True) + 1e-5)
        x = x + xp.tanh(x @ up) @ down
        return x / xp.sqrt(xp.mean(x * x, axis=1, keepdims=True) + 1e-5)

    return [partial(block, k) for k in range(4)]


def lstm(xp: Any, data: Any) -> list[Block]:
    width = 48

    def steps(first: int, p: Any, state: Any) -> Any:
        h, c = state
        for x in data[0][first : first + 25]:
            z = x @ p[0] + h @ p[1] + p[2]
            gates = 1 / (1 + xp.exp(-z[:, : 3 * width]))
            i, f, o = (gates[:, k * width : (k + 1) * width] for k in range(3))
            c = f * c + i * xp.tanh(z[:, 3 * width :])
            h = o * xp.tanh(c)
        return h, c

    return [partial(steps, first) for first in range(0, 1000, 25)]


def gmm(xp: Any, data: Any) -> list[Block]:
    """The log likelihood of a mixture of 20 Gaussians, 20 parts of the rows one after the other."""

    def part(k: int, p: Any, total: Any) -> Any:
        apart = (data[0][k][:, None, :] - p[0]) * xp.exp(p[1])
        logs = p[2] + xp.sum(p[1], axis=1) - 0.5 * xp.sum(apart * apart, axis=2)
        return total + xp.sum(xp.log(xp.sum(xp.exp(logs), axis=1)))

    return [partial(part, k) for k in range(20)]


def ode(xp: Any, data: Any) -> list[Block]:
    """A network's flow by Runge–Kutta, 40 steps."""

    def step(p: Any, y: Any) -> Any:
        def slope(y: Any) -> Any:
            return xp.tanh(y @ p[0] + p[1]) @ p[2]

        h = 0.05
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))

    return [step] * 40


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) / np.sqrt(shape[-2] if len(shape) > 1 else 1)


MODELS = {
    "MLP, 20 layers": Model(
        mlp, lambda r: ([_normal(r, 100, 100) for _ in range(20)], r.normal(size=(1500, 100)), [])
    ),
    "CNN, 6 layers": Model(
        cnn,
        lambda r: (
            [_normal(r, 3, 3, 1 if k == 0 else 8, 8) * 0.4 for k in range(6)],
            r.normal(size=(16, 40, 40, 1)), [],
        ),
    ),
    "transformer, 4 blocks": Model(
        transformer,
        lambda r: (
            [_normal(r, *s) for _ in range(4) for s in ((64, 64),) * 3 + ((64, 256), (256, 64))],
            r.normal(size=(400, 64)), [],
        ),
    ),
    "LSTM, 1,000 steps": Model(
        lstm,
        lambda r: (
            [_normal(r, 16, 192), _normal(r, 48, 192), np.zeros(192)],
            (np.zeros((32, 48)), np.zeros((32, 48))), [r.normal(size=(1000, 32, 16))],
        ),
    ),
    "GMM, 10,000 rows": Model(
        gmm,
        lambda r: (
            [r.normal(size=(20, 10)), 0.1 * r.normal(size=(20, 10)), r.normal(size=20)],
            np.zeros(()), [r.normal(size=(20, 500, 10))],
        ),
    ),
    "ODE, 40 steps": Model(
        ode,
        lambda r: (
            [_normal(r, 16, 64), np.zeros(64), _normal(r, 64, 16)], r.normal(size=(1000, 16)), [],
        ),
    ),
}  # fmt: skip


def _squares(xp: Any, state: Any) -> Any:
    last = state[0] if isinstance(state, tuple) else state
    return xp.sum(last * last)


# -- measuring, in a process of its own ------------------------------------------------------------


def traced(call: Callable[[], Any]) -> tuple[Any, int]:
    """What it gives, and the peak of the memory that Python and NumPy took above what they had."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        return call(), tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident(call: Callable[[], Any]) -> int:
    """How far the resident memory of the process rises."""
    gc.collect()
    before = _status_bytes("VmRSS")
    _forget_peak()
    call()
    return _status_bytes("VmHWM") - before


def seconds(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times)


def measured(name: str) -> dict[str, Any]:
    """Natural peak and time, and those in each share of it; bytes and seconds."""
    import chainrule as cr

    model = MODELS[name]
    theta, state, data = model.inputs(np.random.default_rng(0))
    blocks = model.blocks(np, data)

    def loss(p: Any) -> Any:
        x = state
        for block in blocks:
            x = block(p, x)
        return _squares(np, x)

    gradient = partial(cr.grad(loss), theta)
    gradient()
    expected, natural = traced(gradient)
    found: dict[str, Any] = {
        "natural": natural, "resident": resident(gradient), "seconds": seconds(gradient),
    }  # fmt: skip
    for warm in (natural + WARM_UP, int(0.9 * natural)):
        _refused(partial(cr.grad(loss, memory=warm), theta))
    for share in SHARES:
        budget = natural * share // 100
        within = partial(cr.grad(loss, memory=budget), theta)
        least = _refused(within)
        if least:
            found[str(share)] = {"least": least}
            continue
        again, peak = traced(within)
        same = all(np.array_equal(a, b) for a, b in zip(again, expected, strict=True))
        found[str(share)] = {
            "peak": peak, "resident": resident(within), "seconds": seconds(within), "same": same,
        }  # fmt: skip
    if version("torch"):
        found["torch"] = in_torch(model)
    return found


def _refused(call: Callable[[], Any]) -> int:
    """0, or the least that it says it needs."""
    from chainrule import MemoryBudgetError

    try:
        call()
    except MemoryBudgetError as error:
        return error.least
    return 0


def in_torch(model: Model) -> dict[str, Any]:
    """Time and resident memory of torch, with everything kept and with each block checkpointed."""
    import torch
    from torch.utils.checkpoint import checkpoint

    theta, state, data = model.inputs(np.random.default_rng(0))
    theta = [torch.tensor(p, requires_grad=True) for p in theta]
    start = tuple(map(torch.tensor, state)) if isinstance(state, tuple) else torch.tensor(state)
    blocks = model.blocks(torch, [torch.tensor(d) for d in data])

    def gradient(again: bool) -> Any:
        x = start
        for block in blocks:
            x = checkpoint(block, theta, x, use_reentrant=False) if again else block(theta, x)
        return torch.autograd.grad(_squares(torch, x), theta)

    found = {}
    for name, again in (("kept", False), ("checkpoint", True)):
        gradient(again)
        found[name] = {
            "resident": resident(partial(gradient, again)),
            "seconds": seconds(partial(gradient, again)),
        }
    return found


# -- tables ----------------------------------------------------------------------------------------


def run(options: Options) -> list[Table]:
    """Each model in a fresh process."""
    peaks: list[Cell] = []
    times: list[Cell] = []
    for name in MODELS:
        say(f"budget: {name}")
        reply = subprocess.run(
            [sys.executable, "-m", "benchmarks.budget", name],
            env=environment(options) | {"MALLOC_MMAP_THRESHOLD_": "131072"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if reply.returncode:
            peaks.append(Cell(name, "chainrule", (), reply.stderr.strip().rpartition("\n")[2]))
            continue
        found = json.loads(reply.stdout)
        cells = list(_cells(name, found))
        peaks += [peak for peak, _ in cells]
        times += [time for _, time in cells]
    return [
        Table("Peak, in % of the natural one; never above the budget", "%", tuple(peaks)),
        Table("Time, in multiples of that with everything kept", "×", tuple(times)),
    ]


def _cells(name: str, found: dict[str, Any]) -> Any:
    """Pairs of a peak and a time."""
    natural, whole = found["natural"], found["seconds"]
    text = f"chainrule.kept ({natural / 1e6:.0f} MB, {1000 * whole:.0f} ms)"
    yield Cell(name, text, [100.0], raw=[found]), Cell(name, text, [1.0])
    for share in SHARES:
        one, variant = found[str(share)], f"chainrule.budget {share} %"
        if "least" in one:
            why = f"refused: {100 * one['least'] / natural:.0f} % are needed"
            yield Cell(name, variant, (), why), Cell(name, variant, (), why)
            continue
        peak, time = 100 * one["peak"] / natural, one["seconds"] / whole
        problem = "" if one["same"] else "another gradient"
        problem = problem or ("" if peak <= share else f"{peak:.1f} % is above the budget")
        kept = [] if problem else [peak]
        yield Cell(name, variant, kept, problem, [one]), Cell(name, variant, [time], problem)
    if "torch" in found:
        kept, again = found["torch"]["kept"], found["torch"]["checkpoint"]
        share = 100 * again["resident"] / max(kept["resident"], 1)
        variant = "torch.checkpoint of each block, of torch's own"
        yield (
            Cell(name, variant, [share], raw=[found["torch"]]),
            Cell(name, variant, [again["seconds"] / kept["seconds"]]),
        )


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1])))

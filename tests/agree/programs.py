"""Random programs: program k of a seed is always the same list of steps over arrays of random shapes.

Compare 2,000 of them with PyTorch, JAX or differences, and write benchmarks/results/random_programs.*:

    PYTHONPATH=src python -m tests.agree.programs --count 2000

Show one, or look for the step at which it and a peer part:

    PYTHONPATH=src python -m tests.agree.programs --show 17
    PYTHONPATH=src python -m tests.agree.programs --locate 17

A program grows step by step (`builder`) from a table of entries (`table`) that say how each
library spells an operation.  Its values are kept of moderate size by squashing steps that are
part of it, and away from kinks, ties and branch points.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import chainrule.numpy as crnp
from tests.agree.builder import MOST_STEPS, Builder, RejectError, Step, resolved, results
from tests.agree.entry import Entry
from tests.agree.table import BY_FAMILY, FAMILIES, TABLE

SEED = 20250
FLAVOURS = {"torch": 0.6, "jax": 0.2, None: 0.2}  # whose entries a program is made of


@dataclass(frozen=True)
class Program:
    """Inputs, steps, and the weights that make one number of the values no step has used."""

    number: int
    inputs: tuple[Any, ...]
    where: tuple[int, ...]  # the numbers of the inputs among the values
    steps: tuple[Step, ...]
    weights: dict[int, Any]
    structure: Any  # nested containers with the position of an input at each leaf
    flavour: str | None  # the peer that has every step, if one was asked for

    def values(
        self, inputs: Sequence[Any], call: Callable[..., Any], constant: Callable[[Any], Any]
    ) -> list[Any]:
        """Every value, computed by `call(step, args)`."""
        found: list[Any] = [None] * (
            1 + max((*self.where, *(s.first + s.count for s in self.steps)))
        )
        for at, x in zip(self.where, inputs, strict=True):
            found[at] = x
        for step in self.steps:
            out = call(step, [resolved(a, found, constant) for a in step.args])
            found[step.first : step.first + step.count] = results(out)
        return found

    def scalar(
        self,
        inputs: Sequence[Any],
        call: Callable[..., Any],
        constant: Callable[[Any], Any],
        library: Any,
    ) -> Any:
        """The weighted sum of the outputs; a complex one counts through both of its parts."""
        values = self.values(inputs, call, constant)
        total = 0.0
        for i, weight in self.weights.items():
            v = values[i]
            if np.iscomplexobj(weight):
                total = total + library.sum(library.real(v) * constant(weight.real.copy()))
                total = total + library.sum(library.imag(v) * constant(weight.imag.copy()))
            else:
                total = total + library.sum(v * constant(weight))
        return total

    def __call__(self, *containers: Any) -> Any:
        """The program in chainrule, or in plain NumPy, of inputs in their containers."""
        flat: list[Any] = [None] * len(self.inputs)
        gather(self.structure, list(containers), flat)
        return self.scalar(flat, by_chainrule, lambda c: c, np)

    def arguments(self, arrays: Sequence[Any] | None = None) -> list[Any]:
        """The inputs (or these arrays) in their containers: the positional arguments of a call."""
        return list(packed(self.structure, self.inputs if arrays is None else arrays))

    def __str__(self) -> str:
        lines = [f"program {self.number}: arguments {self.structure}"]
        lines += [
            f"v{at} = np.array({x.tolist()!r})"
            for at, x in zip(self.where, self.inputs, strict=True)
        ]
        lines += [str(step) for step in self.steps]
        return "\n".join([*lines, "outputs: " + ", ".join(f"v{i}" for i in self.weights)])


def by_chainrule(step: Step, args: list[Any]) -> Any:
    """One step in chainrule; on plain arrays in NumPy, whose scalars lack an array's methods."""
    # Asking whether it is a Variable would keep the program from being compiled.
    plain = [a if isinstance(a, (list, tuple)) else crnp.asarray(a) for a in args]
    return step.entry.ways[step.way](*plain, **step.attrs)


# -- containers ------------------------------------------------------------------------------------


def packed(structure: Any, arrays: Sequence[Any]) -> Any:
    """The structure with arrays in the place of their positions."""
    if isinstance(structure, dict):
        return {k: packed(v, arrays) for k, v in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(packed(v, arrays) for v in structure)
    return arrays[structure]


def gather(structure: Any, containers: Any, flat: list[Any]) -> None:
    """Fill `flat` with what containers of this structure hold."""
    if isinstance(structure, dict):
        for k, v in structure.items():
            gather(v, containers[k], flat)
    elif isinstance(structure, (list, tuple)):
        for v, c in zip(structure, containers, strict=True):
            gather(v, c, flat)
    else:
        flat[structure] = containers


def unpacked(structure: Any, containers: Any, count: int) -> list[Any]:
    flat: list[Any] = [None] * count
    gather(structure, containers, flat)
    return flat


def random_structure(rng: np.random.Generator, count: int) -> list[Any]:
    """The arguments of a function: arrays, and tuples, lists and dicts of arrays, nested."""
    items: list[Any] = list(range(count))
    while len(items) > 1 and rng.random() < 0.6:
        size = int(rng.integers(1, min(3, len(items)) + 1))
        start = int(rng.integers(0, len(items) - size + 1))
        chosen = items[start : start + size]
        kind = int(rng.integers(3))
        made = [tuple(chosen), list(chosen), {f"key{k}": c for k, c in enumerate(chosen)}][kind]
        items[start : start + size] = [made]
    return items


# -- generating ------------------------------------------------------------------------------------


def generate(number: int, seed: int = SEED) -> Program:
    """Program `number` of a seed.

    Its first step is the entry of that number, so that a long enough run visits all of them; its
    flavour says whose entries the rest is drawn from.
    """
    rng = np.random.default_rng([seed, number])
    guest = list(TABLE.values())[number % len(TABLE)]
    flavour = list(FLAVOURS)[int(rng.choice(len(FLAVOURS), p=list(FLAVOURS.values())))]
    if (flavour and getattr(guest, flavour) is None) or not guest.by_differences:
        flavour = next((p for p in ("torch", "jax") if getattr(guest, p) is not None), None)
    for _ in range(50):
        try:
            return _grown(number, rng, guest, flavour)
        except RejectError:
            continue
    raise RuntimeError(f"program {number} did not grow: its first entry is {guest.name}")


def _grown(number: int, rng: np.random.Generator, guest: Entry, flavour: str | None) -> Program:
    builder = Builder(rng, TABLE, empties=bool(rng.random() < 0.08))
    for _ in range(int(rng.integers(1, 4))):
        builder.fresh(builder.shape())
    length = int(rng.integers(10, MOST_STEPS - 4))
    if not any(_extended(builder, guest) for _ in range(30)):
        raise RejectError("the first entry does not fit")
    for _ in range(40 * length):
        if len(builder.steps) >= length:
            break
        _extended(builder, _drawn(rng, flavour))
    if len(builder.steps) < 10:
        raise RejectError("too short")
    return _finished(number, builder, flavour)


def _drawn(rng: np.random.Generator, flavour: str | None) -> Entry:
    """An entry that the flavour's library has; without a flavour, often one that no peer has."""
    families, chances = list(FAMILIES), np.array(list(FAMILIES.values()), float)
    while True:
        family = BY_FAMILY[str(rng.choice(families, p=chances / chances.sum()))]
        found = family[int(rng.integers(len(family)))]
        if flavour is None:
            alone = found.torch is None and found.jax is None
            if found.by_differences and (alone or rng.random() < 0.4):
                return found
        elif getattr(found, flavour) is not None:
            return found


def _extended(builder: Builder, entry: Entry) -> bool:
    """Try to add one entry, with whatever steps lead its arguments to it; undo if it does not fit."""
    before = builder.state()
    try:
        args, attrs = entry.draw(builder)
        builder.steps_of(entry, args, attrs)
    except RejectError:
        builder.back_to(before)
        return False
    return True


def _finished(number: int, builder: Builder, flavour: str | None) -> Program:
    """The program, whose outputs are the values that no step has used, and a few others."""
    rng = builder.rng
    computed = [i for i in range(len(builder.values)) if i not in builder.inputs]
    outputs = [i for i in computed if i not in builder.used or rng.random() < 0.1]
    weights = {}
    for i in outputs:
        v = np.asarray(builder.values[i])
        weight = (
            rng.uniform(0.3, 1.0, v.shape)
            * rng.choice([-1.0, 1.0], v.shape)
            / max(1.0, v.size**0.5)
        )
        if v.dtype.kind == "c":
            weight = weight + 1j * rng.uniform(-1.0, 1.0, v.shape) / max(1.0, v.size**0.5)
        weights[i] = np.asarray(weight)
    inputs = tuple(np.asarray(builder.values[i]) for i in builder.inputs)
    return Program(
        number,
        inputs,
        tuple(builder.inputs),
        tuple(builder.steps),
        weights,
        random_structure(rng, len(inputs)),
        flavour,
    )


def main() -> None:
    """The command at the top of this file."""
    from tests.agree import compare, report

    parser = argparse.ArgumentParser(
        description="random programs against PyTorch, JAX and differences"
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--peers", nargs="*", default=["torch", "jax"])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/random_programs"))
    parser.add_argument("--show", type=int, metavar="K", help="print program K and stop")
    parser.add_argument(
        "--locate", type=int, metavar="K", help="compare each step of program K and stop"
    )
    options = parser.parse_args()
    number = options.show if options.show is not None else options.locate
    if number is not None:
        program = generate(number, options.seed)
        lines = [str(program)]
        if options.show is None:
            judge = compare.judges_of(program, tuple(options.peers))[0]
            lines += [
                f"{v:.1e} {g:.1e}  {text[:160]}" for text, v, g in compare.located(program, judge)
            ]
        sys.stdout.write("\n".join(lines) + "\n")
        return
    numbers = range(options.start, options.start + options.count)
    result = report.write(
        report.run(numbers, tuple(options.peers), options.seed), options.seed, options.out
    )
    sys.stdout.write(
        f"{result['programs']} programs, {len(result['disagreements'])} disagreements\n"
    )
    sys.exit(1 if result["disagreements"] else 0)


if __name__ == "__main__":
    from tests.agree.programs import main as run_main  # one module, not a second copy as __main__

    run_main()

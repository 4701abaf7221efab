"""Where the time of our compiled benchmarks goes, step by step: `python -m benchmarks.profiles`.

Every case of the compiled workloads, on one thread, with a clock around each step
(`fast.profile`). Writes `results/profiles.md`. Steps are as `fast.report()` names them.
"""

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import chainrule as cr
from benchmarks import compiled
from benchmarks.harness import pin
from benchmarks.worker import Worker

RESULTS = Path(__file__).parent / "results"
WORKLOADS = ("gmm", "training_steps", "compiled_small_arrays", "bandwidth", "networks")
VARIANT = "chainrule.compile"


class Watched:
    """A compiled function that keeps its last arguments."""

    def __init__(self, fast: Any):
        self.fast = fast
        self.args: tuple = ()

    def __call__(self, *args: Any) -> Any:
        self.args = args
        return self.fast(*args)


def profiles(workload: str) -> Iterator[tuple[str, str]]:
    """The name and the profile of every case that is compiled."""
    cases = importlib.import_module(f"benchmarks.{workload}").CASES
    made: list[Watched] = []

    def watched(f: Any, **options: Any) -> Watched:
        made.append(Watched(cr.compile(f, **options)))
        return made[-1]

    for name, case in cases.items():
        if VARIANT not in case.ways:
            continue
        made.clear()
        with mock.patch.object(compiled, "compiled", watched):
            bound = Worker(workload, VARIANT).bind(case)
            inputs = bound.prepare(case.inputs(0))
            if bound.reset:
                bound.reset()
            bound.call(inputs)
        for each in made:
            if each.args:
                yield name, each.fast.profile(*each.args)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=WORKLOADS, metavar="workload")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    pin(1)
    cr.set_threads(1)
    lines = ["# Profiles of the compiled benchmarks", ""]
    for workload in options.names:
        for name, text in profiles(workload):
            lines += [f"## {workload}: {name}", "", "```text", *text.splitlines(), "```", ""]
    (options.out / "profiles.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

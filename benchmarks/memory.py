"""W11, memory: the peak of a gradient above what the process held before it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import scalar_graphs
from benchmarks.case import Case, Table, Target
from benchmarks.harness import Options, weigh_cases

TITLE = "Peak memory (W11): of one gradient, each in a fresh process"

MEGABYTE = 1e6
SIDE = 1000
ADDITIONS = 100
VARIANTS = ("numpy.forward", "torch.backward", "autograd.grad", "chainrule.variable")
VARIANTS += ("chainrule.grad",)


def needless_nodes(xp: Any) -> Callable:
    """100 additions of a constant to a 1000×1000 matrix: no backward rule needs any result."""

    def program(x: Any) -> Any:
        for _ in range(ADDITIONS):
            x = x + 1
        return xp.sum(x)

    return program


def _scalar(name: str) -> Case:
    case = scalar_graphs.CASES[name]
    variants = tuple("python.forward" if v == "numpy.forward" else v for v in VARIANTS)
    return Case(name, case.make, case.inputs, case.ops, variants)


CASES = {
    case.name: case
    for case in (
        Case(
            "needless nodes",
            needless_nodes,
            lambda slot: (np.zeros((SIDE, SIDE)),),
            ADDITIONS + 1,
            VARIANTS,
        ),
        *(_scalar(f"{shape} of {scalar_graphs.LARGEST:,}") for shape in scalar_graphs.SHAPES),
    )
}

TARGETS = tuple(Target(name, "torch", 1.0) for name in CASES)


def run(options: Options) -> list[Table]:
    """Weigh every case; one matrix of `needless nodes` is 8 MB."""
    cells = weigh_cases("memory", CASES.values(), options, lambda case: MEGABYTE)
    return [Table("Peak memory above the baseline", "MB", cells, TARGETS)]

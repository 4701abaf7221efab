"""W11, latency: wall time of a fresh process that imports a library, or takes a first gradient."""

import subprocess
import sys
from time import perf_counter

from benchmarks.case import Cell, Table, Target
from benchmarks.harness import Options, environment, say

TITLE = "Import time (W11): fresh processes, from start to exit"

IMPORT = "import"
FIRST_GRADIENT = "first gradient of x²"
PROGRAMS = {
    IMPORT: {
        "nothing": "pass",
        "numpy": "import numpy",
        "chainrule": "import chainrule; chainrule.grad",  # an empty package would import fast
        "autograd": "import autograd.numpy",
        "torch": "import torch",
        "jax": "import jax",
    },
    FIRST_GRADIENT: {
        "chainrule": "import chainrule as cr; assert cr.grad(lambda x: x * x)(3.0) == 6.0",
        "autograd": "import autograd; assert autograd.grad(lambda x: x * x)(3.0) == 6.0",
        "torch": "import torch; x = torch.tensor(3.0, requires_grad=True); (x * x).backward(); "
        "assert x.grad == 6.0",
        "jax": "import jax; assert jax.grad(lambda x: x * x)(3.0) == 6.0",
    },
}
TARGETS = (
    Target(IMPORT, "numpy", 1.3),
    Target(FIRST_GRADIENT, "torch", 0.5),
    Target(FIRST_GRADIENT, "autograd", 1.0),
)


def seconds(code: str, options: Options) -> float | str:
    """Wall time of one fresh process, or the last line of what it complained of."""
    command = [sys.executable, "-c", code]
    start = perf_counter()
    run = subprocess.run(
        command, env=environment(options), capture_output=True, text=True, check=False
    )
    elapsed = perf_counter() - start
    return elapsed if run.returncode == 0 else run.stderr.strip().splitlines()[-1]


def measure(case: str, options: Options) -> list[Cell]:
    """Interleaved fresh processes, after one unmeasured run of each that fills the caches."""
    say(f"import_time: {case}")
    wanted = {
        name: code
        for name, code in PROGRAMS[case].items()
        if options.wants(name) or name in ("nothing", "numpy")
    }
    problems = {name: seconds(code, options) for name, code in wanted.items()}
    cells = {name: [] for name, outcome in problems.items() if not isinstance(outcome, str)}
    for _ in range(5 if options.quick else 15):
        for name, times in cells.items():
            times.append(seconds(wanted[name], options) * 1e3)
    return [
        Cell(case, name, tuple(cells.get(name, ())), "" if name in cells else str(problems[name]))
        for name in wanted
    ]


def run(options: Options) -> list[Table]:
    """Measure both tables."""
    cells = tuple(cell for case in PROGRAMS for cell in measure(case, options))
    return [Table("Process wall time", "ms", cells, TARGETS)]

"""The compiled mathematical functions beside NumPy's and SciPy's; `python -m benchmarks.maths`.

On one thread and 4,096 elements, ours and theirs in turn within each round; the smallest time of
all rounds counts, and the ratio is of these. Then what compiling each function costs, by stage.
Writes `benchmarks/results/maths_speed.json` and `.md`.
"""

import argparse
import json
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy
import scipy.special

from chainrule.lower.maths import FUNCTIONS
from tests.lower.maths.machine import DTYPES, kernel

RESULTS = Path(__file__).parent / "results"
SIZE = 4096
REPEATS = 8

THEIRS = {
    "pow": ("numpy.power", np.power),
    "erf": ("scipy.special.erf", scipy.special.erf),
    "erfc": ("scipy.special.erfc", scipy.special.erfc),
    "lgamma": ("scipy.special.gammaln", scipy.special.gammaln),
    "digamma": ("scipy.special.psi", scipy.special.psi),
    "sigmoid": ("scipy.special.expit", scipy.special.expit),
    "softplus": ("numpy.logaddexp(x, 0)", lambda x, out: np.logaddexp(x, 0, out=out)),
}
RANGES = {
    "log": (0.1, 9.0),
    "log2": (0.1, 9.0),
    "log10": (0.1, 9.0),
    "log1p": (-0.5, 9.0),
    "pow": (0.1, 3.0),
    "arcsin": (-0.95, 0.95),
    "arccos": (-0.95, 0.95),
    "arctanh": (-0.95, 0.95),
    "arccosh": (1.1, 9.0),
    "lgamma": (0.1, 9.0),
    "digamma": (0.1, 9.0),
}
USUAL_RANGE = (-3.0, 3.0)
# These are to be at least as fast as theirs.
GOALS = ("exp", "log", "sin", "cos", "tanh", "expm1", "log1p", "pow", "sigmoid", "erf")


def speed(name: str, dtype: str, rounds: int) -> dict[str, object]:
    """Nanoseconds per element, ours and theirs."""
    draw = np.random.default_rng(0)
    arguments = [draw.uniform(*RANGES.get(name, USUAL_RANGE), SIZE).astype(DTYPES[dtype])]
    if FUNCTIONS[name].arguments == 2:
        arguments.append(draw.uniform(-2, 2, SIZE).astype(DTYPES[dtype]))
    out = np.empty(SIZE, DTYPES[dtype])
    label, function = THEIRS.get(name, (f"numpy.{name}", getattr(np, name, None)))
    both = (kernel(name, dtype).prepared(out, *arguments), lambda: function(*arguments, out=out))
    least = [float("inf")] * 2
    for _ in range(rounds):
        for i, call in enumerate(both):
            start = perf_counter()
            for _ in range(REPEATS):
                call()
            least[i] = min(least[i], (perf_counter() - start) / REPEATS)
    ours, theirs = (seconds / SIZE * 1e9 for seconds in least)
    return {"function": name, "dtype": dtype, "ours": ours, "theirs": theirs, "peer": label}


def compiling(name: str, dtype: str, optimise: bool, rounds: int = 5) -> dict[str, float]:
    """The least milliseconds of each stage, for a loop over one function."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        kernel.cache_clear()
        for stage, time in kernel(name, dtype, optimise=optimise).milliseconds.items():
            least[stage] = min(time, least.get(stage, time))
    del least["listing"]
    return least


def page(rows: list[dict]) -> str:
    lines = [
        "# The compiled mathematical functions beside NumPy and SciPy",
        "",
        "Made by `python -m benchmarks.maths`: nanoseconds per element on one thread, 4,096",
        "elements, the smallest of all rounds. Functions in bold are to be at least as fast as",
        f"theirs. NumPy {np.__version__}, SciPy {scipy.__version__}. `compile` is the milliseconds",
        "of processor time from text to machine code: reading and checking, passes, code. (The",
        "text is written once, in 0.2 to 2 ms.) The passes are inlining, instruction combining and",
        "value numbering; `without` leaves out the last two, which changes no bit and hardly a",
        "nanosecond.",
        "",
        "| function | dtype | ours | theirs | ratio | peer | compile | passes | without |",
        "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        name = f"**{row['function']}**" if row["function"] in GOALS else row["function"]
        full, bare = row["compile"], row["compile without passes"]
        lines.append(
            f"| {name} | {row['dtype']} | {row['ours']:.2f} | {row['theirs']:.2f} "
            f"| {row['ours'] / row['theirs']:.2f} | {row['peer']} | {sum(full.values()):.1f} "
            f"| {full['passes']:.1f} | {sum(bare.values()):.1f} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maths", description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    rounds = parser.parse_args().rounds
    rows = [speed(name, dtype, rounds) for name in FUNCTIONS for dtype in DTYPES]
    for row in rows:
        for title, optimise in (("compile", True), ("compile without passes", False)):
            row[title] = compiling(row["function"], row["dtype"], optimise)
    text = page(rows)
    (RESULTS / "maths_speed.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "maths_speed.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

"""First calls: each in a fresh process with an empty cache, which says how long it took."""

import json
import subprocess
import sys
import tempfile

from benchmarks.case import Cell
from benchmarks.harness import Options, environment, say

PATIENCE = 300  # seconds for one first call


def first(workload: str, call: str, options: Options) -> dict[str, float] | str:
    """What `call`, an expression of names of a workload, gives; or what it complained of."""
    code = f"import json; from benchmarks.{workload} import *\nprint(json.dumps({call}))"
    with tempfile.TemporaryDirectory() as folder:
        cold = {"XDG_CACHE_HOME": folder, "CHAINRULE_CACHE": "off"}
        try:
            run = subprocess.run(
                [sys.executable, "-c", code], env=environment(options) | cold,
                capture_output=True, text=True, check=False, timeout=PATIENCE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no answer within {PATIENCE} s"
    if run.returncode == 0:
        return json.loads(run.stdout.splitlines()[-1])
    return run.stderr.strip().splitlines()[-1]


def first_calls(
    workload: str, calls: dict[str, dict[str, str]], options: Options
) -> dict[str, tuple[Cell, ...]]:
    """Of every case and variant, the milliseconds of compiling alone and of the whole first call.

    `calls[case][variant]` is an expression that gives {"compiling": seconds, "all": seconds}.
    """
    found: dict[str, list[Cell]] = {"compiling": [], "all": []}
    for case, variants in calls.items():
        say(f"{workload}: the first call of {case}")
        for variant, call in variants.items():
            if not options.wants(variant):
                continue
            answer = first(workload, call, options)
            for what, cells in found.items():
                if isinstance(answer, str):
                    cells.append(Cell(case, variant, problem=answer))
                else:
                    cells.append(Cell(case, variant, [1e3 * answer[what]]))
    return {what: tuple(cells) for what, cells in found.items()}

"""W1 replayed at ten million nodes beside CasADi, which takes minutes to set up and gigabytes."""

from benchmarks.case import FASTEST, Table, Target
from benchmarks.compiled_scalar_graphs import LARGEST, SHAPES, case, graph_name
from benchmarks.harness import Options, time_cases

TITLE = "Scalar graphs of ten million nodes, compiled (W1): value and gradient replayed, per node"

CASES = {graph_name(shape, LARGEST): case(shape, LARGEST) for shape in SHAPES}
TARGETS = tuple(Target(name, "casadi", 0.7) for name in CASES)


def run(options: Options) -> list[Table]:
    """Time both graphs in the same rounds."""
    cells = time_cases("large_scalar_graphs", [list(CASES.values())], options, 1.0)
    return [Table("Time per node", "ns per node", cells, TARGETS, FASTEST, ratios=True)]

"""The command line: `python -m benchmarks [names…] [--quick] [--threads 1] [--out DIRECTORY]`."""

import argparse
import importlib
import os
import tempfile
from pathlib import Path

from benchmarks import others, report
from benchmarks.harness import Options, pin

WORKLOADS = (
    "eager_small_arrays",
    "scalar_graphs",
    "explain",
    "import_time",
    "memory",
    "budget",
    "gmm",
    "training_steps",
    "compiled_small_arrays",
    "compiled_scalar_graphs",
    "bandwidth",
    "factorisations",
    "loops",
    "batching",
    "networks",
    "compile_latency",
    "digits",
    "scale",
)
LARGE = ("large_scalar_graphs",)  # minutes and gigabytes: only when it is named
EVERY = WORKLOADS + LARGE


def main() -> None:
    """Run the named workloads (all by default), print each page and write it with its raw data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(EVERY))
    parser.add_argument("--quick", action="store_true", help="3 rounds in place of 7")
    parser.add_argument("--threads", type=int, default=1, help="threads and cores per process")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--peers", nargs="+", default=(), help="only these libraries")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(EVERY)
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(EVERY)}")
    pin(arguments.threads)
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or WORKLOADS:
            options = Options(
                out=arguments.out,
                scratch=scratch,
                quick=arguments.quick,
                threads=arguments.threads,
                load=os.getloadavg()[0],
                start=others.now(),
                peers=tuple(arguments.peers),
                large=name in LARGE,
            )
            workload = importlib.import_module(f"benchmarks.{name}")
            print(report.write(name, workload.TITLE, workload.run(options), options), flush=True)


if __name__ == "__main__":
    main()

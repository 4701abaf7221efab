"""`chainrule train --scale`: the same command on MPI, on processes or on Dask."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from time import sleep
from typing import Any

from chainrule.cli.mistake import InputError, lines_of

HOW = "mpi (under mpiexec -n 4), processes:4 or dask:tcp://10.0.0.1:8786"
SECONDS = 1.0  # that a rank which fails waits for the first to say why


def run_scaled(options: argparse.Namespace, run: Callable[[argparse.Namespace, Any], int]) -> int:
    """Run the command on the engine that it names; under MPI the first rank alone speaks."""
    engine = engine_of(options.scale)
    with engine:
        if not engine.together:
            return run(options, engine)
        return _on_all_ranks(engine, options, run)


def engine_of(text: str) -> Any:
    """The engine that `--scale` names."""
    from chainrule import scale

    kind, _, more = text.partition(":")
    if kind == "mpi" and not more:
        return scale.mpi()
    if kind == "processes" and (not more or (more.isdecimal() and int(more))):
        return scale.processes(int(more) if more else None)
    if kind == "dask" and more:
        try:
            return scale.dask(more)
        except (OSError, ValueError) as error:
            said = str(error).splitlines()[0]
            raise InputError(f"--scale {text}: no Dask scheduler answers there: {said}") from None
    raise InputError(f"--scale {text}: one of {HOW}")


def _on_all_ranks(engine: Any, options: argparse.Namespace, run: Callable[..., int]) -> int:
    """What fails on one rank alone ends the job; what fails on all is said once."""
    from chainrule.errors import ScaleError

    try:
        if engine.first:
            return run(options, engine)
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            return run(options, engine)
    except ScaleError:
        if engine.first:
            raise
        return 2
    except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks wait for this one
        said = "".join(f"{line}\n" for line in lines_of(error))
        if not engine.first:  # where the first fails with the same, it says so and ends the job
            sleep(SECONDS)
        sys.stderr.write(f"{engine.where}: {said}")
        sys.stderr.flush()
        engine.end_job(2)
        return 2

"""Gradients over rows that no machine holds: on this machine's cores, on MPI and on Dask.

    from chainrule import scale

    with scale.processes(4) as engine:
        vg = scale.value_and_grad(loss, engine=engine, shards=64)
        value, gradient = vg(params, x, y)

The rows are cut into a fixed number of shards, which are added in a fixed order, so the result has
the same bits on any engine with any number of workers.
"""

from __future__ import annotations

from typing import Any

from chainrule.errors import ScaleError
from chainrule.scale.engine import Engine, Serial
from chainrule.scale.gradient import hvp, jacobian, map, minimize, value_and_grad
from chainrule.scale.report import Report
from chainrule.scale.shards import Shards

__all__ = [
    "Engine",
    "Report",
    "ScaleError",
    "Shards",
    "dask",
    "hvp",
    "jacobian",
    "map",
    "minimize",
    "mpi",
    "processes",
    "serial",
    "value_and_grad",
]


def serial() -> Engine:
    """This process alone: the default, and what all other engines agree with to the bit."""
    return Serial()


def processes(count: int | None = None) -> Engine:
    """So many worker processes on this machine, or one per core.

    Call it below `if __name__ == "__main__":`, since each worker imports the program anew.

        with scale.processes(4) as engine:
            value, gradient = scale.value_and_grad(loss, engine=engine)(params, x, y)
    """
    from chainrule.scale.on_processes import Processes

    return Processes(count)


def mpi(communicator: Any = None) -> Engine:
    """The ranks of an MPI job: each runs the same program, `mpiexec -n 4 python -m mpi4py fit.py`.

    Needs mpi4py and an MPI: pip install 'chainrule[mpi]' brings both.
    """
    from chainrule.scale.on_mpi import Ranks

    return Ranks(communicator)


def dask(client: Any) -> Engine:
    """The workers of a Dask cluster: a `distributed.Client`, or the address of its scheduler.

    Workers may join, leave and die in the middle of a pass.  Needs: pip install 'chainrule[dask]'.
    """
    from chainrule.scale.on_dask import Cluster

    return Cluster(client)

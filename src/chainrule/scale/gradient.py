"""Value and gradient of a loss over rows in shards, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

import numpy as np

from chainrule import learn, tree
from chainrule.errors import ArgumentError
from chainrule.scale.engine import Engine, Serial
from chainrule.scale.report import Report
from chainrule.scale.shards import source_of
from chainrule.scale.task import Task
from chainrule.scale.work import Work, own, placed

HOW = ("mean", "sum")


class Sharded:
    """A function of parameters and rows, the rows of which are computed in shards."""

    def __init__(self, work: Work, engine: Engine | None, shards: int | None):
        if shards is not None and (type(shards) is not int or shards < 1):
            raise ArgumentError(f"shards={shards!r}: a whole number of at least 1")
        if engine is not None and not isinstance(engine, Engine):
            raise ArgumentError(
                f"engine={engine!r}: pass scale.serial(), scale.processes(4), scale.mpi() or "
                "scale.dask(client)"
            )
        self.work, self.shards = work, shards
        self.engine = Serial() if engine is None else engine
        self._report = Report(self.engine.name)
        update_wrapper(self, work.f, updated=())

    def __call__(self, params: Any, *rows: Any) -> Any:
        return self._added((params,), rows)

    def _task(self, args: tuple[Any, ...], rows: tuple[Any, ...]) -> Task:
        return Task(self.work, own(args), source_of(rows, self.shards))

    def _added(self, args: tuple[Any, ...], rows: tuple[Any, ...]) -> Any:
        found = self.engine.add(lambda: self._task(args, rows))
        self._report = self._report.plus(found.spent)
        vector = found.vector / found.rows if self.work.mean else found.vector
        return placed(vector, found.layout)

    def report(self) -> Report:
        """What all passes so far have cost, by worker; it prints as a table."""
        return self._report


def value_and_grad(
    loss: Callable[..., Any],
    *,
    engine: Engine | None = None,
    shards: int | None = None,
    how: str = "mean",
    has_aux: bool = False,
    compile: bool = True,
    dtype: str = "float64",
) -> Sharded:
    """A function of (params, *rows) that returns the loss of all rows and its gradient.

    `loss(params, *rows)` is a mean over the rows that it is given, or with `how="sum"` a sum over
    them.  The rows are arrays, memory-mapped files, dask arrays, or `Shards`; they are computed in
    so many shards (64, or as many as there are rows) by the workers of an engine.  The result has
    the same bits on any engine with any number of workers.

    With `has_aux` the loss returns (value, aux), and so does the function in the place of the
    value: numbers in a container, as large for any rows, of which means or sums are taken in the
    same way.  `dtype="float32"` adds, and sends, gradients in that type.

        vg = scale.value_and_grad(loss, engine=scale.processes(4), shards=64)
        value, gradient = vg(params, x, y)
        print(vg.report())
    """
    return Sharded(_work(loss, "gradient", how, has_aux, compile, dtype), engine, shards)


class Product(Sharded):
    """A product with the Hessian of a loss over rows."""

    def __call__(self, params: Any, tangent: Any, *rows: Any) -> Any:
        return self._added((params, tangent), rows)


def hvp(
    loss: Callable[..., Any],
    *,
    engine: Engine | None = None,
    shards: int | None = None,
    how: str = "mean",
    compile: bool = True,
) -> Product:
    """A function of (params, tangent, *rows): the Hessian of the loss of all rows times a tangent.

    hvp = scale.hvp(loss, engine=engine)
    product = hvp(params, tangent, x, y)
    """
    return Product(_work(loss, "product", how, False, compile, "float64"), engine, shards)


class RowJacobian(Sharded):
    """The Jacobian of a function that gives something for each row."""

    def __call__(self, params: Any, *rows: Any) -> Any:
        found = self.engine.results(lambda: self._task((params,), rows))
        flat = [tree.flatten(each) for each in found]
        leaves = [leaves for leaves, _ in flat]
        return flat[0][1].unflatten(map(np.concatenate, zip(*leaves, strict=True)))


def jacobian(
    f: Callable[..., Any],
    *,
    engine: Engine | None = None,
    shards: int | None = None,
    compile: bool = True,
) -> RowJacobian:
    """A function of (params, *rows): the Jacobian of f(params, *rows), which has a row for each.

    jacobian = scale.jacobian(residuals, engine=engine)
    J = jacobian(params, x, y)  # (rows, …, *params.shape)
    """
    return RowJacobian(Work(f, "jacobian", compile=compile), engine, shards)


def map(f: Callable[..., Any], items: Iterable[Any], *, engine: Engine | None = None) -> list[Any]:
    """[f(item) for item in items], computed by the workers of an engine, in the order of the items.

    fits = scale.map(fit_from, starts, engine=scale.processes(4))
    """
    with Serial() as serial:
        return (serial if engine is None else engine).map(f, items)


def minimize(
    loss: Callable[..., Any],
    params: Any,
    *rows: Any,
    engine: Engine | None = None,
    shards: int | None = None,
    how: str = "mean",
    compile: bool = True,
    method: str = "L-BFGS-B",
    tolerance: float | None = None,
    iterations: int | None = None,
    **options: Any,
) -> learn.Minimum:
    """The parameters at which the loss of all rows is least, near those given, by SciPy.

    It is `learn.minimise` on the gradient of `value_and_grad`: the same options, the same result.

        found = scale.minimize(loss, params, x, y, engine=scale.mpi())
        print(found.parameters, found.message)
    """
    vg = value_and_grad(loss, engine=engine, shards=shards, how=how, compile=compile)
    return learn.minimise(
        vg,
        params,
        *rows,
        method=method,
        tolerance=tolerance,
        iterations=iterations,
        has_gradient=True,
        **options,
    )


def _work(
    loss: Callable[..., Any], kind: str, how: str, has_aux: bool, compile: bool, dtype: str
) -> Work:
    if how not in HOW:
        raise ArgumentError(f"how={how!r}: choose one of {', '.join(HOW)}")
    if not callable(loss):
        raise ArgumentError(f"a loss is a function of (params, *rows), not {loss!r}")
    if dtype not in ("float64", "float32"):
        raise ArgumentError(f"dtype={dtype!r}: choose one of float64, float32")
    return Work(loss, kind, how == "mean", has_aux, False, compile, dtype)

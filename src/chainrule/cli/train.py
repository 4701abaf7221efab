"""`chainrule train`: a classifier or a regression, trained on a data set or on files."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from chainrule.cli.mistake import InputError, printable
from chainrule.cli.output import columns, show, show_json, value_json

if TYPE_CHECKING:
    from chainrule.learn import Data, Trained
    from chainrule.view.styled import Styled

EXAMPLE = "chainrule train digits --model softmax --epochs 5 --quiet"
WHAT = """digits, iris, wine, breast_cancer or diabetes; a .csv file; an .npz file with x and y; or
two IDX files as images:labels"""
MODELS = ("softmax", "linear", "mlp")
DRAWN = (".svg", ".png", ".pdf", ".csv")
TEST = 0.2  # share of the rows that it is tested on
BATCH = 1_000  # rows on which the loss is measured before the first step
DIVERGED = 100.0  # times the loss at the start, from which on it is no longer learning
INTERRUPTED = 130


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("what", metavar="data", help=WHAT)
    option("--label", metavar="COLUMN", help="what to predict, in a CSV file (its last column)")
    option("--regression", action="store_true", help="whole numbers are numbers, not classes")
    option("--model", choices=MODELS, default="mlp", help="mlp if not given: one hidden layer")
    option("--hidden", type=int, default=64, help="units of the hidden layer (64)")
    option("--epochs", type=int, default=100, help="passes over the data (100)")
    option("--rate", type=float, default=0.005, help="learning rate of Adam (0.005)")
    option("--batch", type=int, default=32, help="rows to a step (32)")
    option("--seed", type=int, default=0, help="decides the split, the start and the order (0)")
    option("--checkpoints", metavar="FOLDER", help="save there after each epoch")
    option("--resume", action="store_true", help="go on from the newest checkpoint, if any")
    option("--accept", metavar="WHAT", help="what may differ then: optimiser,batches,data,seed")
    option("--scale", metavar="WHERE", help="mpi, processes:4 or dask:ADDRESS: share the batches")
    option("--curve", metavar="FILE", help="draw the learning curves: .svg, .png, .pdf, or .csv")
    option("--quiet", action="store_true", help="no progress on the standard error stream")


@dataclass(frozen=True)
class Task:
    """A model and the rows it is trained and tested on, columns of mean 0 and deviation 1."""

    training: Data
    test: Data
    start: Any
    loss: Callable[..., Any]
    measures: dict[str, Callable[[Any], float]]  # of the parameters, on the test rows

    @property
    def size(self) -> int:
        from chainrule.core.containers import flatten

        return sum(array.size for array in flatten(self.start)[0])


def run(options: argparse.Namespace) -> int:
    if options.scale is not None:
        from chainrule.cli.scaled import run_scaled

        return run_scaled(options, _run)
    return _run(options)


def _run(options: argparse.Namespace, scale: Any = None) -> int:
    from chainrule.cli.training_data import data_of

    _check(options)
    data = data_of(options.what, options.label, options.regression)
    task = _task(options, data)
    found = _described(options, data, task)
    if not options.json:
        show(options, _before(found))
    trained = _trained(options, task, scale)
    found |= _results(options, task, trained)
    if options.json:
        show_json(found)
    else:
        show(options, _after(options, found))
    if trained.stopped == "callback":
        raise InputError(_diverged(options, trained))
    return INTERRUPTED if trained.interrupted else 0


def _check(options: argparse.Namespace) -> None:
    """Complain before the training of what would fail after it."""
    from chainrule.learn import checkpoints

    for name, least in (("hidden", 1), ("epochs", 1), ("batch", 1), ("seed", 0)):
        if getattr(options, name) < least:
            raise InputError(f"--{name} {getattr(options, name)}: at least {least}")
    if not 0 < options.rate < np.inf:
        raise InputError(f"--rate {options.rate}: a positive number")
    folder = options.checkpoints
    if options.resume and folder is None:
        raise InputError("--resume needs the folder: --checkpoints FOLDER")
    if folder is not None:
        if find_spec("safetensors") is None:
            raise InputError("checkpoints need safetensors: pip install 'chainrule[learn]'")
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise InputError(f"{folder}: a file, not a folder")
        if not options.resume and checkpoints(folder):
            raise InputError(f"{folder} holds checkpoints: add --resume, or name another folder")
    if options.curve is not None:
        _check_curve(options.curve)


def _check_curve(path: str) -> None:
    kind = os.path.splitext(path)[1].lower()
    if kind not in DRAWN:
        raise InputError(f"--curve {path}: a name that ends with {', '.join(DRAWN)}")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise InputError(f"--curve {path}: there is no folder {os.path.dirname(path)}")
    if kind != ".csv" and find_spec("matplotlib") is None:
        raise InputError("--curve needs matplotlib: pip install 'chainrule[learn]'; or name a .csv")


# -- the model -------------------------------------------------------------------------------------


def _task(options: argparse.Namespace, data: Data) -> Task:
    from chainrule import learn

    if options.model == "softmax" and not data.classes:
        raise InputError(f"{options.what}: softmax is for classes; for numbers, --model linear")
    if options.model == "linear" and data.classes:
        raise InputError(f"{options.what}: linear is for numbers; for classes, --model softmax")
    training, test = learn.split(data, test=TEST, seed=options.seed)
    scaled = learn.standardiser(training.x)
    training, test = (part.map(scaled) for part in (training, test))
    outputs = len(data.classes) or 1
    start, scores = _model(options, data.x.shape[1], outputs)
    if data.classes:
        return _classifier(training, test, start, scores)
    return _regression(training, test, start, scores)


def _model(options: argparse.Namespace, inputs: int, outputs: int) -> tuple[Any, Any]:
    """The first parameters, and the function from them and the rows to the scores."""
    from chainrule import learn

    rng = np.random.default_rng(options.seed)
    if options.model != "mlp":
        return learn.init_linear(rng, inputs, outputs), learn.linear
    hidden = learn.init_linear(rng, inputs, options.hidden, initialiser=learn.he)
    return {"hidden": hidden, "output": learn.init_linear(rng, options.hidden, outputs)}, _scores


# These are what `--scale` sends to other processes: by their names.


def _scores(p: Any, x: Any) -> Any:
    import chainrule as cr
    from chainrule import learn

    return learn.linear(p["output"], cr.relu(learn.linear(p["hidden"], x)))


def _class_loss(scores: Any, p: Any, x: Any, y: Any) -> Any:
    from chainrule import learn

    return learn.cross_entropy(scores(p, x), y)


def _number_loss(scores: Any, p: Any, x: Any, y: Any) -> Any:
    from chainrule import learn

    return learn.mse(scores(p, x)[:, 0], y)


def _classifier(training: Data, test: Data, start: Any, scores: Any) -> Task:
    from chainrule import learn

    measures = {"accuracy": lambda p: learn.accuracy(scores(p, test.x), test.y)}
    return Task(training, test, start, partial(_class_loss, scores), measures)


def _regression(training: Data, test: Data, start: Any, scores: Any) -> Task:
    """What is to be predicted is scaled like the columns; its errors are told in its own units."""
    from chainrule import learn

    scaled = learn.standardiser(training.y)
    training, test = (replace(part, y=scaled(part.y)) for part in (training, test))

    def r_squared(p: Any) -> float:
        return learn.r_squared(scores(p, test.x)[:, 0], test.y)

    def mean_absolute_error(p: Any) -> float:
        return float(scaled.scale) * learn.mae(scores(p, test.x)[:, 0], test.y)

    measures: dict[str, Callable[[Any], float]] = {
        "r_squared": r_squared,
        "mean_absolute_error": mean_absolute_error,
    }
    return Task(training, test, start, partial(_number_loss, scores), measures)


# -- the run ---------------------------------------------------------------------------------------


def _trained(options: argparse.Namespace, task: Task, scale: Any) -> Trained:
    from chainrule import learn
    from chainrule.errors import NonFiniteLoss

    # Each epoch is measured on the test rows, but nothing is chosen by what comes of it.
    name, measure = next(iter(task.measures.items()))
    x, y = task.training.x, task.training.y
    with np.errstate(over="ignore", invalid="ignore"):
        most = DIVERGED * float(task.loss(task.start, x[:BATCH], y[:BATCH]))
    try:
        # What comes of an overflow is told below; a checkpoint that is passed over, in one line.
        with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = _warned
            return learn.train(
                task.loss,
                task.start,
                learn.Batches(x, y, size=options.batch, seed=options.seed),
                optimiser=learn.adam(options.rate),
                epochs=options.epochs,
                validation=[(task.test.x, task.test.y)],
                metrics={name: lambda p, *_: measure(p)},
                callbacks=[lambda record, p: bool(record["loss"] > most)],
                checkpoints=options.checkpoints,
                accept=options.accept.split(",") if options.accept else (),
                progress=not (options.json or options.quiet),
                seed=options.seed,
                scale=scale,
            )
    except NonFiniteLoss as error:
        said = str(error).splitlines()[0].rstrip(".:")
        raise InputError(f"{said}; try a --rate smaller than {options.rate:g}") from None


def _diverged(options: argparse.Namespace, trained: Trained) -> str:
    """Why a run was stopped, and what to try."""
    loss = trained.history.records[-1]["loss"]
    return (
        f"stopped: the loss has grown to {loss:.3g}, more than {DIVERGED:g} times what it was "
        f"before the first step; try --rate {min(options.rate / 100, 0.005):g}"
    )


def _warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """In place of `warnings.showwarning`: the message alone, in one line."""
    sys.stderr.write(f"chainrule: {printable(str(message))}\n")


# -- what is said of it ----------------------------------------------------------------------------


def _described(options: argparse.Namespace, data: Data, task: Task) -> dict[str, Any]:
    return {
        "data": data.name,
        "rows": {"training": len(task.training), "test": len(task.test)},
        "columns": data.x.shape[1],
        "classes": list(data.classes),
        "model": options.model,
        "parameters": task.size,
    }


def _results(options: argparse.Namespace, task: Task, trained: Trained) -> dict[str, Any]:
    records, curve = trained.history.records, None
    if options.curve is not None and records:
        csv = options.curve.lower().endswith(".csv")
        curve = str((trained.history.to_csv if csv else trained.plot)(options.curve))
    return {
        "test": {name: value_json(f(trained.parameters)) for name, f in task.measures.items()},
        "epochs": len(records),
        "stopped": trained.stopped,
        "resumed": trained.resumed,
        "seconds": sum(trained.history.seconds),
        "history": [{k: value_json(v) for k, v in record.items()} for record in records],
        "checkpoints": options.checkpoints,
        "curve": curve,
    }


def _before(found: dict[str, Any]) -> Iterator[Styled]:
    rows, classes = found["rows"], len(found["classes"])
    target = f"{classes} classes" if classes else "a number to predict"
    yield []
    yield [
        (f"  {printable(found['data'])}", "heading"),
        (f"   {rows['training']:,} rows to train on, {rows['test']:,} to test on; ", ""),
        (f"{found['columns']:,} columns, {target}", ""),
    ]
    yield [(f"  {found['model']}", "heading"), (f"   {found['parameters']:,} parameters", "")]
    yield []


def _after(options: argparse.Namespace, found: dict[str, Any]) -> Iterator[Styled]:
    names = {"r_squared": "R²"}
    rows = [
        (f"test {names.get(name, name.replace('_', ' '))}", f"{float(value):.4g}")
        for name, value in found["test"].items()
    ]
    if found["resumed"]:
        rows.append(("resumed", found["resumed"].removeprefix("resumed ")))
    rows.append(("epochs", f"{found['epochs']}, in {found['seconds']:.1f} s"))
    rows += [(name, printable(found[name])) for name in ("checkpoints", "curve") if found[name]]
    yield from columns(rows, ("", "value"))
    if found["stopped"] == "interrupted":
        yield from _interrupted(options)
    yield []


def _interrupted(options: argparse.Namespace) -> Iterator[Styled]:
    if options.checkpoints is None:
        yield [("  interrupted, and not saved: --checkpoints FOLDER would have", "wrong")]
        return
    yield [("  interrupted, and saved; go on with", "wrong")]
    yield [(f"    {printable(_again(options))}", "")]


def _again(options: argparse.Namespace) -> str:
    """The command that goes on: this one, with --resume."""
    parser = argparse.ArgumentParser(add_help=False)
    add(parser)
    words = ["chainrule", "train", options.what]
    for action in parser._actions:
        value = getattr(options, action.dest)
        if action.option_strings and value != action.default and action.dest != "resume":
            words += (
                action.option_strings if value is True else [*action.option_strings, str(value)]
            )
    return shlex.join([*words, "--resume"])

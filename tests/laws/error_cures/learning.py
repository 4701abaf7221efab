"""What layers, losses, training, checkpoints and data files say."""

from __future__ import annotations

import os
import sys
import zipfile
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.lib.recfunctions import structured_to_unstructured
from sklearn.preprocessing import StandardScaler

import chainrule as cr
from chainrule import learn, scale
from chainrule.learn.saved_tree import _safetensors
from chainrule.view.training import widget
from tests.laws.error_cures.entry import entry

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
train = partial(learn.train, progress=False)


def without(program, *modules):
    """The program where packages are not installed."""

    def fails(patch):
        for module in modules:
            patch.setitem(sys.modules, module, None)
        return program()

    return fails


def is_here(program):
    """Whether it works where they are: what `pip install` brings."""
    return lambda: program() is not None


# ---- layers and losses ---------------------------------------------------------------------------


def squares(p, x):
    return np.mean((x @ p - 1) ** 2)


entry("learn/initialise.py:drawn", "np.random.default_rng(seed), not from a",
      lambda: learn.init_linear(0, 3, 2),
      lambda: learn.init_linear(np.random.default_rng(0), 3, 2)["bias"],
      right=[0.0, 0.0])  # fmt: skip
SCORES = np.zeros((3, 2))
entry(
    "learn/losses.py:_at_labels", "number them by np.unique(labels, return_inverse=True)[1]",
    lambda: learn.cross_entropy(SCORES, np.array([3, 7, 3])),
    lambda: learn.cross_entropy(SCORES, np.unique([3, 7, 3], return_inverse=True)[1]),
    right=np.log(2),
)  # fmt: skip
entry(
    "learn/losses.py:_check_alike", "reshape one of them",
    lambda: cr.grad(lambda p: learn.mse(p, np.zeros(3)))(np.ones((3, 1))),
    lambda: cr.grad(lambda p: learn.mse(p.reshape(3), np.zeros(3)))(np.ones((3, 1))),
    right=np.full((3, 1), 2 / 3),
)  # fmt: skip


def normalised(rows, training=True):
    params, statistics = learn.init_batch_norm(2)
    x = np.arange(2.0 * rows).reshape(rows, 2)
    return learn.batch_norm(params, x, statistics, training)[0]


NORMALISED = "learn/normalise.py:batch_norm"
entry(NORMALISED, "use larger batches", lambda: normalised(1), lambda: normalised(2),
      right=np.array([[-1.0, -1.0], [1.0, 1.0]]) / np.sqrt(1 + 1e-5))  # fmt: skip
entry(NORMALISED, "or training=False", lambda: normalised(1), lambda: normalised(1, False),
      right=np.array([[0.0, 1.0]]) / np.sqrt(1 + 1e-5))  # fmt: skip

# ---- steps ---------------------------------------------------------------------------------------

START = np.zeros(3)


def moved(optimiser):
    after, _ = optimiser.update(START, np.ones(3), optimiser.init(START))
    return after


entry("learn/optimisers.py:_given_rate", "a schedule: a function of the step number, as chainrule",
      lambda: moved(learn.sgd("0.1")),
      lambda: moved(learn.sgd(learn.cosine(0.1, steps=1000))), lambda: moved(learn.sgd(0.1)),
      right=START - 0.1)  # fmt: skip


def one_step(optimiser):
    step = learn.make_step(squares, optimiser)
    return step(START, learn.adam(0.001).init(START), X)[0]


entry("learn/step.py:make_step", "as chainrule.learn.adam(0.001), not", lambda: one_step("adam"),
      lambda: np.abs(one_step(learn.adam(0.001))), right=np.full(3, 0.001))  # fmt: skip

# ---- batches -------------------------------------------------------------------------------------


def rows_of(batches):
    return sum(len(x) for x, *_ in batches.epoch(0))


def steps_of(batches, **options):
    return train(squares, START, batches, optimiser=learn.sgd(0.1), epochs=2, **options).history


def losses_of(batches, **options):
    return steps_of(batches, **options)["loss"]


entry(
    "learn/batches.py:Batches.__init__",
    "pass arrays with rows",
    lambda: learn.Batches(X[:0], size=8),
    lambda: rows_of(learn.Batches(X, size=8)),
    right=40,
)
# ---- rows and parameters that are not plain numbers ----------------------------------------------

NUMERIC = "learn/numeric.py:<module>"
SPARSE = scipy.sparse.csr_array(X)
TABLE = pd.DataFrame(X).astype(object)
FIELDS = np.array([*map(tuple, X)], [("a", float), ("b", float), ("c", float)])
SPELT = np.array([["1", "2"], ["3", "4"]])
DAYS = np.array(["2020-01-01", "2020-01-03"], "M8[D]")
MASKED = np.ma.masked_array(X, X > 1)
SQUARE = np.asarray([[1.0, 2.0], [3.0, 4.0]])


def sum_of(*arrays, f=lambda p, x: p * np.sum(x)):
    """The gradient by p = 1."""
    found = scale.value_and_grad(f, how="sum", shards=1, compile=False)(1.0, *arrays)
    return found[1]


def product(p, x):
    return p * np.sum(x @ SQUARE)


def unmasked(p, x, mask):
    return p * np.sum(np.where(mask, 0.0, x))


entry(NUMERIC, "pass numbers, as x.toarray() of a sparse matrix, or x.to_numpy(float) of a table",
      lambda: sum_of(SPARSE), lambda: sum_of(SPARSE.toarray()),
      lambda: sum_of(TABLE.to_numpy(float)), right=X.sum())  # fmt: skip
entry(NUMERIC, "structured rows: pass its fields as arrays of their own, or numpy.lib.recfunctions",
      lambda: sum_of(FIELDS),
      lambda: sum_of(*(FIELDS[name] for name in "abc"), f=lambda p, *xs: p * sum(map(np.sum, xs))),
      lambda: sum_of(structured_to_unstructured(FIELDS)), right=X.sum())  # fmt: skip
entry(NUMERIC, "bytes: pass numbers, as x.astype(float) where they spell some",
      lambda: sum_of(SPELT.astype("S1")),
      lambda: sum_of(SPELT.astype("S1").astype(float)), right=10.0)  # fmt: skip
entry(NUMERIC, "text: pass numbers, as x.astype(float) where they spell some",
      lambda: sum_of(SPELT), lambda: sum_of(SPELT.astype(float)), right=10.0)  # fmt: skip
entry(NUMERIC, "dates: pass numbers, as (x - x[0]) / np.timedelta64(1, 's')",
      lambda: sum_of(DAYS),
      lambda: sum_of((DAYS - DAYS[0]) / np.timedelta64(1, "s")), right=172800.0)  # fmt: skip
entry(NUMERIC, "times: pass numbers, as x / np.timedelta64(1, 's')",
      lambda: sum_of(DAYS - DAYS[0]),
      lambda: sum_of((DAYS - DAYS[0]) / np.timedelta64(1, "s")), right=172800.0)  # fmt: skip
entry(NUMERIC, "pass x.filled(value), or x.data and the mask as arrays of their own",
      lambda: sum_of(MASKED), lambda: sum_of(MASKED.filled(0.0)),
      lambda: sum_of(MASKED.data, np.ma.getmaskarray(MASKED), f=unmasked),
      right=X[X <= 1].sum())  # fmt: skip
entry(NUMERIC, "pass np.asarray(x), and write `@` for it",
      lambda: sum_of(SQUARE.view(np.matrix), f=lambda p, x: p * np.sum(x * SQUARE)),
      lambda: sum_of(np.asarray(SQUARE.view(np.matrix)), f=product), right=54.0)  # fmt: skip

# ---- batches -------------------------------------------------------------------------------------

ONCE = partial(losses_of, [(X,)])
BATCH = "learn/batches.py:_as_batch"
entry(BATCH, "or (x,)", lambda: losses_of([X]), lambda: losses_of([(X,)]), right=ONCE)


def held_out(batches):
    found = train(lambda p, x, y: np.mean((x @ p - y) ** 2), START, batches,
                  optimiser=learn.sgd(0.1), epochs=1)  # fmt: skip
    return found.history["loss"]


entry(BATCH, "yield (x, y)", lambda: held_out([X]), lambda: held_out([(X, Y)]),
      right=np.mean(Y**2))  # fmt: skip
SOURCE = "learn/batches.py:source_of"
entry(SOURCE, "say how many batches make one with steps=", lambda: losses_of(iter([(X,)] * 2)),
      lambda: losses_of(iter([(X,)] * 2), steps=1), right=ONCE)  # fmt: skip
entry(SOURCE, "or pass Batches or something that can be iterated again, as a list",
      lambda: losses_of(iter([(X,)] * 2)), lambda: losses_of([(X,)]),
      lambda: losses_of(learn.Batches(X, size=40)), right=ONCE)  # fmt: skip

# ---- training ------------------------------------------------------------------------------------

METRIC = {"size": lambda p, x: np.sum(p**2)}
VALIDATED = "learn/training.py:Plan.__post_init__"
entry(VALIDATED, "pass validation=(x, y)", lambda: losses_of([(X,)], patience=1),
      lambda: losses_of([(X,)], patience=5, validation=(X,)),
      lambda: losses_of([(X,)], metrics=METRIC, validation=(X,)), right=ONCE)  # fmt: skip
entry("learn/training.py:Plan.measure", "pass arrays, Batches or a list, not an iterator",
      lambda: losses_of([(X,)], validation=iter([(X,)])),
      lambda: losses_of([(X,)], validation=(X,)),
      lambda: losses_of([(X,)], validation=learn.Batches(X, size=8)),
      lambda: losses_of([(X,)], validation=[(X,)]), right=ONCE)  # fmt: skip
HOLED = np.where(np.arange(120).reshape(40, 3) == 7, np.nan, X)


def asked():
    try:
        losses_of([(HOLED,)])
    except cr.NonFiniteLoss as error:
        return cr.find_nonfinite(squares, error.parameters, *error.batch)


entry("learn/training.py:_Run._nonfinite_loss", "catch this error and ask cr.find_nonfinite",
      lambda: losses_of([(HOLED,)]), asked, right="[2, 1] = NaN")  # fmt: skip


def sharp(p, x):
    return np.mean(np.sqrt(p * x))


def sharply(**options):
    return train(sharp, 0.0, [(np.ones(2),)], optimiser=learn.sgd(0.1), epochs=1, **options)


def debugged():
    with cr.debug():
        try:
            sharply(compile=False)
        except cr.NonFiniteGradient as error:
            return error


entry("learn/training.py:_Run._before", "train with compile=False under cr.debug()", sharply,
      debugged, right="np.sqrt(p * x)")  # fmt: skip


def twice(at, again, **options):
    steps_of([(X,)], checkpoints=at / "run")
    return steps_of([(X,)], checkpoints=at / again, **options)["loss"]


RESUMED = "learn/training.py:_Run._resume"
entry(
    RESUMED,
    "leave out resume=False to go on from the newest",
    lambda at: twice(at, "run", resume=False),
    lambda at: twice(at, "run"),
    right=ONCE,
)
entry(RESUMED, "or name another folder", lambda at: twice(at, "run", resume=False),
      lambda at: twice(at, "other", resume=False), right=ONCE)  # fmt: skip


def another_run(at, folder, batches):
    losses_of(learn.Batches(X, size=8, seed=1), checkpoints=at / "run")
    found = train(squares, START, batches, optimiser=learn.sgd(0.1), epochs=2,
                  checkpoints=at / folder)  # fmt: skip
    return found.history["loss"]


OTHERS = "learn/store.py:Store._check_run"
entry(OTHERS, "Train as then", lambda at: another_run(at, "run", learn.Batches(X, size=10)),
      lambda at: another_run(at, "run", learn.Batches(X, size=8, seed=1)),
      right=lambda: losses_of(learn.Batches(X, size=8, seed=1)))  # fmt: skip
entry(OTHERS, "or name another folder than",
      lambda at: another_run(at, "run", learn.Batches(X, size=10)),
      lambda at: another_run(at, "other", learn.Batches(X, size=10)),
      right=lambda: losses_of(learn.Batches(X, size=10)))  # fmt: skip

# ---- checkpoints ---------------------------------------------------------------------------------


def saved(folder, **options):
    learn.save_checkpoint(folder, X, **options)
    return learn.load_checkpoint(folder, like=X).tree


def in_a_file(at):
    (at / "file").write_text("")
    return saved(at / "file")


entry("learn/checkpoints.py:save_checkpoint", "keep must be at least 1",
      lambda at: saved(at, keep=0), lambda at: saved(at, keep=1), right=X)  # fmt: skip
entry("learn/checkpoints.py:_unwritten", "or name a folder on another disk", in_a_file,
      lambda at: saved(at / "folder"), right=X)  # fmt: skip
entry("learn/checkpoints.py:_signed", "use dicts with strings as keys, lists, strings",
      lambda at: saved(at, note=(1, 2)),
      lambda at: saved(at, note={"a": [1, "b", 2.5, True, None]}), right=X)  # fmt: skip
INSTALL = "pip install 'chainrule[learn]'"
entry(
    "learn/saved_tree.py:_safetensors",
    INSTALL,
    without(_safetensors, "safetensors", "safetensors.numpy"),
    is_here(_safetensors),
    right=True,
)

# ---- data ----------------------------------------------------------------------------------------


def other_compression(at):
    np.save(at / "x.npy", X)
    with zipfile.ZipFile(at / "x.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.write(at / "x.npy", "x.npy")
    return learn.load_npz(at / "x.npz")["x"]


def of_savez(at):
    np.savez(at / "x.npz", x=X)
    return learn.load_npz(at / "x.npz")["x"]


entry("learn/data_files.py:_unpacked", "expected what np.savez writes", other_compression, of_savez,
      right=X)  # fmt: skip


def through_a_pipe(at):
    os.mkfifo(at / "pipe")
    return learn.load_npy(at / "pipe")


def through_a_file(at):
    np.save(at / "x.npy", X)
    return learn.load_npy(at / "x.npy")


entry("learn/files.py:regular", "write what it gives to a file", through_a_pipe, through_a_file,
      right=X)  # fmt: skip
entry("learn/data.py:load", INSTALL, without(lambda: learn.load("iris"), "sklearn"),
      lambda: learn.load("iris").x.shape, right=[150, 4])  # fmt: skip


def classifier(patch):
    for name in ("chainrule.learn.estimator_neural", "chainrule.learn.estimator"):
        patch.delitem(sys.modules, name, raising=False)
    for name in ("sklearn", "sklearn.base"):
        patch.setitem(sys.modules, name, None)
    return learn.__getattr__("NeuralClassifier")


entry("learn/__init__.py:__getattr__", INSTALL, classifier,
      is_here(lambda: learn.NeuralClassifier), right=True)  # fmt: skip


def plotted():
    with TemporaryDirectory() as folder:
        path = Path(folder) / "curves.png"
        steps_of([(X,)]).plot(path)
        return path.stat().st_size


PLOT = "learn/history.py:History.plot"
NO_PLOT = without(plotted, "matplotlib", "matplotlib.figure")
entry(PLOT, INSTALL, NO_PLOT, is_here(plotted), right=True)
entry(PLOT, "print(history) shows the curves as text", NO_PLOT,
      lambda: str(steps_of([(X,)])), right="loss")  # fmt: skip
entry(PLOT, "history.to_csv(path) writes the numbers", NO_PLOT,
      lambda at: (steps_of([(X,)]).to_csv(at / "h.csv"), (at / "h.csv").read_text())[1],
      right="loss")  # fmt: skip
WIDGET = without(lambda: widget({}), "anywidget")
entry("view/training.py:widget", "pip install 'chainrule[view]'", WIDGET,
      is_here(lambda: __import__("anywidget")), right=True)  # fmt: skip
entry("view/training.py:widget", "Without it, train with progress=True", WIDGET,
      lambda: learn.train(squares, START, [(X,)], optimiser=learn.sgd(0.1), epochs=2,
                          progress=True).history["loss"], right=ONCE)  # fmt: skip

# ---- scikit-learn's interface --------------------------------------------------------------------

QUICK = {"hidden_layer_sizes": (4,), "random_state": 0}


def fitted(x=X, y=Y, **settings):
    """Whether the network ends by itself and tells the classes apart; a warning is an error."""
    return learn.NeuralClassifier(**{**QUICK, **settings}).fit(x, y).score(x, y) > 0.8


UNFINISHED = "learn/estimator.py:NetworkEstimator._unfinished"
SLOW = {"max_iter": 3, "learning_rate_init": 0.01}
entry(UNFINISHED, "raise max_iter", lambda: fitted(**SLOW),
      lambda: fitted(**{**SLOW, "max_iter": 3000}), right=True)  # fmt: skip
entry(UNFINISHED, "or tol,", lambda: fitted(**SLOW, n_iter_no_change=2),
      lambda: fitted(**SLOW, n_iter_no_change=2, tol=1.0) in (True, False),
      right=True)  # fmt: skip
FEW = np.arange(0, 40, 10)
TOO_FEW = "learn/estimator.py:NetworkEstimator._too_few"
STOPPING = {"early_stopping": True, "max_iter": 3000, "learning_rate_init": 0.01}
entry(TOO_FEW, "raise it,", lambda: fitted(X[:9], Y[:9], **STOPPING),
      lambda: fitted(X[:9], Y[:9], **STOPPING, validation_fraction=0.5) in (True, False),
      right=True)  # fmt: skip
entry(TOO_FEW, "or pass more rows", lambda: fitted(X[:9], Y[:9], **STOPPING),
      lambda: fitted(**STOPPING) in (True, False), right=True)  # fmt: skip
entry(
    "learn/estimator.py:NetworkEstimator._check_settings",
    "see its docstring",
    lambda: fitted(activation="step"),
    lambda: learn.NeuralClassifier.__doc__,
    right="activation",
)


def softmax(x=X, **settings):
    model = learn.SoftmaxRegression(solver="sgd", max_iter=5000, random_state=0, **settings)
    return model.fit(x, Y).score(x, Y) > 0.8


LARGE = 1e200 * X
BLOWN = "learn/estimator_network.py:epochs"
entry(BLOWN, "scale the columns of X, as by StandardScaler", lambda: softmax(LARGE),
      lambda: softmax(StandardScaler().fit_transform(LARGE / 1e190)), right=True)  # fmt: skip
entry(BLOWN, "or lower learning_rate_init=", lambda: softmax(learning_rate_init=1e300),
      lambda: softmax(learning_rate_init=0.1), right=True)  # fmt: skip
entry("learn/estimator_softmax.py:SoftmaxRegression._fit", 'early_stopping needs solver="sgd"',
      lambda: learn.SoftmaxRegression(early_stopping=True).fit(X, Y),
      lambda: learn.SoftmaxRegression(early_stopping=True, solver="sgd", max_iter=5000,
                                      random_state=0).fit(X, Y).score(X, Y) > 0.8,
      right=True)  # fmt: skip

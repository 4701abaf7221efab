"""The tree of errors, and bad axes and indices: each is ours where NumPy raises, never else."""

import importlib
import inspect
import itertools
import pkgutil
import re
from functools import partial

import numpy as np
import pytest

import chainrule as cr
from chainrule import errors
from tests.record.compare import judge

# ---- the tree -----------------------------------------------------------------------------------


def drawn_tree():
    """{name: (parent, what else it is)} as the docstring of errors.py draws it."""
    found, path = {}, []
    for row in inspect.getdoc(errors).splitlines():
        drawn = re.match(r"([│├└─ ]*)([A-Z]\w+)(?:\s|$)", row)
        if not drawn or (not drawn[1] and drawn[2] != "ChainruleError"):
            continue
        depth = len(drawn[1]) // 4
        also = re.search(r"\(also an? (\w+)\)", row)
        found[drawn[2]] = (path[depth - 1] if depth else "Exception", also and also[1])
        path[depth:] = [drawn[2]]
    return found


def written_tree():
    """The same of the classes there are, wherever in the package they are written."""
    found, pending = {}, [cr.ChainruleError]
    while pending:
        kind = pending.pop()
        first, *others = kind.__bases__
        found[kind.__name__] = (first.__name__, others[0].__name__ if others else None)
        pending += [k for k in kind.__subclasses__() if k.__module__.startswith("chainrule")]
    return found


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    for module in pkgutil.walk_packages(cr.__path__, "chainrule."):
        if module.name.split(".")[1] in ("core", "ops", "record", "diff", "explain"):
            importlib.import_module(module.name)
    written = {n: above for n, above in written_tree().items() if hasattr(errors, n)}
    assert drawn_tree() == written
    assert len(written) >= 16


def test_every_error_is_written_in_errors():
    assert [name for name in written_tree() if not hasattr(errors, name)] == []


def test_they_are_what_numpy_s_users_catch():
    x = cr.variable(np.ones((2, 3)))
    for bad, kind in [
        (lambda: x + np.ones(4), ValueError),
        (lambda: x[5], IndexError),
        (lambda: x & 1, TypeError),
        (lambda: np.sum(x, axis=3), IndexError),
        (lambda: np.reshape(x, 4), ValueError),
        (lambda: np.packbits(x), TypeError),
        (lambda: np.linalg.inv(np.zeros((2, 2)) * x[0, 0]), np.linalg.LinAlgError),
        (lambda: x.view, AttributeError),
    ]:
        with pytest.raises(kind) as caught:
            bad()
        assert isinstance(caught.value, cr.ChainruleError)


# ---- generated bad input ------------------------------------------------------------------------

A = np.arange(6.0).reshape(2, 3) + 0.5
ARRAYS = A, np.float64(2.0), np.zeros(0), np.ones((1, 1, 2))
AXES = [0, -1, 1, 2, -3, 7, None, (0, 1), (), (0, 0), (0, 5), 1.5, "a", (0.5,), np.int8(1), 1j]


def along(function, a, axis):
    return function(a, axis=axis)


BY_AXIS = {
    **{
        name: partial(along, getattr(np, name))
        for name in (
            *("sum", "prod", "mean", "max", "min", "std", "var", "cumsum", "cumprod", "argsort"),
            *("argmax", "argmin", "flip", "all", "any", "median", "ptp", "nansum", "sort"),
            *("count_nonzero", "squeeze", "expand_dims", "unique"),
        )
    },
    "norm": lambda a, k: np.linalg.norm(a, axis=k),
    "roll": lambda a, k: np.roll(a, 1, axis=k),
    "stack": lambda a, k: np.stack([a, a], axis=k),
    "concatenate": lambda a, k: np.concatenate([a, a], axis=k),
    "split": lambda a, k: np.split(a, 1, axis=k),
    "quantile": lambda a, k: np.quantile(a, 0.5, axis=k),
    "fft": lambda a, k: np.fft.fft(a, axis=k),
    "swapaxes": lambda a, k: np.swapaxes(a, 0, k),
    "moveaxis": lambda a, k: np.moveaxis(a, 0, k),
    "transpose": lambda a, k: np.transpose(a, k),
    "add.reduce": lambda a, k: np.add.reduce(a, axis=k),
    "tensordot": lambda a, k: np.tensordot(a, a, axes=k),
    "reshape": lambda a, k: np.reshape(a, k),
    "broadcast_to": lambda a, k: np.broadcast_to(a, k),
    "tile": lambda a, k: np.tile(a, k),
    "tril": lambda a, k: np.tril(a, k),
    "diagonal": lambda a, k: np.diagonal(a, k),
    "rot90": lambda a, k: np.rot90(a, axes=k),
    "append": lambda a, k: np.append(a, a, axis=k),
}
# Over no axis NumPy's empty medians fail inside, ours are empty; the norm has a test of its own.
LENIENT = {("median", ()), ("quantile", ()), ("unique", ()), ("norm", (0.5,))}


@pytest.mark.parametrize("name", BY_AXIS)
@pytest.mark.filterwarnings("ignore")
def test_axes(name):
    raised = sum(
        judge(
            f"{name} axis={k!r} of {np.shape(a)}",
            lambda k=k, a=a: BY_AXIS[name](cr.variable(a), k),
            lambda k=k, a=a: BY_AXIS[name](a, k),
        )
        for k, a in itertools.product(AXES, ARRAYS)
        if (name, k) not in LENIENT
    )
    assert raised >= 10, "the grid is mostly bad"


INDICES = [
    *(
        0,
        5,
        -3,
        (0, 3),
        (0, 0, 0),
        1.0,
        "a",
        None,
        {},
        [0, 2],
        [0, -3],
        [0.5],
        [[0], [2]],
        1j,
        b"x",
    ),
    *(np.array([0.0]), np.array(["a"]), [True], [True, False, True], np.ones((2, 2), bool), True),
    *(
        slice(0, 1.5),
        slice("a"),
        slice(None, None, 0),
        (..., ...),
        (..., 0, 0, 0),
        10**20,
        [10**20],
    ),
    *(
        (slice(None), [0, 5]),
        ([0, 1], [0, 1, 2]),
        [None],
        np.array(5),
        np.uint8(200),
        np.nan,
        print,
    ),
    *(
        (slice(None),) * 3,
        (0, "a"),
        range(3),
        {0},
        [],
        (),
        ...,
        ([True, False], 0),
        np.datetime64(0, "s"),
    ),
]
VALUES = [1.0, np.ones(3), np.ones(5), np.ones((2, 3)), 1j, "a", np.float32(2), [1, 2, 3], np.nan]


@pytest.mark.filterwarnings("ignore")
def test_reading_at_an_index():
    raised = sum(
        judge(f"{np.shape(a)}[{i!r}]", lambda a=a, i=i: cr.variable(a)[i], lambda a=a, i=i: a[i])
        for a, i in itertools.product(ARRAYS, INDICES)
    )
    assert raised >= 100


@pytest.mark.filterwarnings("ignore")
def test_writing_at_an_index():
    def written(a, index, value):
        a[index] = value
        return a

    raised = sum(
        judge(
            f"{np.shape(a)}[{i!r}] = {v!r}",
            lambda a=a, i=i, v=v: written(cr.variable(a) * 1.0, i, v),
            lambda a=a, i=i, v=v: written(np.array(a), i, v),
        )
        for a, i, v in itertools.product(ARRAYS, INDICES, VALUES)
    )
    assert raised >= 1000

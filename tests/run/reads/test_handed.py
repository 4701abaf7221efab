"""What is known of a callable that C code is given: which run compiled, which as plain Python."""

from __future__ import annotations

import functools
import operator
import warnings

import numpy as np
import pytest

import chainrule as cr
from chainrule.run.reads.handed import is_opaque

pytest.importorskip("llvmlite")

X = np.array([1.0, 2.0, 3.0])
WEIGHTS = [1.0, 2.0]
TABLE = {"a": 1.0, "b": 2.0}


class Box:
    k = 2.0

    def weight(self, v):
        return self.k * v


BOX = Box()


def test_a_function_of_the_users_is_watched_as_it_runs():
    assert not is_opaque(lambda x: x)
    assert not is_opaque(None)
    assert is_opaque(np.max)
    assert is_opaque(WEIGHTS.__getitem__)
    assert is_opaque(np.vander)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * sum(map(len, [[1], [2, 3]])),
        lambda x: x * sum(map(np.array, WEIGHTS)),
        lambda x: x * sum(map(WEIGHTS.__getitem__, (0, 1))),
        lambda x: x * sum(map(TABLE.get, "ab")),
        lambda x: x * sum(map(BOX.weight, (1.0, 2.0))),
        lambda x: x * sum(map(operator.itemgetter("a"), [TABLE])),
        lambda x: x * sum(map(functools.partial(max, 1.5), (1.0, 2.0))),
        lambda x: x * sum(map(str.isdigit, "a1")),
        lambda x: sum(map(np.sum, [x, x])),
    ],
)
def test_known_callables_stay_compiled(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = cr.compile(f)
        for point in (X, 2 * X, -X):
            np.testing.assert_allclose(fast(point), f(point), rtol=1e-15)
    assert fast.recordings == 1


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x * sum(map(getattr, [BOX], ["k"])), "hands on builtins.getattr"),
        (lambda x: x * sum(map(operator.attrgetter("k"), [BOX])), "hands on operator.attrgetter"),
        (lambda x: x * len(list(map(list.append, [[]], [1]))), "hands on list.append"),
    ],
)
def test_others_run_as_plain_python(f, words):
    fast = cr.compile(f)
    with pytest.warns(RuntimeWarning, match=words):
        np.testing.assert_array_equal(fast(X), f(X))

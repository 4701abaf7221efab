"""`summary.py` and `multivariate.py`: statistics of data and laws of vectors, beside SciPy's."""

import numpy as np
import pytest
import scipy.stats as theirs

import chainrule as cr
from chainrule.scipy import stats as ours
from chainrule.scipy.stats import summary

DATA = np.array([[0.4, 1.3, 2.2, 0.9, 3.1], [1.2, 0.7, 0.3, 2.6, 1.9]])
CALLS = {
    "entropy": lambda s: lambda x: s.entropy(x, axis=1),
    "moment": lambda s: lambda x: s.moment(x, 3, axis=1),
    "pmean": lambda s: lambda x: s.pmean(x, 2.5, axis=1),
    "zmap": lambda s: lambda x: s.zmap(x, DATA, axis=1),
}
COV = np.array([[1.0, 0.3], [0.3, 0.8]])


def compared(mine, scipys, *args):
    found, expected = mine(*map(cr.variable, args)), scipys(*args)
    np.testing.assert_allclose(found.value, expected, rtol=1e-10)
    np.testing.assert_allclose(mine(*args), expected, rtol=0)
    weights = np.cos(np.arange(np.size(expected))).reshape(np.shape(expected))
    cr.check_grads(lambda *a: np.sum(mine(*a) * weights), *args, order=1)


@pytest.mark.parametrize("name", sorted(summary.OURS))
def test_statistics(name):
    call = CALLS.get(name, lambda s: lambda x: getattr(s, name)(x, axis=1))
    compared(call(ours), call(theirs), DATA)


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
def test_a_normal_law_of_vectors(method):
    calls = [
        lambda x, m, c, s=s: getattr(s.multivariate_normal, method)(x, m, (c + c.T) / 2)
        for s in (ours, theirs)
    ]
    compared(*calls, DATA[:, :2], np.array([0.2, 0.5]), COV)


def test_a_dirichlet_law():
    x = np.array([0.2, 0.3, 0.5])
    calls = [lambda a, s=s: s.dirichlet.logpdf(x, a) for s in (ours, theirs)]
    compared(*calls, np.array([1.5, 2.0, 0.75]))

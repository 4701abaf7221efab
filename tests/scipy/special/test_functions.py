"""`functions.py`: SciPy's special functions that are no ops of their own, beside SciPy's."""

import numpy as np
import pytest
import scipy.special as theirs

import chainrule as cr
from chainrule.scipy import special as ours
from chainrule.scipy.special import functions

X = np.array([0.6, 1.4, 2.3])
CALLS = {
    **{n: (lambda s, n=n: lambda x: getattr(s, n)(1, x, 1)) for n in ("ivp", "jvp", "kvp", "yvp")},
    **{
        n: (lambda s, n=n: lambda x: getattr(s, n)(2, x))
        for n in ("spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "polygamma")
    },
    "comb": lambda s: lambda x: s.comb(x + 3, 2.0),
    "perm": lambda s: lambda x: s.perm(x + 3, 2.0),
    "lambertw": lambda s: lambda x: np.real(s.lambertw(x)),
    "multigammaln": lambda s: lambda x: s.multigammaln(x + 2, 3),
    "zeta": lambda s: lambda x: s.zeta(3.0, x),
    "sinc": lambda s: np.sinc,
}


@pytest.mark.parametrize("name", sorted(functions.OURS))
def test_values_and_derivatives(name):
    if not hasattr(theirs, name) and name not in CALLS:
        expected = np.log1p(np.exp(X))  # softplus
        mine = getattr(ours, name)
    else:
        call = CALLS.get(name, lambda s: getattr(s, name))
        mine, expected = call(ours), call(theirs)(X)
    found = mine(cr.variable(X))
    np.testing.assert_allclose(found.value, expected, rtol=1e-10)
    weights = np.cos(np.arange(np.size(expected))).reshape(np.shape(expected))
    cr.check_grads(lambda x: np.sum(mine(x) * weights), X, order=1)

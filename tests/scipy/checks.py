"""A function of ours beside SciPy's: values, derivatives, and what plain inputs give."""

from __future__ import annotations

import numpy as np

import chainrule as cr


def agrees(ours, theirs, *args, order=1, rtol=1e-12):
    """The value of SciPy's, on Variables; the derivatives of differences; SciPy's on plain ones."""
    with np.errstate(all="ignore"):
        expected = theirs(*args)
        plain = ours(*args)
        found = ours(*map(cr.variable, args))
    assert type(plain) is type(expected)
    np.testing.assert_array_equal(plain, expected)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.value, expected, rtol=rtol, atol=1e-14)
    weights = np.cos(np.arange(np.size(expected))).reshape(np.shape(expected))
    cr.check_grads(lambda *a: np.sum(ours(*a) * weights), *args, order=order)

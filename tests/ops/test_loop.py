"""The op `loop`: its samples are held by the table; here that its parts must fit together."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.spec import Spec


def test_the_spec_refuses_what_the_body_does_not_read():
    op = cr.OPS["loop"]
    sample = op.samples()[0]
    specs = [Spec.of(a) for a in sample.args]
    assert op.spec(*specs, **sample.attrs) == tuple(map(Spec.of, op(*sample.args, **sample.attrs)))
    with pytest.raises(cr.GraphError, match="3 inputs is given 2"):
        op.spec(*specs[:2], **sample.attrs)
    with pytest.raises(cr.GraphError, match="its body reads"):
        op.spec(specs[0], specs[1], Spec((3, 5), np.dtype(float)), **sample.attrs)

"""A cure is said as one sentence, and stands at every op whose trouble it is."""

import pytest

from chainrule.core.cure import Cure
from chainrule.core.op import OPS


def test_what_is_said():
    assert str(Cure("key", "the sum overflows", "add logarithms")) == (
        "the sum overflows: add logarithms"
    )
    assert str(Cure("key", "", "add logarithms")) == "add logarithms"


@pytest.mark.parametrize("name", [n for n, op in OPS.items() if op.cure])
def test_every_op_has_its_cures_as_records(name):
    cures = OPS[name].cure
    assert all(isinstance(c, Cure) and c.key and c.advice for c in cures)
    assert len({c.key for c in cures}) == len(cures)

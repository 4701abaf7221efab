"""A cure that several families share stands at several ops; else it would stand beside its op."""

import pytest

from chainrule.core.cure import Cure
from chainrule.core.op import OPS
from chainrule.ops import cures

SHARED = {name: cure for name, cure in vars(cures).items() if isinstance(cure, Cure)}


@pytest.mark.parametrize("name", SHARED)
def test_it_is_shared(name):
    modules = {op.forward.__module__ for op in OPS.values() if SHARED[name] in op.cure}
    ops = [op.name for op in OPS.values() if SHARED[name] in op.cure]
    assert len(ops) > 1, f"{name} of {ops} in {modules}"

"""The functions that the plan takes for simple are those that are written as instructions."""

from chainrule.lower.code.scalars import SCALARS
from chainrule.lower.values.functions import SIMPLE


def test_simple_functions_are_written() -> None:
    assert SIMPLE.keys() == SCALARS.keys()

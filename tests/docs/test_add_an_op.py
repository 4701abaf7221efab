"""The op that ARCHITECTURE.md adds passes every test the ops of the table pass."""

from contextlib import suppress

import pytest

from chainrule.core.op import OPS
from tests.docs.pages import ROOT, Page

CHECKS = (
    "test_has_samples",
    "test_value_is_numpy_s",
    "test_spec_is_right",
    "test_first_derivative",
    "test_second_derivative",
    "test_narrow_types_stay_narrow",
    "test_traced_graph_is_sound",
)


@pytest.fixture
def softsign():
    page = Page(ROOT / "ARCHITECTURE.md")
    page.output_of(next(block for block in page.blocks if "elementwise(" in block.text))
    yield page.scope["softsign"]
    del OPS["softsign"]


def run(check, *arguments):
    with suppress(pytest.skip.Exception):
        check(*arguments)


@pytest.mark.parametrize("name", CHECKS)
def test_the_new_op_passes(softsign, name):
    from tests.ops import test_table  # not at the top: pytest would collect its tests here too

    check = getattr(test_table, name)
    if name == "test_has_samples":
        run(check, softsign)
        return
    for sample in softsign.samples():
        run(check.of_one, softsign, sample)


def test_the_new_op_is_finite_at_its_edges(softsign):
    from tests.ops import test_table

    for sample in softsign.edges():
        test_table.test_edges_are_finite_and_both_modes_agree.of_one(softsign, sample)

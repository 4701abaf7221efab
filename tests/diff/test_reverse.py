"""Adjoints are added in one place (`reverse.py`): where nothing stands yet, nothing is added to."""

import re
from pathlib import Path

import numpy as np

import chainrule
import chainrule as cr
from chainrule.diff.reverse import add, added, added_to

PACKAGE = Path(chainrule.__file__).parent
STORED = re.compile(r"\[[\w.]+\] = (\w+) if (.+ is None|.+ not in .+) else .+ \+ \1$", re.MULTILINE)


def nodes(count):
    graph = cr.trace(lambda *xs: sum(xs), *np.ones(count))
    return graph.leaves


def test_what_is_added_first_is_kept_as_it_is():
    (node,), adjoints, g = nodes(1), {}, np.ones(3)
    add(adjoints, node, g)
    assert adjoints[node] is g
    add(adjoints, node, g)
    assert g.tolist() == [1, 1, 1]
    assert adjoints[node].tolist() == [2, 2, 2]


def test_an_output_that_is_there_twice_has_two_seeds():
    a, b = nodes(2)
    assert added([(a, 1.0), (b, 2.0), (a, 3.0)]) == {a: 4.0, b: 2.0}
    both = cr.trace(lambda x: (lambda y: (y, y))(x * x), 3.0)
    run = both.forward(3.0).backward((1.0, 10.0))
    assert run.adjoint(both.leaves[0]) == 66.0


def test_of_one_parent_the_others_count_for_nothing():
    a, b = nodes(2)
    assert added_to(a, [(a, np.float64(1)), (b, np.float64(5)), (a, None)]) == 1.0
    assert added_to(a, [(b, np.float64(5))]) is None


def test_adjoints_are_added_in_one_place_and_its_fast_form():
    stored = {p.name: len(STORED.findall(p.read_text("utf-8"))) for p in PACKAGE.rglob("*.py")}
    assert {name: count for name, count in stored.items() if count} == {"reverse.py": 2}
    assert STORED.search("adjoints[out] = seed if have is None else have + seed")
    assert STORED.search("sums[n] = g if n not in sums else sums[n] + g")

"""Row 1 of the mission: the topological sort of seed 003, slide by slide, and as scheduling."""

from itertools import groupby

import pytest

from chainrule.core.order import topological_sort
from chainrule.errors import CycleError

# The edges uv ("u comes before v") that the slides walk: H → J, H → I, J → M, J → L, I → L;
# written as a mapping of dependencies, v: [every u].
WALKED = {"H": [], "J": ["H"], "I": ["H"], "M": ["J"], "L": ["J", "I"]}

# The picture's other vertices are not in the text of the seed; it says only that they come before
# ("… H I J L M"). These stand for them.
BEFORE = {"A": ["C"], "B": ["C"], "D": ["A", "B"], "H": ["D"], "K": ["F"], "C": [], "F": ["E"]}


def told(steps):
    return [(s.kind, s.node, "".join(s.stack), "".join(s.order)) for s in steps]


def test_the_walk_of_the_slides_event_by_event():
    steps = topological_sort(WALKED, steps=True, follow="dependents")
    assert told(steps) == [
        # kind, node, call stack, topological ordering so far
        ("push", "H", "H", ""),  # pick any node, say H
        ("push", "J", "HJ", ""),
        ("push", "M", "HJM", ""),
        ("backtrack", "M", "HJM", ""),  # "arrive at the end of a path, backtrack"
        ("placed", "M", "HJ", "M"),
        ("push", "L", "HJL", "M"),
        ("backtrack", "L", "HJL", "M"),
        ("placed", "L", "HJ", "LM"),
        ("backtrack", "J", "HJ", "LM"),  # "there are no other nodes to visit"
        ("placed", "J", "H", "JLM"),
        ("push", "I", "HI", "JLM"),
        ("visited", "L", "HI", "JLM"),  # "we already visited L"
        ("backtrack", "I", "HI", "JLM"),
        ("placed", "I", "H", "IJLM"),
        ("backtrack", "H", "H", "IJLM"),
        ("placed", "H", "", "HIJLM"),
    ]


def test_the_slides_are_the_states_the_walk_passes_through():
    slides = [
        *[("H", ""), ("HJ", ""), ("HJM", ""), ("HJ", "M"), ("HJL", "M"), ("HJ", "LM")],
        *[("H", "JLM"), ("HI", "JLM"), ("H", "IJLM"), ("", "HIJLM")],
    ]
    steps = topological_sort(WALKED, steps=True, follow="dependents")
    states = [(stack, order) for _, _, stack, order in told(steps)]
    assert [state for state, _ in groupby(states)] == slides


def test_a_step_kept_for_later_still_tells_its_own_moment():
    steps = topological_sort(WALKED, steps=True, follow="dependents")
    early = next(steps)
    list(steps)
    assert (early.stack, early.order) == (("H",), ())


def test_the_process_repeats_until_every_node_is_visited():
    # H is picked first, as on the slides, although much comes before it.
    whole = {"H": ["D"], **{k: v for k, v in WALKED.items() if k != "H"}, **BEFORE}
    order = topological_sort(whole, follow="dependents")
    assert order[-5:] == ["H", "I", "J", "L", "M"]
    assert all(order.index(u) < order.index(v) for v in whole for u in whole[v])
    steps = list(topological_sort(whole, steps=True, follow="dependents"))
    picked = [s.node for s in steps if s.kind == "push" and len(s.stack) == 1]
    assert picked == ["H", "A", "B", "K", "C", "F", "E"]


def test_following_dependencies_appends_what_following_dependents_prepends():
    steps = list(topological_sort(WALKED, steps=True))
    assert [s.node for s in steps if s.kind == "placed"] == ["H", "J", "I", "M", "L"]
    assert steps[-1].order == ("H", "J", "I", "M", "L")


@pytest.mark.parametrize("method", ["dfs", "kahn"])
def test_scheduling_of_dependent_tasks(method):
    tasks = {
        "shoes": ["socks", "trousers"],
        "jacket": ["shirt", "trousers"],
        "trousers": ["underwear"],
        "socks": [],
        "leave": ["shoes", "jacket"],
    }
    order = topological_sort(tasks, method)
    assert sorted(order) == sorted({*tasks, "shirt", "underwear"})
    assert all(order.index(first) < order.index(task) for task in tasks for first in tasks[task])
    assert order[-1] == "leave"


def test_kahn_tells_which_tasks_can_start_at_once():
    tasks = {"bake": ["mix", "heat"], "mix": ["weigh"], "heat": [], "weigh": []}
    steps = topological_sort(tasks, "kahn", steps=True)
    assert [(s.kind, s.node) for s in steps] == [
        *[("ready", "heat"), ("ready", "weigh")],
        *[("placed", "heat"), ("released", "bake")],
        *[("placed", "weigh"), ("released", "mix"), ("ready", "mix")],
        *[("placed", "mix"), ("released", "bake"), ("ready", "bake")],
        ("placed", "bake"),
    ]


@pytest.mark.parametrize("method", ["dfs", "kahn"])
def test_tasks_that_wait_for_each_other_are_named(method):
    tasks = {"egg": ["chicken"], "chicken": ["egg"], "breakfast": ["egg"]}
    with pytest.raises(CycleError) as caught:
        topological_sort(tasks, method)
    assert caught.value.cycle == ["egg", "chicken", "egg"]
    assert "egg → chicken → egg" in str(caught.value)

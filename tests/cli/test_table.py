"""`chainrule table`: one pass forward and one back, of arrays as well."""

import json


def test_golden(golden):
    golden("table", "table", "x * sin(x)", "x=[1,2]", "--seed", "[1,0]")


def test_ones_are_the_seed(run):
    document = json.loads(run("table", "x * x", "x=[1,2]", "--json")[1])
    assert document["nodes"][0]["adjoint"]["data"] == [2.0, 4.0]
    assert document["nodes"][1]["adjoint"]["data"] == [1.0, 1.0]
    document = json.loads(run("table", "x * x", "x=[1,2]", "--seed", "-1", "--json")[1])
    assert document["nodes"][0]["adjoint"]["data"] == [-2.0, -4.0]


def test_refusals(run):
    for words, says in (
        (("(x, x)", "x=1"), "the function gives 2 results"),
        (("x > 1", "x=1"), "the function gives bool"),
        (("x * x", "x=[1,2]", "--seed", "[1,2,3]"), "broadcast"),
        (("x * x", "x=[1,2]", "--seed", "q"), "q is not a number"),
    ):
        status, out, err = run("table", *words)
        assert (status, out) == (2, "")
        assert says in err

"""`chainrule explain`: paths, contributions, statuses and kinks."""

import json

import pytest

WORDS = ("explain", "log(sum(exp(W @ x))) + sum(W**2)", "W=[[1,2],[3,4]]", "x=[1,-1]")


def test_golden(golden):
    golden("explain", *WORDS, "--wrt", "W")
    golden("explain-entry", *WORDS, "--wrt", "W", "--entry", "1,0", "--top", "1")
    golden("explain-kink", "explain", "maximum(x, y) * floor(z)", "x=1", "y=1", "z=2.5")


def test_json(run):
    status, out, err = run(*WORDS, "--json", "--wrt", "W,x", "--top", "1")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert list(document["explanations"]) == ["W", "x"]
    found = document["explanations"]["W"]
    assert found["path_count"] == 2
    assert len(found["paths"]) == 1
    assert found["paths"][0]["nodes"] == ["W", "e", "g", "f"]
    assert [line["line"] for line in found["lines"]] == ["column 28    W**2", "column 13    W @ x"]
    assert found["status"] == {"W": "value", "x": "value"}


def test_kinks_and_cuts_in_json(run):
    words = ("explain", "maximum(x, y) * floor(z)", "x=1", "y=1", "z=2.5", "--json")
    found = json.loads(run(*words)[1])["explanations"]
    assert found["x"]["kinks"] == [{"node": "a", "lanes": 1}]
    assert found["z"]["status"]["z"] == "structural zero"
    assert found["z"]["cuts"][0]["parent"] == "z"


def test_a_large_count_is_a_word(run):
    doubled = "(a0 := x + x)" + "".join(
        f" * 0 + (a{i} := a{i - 1} + sin(a{i - 1}))" for i in range(1, 60)
    )
    found = json.loads(run("explain", doubled, "x=1", "--json")[1])["explanations"]["x"]
    assert int(found["path_count"]) >= 2**59


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--wrt", "q"), "--wrt q: no such argument; there are W, x"),
        (("--top", "-1"), "--top -1: how many paths to list, 0 or more"),
        (("--entry", "a"), "--entry a: write whole numbers, as in 1,3"),
        (("--wrt", "W", "--entry", "9,9"), "9"),
        (("--wrt", "W", "--entry", "1,2,3,4"), "entry"),
    ],
)
def test_refusals(run, words, says):
    status, out, err = run(*WORDS, *words)
    assert (status, out) == (2, "")
    assert says in err

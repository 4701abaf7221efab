"""A rank that leaves an MPI job (`scale/leaving.py`): the others end, or all end as usual."""

import pytest

LAST = "it last used the engine at mpi_programs.py:"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("returns", ["it came to the end of its program", LAST]),
        ("returns before a question", ["it came to the end of its program", LAST]),
        ("closes", ["it closed its engine at mpi_programs.py:", "in leaves: mine.close()", LAST]),
        ("exits", ["it called sys.exit(3) at mpi_programs.py:", "in leaves: sys.exit(3)", LAST]),
        ("raises SystemExit", ["it called sys.exit('no such file') at mpi_programs.py:"]),
    ],
)
def test_a_rank_that_leaves_early_ends_the_job(ranks, how, says):
    _, done = ranks(3, "leaves", how, status=None)
    assert done.returncode != 0
    assert "ScaleError: rank 1 of 3 has left while others still compute" in done.stderr
    for part in says:
        assert part in done.stderr


def test_a_rank_that_exits_with_an_error_ends_those_that_wait_for_something_else(ranks):
    _, done = ranks(3, "exits_alone", status=None)
    assert done.returncode != 0
    assert "rank 1 of 3 called sys.exit(3) at mpi_programs.py:" in done.stderr
    assert "which ends the job" in done.stderr


@pytest.mark.parametrize(("how", "status"), [("returns", 0), ("exits with 0", 0), ("exits", 3)])
def test_where_all_ranks_end_the_job_ends_as_usual(ranks, serial, how, status):
    said, done = ranks(3, "ends", how, status=status)
    assert said == dict.fromkeys(range(3), serial["mean"])
    assert "the last word" in done.stdout
    assert "which ends the job" not in done.stderr
    assert "ScaleError" not in done.stderr


def test_ranks_that_catch_what_one_has_met_go_on_together(ranks, serial):
    said, _ = ranks(3, "told")
    assert said[1] == ["this rank alone", serial["mean"]]
    for rank in (0, 2):
        text, mean = said[rank]
        assert "rank 1 of 3 has left" in text
        assert "left its engine by RuntimeError: this rank alone at mpi_programs.py:" in text
        assert mean == serial["mean"]


def test_an_exit_in_the_middle_of_messages_ends_the_job(ranks):
    _, done = ranks(3, "interrupted_between", status=None)
    assert done.returncode != 0
    assert "rank 1 of 3 called sys.exit(0) at mpi_programs.py:" in done.stderr

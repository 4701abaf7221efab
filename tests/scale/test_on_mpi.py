"""Ranks of an MPI job: the same bits on any number, and errors that reach all of them."""

import pytest

from chainrule import scale
from chainrule.errors import ArgumentError
from tests.scale import losses
from tests.scale.conftest import needs


def test_the_same_bits_of_everything(ranks, serial):
    said, _ = ranks(3, "everything")
    assert [said[rank] for rank in range(3)] == [serial] * 3


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_same_bits_on_any_number_of_ranks(ranks, serial, count):
    said, _ = ranks(count, "one_thing")
    assert said == {rank: {"mean": serial["mean"]} for rank in range(count)}


@pytest.mark.parametrize("count", [2, 5])
def test_both_ways_of_adding_have_one_order(ranks, count):
    said, _ = ranks(count, "reduced")
    assert said == dict.fromkeys(range(count), "the same")


BAD = {
    "parameters": ["ranks were given different parameters: rank 2 others than the rest"],
    "rows": ["different rows: rank 2"],
    "fewer rows": ["different rows: rank 2"],
    "too few on one": ["rank 2 of 3", "19 rows are too few for 20 shards: pass shards=19 or fewer"],
    "too few": ["19 rows are too few for 20 shards"],
    "loader": ["shard 17 of 20, on rank 2 of 3: OSError: rows-17.npy", "losses.py", "load_but_17"],
    "columns": ["shard 5", "float64(4,)", "float64(5,)", "all shards need the same columns"],
    "raises": ["shard 170 of 203, rows 170 to 170, on rank 2", "KeyError: 'no such row'", "losses"],
    "interrupted": ["KeyboardInterrupt: on one rank, and told to all"],
    "aux": ["must be as large for any rows"],
    "map": ["rank 1 of 3: ValueError: three", "losses.py"],
    "shards": ["different functions or shards: rank 2"],
    "other calls": ["different functions or shards"],
}


def test_bad_input_is_the_same_error_on_every_rank(ranks, serial):
    said, _ = ranks(3, "bad_input")
    assert sorted(said) == [0, 1, 2]
    for rank, found in said.items():
        assert found.pop("after") == serial["mean"], rank
        assert sorted(found) == sorted(BAD)
        for kind, parts in BAD.items():
            assert found[kind] == said[0][kind], (rank, kind)
            for part in parts:
                assert part in found[kind], (rank, kind, found[kind])


def test_an_error_on_one_rank_ends_the_job(ranks):
    _, done = ranks(3, "raises_alone", status=None)
    assert done.returncode != 0
    assert "rank 1 of 3 has failed, which ends the job" in done.stderr
    assert "RuntimeError: this rank alone" in done.stderr


def test_report_has_every_rank(ranks):
    said, _ = ranks(3, "report")
    assert said[0]["shards"] == [8, 8, 10]
    assert "mpi: 2 passes" in said[0]["text"]
    assert "rank 2" in said[1]["text"]


def test_one_rank_without_mpiexec(serial):
    needs("mpi4py")
    with scale.mpi() as engine:
        assert (engine.workers, engine.first, engine.together) == (1, True, False)
        assert losses.mean(engine) == serial["mean"]
    with pytest.raises(ArgumentError, match="communicator"):
        scale.mpi("all of them")

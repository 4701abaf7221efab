"""Where rows come from: arrays, files of which only rows are read, dask arrays, loaders."""

import contextlib
from functools import partial

import numpy as np
import pytest

from chainrule import scale
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.scale.shards import Coming, Cut, InBlocks, InMemory, Loaded, OnFile, source_of
from tests.learn.test_numeric import NOT_NUMBERS
from tests.scale import losses
from tests.scale.conftest import needs
from tests.scale.losses import PARAMS, X, Y, loss


def test_rows_are_cut_into_shards_that_differ_by_one():
    source = source_of((X, Y), 13)
    sizes = [len(source.load(i)[0]) for i in range(13)]
    assert sum(sizes) == len(X)
    assert max(sizes) - min(sizes) <= 1
    assert np.array_equal(np.concatenate([source.load(i)[0] for i in range(13)]), X)
    assert source.described(12) == f"shard 12 of 13, rows {len(X) - sizes[-1]} to {len(X) - 1}"


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (63, 63), (64, 64), (1000, 64)])
def test_how_many_shards_there_are_follows_from_the_rows_alone(rows, count):
    assert source_of((np.zeros((rows, 2)),), None).count == count


@pytest.fixture
def on_file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def test_a_mapped_file_is_read_row_by_row(on_file):
    source = source_of((on_file,), 13)
    (column,) = source.columns
    assert isinstance(column, OnFile)
    assert column.part(0, 3) is column
    assert np.array_equal(np.concatenate([source.load(i)[0] for i in range(13)]), X)
    assert not isinstance(source.load(0)[0].base, np.memmap)


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        (lambda x: x[10:90], OnFile),
        (lambda x: np.asarray(x)[10:], OnFile),
        (lambda x: x[10:].reshape(-1, 5, 1), OnFile),
        (lambda x: x[::2], InMemory),
        (lambda x: x[:, 1:], InMemory),
        (lambda x: x.T, InMemory),
        (lambda x: x * 1.0, InMemory),
        (lambda x: x.view("i8")[3:], OnFile),
    ],
)
def test_views_of_a_mapped_file(on_file, view, kind):
    array = view(on_file)
    (column,) = source_of((array,), 1).columns
    assert isinstance(column, kind)
    assert np.array_equal(column.rows(1, 4), array[1:4])


def test_what_was_written_into_a_mapped_file_counts(tmp_path):
    np.save(tmp_path / "x.npy", X)
    for mode in ("r+", "c"):
        mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)
        mapped[0] = 7.0
        assert np.array_equal(source_of((mapped,), 13).load(0)[0], mapped[:15])


def test_a_file_that_has_become_shorter_is_an_error(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.save(tmp_path / "x.npy", X[:50])
    with pytest.raises(scale.ScaleError, match="shorter than it was"):
        scale.value_and_grad(loss, compile=False)(PARAMS, mapped, Y)


def test_the_bits_of_a_mapped_file_are_those_of_its_array(on_file):
    vg = scale.value_and_grad(loss, shards=13, compile=False)
    assert losses.bits(vg(PARAMS, on_file, Y)) == losses.bits(vg(PARAMS, X, Y))


def unaligned(array):
    """The same numbers where no float64 begins at a multiple of 8, as in some messages."""
    data = bytearray(array.nbytes + 1)
    found = np.frombuffer(data, array.dtype, array.size, offset=1).reshape(array.shape)
    found[...] = array
    return found


@pytest.mark.parametrize("laid_out", [np.asfortranarray, unaligned, lambda x: x[::-1][::-1]])
def test_how_rows_lie_in_memory_changes_no_bit(laid_out, serial):
    x = laid_out(X)
    assert np.array_equal(x, X)
    with scale.serial() as engine:
        vg = scale.value_and_grad(loss, engine=engine, shards=13, compile=False)
        assert losses.bits(vg(PARAMS, x, Y)) == serial["mean, interpreted"]
        (rows, _) = source_of((x, Y), 13).load(3)
    assert rows.flags.c_contiguous
    assert rows.flags.aligned


def test_a_part_holds_only_its_rows():
    source = source_of((X, Y), 13).part(4, 8)
    low, high = source.bounds(4)[0], source.bounds(7)[1]
    assert source.columns[0].array.shape == (high - low, 5)
    assert np.array_equal(source.load(5)[0], source_of((X, Y), 13).load(5)[0])


def test_dask_arrays_by_blocks():
    array = needs("dask.array").from_array(X, chunks=(50, 2))
    source = source_of((array, Y), 13)
    assert isinstance(source.columns[0], InBlocks)
    vg = scale.value_and_grad(loss, shards=13, compile=False)
    assert losses.bits(vg(PARAMS, array, Y)) == losses.bits(vg(PARAMS, X, Y))
    part = source.part(2, 4)
    assert np.array_equal(part.load(3)[0], source_of((X,), 13).load(3)[0])
    assert len(part.columns[0].array.dask) < len(array.dask)
    with pytest.raises(ShapeError, match=r"compute_chunk_sizes\(\)"):
        source_of((array[array[:, 0] > 0],), None)


def test_a_loader_is_called_for_its_shards_once():
    called = []

    def load(shard):
        called.append(shard)
        return losses.load(shard)

    vg = scale.value_and_grad(loss, compile=False)
    found = vg(PARAMS, scale.Shards(load, 7))
    assert called == [*range(7)]
    assert losses.bits(found) == losses.bits(vg(PARAMS, scale.Shards(losses.load, 7)))
    assert isinstance(source_of((scale.Shards(load, 7),), 7), Loaded)


def test_a_loader_may_give_one_array():
    found = scale.value_and_grad(lambda p, x: np.sum(p * x), how="sum")(
        1.0, scale.Shards(lambda i: X[i : i + 1, 0], 4)
    )
    np.testing.assert_allclose(found[1], X[:4, 0].sum(), rtol=1e-15)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: source_of((), None), ArgumentError, "there are no rows"),
        (lambda: source_of((X, Y[1:]), None), ShapeError, "equally many rows, got 203, 202"),
        (lambda: source_of((X[:5],), 6), ArgumentError, "pass shards=5 or fewer"),
        (lambda: source_of((X[:0],), None), ArgumentError, "0 rows are too few"),
        (lambda: source_of((X, 3.0), None), ShapeError, "functools.partial"),
        (lambda: source_of((np.array([{}]),), None), DTypeError, "Python objects"),
        (lambda: source_of((scale.Shards(len, 3),), 4), ArgumentError, "leave out shards="),
        (lambda: source_of((X, scale.Shards(len, 3)), 4), ArgumentError, "a tuple of them"),
        (lambda: scale.Shards(3, 3), ArgumentError, "Shards"),
        (lambda: scale.Shards(len, 0), ArgumentError, "whole number"),
    ],
)
def test_bad_rows(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


@pytest.mark.parametrize(
    ("load", "count", "says"),
    [
        (losses.load_but_17, 20, r"shard 17 of 20.*OSError: rows-17.npy(.|\n)*in load_but_17"),
        (losses.load_other_columns, 8, r"shard 5 of 8.*its arrays have rows of float64\(4,\)"),
        (losses.load_empty, 4, "shard 2 of 4.*it has no rows"),
        (losses.load_ragged, 2, "shard 0 of 2.*equally many rows, got 3, 4"),
        (lambda i: 3.0, 2, "arrays with rows"),
    ],
)
def test_a_loader_that_fails_is_named_with_its_shard(load, count, says):
    vg = scale.value_and_grad(loss, compile=False)
    with pytest.raises(scale.ScaleError, match=says):
        vg(PARAMS, scale.Shards(load, count))


@pytest.mark.parametrize("engine", ["serial", "processes", "client"])
@pytest.mark.parametrize("what", NOT_NUMBERS)
def test_rows_whose_meaning_would_be_lost_are_refused_on_every_engine(what, engine, request):
    rows, says = NOT_NUMBERS[what]
    found = request.getfixturevalue(engine)
    found = {"serial": None, "client": found, "processes": found}[engine]
    with contextlib.ExitStack() as stack:
        if engine == "client":
            found = stack.enter_context(scale.dask(found))
        vg = scale.value_and_grad(losses.wide, engine=found, shards=2, compile=False)
        with pytest.raises(DTypeError, match=f"array 0 .*{says}"):
            vg(PARAMS["W"], rows, Y)
        with pytest.raises(DTypeError, match=f"array 1 .*{says}"):
            vg(PARAMS["W"], X, rows)
        loader = scale.Shards(partial(losses.held, (X, rows)), 2)
        with pytest.raises(scale.ScaleError, match=rf"DTypeError: array 1 of load\(0\).*{says}"):
            vg(PARAMS["W"], loader)


def test_masked_dask_arrays_are_refused_wherever_they_come_from():
    da = needs("dask.array")
    array = da.from_array(X, chunks=(50, 5))
    masked = da.ma.masked_greater(array, 1.0)
    with pytest.raises(DTypeError, match=r"array 0 is a masked array.*da\.ma\.getmaskarray"):
        source_of((masked,), 2)
    with pytest.raises(DTypeError, match=r"array 0 of load\(0\) is a masked array"):
        source_of((scale.Shards(lambda i: masked, 2),), None).load(0)
    with pytest.raises(DTypeError, match="array 0 holds Python objects"):
        source_of((array.astype(object),), 2)
    hidden = array.map_blocks(np.ma.masked_array, meta=np.empty((0, 0)))
    with pytest.raises(DTypeError, match="masked array"):
        source_of((hidden,), 2).load(0)
    coming = Cut((Coming(4, 0),), 1)
    with pytest.raises(DTypeError, match="array 0 is a masked array"):
        coming.filled([np.ma.masked_array(X[:4])])


def test_tables_of_numbers_are_arrays():
    pandas = needs("pandas")
    table = pandas.DataFrame(X, columns=list("abcde"))
    vg = scale.value_and_grad(losses.wide, shards=13, compile=False)
    expected = losses.bits(vg(PARAMS["W"], X, Y))
    assert losses.bits(vg(PARAMS["W"], table, pandas.Series(Y))) == expected
    with pytest.raises(DTypeError, match=r"array 0 holds Python objects.*x\.to_numpy\(float\)"):
        vg(PARAMS["W"], table.assign(a="x"), Y)
    with pytest.raises(DTypeError, match=r"array 0 is a Frame of dask.*to_dask_array"):
        vg(PARAMS["W"], type("Frame", (), {"__module__": "dask.dataframe"})(), Y)


def test_sources_are_cut():
    assert isinstance(source_of((X,), 3), Cut)

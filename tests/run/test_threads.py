"""Several threads: the same bits on any number of them, and no surprise beside other threads."""

import multiprocessing
import subprocess
import sys
import textwrap
from threading import Thread

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower import build
from chainrule.lower.plan import split, stream
from chainrule.lower.target import Target, host
from chainrule.run.threads import threads
from tests.agree.test_random_programs import blocks, named
from tests.run.test_random_programs import assert_compiles

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def as_before():
    before = threads()
    yield
    cr.set_threads(before)


def elementwise(x, y):
    return np.sum(np.sin(x) * np.exp(-y * y))


def network(x, y):
    h = np.tanh(x @ y.T[:, :300])
    return np.mean(cr.logsumexp(h @ h.T[:, :200], axis=1))


def extremes(x, y):
    return np.max(x * y, axis=0).sum() + np.min(x + y) + np.prod(1 + 1e-7 * x) + (x > y).any()


def columns(x, y):
    return np.sum(np.sum(x, axis=0) ** 2 * np.sum(y, axis=0)) + np.sum(np.cumsum(x, axis=0)[-1])


@pytest.mark.parametrize("f", [elementwise, network, extremes, columns])
@pytest.mark.parametrize("rows", [1000, 1037])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_bits_on_any_number_of_threads(f, rows, dtype):
    x, y = np.random.default_rng(0).normal(size=(2, rows, 700)).astype(dtype)
    gradient = cr.value_and_grad(f, (0, 1))
    fast = cr.compile(gradient)
    found = set()
    for count in (1, 2, 3, 7, 2):
        cr.set_threads(count)
        value, (gx, gy) = fast(x, y)
        found.add((value.tobytes(), gx.tobytes(), gy.tobytes()))
    (variant,) = next(iter(fast.variants.values()))
    regions = variant.run.module.plan.regions
    assert max(r.chunks for r in regions) > 1, "nothing was cut, so this tests nothing"
    assert len(found) == 1
    value, (gx, gy) = gradient(x, y)
    tolerance = 1e-12 if dtype is np.float64 else 2e-4
    for a, b in zip(fast(x, y)[1], (gx, gy), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


@pytest.mark.parametrize("block", blocks(0, 40), ids=named)
def test_random_programs_in_the_smallest_chunks(block, monkeypatch):
    monkeypatch.setattr(build, "host", lambda: Target(host().registers, chunk_seconds=1e-30))
    monkeypatch.setattr(split, "MAX_SUMMING_SHARE", 1e30)
    monkeypatch.setattr(split, "CHUNK_ROW_MULTIPLE", 1)
    monkeypatch.setattr(stream, "MIN_TILE_ROWS", 1)
    cr.set_threads(3)
    assert_compiles(block)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", None])
def test_a_count_that_is_none_is_refused(count):
    with pytest.raises(cr.ArgumentError, match="1 or more"):
        cr.set_threads(count)


def test_calls_from_several_threads_of_python():
    x = np.random.default_rng(0).normal(size=(500, 700))
    fast = cr.compile(cr.value_and_grad(lambda x, k: np.sum(np.sin(k * x))))
    expected = {k: fast(x, float(k))[1].tobytes() for k in range(1, 5)}
    wrong = []

    def call(k):
        for _ in range(50):
            if fast(x, float(k))[1].tobytes() != expected[k]:
                wrong.append(k)

    cr.set_threads(2)
    callers = [Thread(target=call, args=(k,)) for k in expected]
    for caller in callers:
        caller.start()
    for count in (1, 3, 2, 1, 2):  # while they run
        cr.set_threads(count)
    for caller in callers:
        caller.join()
    assert not wrong


def test_threads_of_blas_are_as_before():
    from chainrule.run.blas import _thread_count

    found = _thread_count()
    if found is None:
        pytest.skip("this BLAS has no count of threads")
    import ctypes

    get = ctypes.CFUNCTYPE(ctypes.c_int)(found[0])
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(found[1])
    before = get()
    try:
        put(2)
        fast = cr.compile(lambda a, b: a @ b)
        fast(np.ones((600, 600)), np.ones((600, 600)))
        assert get() == 2
    finally:
        put(before)


def _in_a_child(queue, x):
    fast = cr.compile(elementwise)
    queue.put(float(fast(x, x)))


@pytest.mark.skipif(not hasattr(multiprocessing, "get_context"), reason="no processes")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_goes_on():
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    x = np.random.default_rng(0).normal(size=(500, 700))
    cr.set_threads(3)
    here = float(cr.compile(elementwise)(x, x))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_child, args=(queue, x))
    child.start()
    assert queue.get(timeout=60) == here
    child.join(60)
    assert child.exitcode == 0


def test_a_process_ends_while_threads_wait():
    program = """
        import numpy as np, chainrule as cr
        cr.set_threads(4)
        x = np.ones((1000, 1000))
        print(float(cr.compile(lambda x: np.sum(np.sin(x)))(x)))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) == pytest.approx(1e6 * np.sin(1))

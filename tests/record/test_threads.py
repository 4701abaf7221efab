"""Recording in several threads and tasks at once: each sees its own state and nothing else's."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import chainrule as cr
import chainrule.numpy as cnp
from chainrule.record.state import PLAIN, current, recording

WORKERS = 6


def together(*works):
    """Run each work in a thread of its own, all started at one barrier; their results in order."""
    barrier = threading.Barrier(len(works))

    def started(work):
        barrier.wait(timeout=20)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [f.result(timeout=60) for f in [pool.submit(started, w) for w in works]]


def program(x, k):
    y = cnp.zeros(4)
    for i in range(4):
        y[i] = np.sin(x[i] * k)
    return np.sum(np.where(y > 0, y**2, y) @ np.ones((4, 2)))


x0 = np.linspace(-1.0, 2.0, 4)


def test_gradients_in_many_threads():
    expected = [cr.grad(program)(x0, k) for k in range(WORKERS)]
    works = [lambda k=k: [cr.grad(program)(x0, k) for _ in range(10)] for k in range(WORKERS)]
    for k, found in enumerate(together(*works)):
        for gradient in found:
            np.testing.assert_array_equal(gradient, expected[k])


def test_traces_in_many_threads_do_not_mix():
    works = [lambda k=k: cr.trace(lambda x: program(x, k), x0) for k in range(WORKERS)]
    graphs = together(*works)
    for k, graph in enumerate(graphs):
        assert graph.verify()
        assert len(graph) == len(graphs[0])
        assert graph.forward(x0).outputs == program(x0, k)
        assert not set(graph.nodes) & set(graphs[k - 1].nodes)


def test_one_thread_traces_while_another_records():
    """A trace keeps every argument; the other thread's nodes must not notice."""
    inside, done = threading.Event(), threading.Event()

    def traced():
        def f(x):
            inside.set()
            assert done.wait(timeout=20)
            return x * 2.0

        return cr.trace(f, 1.0)

    def plain():
        assert inside.wait(timeout=20)
        try:
            x = cr.variable(3.0)
            y = x * x + np.sin(x)
            return y.node.args, float(y), type(cnp.zeros(2))
        finally:
            done.set()

    graph, (args, _, zeros) = together(traced, plain)
    assert len(graph) == 2
    assert args is None
    assert zeros is np.ndarray


def test_a_new_thread_starts_plain_even_inside_a_transform():
    """Python gives a thread a context of its own; what it is handed is still recorded."""
    seen = []

    def f(x):
        def work():
            seen.append(current.get())
            seen.append(np.sin(x) * 2.0)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return seen.pop()

    assert cr.grad(f)(0.5) == pytest.approx(2 * np.cos(0.5))
    assert seen[0] is PLAIN


def test_a_copied_context_goes_with_the_work():
    def f(x):
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(context.run, float, x).result()
        return x

    with pytest.raises(cr.DetachError):
        cr.grad(f)(0.5)


def test_one_variable_shared_by_many_threads():
    x = cr.variable(np.arange(4.0))

    def work(k):
        return lambda: cr.grad(lambda t: np.sum(t * x.value) * k)(x0)

    for k, found in enumerate(together(*(work(k) for k in range(WORKERS)))):
        np.testing.assert_array_equal(found, k * np.arange(4.0))


def test_ops_met_first_by_many_threads_at_once():
    """Rules are built on first use; whoever comes second finds the same derivative."""
    names = ["arcsinh", "arccosh", "log1p", "expm1", "cbrt"]
    for name in names:
        cr.OPS[name].rules.clear()

    def work():
        return [float(cr.grad(getattr(np, name))(1.5)) for name in names]

    found = together(*[work] * WORKERS)
    assert all(f == found[0] for f in found)
    assert found[0][2] == 1 / 2.5


# ---- tasks --------------------------------------------------------------------------------------


async def waits(x):
    """A function differentiated step by step, with other tasks in between."""
    y = x * 2.0
    await asyncio.sleep(0)
    state = current.get().inside
    z = np.sin(y)
    await asyncio.sleep(0)
    return z, state


def test_tasks_do_not_see_each_other_s_state():
    async def inside():
        with recording(inside=True):
            result = await waits(cr.variable(0.5))
            with pytest.raises(cr.DetachError):
                float(result[0])
            return result

    async def outside():
        return await waits(cr.variable(1.5))

    async def main():
        return await asyncio.gather(inside(), outside(), inside(), outside())

    results = asyncio.run(main())
    assert [state for _, state in results] == [True, False, True, False]
    for y, _ in results[1::2]:
        assert float(y) == np.sin(3.0)
    assert current.get() is PLAIN


def test_gradients_in_tasks_and_in_threads_of_tasks():
    async def one(k):
        await asyncio.sleep(0)
        here = cr.grad(program)(x0, k)
        there = await asyncio.to_thread(cr.grad(program), x0, k)
        return here, there

    async def main():
        return await asyncio.gather(*(one(k) for k in range(WORKERS)))

    for k, (here, there) in enumerate(asyncio.run(main())):
        np.testing.assert_array_equal(here, there)
        np.testing.assert_array_equal(here, cr.grad(program)(x0, k))


def test_a_generator_left_in_the_middle_leaves_nothing_behind():
    def f(x):
        def steps():
            for k in range(3):
                yield x * k

        return next(steps()) + x

    assert cr.grad(f)(2.0) == 1.0
    with pytest.raises(ZeroDivisionError), recording(inside=True, line=("code", 0)):
        raise ZeroDivisionError
    assert current.get() is PLAIN

"""Programs that draw random numbers, print, count, append and log."""

import io
import logging
import random
import sys
import warnings

import numpy as np

from tests.run.programs.corpus import function, stateful

VECTORS = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [2.0, -2.0, 1.0], [1.0, 2.0, 3.0]]


@function(*VECTORS)
def rng_inside_seeded(x):
    return x * np.random.default_rng(3).normal(size=3)


@function((5, [1.0, 2.0]), (6, [1.0, 2.0]), (5, [3.0, 2.0]))
def rng_inside_seed_argument(seed, x):
    return x * np.random.default_rng(int(seed)).normal(size=2)


@function(*VECTORS)
def rng_inside_branch(x):
    rng = np.random.default_rng(0)
    return x * rng.uniform() if x[0] > 0 else x + rng.normal(size=3)


@function(*VECTORS)
def python_random_seeded(x):
    return x * random.Random(4).random()


@stateful(*VECTORS)
def rng_outside():
    rng = np.random.default_rng(1)
    return (lambda x: x + rng.normal(size=3)), None


@stateful(*VECTORS)
def rng_outside_number():
    rng = np.random.default_rng(1)
    return (lambda x: x * 2 if rng.uniform() < 0.5 else x * 3), None


@stateful(*VECTORS)
def rng_outside_dropout():
    rng = np.random.default_rng(1)

    def f(x):
        keep = rng.random(3) < 0.7
        return np.where(keep, x / 0.7, 0.0)

    return f, None


@stateful(*VECTORS)
def rng_outside_permutation():
    rng = np.random.default_rng(1)
    return (lambda x: x[rng.permutation(3)] * np.arange(3)), None


@stateful(*VECTORS)
def rng_outside_choice():
    rng = np.random.default_rng(1)
    return (lambda x: x[rng.choice(3, 2, replace=False)].sum()), None


@stateful(*VECTORS)
def rng_out_buffer():
    rng, buffer = np.random.default_rng(1), np.empty(3)

    def f(x):
        rng.standard_normal(out=buffer)
        return x + buffer

    return f, None


@stateful(*VECTORS)
def rng_reseeded_between():
    state = {"rng": np.random.default_rng(1)}

    def change(k):
        state["rng"] = np.random.default_rng(k)

    return (lambda x: x * state["rng"].normal()), change


@stateful(*VECTORS)
def random_state_outside():
    rng = np.random.RandomState(1)
    return (lambda x: x + rng.randn(3)), None


@stateful(*VECTORS)
def python_random_outside():
    rng = random.Random(1)
    return (lambda x: x * rng.random()), None


@stateful(*VECTORS)
def printed_value():
    def f(x):
        print("sum", len(x))
        return x.sum()

    return f, None


@stateful(*VECTORS)
def printed_on_branch():
    def f(x):
        if x[0] < 0:
            print("negative")
        return x * 2

    return f, None


@stateful(*VECTORS)
def counter_attribute():
    class Model:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return x.sum() * self.calls

    model = Model()
    return model, None, lambda: model.calls


@stateful(*VECTORS)
def counter_not_read():
    class Model:
        calls = 0

        def loss(self, x):
            self.calls += 1
            return x.sum()

    model = Model()
    return model.loss, None, lambda: model.calls


@stateful(*VECTORS)
def counter_nonlocal():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    return f, None, lambda: n


@stateful(*VECTORS)
def counter_in_dict():
    stats = {"n": 0}

    def f(x):
        stats["n"] += 1
        return x * 2

    return f, None, lambda: dict(stats)


@stateful(*VECTORS)
def counter_on_branch():
    stats = {"negative": 0}

    def f(x):
        if x[0] < 0:
            stats["negative"] += 1
        return x * 2

    return f, None, lambda: dict(stats)


@stateful(*VECTORS)
def appended_length():
    log = []

    def f(x):
        log.append("called")
        return x.sum() + len(log)

    return f, None, lambda: list(log)


@stateful(*VECTORS)
def appended_shape():
    log = []

    def f(x):
        log.append(x.shape)
        return x.sum()

    return f, None, lambda: list(log)


@stateful(*VECTORS)
def function_attribute():
    def f(x):
        f.calls = getattr(f, "calls", 0) + 1
        return x * f.calls

    return f, None, lambda: getattr(f, "calls", 0)


@stateful(*VECTORS)
def iterator_outside():
    scales = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    return (lambda x: x * next(scales)), None


@stateful(*VECTORS)
def queue_outside():
    scales = [5.0, 4.0, 3.0, 2.0, 1.0]
    return (lambda x: x * scales.pop()), None, lambda: list(scales)


@stateful(*VECTORS)
def generator_outside():
    def numbers():
        k = 1.0
        while True:
            yield k
            k += 1.0

    source = numbers()
    return (lambda x: x * next(source)), None


@stateful(*VECTORS)
def logged():
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    log = logging.Logger("corpus")
    log.addHandler(handler)

    def f(x):
        log.warning("called with %d", len(x))
        return x.sum()

    return f, None, lambda: list(records)


@stateful(*VECTORS)
def written_to_stream():
    stream = io.StringIO()

    def f(x):
        stream.write("x")
        return x * len(stream.getvalue())

    return f, None, stream.getvalue


@stateful(*VECTORS)
def written_to_stdout():
    def f(x):
        sys.stdout.write("line\n")
        return x * 2

    return f, None


@stateful(*VECTORS)
def warned():
    def f(x):
        if x[0] < 0:
            warnings.warn("negative", stacklevel=2)
        return x * 2

    return f, None


@stateful(*VECTORS)
def memoised_outside():
    cache = {}

    def f(x):
        key = len(x)
        if key not in cache:
            cache[key] = float(key) * 2
        return x * cache[key]

    return f, None, lambda: dict(cache)


@stateful(*VECTORS)
def best_kept():
    best = {"loss": np.inf}

    def f(x):
        loss = float(np.sum(x**2))
        best["loss"] = min(best["loss"], loss)
        return np.sum(x**2) - best["loss"]

    return f, None, lambda: dict(best)


@stateful(*VECTORS)
def running_mean():
    class Norm:
        mean = 0.0

        def __call__(self, x):
            self.mean = 0.9 * self.mean + 0.1 * float(x.mean())
            return x - self.mean

    norm = Norm()
    return norm, None, lambda: norm.mean


@stateful(*VECTORS)
def stepped_learning_rate():
    class Step:
        rate = 0.1

        def __call__(self, x):
            x = x - self.rate * 2 * x
            self.rate *= 0.5
            return x

    step = Step()
    return step, None, lambda: step.rate


@stateful(*VECTORS)
def set_grown():
    seen = set()

    def f(x):
        seen.add(bool(x[0] > 0))
        return x * len(seen)

    return f, None, lambda: sorted(seen)

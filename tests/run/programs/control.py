"""Programs with branches, loops, closures, generators and classes."""

import functools
import itertools
import operator
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass

import numpy as np

from tests.run.programs.corpus import function, functions

NUMBERS = [1.5, -2.0, 0.25, 30.0]
VECTORS = [[1.0, 2.0, -1.0], [-1.0, 3.0, -2.0], [-3.0, -2.0, -1.0], [1.0, 2.0, 3.0]]
Pair = namedtuple("Pair", "first second")


functions(
    NUMBERS,
    ternary=lambda t: t**2 if t > 0 else -t,
    ternary_nested=lambda t: t if t < 0 else (t**2 if t < 1 else np.sqrt(t)),
    boolean_or=lambda t: (t > 1 and t * 2) or t * 3,
    boolean_and=lambda t: t * (1 + (t > 0 and t < 10)),
    comparison_times=lambda t: t * (t > 0) + (t <= 0) * 0.1 * t,
    chosen_function=lambda t: (np.sin if t > 0 else np.cos)(t),
    chosen_from_list=lambda t: [np.sin, np.cos][int(t > 1)](t),
    chosen_from_dict=lambda t: {True: np.exp, False: np.square}[bool(t < 0)](t),
    walrus=lambda t: y if (y := t * 2) > 1 else y**2,
    recursion=lambda t: _halved(t),
    partial_applied=lambda t: functools.partial(_scaled, by=3.0 if t > 0 else 5.0)(t),
    lambda_made_inside=lambda t: (lambda s: s * t)(2.0 if t > 1 else 4.0),
    power_by_value=lambda t: t ** (2 if t > 0 else 3),
    clipped=lambda t: np.clip(t, -1.0, 2.0) * 3,
    max_of_two=lambda t: np.maximum(t, 2.0) - np.minimum(t, 1.0),
    sorted_of_three=lambda t: sorted([t, 1.0, 2 * t])[1] * 2,
    min_by_key=lambda t: min([t, 1.0, -3.0], key=abs) * 2,
    all_generator=lambda t: t if all(t > b for b in (-5, 0, 1)) else t * 2,
    any_generator=lambda t: t if any(t > b for b in (5, 20)) else t * 2,
    sum_filtered=lambda t: sum(b * t for b in (1, 2, 3) if b < t) + t,
)


def _halved(t):
    return t if t <= 1 else _halved(t / 2) + 1


def _scaled(t, by=2.0):
    return t * by


@function(*NUMBERS)
def if_elif_else(t):
    if t < 0:
        return -t
    elif t < 1:
        return t**2
    elif t < 10:
        return np.log(t)
    return np.sqrt(t)


@function(*NUMBERS)
def match_statement(t):
    match int(t > 0) + int(t > 10):
        case 0:
            return -t
        case 1:
            return t**2
        case n if n > 1:
            return np.sqrt(t) * n


@function(*NUMBERS)
def match_tuple(t):
    match (bool(t > 0), bool(abs(t) < 1)):
        case (True, True):
            return t * 10
        case (True, _):
            return t * 20
        case _:
            return t * 30


@function(*NUMBERS)
def while_break(t):
    n = 0
    while True:
        t = t / 2
        n += 1
        if abs(t) < 1:
            break
    return t * n


@function(*NUMBERS)
def for_continue(t):
    total = 0.0
    for k in range(5):
        if k * 0.6 > t:
            continue
        total = total + k * t
    return total + t


@function(*NUMBERS)
def early_return_in_loop(t):
    for k in range(10):
        if k > t:
            return t * k
    return t


@function(*NUMBERS)
def nested_loops(t):
    total = 0.0
    for i in range(3):
        for j in range(3):
            if i * j > abs(t):
                break
            total = total + t * i + j
    return total


@function(*VECTORS)
def loop_over_values(x):
    total = 0.0
    for v in x:
        total = total + (v**2 if v > 0 else -v)
    return total


@function(*VECTORS)
def loop_with_state(x):
    high = x[0]
    drawdown = 0.0
    for v in x:
        if v > high:
            high = v
        drawdown = max(drawdown, high - v)
    return drawdown + 0 * x[0]


@function(*VECTORS)
def comprehension_filtered(x):
    return sum([v * i for i, v in enumerate(x) if v > 0], 0.0) + x[0]


@function(*VECTORS)
def comprehension_length(x):
    return x * len([v for v in x if v > 0])


@function(*VECTORS)
def generator_function(x):
    def positive():
        for v in x:
            if v > 0:
                yield v * 2

    return sum(positive(), x[0] * 0)


@function(*VECTORS)
def generator_with_index(x):
    def chosen():
        yield from (i for i in range(3) if x[i] < 2)

    return sum((x[i] * (i + 1) for i in chosen()), 0.0)


@function(*VECTORS)
def takewhile(x):
    return sum(itertools.takewhile(lambda v: v > -1.5, x), 0.0)


@function(*VECTORS)
def dropwhile(x):
    return list(itertools.dropwhile(lambda v: v < 0, x))


@function(*VECTORS)
def grouped(x):
    return [sum(g) for _, g in itertools.groupby(x, key=lambda v: bool(v > 0))]


@function(*VECTORS)
def accumulated(x):
    return list(itertools.accumulate(x, lambda a, b: a * b if b > 0 else a + b))


@function(*VECTORS)
def products_of_pairs(x):
    return sum(a * b for a, b in itertools.combinations(x, 2) if a < b) + x[0]


@function(*VECTORS)
def reduced(x):
    return functools.reduce(lambda a, b: a if a > b else b * 2, x)


@function(*VECTORS)
def filtered(x):
    return sum(filter(lambda v: v > 0, x), 0.0)


@function(*VECTORS)
def mapped(x):
    return sum(map(operator.mul, x, [1.0, 2.0, 3.0]))


@function(*VECTORS)
def counted(x):
    counts = Counter("pos" if v > 0 else "neg" for v in x)
    return x * counts["pos"]


@function(*VECTORS)
def default_dict(x):
    groups = defaultdict(list)
    for v in x:
        groups[int(v > 0)].append(v)
    return {str(k): sum(v) for k, v in groups.items()}


@function(*VECTORS)
def queue(x):
    waiting, total = deque(x), 0.0
    while waiting:
        v = waiting.popleft()
        if v > 1.5:
            waiting.append(v / 2)
        else:
            total = total + v
    return total


@function(*VECTORS)
def stack_machine(x):
    stack = []
    for v in x:
        if v < 0 and stack:
            stack.append(stack.pop() * v)
        else:
            stack.append(v)
    return sum(stack)


@function(*VECTORS)
def closure_counter(x):
    n = 0

    def count(v):
        nonlocal n
        n += v > 0
        return v * 2

    total = sum(count(v) for v in x)
    return total * n


@function(*VECTORS)
def closures_in_list(x):
    fs = [(lambda v, k=k: v * k) for k in range(3) if x[k] > 0]
    return sum((f(x.sum()) for f in fs), 0.0)


@function(*VECTORS)
def decorated_inside(x):
    def twice(f):
        @functools.wraps(f)
        def g(v):
            return f(f(v)) if v.sum() > 0 else f(v)

        return g

    @twice
    def step(v):
        return v * 1.5

    return step(x)


@function(*VECTORS)
def cached_inside(x):
    @functools.lru_cache
    def weight(k):
        return 2.0 * k if x[k] > 0 else 1.0

    return sum(x[k] * weight(k) + weight(k) for k in range(3))


@function(*VECTORS)
def named_tuple(x):
    p = Pair(x[0], x[1:]) if x[0] > 0 else Pair(x[2], x[:2])
    return p.first * p.second.sum()


@function(*VECTORS)
def named_tuple_returned(x):
    return Pair(x.sum(), x * 2)


@dataclass
class Box:
    low: object
    high: object

    def width(self):
        return self.high - self.low if self.high > self.low else self.low * 0


@function(*VECTORS)
def data_class(x):
    return Box(x[0], x[1]).width() * 2 + x[2]


class Accumulator:
    def __init__(self):
        self.total, self.hits = 0.0, 0

    def add(self, v):
        self.total = self.total + v
        if v > 0:
            self.hits += 1

    @property
    def mean(self):
        return self.total / self.hits if self.hits else self.total


@function(*VECTORS)
def class_with_state(x):
    a = Accumulator()
    for v in x:
        a.add(v)
    return a.mean


@function(*VECTORS)
def context_manager(x):
    class Scaled:
        def __enter__(self):
            return 2.0 if x[0] > 0 else 3.0

        def __exit__(self, *_):
            return False

    with Scaled() as k:
        return x * k


@function(*VECTORS)
def while_with_list(x):
    rest = list(x)
    total = 0.0
    while rest and rest[-1] > -1.5:
        total = total + rest.pop()
    return total + 0 * x[0]


@function((1.0, [1.0, 2.0]), (-1.0, [3.0, 4.0]), (2.5, [1.0, -1.0]))
def horner(t, c):
    total = 0.0 * t
    for a in c[::-1] if t > 0 else c:
        total = total * t + a
    return total


@function((3.0, 2), (2.0, 5), (3.0, 2), (1.0, 0))
def loop_count_argument(t, n):
    total = t * 0
    for k in range(n):
        total = total + t**k
    return total


@function((3.0, True), (3.0, False), (1.0, True))
def flag_argument(t, flag):
    return t**2 if flag else -t


@function((3.0, "sin"), (3.0, "cos"), (1.0, "sin"))
def string_argument(t, name):
    return getattr(np, name)(t)

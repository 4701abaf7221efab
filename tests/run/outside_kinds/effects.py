"""Effects: what a call does to the world happens in each call, once, with the same values."""

import collections

from tests.run.outside_kinds.register import V, kind

COUNT = 0


def still(n):
    """Nothing outside is changed but by the function itself."""


def emptied(state):
    """A change that leaves nothing of what the function put there."""

    def change(n):
        state.clear()
        state["n"] = n

    return change


def number(x):
    """The first number of an array or a Variable, as code that logs a loss takes it."""
    return float(getattr(x, "value", x)[0])


@kind(grad=True)
def effect_append():
    log = []

    def f(x):
        log.append(1.0)
        return x * 2

    return f, still, log.copy


@kind
def effect_append_in_a_helper():
    log = []

    def note(text):
        log.append(text)

    def f(x):
        note("called")
        return x * 2

    return f, still, log.copy


@kind
def effect_append_of_the_shape():
    log = []

    def f(x):
        log.append(x.shape)
        return x * 2

    return f, still, log.copy


@kind
def effect_append_of_a_value():
    log = []

    def f(x):
        log.append(number(x))
        return x * 2

    return f, still, log.copy


@kind
def effect_extend_by_an_operator():
    log = []

    def f(x):
        nonlocal log
        log += [1.0]
        return x * len(log)

    return f, still, lambda: list(log)


@kind(grad=True)
def effect_attribute_counter():
    class Model:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * 2

    model = Model()
    return lambda x: model(x), still, lambda: model.calls


@kind
def effect_attribute_counter_is_read():
    class Model:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * self.calls

    model = Model()
    return model, still, lambda: model.calls


@kind
def effect_global_counter():
    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return f, lambda n: globals().update(COUNT=n), lambda: COUNT


@kind
def effect_nonlocal_counter():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * 2

    return f, still, lambda: count


@kind(grad=True)
def effect_dict_counter():
    counts = {"calls": 0}

    def f(x):
        counts["calls"] += 1
        return x * 2

    return f, still, counts.copy


@kind
def effect_default_dict():
    counts = collections.defaultdict(int)

    def f(x):
        counts[len(x)] += 1
        return x * 2

    return f, still, lambda: dict(counts)


@kind
def effect_reading_a_default_dict():
    counts = collections.defaultdict(float)
    return lambda x: x + counts["new"], emptied(counts), lambda: dict(counts)


@kind
def effect_counter_object():
    counts = collections.Counter()

    def f(x):
        counts.update(["calls"])
        return x * 2

    return f, still, lambda: dict(counts)


@kind
def effect_setdefault():
    cache = {}
    return lambda x: x * cache.setdefault("a", 2.0), emptied(cache), cache.copy


@kind
def effect_cache_is_filled():
    cache = {}

    def f(x):
        if "a" not in cache:
            cache["a"] = 3.0
        return x * cache["a"]

    return f, emptied(cache), cache.copy


@kind
def effect_mutable_default():
    def f(x, log=[]):  # noqa: B006 - this is the kind
        log.append(1)
        return x * len(log)

    return f, still, lambda: list(f.__defaults__[0])


@kind
def effect_function_attribute():
    def f(x):
        f.calls += 1
        return x * 2

    f.calls = 0
    return f, still, lambda: f.calls


@kind
def effect_setattr():
    class Model: ...

    model = Model()

    def f(x):
        setattr(model, f"size{len(x)}", getattr(model, f"size{len(x)}", 0) + 1)
        return x * 2

    return f, still, lambda: dict(vars(model))


@kind
def effect_class_attribute():
    class Model:
        calls = 0

    def f(x):
        Model.calls += 1
        return x * 2

    return f, still, lambda: Model.calls


@kind
def effect_pop():
    state = [float(k) for k in range(60)]
    return lambda x: x * state.pop(), still, state.copy


@kind
def effect_popleft():
    state = collections.deque(float(k) for k in range(60))
    return lambda x: x * state.popleft(), still, lambda: list(state)


@kind
def effect_deque_append():
    state = collections.deque(maxlen=3)

    def f(x):
        state.append(len(x))
        return x * len(state)

    return f, still, lambda: list(state)


@kind
def effect_set_add():
    seen = set()

    def f(x):
        seen.add(len(x))
        return x * len(seen)

    return f, lambda n: seen.add(-n), lambda: sorted(seen)


@kind
def effect_delete():
    state = dict.fromkeys(range(60), 1.0)

    def f(x):
        del state[len(state) - 1]
        return x * len(state)

    return f, still, state.copy


@kind
def effect_sort():
    state = [3.0, 1.0, 2.0]

    def f(x):
        state.sort()
        return x * state[0]

    return f, lambda n: state.insert(0, V[n]), state.copy

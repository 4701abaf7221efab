"""Programs that sort, count, bin and pick distinct numbers."""

import numpy as np

from tests.run.programs.corpus import function, functions

REPEATS = [[1.0, 2.0, 1.0, 3.0], [1.0, 1.0, 1.0, 1.0], [4.0, 3.0, 2.0, 1.0], [2.0, 2.0, 5.0, 5.0]]
ORDERS = [[1.0, 2.5, 0.5, 3.0], [3.0, 0.5, 2.0, -1.0], [-2.0, -1.0, 0.2, 4.0], [1.0, 1.0, 2.0, 2.0]]
PAIRS = [
    ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]),
    ([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]),
    ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0]),
    ([1.0, 1.0, 3.0], [1.0, 1.0, 1.0]),
]

functions(
    REPEATS,
    unique_values=lambda x: np.unique(x) * 2,
    unique_sum=lambda x: np.sum(np.unique(x)),
    unique_count=lambda x: x.sum() * len(np.unique(x)),
    unique_size=lambda x: x.sum() / np.unique(x).size,
    unique_with_counts=lambda x: np.unique(x, return_counts=True),
    unique_with_inverse=lambda x: np.unique(x, return_inverse=True),
    unique_with_index=lambda x: x[np.unique(x, return_index=True)[1]] ** 2,
    unique_all_options=lambda x: np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )[0].sum(),
    unique_mode=lambda x: _mode(x),
    unique_loop=lambda x: sum(np.sum(x[x == u]) / np.sum(x == u) for u in np.unique(x)),
    unique_group_means=lambda x: [x[x == u].mean() for u in np.unique(x)],
    unique_if=lambda x: x.sum() if len(np.unique(x)) == len(x) else x.prod(),
    unique_rows=lambda x: np.unique(np.reshape(x, (2, 2)), axis=0).sum(),
    repeats_dict=lambda x: x.sum() * max(_counts(x).values()),
    is_sorted=lambda x: x[0] if np.all(np.diff(x) >= 0) else x[-1] * 2,
    has_duplicates=lambda x: x * 2 if np.any(np.diff(np.sort(x)) == 0) else x * 3,
)


def _mode(x):
    values, counts = np.unique(x, return_counts=True)
    return values[np.argmax(counts)] * 2


def _counts(x):
    counts = {}
    for v in x:
        counts[float(v)] = counts.get(float(v), 0) + 1
    return counts


functions(REPEATS, typed=True, set_of_floats=lambda x: x.sum() * len(set(x.tolist())))
functions(
    PAIRS,
    intersect=lambda x, y: np.intersect1d(x, y) * 2,
    intersect_size=lambda x, y: x.sum() * np.intersect1d(x, y).size,
    union=lambda x, y: np.union1d(x, y).sum(),
    union_values=lambda x, y: np.union1d(x, y),
    set_difference=lambda x, y: np.setdiff1d(x, y),
    set_xor=lambda x, y: np.setxor1d(x, y),
    is_in=lambda x, y: np.sum(x[np.isin(x, y)]),
    is_in_count=lambda x, y: x.sum() + np.isin(x, y).sum(),
    is_in_branch=lambda x, y: x.sum() if np.isin(x, y).all() else y.sum() * 2,
    value_in_array=lambda x, y: x.sum() if x[0] in y else y.sum() * 2,
    value_in_list=lambda x, y: x.sum() if x[2] in y.tolist() else y.sum() * 2,
)

functions(
    ORDERS,
    sort_values=lambda x: np.sort(x) * np.arange(4),
    sort_descending=lambda x: np.sort(x)[::-1] * np.arange(4),
    argsort_picked=lambda x: x[np.argsort(x)] * np.arange(4),
    argsort_of_argsort=lambda x: x * np.argsort(np.argsort(x, kind="stable"), kind="stable"),
    argsort_first_branch=lambda x: x[1] if np.argsort(x)[0] == 0 else x[2] * 3,
    sorted_builtin=lambda x: [v * k for k, v in enumerate(sorted(x))],
    sorted_by_key=lambda x: sorted(x, key=lambda v: -abs(v))[0] * 2,
    sorted_indices=lambda x: x[sorted(range(4), key=lambda i: x[i])] * np.arange(4),
    top_two=lambda x: np.sort(x)[-2:].sum(),
    top_two_by_partition=lambda x: np.sort(np.partition(x, 2)[2:]) * 2,
    top_two_by_argpartition=lambda x: np.sum(x[np.argpartition(x, 2)[2:]]),
    argmax_read=lambda x: x[np.argmax(x)] * 2,
    argmax_int=lambda x: x[int(np.argmax(x))] * int(np.argmax(x)),
    argmax_in_python=lambda x: x.sum() * (np.argmax(x) + 1),
    argmin_branch=lambda x: x[0] if np.argmin(x) < 2 else x[3] ** 2,
    max_minus_min=lambda x: x.max() - x.min(),
    ptp=lambda x: np.ptp(x),
    median=lambda x: np.median(x),
    percentile=lambda x: np.percentile(x, 30),
    quantiles=lambda x: np.quantile(x, [0.1, 0.5]),
    trimmed_mean=lambda x: np.mean(np.sort(x)[1:-1]),
    rank_weighted=lambda x: np.sum(np.sort(x) / (1 + np.arange(4))),
    lexsort=lambda x: x[np.lexsort((x, np.array([1, 0, 1, 0])))],
    searchsorted_read=lambda x: np.searchsorted(np.array([0.0, 1.5, 2.7]), x) * x,
    searchsorted_table=lambda x: (
        np.array([10.0, 20, 30, 40])[np.searchsorted([0, 1.2, 2.7], x)] * x
    ),
    searchsorted_int=lambda x: x[: int(np.searchsorted(np.array([0.0, 1.5, 2.7]), x[1]))].sum(),
    digitize_read=lambda x: np.digitize(x, [0.0, 1.2, 2.7]) * x,
    digitize_weights=lambda x: np.array([1.0, 2, 3, 4])[np.digitize(x, [0.0, 1.2, 2.7])] @ x,
    histogram_counts=lambda x: np.histogram(x, bins=[-3, 0, 1.2, 2.7, 5])[0] * x,
    histogram_auto=lambda x: np.histogram(x, bins=2)[0],
    histogram_most=lambda x: x.sum() * np.histogram(x, bins=[-3, 0, 1.2, 2.7, 5])[0].max(),
    bincount_of_digits=lambda x: np.bincount(np.digitize(x, [0.0, 1.2])) * 1.0,
    bincount_weights=lambda x: np.bincount([0, 1, 1, 0], weights=x),
    bincount_length=lambda x: x.sum() * len(np.bincount(np.abs(x).astype(int))),
    interp_at=lambda x: np.interp(x, [0.0, 1.0, 3.0], [1.0, 5.0, 2.0]),
    interp_of=lambda x: np.interp(0.7, np.sort(x), x),
    cut_by_pieces=lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v**2]),
    select_of=lambda x: np.select([x < 0, x < 1.2], [x * 2, x * 3], default=0.0),
    choose_of=lambda x: np.choose((x > 1).astype(int), [x, x**2]),
    take_largest=lambda x: np.take(x, np.argmax(x)) * 2,
    roll_by_argmax=lambda x: np.roll(x, int(np.argmax(x))) * np.arange(4),
    repeat_by_values=lambda x: np.repeat(x, (x > 1).astype(int) + 1),
    tile_by_value=lambda x: np.tile(x, 2 if x[0] > 0 else 3),
    arange_by_value=lambda x: np.arange(int(abs(x[0])) + 1) * x.sum(),
    linspace_between=lambda x: np.linspace(x[0], x[1], 5),
    eye_by_value=lambda x: np.eye(int(abs(x[3]))) * x[0],
)


@function(*ORDERS)
def longest_rise(x):
    best = run = 1
    for a, b in zip(x[:-1], x[1:], strict=True):
        run = run + 1 if b > a else 1
        best = max(best, run)
    return x.sum() * best


@function(*ORDERS)
def bubble_sort(x):
    y = [x[i] for i in range(4)]
    for i in range(4):
        for j in range(3 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.stack(y) * np.arange(4)


@function(*ORDERS)
def quick_select(x):
    def select(v, k):
        pivot = v[0]
        low, high = v[v < pivot], v[v > pivot]
        if k < len(low):
            return select(low, k)
        if k < len(v) - len(high):
            return pivot
        return select(high, k - len(v) + len(high))

    return select(x, 1) * 2


@function(*ORDERS)
def local_maxima(x):
    peaks = [i for i in range(1, 3) if x[i] > x[i - 1] and x[i] > x[i + 1]]
    return x[peaks].sum() if peaks else x[0] * 0


@function(*ORDERS)
def running_maximum(x):
    return np.maximum.accumulate(x) * np.arange(4)


@function(*ORDERS)
def nearest_neighbour(x):
    distances = np.abs(x[:, None] - x[None, :]) + 10 * np.eye(4)
    return np.sum(distances[np.arange(4), np.argmin(distances, axis=1)] ** 2)


@function(*ORDERS)
def k_means_step(x):
    centres = np.array([0.0, 2.2])
    labels = np.argmin((x[:, None] - centres) ** 2, axis=1)
    return [x[labels == k].mean() if np.any(labels == k) else centres[k] for k in range(2)]


@function(*ORDERS)
def winsorised(x):
    low, high = np.percentile(x, [25, 75])
    return np.sum(np.clip(x, low, high) ** 2)


@function(*ORDERS)
def outliers_removed(x):
    z = (x - x.mean()) / x.std()
    kept = x[np.abs(z) < 1.2]
    return kept.mean() if kept.size > 1 else x.mean() * 10

"""Programs that read and write by masks, whose shapes depend on values."""

import numpy as np

from tests.run.programs.corpus import function, functions

NAN = float("nan")
SIGNS = [[1.0, 2.0, -1.0, 0.5], [-1.0, 3.0, -1.0, -2.0], [-1.0, -2.0, -3.0, -4.0], [1.0, 2, 3, 4]]
HOLES = [[1.0, NAN, -1.0, 0.5], [1.0, 3.0, NAN, NAN], [1.0, -2.0, -3.0, -4.0], [NAN] * 4]
TABLES = [
    [[1.0, -2.0], [0.5, 3.0], [-1.0, -4.0]],
    [[-1.0, -2.0], [0.5, -3.0], [-1.0, -4.0]],
    [[1.0, 2.0], [0.5, 3.0], [1.0, 4.0]],
    [[-1.0, -2.0], [-0.5, -3.0], [-1.0, -4.0]],
]

functions(
    SIGNS,
    masked_sum=lambda x: np.sum(x[x > 0.3] ** 2),
    masked_mean=lambda x: np.mean(x[x > 0.3]),
    masked_mean_method=lambda x: x[x > 0.7].mean() * 2,
    masked_prod=lambda x: np.prod(x[x < 1.5]),
    masked_values=lambda x: x[x > 0] * 3,
    masked_product_of_two=lambda x: x[x > 0] * np.exp(x[x > 0]),
    masked_var=lambda x: np.var(x[x > -1.5]),
    masked_std=lambda x: x[x > -1.5].std(),
    masked_max=lambda x: np.max(x[x > 0]),
    masked_max_with_initial=lambda x: np.max(x[x > 0], initial=0.0),
    masked_min_or_zero=lambda x: x[x > 0].min() if np.any(x > 0) else 0.0,
    masked_median=lambda x: np.median(x[x > 0]) if (x > 0).any() else x.sum(),
    masked_cumsum=lambda x: np.cumsum(x[x > 0]),
    masked_sorted=lambda x: np.sort(x[x != 3.0]),
    masked_dot=lambda x: x[x > 0] @ x[x > 0],
    masked_inverted=lambda x: np.sum(x[~(x > 0)]) - np.sum(x[x > 0]),
    masked_two_conditions=lambda x: np.sum(x[(x > -1.5) & (x < 1.5)]),
    masked_norm=lambda x: np.linalg.norm(x[x > 0]),
    masked_size=lambda x: x.sum() * x[x > 0].size,
    masked_shape=lambda x: x.sum() / (1 + x[x > 0].shape[0]),
    masked_len=lambda x: x.sum() + len(x[x > 0]),
    masked_len_of_nonzero=lambda x: x * len(np.nonzero(x > 0)[0]),
    masked_enumerate=lambda x: sum(i * v for i, v in enumerate(x[x > 0])) + x.sum(),
    masked_iteration=lambda x: sum([v**2 for v in x[x > 0]], 0.0 * x[0]),
    masked_zip=lambda x: sum(a * b for a, b in zip(x[x > 0], x, strict=False)) + x[0],
    masked_reversed=lambda x: x[x > 0][::-1] * 2,
    masked_first=lambda x: x[x > 0][0],
    masked_last_or_first=lambda x: x[x > 0][-1] if len(x[x > 0]) else x[0],
    masked_concatenated=lambda x: np.concatenate([x[x > 0], x[x <= 0] * 2]),
    masked_stack=lambda x: np.hstack([x[x > 1.5], x]),
    masked_pad=lambda x: np.pad(x[x > 0], 1),
    masked_diff=lambda x: np.diff(x[x > -1.5]),
    masked_outer=lambda x: np.outer(x[x > 0], x),
    masked_twice=lambda x: np.sum(x[x > -1.5][x[x > -1.5] < 1.5]),
    masked_any=lambda x: x.sum() if np.any(x > 2.5) else (x**2).sum(),
    masked_all=lambda x: x.sum() if np.all(x > 0) else (x**2).sum(),
    masked_count=lambda x: x.sum() * np.count_nonzero(x > 0),
    masked_count_sum=lambda x: x.sum() / max(1, int((x > 0).sum())),
    masked_count_array=lambda x: x * np.sum(x > 0),
    masked_by_sum_of_bool=lambda x: np.sum((x > 0) * x) / np.maximum(np.sum(x > 0), 1),
)

functions(
    SIGNS,
    where_one_argument=lambda x: np.sum(x[np.where(x > 0)]),
    where_one_argument_first=lambda x: x[np.where(x > 0)[0]] * 2,
    where_three=lambda x: np.where(x > 0, x, 0.1 * x),
    where_nested=lambda x: np.where(x > 1.5, x**2, np.where(x > 0, x, 0.0)),
    nonzero_read=lambda x: x[np.nonzero(x > 0)] + 1,
    nonzero_method=lambda x: np.sum(x[(x > 0).nonzero()]),
    nonzero_write=lambda x: _written(x, np.nonzero(x < 0)[0]),
    flatnonzero_read=lambda x: x[np.flatnonzero(x > 0)] ** 2,
    flatnonzero_loop=lambda x: sum(x[i] * (i + 1) for i in np.flatnonzero(x > 0)) + 0 * x[0],
    flatnonzero_first=lambda x: x[np.flatnonzero(x > 0)[0]] if (x > 0).any() else -x[0],
    argwhere_loop=lambda x: sum(x[i] for (i,) in np.argwhere(x > 0)) + 0 * x[0],
    argwhere_count=lambda x: x.sum() * len(np.argwhere(x > 0)),
    argwhere_read=lambda x: x[np.argwhere(x > 0)[:, 0]],
    compress=lambda x: np.compress(x > 0, x) * 2,
    compress_sum=lambda x: np.sum(np.compress(x > 0, x)),
    compress_method=lambda x: x.compress(x > 0).sum(),
    extract=lambda x: np.extract(x > 0, x) ** 2,
    extract_mean=lambda x: np.mean(np.extract(x < 1.7, x)),
    argmax_of_mask=lambda x: x[np.argmax(x > 0)] * 2,
    searched_first_above=lambda x: x[: np.argmax(x > 1.5) + 1].sum(),
    delete_negative=lambda x: np.delete(x, np.where(x < 0)[0]),
    delete_smallest=lambda x: np.delete(x, np.argmin(x)).sum(),
    trim_zeros=lambda x: np.trim_zeros(np.maximum(x, 0.0)),
    trim_zeros_sum=lambda x: np.sum(np.trim_zeros(np.where(x > 0, x, 0.0)) ** 2),
    split_at_sign=lambda x: [p.sum() for p in np.split(x, np.flatnonzero(x < 0)[:1])],
)


def _written(x, at):
    y = x * 2
    y[at] = 0.5
    return y


@function(*SIGNS)
def mask_write_constant(x):
    y = x * 1.0
    y[y < 0] = 0.0
    return np.sum(y**2)


@function(*SIGNS)
def mask_write_values(x):
    y = x * 1.0
    m = x > 0
    y[m] = np.sqrt(x[m])
    return y


@function(*SIGNS)
def mask_write_into_zeros(x):
    y = np.zeros_like(x)
    y[x > 0] = x[x > 0] ** 2
    return y


@function(*SIGNS)
def mask_write_add(x):
    y = x * 1.0
    y[x > 0] += 10.0
    y[x <= 0] *= 2.0
    return y


@function(*SIGNS)
def mask_write_range(x):
    y = x * 1.0
    m = x > 0
    y[m] = np.arange(m.sum())
    return y


@function(*SIGNS)
def mask_write_normalised(x):
    y = x * 1.0
    m = x > 0
    if m.any():
        y[m] = y[m] / y[m].sum()
    return y


@function(*SIGNS)
def mask_write_other_array(x):
    y = np.ones(4) * x.sum()
    y[x > 0] = -1.0
    return y * x


@function(*SIGNS)
def copyto_where(x):
    y = x * 1.0
    np.copyto(y, 0.5, where=x < 0)
    return y.sum()


@function(*SIGNS)
def putmask_written(x):
    y = x * 1.0
    np.putmask(y, y < 0, 0.25)
    return y**2


@function(*SIGNS)
def place_written(x):
    y = x * 1.0
    np.place(y, x < 0, [0.25, 0.5])
    return y**2


@function(*SIGNS)
def put_written(x):
    y = x * 1.0
    np.put(y, np.flatnonzero(x > 0), 7.0)
    return y * x


@function(*SIGNS)
def mask_counts_in_loop(x):
    total = 0.0
    for t in (-1.5, 0.0, 1.5):
        picked = x[x > t]
        if picked.size == 0:
            break
        total = total + picked.mean()
    return total


@function(*SIGNS)
def mask_peeled(x):
    rest, total = x, 0.0
    while rest.size:
        top = np.max(rest)
        total = total + top**2 / (1 + rest.size)
        rest = rest[rest < top]
    return total


@function(*SIGNS)
def mask_grouped(x):
    groups = {"neg": x[x < 0], "pos": x[x >= 0]}
    return {k: v.sum() for k, v in groups.items() if len(v)}


@function(*TABLES)
def mask_rows(t):
    keep = t[:, 0] > 0
    return t[keep].sum(axis=0)


@function(*TABLES)
def mask_rows_values(t):
    return t[t.sum(axis=1) > 0] * 2


@function(*TABLES)
def mask_columns(t):
    return t[:, t[0] > 0].sum()


@function(*TABLES)
def mask_two_axes(t):
    i, j = np.nonzero(t > 0)
    return np.sum(t[i, j] * (i + 2 * j))


@function(*TABLES)
def mask_matrix_write(t):
    y = t * 1.0
    y[t < 0] = np.abs(t[t < 0]) * 0.1
    return y @ y.T


@function(*TABLES)
def mask_rows_any(t):
    rows = [r for r in t if np.any(r > 0)]
    return sum((r @ r for r in rows), 0.0)


@function(*TABLES)
def mask_rows_ix(t):
    return t[np.ix_(t[:, 0] > -2, t[0] > -1.5)].sum()


@function(*TABLES)
def mask_argwhere_pairs(t):
    return sum((t[i, j] ** 2 for i, j in np.argwhere(t > 0)), 0.0)


@function(*TABLES)
def mask_row_lengths(t):
    return [row[row > 0].size for row in t], t.sum()


functions(
    HOLES,
    nan_dropped=lambda x: np.sum(x[~np.isnan(x)]),
    nan_mean_by_hand=lambda x: x[np.isfinite(x)].mean(),
    nan_sum=lambda x: np.nansum(x),
    nan_mean=lambda x: np.nanmean(x),
    nan_max=lambda x: np.nanmax(x),
    nan_any=lambda x: x[0] * 2 if np.isnan(x).any() else x.sum(),
    nan_replaced=lambda x: np.where(np.isnan(x), 0.0, x) * 2,
    nan_to_num=lambda x: np.nan_to_num(x, nan=1.0),
    nan_count=lambda x: x[0] + np.isnan(x).sum(),
    nan_self=lambda x: np.sum(x[x == x]),
    nan_greater=lambda x: x[0] if x[0] > 0 else x[0] * 3,
    nan_not_less=lambda x: x[0] * 2 if not (x[0] <= 5) else x[0] * 3,
    nan_max_is_nan=lambda x: 0.0 if np.isnan(np.max(x)) else np.max(x),
    nan_maximum=lambda x: np.maximum(x, 0.0).sum(),
    nan_fmax=lambda x: np.fmax(x, 0.0).sum(),
    nan_argmax=lambda x: x[np.argmax(x)] * 2,
    nan_sort=lambda x: np.sort(x) * [1, 2, 3, 4],
    nan_min_builtin=lambda x: min(x[0], x[1], key=lambda v: v),
)


@function(*HOLES)
def nan_written(x):
    y = x * 1.0
    y[np.isnan(y)] = np.nanmean(x) if np.isfinite(x).any() else 0.0
    return y


@function(*HOLES)
def nan_index_list(x):
    good = [i for i in range(len(x)) if not np.isnan(x[i])]
    return x[good].sum() if good else 0.0


@function([0.287, -1.861, -0.285, -1.513], [-0.849, -0.25, -1.775, -1.396], [1.493, 2.2, 0.4, 2.0])
def written_again_by_masks_of_what_was_written(x):
    """Each mask depends on what the one before has written; the reverse pass meets them late."""
    w = x * 1.0
    y = np.array([-0.021, -0.297, -1.292, 1.305])
    for v in x:
        w[(w > -1.0413) & (y < 0.63)] = y[0] * v
    return w * x

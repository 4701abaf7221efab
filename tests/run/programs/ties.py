"""Programs at ties and kinks, where a derivative is a choice, and with arguments not differentiated."""

import numpy as np

from tests.run.programs.corpus import function, functions

TIES = [[0.0, 1.0, -1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 2.0], [-1.0, 0.0, 1.0]]
PAIRS = [
    ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    ([1.0, 0.0, 3.0], [1.0, 2.0, 0.0]),
    ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
]

functions(
    TIES,
    relu=lambda x: np.maximum(x, 0.0),
    relu_int=lambda x: np.maximum(x, 0),
    relu_left=lambda x: np.maximum(0.0, x),
    relu_by_mask=lambda x: x * (x > 0),
    relu_by_where=lambda x: np.where(x > 0, x, 0.0),
    relu_squared=lambda x: np.maximum(x, 0.0) ** 2,
    minimum_constant=lambda x: np.minimum(x, 1.0),
    maximum_array=lambda x: np.maximum(x, np.array([0.0, 1.0, 2.0])),
    maximum_itself=lambda x: np.maximum(x, x),
    maximum_negated=lambda x: np.maximum(x, -x),
    maximum_zeros=lambda x: np.maximum(x, np.zeros(3)),
    maximum_zeros_like=lambda x: np.maximum(x, np.zeros_like(x)),
    maximum_of_sign=lambda x: np.maximum(np.sign(x) * 0, x),
    maximum_of_rounded=lambda x: np.maximum(np.round(x), x),
    maximum_of_detached=lambda x: np.maximum(x, np.floor(x)),
    fmax_constant=lambda x: np.fmax(x, 0.0) + np.fmin(x, 1.0),
    absolute=lambda x: np.abs(x),
    sign_of=lambda x: np.sign(x) * x,
    clip_at_bounds=lambda x: np.clip(x, 0.0, 1.0),
    clip_one_side=lambda x: np.clip(x, 0.0, None),
    max_reduction=lambda x: np.max(x),
    min_reduction=lambda x: np.min(x),
    argmax_ties=lambda x: x[np.argmax(x)],
    sort_ties=lambda x: np.sort(x) * np.array([1.0, 2.0, 3.0]),
    median_ties=lambda x: np.median(x),
    top_of_sorted=lambda x: np.sort(x)[-1],
    max_builtin_ties=lambda x: max(x[0], x[1]),
    max_of_list=lambda x: max([x[0], x[1], x[2]]),
    hinge=lambda x: np.maximum(0.0, 1 - x).sum(),
    huber=lambda x: np.where(np.abs(x) <= 1, 0.5 * x * x, np.abs(x) - 0.5),
    leaky=lambda x: np.where(x >= 0, x, 0.1 * x),
    heaviside=lambda x: np.heaviside(x, 0.5) * x,
    norm_at_zero=lambda x: np.sqrt(np.sum(x * x) + 1e-12),
    l1_norm=lambda x: np.linalg.norm(x, 1),
    max_norm=lambda x: np.linalg.norm(x, np.inf),
    max_pool=lambda x: np.maximum(x[:-1], x[1:]),
    cumulative_max=lambda x: np.maximum.accumulate(x),
    ptp_ties=lambda x: np.ptp(x),
    soft_threshold=lambda x: np.sign(x) * np.maximum(np.abs(x) - 1.0, 0.0),
    equality=lambda x: x * (x == 0) + x * (x != 1),
    tie_branch=lambda x: x * 2 if x[0] >= x[1] else x * 3,
    tie_branch_strict=lambda x: x * 2 if x[0] > x[1] else x * 3,
)
functions(
    PAIRS,
    maximum_of_two=lambda x, y: np.maximum(x, y),
    minimum_of_two=lambda x, y: np.minimum(x, y),
    maximum_of_sign_and_other=lambda x, y: np.sum(np.maximum(np.sign(x) * 0, y)),
    fmax_of_two=lambda x, y: np.fmax(x, y),
    where_of_two=lambda x, y: np.where(x >= y, x, y),
    clip_between=lambda x, y: np.clip(x, y - 1, y),
    absolute_difference=lambda x, y: np.abs(x - y),
    max_of_stack=lambda x, y: np.max(np.stack([x, y]), axis=0),
    max_of_concatenated=lambda x, y: np.max(np.concatenate([x, y])),
    sort_of_concatenated=lambda x, y: np.sort(np.concatenate([x, y])) * np.arange(6),
    max_builtin_of_two=lambda x, y: max(x[0], y[0]) + min(x[1], y[1]),
    branch_of_two=lambda x, y: x if x[0] >= y[0] else y,
    copysign_of_two=lambda x, y: np.copysign(x, y),
    hypot_of_two=lambda x, y: np.hypot(x + 1, y),
)


@function(*[(x, y.astype(int)) for x, y in [(np.array(a), np.array(b)) for a, b in PAIRS]])
def maximum_with_ints(x, n):
    return np.maximum(x, n)


@function(*[(np.array(a), float(b[0])) for a, b in PAIRS], grad=False)
def maximum_with_number(x, t):
    return np.maximum(x, t)


@function(*PAIRS)
def maximum_chain(x, y):
    return np.maximum(np.maximum(x, y), 1.0)


@function(*PAIRS)
def maximum_of_product(x, y):
    return np.maximum(x * y, x)

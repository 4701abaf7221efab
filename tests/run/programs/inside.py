"""Programs that take derivatives themselves, some of them with arguments not differentiated."""

import numpy as np

import chainrule as cr
from tests.run.programs.corpus import function, functions

PAIRS = [
    ([1.0, 2.0, -1.0], [1.5, 2.0, 0.5]),
    ([0.5, -2.0, 1.0], [-1.5, -2.0, 3.5]),
    ([1.0, 2.0, -1.0], [2.5, 2.0, 0.5]),
    ([1.5, 2.0, 0.5], [1.5, 2.0, 0.5]),
]

functions(
    PAIRS,
    grad=False,
    grad_by_first=cr.grad(lambda x, y: np.sum(x**2 * y)),
    grad_int_of_other=cr.grad(lambda x, y: np.sum(x**2) * int(y[0])),
    grad_float_of_other=cr.grad(lambda x, y: np.sum(x**2) * float(y[0])),
    grad_item_of_other=cr.grad(lambda x, y: np.sum(x**2) * y[0].item()),
    grad_branch_of_other=cr.grad(lambda x, y: np.sum(x**2) if y[0] > 0 else np.sum(x)),
    grad_text_of_other=cr.grad(lambda x, y: np.sum(x**2) * len(f"{y[0]:.1f}")),
    grad_mask_of_other=cr.grad(lambda x, y: np.sum(x[y > 0] ** 2)),
    grad_tie_with_other=cr.grad(lambda x, y: np.sum(np.maximum(x, y))),
    grad_tie_with_sign=cr.grad(lambda x, y: np.sum(np.maximum(np.sign(x) * 0, y)), (0, 1)),
    grad_abs_of_difference=cr.grad(lambda x, y: np.sum(np.abs(x - y))),
    grad_clip_by_other=cr.grad(lambda x, y: np.sum(np.clip(x, -1.0, y))),
    grad_max_of_stack=cr.grad(lambda x, y: np.sum(np.max(np.stack([x, y]), axis=0))),
    grad_write_into_other=cr.grad(lambda x, y: np.sum(np.where(y > 1, y, x) ** 2)),
    grad_range_of_other=cr.grad(lambda x, y: sum(np.sum(x**k) for k in range(int(abs(y[0]))))),
    grad_math_of_other=cr.grad(lambda x, y: np.sum(x**2) * np.floor(y[0])),
    value_and_grad_masked=cr.value_and_grad(lambda x, y: np.sum(x[x > y])),
    hessian_branch=cr.hessian(lambda x, y: np.sum(x**3) if x[0] > y[0] else np.sum(x**2 * y)),
    jacobian_masked=cr.jacobian(lambda x, y: np.where(x > y, x**2, y)),
)


@function(*PAIRS, grad=False)
def newton_with_grad(x, y):
    g = cr.grad(lambda v: np.sum((v - y) ** 4))
    for _ in range(20):
        step = g(x)
        if np.abs(step).max() < 0.5:
            break
        x = x - 0.05 * np.clip(step, -1.0, 1.0)
    return x


@function(*PAIRS, grad=False)
def descent_with_backtracking(x, y):
    f = lambda v: np.sum((v - y) ** 2)  # noqa: E731 - as it is written
    value, slope = cr.value_and_grad(f)(x)
    t = 4.0
    while f(x - t * slope) > value - 0.3 * t * np.sum(slope**2):
        t = t / 2
    return x - t * slope, t


@function(*PAIRS)
def gradient_penalty(x, y):
    g = cr.grad(lambda v: np.sum(np.tanh(v) * y))(x)
    n = np.sqrt(np.sum(g**2))
    return (n - 1.0) ** 2 if n > 1.0 else n


@function(*PAIRS, grad=False)
def failing_gradient_caught(x, y):
    try:
        return cr.grad(lambda v: np.sum(v) * float(v[0]))(x)
    except cr.ChainruleError:
        return y

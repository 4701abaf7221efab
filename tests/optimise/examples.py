"""For every rewrite programs to which it applies, and programs to which it must not."""

import numpy as np

import chainrule as cr


def _pieces(x, y):
    a = cr.OPS["embed"](x, template=(slice(0, 6),), shape=(12,))
    return a + cr.OPS["embed"](y, template=(slice(6, None),), shape=(12,))


def _rows(x, y):
    a = cr.OPS["embed"](x, template=(1,), shape=(2, 6))
    return a + cr.OPS["embed"](y, template=(0,), shape=(2, 6))


def _slab(x):
    return cr.OPS["embed"](x, template=(slice(0, 6),), shape=(12,))


def _lanes_of_slabs(x, y):
    a = cr.OPS["embed"](x[None] * y[:, None], template=(slice(None), slice(0, 6)), shape=(6, 8))
    b = cr.OPS["embed"](y[None] * x[:, None], template=(slice(None), slice(1, 7)), shape=(6, 8))
    return np.where(np.arange(8) < 7, a + b, 0.0)


def _twice(x):
    return x + x


# Of two arrays with six lanes.
EXAMPLES = {
    "itself": [
        lambda x, y: cr.stop_gradient(x) * y,
        lambda x, y: np.copy(x) + y,
        lambda x, y: +x,
        lambda x, y: np.real(x) + np.conjugate(y),
        lambda x, y: x.astype(x.dtype),
    ],
    "times one": [lambda x, y: x * 1, lambda x, y: 1.0 * x, lambda x, y: x * x.dtype.type(1)],
    "times minus one": [lambda x, y: x * -1, lambda x, y: -1.0 * x],
    "divided by one": [lambda x, y: x / 1, lambda x, y: x / 1.0],
    "plus nothing": [lambda x, y: x + -0.0, lambda x, y: -0.0 + x],
    "minus zero": [lambda x, y: x - 0.0, lambda x, y: x - 0],
    "first power": [lambda x, y: x**1, lambda x, y: x**1.0],
    "squared": [lambda x, y: x**2, lambda x, y: x**2.0],
    "divided by 2ᵏ": [
        lambda x, y: x / 2,
        lambda x, y: x / 1024.0,
        lambda x, y: x / -0.125,
        lambda x, y: x / 2.0**100,
    ],
    "twice negated": [lambda x, y: np.negative(-x)],
    "plus negated": [lambda x, y: x + -y, lambda x, y: -x + y, lambda x, y: 1 + -y],
    "minus negated": [lambda x, y: x - -y, lambda x, y: 0.0 - -y],
    "both negated": [lambda x, y: -x * -y, lambda x, y: -x / -y],
    "sign into number": [
        lambda x, y: -x * 0.3,
        lambda x, y: 0 * -x,
        lambda x, y: -x / 3,
        lambda x, y: 7.5 / -x,
        lambda x, y: -x * x.dtype.type(0),
    ],
    "negated product": [
        lambda x, y: -(x * 0.3),
        lambda x, y: -(0 * x),
        lambda x, y: -(x / 3),
        lambda x, y: -(0 / x),
    ],
    "even": [lambda x, y: np.abs(-x), lambda x, y: np.square(-x)],
    "known choice": [
        lambda x, y: np.where(np.full(6, True), x, y),
        lambda x, y: np.where(False, x, y),
        lambda x, y: np.where(False, x, 0.0) + y,
        lambda x, y: np.where(np.full((2, 6), True), x, np.zeros((2, 6), x.dtype)),
    ],
    "no choice": [lambda x, y: np.where(x > y, x, x)],
    "choice of not": [lambda x, y: np.where(~(x > y), x, y)],
    "unless zero": [lambda x, y: np.where(x != 0, x, 0.0), lambda x, y: np.where(x != 0, x, 0)],
    "known and": [
        lambda x, y: np.logical_and(x > y, True),
        lambda x, y: (x > y) & np.full(6, False),
    ],
    "known or": [lambda x, y: (x > y) | np.True_, lambda x, y: np.logical_or(x > y, np.False_)],
    "not not": [lambda x, y: np.logical_not(~(x > y))],
    "finite and infinite": [
        lambda x, y: np.logical_and(x == 0.0, np.isinf(x)),
        lambda x, y: np.isinf(x) & np.equal(1.5, x),
    ],
    "same view": [
        lambda x, y: np.reshape(x, (6,)) + y,
        lambda x, y: np.broadcast_to(x, (6,)) + y,
        lambda x, y: np.transpose(x) + y,
    ],
    "reshape twice": [lambda x, y: x.reshape(2, 3).reshape(3, 2)],
    "broadcast twice": [lambda x, y: np.broadcast_to(np.broadcast_to(x, (1, 6)), (2, 6))],
    "transpose twice": [
        lambda x, y: x.reshape(1, 2, 3).transpose(2, 0, 1).transpose(0, 2, 1),
        lambda x, y: x.reshape(2, 3).T.T,
    ],
    "implied broadcast": [
        lambda x, y: np.where(np.broadcast_to(x > 0, (2, 6)), np.multiply.outer(y[:2], y), 0.0),
        lambda x, y: np.add(np.broadcast_to(x, (2, 6)), np.multiply.outer(y[:2], y)),
    ],
    "kept axes": [
        lambda x, y: np.reshape(np.sum(x.reshape(2, 3), axis=1), (2, 1)) * y.reshape(2, 3),
        lambda x, y: np.reshape(np.sum(x.reshape(2, 3)), (1, 1)),
    ],
    "sum of one": [
        lambda x, y: np.sum(x.reshape(1, 6), axis=0),
        lambda x, y: np.sum(x.reshape(2, 1, 3), axis=1, keepdims=True),
    ],
    "transposed product": [
        lambda x, y: (x.reshape(3, 2).T @ y.reshape(2, 3).T).T,
        lambda x, y: np.transpose(
            np.transpose(x.reshape(1, 3, 2), (0, 2, 1))
            @ np.transpose(y.reshape(1, 2, 3), (0, 2, 1)),
            (0, 2, 1),
        ),
    ],
    "zero already": [
        lambda x, y: np.where(np.arange(12) < 6, _slab(x), 0.0) * 2,
        lambda x, y: np.where(np.arange(12) < 9, np.where(np.arange(12) < 6, _slab(x), 0.0), 0.0),
        _lanes_of_slabs,
    ],
    "joined": [_pieces, _rows, lambda x, y: _pieces(y, x) * 2],
    "two factors": [
        lambda x, y: x * 0.3 * 0.7,
        lambda x, y: 3 * (x / 7),
        lambda x, y: -x * 0.3 / 7,
    ],
    "divided by a number": [lambda x, y: x / 3],
    "two terms": [lambda x, y: 0.3 + (x + 0.7), lambda x, y: x + 1 + 2],
    "doubled": [lambda x, y: _twice(x * 3), lambda x, y: _twice(x / y)],
    "sum of multiples": [
        lambda x, y: np.sum(x * 0.3),
        lambda x, y: np.sum(-x.reshape(2, 3), axis=1, keepdims=True),
    ],
    "negated difference": [lambda x, y: -(x - y)],
    "log of exp": [lambda x, y: np.log(np.exp(x))],
}

# What looks alike and is not: each must stay as it is under every exact rewrite.
NEAR_MISSES = {
    "0 times x": lambda x, y: 0.0 * x,
    "x plus 0.0": lambda x, y: x + 0.0,
    "x plus 0": lambda x, y: x + 0,
    "0 minus x": lambda x, y: 0.0 - x,
    "x minus -0.0": lambda x, y: x - -0.0,
    "the root as a power": lambda x, y: x**0.5,
    "the zeroth power": lambda x, y: x**0,
    "exp of log": lambda x, y: np.exp(np.log(x)),
    "log of exp": lambda x, y: np.log(np.exp(x)),
    "a negated difference": lambda x, y: -(x - y),
    "divided by 3": lambda x, y: x / 3,
    "2 divided by x": lambda x, y: 2 / x,
    "x minus x": lambda x, y: x - x,
    "x over x": lambda x, y: x / x,
    "two factors": lambda x, y: x * 0.5 * 2.0,
    "a sum of multiples": lambda x, y: np.sum(x * 2.0),
    "a sum of negated": lambda x, y: np.sum(-(x + y)),
    "a choice of zero": lambda x, y: np.where(x != 0, x, -0.0),
    "a choice of another": lambda x, y: np.where(x != 0, y, 0.0),
    "infinite and infinite": lambda x, y: np.logical_and(x == np.inf, np.isinf(x)),
    "of another array": lambda x, y: np.logical_and(x == 0.0, np.isinf(y)),
    "reshaped in another order": lambda x, y: x.reshape((2, 3), order="F").reshape(6),
    "a wider type": lambda x, y: (x.astype(np.complex128) * 1).real,
    "a mask within the slab": lambda x, y: np.where(np.arange(12) < 5, _slab(x), 0.0),
    "a number where the mask is not": lambda x, y: np.where(np.arange(12) < 6, _slab(x), 2.0),
    "one of the two pieces": lambda x, y: (
        cr.OPS["embed"](x, template=(slice(0, 6),), shape=(13,))
        + cr.OPS["embed"](y, template=(slice(6, 12),), shape=(13,))
    ),
    "pieces that overlap": lambda x, y: (
        cr.OPS["embed"](x, template=(slice(0, 6),), shape=(10,))
        + cr.OPS["embed"](y, template=(slice(4, None),), shape=(10,))
    ),
}

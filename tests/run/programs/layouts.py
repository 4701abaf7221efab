"""Programs that ask how arrays lie in memory, and arguments in every layout."""

import numpy as np

from tests.run.programs.corpus import functions, kw


def _layouts():
    """Arrays of one shape: by rows, by columns, with steps, backwards, and read only."""
    rows = np.arange(6.0).reshape(2, 3)
    frozen = rows.copy()
    frozen.flags.writeable = False
    by_steps = np.arange(24.0).reshape(4, 6)[::2, ::2]
    return [np.asfortranarray(rows), rows, np.arange(6.0).reshape(3, 2).T, by_steps, frozen]


def _pairs():
    """Two arguments: one array twice, copies, and two that overlap."""
    one, whole = np.array([1.0, 2.0, 3.0]), np.arange(4.0)
    return [(one, one), (one, one.copy()), (whole[:3], whole[1:]), (one, one[::-1])]


# `copy.deepcopy` keeps a layout, but not which arrays share their memory unless they are one.
functions(
    [kw(a) for a in _layouts()],
    ravel_as_in_memory=lambda x: x.ravel("K"),
    ravel_by_rows_or_columns=lambda x: x.ravel("A"),
    reshape_by_rows_or_columns=lambda x: np.reshape(x, -1, order="A"),
    ravel_by_columns=lambda x: x.ravel("F") * x.ravel(),
    transposed_product=lambda x: x @ x.T,
    flat_elements=lambda x: sum(x.flat) + x.flat[2] * 3,
    flat_length=lambda x: x * len(x.flat),
)
functions(
    [kw(a, b) for a, b in _pairs()],
    product_of_aliases=lambda x, y: x * y + x,
    one_object_or_two=lambda x, y: x * 2 if x is y else x + y,
)
functions(
    [kw(a, b) for a, b in _pairs()],
    grad=False,
    memory_shared=lambda x, y: x * 2 if np.shares_memory(x, y) else x + y,
    memory_perhaps_shared=lambda x, y: x * 2 if np.may_share_memory(x, y) else x + y,
)

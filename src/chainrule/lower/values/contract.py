"""Sums of products over named axes: by BLAS where they are large, else written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.lower.values.array import Array, axes_of, dims_of, through_views
from chainrule.lower.values.value import pointwise
from chainrule.lower.values.views import Views

LETTERS = "abcdefghlmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # without i, j, k of a matrix product
MIN_BLAS_EXTENT = 8  # an extent below which a product is written out
LONG_SUM = 64  # of a sum: what is done once per element of the result is little beside it


class Contractions(Views):
    """The part of a builder that multiplies matrices and tensors."""

    def matmul(self, x: Array, y: Array) -> Array | None:
        common = np.result_type(x.dtype, y.dtype)
        x, y = self.astype(x, common), self.astype(y, common)
        stack = max(x.ndim, y.ndim, 2) - 2
        letters = LETTERS[:stack]
        of_x = "k" if x.ndim == 1 else letters[stack - (x.ndim - 2) :] + "ik"
        of_y = "k" if y.ndim == 1 else letters[stack - (y.ndim - 2) :] + "kj"
        of_out = letters + ("i" if x.ndim > 1 else "") + ("j" if y.ndim > 1 else "")
        return self.contract(x, y, (of_x, of_y, of_out))

    def tensordot(self, x: Array, y: Array, axes: Any) -> Array | None:
        common = np.result_type(x.dtype, y.dtype)
        if isinstance(axes, (int, np.integer)):
            of_x = list(range(x.ndim - int(axes), x.ndim))
            of_y = list(range(int(axes)))
        else:
            of_x, of_y = (np.atleast_1d(a).tolist() for a in axes)
        first = LETTERS[: x.ndim]
        second = list(LETTERS[x.ndim : x.ndim + y.ndim])
        for i, j in zip(of_x, of_y, strict=True):
            second[j % y.ndim] = first[i % x.ndim]
        gone = {first[i % x.ndim] for i in of_x}
        out = "".join(n for n in (*first, *second) if n not in gone)
        labels = (first, "".join(second), out)
        return self.contract(self.astype(x, common), self.astype(y, common), labels)

    def einsum(self, x: Array, y: Array, subscripts: str) -> Array | None:
        terms, out = subscripts.split("->")
        of_x, of_y = terms.split(",")
        common = np.result_type(x.dtype, y.dtype)
        return self.contract(self.astype(x, common), self.astype(y, common), (of_x, of_y, out))

    def contract(self, x: Array, y: Array, labels: tuple[str, str, str]) -> Array | None:
        """Σ x·y with axes named by letters: ("bik", "bkj", "bij"); repeated letters are refused."""
        of_x, of_y, of_out = labels
        if len({*of_x}) < len(of_x) or len({*of_y}) < len(of_y) or x.dtype != y.dtype:
            return None
        if x.dtype.kind not in "fi":
            return None
        sizes = dict(zip(of_y, y.shape, strict=True)) | dict(zip(of_x, x.shape, strict=True))
        sizes |= {n: m for n, m in zip(of_y, y.shape, strict=True) if sizes[n] == 1}
        for name in of_x:  # what only one operand has and the result has not is summed first
            if name not in of_y and name not in of_out:
                return self.contract(
                    self.reduce("sum", x, of_x.index(name), False),
                    y,
                    (of_x.replace(name, ""), of_y, of_out),
                )
        if any(name not in of_x and name not in of_out for name in of_y):
            return self.contract(y, x, (of_y, of_x, of_out))
        batch = [n for n in of_out if n in of_x and n in of_y]
        rows = [n for n in of_out if n in of_x and n not in of_y]
        columns = [n for n in of_out if n in of_y and n not in of_x]
        summed = [n for n in of_x if n in of_y and n not in of_out]
        if any(n not in of_x and n not in of_y for n in of_out):
            return None
        size = [math.prod(sizes[n] for n in group) for group in (batch, rows, columns, summed)]
        if 0 in size or x.dtype.kind == "i" or not _worth_a_step(*size):
            return self._multiplied(x, y, labels, sizes, summed)
        a = self._ordered(x, of_x, (batch, rows, summed), sizes)
        b = self._ordered(y, of_y, (batch, summed, columns), sizes)
        dims = tuple(n for n in (size[0], size[1], size[2]) if n != 1)
        args = (
            through_views(a.value, pointwise(len(a.value.dims))),
            through_views(b.value, pointwise(len(b.value.dims))),
        )
        value = self.made_once("product", dims, x.dtype, args, tuple(size))
        straight = Array(value, tuple(sizes[n] for n in (*batch, *rows, *columns)))
        if dims != dims_of(straight.shape):
            straight = self.reshape(Array(value, (size[0], size[1], size[2])), straight.shape)
        order = [*batch, *rows, *columns]
        return self.transpose(straight, [order.index(n) for n in of_out])

    def _ordered(self, array: Array, labels: str, groups: Any, sizes: dict[str, int]) -> Array:
        """The array as (batch, rows, columns): a view where its axes allow, else a copy.

        A copy is made in the order in which its numbers lie in memory, as BLAS can transpose it.
        """
        batch, rows, _ = groups
        order = [labels.index(n) for group in groups for n in group]
        moved = self.transpose(array, order)
        full = self.broadcast_to(moved, tuple(sizes[n] for group in groups for n in group))
        shape = tuple(math.prod(sizes[n] for n in group) for group in groups)
        _, axis_at = axes_of(full.shape)
        of_rows = [axis_at.get(len(batch) + i) for i in range(len(rows))]
        _, access = through_views(full.value, pointwise(len(full.value.dims)))
        if not access or access[-1].axis is None or access[-1].axis not in of_rows:
            return self.reshape(full, shape)
        start, middle, end = len(batch), len(batch) + len(rows), len(order)
        turned = self.transpose(full, (*range(start), *range(middle, end), *range(start, middle)))
        return self.transpose(self.reshape(turned, (shape[0], shape[2], shape[1])), (0, 2, 1))

    def _multiplied(
        self,
        x: Array,
        y: Array,
        labels: tuple[str, str, str],
        sizes: dict[str, int],
        summed: list[str],
    ) -> Array:
        """The contraction as a product at each index, summed: for what is too small for BLAS."""
        of_x, of_y, of_out = labels
        every = [*of_out, *summed]
        spread = []
        for array, names in ((x, of_x), (y, of_y)):
            moved = self.transpose(array, [names.index(n) for n in every if n in names])
            place = [i for i, n in enumerate(every) if n in names]
            shape = [1] * len(every)
            for i, n in zip(place, moved.shape, strict=True):
                shape[i] = n
            spread.append(self.reshape(moved, shape))
        product = self.map("multiply", *spread)
        gone = tuple(range(len(of_out), len(every)))
        return self.reduce("sum", product, gone, False) if gone else product


def _worth_a_step(batch: int, rows: int, columns: int, summed: int) -> bool:
    """Whether a product is large enough for a step of its own; few columns are in a long sum."""
    least = 2 if summed >= LONG_SUM else MIN_BLAS_EXTENT
    return min(rows, columns) >= least and summed >= 4 and rows * columns * summed >= 4096

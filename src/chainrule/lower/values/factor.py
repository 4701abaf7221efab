"""Factorisations of matrices and solves, as routines of LAPACK and what is made of their results.

LAPACK counts by columns and we by rows: of the memory of a it sees aᵀ, so a transposed operand is a
flag, and a matrix and its transpose have one factorisation.  What a routine gives by columns is
seen transposed.

Where a routine fails, and where an operand is not finite, the interpreter is asked instead: it
raises, or has an answer of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from chainrule.core.parts import OBJECT
from chainrule.core.spec import Shape
from chainrule.lower.values.array import Array, NotLoweredError, dims_of
from chainrule.lower.values.convolve import Convolutions
from chainrule.lower.values.layout import in_memory_order
from chainrule.lower.values.routine import (
    ARGUMENTS,
    INFO,
    ONE,
    Asked,
    Given,
    Made,
    Output,
    Routine,
    letter,
)
from chainrule.lower.values.value import BOOL, pointwise

INTEGER = np.dtype(np.int32)
MAX_INTEGER = np.iinfo(INTEGER).max
BLOCK_COLUMNS = 64  # columns that a routine takes at once, at most: what it needs memory for
FLAG = {True: "N", False: "T"}  # of a matrix as it is, and transposed


class Factors(Convolutions):
    """The part of a builder that factors matrices and solves with them."""

    def __init__(self, exported: Callable[[str], bool] | None = None) -> None:
        """`exported` says whether a routine of that name can be called."""
        super().__init__()
        self.exported = exported
        self.rare: list[Array] = []  # truths: where one holds, the interpreter is asked

    # -- linear systems ------------------------------------------------------------------------

    def cholesky(self, a: Array, upper: bool) -> Array:
        """The factor in the triangle that is read, and zeros in the other."""
        (a,) = self.floats(a)
        if 0 in a.shape:
            return self._filled(a.shape, a, 0)
        n = a.shape[-1]
        matrix, turned = self._lying(self._stacked(a))
        calls = [("potrf", ("L" if turned is not upper else "U", n, Made(0), n, INFO))]
        made = [Output((n, n), a.dtype)]
        factor, failed = self._routine(
            f"cholesky {n, n}", calls, [matrix], made, [(0, 0)], n**3 // 3
        )
        self._ask_if(failed)
        kept = np.triu(np.ones((n, n), bool)) if upper else np.tri(n, dtype=bool)
        seen = self.turned(factor) if turned else factor
        half = self.map("where", self.held(kept), seen, self.constant(0, a.dtype))
        return self.reshape(half, a.shape)

    def solve(self, a: Array, b: Array) -> Array:
        a, b = self.floats(a, b)
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
        if 0 in shape:
            return self._filled(shape, a, 0)
        a, right = self._system(a, b, shape)
        factor, pivots, _, singular, turned = self._lu(a)
        self._ask_if(singular)
        n, columns = a.shape[-1], right.shape[1]
        flag = FLAG[turned]
        calls = [("getrs", (flag, n, columns, Given(0), n, Given(1), Made(0), n, INFO))]
        operands = [factor, pivots, self.finite(self.packed(right))]
        made = [Output((columns, n), a.dtype)]
        x, _ = self._routine(
            f"solve {n, n} {n, columns}", calls, operands, made, [(0, 2)], 2 * n * n * columns
        )
        return self._solution(x, shape)

    def triangular_solve(
        self, a: Array, b: Array, lower: bool, trans: int, unit_diagonal: bool
    ) -> Array:
        """op(a)⁻¹ b; where b lies by rows, xᵀ op(a)ᵀ = bᵀ is solved in its memory."""
        a, b = self.floats(a, b)
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
        if 0 in shape:
            return self._filled(shape, a, 0)
        a, right = self._system(a, b, shape)
        if not unit_diagonal:
            diagonal = self.diagonal(a, 0, -2, -1)
            self._ask_if(self.map("equal", diagonal, self.constant(0, a.dtype)))
        matrix, turned = self._lying(a)
        right, by_rows = self._lying(right)
        n, columns = a.shape[-1], right.value.size // right.shape[0] // a.shape[-1]
        half, unit = "L" if lower is turned else "U", "U" if unit_diagonal else "N"
        flag = FLAG[turned is not bool(trans)]
        if columns == 1:
            call: Asked = ("trsv", (half, flag, unit, n, Given(0), n, Made(0), 1))
        elif by_rows:
            flag = FLAG[flag == "T"]
            sizes = columns, n, ONE, Given(0), n, Made(0), columns
            call = ("trsm", ("R", half, flag, unit, *sizes))
        else:
            call = ("trsm", ("L", half, flag, unit, n, columns, ONE, Given(0), n, Made(0), n))
        made = [Output(right.shape[1:], a.dtype)]
        name, work = f"triangular solve {n, n} {n, columns}", n * n * columns
        x, _ = self._routine(name, [call], [matrix, right], made, [(0, 1)], work)
        return self._solution(self.turned(x) if by_rows else x, shape)

    def inv(self, a: Array) -> Array:
        (a,) = self.floats(a)
        if 0 in a.shape:
            return self._filled(a.shape, a, 0)
        n = a.shape[-1]
        factor, pivots, _, singular, turned = self._lu(self._stacked(a))
        self._ask_if(singular)
        calls = [("getri", (n, Made(0), n, Given(1), Made(1), n * BLOCK_COLUMNS, INFO))]
        made = [
            Output((n, n), a.dtype),
            Output((n * BLOCK_COLUMNS,), a.dtype, each=False),
        ]
        found, *_ = self._routine(
            f"inverse {n, n}", calls, [factor, pivots], made, [(0, 0)], 4 * n**3 // 3
        )
        return self.reshape(self.turned(found) if turned else found, a.shape)

    def slogdet(self, a: Array) -> tuple[Array, Array]:
        """The sign of the determinant, and the logarithm of its size."""
        (a,) = self.floats(a)
        stack = a.shape[:-2]
        if 0 in a.shape:
            return self._filled(stack, a, 1), self._filled(stack, a, 0)
        factor, _, parity, _, _ = self._lu(self._stacked(a))
        diagonal = self.diagonal(factor, 0, -2, -1)
        signs = self.reduce("prod", self.map("sign", diagonal), -1, False)
        logs = self.maths("log", self.map("absolute", diagonal))
        sign = self.map("multiply", parity, signs)
        return self.reshape(sign, stack), self.reshape(self.reduce("sum", logs, -1, False), stack)

    def det(self, a: Array) -> Array:
        sign, log = self.slogdet(a)
        return self.map("multiply", sign, self.maths("exp", log))

    def _lu(self, a: Array) -> tuple[Array, Array, Array, Array, bool]:
        """Factors, pivots, the pivots' sign, what is singular, and whether they are those of aᵀ."""
        n = a.shape[-1]
        matrix, turned = self._lying(a)
        calls: list[Asked] = [
            ("getrf", (n, n, Made(0), n, Made(1), INFO)),
            ("parity", (n, Made(1), Made(2))),
        ]
        made = [
            Output((n, n), a.dtype),
            Output((n,), INTEGER),
            Output((), a.dtype),
        ]
        found = self._routine(f"LU {n, n}", calls, [matrix], made, [(0, 0)], 2 * n**3 // 3)
        factor, pivots, parity, singular = found
        return factor, pivots, parity, singular, turned

    # -- decompositions: as NumPy asks for them, so that signs and phases are the same ---------

    def eigh(self, a: Array, UPLO: str) -> tuple[Array, Array]:
        (a,) = self.floats(a)
        *stack, n, _ = a.shape
        if 0 in a.shape:
            return self._filled((*stack, n), a, 0), self._filled(a.shape, a, 0)
        matrix = self._by_columns(a)
        words, whole = 1 + (6 + BLOCK_COLUMNS) * n + 2 * n * n, 3 + 5 * n
        sizes = Made(2), words, Made(3), whole, INFO
        calls = [("syevd", ("V", UPLO.upper(), n, Made(0), n, Made(1), *sizes))]
        made = [
            Output((n, n), a.dtype), Output((n,), a.dtype),
            Output((words,), a.dtype, each=False), Output((whole,), INTEGER, each=False),
        ]  # fmt: skip
        found = self._routine(f"eigh {n, n}", calls, [matrix], made, [(0, 0)], 9 * n**3)
        vectors, values, _, _, failed = found
        self._ask_if(failed)
        return self.reshape(values, (*stack, n)), self.reshape(self.turned(vectors), a.shape)

    def qr(self, a: Array, mode: str) -> tuple[Array, Array]:
        """Q and R of matrices with at least as many rows as columns."""
        (a,) = self.floats(a)
        *stack, m, n = a.shape
        k = m if mode == "complete" else n
        if 0 in a.shape:
            raise NotLoweredError("the matrix is empty")
        words = BLOCK_COLUMNS * k
        beside = Output((n,), a.dtype), Output((words,), a.dtype, each=False)
        calls = [("geqrf", (m, n, Made(0), m, Made(1), Made(2), words, INFO))]
        made = [Output((n, m), a.dtype), *beside]
        operands = [self._by_columns(a)]
        reflected, scales, *_ = self._routine(
            f"QR {m, n}", calls, operands, made, [(0, 0)], 2 * m * n * n
        )
        made, operands = [Output((k, m), a.dtype), beside[1]], [reflected, scales]
        back = [("orgqr", (m, k, n, Made(0), m, Given(1), Made(1), words, INFO))]
        q, *_ = self._routine(f"Q of QR {m, n}", back, operands, made, [(0, 0)], 2 * m * n * k)
        upper = self.held(np.triu(np.ones((k, n), bool)))
        r = self.getitem(self.turned(reflected), (slice(None), slice(k)))
        r = self.map("where", upper, r, self.constant(0, a.dtype))
        return self.reshape(self.turned(q), (*stack, m, k)), self.reshape(r, (*stack, k, n))

    def svd(self, a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
        (a,) = self.floats(a)
        *stack, m, n = a.shape
        if 0 in a.shape:
            raise NotLoweredError("the matrix is empty")
        k, most = min(m, n), max(m, n)
        rows, columns = (m, n) if full_matrices else (k, k)
        words = 4 * k * k + 7 * k + most + 2 * BLOCK_COLUMNS * most
        sizes = Made(2), m, Made(3), columns, Made(4), words, Made(5), INFO
        calls = [("gesdd", ("A" if full_matrices else "S", m, n, Made(0), m, Made(1), *sizes))]
        made = [
            Output((n, m), a.dtype), Output((k,), a.dtype), Output((rows, m), a.dtype),
            Output((n, columns), a.dtype), Output((words,), a.dtype, each=False),
            Output((8 * k,), INTEGER, each=False),
        ]  # fmt: skip
        work = 4 * most * k * k + 22 * k**3
        found = self._routine(f"svd {m, n}", calls, [self._by_columns(a)], made, [(0, 0)], work)
        _, s, u, vh, _, _, failed = found
        self._ask_if(failed)
        return (
            self.reshape(self.turned(u), (*stack, m, rows)),
            self.reshape(s, (*stack, k)),
            self.reshape(self.turned(vh), (*stack, columns, n)),
        )

    # -- matrices in memory --------------------------------------------------------------------

    def _routine(
        self,
        name: str,
        calls: Sequence[Asked],
        operands: Sequence[Array],
        made: Sequence[Output],
        starts: Sequence[tuple[int, int]],
        flops: int,
    ) -> list[Array]:
        """The results, one per matrix of the stack, and last whether a call failed."""
        dtype = made[0].dtype
        if self.exported is None:
            raise NotLoweredError("a routine failed, or an operand was not finite")
        for routine, arguments in calls:
            called = letter(dtype) + routine
            if routine in ARGUMENTS and not self.exported(called):
                raise NotLoweredError(f"SciPy does not export {called}")
            if any(isinstance(a, int) and a > MAX_INTEGER for a in arguments):
                raise NotLoweredError(f"{called} does not count so far")
        batch = max(a.shape[0] for a in operands)
        results = (*made, Output((), BOOL))
        asked = Routine(
            name,
            batch,
            tuple(calls),
            tuple(r._replace(dims=dims_of(r.dims)) for r in results),
            tuple(starts),
            tuple(a.shape[0] < batch for a in operands),
            flops,
        )
        args = tuple((a.value, pointwise(len(a.value.dims))) for a in operands)
        value = self.made_once("routine", (), OBJECT, args, asked)
        found = []
        for i, (dims, of, each) in enumerate(results):
            shape = (batch if each else 1, *dims)
            whole = self.made_once("result", dims_of(shape), of, ((value, ()),), i)
            found.append(Array(whole, shape))
        return found

    def _stacked(self, a: Array) -> Array:
        """(count, rows, columns)."""
        return self.reshape(a, (prod(a.shape[:-2]), *a.shape[-2:]))

    def turned(self, a: Array) -> Array:
        """The last two axes swapped."""
        rank = a.ndim
        return self.transpose(a, (*range(rank - 2), rank - 1, rank - 2))

    def _lying(self, a: Array) -> tuple[Array, bool]:
        """A stack as it lies in memory, each matrix by rows, and whether that is its transpose."""
        value, order = in_memory_order(a.value)
        rank, (count, rows, columns) = len(order), a.shape
        if 1 in (rows, columns) or order != (*range(rank - 2), rank - 1, rank - 2):
            return self.finite(self.packed(a)), False
        return self.finite(Array(value, (count, columns, rows))), True

    def _by_columns(self, a: Array) -> Array:
        """A stack that lies in memory by columns."""
        return self.finite(self.packed(self.turned(self._stacked(a))))

    def packed(self, array: Array) -> Array:
        found = super().packed(array)
        if found.number is None:
            return found
        copied = self.made_once("map", (), array.dtype, ((found.value, ()),), "copy")
        return Array(copied, array.shape)

    def _system(self, a: Array, b: Array, shape: Shape) -> tuple[Array, Array]:
        """The stack of matrices, and per matrix the right sides, each a row of its own.

        One matrix has the right sides of all the stack.
        """
        (*stack, n, columns), count = shape, prod(a.shape[:-2])
        if count != 1:
            count, a = prod(stack), self.broadcast_to(a, (*stack, n, n))
        right = self.turned(self.broadcast_to(b, shape))
        return self._stacked(a), self.reshape(right, (count, prod(stack) * columns // count, n))

    def _solution(self, x: Array, shape: Shape) -> Array:
        """What stands row by row in x, as columns."""
        (*stack, n, columns) = shape
        return self.turned(self.reshape(x, (*stack, columns, n)))

    def _filled(self, shape: Sequence[int], like: Array, number: int) -> Array:
        return self.held(np.full(shape, number, like.dtype))

    def finite(self, a: Array) -> Array:
        """The array itself; where it is not finite, the interpreter is asked."""
        self._ask_if(self.map("logical_not", self.map("isfinite", a)))
        return a

    def _ask_if(self, truth: Array) -> None:
        """Ask the interpreter where this holds anywhere."""
        found = self.reduce("any", truth, None, False)
        if all(found.value is not known.value for known in self.rare):
            self.rare.append(found)

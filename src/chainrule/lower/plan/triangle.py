"""Products are computed in the parts that `values/cuts.py` found, where their memory allows it.

Where the axis is several triangles one after the other, (k, i) with the same pattern in i for every
k, memory has i before k: then a block of i is a block of the matrix that BLAS sees.
"""

from __future__ import annotations

from chainrule.lower.plan.arrange import LONG_AXIS, SHORT_AXIS, bound_to_order, seen_as, written
from chainrule.lower.plan.fuse import Kernel, Plan, Product, Step
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.values.cuts import AXES, Cut, split_axis
from chainrule.lower.values.value import Dim, Value, root


def cut_products(plan: Plan, found: dict[Value, Cut]) -> set[int]:
    """Let the products of a plan be computed in parts, where their memory allows it.

    Given back are the extents that are best put last in memory: with triangles side by side a
    gradient of a mixture in 64 dimensions takes 36 ms so, and 40 ms with the triangles last.
    """
    steps = {s.value: s for s in plan.steps if isinstance(s, Product) and s.value in found}
    turned = _Turned(plan, {v: found[v] for v in steps if found[v].repeats > 1})
    turned.settle()
    for v, step in steps.items():
        cut = found[v]
        if cut.repeats == 1 or v in turned.products:
            sizes = dict(zip(AXES, v.params[1:], strict=True))
            step.boxes, step.share = cut.boxes(sizes[cut.over]), cut.share
    turned.apply()
    long = {v.dims[0] for v, cut in turned.products.items() if cut.axis == "columns"}
    return {n for n in long if n >= LONG_AXIS}


class _Turned:
    """The memory in which triangles side by side are put element by element."""

    def __init__(self, plan: Plan, products: dict[Value, Cut]):
        self.plan, self.products = plan, products
        self.bound = bound_to_order(plan)
        self.views = seen_as(plan)
        self.made = {v for step in plan.steps for v in written(step)}
        self.read_by: dict[Value, list[Step]] = {}
        for step in plan.steps:
            for value in reads_and_writes(step)[0]:
                self.read_by.setdefault(value, []).append(step)

    def settle(self) -> None:
        """Leave out what cannot be turned, until the rest fits together."""
        before = -1
        while len(self.products) != before:
            before = len(self.products)
            self.memories = {
                (root(merged), axis)
                for v, cut in self.products.items()
                for merged, axis in self._merged(v, cut)
            }
            self.products = {v: c for v, c in self.products.items() if self._fits(v, c)}

    def apply(self) -> None:
        """Say so in the order of every value that is such memory."""
        turned: dict[Value, int] = {}  # and the first of its two axes
        for v, cut in self.products.items():
            for merged, axis in self._merged(v, cut):
                turned |= dict.fromkeys(self._as_two(merged), axis)
        for value, axis in turned.items():
            order = list(value.order or range(len(value.dims)))
            k = order.index(axis)
            order[k : k + 2] = order[k + 1], order[k]
            value.order = tuple(order)
        for step in self.plan.steps:
            if isinstance(step, Kernel):
                self._follow(step, turned)

    def _operand(self, v: Value, cut: Cut) -> tuple[Value, int]:
        """The operand that has the axis of the cut, and as which of its own."""
        axis = AXES.index(cut.axis)
        operand, access = v.args[axis]
        return operand, next(p for p, d in enumerate(access) if d == Dim(axis))

    def _merged(self, v: Value, cut: Cut) -> list[tuple[Value, int]]:
        """What has the triangles side by side, and along which axis: an operand and the result."""
        return [self._operand(v, cut), (v, AXES.index(cut.axis))]

    def _as_two(self, merged: Value) -> list[Value]:
        """The values of one memory that have the axis as two; that it has no others is known."""
        return [v for v in self.views.get(root(merged), ()) if len(v.dims) == len(merged.dims) + 1]

    def _fits(self, v: Value, cut: Cut) -> bool:
        if split_axis(*v.args[AXES.index(cut.axis)], AXES.index(cut.axis)) is None:
            return False  # it is a copy for BLAS
        if root(self._operand(v, cut)[0]).kind == "product":
            return False
        return all(
            self._fits_memory(merged, axis, (cut.repeats, merged.dims[axis] // cut.repeats))
            for merged, axis in self._merged(v, cut)
        )

    def _fits_memory(self, merged: Value, axis: int, parts: tuple[int, int]) -> bool:
        """Whether all who use a memory see the axis as two, or are products turned alike."""
        base = root(merged)
        if base in self.bound or base not in self.made:
            return False
        split = (*merged.dims[:axis], *parts, *merged.dims[axis + 1 :])
        for value in self.views.get(base, [base]):
            if value.dims == split:
                innermost = axis + 2 == len(split)
                if innermost and parts[0] < SHORT_AXIS and split[0] < LONG_AXIS:
                    return False  # they would not fill a register, nor would what else is there
            elif value.dims != merged.dims or not all(
                self._reads_alike(step, value, axis) for step in self.read_by.get(value, ())
            ):
                return False
        return True

    def _reads_alike(self, step: Step, value: Value, axis: int) -> bool:
        """Whether a step is a product that is turned, or sums over two memories that are."""
        if not isinstance(step, Product) or step.value.params[0] != 1:
            return False
        (a, of_a), (b, of_b) = step.value.args
        if step.value in self.products:
            return a is not b and self._operand(step.value, self.products[step.value]) == (
                value, axis,
            )  # fmt: skip
        if of_a.count(Dim(1)) != 1 or of_b.count(Dim(0)) != 1:
            return False
        summed = {(root(a), of_a.index(Dim(1))), (root(b), of_b.index(Dim(0)))}
        return (root(value), axis) in summed and summed <= self.memories

    def _follow(self, kernel: Kernel, turned: dict[Value, int]) -> None:
        """Tables over the two axes alone are put in the same order."""
        axes = {
            (access[turned[a]], access[turned[a] + 1])
            for _, _, a, access in kernel.reads()
            if a in turned
        } | {(Dim(turned[v]), Dim(turned[v] + 1)) for v in written(kernel) if v in turned}
        tables = [(a, access) for _, _, a, access in kernel.reads()]
        for v in kernel.body:
            if v.kind == "reduce":
                kept = [Dim(i) for i in range(len(kernel.dims)) if i not in v.params[1]]
                tables.append((v, tuple(kept)))
        for value, access in tables:
            alone = self.views.get(value, [value]) == [value] and value in self.made
            if alone and access in axes and value not in self.bound:
                value.order = (1, 0)

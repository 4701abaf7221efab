"""A loop nest as an LLVM function.

An instruction stands in the outermost loop that knows its operands; only the innermost loop is
computed in vectors.  The last, incomplete vector is computed under a mask.  A sum is kept in
several registers, these are added up every few thousand terms, and so on outwards: the order is
fixed, and the error grows slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.lower.code.access import gather, load, spread
from chainrule.lower.code.folds import Folds, neutral
from chainrule.lower.code.lanes import Frame, in_memory
from chainrule.lower.code.scalars import SCALARS, apply
from chainrule.lower.plan.loops import Fold, Nest, Place
from chainrule.lower.values.value import KNOWN, Access, Value

CHUNK = 64  # vectors, times unrolling, that are added up before they join a larger sum


class Emitter(Folds):
    """Writes the loops of a nest, and what is computed in them."""

    def __init__(self, nest: Nest, frame: Frame):
        super().__init__(nest, frame)
        self.rows: list[tuple[str, dict[Any, str]]] = []  # computed together: index, and values
        self.known: dict[Any, str] = {}  # values and reads of outer loops, as numbers
        self.spread: dict[tuple[str, str, int], str] = {}
        self.level_of = self._levels()

    # -- where things stand --------------------------------------------------------------------

    def _levels(self) -> dict[Any, int]:
        """How many loops each read and each value of the body stands in."""
        levels: dict[Any, int] = {}
        for key, place in self.nest.reads.items():
            levels[key] = max((i + 1 for i, s in enumerate(place.strides) if s), default=0)
        for v in self.nest.body:
            found = 0
            for a, access in v.args[1:] if v.params == "take" else v.args:
                found = max(found, levels[a, access] if (a, access) in levels else levels.get(a, 0))
            levels[v] = found
        return levels

    def run(self) -> None:
        offsets: dict[Value, set[int]] = {}
        for place in self._all_places():
            offsets.setdefault(place.value, set()).add(place.offset)
        for v in self.nest.body:
            if v.params == "take":
                offsets.setdefault(v.args[0][0], set()).add(0)
        for value, found in offsets.items():
            # One offset is the caller's matter: slices of an array have their code in common.
            self._pointer(value, min(found) if len(found) == 1 else 0)
        if 0 in self.nest.extents:
            for fold in self.nest.folds:
                self._fill(fold)
            return
        for fold in self.nest.folds:
            if fold.value not in self.frame.totals and self._through_memory(fold):
                self._fill(fold)
        started = [f for f in self.nest.folds if f.value in self.frame.totals]
        if started:
            self._at_first_row(started)
        self._nest(0)

    def _at_first_row(self, folds: list[Fold]) -> None:
        """Let sums over all tiles of a chunk begin with the first."""
        code, first, on = self.code, self.code.label("first"), self.code.label("on")
        begins = self.frame.begins(code)
        code.line(f"br i1 {begins}, label %{first}, label %{on}")
        self.code.enter(first)
        for fold in folds:
            self._fill(fold)
        code.line(f"br label %{on}")
        self.code.enter(on)

    def _all_places(self) -> list[Place]:
        nest = self.nest
        return [*nest.reads.values(), *nest.writes.values(), *(f.place for f in nest.folds)]

    # -- the nest ------------------------------------------------------------------------------

    def _nest(self, k: int) -> dict[Fold, str]:
        """Everything inside k loops; per fold that is folded from here on, the sum so far."""
        self._scalars(k)
        if k == self.depth:
            self._scalar_results()
            return {}
        if k == self.depth - 1:
            sums = self._vectors()
        elif k == self.depth - 2 and self.nest.jam > 1:
            self._rows_together()
            sums = {}
        else:
            folding = [f for f in self.nest.folds if self._suffix(f) <= k]
            types = [(self._acc_type(f), self._acc_start(f)) for f in folding]

            def body(i: str, names: list[str]) -> list[str]:
                self.index.append(i)
                found = self._nest(k + 1)
                self.index.pop()
                return [
                    self._combine(f, n, found[f], self.nest.lanes)
                    for f, n in zip(folding, names, strict=True)
                ]

            totals = self.code.loop("0", str(self.nest.extents[k]), types, body)
            sums = dict(zip(folding, totals, strict=True))
        for fold in [f for f in sums if self._suffix(f) == k]:
            self._finish(fold, sums.pop(fold))
        return sums

    def _rows_together(self) -> None:
        """The last two loops, several rows at a time: what they add to a sum is added up first."""
        nest, code = self.nest, self.code

        def body(i: str, names: list[str]) -> list[str]:
            self._enter_rows(code.put(f"mul i64 {i}, {nest.jam}"), nest.jam)
            self._vectors()
            self.rows.clear()
            return []

        self.code.loop("0", str(nest.extents[-2] // nest.jam), [], body)

    def _enter_rows(self, first: str, count: int) -> None:
        """What is the same all along each of so many rows, from there on."""
        outer = self.known
        for r in range(count):
            self.index.append(self.code.put(f"add i64 {first}, {r}") if r else first)
            self.known = dict(outer)
            self._scalars(self.depth - 1)
            self.rows.append((self.index.pop(), self.known))
        self.known = outer

    def _row_bodies(self, at: str, mask: str | None) -> dict[Fold, str]:
        """One vector of each row that is computed together."""
        nest, outer = self.nest, self.known
        terms: dict[Fold, list[str]] = {fold: [] for fold in nest.folds}
        for index, known in self.rows:
            self.index.append(index)
            self.known = known
            (here,) = self._computed([at], mask)
            for fold in nest.folds:
                terms[fold].append(self._operand(fold.value, 0, here, nest.lanes))
            self.index.pop()
        self.known = outer
        self.index.append("0")
        for fold, parts in terms.items():
            while len(parts) > 1:
                pairs = zip(parts[::2], parts[1::2], strict=False)
                left = parts[-1:] if len(parts) % 2 else []
                parts = [*(self._combine(fold, a, b, nest.lanes) for a, b in pairs), *left]
            total = parts[0]
            if self._through_memory(fold):
                before = self._load(fold.place, at, nest.lanes, mask)
                total = self._combine(fold, before, total, nest.lanes)
            self._store(fold.place, total, at, nest.lanes, mask)
        self.index.pop()
        return {}

    def _scalars(self, k: int) -> None:
        """Reads and values that need k loops, and not the innermost; numbers, not vectors."""
        if k == self.depth and self.depth:
            return
        for v in self.nest.body:
            for a, access in v.args[1:] if v.params == "take" else v.args:
                if (a, access) in self.nest.reads and self.level_of[a, access] == k:
                    self._outer_read(a, access)
            if v.kind == "map" and self.level_of[v] == k:
                self.known[v] = self._applied(v, self.known, 1)

    def _outer_read(self, a: Value, access: Access) -> None:
        if (a, access) not in self.known:
            self.known[a, access] = self._load(self.nest.reads[a, access], "0", 1, None)

    def _scalar_results(self) -> None:
        """A kernel without loops: stores, and folds of nothing."""
        for v, place in self.nest.writes.items():
            self._store(place, self.known[v], "0", 1, None)

    def _vectors(self) -> dict[Fold, str]:
        """The innermost loop: whole blocks, then what is left of a block."""
        nest, lanes = self.nest, self.nest.lanes
        self.spread = {}
        folding = [f for f in nest.folds if self.depth - 1 in f.axes]
        n, width = nest.extents[-1], lanes * nest.unroll
        blocks, sums = n // width, dict.fromkeys(folding, "")
        if blocks == 1 and nest.unroll == 1:
            for fold, value in self._body("0", None).items():
                sums[fold] = value
        elif blocks:
            sums = self._blocks(folding, blocks)
        at = blocks * width
        while at < n:
            left = n - at
            mask = None if left >= lanes else self._tail_mask(left)
            for fold, value in self._body(str(at), mask).items():
                sums[fold] = self._combine(fold, sums[fold], value, lanes) if sums[fold] else value
            at += lanes
        return sums

    def _tail_mask(self, left: int) -> str:
        lanes = self.nest.lanes
        if lanes == 1:
            return "true"
        return "<" + ", ".join(f"i1 {'true' if i < left else 'false'}" for i in range(lanes)) + ">"

    def _blocks(self, folding: list[Fold], blocks: int) -> dict[Fold, str]:
        nest, code, unroll = self.nest, self.code, self.nest.unroll
        types = [(self._acc_type(f), self._acc_start(f)) for f in folding for _ in range(unroll)]

        def one_block(i: str, names: list[str]) -> list[str]:
            at = code.put(f"mul i64 {i}, {nest.lanes * unroll}")
            places = [
                code.put(f"add i64 {at}, {u * nest.lanes}") if u else at for u in range(unroll)
            ]
            found = self._bodies(places)
            return [
                self._combine(f, names[j * unroll + u], found[u][f], nest.lanes)
                for j, f in enumerate(folding)
                for u in range(unroll)
            ]

        def added(totals: list[str]) -> list[str]:
            sums = []
            for j, f in enumerate(folding):
                parts = totals[j * unroll : (j + 1) * unroll]
                while len(parts) > 1:
                    parts = [
                        self._combine(f, a, b, nest.lanes)
                        for a, b in zip(parts[::2], parts[1::2], strict=True)
                    ]
                sums.append(parts[0])
            return sums

        if not folding or blocks <= 2 * CHUNK:
            return dict(
                zip(folding, added(self.code.loop("0", str(blocks), types, one_block)), strict=True)
            )

        def one_chunk(c: str, names: list[str]) -> list[str]:
            first = code.put(f"mul i64 {c}, {CHUNK}")
            beyond = code.put(f"add i64 {first}, {CHUNK}")
            end = code.intrinsic("smin", "i64", 1, beyond, str(blocks))
            sums = added(self.code.loop(first, end, types, one_block))
            return [
                self._combine(f, n, s, nest.lanes)
                for f, n, s in zip(folding, names, sums, strict=True)
            ]

        outer = [(self._acc_type(f), self._acc_start(f)) for f in folding]
        totals = self.code.loop("0", str(-(-blocks // CHUNK)), outer, one_chunk)
        return dict(zip(folding, totals, strict=True))

    def _computed(self, places: Sequence[str], mask: str | None) -> list[dict[Any, str]]:
        """Vectors of every value of the innermost loop, with what is written of them.

        Several are computed in turns, instruction by instruction: a chain of operations waits for
        itself, but not for its neighbour.
        """
        nest, lanes = self.nest, self.nest.lanes
        every: list[dict[Any, str]] = [{} for _ in places]
        for key, place in nest.reads.items():
            if self.level_of[key] == self.depth:
                for here, at in zip(every, places, strict=True):
                    here[key] = self._load(place, at, lanes, mask)
        for v in nest.body:
            if v.kind == "map" and self.level_of[v] == self.depth:
                for here in every:
                    here[v] = self._applied(v, here, lanes)
        for v, place in nest.writes.items():
            for here, at in zip(every, places, strict=True):
                self._store(place, self._vector(v, here), at, lanes, mask)
        return every

    def _bodies(self, places: Sequence[str]) -> list[dict[Fold, str]]:
        """Several vectors of everything."""
        if self.rows:
            return [self._row_bodies(at, None) for at in places]
        computed = self._computed(places, None)
        return [self._folded(at, None, here) for at, here in zip(places, computed, strict=True)]

    def _body(self, at: str, mask: str | None) -> dict[Fold, str]:
        """One vector of everything; per fold of the innermost loop what it adds."""
        if self.rows:
            return self._row_bodies(at, mask)
        (here,) = self._computed([at], mask)
        return self._folded(at, mask, here)

    def _folded(self, at: str, mask: str | None, here: dict[Any, str]) -> dict[Fold, str]:
        nest, lanes = self.nest, self.nest.lanes
        found: dict[Fold, str] = {}
        for fold in nest.folds:
            term = self._operand(fold.value, 0, here, lanes)
            function, _ = fold.value.params
            kind = KNOWN[fold.value.dtype]
            if self.depth - 1 in fold.axes:
                if mask is not None:
                    rest = self.code.constant(neutral(function, kind), kind, lanes)
                    term = SCALARS["where"](self.code, kind, lanes, mask, term, rest)
                found[fold] = term
            else:
                before = self._load(fold.place, at, lanes, mask)
                self._store(fold.place, self._combine(fold, before, term, lanes), at, lanes, mask)
        return found

    # -- values --------------------------------------------------------------------------------

    def _taken(self, v: Value, here: dict[Any, str], lanes: int) -> str:
        """Elements of an array in memory, each where its position says."""
        code, kind = self.code, KNOWN[v.dtype]
        element, (base, _) = in_memory(kind), self.pointers[v.args[0][0]]
        at, align = self._operand(v, 1, here, lanes), v.dtype.itemsize
        of = "i64" if lanes == 1 else f"<{lanes} x i64>"
        pointers = code.put(f"getelementptr {element}, ptr {base}, {of} {at}")
        take = load if lanes == 1 else gather
        return self._as_truth(take(code, element, lanes, pointers, align), kind, lanes)

    def _applied(self, v: Value, here: dict[Any, str], lanes: int) -> str:
        if v.params == "take":
            return self._taken(v, here, lanes)
        kinds = [KNOWN[a.dtype] for a, _ in v.args]
        args = [self._operand(v, i, here, lanes) for i in range(len(v.args))]
        return apply(self.code, v.params, kinds[-1], lanes, args, KNOWN[v.dtype])

    def _operand(self, v: Value, i: int, here: dict[Any, str], lanes: int) -> str:
        a, access = v.args[i]
        kind = KNOWN[a.dtype]
        if a.kind == "constant" and a.size == 1:
            return self.code.constant(a.params, kind, lanes)
        key: Any = (a, access) if (a, access) in self.level_of else a
        if key in here:
            return here[key]
        return spread(self.code, kind, lanes, self.known[key])

    def _vector(self, v: Value, here: dict[Any, str]) -> str:
        found = here.get(v)
        return (
            found
            if found is not None
            else spread(self.code, KNOWN[v.dtype], self.nest.lanes, self.known[v])
        )

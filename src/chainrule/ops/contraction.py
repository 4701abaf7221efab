"""einsum: a sum over named indices, taken apart into products of two operands and sums of one.

`np.einsum("ij,jk,kl->il", a, b, c)` is recorded as two `einsum_pair`, each a matrix product; an
index that repeats within one operand, or that only one operand has, is first removed by an
`einsum_single`.  So no derivative costs more than a few times what the value did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall
from chainrule.core.depends import FILLS
from chainrule.core.op import Op, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec, dummy
from chainrule.errors import ArgumentError, ShapeError, UnsupportedError
from chainrule.ops.define import composite, linear, multilinear
from chainrule.ops.joining import as_array
from chainrule.ops.products import complexes
from chainrule.ops.samples import draw

WORTH_A_MATRIX_PRODUCT = (
    4096  # multiplications, from which rearranging for BLAS is faster than a loop
)


def _split(subscripts: str) -> tuple[list[str], str]:
    terms, out = subscripts.split("->")
    return terms.split(","), out


def _sized(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of each index; an operand of size one repeats along the others' index."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for index, n in zip(term, shape, strict=True):
            have = sizes.get(index, 1)
            if n != have and 1 not in (n, have):
                raise ShapeError(
                    f"einsum of {_shown(shapes)}: index {index!r} has sizes {have} and {n}."
                )
            sizes[index] = n if have == 1 else have
    return sizes


def _shown(shapes: Sequence[tuple[int, ...]]) -> str:
    return " and ".join(map(str, shapes))


def _labelled(call: BatchCall) -> Any:
    """The lanes are one more index, of the result and of the operands that differ by lane."""
    subscripts = call.attrs["subscripts"]
    lane = next((c for c in reversed(ascii_letters) if c not in subscripts), None)
    if lane is None:
        return None
    terms, out = _split(subscripts)
    args = [call.raw(i) for i in range(len(call.args))]
    if "shape" in call.attrs:  # einsum_spread, whose operand is indexed as the result elsewhere
        changed = f"{lane}{terms[0]}->{lane}{out}"
        return call.call(*args, subscripts=changed, shape=(call.count, *call.attrs["shape"]))
    terms = [lane + term if call.on(i) else term for i, term in enumerate(terms)]
    return call.call(*args, subscripts=f"{','.join(terms)}->{lane}{out}")


# -- one operand -----------------------------------------------------------------------------


def _single_spec(x: Any, subscripts: str) -> Spec:
    (term,), out = _split(subscripts)
    sizes = _sized([term], [x.shape])
    return Spec(tuple(sizes[i] for i in out), np.dtype(x.dtype))


def _single_lowered(b: Any, x: Any, subscripts: str) -> Any:
    """Diagonals, then sums, then the order of the axes."""
    (term,), out = _split(subscripts)
    while len({*term}) < len(term):
        twice = next(i for i in term if term.count(i) > 1)
        first = term.index(twice)
        second = term.index(twice, first + 1)
        x = b.diagonal(x, 0, first, second)
        term = "".join(n for k, n in enumerate(term) if k not in (first, second)) + twice
    gone = tuple(k for k, n in enumerate(term) if n not in out)
    if gone:
        x = b.reduce("sum", x, gone, False)
    left = [n for n in term if n in out]
    return b.transpose(x, [left.index(n) for n in out])


einsum_single = linear(
    "einsum_single",
    lambda x, subscripts: np.einsum(subscripts, x)[()],
    lambda g, x_spec, subscripts: einsum_spread(g, subscripts=subscripts, shape=x_spec.shape),
    samples=lambda: [
        sample(draw((3, 3), -2, 2), subscripts="ii->i"),
        sample(draw((3, 3), -2, 2), subscripts="ii->"),
        sample(draw((2, 3, 4), -2, 2), subscripts="abc->ca"),
        sample(draw((3, 2, 3), -2, 2).astype("f"), subscripts="aba->b"),
        sample(complexes((3, 3, 2)), subscripts="iij->ji"),
    ],
    spec=_single_spec,
    view=True,
    doc="einsum of one operand: diagonals, sums over axes, and their order.",
    lower=_single_lowered,
    batch=_labelled,
)


def _spread(x: Any, subscripts: str, shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` but on the diagonals that `subscripts` reads, where x stands repeatedly."""
    (term,), out = _split(subscripts)
    full = np.zeros(shape, x.dtype)
    letters = "".join(dict.fromkeys(term))
    diagonal = np.einsum(f"{term}->{letters}", full)  # a view
    aligned = np.einsum(f"{out}->{''.join(i for i in letters if i in out)}", x)
    diagonal[...] = aligned[tuple(slice(None) if i in out else None for i in letters)]
    return full


def _spread_lowered(b: Any, x: Any, subscripts: str, shape: tuple[int, ...]) -> Any:
    (term,), out = _split(subscripts)
    letters = "".join(dict.fromkeys(term))
    sizes = dict(zip(term, shape, strict=True))
    aligned = b.transpose(x, [out.index(n) for n in letters if n in out])
    aligned = b.reshape(aligned, [sizes[n] if n in out else 1 for n in letters])
    full = b.broadcast_to(aligned, tuple(sizes[n] for n in letters))
    return full if letters == term else b.embed_along(full, tuple(map(letters.index, term)), shape)


einsum_spread: Op = linear(
    "einsum_spread",
    _spread,
    lambda g, subscripts: einsum_single(g, subscripts=subscripts),
    samples=lambda: [
        sample(draw((3,), -2, 2), subscripts="ii->i", shape=(3, 3)),
        sample(draw((2,), -2, 2), subscripts="aba->b", shape=(3, 2, 3)),
        sample(draw((), -2, 2), subscripts="ij->", shape=(2, 3)),
        sample(complexes((2, 3)), subscripts="iij->ji", shape=(3, 3, 2)),
    ],
    spec=lambda x, subscripts, shape: Spec(tuple(shape), np.dtype(x.dtype)),
    depends=FILLS,
    doc="The transpose of `einsum_single`.",
    lower=_spread_lowered,
    batch=_labelled,
)


# -- two operands ----------------------------------------------------------------------------


def _pair(x: Any, y: Any, subscripts: str) -> Any:
    """einsum of two operands; by a matrix product where that is faster."""
    (a, b), out = _split(subscripts)
    shared = [i for i in a if i in b]
    summed = [i for i in shared if i not in out]
    stacked = [i for i in shared if i in out]
    rows, columns = [i for i in a if i not in b], [i for i in b if i not in a]
    sizes = dict(zip(a + b, x.shape + y.shape, strict=True))
    if not summed or not (rows or columns) or math.prod(sizes.values()) < WORTH_A_MATRIX_PRODUCT:
        return np.einsum(subscripts, x, y)[()]

    def grouped(v: Any, term: str, groups: Sequence[list[str]]) -> Any:
        order = [term.index(i) for group in (stacked, *groups) for i in group]
        shape = [sizes[i] for i in stacked] + [
            math.prod(sizes[i] for i in group) for group in groups
        ]
        return np.transpose(v, order).reshape(shape)

    product = grouped(x, a, (rows, summed)) @ grouped(y, b, (summed, columns))
    made = [*stacked, *rows, *columns]
    return np.transpose(product.reshape([sizes[i] for i in made]), [made.index(i) for i in out])[()]


def _pair_spec(x: Any, y: Any, subscripts: str) -> Spec:
    terms, out = _split(subscripts)
    sizes = _sized(terms, [x.shape, y.shape])
    return Spec(tuple(sizes[i] for i in out), np.result_type(x.dtype, y.dtype))


def _pull_first(g: Any, y: Any, subscripts: str) -> Any:
    (a, b), out = _split(subscripts)
    return einsum_pair(g, conjugate(y), subscripts=f"{out},{b}->{a}")


def _pull_second(g: Any, x: Any, subscripts: str) -> Any:
    (a, b), out = _split(subscripts)
    return einsum_pair(conjugate(x), g, subscripts=f"{a},{out}->{b}")


def _pair_samples() -> list[Sample]:
    big = draw((8, 3, 20), -2, 2), draw((20, 3, 10), -2, 2, 1)
    return [
        sample(draw((2, 3), -2, 2), draw((3, 4), -2, 2), subscripts="ij,jk->ik"),
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2, 1), subscripts="ij,ij->i"),
        sample(draw((2,), -2, 2), draw((3,), -2, 2), subscripts="i,j->ji"),
        sample(draw((), -2, 2), draw((3,), -2, 2), subscripts=",j->j"),
        sample(complexes((2, 3)), complexes((3, 2)), subscripts="ij,ji->"),
        sample(
            draw((2, 3), -2, 2).astype("f"), draw((3,), -2, 2).astype("f"), subscripts="ij,j->i"
        ),
        sample(*big, subscripts="abc,cbd->dba"),
    ]


einsum_pair = multilinear(
    "einsum_pair",
    _pair,
    (_pull_first, _pull_second),
    samples=_pair_samples,
    bad=lambda: [sample(np.ones((2, 3)), np.ones((4, 2)), subscripts="ij,jk->ik")],
    spec=_pair_spec,
    doc="einsum of two operands, of which each index is in the result or in both.",
    lower=lambda b, x, y, subscripts: b.einsum(x, y, subscripts),
    batch=_labelled,
)


# -- any number ------------------------------------------------------------------------------


def _einsum(*operands: Any, optimize: Any = False, **others: Any) -> Any:
    for name, value in others.items():
        if value is not None:
            raise UnsupportedError(f"einsum on a Variable does not take {name}={value!r}.")
    subscripts, given = _as_text(operands)
    arrays = [as_array(x) for x in given]
    terms, out = _explicit(subscripts, [x.ndim for x in arrays])
    if len(arrays) == 1:
        return einsum_single(arrays[0], subscripts=f"{terms[0]}->{out}")
    sizes = _sized(terms, [x.shape for x in arrays])
    path = _path(terms, out, arrays, optimize)
    work = [
        _reduced(x, term, {*out, *"".join(terms[:k] + terms[k + 1 :])}, sizes)
        for k, (x, term) in enumerate(zip(arrays, terms, strict=True))
    ]
    for step in path:
        chosen = [work.pop(k) for k in sorted(step, reverse=True)][::-1]
        while len(chosen) > 1:
            (x, a), (y, b) = chosen.pop(0), chosen.pop(0)
            needed = {*out, *(i for _, term in (*work, *chosen) for i in term)}
            last = not work and not chosen
            kept = out if last else "".join(i for i in dict.fromkeys(a + b) if i in needed)
            chosen.insert(0, (einsum_pair(x, y, subscripts=f"{a},{b}->{kept}"), kept))
        work.append(chosen[0])
    return work[0][0]


def _reduced(x: Any, term: str, elsewhere: set[str], sizes: dict[str, int]) -> tuple[Any, str]:
    """An operand whose indices are all different and shared, and along none of which it repeats."""
    size_of = dict(zip(term, x.shape, strict=True))
    kept = "".join(
        i for i in dict.fromkeys(term) if i in elsewhere and not (size_of[i] == 1 and sizes[i] > 1)
    )
    return (x, term) if kept == term else (einsum_single(x, subscripts=f"{term}->{kept}"), kept)


def _path(terms: list[str], out: str, arrays: list[Any], optimize: Any) -> list[tuple[int, ...]]:
    """Which operands to multiply first; the result of a step goes to the end of the list."""
    if len(terms) == 2:
        return [(0, 1)]
    stand_ins = [dummy(Spec(x.shape, np.dtype(np.float64))) for x in arrays]
    chosen = "greedy" if isinstance(optimize, bool) else optimize
    return np.einsum_path(f"{','.join(terms)}->{out}", *stand_ins, optimize=chosen)[0][1:]


def _as_text(operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Subscripts and arrays, also of a call einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), operands[1:]

    def text(indices: Any) -> str:
        return "".join("..." if i is Ellipsis else ascii_letters[i] for i in indices)

    terms = ",".join(text(i) for i in operands[1::2])
    out = f"->{text(operands[-1])}" if len(operands) % 2 else ""
    return terms + out, operands[: len(operands) // 2 * 2 : 2]


def _explicit(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The terms and the result, with letters in the place of `...` and of an implied result."""
    left, arrow, out = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ArgumentError(
            f"einsum {subscripts!r} names {len(terms)} operands, {len(ndims)} were given."
        )
    extra = [n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True)]
    for term, n, more in zip(terms, ndims, extra, strict=True):
        if more < 0 or (more > 0 and "..." not in term):
            raise ShapeError(
                f"einsum {subscripts!r}: the term {term!r} stands for an operand of {n} axes."
            )
    spare = [i for i in ascii_letters if i not in subscripts][: max(extra)]
    terms = [
        t.replace("...", "".join(spare[len(spare) - n :]))
        for t, n in zip(terms, extra, strict=True)
    ]
    letters = "".join(terms)
    if not arrow:
        once = sorted(i for i in set(letters) if letters.count(i) == 1 and i not in spare)
        return terms, "".join(spare + once)
    if spare and "..." not in out:
        raise ArgumentError(
            f"einsum {subscripts!r}: the result needs '...' as its operands have it."
        )
    out = out.replace("...", "".join(spare))
    wrong = [i for i in out if out.count(i) > 1 or i not in letters]
    if wrong:
        raise ArgumentError(
            f"einsum {subscripts!r}: the result's index {wrong[0]!r} is new or twice there."
        )
    return terms, out


def _einsum_samples() -> list[Sample]:
    a, b, c = draw((2, 3), -2, 2), draw((3, 4), -2, 2), draw((4, 2), -2, 2)
    stack, square = draw((5, 2, 3), -2, 2), draw((3, 3), -2, 2)
    return [
        sample("ij,jk->ik", a, b),
        sample("ij,jk", a, b),
        sample("ij,jk,kl->il", a, b, c),
        sample("ij,jk,ki", a, b, c, optimize=True),
        sample("i,i,i->", a[0], a[1], b[:, 0]),
        sample("ii", square),
        sample("ii->i", square),
        sample("ii,ij->j", square, square + 1),
        sample("ba", a),
        sample("ij->", a),
        sample("ij,kl->i", a, b),
        sample("...ij,jk->...ik", stack, b),
        sample("...ij,...jk", stack, draw((1, 3, 2), -2, 2)),
        sample("i...,i...->...", a, draw((2, 1), -2, 2)),
        sample("ij,ij->ij", a, draw((1, 3), -2, 2)),
        sample(" i j , j -> i ", a.astype("f"), b[:, 0].astype("f")),
        sample("ij,jk->ki", complexes((2, 3)), complexes((3, 2))),
    ]


einsum = composite(
    "einsum",
    _einsum,
    inputs=("xs",),
    variadic=True,  # the subscripts are the first of them
    samples=_einsum_samples,
    numpy=(np.einsum,),
    reference=lambda xs, **attrs: np.einsum(*xs, **attrs),
)

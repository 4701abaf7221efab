"""Programs and texts at random that the compiler has to survive; run in a process of its own.

    PYTHONPATH=src python -m tests.run.fuzz programs 0 100
    PYTHONPATH=src python -m tests.run.fuzz texts 0 100

Programs are of odd shapes, layouts and types, and are compared with the interpreter.  Texts are the
modules of such programs with something in them altered: they are compiled, or refused with an
exception, and never run.  What LLVM does not survive ends the process, which is what the test sees.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.run.machine import Machine
from tests.agree.compiled import assert_agrees

ODD = ["int64", "bool", "int32", "uint8", "int16", "float16", "complex128", "complex64"]
DTYPES = ["float64"] * 9 + ["float32"] * 3 + ODD
MOST = 400  # elements of a value

Array = Any
Draw = Callable[[np.random.Generator, Array], Callable[[Array], Array]]


def shape(rng: np.random.Generator) -> tuple[int, ...]:
    """Up to six axes; many of length one, some of none, a few long."""
    sizes = [int(n) for n in rng.choice([0, 1, 1, 2, 3, 5, 9, 17], int(rng.integers(0, 7)))]
    if sizes and rng.random() < 0.1:
        sizes[0] = int(rng.choice([1000, 2**20]))  # with a zero beside it, a large product of none
    while np.prod(sizes) > MOST and 0 not in sizes:
        sizes[int(rng.integers(len(sizes)))] = int(rng.integers(0, 3))
    return tuple(sizes)


def array(rng: np.random.Generator) -> Array:
    """Numbers of any type in any layout."""
    made = np.asarray(rng.normal(size=shape(rng)) * 2).astype(rng.choice(DTYPES))
    layout = rng.integers(5)
    if layout == 1:
        return np.asfortranarray(made)
    if layout == 2:
        return made[(slice(None, None, -1),) * made.ndim]
    if layout == 3:
        return made.transpose(rng.permutation(made.ndim))
    if layout == 4 and made.ndim:
        return np.broadcast_to(made[..., :1], made.shape)
    return made


def _index(rng: np.random.Generator, x: Array) -> tuple[Any, ...]:
    def part(n: int) -> Any:
        if n and rng.random() < 0.2:
            return int(rng.integers(-n, n))
        if n and rng.random() < 0.2:
            return rng.integers(-n, n, int(rng.integers(0, 4)))
        step = int(rng.choice([-3, -1, 1, 2]))
        return slice(*sorted(rng.integers(0, n + 1, 2).tolist())[:: step // abs(step)], step)

    return tuple(part(n) for n in x.shape[: int(rng.integers(0, x.ndim + 1))])


def _axis(rng: np.random.Generator, x: Array) -> Any:
    count = int(rng.integers(0, x.ndim + 1))
    return tuple(int(a) for a in rng.permutation(x.ndim)[:count])


def _reduction(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    f = [np.sum, np.mean, np.max, np.prod, np.var][int(rng.integers(5))]
    axis, keep = _axis(rng, x), bool(rng.integers(2))
    return lambda v: f(v, axis=axis, keepdims=keep)


def _unary(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    menu = [np.sin, np.exp, np.tanh, np.abs, np.negative, np.square, np.cbrt, np.sign, np.arctan]
    f = menu[int(rng.integers(len(menu)))]
    return lambda v: f(v)


def _reshaped(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    sizes = [int(n) for n in rng.permutation([*x.shape, 1, 1])]
    return lambda v: np.reshape(v, sizes[:6] if 1 in sizes[6:] or len(sizes) < 7 else -1)


def _assigned(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    index = _index(rng, x)

    def write(v: Array) -> Array:
        y = v * 1
        y[index] = 0.5
        return y

    return write


def _spread(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    wider = (int(rng.integers(0, 3)), *x.shape)
    return lambda v: np.broadcast_to(v, wider) * 1


def _joined(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    axis = int(rng.integers(max(x.ndim, 1)))
    return lambda v: np.concatenate([v, v * 2, v[..., :0] if axis == x.ndim - 1 else v], axis)


def _gram(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    if x.ndim < 2 or np.prod(x.shape[:-2]) * x.shape[-1] ** 2 > MOST:
        raise ValueError("no product, or a large one")
    return lambda v: np.swapaxes(v, -1, -2) @ v


def _selected(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    index = _index(rng, x)
    return lambda v: v[index]


def _turned(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    axes = rng.permutation(x.ndim)
    return lambda v: np.transpose(v, axes)


def _rolled(rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
    shift = int(rng.integers(-3, 4))
    return lambda v: np.roll(v, shift, axis=0)


MENU: list[Draw] = [
    _unary,
    _unary,
    _reduction,
    _reshaped,
    _assigned,
    _spread,
    _joined,
    _gram,
    _selected,
    _turned,
    _rolled,
    lambda rng, x: lambda v: np.where(v > 0.7, v, v * v),
    lambda rng, x: lambda v: v + v[..., :1] if x.ndim else v * 3,
    lambda rng, x: lambda v: np.cumsum(v, axis=-1),
    lambda rng, x: lambda v: v.astype("float32"),
    lambda rng, x: lambda v: v / (1 + np.max(v * v, axis=-1, keepdims=True)),
]


def program(number: int) -> tuple[Callable[..., Any], list[Array]]:
    """A chain of a few operations, or of hundreds, and two arrays for it."""
    rng = np.random.default_rng([31, number])
    inputs = [array(rng), array(rng)]
    steps: list[tuple[int, Callable[[Array], Array]]] = []
    values = list(inputs)
    length = int(rng.choice([1, 4, 12, 300], p=[0.3, 0.4, 0.27, 0.03]))
    for _ in range(4 * length):
        at = int(rng.integers(len(values))) if length < 300 else len(values) - 1
        try:
            step = MENU[int(rng.integers(len(MENU)))](rng, values[at])
            made = np.asarray(step(values[at]))
        except (ValueError, TypeError, IndexError):  # not for an array like this
            continue
        if made.size <= MOST and np.all(np.abs(made) < 1e6):
            steps.append((at, step))
            values.append(made)
        if len(steps) == length:
            break

    def f(*given: Array) -> Any:
        found = list(given)
        for at, step in steps:
            found.append(step(found[at]))
        return found[2:]

    return f, inputs


def gradient_of(f: Callable[..., Any], inputs: list[Array]) -> Callable[..., Any] | None:
    """The gradient by the inputs of which there is one."""
    by = tuple(i for i, x in enumerate(inputs) if x.dtype.kind == "f")

    def total(*given: Array) -> Any:
        return sum(
            (np.sum(v) for v in f(*given) if v.dtype.kind == "f"), 0.0 * np.sum(given[by[0]])
        )

    return cr.value_and_grad(total, by) if by else None


def run_programs(numbers: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in numbers:
        f, inputs = program(number)
        for g in (f, gradient_of(f, inputs)):
            if g is not None:
                assert_agrees(g, *inputs, says=f"program {number}")
                seen["agree"] += 1
    return seen


# -- texts -----------------------------------------------------------------------------------------

TOKEN = re.compile(r"[%@]?[\w.]+|<\d+ x \w+>")
TYPES = ["double", "float", "i64", "i32", "i1", "ptr", "void", "<8 x double>", "<3 x float>"]


def altered(rng: np.random.Generator, text: str) -> str:
    """The text with one thing in it that is otherwise."""
    lines = text.splitlines()
    inside = [i for i, line in enumerate(lines) if line.startswith("  ")]
    i, j = (int(k) for k in rng.choice(inside, 2))
    kind = int(rng.integers(7))
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        return text[: int(rng.integers(len(text)))]
    elif kind == 4:
        at = int(rng.integers(len(text)))
        return text[:at] + chr(int(rng.integers(1, 255))) + text[at + 1 :]
    else:
        found = list(TOKEN.finditer(lines[i]))
        token = found[int(rng.integers(len(found)))]
        new = str(rng.choice([*TYPES, "0", "-1", str(2**40)] if kind == 5 else TOKEN.findall(text)))
        lines[i] = lines[i][: token.start()] + new + lines[i][token.end() :]
    return "\n".join(lines)


def text_of(number: int) -> str | None:
    """The module of the first program of this number or above that is one module."""
    f, inputs = program(number)
    fast = cr.compile(f)
    with np.errstate(all="ignore"):
        fast(*inputs)
    ((variant,),) = fast.variants.values()
    text: str = variant.run.module.text
    return text if len(text) < 60_000 and "\n  " in text else None


def run_texts(numbers: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in numbers:
        text = text_of(number)
        rng = np.random.default_rng([32, number])
        for _ in range(8 if text is not None else 0):
            try:
                Machine(altered(rng, str(text)), ["run0"]).address("run0")
                seen["compiled"] += 1
            except RuntimeError:
                seen["refused"] += 1
    return seen


def main() -> None:
    """What was asked for on the command line; how often what came of it."""
    warnings.simplefilter("ignore")
    what, first, last = sys.argv[1:]
    run = {"programs": run_programs, "texts": run_texts}[what]
    seen = run(range(int(first), int(last)))
    sys.stdout.write(" ".join(f"{name} {count}" for name, count in seen.items()) + "\n")


if __name__ == "__main__":
    main()

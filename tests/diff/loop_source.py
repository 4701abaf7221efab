"""Random programs of scans, while loops and branches, run by our loops or by Python's own."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import chainrule as cr

ONE = [
    "np.tanh({})", "np.sin({})", "(0.5 * {})", "np.exp(-np.abs({}))", "{}[::-1]",
    "(np.cumsum({}) * 0.3)", "np.sqrt(1 + {} ** 2)", "np.maximum({}, 0.2)", "np.roll({}, 1)",
]  # fmt: skip
TWO = [
    "({} + {})", "({} - {})", "({} * {})", "({} / (1.5 + {} ** 2))", "np.maximum({}, {})",
    "np.where({} > {}, x, y * 0.5)", "(np.sum({}) * 0.2 + {})",
]  # fmt: skip
STAGES = ("", ", checkpoint=2", ', checkpoint="auto"')


# -- Python's own loops ----------------------------------------------------------------------------


def scan(f, init, xs=None, length=None, reverse=False, checkpoint=None):
    count = length if xs is None else len(xs)
    carry, found = init, [None] * count
    for i in range(count - 1, -1, -1) if reverse else range(count):
        carry, found[i] = f(carry, None if xs is None else xs[i])
    return carry, np.stack(found)


def while_loop(cond, body, init, checkpoint=None):
    while cond(init):
        init = body(init)
    return init


def fori_loop(lower, upper, body, init):
    for i in range(lower, upper):
        init = body(i, init)
    return init


def cond(pred, f, g, *args):
    return f(*args) if pred else g(*args)


PYTHON = SimpleNamespace(scan=scan, while_loop=while_loop, fori_loop=fori_loop, cond=cond)


# -- programs --------------------------------------------------------------------------------------


class Writer:
    """Writes one program: a function of two vectors that gives a number."""

    def __init__(self, seed: int):
        self.random, self.count = random.Random(seed), 0
        self.writers = (self._scan, self._while, self._until, self._fori, self._cond)

    def program(self) -> str:
        lines, names = self.block(["x", "y"], 2)
        result = f"return np.sum({self.value(names)}) + 0.1 * np.sum({names[-1]})"
        return "\n".join(["def f(x, y):", *indented([*lines, result])])

    def block(self, names: Sequence[str], depth: int) -> tuple[list[str], list[str]]:
        """A few statements, and the names of the vectors there are after them."""
        lines, names = [], list(names)
        for _ in range(self.random.randint(1, 3)):
            name = self.name("v")
            if depth == 0 or self.random.random() < 0.3:
                lines.append(f"{name} = {self.value(names)}")
            else:
                lines += self.random.choice(self.writers)(name, names, depth - 1)
            names.append(name)
        return lines, names

    def value(self, names: Sequence[str], depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(names)
        if self.random.random() < 0.5:
            return self.random.choice(ONE).format(self.value(names, depth - 1))
        parts = self.value(names, depth - 1), self.value(names, depth - 1)
        return self.random.choice(TWO).format(*parts)

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def start(self, names: Sequence[str]) -> str:
        return f"{self.random.choice(names)} * 1.0"

    def _body(self, head: str, names: Sequence[str], depth: int, *more: str) -> list[str]:
        """A function whose result is a bounded vector, and what else it returns."""
        lines, names = self.block(names, depth)
        found = f"np.tanh({self.value(names)})"
        result = ", ".join([found, *(self.value(names) for _ in more)])
        return [f"def {head}:", *indented([*lines, f"return {result}"])]

    def _scan(self, out: str, names: Sequence[str], depth: int) -> list[str]:
        f, c, x = self.name("f"), self.name("c"), self.name("x")
        rows = self.random.random() < 0.6
        inner = [*names, c, x] if rows else [*names, c]
        size = self.random.randint(1, 5)
        given = f"np.outer(np.arange({size}) * 0.3, {self.random.choice(names)})"
        over = given if rows else f"None, length={size}"
        more = f"reverse={self.random.random() < 0.3}{self.random.choice(STAGES)}"
        return [
            *self._body(f"{f}({c}, {x})", inner, depth, "y"),
            f"{out}, ys = L.scan({f}, {self.start(names)}, {over}, {more})",
            f"{out} = {out} + 0.1 * np.sum(ys, axis=0)",
        ]

    def _while(self, out: str, names: Sequence[str], depth: int) -> list[str]:
        f, u = self.name("f"), self.name("u")
        test = f"lambda c: c[0] < {self.random.randint(1, 5)}"
        return [
            *self._body(f"{f}({u})", [*names, u], depth),
            f"step = lambda c, f={f}: (c[0] + 1, f(c[1]))",
            f"{out} = L.while_loop({test}, step, (0, {self.start(names)}))[1]",
        ]

    def _until(self, out: str, names: Sequence[str], depth: int) -> list[str]:
        c = self.name("c")
        test = f"lambda c: np.sum(c ** 2) > {self.random.choice([0.05, 0.3, 1.0])}"
        body = f"lambda {c}: {c} * (0.3 + 0.3 * np.tanh({self.value([*names, c])}) ** 2)"
        return [
            f"{out} = L.while_loop({test}, {body}, {self.start(names)}{self.random.choice(STAGES)})"
        ]

    def _fori(self, out: str, names: Sequence[str], depth: int) -> list[str]:
        f, c = self.name("f"), self.name("c")
        bounds = f"{self.random.randint(0, 2)}, {self.random.randint(2, 7)}"
        return [
            *self._body(f"{f}(i, {c})", [*names, c, "(0.1 * i + x)"], depth),
            f"{out} = L.fori_loop({bounds}, {f}, {self.start(names)})",
        ]

    def _cond(self, out: str, names: Sequence[str], depth: int) -> list[str]:
        f, g, a = self.name("f"), self.name("g"), self.name("a")
        test = f"np.sum({self.random.choice(names)}) > {self.random.choice([-0.5, 0.2, 0.9])}"
        return [
            *self._body(f"{f}({a})", [*names, a], depth),
            *self._body(f"{g}({a})", [*names, a], depth),
            f"{out} = L.cond({test}, {f}, {g}, {self.start(names)})",
        ]


def indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def both(seed: int) -> tuple[Callable[..., Any], Callable[..., Any], str]:
    """One program by our loops, the same by Python's, and its text."""
    text = Writer(seed).program()
    found = []
    for name, loops in (("ours", cr), ("Python's", PYTHON)):
        file = f"<program {seed} by {name} loops>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        scope: dict[str, Any] = {"np": np, "L": loops}
        exec(compile(text, file, "exec"), scope)  # noqa: S102 - written above
        found.append(scope["f"])
    return found[0], found[1], text

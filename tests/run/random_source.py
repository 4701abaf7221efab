"""Writes random programs as source text: branches, masks, loops, exceptions, state, writes, ties.

A text defines `f`, the arguments of three calls in `POINTS`, outside state in `state`, and
`change(k)`, which alters that state before the k-th call.  Values are kept of moderate size.
Constants that are compared with have digits that no computation meets by chance, so that no branch
is decided by rounding.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from tests.run.random_points import CHANGES, LENGTH, values

DEPTH = 2  # of nested statements
HEAD = "import numpy as np\nfrom numpy import array, float32, int64, nan\n"


def _whole(expression: str) -> str:
    """The expression as one operand of another."""
    return expression if expression.isidentifier() else f"({expression})"


class Writer:
    """Writes one program; `features` counts what it is made of."""

    def __init__(self, seed: int, number: int):
        self.rng = random.Random(f"{seed}:{number}")
        self.features: Counter[str] = Counter()
        self.vectors = ["x", "y"]
        self.numbers = ["t"]
        self.fresh = 0
        self.flag = self.rng.random() < 0.4  # whether f has a keyword argument `flag`
        self.extra = self.rng.random() < 0.2  # whether f takes further keywords
        self.container = self.rng.choice(["", "", "dict", "tuple"])  # what x and y come in

    # -- expressions -------------------------------------------------------------------------------

    def pick(self, *menu: str | Callable[[], str]) -> str:
        chosen = self.rng.choice(menu)
        return chosen if isinstance(chosen, str) else chosen()

    def used(self, feature: str) -> None:
        self.features[feature] += 1

    def threshold(self) -> str:
        return f"{self.rng.uniform(-1.2, 1.2):.7f}"

    def vector(self, depth: int = 0) -> str:
        return _whole(self._any_vector(depth))

    def number(self, depth: int = 0) -> str:
        return _whole(self._any_number(depth))

    def _any_vector(self, depth: int) -> str:
        if depth > 1 or self.rng.random() < 0.25:
            return self.rng.choice(self.vectors)
        v, n = lambda: self.vector(depth + 1), lambda: self.number(depth + 1)
        kind = self.rng.randrange(13)
        if kind == 0:
            self.used("tie")
            return self.pick(
                lambda: f"np.maximum({v()}, {v()})",
                lambda: f"np.maximum({v()}, 0.0)",
                lambda: f"np.minimum({v()}, 0.5)",
                lambda: f"np.clip({v()}, -0.5, 1.0)",
                lambda: f"np.abs({v()})",
                lambda: f"np.maximum(np.sign({v()}), {v()})",
            )
        if kind == 1:
            self.used("where")
            return f"np.where({self.mask(depth + 1)}, {v()}, {self.pick(v, n)})"
        if kind == 2:
            self.used("state")
            read = self.pick('state["table"]', 'state["box"].scale', "SCALE")
            return f"{v()} * {read}"
        if kind == 3:
            self.used("sort")
            return f"np.sort({v()})"
        return self.pick(
            lambda: f"np.tanh({v()})",
            lambda: f"np.sin({v()} + {n()})",
            lambda: f"({v()} + 0.5 * {v()})",
            lambda: f"{v()} * np.tanh({n()})",
            lambda: f"np.cumsum({v()}) * 0.3",
            lambda: f"{v()}[::-1]",
            lambda: f"np.roll({v()}, 1)",
            lambda: f"np.exp(-np.abs({v()}))",
            lambda: f"{v()} / (1.5 + {v()} ** 2)",
            lambda: f"np.concatenate([{v()}[2:], {v()}[:2]])",
        )

    def _any_number(self, depth: int) -> str:
        if depth > 1 or self.rng.random() < 0.2:
            return self.pick(self.rng.choice(self.numbers), self.threshold())
        v, n = lambda: self.vector(depth + 1), lambda: self.number(depth + 1)
        kind = self.rng.randrange(12)
        if kind == 0:
            return self.picked_number(depth)
        if kind == 1:
            self.used("state")
            return self.pick('state["scale"]', "SCALE", 'state["deep"][1]["value"]', "len(state)")
        if kind == 2:
            self.used("tie")
            return self.pick(lambda: f"max({n()}, {n()})", lambda: f"np.max({v()})")
        return self.pick(
            lambda: f"np.mean({v()})",
            lambda: f"np.sum({v()}) * 0.25",
            lambda: f"{v()}[{self.rng.randrange(LENGTH)}]",
            lambda: f"({n()} - {n()})",
            lambda: f"{n()} * {n()}",
            lambda: f"np.tanh({n()})",
            lambda: f"{v()} @ {v()} * 0.1",
            lambda: f"np.sqrt(1.0 + {n()} ** 2)",
            lambda: f"({n()} if {self.condition(depth + 1)} else {n()})",
        )

    def mask(self, depth: int = 0) -> str:
        v = lambda: self.vector(depth + 1)  # noqa: E731 - drawn anew in each place
        return self.pick(
            lambda: f"({v()} > {self.threshold()})",
            lambda: f"({v()} < {self.threshold()})",
            lambda: f"~({v()} > {self.threshold()})",
            lambda: f"(({v()} > -1.0413) & ({v()} < {self.threshold()}))",
            lambda: f"np.isclose({v()}, {self.threshold()}, atol=0.51237)",
            "(x >= y)",
            "(x == y)",
        )

    def ragged(self, depth: int = 0) -> str:
        """A vector of which the length depends on values."""
        self.used("mask")
        m, v = lambda: self.mask(depth + 1), lambda: self.vector(depth + 1)
        return self.pick(
            lambda: f"{v()}[{m()}]",
            lambda: f"np.compress({m()}, {v()})",
            lambda: f"np.extract({m()}, {v()})",
            lambda: f"{v()}[np.flatnonzero({m()})]",
            lambda: f"{v()}[np.where({m()})]",
            lambda: f"np.delete({v()}, np.flatnonzero({m()}))",
            "np.unique(x)",
            "np.intersect1d(x, y)",
        )

    def picked_number(self, depth: int) -> str:
        r, m = lambda: self.ragged(depth + 1), lambda: self.mask(depth + 1)
        return self.pick(
            lambda: f"np.sum({r()})",
            lambda: f"np.prod(np.tanh({r()}))",
            lambda: f"len({r()})",
            lambda: f"{r()}.size",
            lambda: f"{r()}.shape[0]",
            lambda: f"np.max({r()}, initial=-3.0)",
            lambda: f"np.count_nonzero({m()})",
            lambda: f"len(np.nonzero({m()})[0])",
            lambda: f"sum(i * v for i, v in enumerate({r()}))",
        )

    def condition(self, depth: int = 0) -> str:
        n, m = lambda: self.number(depth + 1), lambda: self.mask(depth + 1)
        kind = self.rng.randrange(9)
        if kind == 0:
            self.used("inquiry")
            return self.pick(
                lambda: f"np.allclose({self.vector(depth + 1)}, x, atol=0.70711)",
                lambda: f"np.allclose({n()}, {n()}, atol=0.31573)",
                lambda: f"np.isclose({n()}, {n()}, atol=0.61237)",
                lambda: "np.array_equal(x, y)",
                lambda: f'format({n()} + 0.0000137, ".0f") == "{self.rng.randrange(-1, 2)}"',
            )
        if kind == 1:
            self.used("state")
            return self.pick(
                'state["flag"]', '"on" in state', "SCALE > 1.2", 'state["words"][0] == "a"'
            )
        if kind == 2:
            self.used("conversion")
            return self.pick(
                lambda: f"int(np.floor({n()} * 1.7 + 0.0137)) % 2 == 0",
                lambda: f"float({n()}) > {self.threshold()}",
                lambda: f"{self.rng.choice(self.vectors)}.tolist()[1] > {self.threshold()}",
            )
        return self.pick(
            lambda: f"{n()} > {self.threshold()}",
            lambda: f"np.any({m()})",
            lambda: f"np.all({m()})",
            lambda: f"{m()}.sum() > 2",
            lambda: f"len({self.ragged(depth + 1)}) > 1",
            lambda: f"all(v > {self.threshold()} for v in {self.rng.choice(self.vectors)})",
            "flag" if self.flag else "np.argmax(x) < 2",
        )

    # -- statements --------------------------------------------------------------------------------

    def name(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def block(self, depth: int, count: int | None = None) -> list[str]:
        """Indented lines; the names that they bind are forgotten after them."""
        vectors, numbers = list(self.vectors), list(self.numbers)
        lines: list[str] = []
        for _ in range(count or self.rng.choice([1, 1, 2])):
            lines += self.statement(depth)
        self.vectors, self.numbers = vectors, numbers
        return ["    " + line for line in lines]

    def update(self) -> str:
        """An assignment to a name that is there already."""
        if self.rng.random() < 0.5:
            return f"w = np.tanh({self.vector(1)}) + 0.1 * w"
        return f"s = np.tanh(s) + 0.5 * {self.number(1)}"

    def statement(self, depth: int) -> list[str]:
        menu = [self._vector, self._number, self._update, self._write]
        if depth < DEPTH:
            menu += [self._if, self._if, self._loop, self._while, self._try, self._try, self._inner]
        return self.rng.choice(menu)(depth)

    def _vector(self, depth: int) -> list[str]:
        line, name = self.vector(), self.name()
        self.vectors.append(name)
        return [f"{name} = {line}"]

    def _number(self, depth: int) -> list[str]:
        line, name = self.number(), self.name()
        self.numbers.append(name)
        return [f"{name} = {line}"]

    def _update(self, depth: int) -> list[str]:
        return [self.update()]

    def _write(self, depth: int) -> list[str]:
        self.used("write")
        name = self.name()
        begin = f"{name} = w * 1.0 + 0.0 * s"
        write = self.pick(
            lambda: f"{name}[{self.mask(1)}] = {self.number(1)}",
            lambda: f"{name}[{self.mask(1)}] *= 0.5",
            lambda: f"{name}[1:3] = {self.vector(1)}[:2]",
            lambda: f"{name}[np.argmax(x)] += {self.number(1)}",
            lambda: f"{name} += {self.vector(1)}",
            lambda: f"np.add.at({name}, [0, 0, 2], 0.5)",
        )
        self.vectors.append(name)
        return [begin, write, f"w = np.tanh({name})"]

    def _if(self, depth: int) -> list[str]:
        self.used("branch")
        lines = [f"if {self.condition()}:", *self.block(depth + 1), "    " + self.update()]
        if self.rng.random() < 0.3:
            lines += [f"elif {self.condition()}:", "    " + self.update()]
        if self.rng.random() < 0.6:
            lines += ["else:", *self.block(depth + 1), "    " + self.update()]
        return lines

    def _loop(self, depth: int) -> list[str]:
        self.used("loop")
        head = self.pick(
            lambda: f"for k in range({self.rng.randint(1, 3)}):",
            lambda: "for k in range(n):",
            lambda: "for k in state['counts']:",
            lambda: f"for k, v in enumerate({self.vector(1)}):",
            lambda: f"for k, v in enumerate({self.ragged(1)}):",
        )
        lines = [head, "    s = 0.7 * np.tanh(s) + 0.1 * k"]
        if "v in" in head:
            lines.append("    s = s + 0.2 * v")
        lines += self.block(depth + 1, 1)
        if self.rng.random() < 0.4:
            lines += [f"    if {self.condition()}:", f"        {self.pick('break', 'continue')}"]
        return [*lines, "    " + self.update()]

    def _while(self, depth: int) -> list[str]:
        self.used("while")
        name = self.name()
        test = self.pick(
            f"np.allclose(new, {name}, rtol=0, atol=1.317e-2)",
            f"np.max(np.abs(new - {name})) < 1.317e-2",
            f"np.linalg.norm(new - {name}) < 1.317e-2",
        )
        return [
            f"{name} = w * 1.0",
            "for _ in range(6):",
            f"    new = 0.4 * np.sin({name}) + 0.3 * {self.vector(2)}",
            f"    if {test}:",
            "        break",
            f"    {name} = new",
            f"w = {name}",
        ]

    def _try(self, depth: int) -> list[str]:
        self.used("try")
        attempt, error = self.rng.choice(
            [
                (f"s = s + np.max({self.ragged(1)})", "ValueError"),
                (f"s = s + {self.ragged(1)}[1]", "IndexError"),
                (f"a, b = {self.ragged(1)}\n    s = s + a * b", "ValueError"),
                (f"s = s + w[int(abs({self.number(1)}) * 7.13)]", "IndexError"),
                (f"s = s + 1.0 / int({self.number(1)} * 1.7 + 0.0137)", "ZeroDivisionError"),
                (
                    # Neither nearly singular nor by the sign of a zero: rounding would decide.
                    f"a = np.tanh({self.number(1)}) + 0.001\n"
                    "    K = np.outer(x, x) * 0.3 + np.copysign(0.2 + a * a, a) * np.eye(len(x))\n"
                    "    s = s + np.tanh(np.linalg.cholesky(K)[1, 1])",
                    "np.linalg.LinAlgError",
                ),
                (f"if {self.condition(1)}:\n        raise KeyError('k')", "KeyError"),
                (f"s = s * state['{self.rng.choice(['on', 'scale', 'off'])}']", "KeyError"),
            ]
        )
        lines = ["try:", *("    " + attempt).split("\n")]
        # A broad `except` would also take the refusal to convert a value that is differentiated.
        broad = "Exception" if "int(" not in attempt and "float(" not in attempt else error
        lines += [f"except {self.pick(error, error, broad)}:", "    " + self.update()]
        if self.rng.random() < 0.3:
            lines += ["else:", "    " + self.update()]
        if self.rng.random() < 0.2:
            lines += ["finally:", "    s = s * 0.9"]
        return lines

    def _inner(self, depth: int) -> list[str]:
        self.used("closure")
        name = self.name()
        kept = self.rng.choice(self.numbers)
        return [
            f"def {name}(u, c={self.threshold()}):",
            f"    if np.sum(u) > {self.threshold()}:",
            f"        return u * c + {kept}",
            f"    return np.tanh(u) - {self.number(2)}",
            f"w = np.tanh({name}(w))",
        ]

    # -- the whole ---------------------------------------------------------------------------------

    def result(self) -> str:
        self.used("container")
        return self.pick(
            "s + np.sum(w)",
            "w * s",
            "(s, w)",
            "[w, {'s': s}]",
            "{'b': s, 'a': w}",
            "(w, None, [s])",
        )

    def point(self, dtypes: tuple[str, str]) -> str:
        mode = self.rng.choice(["free"] * 3 + ["tie", "positive", "negative", "tie"])
        if self.rng.random() < 0.03:
            mode = "nan"
        self.used(f"{mode} point")
        x, y = values(self.rng, mode), values(self.rng, "tie" if mode == "tie" else "free")
        if mode == "tie" and self.rng.random() < 0.5:
            y = x
        arrays = [f"array({v}{', ' + d if d else ''})" for v, d in zip((x, y), dtypes, strict=True)]
        number = self.rng.choice([0.5, -0.25, round(self.rng.gauss(0, 1), 3)])
        first = {
            "": ", ".join(arrays),
            "tuple": f"({', '.join(arrays)})",
            "dict": f"{{'x': {arrays[0]}, 'y': {arrays[1]}}}",
        }[self.container]
        keywords = [f"'n': {self.rng.randint(1, 3)}"]
        keywords += [f"'flag': {self.rng.random() < 0.5}"] * self.flag
        further = [f"'{k}': {self.rng.gauss(0, 1):.3f}" for k in "cab"[: self.rng.randint(1, 3)]]
        keywords += self.rng.sample(further, len(further)) * self.extra
        return f"    (({first}, {number}), {{{', '.join(keywords)}}}),"

    def changes(self) -> list[str]:
        return self.rng.sample(CHANGES, self.rng.randint(0, 4)) or ["pass"]

    def text(self) -> str:
        odd = [("float32", "float32"), ("", "float32"), ("", "int64")]
        dtypes = self.rng.choice([("", "")] * 8 + odd)
        self.features.update(d for d in dtypes if d)
        body = ["w = x * 1.0", "s = t * 1.0"]
        if self.container:
            self.used("container argument")
            body.insert(0, "x, y = " + ("p" if self.container == "tuple" else 'p["x"], p["y"]'))
        if self.extra:
            self.used("further keywords")
            body += ["for v in extra.values():", "    s = 0.5 * s + v"]
        self.vectors.append("w")
        self.numbers.append("s")
        for _ in range(self.rng.randint(1, 3)):
            body += self.statement(0)
        points = [self.point(dtypes) for _ in range(3)]
        parameters = ("p" if self.container else "x, y") + ", t, *, n=2"
        parameters += ", flag=False" * self.flag + ", **extra" * self.extra
        return "\n".join(
            [
                HEAD,
                "class Box:\n    scale = 1.5\n",
                "SCALE = 1.25",
                'state = {"scale": 0.75, "flag": True, "table": array([1.0, 0.5, -1.0, 2.0]),',
                '         "box": Box(), "deep": [0, {"value": 0.4}],',
                '         "counts": [1, 2], "words": ["a"]}\n',
                f"def f({parameters}):",
                *("    " + line for line in body),
                f"    return {self.result()}\n",
                "def change(k):",
                *("    " + line for line in self.changes()),
                "\nPOINTS = [",
                *points,
                "]\n",
            ]
        )
